//! `log` and what is made of it: in 64 bits the argument is a power of two times a number `m` near one, whose logarithm is
//! `2 atanh(s)` with `s = (m - 1) / (m + 1)`, an odd polynomial. In 32 bits, without division, `m` times a number that is looked up is so
//! near one that the logarithm of that is a short polynomial.

use super::number::{Bits, Pieces, Real};
use super::polynomial::{Pair, polynomial};

/// What depends on the type.
pub struct Constants {
    /// `log(2)`: so few digits that multiples are exact, and the rest.
    pub log_2: (f64, f64),
    /// The same to base ten.
    log10_2: (f64, f64),
    /// The logarithm of e to base ten: its first digits and the others.
    log10_e: (f64, f64),
    /// Bits of the fraction.
    fraction: u32,
    /// Bits of the smallest `m`, the square root of one half.
    lowest: u64,
    /// What stands for the exponent zero.
    bias: f64,
    /// The smallest normal number and the largest number.
    normal: (f64, f64),
    /// Makes subnormal numbers normal: a number and its logarithm to base two.
    raise: (f64, f64),
}

/// `(2 atanh(s) / s - 2) / s^2` as polynomial of `s^2`, in 64 bits; off by 2^-59.5 of the logarithm.
const LOG: [f64; 7] = [
    0.6666666666666734,
    0.39999999999416863,
    0.2857142874196331,
    0.2222219861187024,
    0.18183562524582766,
    0.15314092016053096,
    0.1479557603840436,
];

/// For 64 bits.
pub const DOUBLE: Constants = Constants {
    log_2: (0.6931471805598903, 5.497923018708371e-14),
    log10_2: (0.3010299956640665, -8.532344317057107e-14),
    log10_e: (std::f64::consts::LOG10_E, 1.098319650216765e-17),
    fraction: 52,
    lowest: std::f64::consts::FRAC_1_SQRT_2.to_bits(),
    bias: 1023.0,
    normal: (f64::MIN_POSITIVE, f64::MAX),
    raise: (18014398509481984.0, 54.0),
};

/// For 32 bits.
pub const SINGLE: Constants = Constants {
    log_2: (0.693145751953125, 1.4286068203094173e-06),
    log10_2: (0.301025390625, 4.605039066518657e-06),
    log10_e: (0.4342944920063019, -1.0103049952192578e-08),
    fraction: 23,
    lowest: std::f32::consts::FRAC_1_SQRT_2.to_bits() as u64,
    bias: 127.0,
    normal: (f32::MIN_POSITIVE as f64, f32::MAX as f64),
    raise: (33554432.0, 25.0),
};

/// A positive number `2^exponent * (1 + fraction)` with `sqrt(1/2) <= 1 + fraction < sqrt(2)`.
#[derive(Clone, Copy)]
pub struct Parts<R> {
    /// An integer.
    pub exponent: R,
    /// Exact.
    pub fraction: R,
}

/// Numbers whose logarithm is found without ado: positive, normal and finite.
#[inline(always)]
pub fn is_usual<R: Real>(x: R, constants: &Constants) -> R::Mask {
    R::of(constants.normal.0).at_most(x) & x.at_most(R::of(constants.normal.1))
}

/// Takes a positive number apart.
#[inline(always)]
pub fn parts<R: Real>(x: R, is_usual: R::Mask, constants: &Constants) -> Parts<R> {
    let [x, raised] = made_normal(x, is_usual, constants);
    let parts = parts_of_normal(x, constants);
    Parts {
        exponent: parts.exponent - raised,
        ..parts
    }
}

/// A positive number times a power of two that makes it normal, and the exponent of that.
#[inline(always)]
fn made_normal<R: Real>(x: R, is_usual: R::Mask, constants: &Constants) -> [R; 2] {
    R::rarely(!is_usual, [x, R::of(0.0)], || {
        let (subnormal, by) = (x.below(R::of(constants.normal.0)), constants.raise);
        [
            R::select(subnormal, x * R::of(by.0), x),
            R::select(subnormal, R::of(by.1), R::of(0.0)),
        ]
    })
}

/// Takes a positive normal number apart.
#[inline(always)]
pub fn parts_of_normal<R: Real>(x: R, constants: &Constants) -> Parts<R> {
    let (exponent, factor) = power_and_factor(x, constants.lowest, constants);
    Parts {
        exponent,
        fraction: factor - R::of(1.0),
    }
}

/// The exponent of the power of two that a positive normal number is a multiple of, and the factor: its bits are these and up to
/// those of twice the number.
#[inline(always)]
fn power_and_factor<R: Real>(x: R, lowest: u64, constants: &Constants) -> (R, R) {
    let one = (constants.bias as u64) << constants.fraction;
    let above = x.bits() - R::Bits::of(lowest.wrapping_sub(one));
    // An integer as the last bits of a number that is so large that it has no digits behind the point.
    let integers = (1u64 << constants.fraction) as f64;
    let exponent = (above.down(constants.fraction) | R::of(integers).bits()).real();
    let zero = integers + constants.bias;
    let fraction = above & R::Bits::of((1 << constants.fraction) - 1);
    let factor = (fraction + R::Bits::of(lowest)).real();
    (exponent - R::of(zero), factor)
}

/// The reciprocals of numbers in each of 16 pieces, in so few bits that products are exact; next to one it is one itself.
const RECIPROCALS: [f64; 16] = [
    1.0, 0.9375, 0.875, 0.8125, 0.78125, 0.75, 0.71875, 0.6875, 1.3125, 1.25, 1.21875, 1.15625,
    1.125, 1.09375, 1.0625, 1.0,
];

/// In 32 bits a number is a power of two times one in such a piece: its reciprocal, and both parts of less the logarithm of that, of
/// which the first one has so few bits that sums with multiples of the logarithm of two are exact.
static LOG_SINGLE: Pieces = Pieces {
    name: "log",
    rows: &[
        &RECIPROCALS,
        &[
            0.0,
            0.06453704833984375,
            0.1335296630859375,
            0.2076416015625,
            0.246856689453125,
            0.28768157958984375,
            0.33023834228515625,
            0.37469482421875,
            -0.27193450927734375,
            -0.22314453125,
            -0.19782257080078125,
            -0.14517974853515625,
            -0.1177825927734375,
            -0.0896148681640625,
            -0.0606231689453125,
            0.0,
        ],
        &[
            0.0,
            1.472797748647281e-06,
            1.72953855326341e-06,
            -2.236784212072962e-06,
            3.388478489796398e-06,
            4.928619432575942e-07,
            3.344585365994135e-06,
            -1.3747772982242168e-06,
            7.937936743473983e-07,
            9.799357485462679e-07,
            -3.1725292046758113e-06,
            -2.2613094188272953e-06,
            -4.428829356584174e-07,
            2.709474301809678e-06,
            -1.452871174478787e-06,
            0.0,
        ],
    ],
};

/// The same to base ten.
static LOG10_SINGLE: Pieces = Pieces {
    name: "log10",
    rows: &[
        &RECIPROCALS,
        &[
            0.0,
            0.0280303955078125,
            0.05799102783203125,
            0.09017562866210938,
            0.107208251953125,
            0.12493896484375,
            0.14342117309570312,
            0.16272735595703125,
            -0.11809921264648438,
            -0.0969085693359375,
            -0.08591461181640625,
            -0.06305313110351562,
            -0.051151275634765625,
            -0.03891754150390625,
            -0.02632904052734375,
            0.0,
        ],
        &[
            0.0,
            -1.6719076256777043e-06,
            9.191456342705351e-07,
            1.0016869964601938e-06,
            1.7176947721964098e-06,
            -2.2823545009487134e-07,
            9.692065532362903e-07,
            -5.8459331597759956e-08,
            -9.94315101365828e-08,
            -1.4436720903177047e-06,
            -1.6890187026774584e-08,
            1.3853564269084018e-06,
            -1.2468126442399807e-06,
            -5.245264560471696e-07,
            1.0180499288026112e-07,
            0.0,
        ],
    ],
};

/// `(log(1 + z) - z) / z^2` as polynomial of `z`; off by 2^-27.9 of the logarithm.
const LOG_OF_PIECE: [f64; 4] = [
    -0.4999999403953552,
    0.3333451449871063,
    -0.2501944303512573,
    0.19017237424850464,
];

/// The same to base ten.
const LOG10_OF_PIECE: [f64; 4] = [
    -0.21714721620082855,
    0.14476996660232544,
    -0.10865709185600281,
    0.08257731050252914,
];

/// The bits of the smallest number in a piece, 3/4.
const LOWEST_SINGLE: u64 = 0.75f32.to_bits() as u64;

/// A number of 32 bits but for the power of two and the piece that it is in.
struct Reduced<R: Real> {
    /// The logarithm of the power and the piece, but for what follows.
    high: R,
    low: R,
    /// The number is so much more than one.
    rest: R,
}

#[inline(always)]
fn reduced<R: Real>(
    x: R,
    is_usual: R::Mask,
    log_2: (f64, f64),
    pieces: &'static Pieces,
) -> Reduced<R> {
    let [x, raised] = made_normal(x, is_usual, &SINGLE);
    reduced_normal(x, raised, log_2, pieces)
}

/// The same of a normal number divided by two to some power.
#[inline(always)]
fn reduced_normal<R: Real>(
    x: R,
    raised: R,
    log_2: (f64, f64),
    pieces: &'static Pieces,
) -> Reduced<R> {
    let (exponent, factor) = power_and_factor(x, LOWEST_SINGLE, &SINGLE);
    let exponent = exponent - raised;
    // The first four bits of the fraction.
    let piece = x.bits().down(19);
    let number = |row| R::of_piece(pieces, row, piece);
    Reduced {
        high: exponent.mul_add(R::of(log_2.0), number(1)),
        low: exponent.mul_add(R::of(log_2.1), number(2)),
        rest: factor.mul_add(number(0), R::of(-1.0)),
    }
}

/// `log(x)` in 32 bits.
#[inline(always)]
pub fn log_single<R: Real>(x: R) -> R {
    let is_usual = is_usual(x, &SINGLE);
    let Reduced { high, low, rest } = reduced(x, is_usual, SINGLE.log_2, &LOG_SINGLE);
    let beyond = (rest * rest).mul_add(polynomial(rest, &LOG_OF_PIECE), low);
    let value = high + (rest + beyond);
    let [value] = R::rarely(!is_usual, [value], || [at_the_edges(x, value)]);
    value
}

/// `log(2^more * (x.high + x.low))` in 32 bits, where `x.high` is normal and no digits get lost next to one.
#[inline(always)]
pub fn log_single_of_pair<R: Real>(x: Pair<R>, more: f64) -> R {
    let Reduced { high, low, rest } =
        reduced_normal(x.high, R::of(-more), SINGLE.log_2, &LOG_SINGLE);
    let low = x.low.mul_add(x.high.near_reciprocal(), low);
    let beyond = (rest * rest).mul_add(polynomial(rest, &LOG_OF_PIECE), low);
    high + (rest + beyond)
}

/// `log10(x)` in 32 bits.
#[inline(always)]
pub fn log10_single<R: Real>(x: R) -> R {
    let is_usual = is_usual(x, &SINGLE);
    let Reduced { high, low, rest } = reduced(x, is_usual, SINGLE.log10_2, &LOG10_SINGLE);
    let (e, e_low) = SINGLE.log10_e;
    let factor = rest.mul_add(polynomial(rest, &LOG10_OF_PIECE), R::of(e_low));
    let beyond = rest.mul_add(factor, low);
    let value = high + rest.mul_add(R::of(e), beyond);
    let [value] = R::rarely(!is_usual, [value], || [at_the_edges(x, value)]);
    value
}

/// `log(x)` in 64 bits.
#[inline(always)]
pub fn log_double<R: Real>(x: R) -> R {
    let constants = &DOUBLE;
    let is_usual = is_usual(x, constants);
    let Parts { exponent, fraction } = parts(x, is_usual, constants);
    let s = fraction / (fraction + R::of(2.0));
    let square = s * s;
    // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + s^2 P(s^2)): an error of `s` hardly counts.
    let half_square = fraction * R::of(0.5) * fraction;
    let rest = square.mul_add(polynomial(square, &LOG), half_square);
    let low = exponent.mul_add(R::of(constants.log_2.1), -half_square);
    let low = s.mul_add(rest, low);
    let multiple = exponent * R::of(constants.log_2.0);
    let high = Pair::sum(multiple, fraction);
    let value = high.high + (high.low + low);
    let [value] = R::rarely(!is_usual, [value], || [at_the_edges(x, value)]);
    value
}

/// The logarithm of zero, infinity, NaN and negative numbers; elsewhere the value.
#[inline(always)]
pub fn at_the_edges<R: Real>(x: R, value: R) -> R {
    let infinity = R::of(f64::INFINITY);
    let value = R::select(x.below(infinity), value, x);
    let value = R::select(x.below(R::of(0.0)), R::of(f64::NAN), value);
    R::select(x.equals(R::of(0.0)), -infinity, value)
}

/// `atanh(s) / s = 1 + s^2 / 3 + s^4 P(s^2)`: `P`, so that the whole is off by 2^-73.
const ATANH: [f64; 8] = [
    0.1999999999999999,
    0.14285714285721907,
    0.11111111108899664,
    0.09090909421339985,
    0.07692279260231258,
    0.06668130503055579,
    0.0583792467451175,
    0.059906031534120295,
];

/// One third: its first digits and the others.
const THIRD: (f64, f64) = (0.3333333333333333, 1.850371707708594e-17);

/// The logarithm of [`Parts`] in 64 bits, off by about 2^-66 of it.
#[inline(always)]
pub fn log_pair<R: Real>(parts: Parts<R>) -> Pair<R> {
    let fraction = Pair {
        high: parts.fraction,
        low: R::of(0.0),
    };
    log_of_sum(parts.exponent, fraction)
}

/// `log(2^exponent * (1 + fraction))`, off by about 2^-66 of it, where `1 + fraction` is between the roots of one half and
/// of two.
#[inline(always)]
fn log_of_sum<R: Real>(exponent: R, fraction: Pair<R>) -> Pair<R> {
    let two = R::of(2.0);
    let sum = Pair::sum(two, fraction.high);
    let reciprocal = R::of(1.0) / sum.high;
    let s = fraction.high * reciprocal;
    let rest = (-s).mul_add(
        sum.low + fraction.low,
        (-s).mul_add(sum.high, fraction.high),
    );
    let s = Pair {
        high: s,
        low: (rest + fraction.low) * reciprocal,
    };

    let square = Pair::product(s.high, s.high);
    let square_low = (two * s.high).mul_add(s.low, square.low);
    let beyond = square.high * polynomial(square.high, &ATANH);
    let factor = Pair::sum(R::of(THIRD.0), beyond);
    let factor_low = factor.low + R::of(THIRD.1);
    // s^2 / 3 + s^4 P(s^2)
    let series = square.high * factor.high;
    let series_low = square.high.mul_add(factor.high, -series);
    let series_low = square.high.mul_add(factor_low, series_low);
    let series_low = square_low.mul_add(factor.high, series_low);

    let first = Pair {
        high: two * s.high,
        low: two * s.low,
    };
    let second = Pair::product(first.high, series);
    let second_low = first.high.mul_add(series_low, second.low);
    let second_low = first.low.mul_add(series, second_low);

    let multiple = exponent * R::of(DOUBLE.log_2.0);
    let high = Pair::sum(multiple, first.high);
    let high_and_second = Pair::sum(high.high, second.high);
    let low = exponent.mul_add(R::of(DOUBLE.log_2.1), first.low + second_low);
    Pair::sum(high_and_second.high, (high_and_second.low + high.low) + low)
}

/// `log10(x)` in 64 bits.
#[inline(always)]
pub fn log10_double<R: Real>(x: R) -> R {
    let constants = &DOUBLE;
    let is_usual = is_usual(x, constants);
    let Parts { exponent, fraction } = parts(x, is_usual, constants);
    let s = fraction / (fraction + R::of(2.0));
    let square = s * s;
    // As `log` does it, each term times the logarithm of e.
    let half_square = fraction * R::of(0.5) * fraction;
    let rest = square.mul_add(polynomial(square, &LOG), half_square);
    let rest = s.mul_add(rest, -half_square);
    let (e, e_low) = constants.log10_e;
    let linear = Pair::product(fraction, R::of(e)).and(fraction * R::of(e_low));
    let low = exponent.mul_add(R::of(constants.log10_2.1), linear.low);
    let low = rest.mul_add(R::of(e), low);
    let sum = Pair::sum(exponent * R::of(constants.log10_2.0), linear.high);
    let value = sum.high + (sum.low + low);
    let [value] = R::rarely(!is_usual, [value], || [at_the_edges(x, value)]);
    value
}
