//! `sin`, `cos`, `tan`: the angle less a multiple of half pi, of which sine and cosine are polynomials.

use super::number::{Bits, Double, Real, Single};
use super::polynomial::{Pair, leading_polynomial, polynomial};
use super::reduction::{self, Quadrant, is_far, near_quadrant, quadrant};

/// What depends on the type; the polynomials are for `|x| <= pi / 4`.
struct Constants {
    /// `(tan(x) - x) / x^3` as polynomial of `x^2`.
    tan: &'static [f64],
    /// `(sin(x) - x) / x^3` as polynomial of `x^2`.
    sin: &'static [f64],
    /// `(cos(x) - 1 + x^2 / 2) / x^4` as polynomial of `x^2`.
    cos: &'static [f64],
    /// Bits of a number, less one.
    sign: u32,
}

/// For 64 bits; the polynomials are off by 2^-62 of the sine, 2^-68 of the cosine and 2^-60 of the tangent.
const DOUBLE: Constants = Constants {
    tan: &[
        0.33333333333333376,
        0.13333333333326097,
        0.05396825397252422,
        0.02186948840917468,
        0.00886323776826438,
        0.003592102452525342,
        0.0014560345744183988,
        0.0005889185976719222,
        0.00024356073322592716,
        8.404124338760169e-05,
        6.635024466038161e-05,
        -2.453788332857448e-05,
        4.7725410612808404e-05,
        -2.3824631698120195e-05,
        9.699359418215433e-06,
    ],
    sin: &[
        -0.16666666666666666,
        0.0083333333333331,
        -0.00019841269841057137,
        2.7557319129304664e-06,
        -2.5052085981238547e-08,
        1.6056250403956194e-10,
        -7.484956354804018e-13,
    ],
    cos: &[
        0.041666666666666664,
        -0.0013888888888888447,
        2.4801587301259432e-05,
        -2.755731910073755e-07,
        2.0876731788162253e-09,
        -1.1468014382724675e-11,
        4.645442442163678e-14,
    ],
    sign: 63,
};

/// For 32 bits; the polynomials are off by 2^-32 of the sine, 2^-36 of the cosine and 2^-29 of the tangent.
const SINGLE: Constants = Constants {
    tan: &[
        0.33333349227905273,
        0.13332676887512207,
        0.05405867099761963,
        0.02128765918314457,
        0.010823366232216358,
        0.00010368514631409198,
        0.004369916394352913,
    ],
    sin: &[
        -0.1666666716337204,
        0.008333371952176094,
        -0.00019849911041092128,
        2.800544962155982e-06,
    ],
    cos: &[
        0.0416666679084301,
        -0.0013888971880078316,
        2.4818826204864308e-05,
        -2.8574555699378834e-07,
    ],
    sign: 31,
};

/// `sin(x)` in 64 bits.
#[inline(always)]
pub fn sin<R: Double>(x: R) -> R {
    let value = sine_of_quadrant(quadrant(x), 0, &DOUBLE);
    R::select(x.equals(R::of(0.0)), x, value)
}

/// `cos(x)` in 64 bits.
#[inline(always)]
pub fn cos<R: Double>(x: R) -> R {
    sine_of_quadrant(quadrant(x), 1, &DOUBLE)
}

/// `sin(x)` in 32 bits.
#[inline(always)]
pub fn sin_single<R: Single>(x: R) -> R {
    let value = sine_of_quadrant(near_quadrant(x, &reduction::SINGLE), 0, &SINGLE);
    let value = R::select(x.equals(R::of(0.0)), x, value);
    let is_far = is_far(x, &reduction::SINGLE);
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, sin(x.widen()).narrow(), value)]
    });
    value
}

/// `cos(x)` in 32 bits.
#[inline(always)]
pub fn cos_single<R: Single>(x: R) -> R {
    let value = sine_of_quadrant(near_quadrant(x, &reduction::SINGLE), 1, &SINGLE);
    let is_far = is_far(x, &reduction::SINGLE);
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, cos(x.widen()).narrow(), value)]
    });
    value
}

/// `tan(x)` in 64 bits.
#[inline(always)]
pub fn tan<R: Double>(x: R) -> R {
    let value = tangent_of_quadrant(quadrant(x), &DOUBLE);
    R::select(x.equals(R::of(0.0)), x, value)
}

/// `tan(x)` in 32 bits.
#[inline(always)]
pub fn tan_single<R: Single>(x: R) -> R {
    let value = tangent_of_quadrant(near_quadrant(x, &reduction::SINGLE), &SINGLE);
    let value = R::select(x.equals(R::of(0.0)), x, value);
    let is_far = is_far(x, &reduction::SINGLE);
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, tan(x.widen()).narrow(), value)]
    });
    value
}

/// The tangent of an angle, or less one divided by it.
#[inline(always)]
fn tangent_of_quadrant<R: Real>(
    Quadrant { number, rest }: Quadrant<R>,
    constants: &Constants,
) -> R {
    let square = Pair::product(rest.high, rest.high);
    let factor = leading_polynomial(square.high, constants.tan);
    let beyond = square.high.mul_add(factor, square.low * factor);
    let high = rest.high.mul_add(beyond, rest.high);
    let low = rest.high.mul_add(beyond, rest.high - high);
    let tangent = Pair { high, low };
    let slope = tangent.high.mul_add(tangent.high, R::of(1.0));
    let tangent = tangent.and(rest.low * slope);
    let one = R::of(1.0);
    let high = -one / tangent.high;
    let low = high.mul_add(tangent.high, one) + high * tangent.low;
    let reciprocal = low.mul_add(high, high);
    R::select(is_odd(number), reciprocal, tangent.high + tangent.low)
}

/// The sine of an angle and some more right angles.
#[inline(always)]
fn sine_of_quadrant<R: Real>(angle: Quadrant<R>, more: u64, constants: &Constants) -> R {
    let number = angle.number + R::Bits::of(more);
    let sine = sine_by(angle.rest, constants.sin);
    let cosine = cosine_by(angle.rest, constants.cos);
    let value = Pair::select(is_odd(number), cosine, sine);
    let value = value.high + value.low;
    // The second bit from below becomes the sign.
    let sign = (number & R::Bits::of(2)).up(constants.sign - 1);
    (value.bits() ^ sign).real()
}

#[inline(always)]
fn is_odd<R: Bits>(number: R) -> R::Mask {
    (number & R::of(1)).equals(R::of(1))
}

/// For at most an eighth of a turn, in 64 bits; the second part is small, but not as small as it can be.
#[inline(always)]
pub fn sine_of<R: Real>(x: Pair<R>) -> Pair<R> {
    sine_by(x, DOUBLE.sin)
}

/// For at most an eighth of a turn, in 64 bits; also where the digits count that the square of the angle loses.
#[inline(always)]
pub fn cosine_of<R: Real>(x: Pair<R>) -> Pair<R> {
    let cosine = cosine_by(x, DOUBLE.cos);
    let lost = Pair::product(x.high, x.high).low;
    Pair {
        high: cosine.high,
        low: lost.mul_add(R::of(-0.5), cosine.low),
    }
}

#[inline(always)]
fn sine_by<R: Real>(x: Pair<R>, coefficients: &[f64]) -> Pair<R> {
    let square = x.high * x.high;
    let slope = square.mul_add(R::of(-0.5), R::of(1.0));
    let beyond = x.high * square * polynomial(square, coefficients);
    Pair {
        high: x.high,
        low: x.low.mul_add(slope, beyond),
    }
}

#[inline(always)]
fn cosine_by<R: Real>(x: Pair<R>, coefficients: &[f64]) -> Pair<R> {
    let square = x.high * x.high;
    let half = square * R::of(0.5);
    let one_less = Pair::sum(R::of(1.0), -half);
    let beyond = square * square * polynomial(square, coefficients);
    let beyond = (-x.high).mul_add(x.low, beyond);
    Pair {
        high: one_less.high,
        low: one_less.low + beyond,
    }
}
