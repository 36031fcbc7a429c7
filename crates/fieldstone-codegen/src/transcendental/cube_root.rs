//! `cbrt`: an approximate reciprocal root, made exact by an iteration.

use super::logarithm::{self, Parts};
use super::number::{Bits, Real};
use super::polynomial::{Pair, polynomial};

/// `x^(-1/3)` for `x` from the root of one half to that of two, off by 2^-22 of it.
const RECIPROCAL: [f64; 8] = [
    2.2102543478317105,
    -3.8542301483613586,
    6.5270073837446265,
    -7.4578484811485115,
    5.570850799054672,
    -2.6151693981722186,
    0.7010797812581229,
    -0.08194433841845851,
];

/// `2^(1/3)`
const ROOT_OF_2: f64 = 1.2599210498948732;

/// The cube root of a number of 64 bits.
#[inline(always)]
pub fn cbrt<R: Real>(x: R) -> R {
    let constants = &logarithm::DOUBLE;
    let magnitude = x.abs();
    let is_usual = logarithm::is_usual(magnitude, constants);
    let Parts { exponent, fraction } = logarithm::parts(magnitude, is_usual, constants);
    let mantissa = fraction + R::of(1.0);

    // A multiple of three, and what is left: -1, 0 or 1.
    let rounding = R::of(6755399441055744.0);
    let shifted = exponent.mul_add(R::of(1.0 / 3.0), rounding);
    let third = shifted - rounding;
    let rest = third.mul_add(R::of(-3.0), exponent);
    let (is_less, is_more) = (rest.below(R::of(0.0)), R::of(0.0).below(rest));
    let choose = |less: f64, more: f64| {
        let other = R::select(is_more, R::of(more), R::of(1.0));
        R::select(is_less, R::of(less), other)
    };
    let cube = mantissa * choose(0.5, 2.0);
    let guess = polynomial(mantissa, &RECIPROCAL) * choose(ROOT_OF_2, 1.0 / ROOT_OF_2);

    // With h = 1 - cube * guess^3 the reciprocal root is guess * (1 - h)^(-1/3), of which these are the first terms.
    let h = (-(guess * guess)).mul_add(guess * cube, R::of(1.0));
    let series = h.mul_add(R::of(2.0 / 9.0), R::of(1.0 / 3.0)) * h;
    let guess = guess.mul_add(series, guess);
    let root = cube * guess * guess;
    // One step of Newton's for the last digits.
    let square = Pair::product(root, root);
    let excess = square.high.mul_add(root, -cube) + square.low * root;
    let root = (excess * guess * guess).mul_add(R::of(-1.0 / 3.0), root);

    let root = (root.bits() + shifted.bits().up(52)).real();
    let [root] = R::rarely(!is_usual, [root], || {
        let is_itself = magnitude.equals(R::of(0.0)) | !magnitude.below(R::of(f64::INFINITY));
        [R::select(is_itself, magnitude, root)]
    });
    root.copysign(x)
}
