//! `exp`: the argument is a multiple of `log(2)` plus a remainder, of which the exponential is a polynomial.

use super::number::{Bits, Real};
use super::polynomial::{Pair, polynomial};

/// What depends on the type. The polynomials are the best ones with such coefficients, as Sollya's `fpminimax` finds them.
pub struct Constants {
    /// `(exp(x) - 1 - x) / x^2` for `|x| < log(2) / 2`.
    polynomial: &'static [f64],
    /// `log(2)`: so few digits that multiples are exact, and the rest.
    log_2: (f64, f64),
    /// Adding it rounds to an integer, which the lowest bits of the sum hold.
    rounding: f64,
    /// Bits of the fraction.
    fraction: u32,
    /// Exponentials up to here and down to minus this are normal numbers.
    pub usual: f64,
    /// Exponentials beyond are infinite.
    pub infinite: f64,
    /// Exponentials below are zero.
    zero: f64,
}

/// For 64 bits; the polynomial is off by 2^-57.9.
pub const DOUBLE: Constants = Constants {
    polynomial: &[
        0.5000000000000013,
        0.166666666666667,
        0.04166666666651135,
        0.0083333333333072,
        0.0013888888947963729,
        0.00019841269917419505,
        2.4801489040048968e-05,
        2.7557216252772806e-06,
        2.763158257155201e-07,
        2.5117880218917943e-08,
    ],
    log_2: (0.6931471805598903, 5.497923018708371e-14),
    rounding: 6755399441055744.0,
    fraction: 52,
    usual: 707.5,
    infinite: 710.0,
    zero: -746.0,
};

/// For 32 bits; the polynomial is off by 2^-27.7.
pub const SINGLE: Constants = Constants {
    polynomial: &[
        0.49999991059303284,
        0.166665181517601,
        0.04166858270764351,
        0.0083689633756876,
        0.0013817796716466546,
    ],
    log_2: (0.693145751953125, 1.4286068203094173e-06),
    rounding: 12582912.0,
    fraction: 23,
    usual: 86.5,
    infinite: 89.0,
    zero: -104.0,
};

/// `(exp(x) - 1 - x) / x^2` for `|x| < log(2) / 2`, off by 2^-58 of it.
const EXP_LESS_ONE: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.041666666666666644,
    0.008333333333325888,
    0.001388888888890506,
    0.00019841269875459067,
    2.4801587271863513e-05,
    2.755725474648824e-06,
    2.7557326868881235e-07,
    2.5105448486709806e-08,
    2.0896508790065175e-09,
];

of_both_types! {
    exp exp_double exp_single;
}

#[inline(always)]
fn exp<R: Real>(x: R, constants: &Constants) -> R {
    let (multiple, Pair { high, low }) = exp_parts(x, constants);
    let value = high + low;
    let unusual = !x.abs().at_most(R::of(constants.usual));
    let [value] = R::rarely(
        unusual,
        [multiple.usual_power_times(value, constants)],
        || {
            let power = multiple.power_times(value, constants);
            let power = R::select(
                R::of(constants.infinite).below(x),
                R::of(f64::INFINITY),
                power,
            );
            [R::select(x.below(R::of(constants.zero)), R::of(0.0), power)]
        },
    );
    value
}

/// `exp(x) = 2^n * (high + low)`, off by a quarter of a unit in the last digit of that; the second part may be a tenth of the
/// first.
#[inline(always)]
pub fn exp_parts<R: Real>(x: R, constants: &Constants) -> (Multiple<R>, Pair<R>) {
    let (multiple, rest) = reduce(x, constants);
    let rest = multiple.n.mul_add(R::of(-constants.log_2.1), rest);
    let one_plus = Pair::sum(R::of(1.0), rest);
    (multiple, one_plus.and(beyond_linear(rest, constants)))
}

/// `exp(x.high + x.low) = 2^n * value`; the value is off by little more than its rounding.
#[inline(always)]
pub fn exp_of_pair<R: Real>(x: Pair<R>, constants: &Constants) -> (Multiple<R>, R) {
    let (multiple, Pair { high, low }) = exp_parts_of_pair(x, constants);
    (multiple, high + low)
}

/// `exp(x.high + x.low) = 2^n * (high + low)`, of which the second part may be a tenth of the first.
#[inline(always)]
pub fn exp_parts_of_pair<R: Real>(x: Pair<R>, constants: &Constants) -> (Multiple<R>, Pair<R>) {
    let (multiple, rest) = reduce(x.high, constants);
    let low = multiple.n.mul_add(R::of(-constants.log_2.1), x.low);
    let rest = Pair::sum(rest, low);
    let one_plus = Pair::sum(R::of(1.0), rest.high);
    let beyond = beyond_linear(rest.high, constants);
    (
        multiple,
        one_plus.and(rest.low.mul_add(one_plus.high, beyond)),
    )
}

/// `exp(x.high + x.low) = 2^n * (1 + rest)`.
#[inline(always)]
pub fn exp_less_one<R: Real>(x: Pair<R>) -> (Multiple<R>, Pair<R>) {
    let (multiple, rest) = reduce(x.high, &DOUBLE);
    let low = multiple.n.mul_add(R::of(-DOUBLE.log_2.1), x.low);
    let rest = Pair::sum(rest, low);
    let low = rest.low.mul_add(rest.high, rest.low);
    let square = rest.high * rest.high;
    let sum = Pair::sum(rest.high, square * polynomial(rest.high, &EXP_LESS_ONE));
    (
        multiple,
        Pair {
            high: sum.high,
            low: sum.low + low,
        },
    )
}

/// The nearest multiple of `log(2)` and what is left but for the last digits of `log(2)`.
#[inline(always)]
pub fn reduce<R: Real>(x: R, constants: &Constants) -> (Multiple<R>, R) {
    let shifted = x.mul_add(R::of(std::f64::consts::LOG2_E), R::of(constants.rounding));
    let n = shifted - R::of(constants.rounding);
    let rest = n.mul_add(R::of(-constants.log_2.0), x);
    (Multiple { n, shifted }, rest)
}

/// A multiple of `log(2) / 2` and what is left of a positive number: from -0.1665 to 0.1801.
#[inline(always)]
pub fn reduce_by_halves<R: Real>(x: R, constants: &Constants) -> (Multiple<R>, Pair<R>) {
    let rounding = R::of(constants.rounding);
    let shifted = (x - R::of(0.0068)).mul_add(R::of(2.0 * std::f64::consts::LOG2_E), rounding);
    let n = shifted - rounding;
    let rest = n.mul_add(R::of(-0.5 * constants.log_2.0), x);
    let rest = Pair::sum_with_product(rest, n, R::of(-0.5 * constants.log_2.1));
    (Multiple { n, shifted }, rest)
}

/// `exp(x) - 1 - x`.
#[inline(always)]
fn beyond_linear<R: Real>(x: R, constants: &Constants) -> R {
    polynomial(x, constants.polynomial) * (x * x)
}

/// An integer.
pub struct Multiple<R> {
    n: R,
    /// With the number added that rounds: the lowest bits are the integer.
    shifted: R,
}

impl<R: Real> Multiple<R> {
    /// `2^n * value`, where that is a normal number and the value near one.
    #[inline(always)]
    pub fn usual_power_times(&self, value: R, constants: &Constants) -> R {
        (value.bits() + self.shifted.bits().up(constants.fraction)).real()
    }

    /// `2^-n * value`, where that is a normal number and the value near one.
    #[inline(always)]
    pub fn usual_power_over(&self, value: R, constants: &Constants) -> R {
        (value.bits() - self.shifted.bits().up(constants.fraction)).real()
    }

    /// What [`reduce`] leaves of `-n log(2)`.
    #[inline(always)]
    pub fn rest(&self, constants: &Constants) -> R {
        self.n * R::of(-constants.log_2.1)
    }

    /// `-n` where the mask holds.
    #[inline(always)]
    pub fn negated(&self, mask: R::Mask, constants: &Constants) -> Multiple<R> {
        let n = R::select(mask, -self.n, self.n);
        let shifted = n + R::of(constants.rounding);
        Multiple { n, shifted }
    }

    /// `2^n`, where that is a normal number.
    #[inline(always)]
    pub fn power(&self, constants: &Constants) -> R {
        self.usual_power_times(R::of(1.0), constants)
    }

    /// `2^n * value`, also where that overflows or loses digits.
    #[inline(always)]
    pub fn power_times(&self, value: R, constants: &Constants) -> R {
        let rounding = R::of(constants.rounding);
        let half = self.n.mul_add(R::of(0.5), rounding);
        let rest = (self.n - (half - rounding)) + rounding;
        let power = |n: R| (n.bits().up(constants.fraction) + R::of(1.0).bits()).real();
        value * power(half) * power(rest)
    }
}
