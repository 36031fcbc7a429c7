//! What is known at compile time: arithmetic on literals, with Python's meaning.

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::{BinaryOp, CompareOp, Expr, ExprKind, Literal, UnaryOp};

/// The value of an expression of literals that was simplified while it was built.
pub fn value(expression: &Expr) -> Option<Literal> {
    match expression.kind {
        ExprKind::Literal(literal) => Some(literal),
        _ => None,
    }
}

/// The value of a literal, or of one that has a type of its own, as a number of NumPy has, and loses nothing by it.
pub fn known(expression: &Expr) -> Option<Literal> {
    let ExprKind::Cast(inner) = &expression.kind else {
        return value(expression);
    };
    value(inner).filter(|literal| expression.dtype.is_some_and(|dtype| keeps(dtype, *literal)))
}

/// Whether a type holds a literal as it is; a real number that has a type was one of that type before.
fn keeps(dtype: DType, literal: Literal) -> bool {
    match (literal, dtype) {
        (Literal::Bool(_), DType::Bool) => true,
        (Literal::Float(_), DType::Float32 | DType::Float64) => true,
        (Literal::Int(_), DType::Int64) => true,
        (Literal::Int(value), DType::Int32) => i32::try_from(value).is_ok(),
        (Literal::Int(value), DType::Int16) => i16::try_from(value).is_ok(),
        (Literal::Int(value), DType::Int8) => i8::try_from(value).is_ok(),
        (Literal::Int(value), DType::UInt64) => u64::try_from(value).is_ok(),
        (Literal::Int(value), DType::UInt32) => u32::try_from(value).is_ok(),
        (Literal::Int(value), DType::UInt16) => u16::try_from(value).is_ok(),
        (Literal::Int(value), DType::UInt8) => u8::try_from(value).is_ok(),
        _ => false,
    }
}

/// A literal as Python writes it.
pub fn text(literal: Literal) -> String {
    match literal {
        Literal::Bool(true) => "True".to_string(),
        Literal::Bool(false) => "False".to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => format!("{value:?}"),
    }
}

/// Whether a literal counts as true.
pub fn truth(literal: Literal) -> bool {
    match literal {
        Literal::Bool(value) => value,
        Literal::Int(value) => value != 0,
        Literal::Float(value) => value != 0.0,
    }
}

/// `operator literal`, where Python defines it and the result fits.
pub fn unary(operator: UnaryOp, operand: Literal) -> Option<Literal> {
    Some(match (operator, operand) {
        (UnaryOp::Not, operand) => Literal::Bool(!truth(operand)),
        (UnaryOp::Neg, Literal::Float(value)) => Literal::Float(-value),
        (UnaryOp::Neg, operand) => Literal::Int(integer(operand)?.checked_neg()?),
        (UnaryOp::Invert, operand) => Literal::Int(!integer(operand)?),
    })
}

/// `left operator right`, where Python defines it and the result fits. Powers of real numbers are left to run time, where
/// one recipe serves all backends.
pub fn binary(operator: BinaryOp, left: Literal, right: Literal) -> Option<Literal> {
    match operator {
        BinaryOp::And => return Some(if truth(left) { right } else { left }),
        BinaryOp::Or => return Some(if truth(left) { left } else { right }),
        _ => {}
    }
    if let (Literal::Bool(left), Literal::Bool(right)) = (left, right) {
        match operator {
            BinaryOp::BitAnd => return Some(Literal::Bool(left & right)),
            BinaryOp::BitOr => return Some(Literal::Bool(left | right)),
            BinaryOp::BitXor => return Some(Literal::Bool(left ^ right)),
            _ => {}
        }
    }
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => integers(operator, left, right),
        _ => reals(operator, real(left), real(right)),
    }
}

/// Whether Python's `left operator right` is an integer that does not fit into 64 bits.
pub fn overflows(operator: BinaryOp, left: Literal, right: Literal) -> bool {
    let (Some(left), Some(right)) = (integer(left), integer(right)) else {
        return false;
    };
    let defined = match operator {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => true,
        BinaryOp::FloorDiv => right != 0,
        BinaryOp::Pow => right >= 0 && left.unsigned_abs() > 1,
        BinaryOp::ShiftLeft => right >= 0 && left != 0,
        _ => false,
    };
    defined && integers(operator, left, right).is_none()
}

/// `left operator right` for a comparison.
pub fn compare(operator: CompareOp, left: Literal, right: Literal) -> bool {
    let ordering = match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => real(left).partial_cmp(&real(right)),
    };
    match operator {
        CompareOp::Eq => ordering.is_some_and(|ordering| ordering.is_eq()),
        CompareOp::Ne => ordering.is_none_or(|ordering| ordering.is_ne()),
        CompareOp::Lt => ordering.is_some_and(|ordering| ordering.is_lt()),
        CompareOp::Le => ordering.is_some_and(|ordering| ordering.is_le()),
        CompareOp::Gt => ordering.is_some_and(|ordering| ordering.is_gt()),
        CompareOp::Ge => ordering.is_some_and(|ordering| ordering.is_ge()),
    }
}

fn integers(operator: BinaryOp, left: i64, right: i64) -> Option<Literal> {
    Some(Literal::Int(match operator {
        BinaryOp::Add => left.checked_add(right)?,
        BinaryOp::Sub => left.checked_sub(right)?,
        BinaryOp::Mul => left.checked_mul(right)?,
        BinaryOp::Div => return (right != 0).then(|| Literal::Float(left as f64 / right as f64)),
        BinaryOp::FloorDiv => {
            let quotient = left.checked_div(right)?;
            quotient - i64::from(left % right != 0 && (left < 0) != (right < 0))
        }
        BinaryOp::Mod => {
            let remainder = left.checked_rem(right)?;
            if remainder != 0 && (remainder < 0) != (right < 0) {
                remainder + right
            } else {
                remainder
            }
        }
        BinaryOp::Pow => left.checked_pow(u32::try_from(right).ok()?)?,
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitOr => left | right,
        BinaryOp::BitXor => left ^ right,
        BinaryOp::ShiftLeft => {
            let shift = u32::try_from(right).ok().filter(|shift| *shift < 63)?;
            left.checked_mul(1i64 << shift)?
        }
        BinaryOp::ShiftRight => left >> u32::try_from(right).ok()?.min(63),
        BinaryOp::And | BinaryOp::Or => return None,
    }))
}

fn reals(operator: BinaryOp, left: f64, right: f64) -> Option<Literal> {
    Some(Literal::Float(match operator {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div if right != 0.0 => left / right,
        _ => return None,
    }))
}

/// The value of an integer or boolean.
pub fn integer(literal: Literal) -> Option<i64> {
    match literal {
        Literal::Bool(value) => Some(i64::from(value)),
        Literal::Int(value) => Some(value),
        Literal::Float(_) => None,
    }
}

fn real(literal: Literal) -> f64 {
    match literal {
        Literal::Bool(value) => f64::from(u8::from(value)),
        Literal::Int(value) => value as f64,
        Literal::Float(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Literal::{Bool, Float, Int};

    #[test]
    fn arithmetic_is_pythons() {
        for (operator, left, right, expected) in [
            (BinaryOp::FloorDiv, Int(-7), Int(2), Some(Int(-4))),
            (BinaryOp::FloorDiv, Int(7), Int(-2), Some(Int(-4))),
            (BinaryOp::Mod, Int(-7), Int(2), Some(Int(1))),
            (BinaryOp::Mod, Int(7), Int(-2), Some(Int(-1))),
            (BinaryOp::Div, Int(1), Int(4), Some(Float(0.25))),
            (BinaryOp::Div, Int(1), Int(0), None),
            (BinaryOp::Pow, Int(2), Int(10), Some(Int(1024))),
            (BinaryOp::Pow, Int(2), Int(-1), None),
            (BinaryOp::Add, Int(i64::MAX), Int(1), None),
            (BinaryOp::Add, Bool(true), Bool(true), Some(Int(2))),
            (BinaryOp::And, Int(0), Float(2.0), Some(Int(0))),
            (BinaryOp::Or, Int(0), Float(2.0), Some(Float(2.0))),
            (BinaryOp::ShiftLeft, Int(3), Int(2), Some(Int(12))),
            (BinaryOp::BitXor, Bool(true), Bool(true), Some(Bool(false))),
        ] {
            assert_eq!(
                binary(operator, left, right),
                expected,
                "{operator:?} {left:?} {right:?}"
            );
        }
    }

    #[test]
    fn integers_that_do_not_fit_are_told_from_what_is_undefined() {
        for (operator, left, right, expected) in [
            (BinaryOp::Pow, Int(10), Int(18), false),
            (BinaryOp::Pow, Int(10), Int(19), true),
            (BinaryOp::Pow, Int(10), Int(-1), false),
            (BinaryOp::Pow, Int(-1), Int(i64::MAX), false),
            (BinaryOp::Mul, Int(i64::MAX), Int(2), true),
            (BinaryOp::Mul, Int(i64::MAX), Float(2.0), false),
            (BinaryOp::Sub, Int(i64::MIN), Int(1), true),
            (BinaryOp::ShiftLeft, Int(1), Int(62), false),
            (BinaryOp::ShiftLeft, Int(1), Int(63), true),
            (BinaryOp::ShiftLeft, Int(0), Int(99), false),
            (BinaryOp::FloorDiv, Int(i64::MIN), Int(-1), true),
            (BinaryOp::FloorDiv, Int(1), Int(0), false),
        ] {
            assert_eq!(
                overflows(operator, left, right),
                expected,
                "{operator:?} {left:?} {right:?}"
            );
        }
    }
}
