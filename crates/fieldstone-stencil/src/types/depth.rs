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
            for expr in statement.expressions_mut() {
                reject_deep_expr(expr, errors);
            }
            if depth >= MAX_DEPTH && !matches!(statement.kind, StmtKind::Assign { .. }) {
                errors.push(too_deep(span, "this statement is nested"));
                continue;
            }
            todo.extend(
                statement
                    .inner_mut()
                    .map(|statement| (statement, depth + 1)),
            );
        }
    }
    stencil
}

fn reject_deep_expr(expr: &mut Expr, errors: &mut Vec<Diagnostic>) {
    if expr.depth() <= MAX_DEPTH {
        return;
    }
    errors.push(too_deep(expr.span, "this expression is nested"));
    // Dropped piece by piece, for the destructor of a tree recurses.
    let nothing = || Expr::untyped(ExprKind::Literal(Literal::Bool(false)), Span::default());
    let mut todo = vec![std::mem::replace(expr, nothing())];
    while let Some(mut expr) = todo.pop() {
        todo.extend(
            expr.operands_mut()
                .map(|operand| std::mem::replace(operand, nothing())),
        );
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
