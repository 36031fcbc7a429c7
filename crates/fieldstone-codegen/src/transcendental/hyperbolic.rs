//! `sinh`, `cosh`, `tanh`. The first two are found from those of a multiple of `log(2)`, which are sums of powers of two, and those of
//! the remainder, which are polynomials; `tanh` likewise, in 32 bits from an exponential, or near zero, where that has lost digits,
//! from a polynomial.

use super::exponential::{self, exp_parts, reduce, reduce_by_halves};
use super::number::Real;
use super::polynomial::{Pair, exact_polynomial, polynomial};

/// What `sinh` and `cosh` take from the type; the polynomials are for `|x| < log(2) / 2`.
struct Constants {
    /// `(cosh(x) - 1) / x^2` as polynomial of `x^2`.
    cosh: &'static [f64],
    /// `(sinh(x) - x) / x^3` as polynomial of `x^2`.
    sinh: &'static [f64],
    exponential: &'static exponential::Constants,
}

/// For 64 bits; the polynomials are off by 2^-57.9 and by 2^-61.6 of the whole.
const DOUBLE: Constants = Constants {
    cosh: &[
        0.5000000000000013,
        0.041666666666511386,
        0.0013888888947951293,
        2.480148905423434e-05,
        2.7631577367373196e-07,
    ],
    sinh: &[
        0.16666666666666677,
        0.008333333333321447,
        0.000198412698865531,
        2.755724380225529e-06,
        2.510917406787861e-08,
    ],
    exponential: &exponential::DOUBLE,
};

/// For 32 bits; the polynomials are off by 2^-33.1 and by 2^-34.1 of the whole.
const SINGLE: Constants = Constants {
    cosh: &[0.5, 0.04166645556688309, 0.0013935770839452744],
    sinh: &[
        0.1666666716337204,
        0.008333192206919193,
        0.00019958463963121176,
    ],
    exponential: &exponential::SINGLE,
};

of_both_types! {
    sinh sinh_double sinh_single;
    cosh cosh_double cosh_single;
}

/// `sinh` and `cosh` of a positive number that is not large: of a multiple of `log(2)` and of the rest.
struct Parts<R> {
    /// Of the multiple.
    cosh: Pair<R>,
    sinh: Pair<R>,
    /// Of the rest, less one.
    cosh_of_rest: R,
    /// The second part may be a fiftieth of the first.
    sinh_of_rest: Pair<R>,
}

#[inline(always)]
fn parts<R: Real>(x: R, constants: &Constants) -> Parts<R> {
    let exponential = constants.exponential;
    let (multiple, rest) = reduce(x, exponential);
    let rest = Pair::sum(rest, multiple.rest(exponential));
    let square = rest.high * rest.high;
    let beyond = (rest.high * square).mul_add(polynomial(square, constants.sinh), rest.low);
    let half = R::of(0.5);
    let large = multiple.usual_power_times(half, exponential);
    let small = multiple.usual_power_over(half, exponential);
    Parts {
        cosh: Pair::sum(large, small),
        sinh: Pair::sum(large, -small),
        cosh_of_rest: square * polynomial(square, constants.cosh),
        sinh_of_rest: Pair {
            high: rest.high,
            low: beyond,
        },
    }
}

/// `a + a b + c d`, of which `a` is not the smaller one or is zero.
#[inline(always)]
fn sum<R: Real>(a: Pair<R>, b: R, c: R, d: Pair<R>) -> R {
    let product = Pair::product(c, d.high);
    let sum = Pair::sum(a.high, product.high);
    let low = a.high.mul_add(b, c.mul_add(d.low, product.low + a.low));
    sum.high + (sum.low + low)
}

/// `value`, but for large numbers `exp(x) / 2`.
#[inline(always)]
fn unless_large<R: Real>(magnitude: R, value: R, constants: &Constants) -> R {
    let constants = constants.exponential;
    let is_large = !magnitude.at_most(R::of(constants.usual));
    let [value] = R::rarely(is_large, [value], || {
        let (multiple, exp) = exp_parts(magnitude, constants);
        let half = multiple.power_times((exp.high + exp.low) * R::of(0.5), constants);
        let is_infinite = R::of(constants.infinite + 1.0).below(magnitude);
        let half = R::select(is_infinite, R::of(f64::INFINITY), half);
        [R::select(is_large, half, value)]
    });
    value
}

#[inline(always)]
fn sinh<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let parts = parts(magnitude, constants);
    let (of_rest, cosh) = (parts.sinh_of_rest, parts.cosh.high);
    let value = sum(parts.sinh, parts.cosh_of_rest, cosh, of_rest);
    unless_large(magnitude, value, constants).copysign(x)
}

#[inline(always)]
fn cosh<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let parts = parts(magnitude, constants);
    let (of_rest, sinh) = (parts.sinh_of_rest, parts.sinh.high);
    let value = sum(parts.cosh, parts.cosh_of_rest, sinh, of_rest);
    unless_large(magnitude, value, constants)
}

/// `(tanh(x) - x) / x^3` as polynomial of `x^2` for `|x| <= 1`, in 32 bits; off by 2^-30.8 of the whole.
const TANH_SINGLE: [f64; 8] = [
    -0.333333283662796,
    0.13333182036876678,
    -0.05395176634192467,
    0.021779896691441536,
    -0.00858541764318943,
    0.0030676645692437887,
    -0.000834651873447001,
    0.00011989404447376728,
];

/// `tanh(x)` in 32 bits.
#[inline(always)]
pub fn tanh_single<R: Real>(x: R) -> R {
    let (one, magnitude) = (R::of(1.0), x.abs());
    // Further away it is one.
    let furthest = R::of(10.0);
    let magnitude = R::select(furthest.below(magnitude), furthest, magnitude);
    let square = magnitude * magnitude;
    let beyond = square * exact_polynomial(square, &TANH_SINGLE);
    let near = magnitude.mul_add(beyond, magnitude);
    let (multiple, exp) = exp_parts(magnitude + magnitude, SINGLE.exponential);
    let exp = multiple.usual_power_times(exp.high + exp.low, SINGLE.exponential);
    let far = one - R::of(2.0) / (exp + one);
    R::select(one.below(magnitude), far, near).copysign(x)
}

/// `(tanh(x) - x) / x^3` as polynomial of `x^2` for `|x| <= 0.1802`, in 64 bits; off by 2^-57 of the whole.
const TANH: [f64; 6] = [
    -0.3333333333333198,
    0.1333333333252398,
    -0.05396825235243831,
    0.021869340076801226,
    -0.008856326214314524,
    0.0034332060465017246,
];

/// `tanh(x)` in 64 bits.
#[inline(always)]
pub fn tanh_double<R: Real>(x: R) -> R {
    let constants = &exponential::DOUBLE;
    // Further away it is one.
    let (one, furthest) = (R::of(1.0), R::of(22.0));
    let magnitude = R::select(furthest.below(x.abs()), furthest, x.abs());
    let (multiple, rest) = reduce_by_halves(magnitude, constants);
    let square = rest.high * rest.high;
    let beyond = (rest.high * square).mul_add(polynomial(square, &TANH), rest.low);
    // Half of n log(2) has the tangent (1 - 2^-n) / (1 + 2^-n), and that of a sum is (a + b) / (1 + a b).
    let power = multiple.usual_power_over(one, constants);
    let (minus, plus) = (one - power, one + power);
    let above = Pair::sum_with_product(minus, plus, rest.high);
    let above = Pair {
        high: above.high,
        low: plus.mul_add(beyond, above.low),
    };
    let below = Pair::sum_with_product(plus, minus, rest.high);
    let below = Pair::sum(below.high, minus.mul_add(beyond, below.low));
    let value = above.quotient(below);
    // Here sums of one and the power lose digits, but those of a tangent less one do not count.
    let is_large = !magnitude.at_most(R::of(18.0));
    let [value] = R::rarely(is_large, [value], || {
        let less = (one - rest.high) / (one + rest.high);
        let large = (power + power).mul_add(-less, one);
        [R::select(is_large, large, value)]
    });
    value.copysign(x)
}
