//! Literals: the types they take, and the values that these hold.

use super::error::PRECISION;
use super::promotion::{Ty, Weak};
use crate::diagnostic::{Category, Diagnostic};
use crate::dtype::DType;
use crate::ir::{Expr, ExprKind, Literal, UnaryOp};
use crate::source::Span;

/// Bits of literals that are not weak; `None` leaves them weak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Precision {
    /// Integers: 8, 16, 32 or 64.
    pub int: Option<u32>,
    /// Real numbers: 32 or 64.
    pub float: Option<u32>,
}

impl Precision {
    /// The types of integer and real literals.
    pub(super) fn types(self) -> Result<(Ty, Ty), Diagnostic> {
        let int = match self.int {
            None => Ty::Weak(Weak::Int),
            Some(8) => Ty::Strong(DType::Int8),
            Some(16) => Ty::Strong(DType::Int16),
            Some(32) => Ty::Strong(DType::Int32),
            Some(64) => Ty::Strong(DType::Int64),
            Some(bits) => {
                return Err(bad_precision(
                    "literal_int_precision",
                    bits,
                    "8, 16, 32 or 64",
                ));
            }
        };
        let float = match self.float {
            None => Ty::Weak(Weak::Float),
            Some(32) => Ty::Strong(DType::Float32),
            Some(64) => Ty::Strong(DType::Float64),
            Some(bits) => return Err(bad_precision("literal_float_precision", bits, "32 or 64")),
        };
        Ok((int, float))
    }
}

fn bad_precision(option: &str, given: u32, expected: &str) -> Diagnostic {
    Diagnostic::error(
        PRECISION,
        Category::DataType,
        Span::default(),
        format!("`{option}` is {given}, but must be {expected}"),
    )
}

/// The least and the largest value of an integer type.
pub(super) fn int_range(dtype: DType) -> (i128, i128) {
    let bits = dtype.size() as u32 * 8;
    if dtype.is_signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

pub(crate) fn fits(n: i64, dtype: DType) -> bool {
    let (least, largest) = int_range(dtype);
    (least..=largest).contains(&i128::from(n))
}

/// The value of an integer literal, with its sign.
pub(super) fn literal_int(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(n)) => Some(*n),
        ExprKind::Unary(UnaryOp::Neg, inner) => literal_int(inner)?.checked_neg(),
        _ => None,
    }
}

/// The literal with the other sign, where that is a literal.
pub(super) fn negated(expr: &Expr) -> Option<Literal> {
    match expr.kind {
        ExprKind::Literal(Literal::Int(n)) => n.checked_neg().map(Literal::Int),
        ExprKind::Literal(Literal::Float(x)) => Some(Literal::Float(-x)),
        _ => None,
    }
}

/// The literal as one of `dtype`, where that loses nothing that a cast would keep.
pub(super) fn retyped(expr: &Expr, ty: Ty, dtype: DType) -> Option<Literal> {
    match expr.kind {
        ExprKind::Literal(Literal::Bool(b)) if dtype == DType::Bool => Some(Literal::Bool(b)),
        ExprKind::Literal(Literal::Int(n)) if dtype.is_int() && fits(n, dtype) => {
            Some(Literal::Int(n))
        }
        ExprKind::Literal(Literal::Int(n)) if dtype.is_float() => Some(Literal::Int(n)),
        // One that is already rounded to float32 stays so.
        ExprKind::Literal(Literal::Float(x))
            if dtype.is_float() && (ty == Ty::Weak(Weak::Float) || ty.dtype() == dtype) =>
        {
            Some(Literal::Float(x))
        }
        _ => None,
    }
}
