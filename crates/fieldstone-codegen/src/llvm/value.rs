//! Values that are composed of several arrays before their columns are transposed.

use fieldstone_stencil::Axis;
use fieldstone_stencil::DType;
use fieldstone_stencil::fast_math::FastMath;
use fieldstone_stencil::ir::{Expr, ExprKind, ScalarId, Target};

use crate::composed::Composed;

use super::arithmetic::Arithmetic;
use super::builder::Builder;
use super::memory::splat;
use super::types::{self, Lanes};

/// A value that functions compute on vectors of levels. What they get for it goes behind what they get for its first array.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub composed: &'a Composed,
    pub dtype: DType,
    /// The outer axis of the nest.
    pub outer: Axis,
    pub fast_math: FastMath,
}

impl Value<'_> {
    /// How many arrays it is composed of.
    pub fn arrays(self) -> usize {
        self.composed.sources.len()
    }

    /// Parameters for arrays behind the first one, and for scalars.
    pub fn parameters(self) -> String {
        let arrays = (1..self.arrays()).map(|n| format!(", ptr %array{n}, i64 %stride{n}"));
        let kind = types::register(self.dtype);
        let scalars = self.composed.scalars.iter();
        let scalars = scalars.map(|id| format!(", {kind} {}", parameter(*id)));
        arrays.chain(scalars).collect()
    }

    /// Arguments for them, where columns begin at other addresses and scalars have some names.
    pub fn arguments(
        self,
        arrays: &[(String, String)],
        scalar: impl Fn(ScalarId) -> String,
    ) -> String {
        let arrays = arrays.iter().skip(1);
        let arrays = arrays.map(|(array, stride)| format!(", ptr {array}, i64 {stride}"));
        let kind = types::register(self.dtype);
        let scalars = self.composed.scalars.iter();
        let scalars = scalars.map(|id| format!(", {kind} {}", scalar(*id)));
        arrays.chain(scalars).collect()
    }

    /// The same, of a function that passes on its own.
    pub fn passed_on(self, arrays: &[(String, String)]) -> String {
        self.arguments(arrays, parameter)
    }

    /// The value of elements of its arrays.
    pub fn of(self, b: &mut Builder, lanes: Lanes, elements: &[String]) -> String {
        let mut arithmetic = Arithmetic {
            b,
            lanes,
            seen: [None; 2],
            fast_math: self.fast_math,
        };
        self.expression(&mut arithmetic, elements, &self.composed.value)
    }

    fn expression(self, to: &mut Arithmetic<'_>, elements: &[String], expr: &Expr) -> String {
        let operands: Vec<String> = (expr.operands())
            .map(|operand| self.expression(to, elements, operand))
            .collect();
        match (&expr.kind, operands.as_slice()) {
            (ExprKind::Literal(literal), _) => to.literal(*literal, self.dtype),
            (ExprKind::Scalar(id), _) => {
                splat(to.b, to.lanes, types::register(self.dtype), &parameter(*id))
            }
            (ExprKind::Access { target, offset, .. }, _) => {
                elements[self.number(*target, offset.along(self.outer))].clone()
            }
            (ExprKind::Unary(op, _), [a]) => to.unary(*op, self.dtype, a),
            (ExprKind::Binary(op, ..), [x, y]) => to.binary(*op, self.dtype, x, y),
            (ExprKind::Call(builtin, _), operands) => {
                let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
                to.call(*builtin, self.dtype, &operands)
            }
            _ => unreachable!("values are composed of these only"),
        }
    }

    fn number(self, target: Target, outer: i32) -> usize {
        let mut sources = self.composed.sources.iter();
        let found = sources.position(|source| *source == (target, outer));
        found.expect("all arrays are sources")
    }
}

/// The parameter for a scalar.
fn parameter(id: ScalarId) -> String {
    format!("%scalar{}", id.0)
}
