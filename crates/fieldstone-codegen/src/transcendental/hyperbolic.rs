//! `sinh`, `cosh`, `tanh`, from `exp(x) - 1` with digits to spare.

use super::exponential::{self, DOUBLE, exp_less_one};
use super::number::{Double, Real, Single};
use super::polynomial::{Pair, polynomial};

/// Up to here `exp(x)` is finite, and `2^n` of its parts as well.
const USUAL: f64 = 708.0;

/// Beyond, `sinh` and `cosh` are infinite.
const INFINITE: f64 = 711.0;

/// `exp(x)` and `exp(x) - 1` for positive numbers.
#[inline(always)]
fn exponentials<R: Real>(x: R) -> (Pair<R>, Pair<R>) {
    let (multiple, rest) = exp_less_one(Pair {
        high: x,
        low: R::of(0.0),
    });
    let power = multiple.power(&DOUBLE);
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

/// `value`, but for large numbers `exp(x) / 2`.
#[inline(always)]
fn unless_large<R: Real>(magnitude: R, value: R) -> R {
    let is_large = !magnitude.at_most(R::of(USUAL));
    let [value] = R::rarely(is_large, [value], || {
        let x = Pair {
            high: magnitude,
            low: R::of(0.0),
        };
        let (multiple, exp) = exponential::exp_of_pair(x, &DOUBLE);
        let half = multiple.power_times(exp * R::of(0.5), &DOUBLE);
        let is_infinite = R::of(INFINITE).below(magnitude);
        let half = R::select(is_infinite, R::of(f64::INFINITY), half);
        [R::select(is_large, half, value)]
    });
    value
}

/// `sinh(x)`.
#[inline(always)]
pub fn sinh<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let (exp, less_one) = exponentials(magnitude);
    let other = less_one.over(exp);
    let sum = Pair::sum(less_one.high, other.high);
    let value = R::of(0.5) * (sum.high + (sum.low + (less_one.low + other.low)));
    unless_large(magnitude, value).copysign(x)
}

/// `cosh(x)`.
#[inline(always)]
pub fn cosh<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let (exp, _) = exponentials(magnitude);
    let other = Pair::of((1.0, 0.0)).over(exp);
    let sum = Pair::sum(exp.high, other.high);
    let value = R::of(0.5) * (sum.high + (sum.low + (exp.low + other.low)));
    unless_large(magnitude, value)
}

/// `tanh(x)`.
#[inline(always)]
pub fn tanh<R: Real>(x: R) -> R {
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

/// `(exp(x) - 1 - x) / x^2` for `|x| < log(2) / 2`, off by 2^-28.4 of it.
const EXP_LESS_ONE: [f64; 6] = [
    0.5000000013436124,
    0.16666666531799432,
    0.04166646496043129,
    0.008333360791483318,
    0.00139336606305284,
    0.00019857822976769061,
];

/// Further away, results of 32 bits are infinite.
const FURTHEST_SINGLE: f64 = 200.0;

/// `exp(|x|)` and `exp(|x|) - 1` with more digits than 32 bits hold.
#[inline(always)]
fn exponentials_single<R: Single>(x: R) -> (R::Wide, R::Wide) {
    let furthest = R::Wide::of(FURTHEST_SINGLE);
    let x = x.widen().abs();
    let x = R::Wide::select(furthest.below(x), furthest, x);
    let (multiple, rest) = exponential::reduce(x, &DOUBLE);
    let power = multiple.power(&DOUBLE);
    let rest = (rest * rest).mul_add(polynomial(rest, &EXP_LESS_ONE), rest);
    let one = R::Wide::of(1.0);
    (power.mul_add(rest, power), power.mul_add(rest, power - one))
}

/// `sinh(x)` in 32 bits.
#[inline(always)]
pub fn sinh_single<R: Single>(x: R) -> R {
    let (exp, less_one) = exponentials_single(x);
    let value = R::Wide::of(0.5) * (less_one + less_one / exp);
    value.narrow().copysign(x)
}

/// `cosh(x)` in 32 bits.
#[inline(always)]
pub fn cosh_single<R: Single>(x: R) -> R {
    let (exp, _) = exponentials_single(x);
    let value = R::Wide::of(0.5) * (exp + R::Wide::of(1.0) / exp);
    value.narrow()
}

/// `tanh(x)` in 32 bits.
#[inline(always)]
pub fn tanh_single<R: Single>(x: R) -> R {
    let (exp, less_one) = exponentials_single(x + x);
    let value = less_one / (exp + R::Wide::of(1.0));
    value.narrow().copysign(x)
}
