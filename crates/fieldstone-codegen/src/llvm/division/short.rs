//! Division by literals such as 3, 12 or 86400, as finite differences and averages have them.

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::{Expr, ExprKind, Literal};

use super::super::arithmetic::Arithmetic;

/// Binary exponents of such divisors, and bits of a mantissa that they leave.
const SIZE: i32 = 40;
const SPARE: i32 = 6;

/// A number without the factors of two that it has.
fn odd(value: f64) -> f64 {
    let mantissa = value.to_bits() & ((1 << 52) - 1) | 1 << 52;
    (mantissa >> mantissa.trailing_zeros()) as f64
}

/// A number whose mantissa has a few bits only, such as 3, 12 or 86400, and its reciprocal.
///
/// A quotient by it is not nearer the middle between two numbers than what these bits allow, so that the product with the reciprocal, a sum of
/// two numbers, is rounded as the quotient is (N. Brisebarre, J.-M. Muller and S. K. Raina, *Accelerating correctly rounded
/// floating-point division when the divisor is known in advance*, 2004). Both numbers have one sign: zeros keep theirs, and what is infinite stays so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Short {
    divisor: f64,
    /// The reciprocal, rounded towards zero, and what is left of it.
    high: f64,
    low: f64,
    /// The least size of dividends other than zero of which no product underflows.
    least: f64,
}

impl Short {
    pub(super) fn of(divisor: &Expr, dtype: DType) -> Option<Short> {
        let value = match divisor.kind {
            ExprKind::Literal(Literal::Int(value)) => value as f64,
            ExprKind::Literal(Literal::Float(value)) => value,
            _ => return None,
        };
        let (value, bits, smallest) = match dtype {
            DType::Float32 => (f64::from(value as f32), 24, -126),
            DType::Float64 => (value, 53, -1022),
            _ => return None,
        };
        let size = value.abs();
        let is_usual = (2f64.powi(-SIZE)..=2f64.powi(SIZE)).contains(&size);
        if !is_usual || odd(size) >= 2f64.powi(bits - SPARE) {
            return None;
        }
        let rounded = match dtype {
            DType::Float32 => f64::from((1.0 / size) as f32),
            _ => 1.0 / size,
        };
        let beyond = size.mul_add(-rounded, 1.0) < 0.0;
        let high = match (beyond, dtype) {
            (false, _) => rounded,
            (true, DType::Float32) => f64::from((rounded as f32).next_down()),
            (true, _) => rounded.next_down(),
        };
        let low = size.mul_add(-high, 1.0) / size;
        Some(Short {
            divisor: value,
            high: high.copysign(value),
            low: low.copysign(value),
            least: 4.0 * odd(size) * size * 2f64.powi(smallest),
        })
    }

    /// `a` divided by it.
    pub(super) fn divide(self, mut to: Arithmetic<'_>, dtype: DType, a: &str) -> String {
        let kind = to.lanes.value(dtype);
        let [divisor, high, low] = [self.divisor, self.high, self.low]
            .map(|value| to.literal(Literal::Float(value), dtype));
        let left = to.instruction("fmul", dtype, a, &low);
        let quotient = to.intrinsic("fma", dtype, &[a, &high, &left]);
        let is_rare = is_tiny(&mut to, dtype, a, self.least);
        let is_rare = to.b.any(to.lanes, &is_rare);
        let rare = to.b.begin_rare(&is_rare);
        let exact = to.instruction("fdiv", dtype, a, &divisor);
        let values = to.b.end_rare(&rare, &kind, &[[exact, quotient]]);
        values.into_iter().next().expect("one value")
    }
}

/// Where the size of a number is less than this one, but not zero.
fn is_tiny(to: &mut Arithmetic<'_>, dtype: DType, value: &str, least: f64) -> String {
    let (integer, bits, most, first) = match dtype {
        DType::Float32 => {
            let bits = i64::from((least as f32).to_bits());
            (DType::Int32, bits, i64::from(i32::MAX), i64::from(i32::MIN))
        }
        _ => (DType::Int64, least.to_bits() as i64, i64::MAX, i64::MIN),
    };
    let (from, kind) = (to.lanes.value(dtype), to.lanes.value(integer));
    let splat = |value: i64| to.lanes.constant(integer, &value.to_string());
    // Twice the bits have no sign; of zero they become the largest number, and of others the smaller ones, the smaller these are.
    let (most, limit) = (splat(most), splat(first + 2 * bits - 1));
    let bits = to.b.value(format_args!("bitcast {from} {value} to {kind}"));
    let twice = to.b.value(format_args!("add {kind} {bits}, {bits}"));
    let order = to.b.value(format_args!("add {kind} {twice}, {most}"));
    to.b.value(format_args!("icmp slt {kind} {order}, {limit}"))
}
