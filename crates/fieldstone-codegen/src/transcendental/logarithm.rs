//! `log` and what is made of it: the argument is a power of two times a number `m` near one, whose logarithm is
//! `2 atanh(s)` with `s = (m - 1) / (m + 1)`, an odd polynomial.

use super::number::{Bits, Real};
use super::polynomial::{Pair, polynomial};

/// What depends on the type.
pub struct Constants {
    /// `(2 atanh(s) / s - 2) / s^2` as polynomial of `s^2`.
    polynomial: &'static [f64],
    /// `log(2)`: so few digits that multiples are exact, and the rest.
    pub log_2: (f64, f64),
    /// The same to base ten.
    log10_2: (f64, f64),
    /// The logarithm of e to base ten: its first digits and the others.
    log10_e: (f64, f64),
    /// Bits of the fraction.
    fraction: u32,
    /// Bits of the smallest `m`, the square root of one half.
    lowest: u64,
    /// What stands for the exponent zero.
    bias: f64,
    /// The smallest normal number and the largest number.
    normal: (f64, f64),
    /// Makes subnormal numbers normal: a number and its logarithm to base two.
    raise: (f64, f64),
}

/// For 64 bits; the polynomial is off by 2^-59.5 of the logarithm.
pub const DOUBLE: Constants = Constants {
    polynomial: &[
        0.6666666666666734,
        0.39999999999416863,
        0.2857142874196331,
        0.2222219861187024,
        0.18183562524582766,
        0.15314092016053096,
        0.1479557603840436,
    ],
    log_2: (0.6931471805598903, 5.497923018708371e-14),
    log10_2: (0.3010299956640665, -8.532344317057107e-14),
    log10_e: (std::f64::consts::LOG10_E, 1.098319650216765e-17),
    fraction: 52,
    lowest: std::f64::consts::FRAC_1_SQRT_2.to_bits(),
    bias: 1023.0,
    normal: (f64::MIN_POSITIVE, f64::MAX),
    raise: (18014398509481984.0, 54.0),
};

/// For 32 bits; the polynomial is off by 2^-30.2 of the logarithm.
pub const SINGLE: Constants = Constants {
    polynomial: &[0.6666677594184875, 0.3997758626937866, 0.2987070679664612],
    log_2: (0.693145751953125, 1.4286068203094173e-06),
    log10_2: (0.301025390625, 4.605039066518657e-06),
    log10_e: (0.4342944920063019, -1.0103049952192578e-08),
    fraction: 23,
    lowest: std::f32::consts::FRAC_1_SQRT_2.to_bits() as u64,
    bias: 127.0,
    normal: (f32::MIN_POSITIVE as f64, f32::MAX as f64),
    raise: (33554432.0, 25.0),
};

/// A positive number `2^exponent * (1 + fraction)` with `sqrt(1/2) <= 1 + fraction < sqrt(2)`.
#[derive(Clone, Copy)]
pub struct Parts<R> {
    /// An integer.
    pub exponent: R,
    /// Exact.
    pub fraction: R,
}

/// Numbers whose logarithm is found without ado: positive, normal and finite.
#[inline(always)]
pub fn is_usual<R: Real>(x: R, constants: &Constants) -> R::Mask {
    R::of(constants.normal.0).at_most(x) & x.at_most(R::of(constants.normal.1))
}

/// Takes a positive number apart.
#[inline(always)]
pub fn parts<R: Real>(x: R, is_usual: R::Mask, constants: &Constants) -> Parts<R> {
    let [x, raised] = R::rarely(!is_usual, [x, R::of(0.0)], || {
        let (subnormal, by) = (x.below(R::of(constants.normal.0)), constants.raise);
        [
            R::select(subnormal, x * R::of(by.0), x),
            R::select(subnormal, R::of(by.1), R::of(0.0)),
        ]
    });
    let parts = parts_of_normal(x, constants);
    Parts {
        exponent: parts.exponent - raised,
        ..parts
    }
}

/// Takes a positive normal number apart.
#[inline(always)]
pub fn parts_of_normal<R: Real>(x: R, constants: &Constants) -> Parts<R> {
    let one = (constants.bias as u64) << constants.fraction;
    let above = x.bits() - R::Bits::of(constants.lowest.wrapping_sub(one));
    // An integer as the last bits of a number that is so large that it has no digits behind the point.
    let integers = (1u64 << constants.fraction) as f64;
    let exponent = (above.down(constants.fraction) | R::of(integers).bits()).real();
    let zero = integers + constants.bias;
    let fraction = above & R::Bits::of((1 << constants.fraction) - 1);
    Parts {
        exponent: exponent - R::of(zero),
        fraction: (fraction + R::Bits::of(constants.lowest)).real() - R::of(1.0),
    }
}

of_both_types! {
    log log_double log_single;
}

#[inline(always)]
fn log<R: Real>(x: R, constants: &Constants) -> R {
    let is_usual = is_usual(x, constants);
    let Parts { exponent, fraction } = parts(x, is_usual, constants);
    let s = fraction / (fraction + R::of(2.0));
    let square = s * s;
    // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + s^2 P(s^2)): an error of `s` hardly counts.
    let half_square = fraction * R::of(0.5) * fraction;
    let rest = square.mul_add(polynomial(square, constants.polynomial), half_square);
    let low = exponent.mul_add(R::of(constants.log_2.1), -half_square);
    let low = s.mul_add(rest, low);
    let multiple = exponent * R::of(constants.log_2.0);
    let high = Pair::sum(multiple, fraction);
    let value = high.high + (high.low + low);
    let [value] = R::rarely(!is_usual, [value], || [at_the_edges(x, value)]);
    value
}

/// The logarithm of zero, infinity, NaN and negative numbers; elsewhere the value.
#[inline(always)]
pub fn at_the_edges<R: Real>(x: R, value: R) -> R {
    let infinity = R::of(f64::INFINITY);
    let value = R::select(x.below(infinity), value, x);
    let value = R::select(x.below(R::of(0.0)), R::of(f64::NAN), value);
    R::select(x.equals(R::of(0.0)), -infinity, value)
}

/// `atanh(s) / s = 1 + s^2 / 3 + s^4 P(s^2)`: `P`, so that the whole is off by 2^-73.
const ATANH: [f64; 8] = [
    0.1999999999999999,
    0.14285714285721907,
    0.11111111108899664,
    0.09090909421339985,
    0.07692279260231258,
    0.06668130503055579,
    0.0583792467451175,
    0.059906031534120295,
];

/// One third: its first digits and the others.
const THIRD: (f64, f64) = (0.3333333333333333, 1.850371707708594e-17);

/// The logarithm of [`Parts`] in 64 bits, off by about 2^-66 of it.
#[inline(always)]
pub fn log_pair<R: Real>(parts: Parts<R>) -> Pair<R> {
    let fraction = Pair {
        high: parts.fraction,
        low: R::of(0.0),
    };
    log_of_sum(parts.exponent, fraction)
}

/// `log(2^exponent * (1 + fraction))`, off by about 2^-66 of it, where `1 + fraction` is between the roots of one half and
/// of two.
#[inline(always)]
fn log_of_sum<R: Real>(exponent: R, fraction: Pair<R>) -> Pair<R> {
    let two = R::of(2.0);
    let sum = Pair::sum(two, fraction.high);
    let reciprocal = R::of(1.0) / sum.high;
    let s = fraction.high * reciprocal;
    let rest = (-s).mul_add(
        sum.low + fraction.low,
        (-s).mul_add(sum.high, fraction.high),
    );
    let s = Pair {
        high: s,
        low: (rest + fraction.low) * reciprocal,
    };

    let square = Pair::product(s.high, s.high);
    let square_low = (two * s.high).mul_add(s.low, square.low);
    let beyond = square.high * polynomial(square.high, &ATANH);
    let factor = Pair::sum(R::of(THIRD.0), beyond);
    let factor_low = factor.low + R::of(THIRD.1);
    // s^2 / 3 + s^4 P(s^2)
    let series = square.high * factor.high;
    let series_low = square.high.mul_add(factor.high, -series);
    let series_low = square.high.mul_add(factor_low, series_low);
    let series_low = square_low.mul_add(factor.high, series_low);

    let first = Pair {
        high: two * s.high,
        low: two * s.low,
    };
    let second = Pair::product(first.high, series);
    let second_low = first.high.mul_add(series_low, second.low);
    let second_low = first.low.mul_add(series, second_low);

    let multiple = exponent * R::of(DOUBLE.log_2.0);
    let high = Pair::sum(multiple, first.high);
    let high_and_second = Pair::sum(high.high, second.high);
    let low = exponent.mul_add(R::of(DOUBLE.log_2.1), first.low + second_low);
    Pair::sum(high_and_second.high, (high_and_second.low + high.low) + low)
}

of_both_types! {
    log10 log10_double log10_single;
}

#[inline(always)]
fn log10<R: Real>(x: R, constants: &Constants) -> R {
    let is_usual = is_usual(x, constants);
    let Parts { exponent, fraction } = parts(x, is_usual, constants);
    let s = fraction / (fraction + R::of(2.0));
    let square = s * s;
    // As `log` does it, each term times the logarithm of e.
    let half_square = fraction * R::of(0.5) * fraction;
    let rest = square.mul_add(polynomial(square, constants.polynomial), half_square);
    let rest = s.mul_add(rest, -half_square);
    let (e, e_low) = constants.log10_e;
    let linear = Pair::product(fraction, R::of(e)).and(fraction * R::of(e_low));
    let low = exponent.mul_add(R::of(constants.log10_2.1), linear.low);
    let low = rest.mul_add(R::of(e), low);
    let sum = Pair::sum(exponent * R::of(constants.log10_2.0), linear.high);
    let value = sum.high + (sum.low + low);
    let [value] = R::rarely(!is_usual, [value], || [at_the_edges(x, value)]);
    value
}
