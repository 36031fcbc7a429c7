//! How deeply expressions and statements may be nested.

use super::error::TOO_DEEP;
use crate::diagnostic::{Category, Diagnostic};
use crate::ir::{Expr, ExprKind, Literal, Stencil, Stmt, StmtKind};
use crate::source::Span;

/// Levels of nesting an expression, or `if` statements, may have. A sum of `n` terms without parentheses has `n - 1`.
///
/// Every later pass may recurse into expressions; the limit keeps it within a thread's stack.
pub const MAX_DEPTH: usize = 400;

/// Replaces expressions and bodies that later passes could not walk, and reports them.
pub(super) fn reject_deep(mut stencil: Stencil, errors: &mut Vec<Diagnostic>) -> Stencil {
    for section in stencil
        .computations
        .iter_mut()
        .flat_map(|c| &mut c.sections)
    {
        let mut todo: Vec<(&mut Stmt, usize)> = section
            .body
            .iter_mut()
            .map(|statement| (statement, 0))
            .collect();
        while let Some((statement, depth)) = todo.pop() {
            let span = statement.span;
            match &mut statement.kind {
                StmtKind::Assign { value, .. } => reject_deep_expr(value, errors),
                StmtKind::If {
                    condition,
                    then,
                    orelse,
                } => {
                    reject_deep_expr(condition, errors);
                    if depth >= MAX_DEPTH {
                        errors.push(too_deep(span, "this `if` is nested"));
                        continue;
                    }
                    let inner = then.iter_mut().chain(orelse);
                    todo.extend(inner.map(|statement| (statement, depth + 1)));
                }
            }
        }
    }
    stencil
}

fn reject_deep_expr(expr: &mut Expr, errors: &mut Vec<Diagnostic>) {
    let mut todo = vec![(&*expr, 1)];
    let mut deepest = 0;
    while let Some((node, depth)) = todo.pop() {
        deepest = deepest.max(depth);
        todo.extend(node.operands().map(|operand| (operand, depth + 1)));
    }
    if deepest <= MAX_DEPTH {
        return;
    }
    errors.push(too_deep(expr.span, "this expression is nested"));
    // Dropped piece by piece, for the destructor of a tree recurses.
    let nothing = || ExprKind::Literal(Literal::Bool(false));
    let mut todo = vec![std::mem::replace(&mut expr.kind, nothing())];
    while let Some(kind) = todo.pop() {
        match kind {
            ExprKind::Literal(_) | ExprKind::Scalar(_) | ExprKind::Access { .. } => {}
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => todo.push(a.kind),
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
                todo.extend([a.kind, b.kind]);
            }
            ExprKind::Select(c, a, b) => todo.extend([c.kind, a.kind, b.kind]),
            ExprKind::Call(_, operands) => todo.extend(operands.into_iter().map(|o| o.kind)),
        }
    }
}

fn too_deep(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(
        TOO_DEEP,
        Category::Unsupported,
        span,
        format!("{what} more than {MAX_DEPTH} levels deep"),
    )
    .with_help("split it, and give the parts names")
}
