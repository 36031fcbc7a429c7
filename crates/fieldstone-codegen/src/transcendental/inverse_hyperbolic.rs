//! `asinh`, `acosh`, `atanh`, which are logarithms: `log(w) = n log(2) + 2 atanh(s)` with `s = (w - 2^n) / (w + 2^n)`, an odd
//! polynomial. Where `n` is zero, `s` is found from the argument itself, as `w` has lost digits of it.

use super::logarithm::{self, parts_of_normal};
use super::number::{Bits, Real};
use super::polynomial::{Pair, polynomial};

/// What depends on the type.
struct Constants {
    /// `(atanh(s) - s) / s^3` as polynomial of `s^2` for `|s| <= 0.2006`.
    polynomial: &'static [f64],
    logarithm: &'static logarithm::Constants,
    /// Further away, squares may overflow, and nobody sees that the root is that of `x^2` and one.
    large: f64,
}

/// For 64 bits; the polynomial is off by 2^-55.8 of the whole.
const DOUBLE: Constants = Constants {
    polynomial: &[
        0.33333333333336473,
        0.1999999999801592,
        0.14285714709382247,
        0.11111068286032634,
        0.09093217752429132,
        0.07624296229447841,
        0.07690323838928113,
    ],
    logarithm: &logarithm::DOUBLE,
    large: 1e150,
};

/// For 32 bits; the polynomial is off by 2^-28.4 of the whole.
const SINGLE: Constants = Constants {
    polynomial: &[0.333334743976593, 0.19978788495063782, 0.15183579921722412],
    logarithm: &logarithm::SINGLE,
    large: 1e18,
};

of_both_types! {
    asinh asinh_double asinh_single;
    acosh acosh_double acosh_single;
    atanh atanh_double atanh_single;
}

/// So many times `n log(2) / 2 + atanh(s)`, of as many times `s`.
#[inline(always)]
fn sum<R: Real>(times: f64, n: R, s: Pair<R>, constants: &Constants) -> R {
    let square = s.high * s.high * R::of(1.0 / (times * times));
    let beyond = s.high * square * polynomial(square, constants.polynomial);
    let log_2 = constants.logarithm.log_2;
    let log_2 = (0.5 * times * log_2.0, 0.5 * times * log_2.1);
    let sum = Pair::sum(n * R::of(log_2.0), s.high);
    sum.high + (sum.low + (n.mul_add(R::of(log_2.1), s.low) + beyond))
}

/// The logarithm of `w`, a sum of `x` and a root; where it is below the root of two, the logarithm of the number whose `s` is
/// a quotient.
#[inline(always)]
fn log_of<R: Real>(
    x: R,
    w: Pair<R>,
    (above, below): (Pair<R>, Pair<R>),
    constants: &Constants,
) -> R {
    let parts = parts_of_normal(w.high, constants.logarithm);
    let is_near = parts.exponent.equals(R::of(0.0));
    let low = w.low * R::power_of_two(-parts.exponent);
    let far_above = Pair {
        high: parts.fraction,
        low,
    };
    let far_below = Pair::sum(R::of(2.0), parts.fraction).and(low);
    let above = Pair::select(is_near, above, far_above);
    let below = Pair::select(is_near, below, far_below);
    let value = sum(
        2.0,
        parts.exponent,
        above.twice().nearly_over(below),
        constants,
    );

    let is_large = !x.at_most(R::of(constants.large));
    let [value] = R::rarely(is_large, [value], || {
        // That of 2 x.
        let parts = parts_of_normal(x, constants.logarithm);
        let above = Pair::number(parts.fraction + parts.fraction);
        let below = Pair::sum(R::of(2.0), parts.fraction);
        let n = parts.exponent + R::of(1.0);
        let large = sum(2.0, n, above.nearly_over(below), constants);
        let large = R::select(x.below(R::of(f64::INFINITY)), large, x);
        [R::select(is_large, large, value)]
    });
    value
}

#[inline(always)]
fn asinh<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let one = R::of(1.0);
    let square = magnitude.mul_add(magnitude, one);
    let low = magnitude.mul_add(magnitude, one - square);
    let root = Pair { high: square, low }.near_sqrt();
    let w = Pair::sum(root.high, magnitude).and(root.low);
    let below = Pair::sum(root.high, one).and(root.low);
    let tangent = (Pair::number(magnitude), below);
    log_of(magnitude, w, tangent, constants).copysign(x)
}

#[inline(always)]
fn acosh<R: Real>(x: R, constants: &Constants) -> R {
    let one = R::of(1.0);
    let less_one = x - one;
    let twice = less_one + less_one;
    let square = less_one.mul_add(less_one, twice);
    let low = less_one.mul_add(less_one, twice - square);
    let root = Pair { high: square, low }.near_sqrt();
    let w = Pair::sum(x, root.high).and(root.low);
    let value = log_of(x, w, (root, Pair::sum(x, one)), constants);
    R::select(x.below(one), R::of(f64::NAN), value)
}

/// `log((1 + x) / (1 - x)) / 2`, where the quotient is `2^n` times `(1 + s) / (1 - s)`.
#[inline(always)]
fn atanh<R: Real>(x: R, constants: &Constants) -> R {
    let (half, one, magnitude) = (R::of(0.5), R::of(1.0), x.abs());
    let (more, less) = (one + magnitude, one - magnitude);
    // Bits as integers are nearly logarithms: this is n and a half, with the exponent's bias.
    let octave = 1u64 << R::FRACTION;
    let number = R::Bits::of(R::BIAS * octave + octave / 2);
    let number = more.bits() - less.bits() + number;
    let integers = octave as f64;
    let n = (number.down(R::FRACTION) | R::of(integers).bits()).real();
    let n = n - R::of(integers + R::BIAS as f64);
    let power = number & R::Bits::of(!(octave - 1));
    let power = (R::Bits::of(2 * R::BIAS * octave) - power).real();

    // s = (x - 1 + 2^-n (x + 1)) / (1 - x + 2^-n (x + 1)), of x as such or of its distance from one, of which either has all
    // digits; s is x itself where n is zero.
    let is_far = half.below(magnitude);
    let twice = power + power;
    let (plus, minus) = (power + one, power - one);
    let distance = R::select(is_far, -less, magnitude);
    let product = Pair::product(distance, plus);
    let above = Pair {
        // Exact, as they are about the same.
        high: product.high + R::select(is_far, twice, minus),
        low: product.low,
    };
    let rest = R::select(is_far, twice, plus);
    let high = distance.mul_add(minus, rest);
    let low = distance.mul_add(minus, rest - high);
    let value = sum(1.0, n, above.over(Pair { high, low }), constants);
    let is_usual = magnitude.below(one);
    let [value] = R::rarely(!is_usual, [value], || {
        let is_one = magnitude.equals(one);
        let edge = R::select(is_one, R::of(f64::INFINITY), R::of(f64::NAN));
        [R::select(is_usual, value, edge)]
    });
    value.copysign(x)
}
