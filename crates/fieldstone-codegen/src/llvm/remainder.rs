//! `%` and `//` of reals.
//!
//! Where the quotient has fewer digits than the type, one division and one multiplication find the exact remainder, which
//! always is a number of the type. Vectors with other numbers in any lane go through the functions of [`crate::math`].

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::{Builtin, CompareOp, Literal, UnaryOp};

use crate::math;

use super::arithmetic::Arithmetic;

impl Arithmetic<'_> {
    /// `a % b` with the sign of `b`.
    pub(super) fn real_modulo(&mut self, dtype: DType, a: &str, b: &str) -> String {
        let (name, _) = math::symbol(Builtin::Mod, dtype).expect("reals have a remainder");
        self.unless_rare(dtype, a, b, name, |it, remainder| {
            let zero = it.zero(dtype);
            let corrected = it.instruction("fadd", dtype, remainder, b);
            let is_other = it.has_other_sign(dtype, remainder, b);
            let value = it.select(&is_other, dtype, &corrected, remainder);
            let is_zero = it.compare(CompareOp::Eq, dtype, remainder, &zero);
            let signed = it.intrinsic("copysign", dtype, &[&zero, b]);
            it.select(&is_zero, dtype, &signed, &value)
        })
    }

    /// `a // b`, rounded.
    pub(super) fn real_floor_div(&mut self, dtype: DType, a: &str, b: &str) -> String {
        let (name, _) = math::floor_div_symbol(dtype).expect("reals have a floor division");
        self.unless_rare(dtype, a, b, name, |it, remainder| {
            let number = |it: &Self, value| it.literal(Literal::Float(value), dtype);
            let (zero, half, one) = (it.zero(dtype), number(it, 0.5), number(it, 1.0));
            let whole = it.instruction("fsub", dtype, a, remainder);
            let quotient = it.instruction("fdiv", dtype, &whole, b);
            let less = it.instruction("fsub", dtype, &quotient, &one);
            let is_other = it.has_other_sign(dtype, remainder, b);
            let quotient = it.select(&is_other, dtype, &less, &quotient);
            let floor = it.intrinsic("floor", dtype, &[&quotient]);
            let above = it.instruction("fsub", dtype, &quotient, &floor);
            let next = it.instruction("fadd", dtype, &floor, &one);
            let is_next = it.compare(CompareOp::Gt, dtype, &above, &half);
            let value = it.select(&is_next, dtype, &next, &floor);
            let is_zero = it.compare(CompareOp::Eq, dtype, &quotient, &zero);
            let sign = it.instruction("fdiv", dtype, a, b);
            let signed = it.intrinsic("copysign", dtype, &[&zero, &sign]);
            it.select(&is_zero, dtype, &signed, &value)
        })
    }

    /// Whether a number is not zero and has another sign than the other one.
    fn has_other_sign(&mut self, dtype: DType, a: &str, b: &str) -> String {
        let zero = self.zero(dtype);
        let below = self.compare(CompareOp::Lt, dtype, a, &zero);
        let other = self.compare(CompareOp::Lt, dtype, b, &zero);
        let differs = self.instruction("xor", DType::Bool, &below, &other);
        let is_any = self.compare(CompareOp::Ne, dtype, a, &zero);
        self.and(&differs, &is_any)
    }

    /// What is made of `fmod(a, b)` where that is found in vectors, else what a function of this name makes of `a` and `b`.
    fn unless_rare(
        &mut self,
        dtype: DType,
        a: &str,
        b: &str,
        name: &str,
        make: impl FnOnce(&mut Self, &str) -> String,
    ) -> String {
        let quotient = self.instruction("fdiv", dtype, a, b);
        let whole = self.intrinsic("trunc", dtype, &[&quotient]);
        let whole = self.unary(UnaryOp::Neg, dtype, &whole);
        let rest = self.intrinsic("fma", dtype, &[&whole, b, a]);
        // Where the quotient was rounded up to an integer it is one too large, and this difference is exact as well.
        let one_more = self.intrinsic("fabs", dtype, &[b]);
        let one_more = self.intrinsic("copysign", dtype, &[&one_more, a]);
        let one_more = self.instruction("fadd", dtype, &rest, &one_more);
        let is_beyond = self.has_other_sign(dtype, &rest, a);
        let remainder = self.select(&is_beyond, dtype, &one_more, &rest);
        let value = make(self, &remainder);

        let rare = self.is_rare(dtype, &quotient, b);
        let block = self.b.begin_rare(&rare);
        let each = self.each_lane(name, dtype, &[a, b]);
        let kind = self.lanes.value(dtype);
        let chosen = self.b.end_rare(&block, &kind, &[[each, value]]);
        chosen.into_iter().next().expect("one of two values")
    }

    /// Whether in any lane a quotient has as many digits as the type, or is none, or the divisor is infinite.
    fn is_rare(&mut self, dtype: DType, quotient: &str, b: &str) -> String {
        let digits = match dtype {
            DType::Float32 => f32::MANTISSA_DIGITS,
            _ => f64::MANTISSA_DIGITS,
        };
        let limit = 2f64.powi(digits as i32 - 1);
        let limit = self.literal(Literal::Float(limit), dtype);
        let infinity = self.literal(Literal::Float(f64::INFINITY), dtype);
        let mut is_usual = |value: &str, limit: &str| {
            let magnitude = self.intrinsic("fabs", dtype, &[value]);
            self.compare(CompareOp::Lt, dtype, &magnitude, limit)
        };
        let (quotient, divisor) = (is_usual(quotient, &limit), is_usual(b, &infinity));
        let usual = self.and(&quotient, &divisor);
        let rare = self.not(&usual);
        self.b.any(self.lanes, &rare)
    }
}
