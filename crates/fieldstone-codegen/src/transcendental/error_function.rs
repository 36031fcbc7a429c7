//! `erf`: a polynomial near zero, elsewhere one less the exponential of another. `erfc`: `exp(-x^2)` times a polynomial.

use super::exponential::{self, exp_parts_of_pair};
use super::number::{Double, Real, Single};
use super::polynomial::{Pair, exact_polynomial, leading_polynomial, polynomial};
use super::power::exp2_single;

/// What depends on the type.
struct Constants {
    /// `erf(x) / x - 1` as polynomial of `x^2` for `|x| <= 1`.
    near: &'static [f64],
    /// `-log(erfc(x)) / x` as polynomial of `x` from there on.
    log: &'static [f64],
    /// Up to here the first one is used.
    nearest: f64,
    /// Beyond, `erf` is one.
    one: f64,
    exponential: &'static exponential::Constants,
}

/// For 64 bits; by the polynomials `erf` is off by at most 2^-56 of itself.
const DOUBLE: Constants = Constants {
    near: &[
        0.1283791670955126,
        -0.37612638903183876,
        0.11283791670958777,
        -0.026866170645630082,
        0.005223977629222179,
        -0.0008548327197733799,
        0.00012055338093514177,
        -1.492574636535486e-05,
        1.6463215540096319e-06,
        -1.637200940645957e-07,
        1.4795759600648493e-08,
        -1.186594212760181e-09,
        6.743943213656629e-11,
    ],
    log: &[
        1.1283792254497307,
        0.6366191169130413,
        0.10277607389483802,
        -0.019139972267414162,
        -0.00018225889630359436,
        0.0016490953306949481,
        -0.0005261448604134657,
        -4.315599348582129e-05,
        0.00012446186750537797,
        -7.186465715159013e-05,
        2.7227932532300673e-05,
        -7.748003916863412e-06,
        1.7105571711122985e-06,
        -2.9084062706482356e-07,
        3.6288928116535896e-08,
        -2.8279694909438322e-09,
        2.144053425548509e-11,
        2.859468100887568e-11,
        -4.263505664919085e-12,
        3.308638090895157e-13,
        -1.4365982968708782e-14,
        2.7758344576760686e-16,
    ],
    nearest: 0.9375,
    one: 6.0,
    exponential: &exponential::DOUBLE,
};

/// For 32 bits; by the polynomials `erf` is off by at most 2^-28.4 of itself.
const SINGLE: Constants = Constants {
    near: &[
        0.12837916612625122,
        -0.3761262595653534,
        0.1128358244895935,
        -0.026853637769818306,
        0.0051879375241696835,
        -0.0008006430580280721,
        7.840601756470278e-05,
    ],
    log: &[
        1.128762125968933,
        0.6347073316574097,
        0.10694355517625809,
        -0.024348193779587746,
        0.00390950683504343,
        -0.00038614985533058643,
        1.734166289679706e-05,
    ],
    nearest: 1.0,
    one: 4.0,
    exponential: &exponential::SINGLE,
};

/// Less one half, this is what [`FAR`] is a polynomial of.
#[inline(always)]
fn far<R: Real>(x: R) -> R {
    x / (x + R::of(4.0))
}

/// A number that [`far`] gives, and `(1 + 2 x) exp(x^2) erfc(x)` there.
const FAR_AT: (f64, f64) = (0.133026123046875, 1.251218847549067);

/// The same less what it is there, divided by the distance from there; for `x` from 0.48, off by 2^-56.
const FAR: [f64; 22] = [
    -0.04965947188072564,
    -0.625610639390893,
    1.8724200575430616,
    -3.617815073183236,
    5.453221992851428,
    -6.686501211690584,
    6.652674626149212,
    -5.1644892356393335,
    2.7736833145878057,
    -0.5376804688671675,
    -0.6493090694387441,
    0.6573527932119296,
    -0.11010190080683771,
    -0.24463422039311647,
    0.16553322575222829,
    0.05865857610823267,
    -0.10673957816477059,
    -0.0029158259801340737,
    0.057745729132775904,
    -0.00638624943188867,
    -0.02282668325671825,
    0.0023049940967218414,
];

/// Up to here `erfc` is one less `erf`.
const NEAREST: f64 = 0.5;

/// Up to here `erfc` is a normal number.
const NORMAL: f64 = 26.0;

/// Beyond, `erfc` is zero.
const FURTHEST: f64 = 28.0;

/// `erfc(x)` from one half on is `2^n` times a value.
#[inline(always)]
fn complement<R: Real>(x: R) -> (exponential::Multiple<R>, R) {
    let (one, two) = (R::of(1.0), R::of(2.0));
    let (far, at) = (far(x), R::of(FAR_AT.1));
    let slope = leading_polynomial(far - R::of(0.5), &FAR);
    let distance = far - R::of(FAR_AT.0);
    let high = distance.mul_add(slope, at);
    let low = distance.mul_add(slope, at - high);
    let (multiple, exp) = exp_parts_of_pair(Pair::product(x, -x), &exponential::DOUBLE);
    let product = Pair::product(high, exp.high);
    let low = low.mul_add(exp.high, product.low);
    let above = Pair {
        high: product.high,
        low: high.mul_add(exp.low, low),
    };
    // 1 + 2 x, exactly.
    let high = two.mul_add(x, one);
    let below = Pair {
        high,
        low: two.mul_add(x, one - high),
    };
    (multiple, above.quotient(below))
}

#[inline(always)]
fn clamped<R: Real>(x: R) -> R {
    let furthest = R::of(FURTHEST);
    R::select(furthest.below(x.abs()), furthest, x.abs())
}

/// `erfc(x)`.
#[inline(always)]
pub fn erfc<R: Real>(x: R) -> R {
    let (one, magnitude) = (R::of(1.0), clamped(x));
    let constants = &exponential::DOUBLE;
    let (multiple, value) = complement(magnitude);
    let is_small = !magnitude.at_most(R::of(NORMAL));
    let usual = multiple.usual_power_times(value, constants);
    let [value] = R::rarely(is_small, [usual], || {
        let small = multiple.power_times(value, constants);
        [R::select(is_small, small, usual)]
    });
    let far = R::select(x.below(R::of(0.0)), R::of(2.0) - value, value);
    let less = Pair::sum(one, -x);
    let beyond = x * polynomial(x * x, DOUBLE.near);
    let near = less.high + (less.low - beyond);
    R::select(magnitude.at_most(R::of(NEAREST)), near, far)
}

of_both_types! {
    erf erf_double erf_single;
}

#[inline(always)]
fn erf<R: Real>(x: R, constants: &Constants) -> R {
    let (magnitude, furthest) = (x.abs(), R::of(constants.one));
    let magnitude = R::select(furthest.below(magnitude), furthest, magnitude);
    let beyond = exact_polynomial(magnitude * magnitude, constants.near);
    let near = magnitude.mul_add(beyond, magnitude);
    let log = Pair::product(magnitude, leading_polynomial(magnitude, constants.log));
    let (multiple, exp) = exponential::exp_of_pair(-log, constants.exponential);
    let far = R::of(1.0) - multiple.usual_power_times(exp, constants.exponential);
    R::select(R::of(constants.nearest).below(magnitude), far, near).copysign(x)
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
