//! `sinh`, `cosh`, `tanh`. The first two are found from those of a multiple of `log(2)`, which are sums of powers of two, and those of
//! the remainder, which are polynomials; `tanh` likewise; in 32 bits it is that of a number that is looked up, and a
//! polynomial of the rest.

use super::exponential::{self, exp_parts, reduce, reduce_by_halves};
use super::number::{Bits, Pieces, Real};
use super::polynomial::{Pair, polynomial, polynomial_of};

/// What `sinh` and `cosh` take from the type; the polynomials are for `|x| < log(2) / 2`.
struct Constants {
    /// `(cosh(x) - 1) / x^2` as polynomial of `x^2`.
    cosh: &'static [f64],
    /// `(sinh(x) - x) / x^3` as polynomial of `x^2`.
    sinh: &'static [f64],
    exponential: &'static exponential::Constants,
}

/// For 64 bits; the polynomials are off by 2^-57.9 and by 2^-61.6 of the whole.
const DOUBLE: Constants = Constants {
    cosh: &[
        0.5000000000000013,
        0.041666666666511386,
        0.0013888888947951293,
        2.480148905423434e-05,
        2.7631577367373196e-07,
    ],
    sinh: &[
        0.16666666666666677,
        0.008333333333321447,
        0.000198412698865531,
        2.755724380225529e-06,
        2.510917406787861e-08,
    ],
    exponential: &exponential::DOUBLE,
};

/// For 32 bits; the polynomials are off by 2^-33.1 and by 2^-34.1 of the whole.
const SINGLE: Constants = Constants {
    cosh: &[0.5, 0.04166645556688309, 0.0013935770839452744],
    sinh: &[
        0.1666666716337204,
        0.008333192206919193,
        0.00019958463963121176,
    ],
    exponential: &exponential::SINGLE,
};

of_both_types! {
    sinh sinh_double sinh_single;
    cosh cosh_double cosh_single;
}

/// `sinh` and `cosh` of a positive number that is not large: of a multiple of `log(2)` and of the rest.
struct Parts<R> {
    /// Of the multiple.
    cosh: Pair<R>,
    sinh: Pair<R>,
    /// Of the rest, less one.
    cosh_of_rest: R,
    /// The second part may be a fiftieth of the first.
    sinh_of_rest: Pair<R>,
}

#[inline(always)]
fn parts<R: Real>(x: R, constants: &Constants) -> Parts<R> {
    let exponential = constants.exponential;
    let (multiple, rest) = reduce(x, exponential);
    let rest = Pair::sum(rest, multiple.rest(exponential));
    let square = rest.high * rest.high;
    let beyond = (rest.high * square).mul_add(polynomial(square, constants.sinh), rest.low);
    let half = R::of(0.5);
    let large = multiple.usual_power_times(half, exponential);
    let small = multiple.usual_power_over(half, exponential);
    Parts {
        cosh: Pair::sum(large, small),
        sinh: Pair::sum(large, -small),
        cosh_of_rest: square * polynomial(square, constants.cosh),
        sinh_of_rest: Pair {
            high: rest.high,
            low: beyond,
        },
    }
}

/// `a + a b + c d`, of which `a` is not the smaller one or is zero.
#[inline(always)]
fn sum<R: Real>(a: Pair<R>, b: R, c: R, d: Pair<R>) -> R {
    let product = Pair::product(c, d.high);
    let sum = Pair::sum(a.high, product.high);
    let low = a.high.mul_add(b, c.mul_add(d.low, product.low + a.low));
    sum.high + (sum.low + low)
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
    let parts = parts(magnitude, constants);
    let (of_rest, cosh) = (parts.sinh_of_rest, parts.cosh.high);
    let value = sum(parts.sinh, parts.cosh_of_rest, cosh, of_rest);
    unless_large(magnitude, value, constants).copysign(x)
}

#[inline(always)]
fn cosh<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let parts = parts(magnitude, constants);
    let (of_rest, sinh) = (parts.sinh_of_rest, parts.sinh.high);
    let value = sum(parts.cosh, parts.cosh_of_rest, sinh, of_rest);
    unless_large(magnitude, value, constants)
}

/// In 32 bits: a number in each of sixteen pieces, whose hyperbolic tangent is nearly one of the type, so that no second part is needed;
/// that tangent; and coefficients of a polynomial of what the argument is beyond the number, to be added. It is off by 2^-25.4.
static TANH_SINGLE: Pieces = Pieces {
    name: "tanh",
    rows: &[
        &[
            0.0,
            0.2286752313375473,
            0.38111022114753723,
            0.5335285067558289,
            0.7622312903404236,
            1.0669971704483032,
            1.3717960119247437,
            1.6770210266113281,
            2.1340439319610596,
            2.743448495864868,
            3.3538835048675537,
            3.96388578414917,
            4.878059387207031,
            6.096437931060791,
            7.310314655303955,
            8.664340019226074,
        ],
        &[
            0.0,
            0.22477088868618011,
            0.3636712431907654,
            0.4880736768245697,
            0.6423893570899963,
            0.7883272171020508,
            0.8791008591651917,
            0.93247389793396,
            0.9723699688911438,
            0.9917528033256531,
            0.9975602030754089,
            0.9992790818214417,
            0.9998841285705566,
            0.9999898672103882,
            0.9999991059303284,
            0.9999999403953552,
        ],
        &[
            1.0,
            0.949478030204773,
            0.8677432537078857,
            0.7617840766906738,
            0.5873359441757202,
            0.37854018807411194,
            0.22718167304992676,
            0.1304924190044403,
            0.054496608674526215,
            0.016426388174295425,
            0.004873647820204496,
            0.0014413188910111785,
            0.00023175198293756694,
            2.026733818638604e-05,
            1.788244617273449e-06,
            1.1930406174087693e-07,
        ],
        &[
            8.347467996827618e-07,
            -0.21341408789157867,
            -0.31557226181030273,
            -0.37180614471435547,
            -0.3772984445095062,
            -0.29841798543930054,
            -0.1997181922197342,
            -0.12168151885271072,
            -0.05298886448144913,
            -0.01628885790705681,
            -0.004860999062657356,
            -0.0014400421641767025,
            -0.0002310663985554129,
            -2.0209496142342687e-05,
            -1.7832236380854738e-06,
            -1.1924865361834236e-07,
        ],
        &[
            -0.3333822786808014,
            -0.268510639667511,
            -0.174498051404953,
            -0.07245288044214249,
            0.04658360779285431,
            0.10906904190778732,
            0.0998452752828598,
            0.06996923685073853,
            0.033364053815603256,
            0.010680219158530235,
            0.003224823856726289,
            0.0009586216183379292,
            0.00015398221148643643,
            1.3472502359945793e-05,
            1.1897744798261556e-06,
            7.770793786221475e-08,
        ],
        &[
            0.0008515356457792222,
            0.13096338510513306,
            0.16808898746967316,
            0.15895341336727142,
            0.0958518534898758,
            0.014109984040260315,
            -0.020841535180807114,
            -0.024580251425504684,
            -0.014848071150481701,
            -0.005233901087194681,
            -0.0016229691682383418,
            -0.000486179837025702,
            -8.265338692581281e-05,
            -7.234853455884149e-06,
            -6.383563118106395e-07,
            -4.027331712563864e-08,
        ],
        &[
            0.12838348746299744,
            0.07913146913051605,
            0.01809106394648552,
            -0.03735612332820892,
            -0.06318564713001251,
            -0.03864216431975365,
            -0.009792689234018326,
            0.002440394600853324,
            0.004403707105666399,
            0.0019424002384766936,
            0.00063594791572541,
            0.00019343291933182627,
            3.2999836548697203e-05,
            2.8850445232819766e-06,
            2.517494124276709e-07,
            2.285820066560973e-08,
        ],
    ],
};

/// The bits of so many times a number plus two say the piece: the first four are 0.15 wide, the next four 0.3, and so on.
const TANH_SCALE: f64 = 3.28;

/// Bits of the scaled number below those that say the piece.
const TANH_DOWN: u32 = 21;

/// Further away it is one.
const TANH_FURTHEST: f64 = 9.1;

/// `tanh(x)` in 32 bits.
#[inline(always)]
pub fn tanh_single<R: Real>(x: R) -> R {
    let (furthest, magnitude) = (R::of(TANH_FURTHEST), x.abs());
    let magnitude = R::select(furthest.below(magnitude), furthest, magnitude);
    let scaled = magnitude.mul_add(R::of(TANH_SCALE), R::of(2.0));
    let piece = scaled.bits().down(TANH_DOWN);
    let number = |row| R::of_piece(&TANH_SINGLE, row, piece);
    let rest = magnitude - number(0);
    let square = rest * rest;
    let beyond = square * polynomial_of(rest, 4, |n| number(n + 3));
    (number(1) + number(2).mul_add(rest, beyond)).copysign(x)
}

/// `(tanh(x) - x) / x^3` as polynomial of `x^2` for `|x| <= 0.1802`, in 64 bits; off by 2^-57 of the whole.
const TANH: [f64; 6] = [
    -0.3333333333333198,
    0.1333333333252398,
    -0.05396825235243831,
    0.021869340076801226,
    -0.008856326214314524,
    0.0034332060465017246,
];

/// `tanh(x)` in 64 bits.
#[inline(always)]
pub fn tanh_double<R: Real>(x: R) -> R {
    let constants = &exponential::DOUBLE;
    // Further away it is one.
    let (one, furthest) = (R::of(1.0), R::of(22.0));
    let magnitude = R::select(furthest.below(x.abs()), furthest, x.abs());
    let (multiple, rest) = reduce_by_halves(magnitude, constants);
    let square = rest.high * rest.high;
    let beyond = (rest.high * square).mul_add(polynomial(square, &TANH), rest.low);
    // Half of n log(2) has the tangent (1 - 2^-n) / (1 + 2^-n), and that of a sum is (a + b) / (1 + a b).
    let power = multiple.usual_power_over(one, constants);
    let (minus, plus) = (one - power, one + power);
    let above = Pair::sum_with_product(minus, plus, rest.high);
    let above = Pair {
        high: above.high,
        low: plus.mul_add(beyond, above.low),
    };
    let below = Pair::sum_with_product(plus, minus, rest.high);
    let below = Pair::sum(below.high, minus.mul_add(beyond, below.low));
    let value = above.quotient(below);
    // Here sums of one and the power lose digits, but those of a tangent less one do not count.
    let is_large = !magnitude.at_most(R::of(18.0));
    let [value] = R::rarely(is_large, [value], || {
        let less = (one - rest.high) / (one + rest.high);
        let large = (power + power).mul_add(-less, one);
        [R::select(is_large, large, value)]
    });
    value.copysign(x)
}
