//! What operators and functions make of the types of their operands.

use super::promotion::{Common, Ty, Weak};
use crate::dtype::DType;
use crate::ir::{BinaryOp, Builtin};

/// What an operation makes of the types of its operands.
pub(super) struct Signature {
    /// The type both operands are converted to.
    pub(super) operands: Ty,
    pub(super) result: Ty,
}

/// Why an operation has no meaning for its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    BooleanArithmetic,
    Bitwise,
    NoCommonInteger,
    NegativePower,
}

/// Whether the operator does arithmetic, works on bits or on truth values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Arithmetic,
    Bitwise,
    Shift,
    Logical,
}

pub(super) fn family(op: BinaryOp) -> Family {
    match op {
        BinaryOp::And | BinaryOp::Or => Family::Logical,
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => Family::Bitwise,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => Family::Shift,
        _ => Family::Arithmetic,
    }
}

/// The types of a binary operation. `exponent` is the literal exponent of a power.
pub(super) fn binary_signature(
    op: BinaryOp,
    a: Ty,
    b: Ty,
    exponent: Option<i64>,
) -> Result<Signature, Misfit> {
    let common = Common::default().with(a).with(b).ty();
    let same = |ty| {
        Ok(Signature {
            operands: ty,
            result: ty,
        })
    };
    match family(op) {
        Family::Logical => same(Ty::Strong(DType::Bool)),
        Family::Bitwise | Family::Shift => {
            if a.is_float() || b.is_float() {
                Err(Misfit::Bitwise)
            } else if common.is_float() {
                Err(Misfit::NoCommonInteger)
            } else if common.is_bool() && family(op) == Family::Shift {
                Err(Misfit::BooleanArithmetic)
            } else {
                same(common)
            }
        }
        Family::Arithmetic => {
            if common.is_bool() {
                return Err(Misfit::BooleanArithmetic);
            }
            let negative_power = op == BinaryOp::Pow && exponent.is_some_and(|n| n < 0);
            let real = match common {
                Ty::Weak(Weak::Int) => Ty::Weak(Weak::Float),
                Ty::Strong(dtype) if dtype.is_int() => Ty::Strong(DType::Float64),
                other => other,
            };
            match common {
                _ if op == BinaryOp::Div => same(real),
                Ty::Weak(_) if negative_power => same(real),
                _ if negative_power && common.is_int() => Err(Misfit::NegativePower),
                _ => same(common),
            }
        }
    }
}

/// The type of a function's operand and result, given the operand's.
pub(super) fn call_signature(builtin: Builtin, a: Ty) -> Result<Signature, Misfit> {
    if a.is_bool() && !matches!(builtin, Builtin::Min | Builtin::Max) {
        return Err(Misfit::BooleanArithmetic);
    }
    let real = match a {
        Ty::Weak(_) => Ty::Weak(Weak::Float),
        Ty::Strong(dtype) if dtype.is_int() => Ty::Strong(DType::Float64),
        other => other,
    };
    Ok(match builtin {
        Builtin::Abs | Builtin::Min | Builtin::Max | Builtin::Mod | Builtin::Pow => Signature {
            operands: a,
            result: a,
        },
        _ if is_rounding(builtin) => Signature {
            operands: a,
            result: a,
        },
        Builtin::IsFinite | Builtin::IsInf | Builtin::IsNan => Signature {
            operands: real,
            result: Ty::Strong(DType::Bool),
        },
        _ => Signature {
            operands: real,
            result: real,
        },
    })
}

pub(super) fn is_rounding(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::Floor
            | Builtin::Ceil
            | Builtin::Trunc
            | Builtin::Round
            | Builtin::RoundAwayFromZero
    )
}

/// `pow` and `mod` are operators under another name.
pub(super) fn as_operator(builtin: Builtin) -> Option<BinaryOp> {
    match builtin {
        Builtin::Pow => Some(BinaryOp::Pow),
        Builtin::Mod => Some(BinaryOp::Mod),
        _ => None,
    }
}
