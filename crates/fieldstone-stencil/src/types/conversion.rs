//! Conversions between types.

use super::error::LITERAL_RANGE;
use super::literal::{fits, int_range, retyped};
use super::promotion::{Common, Ty, Weak};
use crate::diagnostic::{Category, Diagnostic};
use crate::dtype::DType;
use crate::ir::{Expr, ExprKind, Literal};
use crate::source::Span;

/// A typed expression, and whether its type may still give way.
pub(super) type Typed = (Expr, Ty);

pub(super) fn typed(kind: ExprKind, ty: Ty, span: Span) -> Expr {
    Expr {
        kind,
        dtype: Some(ty.dtype()),
        span,
    }
}

/// As [`unify`], but a literal that is out of the other's range is compared all the same, as NumPy does.
pub(super) fn unify_for_comparison(
    a: Typed,
    b: Typed,
) -> Result<(Expr, Expr, Ty), Box<Diagnostic>> {
    let widened = |operand: Typed, literal: &Typed| match (operand.1, &literal.0.kind) {
        (Ty::Strong(dtype), ExprKind::Literal(Literal::Int(n)))
            if dtype.is_int()
                && dtype != DType::UInt64
                && literal.1 == Ty::Weak(Weak::Int)
                && !fits(*n, dtype) =>
        {
            let span = operand.0.span;
            (cast(operand, DType::Int64, span), Ty::Strong(DType::Int64))
        }
        _ => operand,
    };
    let a = widened(a, &b);
    let b = widened(b, &a);
    unify(a, b)
}

/// Both values in the type they have in common.
pub(super) fn unify(a: Typed, b: Typed) -> Result<(Expr, Expr, Ty), Box<Diagnostic>> {
    let ty = Common::default().with(a.1).with(b.1).ty();
    let dtype = ty.dtype();
    Ok((coerce(a, dtype)?, coerce(b, dtype)?, ty))
}

/// Converts a value to the type it is needed in.
pub(super) fn coerce((expr, ty): Typed, dtype: DType) -> Result<Expr, Box<Diagnostic>> {
    if let ExprKind::Literal(Literal::Int(n)) = expr.kind
        && (ty == Ty::Weak(Weak::Int) || is_too_large(n, ty))
        && dtype.is_int()
        && !fits(n, dtype)
    {
        let (least, largest) = int_range(dtype);
        return Err(Box::new(
            Diagnostic::error(
                LITERAL_RANGE,
                Category::DataType,
                expr.span,
                format!("{n} does not fit {dtype}"),
            )
            .with_label(format!("{dtype} holds {least} to {largest}"))
            .with_help(format!(
                "convert the other operand to a wider type, or write `{dtype}({n})` to wrap around"
            )),
        ));
    }
    let span = expr.span;
    Ok(cast((expr, ty), dtype, span))
}

/// Converts a value, whatever is lost.
pub(super) fn cast((expr, ty): Typed, dtype: DType, span: Span) -> Expr {
    if dtype != dtype.in_arithmetic() && expr.dtype != Some(dtype) {
        let value = cast((expr, ty), dtype.in_arithmetic(), span);
        return typed(ExprKind::Cast(Box::new(value)), Ty::Strong(dtype), span);
    }
    let kind = match retyped(&expr, ty, dtype) {
        Some(literal) => ExprKind::Literal(literal),
        None if expr.dtype == Some(dtype) => return expr,
        // One that is too large for the precision of literals is converted all the same, if that is what was asked for.
        None if matches!(expr.kind, ExprKind::Literal(Literal::Int(n)) if is_too_large(n, ty)) => {
            ExprKind::Cast(Box::new(typed(expr.kind, Ty::Strong(DType::Int64), span)))
        }
        None => ExprKind::Cast(Box::new(expr)),
    };
    typed(kind, Ty::Strong(dtype), span)
}

/// Whether an integer literal does not fit the precision that literals were given.
fn is_too_large(n: i64, ty: Ty) -> bool {
    ty.dtype().is_int() && !fits(n, ty.dtype())
}

/// The truth value of an expression: of booleans and literals.
pub(super) fn truth(
    (expr, ty): Typed,
    error: impl Fn(Span, Ty) -> Diagnostic,
) -> Result<Expr, Box<Diagnostic>> {
    let value = match expr.kind {
        _ if ty.is_bool() => return Ok(expr),
        ExprKind::Literal(Literal::Int(n)) => n != 0,
        ExprKind::Literal(Literal::Float(x)) => x != 0.0,
        _ => return Err(Box::new(error(expr.span, ty))),
    };
    let kind = ExprKind::Literal(Literal::Bool(value));
    Ok(typed(kind, Ty::Strong(DType::Bool), expr.span))
}
