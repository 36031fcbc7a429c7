//! `asin`, `acos`, `atan`: polynomials near zero, to which other numbers are mapped.

use super::number::Real;
use super::polynomial::{Pair, exact_polynomial, polynomial};

/// `(atan(x) / x - 1) / x^2` as polynomial of `x^2`, in 64 bits; off by 2^-63 for `|x|` up to the tangent of an eighth of pi.
const ATAN: [f64; 12] = [
    -0.33333333333333326,
    0.19999999999997262,
    -0.14285714285348436,
    0.11111111086166782,
    -0.09090908083333817,
    0.07692281563698637,
    -0.0666621124864744,
    0.058768865098129335,
    -0.052176202024110024,
    0.045006529541742085,
    -0.033412757520291214,
    0.015137466983303687,
];

/// What `asin` and `acos` take from the type.
struct Constants {
    /// `(asin(x) / x - 1) / x^2` as polynomial of `x^2` for `|x| <= 1/2`.
    asin: &'static [f64],
    /// Half pi: its first digits and the others.
    half_pi: (f64, f64),
}

/// For 64 bits; the polynomial is off by 2^-59.
const DOUBLE: Constants = Constants {
    asin: &[
        0.1666666666666676,
        0.07499999999970819,
        0.04464285717463486,
        0.030381942705297083,
        0.022372215087561365,
        0.017351609783380524,
        0.013980851700077703,
        0.011398625814254644,
        0.010782015819906045,
        0.0036992080121916663,
        0.021726180471198574,
        -0.021027172579616248,
        0.03264714308743945,
    ],
    half_pi: (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17),
};

/// For 32 bits; the polynomial is off by 2^-27.6 of the sine.
const SINGLE: Constants = Constants {
    asin: &[
        0.16666752099990845,
        0.0749531015753746,
        0.045469019562006,
        0.024185502901673317,
        0.04215701296925545,
    ],
    half_pi: (1.5707963705062866, -4.371138828673793e-08),
};

/// `(atan(x) / x - 1) / x^2` as polynomial of `x^2` for `|x| <= 1`, in 32 bits; off by 2^-28.5 of the tangent.
const ATAN_SINGLE: [f64; 9] = [
    -0.33333298563957214,
    0.1999853551387787,
    -0.14264126121997833,
    0.10951654613018036,
    -0.08402056246995926,
    0.05793580040335655,
    -0.03115776553750038,
    0.010904536582529545,
    -0.0017915019998326898,
];

/// The tangents of an eighth of pi and of three eighths.
const TANGENTS: (f64, f64) = (0.41421356237309503, 2.414213562373095);

/// `atan(x)` in 64 bits.
#[inline(always)]
pub fn atan_double<R: Real>(x: R) -> R {
    let (zero, one) = (R::of(0.0), R::of(1.0));
    let magnitude = x.abs();
    // The angle less nothing, a quarter of pi, or half of it, has this tangent.
    let is_small = magnitude.at_most(R::of(TANGENTS.0));
    let is_large = R::of(TANGENTS.1).below(magnitude);
    let number = |high| Pair { high, low: zero };
    let above = Pair::select(is_large, number(-one), Pair::sum_of_any(magnitude, -one));
    let above = Pair::select(is_small, number(magnitude), above);
    let below = Pair::select(
        is_large,
        number(magnitude),
        Pair::sum_of_any(magnitude, one),
    );
    let below = Pair::select(is_small, number(one), below);
    let tangent = above.over(below);
    let square = tangent.high * tangent.high;
    let beyond = tangent.high * square * polynomial(square, &ATAN);
    let choose = |half: f64| {
        let other = R::select(is_small, zero, R::of(half * 0.5));
        R::select(is_large, R::of(half), other)
    };
    let angle = Pair::sum(choose(DOUBLE.half_pi.0), tangent.high);
    let low = angle.low + (choose(DOUBLE.half_pi.1) + (tangent.low + beyond));
    let value = angle.high + low;
    // One divided by infinity leaves nothing to correct.
    let value = R::select(
        magnitude.equals(R::of(f64::INFINITY)),
        R::of(DOUBLE.half_pi.0),
        value,
    );
    value.copysign(x)
}

/// `atan(x)` in 32 bits.
#[inline(always)]
pub fn atan_single<R: Real>(x: R) -> R {
    let one = R::of(1.0);
    let magnitude = x.abs();
    // Whatever is beyond has the same result; one divided by infinity leaves nothing to correct.
    let furthest = R::of(1e18);
    let magnitude = R::select(furthest.below(magnitude), furthest, magnitude);
    let is_large = one.below(magnitude);
    let reciprocal = -one / magnitude;
    let low = reciprocal.mul_add(magnitude, one) * reciprocal;
    let tangent = R::select(is_large, reciprocal, magnitude);
    let square = Pair::product(tangent, tangent);
    let factor = exact_polynomial(square.high, &ATAN_SINGLE);
    let beyond = square.high.mul_add(factor, square.low * factor);
    let near = tangent.mul_add(beyond, tangent);
    // By so much the angle grows with its tangent.
    let low = low * square.high.mul_add(R::of(-0.5), one);
    let half_pi = SINGLE.half_pi;
    let sum = Pair::sum(R::of(half_pi.0), tangent);
    let low = sum.low + (R::of(half_pi.1) + low);
    let far = sum.high + tangent.mul_add(beyond, low);
    let value = R::select(is_large, far, near);
    value.copysign(x)
}

/// The sine of an angle and the angle, for distances from zero up to one half; for others those of half of what is missing
/// to a right angle. The second part of the angle is small.
#[inline(always)]
fn near_angle<R: Real>(magnitude: R, is_near: R::Mask, constants: &Constants) -> Pair<R> {
    let half = R::of(0.5);
    let rest = R::of(1.0) - magnitude;
    let square = R::select(is_near, magnitude * magnitude, rest * half);
    let root = Pair::number(square).near_sqrt();
    let sine = Pair::select(is_near, Pair::number(magnitude), root);
    sine.and(sine.high * square * polynomial(square, constants.asin))
}

of_both_types! {
    asin asin_double asin_single;
    acos acos_double acos_single;
}

#[inline(always)]
fn asin<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let is_near = magnitude.at_most(R::of(0.5));
    let angle = near_angle(magnitude, is_near, constants);
    let two = R::of(-2.0);
    let far = Pair::sum(R::of(constants.half_pi.0), two * angle.high);
    let far_low = two.mul_add(angle.low, far.low + R::of(constants.half_pi.1));
    let value = R::select(is_near, angle.high + angle.low, far.high + far_low);
    value.copysign(x)
}

#[inline(always)]
fn acos<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let is_near = magnitude.at_most(R::of(0.5));
    let angle = near_angle(magnitude, is_near, constants);
    // The angle of x, or twice the one that was found; from half pi, from nothing, or from pi.
    let is_negative = x.below(R::of(0.0));
    let factor = R::select(is_near, R::of(-1.0), R::of(2.0));
    let factor = R::select(is_negative, -factor, factor);
    let from = |half: f64| {
        let whole = R::select(is_negative, R::of(2.0 * half), R::of(0.0));
        R::select(is_near, R::of(half), whole)
    };
    let sum = Pair::sum(from(constants.half_pi.0), factor * angle.high);
    sum.high + factor.mul_add(angle.low, sum.low + from(constants.half_pi.1))
}
