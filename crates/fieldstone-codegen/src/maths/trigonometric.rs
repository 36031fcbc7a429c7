//! `sin`, `cos`, `tan`: the angle less a multiple of half pi, of which sine and cosine are polynomials.

use super::number::{Bits, Double, Real};
use super::polynomial::{Pair, polynomial};
use super::reduction::{Quadrant, quadrant};

/// `(sin(x) - x) / x^3` as polynomial of `x^2`, off by 2^-62 of the sine for `|x| <= pi / 4`.
const SIN: [f64; 7] = [
    -0.16666666666666666,
    0.0083333333333331,
    -0.00019841269841057137,
    2.7557319129304664e-06,
    -2.5052085981238547e-08,
    1.6056250403956194e-10,
    -7.484956354804018e-13,
];

/// `(cos(x) - 1 + x^2 / 2) / x^4` as polynomial of `x^2`, off by 2^-68 of the cosine for `|x| <= pi / 4`.
const COS: [f64; 7] = [
    0.041666666666666664,
    -0.0013888888888888447,
    2.4801587301259432e-05,
    -2.755731910073755e-07,
    2.0876731788162253e-09,
    -1.1468014382724675e-11,
    4.645442442163678e-14,
];

/// `sin(x)`.
#[inline(always)]
pub fn sin<R: Double>(x: R) -> R {
    let Quadrant { number, rest } = quadrant(x);
    let value = sine_of_quadrant(number, rest);
    R::select(x.equals(R::of(0.0)), x, value)
}

/// `cos(x)`.
#[inline(always)]
pub fn cos<R: Double>(x: R) -> R {
    let Quadrant { number, rest } = quadrant(x);
    sine_of_quadrant(number + R::Bits::of(1), rest)
}

/// `tan(x)`.
#[inline(always)]
pub fn tan<R: Double>(x: R) -> R {
    let Quadrant { number, rest } = quadrant(x);
    let (sine, cosine) = (sine_of(rest).normal(), cosine_of(rest).normal());
    let is_odd = is_odd(number);
    let above = Pair::select(is_odd, cosine, sine);
    let below = Pair::select(is_odd, -sine, cosine);
    let value = above.over(below);
    R::select(x.equals(R::of(0.0)), x, value.high + value.low)
}

/// The sine of a number of right angles and a rest.
#[inline(always)]
fn sine_of_quadrant<R: Double>(number: R::Bits, rest: Pair<R>) -> R {
    let (sine, cosine) = (sine_of(rest), cosine_of(rest));
    let value = Pair::select(is_odd(number), cosine, sine);
    let value = value.high + value.low;
    // The second bit from below becomes the sign.
    let sign = (number & R::Bits::of(2)).up(62);
    (value.bits() ^ sign).real()
}

#[inline(always)]
fn is_odd<R: Bits>(number: R) -> R::Mask {
    (number & R::of(1)).equals(R::of(1))
}

/// For at most an eighth of a turn; the second part is small, but not as small as it can be.
#[inline(always)]
pub fn sine_of<R: Real>(x: Pair<R>) -> Pair<R> {
    let square = x.high * x.high;
    let slope = square.mul_add(R::of(-0.5), R::of(1.0));
    let beyond = x.high * square * polynomial(square, &SIN);
    Pair {
        high: x.high,
        low: x.low.mul_add(slope, beyond),
    }
}

/// For at most an eighth of a turn.
#[inline(always)]
pub fn cosine_of<R: Real>(x: Pair<R>) -> Pair<R> {
    let square = x.high * x.high;
    let half = square * R::of(0.5);
    let one_less = Pair::sum(R::of(1.0), -half);
    let beyond = square * square * polynomial(square, &COS);
    let beyond = (-x.high).mul_add(x.low, beyond);
    Pair {
        high: one_less.high,
        low: one_less.low + beyond,
    }
}
