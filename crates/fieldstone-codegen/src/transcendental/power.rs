//! `pow(x, y) = exp(y log(x))`, with a logarithm of more digits than the result has.

use super::number::{Bits, Double, Real, Single};
use super::polynomial::polynomial;
use super::{exponential, logarithm};

/// `x` to the power of `y`.
#[inline(always)]
pub fn pow<R: Real>(x: R, y: R) -> R {
    but_of_zero(x, y, pow_but_of_zero)
}

/// A power that a function finds, which is not asked for powers of zero that are zero: physics is full of them, as where no rain is.
#[inline(always)]
fn but_of_zero<R: Real>(x: R, y: R, power: impl FnOnce(R, R) -> R) -> R {
    let zero = R::of(0.0);
    let is_zero = x.bits().equals(zero.bits()) & zero.below(y);
    let power = power(R::select(is_zero, R::of(1.0), x), y);
    R::select(is_zero, zero, power)
}

#[inline(always)]
fn pow_but_of_zero<R: Real>(x: R, y: R) -> R {
    let is_usual = logarithm::is_usual(x, &logarithm::DOUBLE);
    let [magnitude] = R::rarely(!is_usual, [x], || [x.abs()]);
    let parts = logarithm::parts(magnitude, is_usual, &logarithm::DOUBLE);
    let exponent = logarithm::log_pair(parts).times(y);
    let (multiple, value) = exponential::exp_of_pair(exponent, &exponential::DOUBLE);
    let power = multiple.usual_power_times(value, &exponential::DOUBLE);
    let is_usual = is_usual & exponent.high.abs().at_most(R::of(700.0));
    let [power] = R::rarely(!is_usual, [power], || {
        let power = multiple.power_times(value, &exponential::DOUBLE);
        [at_the_edges(x, y, exponent.high, (-746.0, 710.0), power)]
    });
    power
}

/// `log2(m) / s` with `s = (m - 1) / (m + 1)` as polynomial of `s^2`, off by 2^-37.7 of it.
const LOG2: [f64; 5] = [
    2.8853900817900926,
    0.9617966733332703,
    0.577083586686532,
    0.411672610384251,
    0.3407322088567113,
];

/// `2^x` for `|x| <= 1/2`, off by 2^-29 of it.
const EXP2: [f64; 7] = [
    1.0000000005541665,
    0.6931472057372681,
    0.24022646890634017,
    0.055503287769647365,
    0.009618488957120017,
    0.0013399931219339096,
    0.00015345812001867946,
];

/// The logarithm to base two of a positive number of 32 bits, with more digits than 32 bits hold.
#[inline(always)]
fn log2_single<R: Double>(x: R) -> R {
    // Subnormal numbers of 32 bits are normal ones of 64.
    let parts = logarithm::parts_of_normal(x, &logarithm::DOUBLE);
    let s = parts.fraction / (parts.fraction + R::of(2.0));
    s.mul_add(polynomial(s * s, &LOG2), parts.exponent)
}

/// `2^x` with more digits than 32 bits hold, where that is a normal number.
#[inline(always)]
pub fn exp2_single<R: Double>(x: R) -> R {
    let rounding = R::of(6755399441055744.0);
    let shifted = x + rounding;
    let value = polynomial(x - (shifted - rounding), &EXP2);
    (value.bits() + shifted.bits().up(52)).real()
}

/// `x` to the power of `y`, computed with 64 bits: there no result of 32 bits overflows.
#[inline(always)]
pub fn pow_single<R: Single>(x: R, y: R) -> R {
    but_of_zero(x.widen(), y.widen(), pow_but_of_zero_single).narrow()
}

#[inline(always)]
fn pow_but_of_zero_single<R: Double>(x: R, y: R) -> R {
    let exponent = y * log2_single(x.abs());
    let power = exp2_single(exponent);
    let is_usual =
        R::of(0.0).below(x) & x.below(R::of(f64::INFINITY)) & exponent.abs().at_most(R::of(1000.0));
    let [power] = R::rarely(!is_usual, [power], || {
        [at_the_edges(x, y, exponent, (-1000.0, 1000.0), power)]
    });
    power
}

/// Powers where `x` is negative, zero, infinite or NaN, or where the logarithm of the power is beyond one of two limits or
/// NaN; elsewhere those of `|x|` that are given. The cases are those of annex F of the C standard.
#[inline(always)]
fn at_the_edges<R: Real>(x: R, y: R, logarithm: R, limits: (f64, f64), power: R) -> R {
    let (zero, one, infinity) = (R::of(0.0), R::of(1.0), R::of(f64::INFINITY));
    let magnitude = x.abs();
    let logarithm = R::select(magnitude.equals(zero), -y, logarithm);
    let logarithm = R::select(magnitude.equals(infinity), y, logarithm);
    let is_edge = magnitude.equals(zero) | magnitude.equals(infinity);
    let limit = |limit: f64| R::select(is_edge, zero, R::of(limit));
    let power = R::select(limit(limits.1).below(logarithm), infinity, power);
    let power = R::select(logarithm.below(limit(limits.0)), zero, power);
    let power = R::select(magnitude.equals(one) & y.equals(y), one, power);
    let is_nan = !(x.equals(x) & y.equals(y));
    let is_negative = one.copysign(x).below(zero);
    let is_odd = is_integer(y) & !is_integer(y * R::of(0.5));
    let power = R::select(is_negative & is_odd, -power, power);
    let has_none = x.below(zero) & (-infinity).below(x) & !is_integer(y);
    let power = R::select(is_nan | has_none, R::of(f64::NAN), power);
    R::select(x.equals(one) | y.equals(zero), one, power)
}

/// Whether a number of 64 bits has no digits behind the point.
#[inline(always)]
fn is_integer<R: Real>(x: R) -> R::Mask {
    let integers = R::of(4503599627370496.0);
    let magnitude = x.abs();
    integers.at_most(magnitude) | ((magnitude + integers) - integers).equals(magnitude)
}
