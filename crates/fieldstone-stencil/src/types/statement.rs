//! Writing types down in statements.

use super::conversion::coerce;
use super::expression::{condition, index};
use super::inference::Types;
use crate::diagnostic::Diagnostic;
use crate::ir::{Expr, ExprKind, Literal, Stmt, StmtKind};

impl Types {
    pub(super) fn block(&self, body: Vec<Stmt>, errors: &mut Vec<Diagnostic>) -> Vec<Stmt> {
        body.into_iter()
            .map(|statement| self.statement(statement, errors))
            .collect()
    }

    fn statement(&self, statement: Stmt, errors: &mut Vec<Diagnostic>) -> Stmt {
        let mut checked = |result: Result<Expr, Vec<Diagnostic>>, span| {
            result.unwrap_or_else(|found| {
                errors.extend(found);
                Expr::untyped(ExprKind::Literal(Literal::Bool(false)), span)
            })
        };
        let kind = match statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                offset,
                mut subscript,
                value,
            } => {
                let span = value.span;
                let value = self
                    .expr(value)
                    .and_then(|value| one(coerce(value, self.stored(target).dtype())));
                for operand in subscript.iter_mut().flat_map(|s| &mut s.operands) {
                    let span = operand.span;
                    *operand = checked(self.index(operand.clone()), span);
                }
                StmtKind::Assign {
                    target,
                    target_span,
                    offset,
                    subscript,
                    value: checked(value, span),
                }
            }
            StmtKind::While { condition, body } => {
                let span = condition.span;
                StmtKind::While {
                    condition: checked(self.condition(condition), span),
                    body: self.block(body, errors),
                }
            }
            StmtKind::Require {
                condition,
                bounds,
                intervals,
            } => {
                let span = condition.span;
                let bounds = bounds.into_iter().map(|bound| {
                    let span = bound.span;
                    checked(self.index(bound), span)
                });
                let bounds = bounds.collect();
                StmtKind::Require {
                    condition: checked(self.condition(condition), span),
                    bounds,
                    intervals,
                }
            }
            StmtKind::Region { area, body } => StmtKind::Region {
                area,
                body: self.block(body, errors),
            },
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                let span = condition.span;
                let condition = checked(self.condition(condition), span);
                StmtKind::If {
                    condition,
                    then: self.block(then, errors),
                    orelse: self.block(orelse, errors),
                }
            }
        };
        Stmt {
            kind,
            span: statement.span,
        }
    }

    /// A level or an index of a data dimension.
    fn index(&self, expr: Expr) -> Result<Expr, Vec<Diagnostic>> {
        one(index(self.expr(expr)?))
    }

    fn condition(&self, expr: Expr) -> Result<Expr, Vec<Diagnostic>> {
        one(condition(self.expr(expr)?))
    }
}

/// A result that has one error at most, beside those that have several.
fn one(result: Result<Expr, Box<Diagnostic>>) -> Result<Expr, Vec<Diagnostic>> {
    result.map_err(|error| vec![*error])
}
