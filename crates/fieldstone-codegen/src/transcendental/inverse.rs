//! `asin`, `acos`: polynomials near zero, to which other numbers are mapped. `atan`: the angle of a number that is looked up, and a
//! polynomial of the tangent of the rest.

use super::number::{Bits, Pieces, Real};
use super::polynomial::{Pair, polynomial};

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

/// What `atan` takes from the type.
struct Arctangents {
    /// A tangent in each piece as quotient of two numbers, the last one infinite: 1 and 0. Both parts of the angle with that tangent.
    pieces: Pieces,
    /// Bits of the scaled number below those that say the piece.
    down: u32,
    /// `(atan(x) / x - 1) / x^2` as polynomial of `x^2`.
    atan: &'static [f64],
}

/// What tangents of pieces are divided by.
const fn divisors<const N: usize>() -> [f64; N] {
    let mut all = [1.0; N];
    all[N - 1] = 0.0;
    all
}

/// For 64 bits; the polynomial is off by 2^-56.7 of the angle for `x` up to 0.258. The tangent of the rest and its divisor are rounded:
/// the numbers of pieces stand where that costs little beside the last digit of the angle.
static ARCTANGENTS_8: Arctangents = Arctangents {
    pieces: Pieces {
        name: "atan",
        rows: &[
            &[0.0, 0.375, 0.65625, 1.25, 2.0, 3.0, 4.5, 1.0],
            &divisors::<8>(),
            &[
                0.0,
                0.35877067027057225,
                0.5807563535676704,
                0.8960553845713439,
                1.1071487177940904,
                1.2490457723982544,
                1.3521273809209546,
                std::f64::consts::FRAC_PI_2,
            ],
            &[
                0.0,
                -2.4623815582638635e-17,
                -1.441464378193067e-17,
                2.923876285774305e-17,
                9.40447137356638e-17,
                -2.196203799612311e-18,
                2.147674250751151e-17,
                6.123233995736766e-17,
            ],
        ],
    },
    down: 51,
    atan: &[
        -0.3333333333333203,
        0.1999999999936403,
        -0.14285714179311287,
        0.11111102486300979,
        -0.09090521185450062,
        0.07682087911366325,
        -0.0650882790907088,
        0.04536969819015044,
    ],
};

/// For 32 bits; the polynomial is off by 2^-31.9 of the angle for `x` up to 0.15.
static ARCTANGENTS_16: Arctangents = Arctangents {
    pieces: Pieces {
        name: "atan",
        rows: &[
            &[
                0.0, 0.19140625, 0.3125, 0.453125, 0.640625, 0.890625, 1.15625, 1.40625, 1.78125,
                2.3125, 2.8125, 3.34375, 4.125, 5.125, 6.125, 1.0,
            ],
            &divisors::<16>(),
            &[
                0.0,
                0.18911884725093842,
                0.30288487672805786,
                0.4254496395587921,
                0.5697564482688904,
                0.7276113033294678,
                0.8577355146408081,
                0.952652096748352,
                1.0592402219772339,
                1.1626472473144531,
                1.2291808128356934,
                1.2801971435546875,
                1.3329603672027588,
                1.3780956268310547,
                1.408958911895752,
                1.5707963705062866,
            ],
            &[
                0.0,
                1.6751455778063473e-09,
                -8.353086222712136e-09,
                -2.1887498480310796e-09,
                5.214088272254003e-09,
                2.929704301379843e-08,
                -2.0704764125412112e-08,
                4.111357476688227e-09,
                -2.235264240368906e-08,
                -2.4274646293065416e-08,
                2.3311395480618557e-08,
                2.1485174528379503e-08,
                3.21346860232552e-08,
                -5.869854291518095e-08,
                -1.6339278374744026e-08,
                -4.371138828673793e-08,
            ],
        ],
    },
    down: 21,
    atan: &[
        -0.3333331048488617,
        0.19993877410888672,
        -0.13815312087535858,
    ],
};

/// The bits of so many times a number plus two say the piece: in 64 bits it begins at 0, 0.258, 0.515, 1.03, 1.55, 2.58, 3.61 or
/// 5.67, in 32 bits those are cut in halves.
const ATAN_SCALE: f64 = 3.88;

/// Numbers from here on are in the last piece.
const ATAN_LAST: f64 = 7.0;

/// Whatever is beyond has the same result.
const ATAN_FURTHEST: f64 = 1e18;

/// `atan(x)` in 64 bits.
#[inline(always)]
pub fn atan_double<R: Real>(x: R) -> R {
    atan(x, &ARCTANGENTS_8)
}

/// `atan(x)` in 32 bits.
#[inline(always)]
pub fn atan_single<R: Real>(x: R) -> R {
    atan(x, &ARCTANGENTS_16)
}

#[inline(always)]
fn atan<R: Real>(x: R, constants: &'static Arctangents) -> R {
    let at_most = |limit: f64| {
        let limit = R::of(limit);
        R::select(limit.below(x.abs()), limit, x.abs())
    };
    let magnitude = at_most(ATAN_FURTHEST);
    let scaled = at_most(ATAN_LAST).mul_add(R::of(ATAN_SCALE), R::of(2.0));
    let piece = scaled.bits().down(constants.down);
    let number = |row| R::of_piece(&constants.pieces, row, piece);
    let (middle, divisor) = (number(0), number(1));
    // Of the angle less that of the piece; the difference is exact.
    let tangent = magnitude.mul_add(divisor, -middle) / magnitude.mul_add(middle, divisor);
    let square = tangent * tangent;
    let cube = tangent * square;
    let low = cube.mul_add(polynomial(square, constants.atan), number(3));
    (number(2) + (tangent + low)).copysign(x)
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
