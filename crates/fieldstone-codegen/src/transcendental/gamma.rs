//! `gamma`, after Stirling: the argument is raised to at least ten by the recurrence, negative ones are reflected.
//! Chapter 5 of the *NIST Digital Library of Mathematical Functions* has the formulas.

use super::exponential::{self, exp_less_one};
use super::logarithm::{self, log_pair, parts_of_normal};
use super::number::{Bits, Real};
use super::polynomial::{Pair, polynomial};
use super::trigonometric::{cosine_of, sine_of};

/// `log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2` as polynomial of `1 / x^2`, times `x`.
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360360.0,
    1.0 / 156.0,
    -3617.0 / 122400.0,
];

/// From here the series is used.
const LOWEST: f64 = 10.0;

/// Beyond, the gamma function is infinite, and zero below minus this.
const LARGEST: f64 = 200.0;

/// Up to here it is `1 / x`.
const TINY: f64 = 1e-17;

/// Numbers from here on are integers.
const INTEGERS: f64 = 4503599627370496.0;

/// Half the logarithm of two pi.
const HALF_LOG_OF_TURN: (f64, f64) = (0.9189385332046728, -3.878294158067242e-17);

const PI: (f64, f64) = (std::f64::consts::PI, 1.2246467991473532e-16);

/// `gamma(x)`.
#[inline(always)]
pub fn gamma<R: Real>(x: R) -> R {
    let constants = &exponential::DOUBLE;
    let (zero, one) = (R::of(0.0), R::of(1.0));
    let is_negative = x.below(zero);
    let largest = R::of(LARGEST);
    let magnitude = R::select(largest.below(x.abs()), largest, x.abs());

    let (raised, product) = raise(magnitude);
    let (multiple, exp) = exp_less_one(log_of_gamma(raised));
    let sum = Pair::sum(one, exp.high);
    let exp = Pair {
        high: sum.high,
        low: sum.low + exp.low,
    };

    // gamma(-x) = -pi / (x sin(pi x) gamma(x))
    let sine = sine_of_half_turns(x.abs());
    let reflected = exp.times_pair(sine.times(magnitude).normal());
    let above = Pair::select(is_negative, product.times_pair(Pair::of(PI)), exp);
    let below = Pair::select(is_negative, -reflected, product);
    let ratio = above.over(below);
    let multiple = multiple.negated(is_negative, constants);
    let value = multiple.power_times(ratio.high + ratio.low, constants);

    let value = R::select(x.abs().below(R::of(TINY)), one / x, value);
    let is_pole = is_negative & (is_integer(x.abs()));
    let value = R::select(is_pole, R::of(f64::NAN), value);
    R::select(x.equals(R::of(f64::INFINITY)), x, value)
}

/// The number or one of the next ten, from ten on, and the product of those before it.
#[inline(always)]
fn raise<R: Real>(x: R) -> (Pair<R>, Pair<R>) {
    let lowest = R::of(LOWEST);
    let mut product = Pair::of((1.0, 0.0));
    let mut steps = R::of(0.0);
    let mut n = 0.0;
    while n < LOWEST {
        let number = Pair::sum_of_any(x, R::of(n));
        let is_low = number.high.below(lowest);
        let longer = product.times_pair(number);
        product = Pair::select(is_low, longer, product);
        steps = R::select(is_low, R::of(n + 1.0), steps);
        n += 1.0;
    }
    (Pair::sum_of_any(x, steps), product)
}

/// The logarithm of the gamma function from ten on.
#[inline(always)]
fn log_of_gamma<R: Real>(x: Pair<R>) -> Pair<R> {
    let log = log_pair(parts_of_normal(x.high, &logarithm::DOUBLE));
    let product = log.times(x.high - R::of(0.5));
    let less = Pair::sum(product.high, -x.high);
    let sum = Pair::sum(less.high, R::of(HALF_LOG_OF_TURN.0));
    let reciprocal = R::of(1.0) / x.high;
    let series = reciprocal * polynomial(reciprocal * reciprocal, &STIRLING);
    let slope = reciprocal.mul_add(R::of(-0.5), log.high);
    let rest = x.low.mul_add(slope, series) + R::of(HALF_LOG_OF_TURN.1);
    let low = (less.low + product.low) + (sum.low + rest);
    Pair {
        high: sum.high,
        low,
    }
    .normal()
}

/// `sin(pi x)` for positive numbers.
#[inline(always)]
fn sine_of_half_turns<R: Real>(x: R) -> Pair<R> {
    let integers = R::of(INTEGERS);
    let shifted = x + integers;
    let rest = x - (shifted - integers);
    let distance = rest.abs();
    let is_far = R::of(0.25).below(distance);
    let distance = R::select(is_far, R::of(0.5) - distance, distance);
    let angle = Pair::of(PI).times(distance).normal();
    let sine = Pair::select(is_far, cosine_of(angle), sine_of(angle)).normal();
    // The sign of the rest, and another one after each odd number of half turns.
    let odd = shifted.bits().up(63);
    let sign = (R::of(1.0).copysign(rest).bits() ^ odd).real();
    Pair {
        high: sine.high * sign,
        low: sine.low * sign,
    }
}

#[inline(always)]
fn is_integer<R: Real>(x: R) -> R::Mask {
    let integers = R::of(INTEGERS);
    integers.at_most(x) | ((x + integers) - integers).equals(x)
}
