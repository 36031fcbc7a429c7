//! `asin`, `acos`, `atan`: polynomials near zero, to which other numbers are mapped.

use super::number::Real;
use super::polynomial::{Pair, polynomial};

/// `(atan(x) / x - 1) / x^2` as polynomial of `x^2`, off by 2^-63 for `|x|` up to the tangent of an eighth of pi.
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

/// `(asin(x) / x - 1) / x^2` as polynomial of `x^2`, off by 2^-59 for `|x| <= 1/2`.
const ASIN: [f64; 13] = [
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
];

/// Half pi.
const HALF_PI: (f64, f64) = (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);

/// The tangents of an eighth of pi and of three eighths.
const TANGENTS: (f64, f64) = (0.41421356237309503, 2.414213562373095);

/// `atan(x)`.
#[inline(always)]
pub fn atan<R: Real>(x: R) -> R {
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
    let angle = Pair::sum(choose(HALF_PI.0), tangent.high);
    let low = angle.low + (choose(HALF_PI.1) + (tangent.low + beyond));
    let value = angle.high + low;
    // One divided by infinity leaves nothing to correct.
    let value = R::select(
        magnitude.equals(R::of(f64::INFINITY)),
        R::of(HALF_PI.0),
        value,
    );
    value.copysign(x)
}

/// The sine of an angle and the angle, for distances from zero up to one half; for others those of half of what is missing
/// to a right angle. The second part of the angle is small.
#[inline(always)]
fn near_angle<R: Real>(magnitude: R, is_near: R::Mask) -> Pair<R> {
    let half = R::of(0.5);
    let rest = R::of(1.0) - magnitude;
    let square = R::select(is_near, magnitude * magnitude, rest * half);
    let root = Pair {
        high: square,
        low: R::of(0.0),
    }
    .sqrt();
    let sine = Pair::select(
        is_near,
        Pair {
            high: magnitude,
            low: R::of(0.0),
        },
        root,
    );
    let beyond = sine.high * square * polynomial(square, &ASIN);
    Pair {
        high: sine.high,
        low: sine.low + beyond,
    }
}

/// `asin(x)`.
#[inline(always)]
pub fn asin<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let is_near = magnitude.at_most(R::of(0.5));
    let angle = near_angle(magnitude, is_near);
    let two = R::of(-2.0);
    let far = Pair::sum(R::of(HALF_PI.0), two * angle.high);
    let far_low = two.mul_add(angle.low, far.low + R::of(HALF_PI.1));
    let value = R::select(is_near, angle.high + angle.low, far.high + far_low);
    value.copysign(x)
}

/// `acos(x)`.
#[inline(always)]
pub fn acos<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let is_near = magnitude.at_most(R::of(0.5));
    let angle = near_angle(magnitude, is_near);
    // The angle of x, or twice the one that was found; from half pi, from nothing, or from pi.
    let is_negative = x.below(R::of(0.0));
    let factor = R::select(is_near, R::of(-1.0), R::of(2.0));
    let factor = R::select(is_negative, -factor, factor);
    let from = |half: f64| {
        let whole = R::select(is_negative, R::of(2.0 * half), R::of(0.0));
        R::select(is_near, R::of(half), whole)
    };
    let sum = Pair::sum(from(HALF_PI.0), factor * angle.high);
    sum.high + factor.mul_add(angle.low, sum.low + from(HALF_PI.1))
}
