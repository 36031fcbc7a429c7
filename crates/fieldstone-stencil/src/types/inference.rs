//! What type an expression will have.

use super::literal::literal_int;
use super::promotion::{Common, Ty};
use super::signature::{as_operator, binary_signature, call_signature};
use crate::dtype::DType;
use crate::ir::{BinaryOp, Expr, ExprKind, Literal, Target, UnaryOp};

/// The types of everything that has a name.
pub(super) struct Types {
    pub(super) int: Ty,
    pub(super) float: Ty,
    pub(super) fields: Vec<DType>,
    pub(super) scalars: Vec<DType>,
    pub(super) temporaries: Vec<Ty>,
}

impl Types {
    /// The type of a value that is read from a target.
    pub(super) fn target(&self, target: Target) -> Ty {
        match self.stored(target) {
            Ty::Strong(dtype) => Ty::Strong(dtype.in_arithmetic()),
            other => other,
        }
    }

    /// The type of a target in memory.
    pub(super) fn stored(&self, target: Target) -> Ty {
        match target {
            Target::Field(id) => Ty::Strong(self.fields[id.0 as usize]),
            Target::Temp(id) => self.temporaries[id.0 as usize],
        }
    }

    pub(super) fn literal(&self, literal: Literal) -> Ty {
        match literal {
            Literal::Bool(_) => Ty::Strong(DType::Bool),
            Literal::Int(_) => self.int,
            Literal::Float(_) => self.float,
        }
    }

    /// The type of an expression as far as it is known; what is wrong with it is reported later.
    pub(super) fn infer(&self, expr: &Expr) -> Ty {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(*literal),
            ExprKind::Scalar(id) => Ty::Strong(self.scalars[id.0 as usize]),
            ExprKind::Access { target, .. } => self.target(*target),
            ExprKind::Position(_) | ExprKind::Size(_) | ExprKind::Checked(..) => {
                Ty::Strong(DType::Int64)
            }
            ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Compare(..) => Ty::Strong(DType::Bool),
            ExprKind::Unary(_, a) => self.infer(a),
            ExprKind::Binary(op, a, b) => self.infer_binary(*op, a, b),
            ExprKind::Select(_, a, b) => self.common(&[&**a, &**b]),
            ExprKind::Call(builtin, operands) => match (as_operator(*builtin), &operands[..]) {
                (Some(op), [a, b]) => self.infer_binary(op, a, b),
                _ => call_signature(*builtin, self.common(operands))
                    .map_or(Ty::Unknown, |signature| signature.result),
            },
            ExprKind::Cast(_) => {
                (expr.dtype).map_or(Ty::Unknown, |dtype| Ty::Strong(dtype.in_arithmetic()))
            }
        }
    }

    fn infer_binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Ty {
        binary_signature(op, self.infer(a), self.infer(b), literal_int(b))
            .map_or(Ty::Unknown, |signature| signature.result)
    }

    fn common<E: std::borrow::Borrow<Expr>>(&self, exprs: &[E]) -> Ty {
        (exprs.iter())
            .fold(Common::default(), |common, expr| {
                common.with(self.infer(expr.borrow()))
            })
            .ty()
    }
}
