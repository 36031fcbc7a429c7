//! `sin`, `cos`: the angle is a multiple of an eighth or sixteenth of half a turn, whose sine and cosine are looked up, plus a rest,
//! whose sine and cosine are short polynomials. `tan`: the angle less a multiple of half pi, of which it is a polynomial divided by
//! another.

use std::f64::consts::FRAC_1_SQRT_2;

use super::number::{Bits, Double, Pieces, Real, Single};
use super::polynomial::{Pair, polynomial};
use super::reduction::{self, Quadrant, is_far, near_piece, near_quadrant, piece, quadrant};

/// What `tan` takes from the type.
struct Constants {
    /// `(x / tan(x) - 1) / x^2` as polynomial of `x^2` for `|x| <= pi / 4`.
    tan: &'static [f64],
    /// Bits of a number, less one.
    sign: u32,
}

/// For 64 bits; the polynomial is off by 2^-57.
const DOUBLE: Constants = Constants {
    tan: &[
        -0.3333333333333344,
        -0.022222222222152112,
        -0.00211640211795568,
        -0.00021164019476241328,
        -2.1377902741508098e-05,
        -2.1640214380811364e-06,
        -2.2012624824851454e-07,
        -2.1045885812203037e-08,
        -3.095987723072204e-09,
    ],
    sign: 63,
};

/// For 32 bits; the polynomial is off by 2^-27.5.
const SINGLE: Constants = Constants {
    tan: &[
        -0.3333330750465393,
        -0.022226231172680855,
        -0.002097169868648052,
        -0.0002474134380463511,
    ],
    sign: 31,
};

/// `(sin(x) - x) / x^3` as polynomial of `x^2` for `|x| <= pi / 4`, in 64 bits; off by 2^-62 of the sine.
const SIN: [f64; 7] = [
    -0.16666666666666666,
    0.0083333333333331,
    -0.00019841269841057137,
    2.7557319129304664e-06,
    -2.5052085981238547e-08,
    1.6056250403956194e-10,
    -7.484956354804018e-13,
];

/// `(cos(x) - 1 + x^2 / 2) / x^4` as polynomial of `x^2` likewise; off by 2^-68 of the cosine.
const COS: [f64; 7] = [
    0.041666666666666664,
    -0.0013888888888888447,
    2.4801587301259432e-05,
    -2.755731910073755e-07,
    2.0876731788162253e-09,
    -1.1468014382724675e-11,
    4.645442442163678e-14,
];

/// `sin(x)` in 64 bits.
#[inline(always)]
pub fn sin<R: Double>(x: R) -> R {
    let value = sine_of_piece(piece(x.abs(), 0), &EIGHTHS);
    (value.bits() ^ (x.bits() & R::Bits::of(1 << 63))).real()
}

/// `cos(x)` in 64 bits.
#[inline(always)]
pub fn cos<R: Double>(x: R) -> R {
    sine_of_piece(piece(x.abs(), reduction::EIGHT.quarter), &EIGHTHS)
}

/// `sin(x)` in 32 bits.
#[inline(always)]
pub fn sin_single<R: Single>(x: R) -> R {
    let magnitude = x.abs();
    let value = sine_of_piece(near_piece(magnitude, 0, &reduction::SIXTEEN), &SIXTEENTHS);
    let value = (value.bits() ^ (x.bits() & R::Bits::of(1 << 31))).real();
    let is_far = !magnitude.at_most(R::of(reduction::SIXTEEN.near));
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, sin(x.widen()).narrow(), value)]
    });
    value
}

/// `cos(x)` in 32 bits.
#[inline(always)]
pub fn cos_single<R: Single>(x: R) -> R {
    let (magnitude, constants) = (x.abs(), &reduction::SIXTEEN);
    let value = sine_of_piece(
        near_piece(magnitude, constants.quarter, constants),
        &SIXTEENTHS,
    );
    let is_far = !magnitude.at_most(R::of(constants.near));
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, cos(x.widen()).narrow(), value)]
    });
    value
}

/// What the sine of a sum takes from the type.
struct Multiples {
    /// Both parts of the sine and of the cosine of multiples of a piece.
    of_multiples: Pieces,
    /// `(sin(x) - x) / x^3` as polynomial of `x^2`, for `|x|` up to half a piece.
    sin: &'static [f64],
    /// `(cos(x) - 1) / x^2` likewise.
    cos: &'static [f64],
    /// The bit of the sign.
    sign: u64,
    /// How far the bit that tells half turns apart is from the sign.
    to_sign: u32,
}

/// Numbers of a half turn cut into `N`, from those up to half pi, as sines have them.
const fn sines<const N: usize, const QUARTER: usize>(quarter: &[f64; QUARTER]) -> [f64; N] {
    let mut all = [0.0; N];
    let mut number = 0;
    while number < N {
        let mirrored = if number < QUARTER { number } else { N - number };
        all[number] = quarter[mirrored];
        number += 1;
    }
    all
}

/// The same as cosines have them.
const fn cosines<const N: usize, const QUARTER: usize>(quarter: &[f64; QUARTER]) -> [f64; N] {
    let mut all = [0.0; N];
    let mut number = 0;
    while number < N {
        all[number] = match number < QUARTER {
            true => quarter[QUARTER - 1 - number],
            false => -quarter[number + 1 - QUARTER],
        };
        number += 1;
    }
    all
}

/// The first parts of the sines of multiples of pi / 8, up to half pi.
const SINES_8: [f64; 5] = [
    0.0,
    0.3826834323650898,
    FRAC_1_SQRT_2,
    0.9238795325112867,
    1.0,
];

/// The other parts.
const LOW_SINES_8: [f64; 5] = [
    0.0,
    -1.0050772696461588e-17,
    -4.833646656726457e-17,
    1.7645047084336677e-17,
    0.0,
];

/// For 64 bits; the polynomials are off by 2^-57.5 of the sine and 2^-67 of the cosine.
static EIGHTHS: Multiples = Multiples {
    of_multiples: Pieces {
        name: "sin",
        rows: &[
            &sines::<8, 5>(&SINES_8),
            &sines::<8, 5>(&LOW_SINES_8),
            &cosines::<8, 5>(&SINES_8),
            &cosines::<8, 5>(&LOW_SINES_8),
        ],
    },
    sin: &[
        -0.1666666666666628,
        0.008333333332359196,
        -0.0001984126221371634,
        2.7533778847806853e-06,
    ],
    cos: &[
        -0.5,
        0.04166666666666596,
        -0.0013888888887584336,
        2.4801579020043645e-05,
        -2.7535335659111183e-07,
    ],
    sign: 1 << 63,
    to_sign: 60,
};

/// The first parts of the sines of multiples of pi / 16, up to half pi.
const SINES_16: [f64; 9] = [
    0.0,
    0.19509032368659973,
    0.3826834261417389,
    0.5555702447891235,
    0.7071067690849304,
    0.8314695954322815,
    0.9238795042037964,
    0.9807852506637573,
    1.0,
];

/// The other parts.
const LOW_SINES_16: [f64; 9] = [
    0.0,
    -1.670471427850373e-09,
    6.2233507236442165e-09,
    -1.1769521357507529e-08,
    1.2101617485882343e-08,
    1.687026340846387e-08,
    2.830748968563057e-08,
    2.9739473106360492e-08,
    0.0,
];

/// For 32 bits; the polynomials are off by 2^-36.5 of the sine and 2^-34 of the cosine.
static SIXTEENTHS: Multiples = Multiples {
    of_multiples: Pieces {
        name: "sin",
        rows: &[
            &sines::<16, 9>(&SINES_16),
            &sines::<16, 9>(&LOW_SINES_16),
            &cosines::<16, 9>(&SINES_16),
            &cosines::<16, 9>(&LOW_SINES_16),
        ],
    },
    sin: &[-0.1666666567325592, 0.008330434560775757],
    cos: &[-0.4999999403953552, 0.04164755344390869],
    sign: 1 << 31,
    to_sign: 27,
};

/// The sine of a sum of a multiple of a piece and the rest.
#[inline(always)]
fn sine_of_piece<R: Real>(angle: Quadrant<R>, constants: &'static Multiples) -> R {
    let Pair {
        high: x,
        low: x_low,
    } = angle.rest;
    let number = |row| R::of_piece(&constants.of_multiples, row, angle.number);
    let (sine, sine_low, cosine, cosine_low) = (number(0), number(1), number(2), number(3));
    let square = x * x;
    let sine_of_rest = (x * square).mul_add(polynomial(square, constants.sin), x_low);
    let cosine_of_rest = square * polynomial(square, constants.cos);
    // sin(a + b) = sin(a) + cos(a) b + ...
    let sum = Pair::sum_with_product(sine, cosine, x);
    let low = sine.mul_add(cosine_of_rest, cosine_low.mul_add(x, sine_low));
    let low = cosine.mul_add(sine_of_rest, low);
    let value = sum.high + (sum.low + low);
    let sign = angle.number.up(constants.to_sign) & R::Bits::of(constants.sign);
    (value.bits() ^ sign).real()
}

/// `tan(x)` in 64 bits.
#[inline(always)]
pub fn tan<R: Double>(x: R) -> R {
    tangent_of_quadrant(&quadrant(x.abs()), &DOUBLE, x)
}

/// `tan(x)` in 32 bits.
#[inline(always)]
pub fn tan_single<R: Single>(x: R) -> R {
    let angle = near_quadrant(x.abs(), &reduction::SINGLE);
    let value = tangent_of_quadrant(&angle, &SINGLE, x);
    let is_far = is_far(x, &reduction::SINGLE);
    let [value] = R::rarely(is_far, [value], || {
        [R::select(is_far, tan(x.widen()).narrow(), value)]
    });
    value
}

/// The tangent of an angle, or less one divided by it; with the sign of `x` beside its own.
#[inline(always)]
fn tangent_of_quadrant<R: Real>(angle: &Quadrant<R>, constants: &Constants, x: R) -> R {
    let (rest, one) = (angle.rest, R::of(1.0));
    let square = Pair::product(rest.high, rest.high);
    let square_low = (rest.high + rest.high).mul_add(rest.low, square.low);
    // The tangent is the rest divided by 1 + square * factor.
    let factor = polynomial(square.high, constants.tan);
    let high = square.high.mul_add(factor, one);
    let low = square.high.mul_add(factor, one - high);
    let divisor = Pair {
        high,
        low: square_low.mul_add(factor, low),
    };
    let is_odd = is_odd(angle.number);
    let above = Pair::select(is_odd, divisor, rest);
    let below = Pair::select(is_odd, rest, divisor);
    let value = above.quotient(below);
    let sign = (angle.number.up(constants.sign) ^ x.bits()) & sign_bit(constants);
    (value.bits() ^ sign).real()
}

#[inline(always)]
fn sign_bit<R: Bits>(constants: &Constants) -> R {
    R::of(1 << constants.sign)
}

#[inline(always)]
fn is_odd<R: Bits>(number: R) -> R::Mask {
    (number & R::of(1)).equals(R::of(1))
}

/// For at most an eighth of a turn, in 64 bits; the second part is small, but not as small as it can be.
#[inline(always)]
pub fn sine_of<R: Real>(x: Pair<R>) -> Pair<R> {
    let square = x.high * x.high;
    let slope = R::of(1.0) - square * R::of(0.5);
    let beyond = x.high * square * polynomial(square, &SIN);
    Pair {
        high: x.high,
        low: x.low.mul_add(slope, beyond),
    }
}

/// For at most an eighth of a turn, in 64 bits; also where the digits count that the square of the angle loses.
#[inline(always)]
pub fn cosine_of<R: Real>(x: Pair<R>) -> Pair<R> {
    let Pair {
        high: square,
        low: lost,
    } = Pair::product(x.high, x.high);
    let one_less = Pair::sum(R::of(1.0), -(square * R::of(0.5)));
    let beyond = square * square * polynomial(square, &COS);
    let beyond = (-x.high).mul_add(x.low, beyond);
    Pair {
        high: one_less.high,
        low: lost.mul_add(R::of(-0.5), one_less.low + beyond),
    }
}
