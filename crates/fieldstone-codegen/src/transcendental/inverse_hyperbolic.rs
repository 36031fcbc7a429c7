//! `asinh`, `acosh`, `atanh`, which are logarithms: `log(w) = n log(2) + 2 atanh(s)` with `s = (w - 2^n) / (w + 2^n)`, an odd
//! polynomial. Where `n` is zero, `s` is found from the argument itself, as `w` has lost digits of it. In 32 bits the logarithms of
//! `asinh` and `acosh` are found without division, as `log` is.

use super::logarithm::{self, log_single_of_pair, parts_of_normal};
use super::number::{Bits, Real};
use super::polynomial::{Pair, polynomial};

/// What depends on the type.
struct Constants {
    /// `(atanh(s) - s) / s^3` as polynomial of `s^2` for `|s| <= 0.2728`.
    polynomial: &'static [f64],
    logarithm: &'static logarithm::Constants,
    /// Further away, squares may overflow, and nobody sees that the root is that of `x^2` and one.
    large: f64,
}

/// For 64 bits; the polynomial is off by 2^-60.2 of the whole.
const DOUBLE: Constants = Constants {
    polynomial: &[
        0.3333333333333346,
        0.1999999999993292,
        0.142857142980499,
        0.1111110999936263,
        0.09090965674939464,
        0.07690574181405296,
        0.06699179166636263,
        0.055195985121947656,
        0.07428101668467436,
    ],
    logarithm: &logarithm::DOUBLE,
    large: 1e150,
};

/// For 32 bits; the polynomial is off by 2^-30.8 of the whole.
const SINGLE: Constants = Constants {
    polynomial: &[
        0.3333331048488617,
        0.2000296264886856,
        0.14167311787605286,
        0.12942856550216675,
    ],
    logarithm: &logarithm::SINGLE,
    large: 1e18,
};

/// The same for `|s| <= 0.1717` in 64 bits; off by 2^-59.5 of the whole.
const OF_FACTOR: [f64; 7] = [
    0.33333333333333676,
    0.19999999999704857,
    0.14285714371782304,
    0.11111099221986247,
    0.09091785747888345,
    0.07656927722682337,
    0.0739900876392846,
];

/// `(asinh(x) - x) / x^3` as polynomial of `x^2` for `|x| <= 1/2`, in 32 bits; off by 2^-29.6 of the whole.
const ASINH_SINGLE: [f64; 5] = [
    -0.1666664332151413,
    0.07498643547296524,
    -0.04438358172774315,
    0.028164992108941078,
    -0.013231114484369755,
];

of_both_types! {
    atanh atanh_double atanh_single;
}

/// So many times `n log(2) / 2 + atanh(s)`, of as many times `s`, with a polynomial for that.
#[inline(always)]
fn sum<R: Real>(times: f64, n: R, s: Pair<R>, atanh: &[f64], log_2: (f64, f64)) -> R {
    let square = s.high * s.high * R::of(1.0 / (times * times));
    let cube = s.high * square;
    let log_2 = (0.5 * times * log_2.0, 0.5 * times * log_2.1);
    let low = n.mul_add(R::of(log_2.1), s.low);
    let low = cube.mul_add(polynomial(square, atanh), low);
    let sum = Pair::sum(n * R::of(log_2.0), s.high);
    sum.high + (sum.low + low)
}

/// The logarithm of `w`, a sum of `x` and a root, in 64 bits; where it is below the root of two, the logarithm of the number whose
/// `s` is a quotient.
#[inline(always)]
fn log_of<R: Real>(x: R, w: Pair<R>, (above, below): (Pair<R>, Pair<R>)) -> R {
    let constants = &DOUBLE;
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
    let log = |n: R, s: Pair<R>| sum(2.0, n, s, &OF_FACTOR, constants.logarithm.log_2);
    let value = log(parts.exponent, above.twice().nearly_over(below));
    unless_large(x, value, constants, || {
        // That of 2 x.
        let parts = parts_of_normal(x, constants.logarithm);
        let above = Pair::number(parts.fraction + parts.fraction);
        let below = Pair::sum(R::of(2.0), parts.fraction);
        log(parts.exponent + R::of(1.0), above.nearly_over(below))
    })
}

/// The same in 32 bits, as `log` is found; of small numbers, whose `w` has lost digits, a polynomial of the hyperbolic sine of the
/// result and its square.
#[inline(always)]
fn log_of_single<R: Real>(x: R, w: Pair<R>, sine: Pair<R>, square: R) -> R {
    let low = (sine.high * square).mul_add(polynomial(square, &ASINH_SINGLE), sine.low);
    let is_near = square.below(R::of(0.25));
    let value = R::select(is_near, sine.high + low, log_single_of_pair(w, 0.0));
    unless_large(x, value, &SINGLE, || {
        // That of 8 times a quarter, as reciprocals of the largest numbers cannot be had.
        log_single_of_pair(Pair::number(x * R::of(0.25)), 3.0)
    })
}

/// `value`, but for large numbers the logarithm of `2 x`, and for infinity and NaN that itself.
#[inline(always)]
fn unless_large<R: Real>(
    x: R,
    value: R,
    constants: &Constants,
    log_of_twice: impl FnOnce() -> R,
) -> R {
    let is_large = !x.at_most(R::of(constants.large));
    let [value] = R::rarely(is_large, [value], || {
        let large = R::select(x.below(R::of(f64::INFINITY)), log_of_twice(), x);
        [R::select(is_large, large, value)]
    });
    value
}

/// The root of `x^2 + 1`, and that plus `x`, of a positive number.
#[inline(always)]
fn asinh_parts<R: Real>(x: R) -> (Pair<R>, Pair<R>) {
    let one = R::of(1.0);
    let square = x.mul_add(x, one);
    let low = x.mul_add(x, one - square);
    let root = Pair { high: square, low }.near_sqrt();
    (root, Pair::sum(root.high, x).and(root.low))
}

/// `asinh(x)` in 64 bits.
#[inline(always)]
pub fn asinh_double<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let (root, w) = asinh_parts(magnitude);
    let below = Pair::sum(root.high, R::of(1.0)).and(root.low);
    log_of(magnitude, w, (Pair::number(magnitude), below)).copysign(x)
}

/// `asinh(x)` in 32 bits.
#[inline(always)]
pub fn asinh_single<R: Real>(x: R) -> R {
    let magnitude = x.abs();
    let (_, w) = asinh_parts(magnitude);
    log_of_single(magnitude, w, Pair::number(magnitude), magnitude * magnitude).copysign(x)
}

/// `x^2 - 1` and its root, and that plus `x`.
#[inline(always)]
fn acosh_parts<R: Real>(x: R) -> (R, Pair<R>, Pair<R>) {
    let less_one = x - R::of(1.0);
    let twice = less_one + less_one;
    let square = less_one.mul_add(less_one, twice);
    let low = less_one.mul_add(less_one, twice - square);
    let root = Pair { high: square, low }.near_sqrt();
    (square, root, Pair::sum(x, root.high).and(root.low))
}

/// `acosh(x)` in 64 bits.
#[inline(always)]
pub fn acosh_double<R: Real>(x: R) -> R {
    let one = R::of(1.0);
    let (_, root, w) = acosh_parts(x);
    let value = log_of(x, w, (root, Pair::sum(x, one)));
    R::select(x.below(one), R::of(f64::NAN), value)
}

/// `acosh(x)` in 32 bits.
#[inline(always)]
pub fn acosh_single<R: Real>(x: R) -> R {
    let (square, root, w) = acosh_parts(x);
    let value = log_of_single(x, w, root, square);
    R::select(x.below(R::of(1.0)), R::of(f64::NAN), value)
}

/// `log((1 + x) / (1 - x)) / 2`, where the quotient is `2^n` times `(1 + s) / (1 - s)`.
#[inline(always)]
fn atanh<R: Real>(x: R, constants: &Constants) -> R {
    let (one, magnitude) = (R::of(1.0), x.abs());
    let (more, less) = (one + magnitude, one - magnitude);
    // Bits as integers are nearly logarithms: this is n and a quarter, with the exponent's bias. So n is zero up to 1/4: where it is not,
    // s is too small for what it loses to be seen in the sum.
    let octave = 1u64 << R::FRACTION;
    let number = R::Bits::of(R::BIAS * octave + octave / 4);
    let number = more.bits() - less.bits() + number;
    let integers = octave as f64;
    let n = (number.down(R::FRACTION) | R::of(integers).bits()).real();
    let n = n - R::of(integers + R::BIAS as f64);
    let power = number & R::Bits::of(!(octave - 1));
    let power = (R::Bits::of(2 * R::BIAS * octave) - power).real();

    // s = (x (1 + 2^-n) + 2^-n - 1) / (x (2^-n - 1) + 2^-n + 1), which is x itself where n is zero.
    let (plus, minus) = (one + power, power - one);
    let of_quotient = |distance: R, above: R, below: R| {
        let above = distance.mul_add(plus, above);
        let below = distance.mul_add(minus, below);
        let s = Pair::near_quotient(above, below);
        sum(1.0, n, s, constants.polynomial, constants.logarithm.log_2)
    };
    let value = of_quotient(magnitude, minus, plus);
    // Next to one sums of one and the power lose digits: then that of the distance from one.
    let is_far = !magnitude.at_most(R::of(1.0 - 64.0 / octave as f64));
    let [value] = R::rarely(is_far, [value], || {
        let twice = power + power;
        let value = R::select(is_far, of_quotient(-less, twice, twice), value);
        let is_one = magnitude.equals(one);
        let edge = R::select(is_one, R::of(f64::INFINITY), R::of(f64::NAN));
        [R::select(magnitude.below(one), value, edge)]
    });
    value.copysign(x)
}
