//! `sinh`, `cosh`, `tanh`: an exponential and its reciprocal; near zero, where these have lost digits, polynomials, or
//! `exp(x) - 1`.

use super::exponential::{self, exp_less_one, exp_parts};
use super::number::Real;
use super::polynomial::{Pair, exact_polynomial, polynomial};

/// What `sinh` and `cosh` take from the type.
struct Constants {
    /// `(sinh(x) - x) / x^3` as polynomial of `x^2` for `|x| <= 1`.
    sinh: &'static [f64],
    exponential: &'static exponential::Constants,
}

/// For 64 bits; the polynomial is off by 2^-62 of the whole.
const DOUBLE: Constants = Constants {
    sinh: &[
        0.16666666666666666,
        0.008333333333333519,
        0.00019841269841133327,
        2.7557319273814478e-06,
        2.5052098381043204e-08,
        1.6060169196842862e-10,
        7.580563727552148e-13,
        4.4365590663565905e-15,
    ],
    exponential: &exponential::DOUBLE,
};

/// For 32 bits; the polynomial is off by 2^-31 of the whole.
const SINGLE: Constants = Constants {
    sinh: &[
        0.1666666716337204,
        0.008333315141499043,
        0.00019841660105157644,
        2.79005598713411e-06,
    ],
    exponential: &exponential::SINGLE,
};

of_both_types! {
    sinh sinh_double sinh_single;
    cosh cosh_double cosh_single;
}

/// The exponential of a positive number, and its reciprocal.
#[inline(always)]
fn exponential_and_reciprocal<R: Real>(x: R, constants: &Constants) -> (Pair<R>, R) {
    let (multiple, exp) = exp_parts(x, constants.exponential);
    let power = multiple.power(constants.exponential);
    let exp = exp.normal();
    let exp = Pair {
        high: exp.high * power,
        low: exp.low * power,
    };
    (exp, R::of(1.0) / exp.high)
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
    let square = magnitude * magnitude;
    let beyond = square * polynomial(square, constants.sinh);
    let near = magnitude.mul_add(beyond, magnitude);
    let (exp, reciprocal) = exponential_and_reciprocal(magnitude, constants);
    let sum = Pair::sum(exp.high, -reciprocal);
    let far = R::of(0.5) * (sum.high + (sum.low + exp.low));
    let value = R::select(R::of(1.0).below(magnitude), far, near);
    unless_large(magnitude, value, constants).copysign(x)
}

#[inline(always)]
fn cosh<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let (exp, reciprocal) = exponential_and_reciprocal(magnitude, constants);
    let sum = Pair::sum(exp.high, reciprocal);
    // By the last digits of the exponential its reciprocal is smaller.
    let low = (-exp.low).mul_add(reciprocal * reciprocal, exp.low);
    let value = R::of(0.5) * (sum.high + (sum.low + low));
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

/// `exp(x)` and `exp(x) - 1` for positive numbers.
#[inline(always)]
fn exponentials<R: Real>(x: R) -> (Pair<R>, Pair<R>) {
    let (multiple, rest) = exp_less_one(Pair {
        high: x,
        low: R::of(0.0),
    });
    let power = multiple.power(&exponential::DOUBLE);
    let rest = Pair {
        high: power * rest.high,
        low: power * rest.low,
    };
    let less_one = Pair::sum(power, R::of(-1.0));
    let exp = Pair::sum(power, rest.high);
    let exp_less_one = Pair::sum(less_one.high, rest.high);
    let low = exp_less_one.low + (less_one.low + rest.low);
    (
        Pair {
            high: exp.high,
            low: exp.low + rest.low,
        },
        Pair {
            high: exp_less_one.high,
            low,
        }
        .normal(),
    )
}

/// `tanh(x)` in 64 bits.
#[inline(always)]
pub fn tanh_double<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    // Further away it is one.
    let furthest = R::of(22.0);
    let magnitude = R::select(furthest.below(magnitude), furthest, magnitude);
    let (exp, less_one) = exponentials(magnitude + magnitude);
    let above = Pair::sum(exp.high, R::of(1.0));
    let value = less_one.over(Pair {
        high: above.high,
        low: above.low + exp.low,
    });
    (value.high + value.low).copysign(x)
}
