//! `erf` and `erfc`: a polynomial near zero, `exp(-x^2)` times another elsewhere.

use super::exponential::{self, exp_less_one};
use super::number::{Double, Real, Single};
use super::polynomial::{Pair, exact_polynomial, polynomial};
use super::power::exp2_single;

/// `erf(x) / x - 1` as polynomial of `x^2` for `|x| <= 3/4`.
const NEAR: [f64; 12] = [
    0.1283791670955126,
    -0.37612638903183754,
    0.11283791670955202,
    -0.02686617064514684,
    0.0052239776255872585,
    -0.0008548327028991246,
    0.00012055332888750569,
    -1.4925631447966535e-05,
    1.646123649067476e-06,
    -1.634405035200829e-07,
    1.449185545252741e-08,
    -9.74657639346498e-10,
];

/// `(1 + 2 x) exp(x^2) erfc(x)` at `x = 4`: its first digits and the others.
const FAR_AT_4: (f64, f64) = (1.2329951186255526, -4.625318921008717e-17);

/// The same less what it is there, as polynomial of `(x - 4) / (x + 4)`, divided by that; for `x` from 0.48, off by 2^-57.
const FAR: [f64; 23] = [
    -0.1396211168405625,
    0.01537965210262004,
    0.06809705425469159,
    -0.10103906603632463,
    0.09373283499839336,
    -0.06633036581166984,
    0.03716751553671043,
    -0.01619773406544815,
    0.005031969985023103,
    -0.0007577732259531583,
    -0.0001992567295343579,
    0.00015062135639420967,
    -2.4399125027420272e-05,
    -1.1220990192273324e-05,
    5.709664644130395e-06,
    2.916524804365371e-07,
    -8.25651728932453e-07,
    7.740207796842736e-08,
    1.1074076967180079e-07,
    -1.9927471226883808e-08,
    -1.4855338630175188e-08,
    2.470853452635047e-09,
    1.5745496764793896e-09,
];

/// Up to here the first one is used.
const NEAREST: f64 = 0.5;

/// Beyond, `erfc` is zero.
const FURTHEST: f64 = 28.0;

/// `erfc(x)` for positive numbers is `2^n` times a value.
#[inline(always)]
fn complement<R: Real>(x: R) -> (exponential::Multiple<R>, Pair<R>) {
    let (one, middle) = (R::of(1.0), R::of(4.0));
    let square = Pair::product(x, -x);
    let (multiple, exp) = exp_less_one(square);
    let sum = Pair::sum(one, exp.high);
    let exp = Pair {
        high: sum.high,
        low: sum.low + exp.low,
    };
    let ratio = Pair::sum_of_any(x, -middle).over(Pair::sum_of_any(x, middle));
    // Its last digit counts.
    let ratio = ratio.high + ratio.low;
    let rest = ratio * polynomial(ratio, &FAR);
    let factor = Pair::sum(R::of(FAR_AT_4.0), rest);
    let factor = Pair {
        high: factor.high,
        low: factor.low + R::of(FAR_AT_4.1),
    };
    let twice = x + x;
    let value = exp.times_pair(factor).over(Pair::sum_of_any(twice, one));
    (multiple, value)
}

#[inline(always)]
fn clamped<R: Real>(x: R) -> R {
    let furthest = R::of(FURTHEST);
    R::select(furthest.below(x.abs()), furthest, x.abs())
}

/// `erf(x) - x` for numbers near zero.
#[inline(always)]
fn beyond_linear<R: Real>(x: R) -> R {
    x * polynomial(x * x, &NEAR)
}

/// `erfc(x)`.
#[inline(always)]
pub fn erfc<R: Real>(x: R) -> R {
    let (one, magnitude) = (R::of(1.0), clamped(x));
    let constants = &exponential::DOUBLE;
    let (multiple, value) = complement(magnitude);
    let power = multiple.power_times(one, constants);
    let less = Pair::sum(R::of(2.0), -(value.high * power));
    let of_negative = less.high + (-value.low).mul_add(power, less.low);
    let of_positive = multiple.power_times(value.high + value.low, constants);
    let far = R::select(x.below(R::of(0.0)), of_negative, of_positive);
    let less = Pair::sum(one, -x);
    let near = less.high + (less.low - beyond_linear(x));
    R::select(magnitude.at_most(R::of(NEAREST)), near, far)
}

/// `erf(x)`.
#[inline(always)]
pub fn erf<R: Real>(x: R) -> R {
    let magnitude = clamped(x);
    let (multiple, value) = complement(magnitude);
    let power = multiple.power_times(R::of(1.0), &exponential::DOUBLE);
    let less = Pair::sum(R::of(1.0), -(value.high * power));
    let far = less.high + (-value.low).mul_add(power, less.low);
    let near = magnitude + beyond_linear(magnitude);
    R::select(magnitude.at_most(R::of(NEAREST)), near, far).copysign(x)
}

/// `erf(x) / x - 1` as polynomial of `x^2` for `|x| <= 1`, in 32 bits; off by 2^-29.3 of it.
const NEAR_SINGLE: [f64; 7] = [
    0.12837916612625122,
    -0.3761262595653534,
    0.1128358244895935,
    -0.026853637769818306,
    0.0051879375241696835,
    -0.0008006430580280721,
    7.840601756470278e-05,
];

/// `-log(erfc(x)) / x` from 0.99 on, in 32 bits; what `erf` is off by is at most 2^-28.
const LOG_SINGLE: [f64; 7] = [
    1.128762125968933,
    0.6347073316574097,
    0.10694355517625809,
    -0.024348193779587746,
    0.00390950683504343,
    -0.00038614985533058643,
    1.734166289679706e-05,
];

/// Up to here the first one is used.
const NEAREST_SINGLE: f64 = 1.0;

/// Beyond, `erf` is one in 32 bits.
const ONE_SINGLE: f64 = 4.0;

/// `erf(x)` in 32 bits.
#[inline(always)]
pub fn erf_single<R: Single>(x: R) -> R {
    let (magnitude, furthest) = (x.abs(), R::of(ONE_SINGLE));
    let magnitude = R::select(furthest.below(magnitude), furthest, magnitude);
    let beyond = exact_polynomial(magnitude * magnitude, &NEAR_SINGLE);
    let near = magnitude.mul_add(beyond, magnitude);
    let log = Pair::product(magnitude, exact_polynomial(magnitude, &LOG_SINGLE));
    let (multiple, exp) = exponential::exp_of_pair(-log, &exponential::SINGLE);
    let far = R::of(1.0) - multiple.usual_power_times(exp, &exponential::SINGLE);
    R::select(R::of(NEAREST_SINGLE).below(magnitude), far, near).copysign(x)
}

/// `exp(x^2) erfc(x)` for positive `x` as polynomial of `(x - 3) / (x + 3)`, for 32 bits; off by 2^-29.4 of it.
const SCALED_SINGLE: [f64; 11] = [
    0.17900115126477245,
    -0.32623356382817886,
    0.24560379756182235,
    -0.15011578179695081,
    0.07166586420382709,
    -0.024394231646412017,
    0.004268876093496963,
    0.000715731083953486,
    -0.0005945695412138666,
    2.888030538833866e-05,
    5.591592314994805e-05,
];

/// Beyond, `erfc` is zero in 32 bits.
const ZERO_SINGLE: f64 = 10.2;

/// `erfc(x)` in 32 bits, computed with 64.
#[inline(always)]
pub fn erfc_single<R: Single>(x: R) -> R {
    let x = x.widen();
    let (magnitude, furthest) = (x.abs(), R::Wide::of(ZERO_SINGLE));
    let magnitude = R::Wide::select(furthest.below(magnitude), furthest, magnitude);
    let three = R::Wide::of(3.0);
    let ratio = (magnitude - three) / (magnitude + three);
    let exp = exp2_single(magnitude * magnitude * R::Wide::of(-std::f64::consts::LOG2_E));
    let value = exp * polynomial(ratio, &SCALED_SINGLE);
    let negative = x.below(R::Wide::of(0.0));
    R::Wide::select(negative, R::Wide::of(2.0) - value, value).narrow()
}
