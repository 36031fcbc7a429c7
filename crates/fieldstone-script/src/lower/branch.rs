//! `if`, and the results of functions whose branches return.

use fieldstone_stencil::ir::{self, ExprKind, StmtKind, Target};
use fieldstone_stencil::visit::reads;
use fieldstone_stencil::{Offset, Span};
use ruff_python_ast::{ElifElseClause, Expr, Stmt, StmtIf};

use super::data::Place;
use super::{Lowering, Reported, read};
use crate::{constant, rule};

/// Conditions inside of conditions.
pub(super) const DEEPEST: usize = 200;

impl Lowering<'_> {
    pub(super) fn branch(&mut self, branch: &StmtIf) -> Result<(), Reported> {
        let span = self.span(branch);
        self.clauses(&branch.test, &branch.body, &branch.elif_else_clauses, span)
    }

    /// `if test: body` and what follows with `elif` and `else`.
    fn clauses(
        &mut self,
        test: &Expr,
        body: &[Stmt],
        rest: &[ElifElseClause],
        span: Span,
    ) -> Result<(), Reported> {
        self.suspect(test);
        let condition = self.expression(test);
        if let Ok(Some(value)) = condition.as_ref().map(constant::value) {
            if constant::truth(value) {
                self.statements(body);
                return Ok(());
            }
            return self.alternative(rest, span);
        }
        let condition = condition.and_then(|value| self.number_only(&value).map(|()| value));
        let outermost = self.mask.depth == 0;
        self.place_called();
        if let Ok(condition) = &condition {
            reads(condition, &mut |access| self.check_partial(access));
        }
        if self.mask.depth >= DEEPEST {
            return Err(self.report(rule::TOO_DEEP.at(
                Span {
                    end: span.start + 2,
                    ..span
                },
                "conditions are nested too deeply",
            )));
        }
        self.mask.depth += 1;
        let then = self.collect(|lowering| lowering.statements(body));
        let then_result = self.frame_mut().result.take();
        let orelse = self.collect(|lowering| {
            let _: Result<(), Reported> = lowering.alternative(rest, span);
        });
        let orelse_result = self.frame_mut().result.take();
        self.mask.depth -= 1;
        if outermost {
            let mask = std::mem::take(&mut self.mask);
            self.block.extend(mask.hoisted);
        }
        let (mut then, mut orelse) = (then, orelse);
        self.merge(then_result, orelse_result, &mut then, &mut orelse, span)?;
        self.block.push(ir::Stmt {
            kind: StmtKind::If {
                condition: condition?,
                then,
                orelse,
            },
            span,
        });
        Ok(())
    }

    fn alternative(&mut self, rest: &[ElifElseClause], span: Span) -> Result<(), Reported> {
        match rest.split_first() {
            None => Ok(()),
            Some((clause, rest)) => match &clause.test {
                None => {
                    self.statements(&clause.body);
                    Ok(())
                }
                Some(test) => {
                    let span = Span {
                        end: span.end,
                        ..self.span(clause)
                    };
                    self.clauses(test, &clause.body, rest, span)
                }
            },
        }
    }

    /// The results of a function whose branches return: each branch stores its own.
    fn merge(
        &mut self,
        then_result: Option<Result<Vec<ir::Expr>, Reported>>,
        orelse_result: Option<Result<Vec<ir::Expr>, Reported>>,
        then: &mut Vec<ir::Stmt>,
        orelse: &mut Vec<ir::Stmt>,
        span: Span,
    ) -> Result<(), Reported> {
        let (then_values, orelse_values) = match (then_result, orelse_result) {
            (None, None) => return Ok(()),
            (Some(Ok(then)), Some(Ok(orelse))) if then.len() == orelse.len() => (then, orelse),
            (Some(Err(reported)), _) | (_, Some(Err(reported))) => {
                self.frame_mut().result = Some(Err(reported));
                return Err(reported);
            }
            (first, second) => {
                let words = if first.is_some() && second.is_some() {
                    "the branches of this condition return different numbers of values"
                } else {
                    "only one branch of this condition returns"
                };
                let span = Span {
                    end: span.start + 2,
                    ..span
                };
                let reported = self.report(rule::RETURN.at(span, words).with_help(
                    "return in every branch, or assign in the branches and return once behind them",
                ));
                self.frame_mut().result = Some(Err(reported));
                return Err(reported);
            }
        };
        let mut results = Vec::new();
        for (then_value, orelse_value) in then_values.into_iter().zip(orelse_values) {
            // `elif` nests: what the inner conditions stored the result in serves the outer one as well.
            let temp = match orelse_value.kind {
                ExprKind::Access {
                    target: Target::Temp(temp),
                    ..
                } if self.frame().returns.contains(&temp) => temp,
                _ => {
                    let number = self.frame().returns.len();
                    let temp = self.temporary(&format!("return{number}"), None, span);
                    self.frame_mut().returns.push(temp);
                    temp
                }
            };
            for (block, value) in [(&mut *then, then_value), (&mut *orelse, orelse_value)] {
                if !matches!(value.kind, ExprKind::Access { target: Target::Temp(other), .. } if other == temp)
                {
                    let span = value.span;
                    let place = Place {
                        target: Target::Temp(temp),
                        offset: Offset::ZERO,
                        subscript: None,
                        span,
                    };
                    block.extend(self.assignments(place, value, span)?);
                }
            }
            results.push(read(temp, span));
        }
        self.frame_mut().result = Some(Ok(results));
        Ok(())
    }
}
