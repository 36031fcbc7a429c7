//! Type resolution: every expression gets a type, every conversion becomes a [`ExprKind::Cast`].
//!
//! The rules are NumPy's (version 2), but for integers beside reals: two typed operands meet in `numpy.promote_types`, and
//! in the real type if one is an integer, as in C and in GT4Py; a literal, and an expression of literals only, is *weak*: it takes the type of what it meets, as long as that can hold its kind of number (an integer
//! literal is any number, a real literal makes integers `float64`). Weak expressions that meet nothing are `int64` and
//! `float64`, and expressions of several literals are computed in those before they are converted, as Python computes them.
//! [`Precision`] makes literals strong instead.
//!
//! What follows from that for the IR:
//!
//! - A literal keeps its kind: `2` beside a `float32` is `Literal::Int(2)` of type `float32`. So `x ** 2` is recognised by
//!   an exponent that is a [`Literal::Int`].
//! - `pow(a, b)` and `mod(a, b)` become [`BinaryOp::Pow`] and [`BinaryOp::Mod`]; the sign of a negative literal becomes part
//!   of it; `floor`, `ceil`, `trunc`, `round` and `round_away_from_zero` of integers vanish.
//! - Conditions and operands of `and`, `or`, `not` are booleans. Numbers have no truth value, but literals do.
//! - A boolean beside a number counts as 0 or 1; arithmetic on booleans alone is an error, for NumPy and Python disagree on it.
//! - A value is converted to the type of the target it is stored to, whatever that is, as NumPy's `a[...] = b` does.
//!
//! A temporary without annotation has the type that all values assigned to it have in common, wherever the assignments are.
//!
//! | module | what lives there |
//! |---|---|
//! | `depth` | how deeply expressions may be nested |
//! | `promotion`, `literal` | the type that several values have in common; the types and ranges of literals |
//! | `signature` | what operators and functions make of the types of their operands |
//! | `inference`, `temporary` | what type an expression will have, and from that the temporaries |
//! | `conversion`, `expression`, `statement` | writing the types down |
//! | `error` | every error of all that |
//!
//! [`ExprKind::Cast`]: crate::ir::ExprKind::Cast
//! [`Literal::Int`]: crate::ir::Literal::Int
//! [`BinaryOp::Pow`]: crate::ir::BinaryOp::Pow
//! [`BinaryOp::Mod`]: crate::ir::BinaryOp::Mod

mod conversion;
mod depth;
mod error;
mod expression;
mod inference;
mod literal;
mod promotion;
mod signature;
mod statement;
mod temporary;

use self::depth::reject_deep;
use self::inference::Types;
use self::promotion::Ty;
use crate::diagnostic::Diagnostic;
use crate::ir::Stencil;

pub use self::depth::MAX_DEPTH;
pub use self::error::{
    BITWISE_OPERANDS, BOOLEAN_ARITHMETIC, CONDITION, LITERAL_RANGE, LOGICAL_OPERANDS,
    NEGATIVE_POWER, PRECISION, TOO_DEEP, UNKNOWN_TYPE,
};
pub use self::literal::Precision;
pub(crate) use self::literal::fits;
pub use self::promotion::promote;

/// Fills every type and makes every conversion a cast.
///
/// # Errors
///
/// Every place where types do not fit.
pub fn resolve(stencil: Stencil, precision: Precision) -> Result<Stencil, Vec<Diagnostic>> {
    let (int, float) = precision.types().map_err(|error| vec![error])?;
    let mut errors = Vec::new();
    let stencil = reject_deep(stencil, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut types = Types {
        int,
        float,
        fields: stencil.fields.iter().map(|field| field.dtype).collect(),
        scalars: stencil.scalars.iter().map(|scalar| scalar.dtype).collect(),
        temporaries: (stencil.temporaries.iter())
            .map(|temporary| temporary.dtype.map_or(Ty::Unknown, Ty::Strong))
            .collect(),
    };
    types.infer_temporaries(&stencil, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut stencil = stencil;
    for (temporary, ty) in stencil.temporaries.iter_mut().zip(&types.temporaries) {
        // A temporary that nothing assigns is never read either; any type will do.
        temporary.dtype = Some(ty.dtype());
    }
    for section in (stencil.computations.iter_mut()).flat_map(|c| &mut c.sections) {
        section.body = types.block(std::mem::take(&mut section.body), &mut errors);
    }
    if errors.is_empty() {
        Ok(stencil)
    } else {
        Err(errors)
    }
}
