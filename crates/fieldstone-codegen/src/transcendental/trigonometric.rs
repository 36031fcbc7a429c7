//! `sin`, `cos`, `tan`: the angle less a multiple of half pi, of which sine and cosine are polynomials.

use super::number::{Bits, Double, Real, Single};
use super::polynomial::{Pair, polynomial};
use super::reduction::{self, Quadrant, is_far, near_quadrant, quadrant};

/// What depends on the type; the polynomials are for `|x| <= pi / 4`.
struct Constants {
    /// `(x / tan(x) - 1) / x^2` as polynomial of `x^2`.
    tan: &'static [f64],
    /// `(sin(x) - x) / x^3` as polynomial of `x^2`.
    sin: &'static [f64],
    /// `(cos(x) - 1 + x^2 / 2) / x^4` as polynomial of `x^2`.
    cos: &'static [f64],
    /// Bits of a number, less one.
    sign: u32,
}

/// For 64 bits; the polynomials are off by 2^-62 of the sine, 2^-68 of the cosine and 2^-57 of the tangent.
const DOUBLE: Constants = Constants {
    tan: &[
        -0.3333333333333344,
        -0.022222222222152112,
        -0.00211640211795568,
        -0.00021164019476241328,
        -2.1377902741508098e-05,
        -2.1640214380811364e-06,
        -2.2012624824851454e-07,
        -2.1045885812203037e-08,
        -3.095987723072204e-09,
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

/// For 32 bits; the polynomials are off by 2^-32 of the sine, 2^-36 of the cosine and 2^-27.5 of the tangent.
const SINGLE: Constants = Constants {
    tan: &[
        -0.3333330750465393,
        -0.022226231172680855,
        -0.002097169868648052,
        -0.0002474134380463511,
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
    let angle = quadrant(x.abs());
    sine_of_quadrant(&angle, 0, &DOUBLE, Some(x))
}

/// `cos(x)` in 64 bits.
#[inline(always)]
pub fn cos<R: Double>(x: R) -> R {
    let angle = quadrant(x.abs());
    sine_of_quadrant(&angle, 1, &DOUBLE, None)
}

/// `sin(x)` in 32 bits.
#[inline(always)]
pub fn sin_single<R: Single>(x: R) -> R {
    let angle = near_quadrant(x.abs(), &reduction::SINGLE);
    let value = sine_of_quadrant(&angle, 0, &SINGLE, Some(x));
    let is_far = is_far(x, &reduction::SINGLE);
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, sin(x.widen()).narrow(), value)]
    });
    value
}

/// `cos(x)` in 32 bits.
#[inline(always)]
pub fn cos_single<R: Single>(x: R) -> R {
    let angle = near_quadrant(x.abs(), &reduction::SINGLE);
    let value = sine_of_quadrant(&angle, 1, &SINGLE, None);
    let is_far = is_far(x, &reduction::SINGLE);
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, cos(x.widen()).narrow(), value)]
    });
    value
}

/// `tan(x)` in 64 bits.
#[inline(always)]
pub fn tan<R: Double>(x: R) -> R {
    tangent_of_quadrant(&quadrant(x.abs()), &DOUBLE, x)
}

/// `tan(x)` in 32 bits.
#[inline(always)]
pub fn tan_single<R: Single>(x: R) -> R {
    let angle = near_quadrant(x.abs(), &reduction::SINGLE);
    let value = tangent_of_quadrant(&angle, &SINGLE, x);
    let is_far = is_far(x, &reduction::SINGLE);
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, tan(x.widen()).narrow(), value)]
    });
    value
}

/// The tangent of an angle, or less one divided by it; with the sign of `x` beside its own.
#[inline(always)]
fn tangent_of_quadrant<R: Real>(angle: &Quadrant<R>, constants: &Constants, x: R) -> R {
    let (rest, one) = (angle.rest, R::of(1.0));
    let square = Pair::product(rest.high, rest.high);
    let square_low = (rest.high + rest.high).mul_add(rest.low, square.low);
    // The tangent is the rest divided by 1 + square * factor.
    let factor = polynomial(square.high, constants.tan);
    let high = square.high.mul_add(factor, one);
    let low = square.high.mul_add(factor, one - high);
    let divisor = Pair {
        high,
        low: square_low.mul_add(factor, low),
    };
    let is_odd = is_odd(angle.number);
    let above = Pair::select(is_odd, divisor, rest);
    let below = Pair::select(is_odd, rest, divisor);
    let value = above.quotient(below);
    let sign = (angle.number.up(constants.sign) ^ x.bits()) & sign_bit(constants);
    (value.bits() ^ sign).real()
}

/// The sine of an angle and some more right angles; with the sign of a number beside its own.
#[inline(always)]
fn sine_of_quadrant<R: Real>(
    angle: &Quadrant<R>,
    more: u64,
    constants: &Constants,
    sign: Option<R>,
) -> R {
    let number = angle.number + R::Bits::of(more);
    let sine = sine_by(angle.rest, constants.sin);
    let cosine = cosine_by(angle.rest, constants.cos);
    let value = Pair::select(is_odd(number), cosine, sine);
    let value = value.high + value.low;
    // The second bit from below becomes the sign.
    let own = number.up(constants.sign - 1);
    let sign = sign.map_or(own, |sign| own ^ sign.bits());
    (value.bits() ^ (sign & sign_bit(constants))).real()
}

#[inline(always)]
fn sign_bit<R: Bits>(constants: &Constants) -> R {
    R::of(1 << constants.sign)
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
    let slope = R::of(1.0) - square * R::of(0.5);
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
