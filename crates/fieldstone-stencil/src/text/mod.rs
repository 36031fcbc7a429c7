//! The text form of the IR: for tests, for bug reports, and for looking at what a pass did.
//!
//! [`gtscript()`] writes a stencil in the language it came from instead; everything else here is about the form of its own.
//!
//! [`print()`] and [`parse`] are inverse to each other: printing and parsing gives the same stencil, types included, save for
//! spans, which then point into the text.
//!
//! ```text
//! # Comments run to the end of the line.
//! typed stencil smooth {
//!   field inp: float32[IJK]          # parameters, in the order of the signature
//!   field out: float32[IJK]
//!   scalar weight: float32
//!   temp lap: float32                # temporaries; without `: type` where that is not resolved
//!   parallel {
//!     interval 0..end {
//!       lap = ((inp[-1, 0, 0] + inp[1, 0, 0]) - (2:float32 * inp))
//!     }
//!   }
//!   forward {
//!     interval 0..1 {
//!       out = inp
//!     }
//!     interval 1..end-1 {
//!       if ((lap > 0.0:float32) and not(isnan(lap))) {
//!         out = (inp + (weight * lap[0, 0, -1]))
//!       } else {
//!         out = select((weight < 1.0:float32), inp, -(out[0, 0, -1]))
//!       }
//!     }
//!   }
//! }
//! ```
//!
//! - Operations with two operands are always in parentheses, so there is no precedence. `-(x)`, `not(x)`, `~(x)` and functions
//!   stand before theirs; `-1` is a literal. A conditional expression is `select(condition, a, b)`, a conversion `float32(x)`.
//! - Offsets are along I, J, K, whatever axes the target has; none is the point itself. `f[0, 0, 1 + n]` is `n` levels further
//!   than the offset says, `f[0, 0, at n]` at level `n`. Behind it stand indices of data dimensions, `f[0, 0, 0][1, n]`.
//!   `index(K)` is the level that is computed. `checked(f, 3, n)` is `n`, the index of a data dimension of `f` with 3 elements.
//! - `field f: float64[IJ][3, 3]` and `temp t: float64[IJ][3]` extend along some axes, or have data dimensions.
//! - `while condition { … }` repeats, `region [0:1, :] { … }` runs on a part of the horizontal plane, with bounds as those of
//!   intervals.
//! - `require condition for [a, b, c, d]` ends the call with an error where the condition does not hold: the intervals from `a` to
//!   before `b` and from `c` to before `d` are not what they have to be.
//! - `0`, `2`, `end`, `end-1` are levels from the first and from one past the last; an interval ends before its second level.
//! - **Types.** In a `typed stencil`, an expression has the type of its (first) operand; comparisons and tests are `bool`;
//!   accesses have the type of their target; a literal is followed by its type. Whatever has another type says so, as in
//!   `(a + b):float64`, and `:?` is one that is missing. In a plain `stencil` no expression has a type unless it says so; only
//!   conversions do.
//! - Literals are integers, reals (with a point or an exponent, or `+inf`, `-inf`, `+nan`), `True` and `False`.
//! - A name with other characters than letters, digits, `_`, `@` and `.` is in double quotes, as in a Rust string.
//! - `fast_math contract, reciprocal` before the declarations says what compiled arithmetic may do to results.
//! - `params b, a` after the declarations is the order of the signature, where that is not the order of the declarations.

mod functions;
mod gtscript;
mod parse;
mod piece;
mod print;
mod token;
mod whole;

pub use gtscript::{gtscript, gtscript_with_functions};
pub use parse::parse;
pub use print::{print, print_expr, print_program};
pub use token::SYNTAX;

use crate::dtype::DType;
use crate::ir::{Builtin, ExprKind, Stencil, StmtKind, Target};
use crate::source::{SourceMap, Span};

/// The type an expression of a typed stencil has if the text does not say so; `None` for literals.
fn implied(stencil: &Stencil, kind: &ExprKind) -> Option<DType> {
    match kind {
        ExprKind::Literal(_) | ExprKind::Cast(_) => None,
        ExprKind::Position(_) | ExprKind::Size(_) | ExprKind::Checked(..) => Some(DType::Int64),
        ExprKind::Scalar(id) => stencil.scalars.get(id.0 as usize).map(|s| s.dtype),
        ExprKind::Access { target, .. } => match target {
            Target::Field(id) => stencil.fields.get(id.0 as usize).map(|f| f.dtype),
            Target::Temp(id) => stencil.temporaries.get(id.0 as usize)?.dtype,
        },
        ExprKind::Unary(_, a) | ExprKind::Binary(_, a, _) | ExprKind::Select(_, a, _) => a.dtype,
        ExprKind::Compare(..)
        | ExprKind::Call(Builtin::IsFinite | Builtin::IsInf | Builtin::IsNan, _) => {
            Some(DType::Bool)
        }
        ExprKind::Call(_, operands) => operands.first()?.dtype,
    }
}

/// The stencil without its sources and spans, for comparing what stencils say.
pub fn without_spans(mut stencil: Stencil) -> Stencil {
    let nowhere = Span::default();
    stencil.sources = SourceMap::default();
    stencil
        .fields
        .iter_mut()
        .for_each(|field| field.span = nowhere);
    stencil
        .scalars
        .iter_mut()
        .for_each(|scalar| scalar.span = nowhere);
    stencil
        .temporaries
        .iter_mut()
        .for_each(|temp| temp.span = nowhere);
    for computation in &mut stencil.computations {
        computation.span = nowhere;
        for section in &mut computation.sections {
            section.span = nowhere;
            let mut todo: Vec<_> = section.body.iter_mut().collect();
            while let Some(stmt) = todo.pop() {
                stmt.span = nowhere;
                if let StmtKind::Assign { target_span, .. } = &mut stmt.kind {
                    *target_span = nowhere;
                }
                for expr in stmt.expressions_mut() {
                    expr.walk_mut(|node| node.span = nowhere);
                }
                todo.extend(stmt.inner_mut());
            }
        }
    }
    stencil
}
