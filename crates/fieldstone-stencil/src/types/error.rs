//! Every error of type resolution.

use super::promotion::Ty;
use super::signature::Misfit;
use crate::diagnostic::{Category, Code, Diagnostic};
use crate::ir::Expr;
use crate::source::Span;

/// Arithmetic on booleans, or a function of numbers on a boolean.
pub const BOOLEAN_ARITHMETIC: Code = Code(300);
/// `& | ^ ~ << >>` on real numbers, or on integers without a common integer type.
pub const BITWISE_OPERANDS: Code = Code(301);
/// `and`, `or`, `not` on numbers.
pub const LOGICAL_OPERANDS: Code = Code(302);
/// The condition of an `if`, or of a conditional expression, is a number.
pub const CONDITION: Code = Code(303);
/// A literal that the type it has to take cannot hold.
pub const LITERAL_RANGE: Code = Code(304);
/// An integer to a negative power.
pub const NEGATIVE_POWER: Code = Code(305);
/// A temporary that is computed from nothing but itself.
pub const UNKNOWN_TYPE: Code = Code(306);
/// An expression nested more deeply than [`MAX_DEPTH`](super::MAX_DEPTH).
pub const TOO_DEEP: Code = Code(307);
/// A level or index of a data dimension that is no integer.
pub const INDEX: Code = Code(309);
/// A literal precision that is no type.
pub const PRECISION: Code = Code(308);

pub(super) fn logical(op: &str, place: Span, ty: Ty) -> Diagnostic {
    Diagnostic::error(
        LOGICAL_OPERANDS,
        Category::DataType,
        place,
        format!("`{op}` needs booleans"),
    )
    .with_label(format!("this is {}", ty.describe()))
    .with_help("compare it with something, as in `x != 0`, or use `& | ~` for the bits of integers")
}

pub(super) fn misfit(
    reason: Misfit,
    op: &str,
    span: Span,
    operands: &[(&Expr, Ty)],
) -> Box<Diagnostic> {
    let (code, message, help) = match reason {
        Misfit::BooleanArithmetic => (
            BOOLEAN_ARITHMETIC,
            format!("`{op}` has no meaning for booleans"),
            "convert one to a number, as in `float(a)` or `int(a)`, or use `and`, `or`, `not`",
        ),
        Misfit::Bitwise => (
            BITWISE_OPERANDS,
            format!("`{op}` needs integers or booleans"),
            match op {
                "^" => "a power is written `x ** 2`; the bits of a real number are not at hand",
                "&" | "|" => {
                    "conditions are joined by `and` and `or`, or in brackets, as in `(a > 0) & (b > 0)`: `&` and `|` go before `>`"
                }
                _ => "convert the real number, as in `int(x)`",
            },
        ),
        Misfit::NoCommonInteger => (
            BITWISE_OPERANDS,
            format!("`{op}` has operands without a common integer type"),
            "convert one to the other's type",
        ),
        Misfit::NegativePower => (
            NEGATIVE_POWER,
            "an integer has no negative powers".to_string(),
            "convert it to a real number first, as in `float(n) ** -2`",
        ),
    };
    let mut diagnostic = Diagnostic::error(code, Category::DataType, span, message).with_help(help);
    for (operand, ty) in operands {
        diagnostic = diagnostic.with_secondary(operand.span, format!("this is {}", ty.describe()));
    }
    Box::new(diagnostic)
}
