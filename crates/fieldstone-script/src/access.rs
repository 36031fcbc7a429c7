//! Reads and writes of statements, with their places.

use fieldstone_stencil::ir::{Expr, ExprKind, Stmt, StmtKind, Target};
use fieldstone_stencil::{Offset, Span};

/// One read or write.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub target: Target,
    pub offset: Offset,
    pub span: Span,
    pub write: bool,
}

/// Visits every access of statements, in order.
pub fn accesses(statements: &[Stmt], visit: &mut impl FnMut(Access)) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                value,
            } => {
                reads(value, visit);
                visit(Access {
                    target: *target,
                    offset: Offset::ZERO,
                    span: *target_span,
                    write: true,
                });
            }
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                reads(condition, visit);
                accesses(then, visit);
                accesses(orelse, visit);
            }
        }
    }
}

/// Visits every read of an expression.
pub fn reads(expression: &Expr, visit: &mut impl FnMut(Access)) {
    expression.walk(|node| {
        if let ExprKind::Access { target, offset } = node.kind {
            visit(Access {
                target,
                offset,
                span: node.span,
                write: false,
            });
        }
    });
}
