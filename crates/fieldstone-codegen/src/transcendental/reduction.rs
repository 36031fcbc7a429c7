//! Angles less multiples of half pi, with digits to spare: after Cody and Waite where the angle has few digits before the
//! point, else after Payne and Hanek, who skip the digits of `2 / pi` that make whole turns. Both are in chapter 11 of
//! Muller, *Elementary Functions*.

use super::number::{Bits, Double, Real, Table};
use super::polynomial::Pair;

/// An angle: a number of right angles, and a rest of at most half of one.
pub struct Quadrant<R: Real> {
    /// The last two bits are those of the number.
    pub number: R::Bits,
    /// In radians.
    pub rest: Pair<R>,
}

/// What depends on the type.
pub struct Constants {
    /// Half pi: each number has the digits that those before it leave out.
    half_pi: [f64; 3],
    /// Adding it rounds to an integer, which the lowest bits of the sum hold.
    rounding: f64,
    /// Up to here a multiple of half pi can be subtracted.
    near: f64,
}

/// For 64 bits.
pub const DOUBLE: Constants = Constants {
    half_pi: [
        std::f64::consts::FRAC_PI_2,
        6.123233995736766e-17,
        -1.4973849048591833e-33,
    ],
    rounding: ROUNDING,
    near: 1073741824.0,
};

/// For 32 bits.
pub const SINGLE: Constants = Constants {
    half_pi: [
        1.5707963705062866,
        -4.371138828673793e-08,
        -1.7151245100059347e-15,
    ],
    rounding: 12582912.0,
    near: 4096.0,
};

const ROUNDING: f64 = 6755399441055744.0;

/// What depends on the type where an angle is one of so many pieces of half a turn, and a rest of at most half of one.
pub struct PieceConstants {
    /// A piece. Multiples of the second number are exact, so that of a difference with them no digit is lost; the last one has the
    /// digits that those before it leave out.
    piece: [f64; 3],
    /// One divided by a piece.
    reciprocal: f64,
    rounding: f64,
    /// Pieces of an eighth of a turn.
    pub quarter: u32,
    /// Up to here a multiple of a piece can be subtracted.
    pub near: f64,
}

/// Eight pieces, for 64 bits.
pub const EIGHT: PieceConstants = PieceConstants {
    piece: [
        std::f64::consts::FRAC_PI_8,
        1.530808498523035e-17,
        4.1115642340810644e-27,
    ],
    reciprocal: 4.0 * std::f64::consts::FRAC_2_PI,
    rounding: ROUNDING,
    quarter: 4,
    near: 1048576.0,
};

/// Sixteen pieces, for 32 bits.
pub const SIXTEEN: PieceConstants = PieceConstants {
    piece: [
        0.19634954631328583,
        -5.464244168251753e-09,
        3.204180085321362e-13,
    ],
    reciprocal: 8.0 * std::f64::consts::FRAC_2_PI,
    rounding: 12582912.0,
    quarter: 8,
    near: 512.0,
};

/// Takes an angle apart that is not too large: pieces, of which some more are counted, and the rest.
#[inline(always)]
pub fn near_piece<R: Real>(x: R, more: u32, constants: &PieceConstants) -> Quadrant<R> {
    let rounding = R::of(constants.rounding + f64::from(more));
    let piece = constants.piece;
    let shifted = x.mul_add(R::of(constants.reciprocal), rounding);
    let n = shifted - rounding;
    let rest = n.mul_add(R::of(-piece[0]), x);
    let high = n.mul_add(R::of(-piece[1]), rest);
    let low = n.mul_add(R::of(-piece[1]), rest - high);
    Quadrant {
        number: shifted.bits(),
        rest: Pair {
            high,
            low: n.mul_add(R::of(-piece[2]), low),
        },
    }
}

/// Takes an angle of 64 bits apart.
#[inline(always)]
pub fn piece<R: Double>(x: R, more: u32) -> Quadrant<R> {
    let near = near_piece(x, more, &EIGHT);
    let is_far = !x.at_most(R::of(EIGHT.near));
    let usual = [near.number.real(), near.rest.high, near.rest.low];
    let [number, high, low] = R::rarely(is_far, usual, || {
        let quadrant = quadrant(x);
        let piece = near_piece(quadrant.rest.high, more, &EIGHT);
        let number = quadrant.number.up(EIGHT.quarter.ilog2()) + piece.number;
        let rest = piece.rest.and(quadrant.rest.low);
        [
            R::select(is_far, number.real(), usual[0]),
            R::select(is_far, rest.high, usual[1]),
            R::select(is_far, rest.low, usual[2]),
        ]
    });
    Quadrant {
        number: number.bits(),
        rest: Pair { high, low },
    }
}

/// Whether an angle is too large for [`near_quadrant`], or is NaN.
#[inline(always)]
pub fn is_far<R: Real>(x: R, constants: &Constants) -> R::Mask {
    !x.abs().at_most(R::of(constants.near))
}

/// Takes an angle apart that is not too large.
#[inline(always)]
pub fn near_quadrant<R: Real>(x: R, constants: &Constants) -> Quadrant<R> {
    let rounding = R::of(constants.rounding);
    let half_pi = constants.half_pi;
    let shifted = x.mul_add(R::of(std::f64::consts::FRAC_2_PI), rounding);
    let n = shifted - rounding;
    // Exact, as the difference has no more digits.
    let rest = n.mul_add(R::of(-half_pi[0]), x);
    let second = Pair::product(n, R::of(-half_pi[1]));
    // Exact also where the rest is the smaller one: its last digits are worth more than those of the sum.
    let sum = Pair::sum(rest, second.high);
    let low = n.mul_add(R::of(-half_pi[2]), sum.low + second.low);
    Quadrant {
        number: shifted.bits(),
        rest: Pair {
            high: sum.high,
            low,
        },
    }
}

/// Takes an angle of 64 bits apart.
#[inline(always)]
pub fn quadrant<R: Double>(x: R) -> Quadrant<R> {
    let is_far = is_far(x, &DOUBLE);
    let near = near_quadrant(x, &DOUBLE);
    let usual = [near.number.real(), near.rest.high, near.rest.low];
    let [number, high, low] = R::rarely(is_far, usual, || {
        let far = far_quadrant(R::select(is_far, x, R::of(2.0 * DOUBLE.near)));
        [
            R::select(is_far, far[0], usual[0]),
            R::select(is_far, far[1], usual[1]),
            R::select(is_far, far[2], usual[2]),
        ]
    });
    Quadrant {
        number: number.bits(),
        rest: Pair { high, low },
    }
}

/// The number of right angles, rounded, and the two parts of the rest; for large angles, infinite ones and NaN.
#[inline(always)]
fn far_quadrant<R: Double>(x: R) -> [R; 3] {
    let rounding = R::of(ROUNDING);
    // The angle is an integer times 2^(24 row).
    let integers = R::of(4503599627370496.0);
    let exponent = (x.abs().bits().down(52) | integers.bits()).real();
    let exponent = (exponent - integers) - R::of(1023.0 + 52.0);
    let row = exponent.mul_add(R::of(1.0 / 24.0), R::of(1.0 / 48.0 - 0.5));
    let row = (row + rounding) - rounding;
    let power = row.mul_add(R::of(-24.0), rounding).bits().up(52) + R::of(1.0).bits();
    let integer = x * power.real();
    let index = row.mul_add(R::of(4.0), R::of(ROUNDING + 4.0)).bits() & R::Bits::of(0xff);
    let digits = |n: u64| R::lookup(&TURNS, index + R::Bits::of(n));

    // The products, less whole turns as soon as they show.
    let first = Pair::product(integer, digits(0));
    let second = Pair::product(integer, digits(1));
    let third = Pair::product(integer, digits(2));
    let fourth = integer * digits(3);
    let sum = Pair::sum_of_any(less_turns(first.high), less_turns(first.low));
    let next = Pair::sum_of_any(sum.high, less_turns(second.high));
    let shifted = next.high + rounding;
    let rest = next.high - (shifted - rounding);
    let small = Pair::sum_of_any(second.low, third.high);
    let mut low = small.low + (third.low + fourth);
    let mut high = rest;
    for part in [small.high, next.low, sum.low] {
        let sum = Pair::sum_of_any(high, part);
        high = sum.high;
        low = sum.low + low;
    }
    let half_pi = Pair {
        high: R::of(DOUBLE.half_pi[0]),
        low: R::of(DOUBLE.half_pi[1]),
    };
    let rest = Pair { high, low }.normal().times_pair(half_pi);
    [shifted, rest.high, rest.low]
}

/// A number of right angles, less turns of four.
#[inline(always)]
fn less_turns<R: Real>(x: R) -> R {
    let integers = R::of(4503599627370496.0);
    let quarter = x * R::of(0.25);
    let magnitude = quarter.abs();
    let rounded = ((magnitude + integers) - integers).copysign(quarter);
    let turns = R::select(integers.at_most(magnitude), quarter, rounded);
    turns.mul_add(R::of(-4.0), x)
}

/// `2 / pi * 2^(24 row)`, less multiples of four, for rows from -1: four numbers each, of which each has the digits that
/// those before it leave out.
static TURNS: Table = Table {
    name: "turns",
    values: &[
        3.794549538895973e-08,
        -2.3458810657480342e-24,
        -1.278094802247644e-40,
        9.600596340410843e-57,
        std::f64::consts::FRAC_2_PI,
        -3.935735335036497e-17,
        -2.1442872565786008e-33,
        1.6107127853188224e-49,
        -0.5691182564096516,
        -9.117048055938418e-18,
        6.519456197016176e-34,
        5.3279677598386366e-51,
        0.08267188988231296,
        2.8658837463471963e-18,
        -1.4725546006520646e-34,
        9.812701206320003e-51,
        0.1536837791107848,
        1.1892889840965575e-17,
        4.96479382107966e-35,
        -6.120035996925595e-52,
        1.9578379245607584,
        7.769584704001829e-17,
        3.34906530821634e-33,
        -1.9473147087135764e-49,
        1.7533475508910081,
        4.945359371759062e-17,
        -2.4392277228547982e-34,
        -1.5344342211616349e-50,
        -1.4156305632638961,
        -2.334345058404264e-17,
        3.303739526491e-34,
        7.68445489919835e-51,
        0.26391994913991706,
        -1.8033816326250612e-18,
        4.382920024302585e-35,
        -2.1829574792641354e-51,
        1.9934294027905102,
        7.468610146763042e-17,
        2.6623537174486554e-33,
        2.624290316405018e-50,
        -0.32863260680304357,
        5.975448771787927e-18,
        -3.3012902432813985e-34,
        -8.037954937624345e-51,
        -0.22897773132878904,
        4.218832902568003e-18,
        -3.7779926832052613e-34,
        -1.3064264656472809e-50,
        -0.8576930606961253,
        3.40757809559927e-19,
        2.1811641125971334e-35,
        -9.266377599989395e-52,
        -1.7410000041070035,
        -1.5068331020551784e-17,
        -4.0090031461978995e-34,
        2.27415815770192e-50,
        -1.1249040852034902,
        2.1798603098136593e-17,
        2.2392945724691174e-34,
        1.3851723324639318e-50,
        1.1832586418769218,
        -2.6133695546373006e-17,
        -2.102659325988091e-34,
        1.2078730540667263e-50,
        1.8186357612993729,
        -4.590714157462198e-17,
        -1.934068093039451e-33,
        7.6008324938137915e-50,
        0.9926440186547213,
        -1.0467525454342137e-17,
        6.293270923234803e-34,
        -3.1076181173778906e-50,
        -0.8879217116055695,
        3.0680630796137424e-17,
        1.8510278886596526e-33,
        -1.6778312128319541e-49,
        1.6533036535165209,
        -1.7603775800107138e-17,
        1.2912555450892386e-33,
        5.9401287241271615e-50,
        0.5086358298388111,
        -4.2847068867568927e-17,
        -3.36116241813714e-34,
        8.623377921681625e-51,
        1.1825449776166452,
        2.098179600458306e-18,
        -3.1428272666860984e-35,
        1.3820409653673834e-51,
        0.5191896222883812,
        -7.033502215243817e-18,
        6.403915591779444e-34,
        3.138382529637638e-50,
        0.43809058505417375,
        2.1783617394641677e-17,
        8.881223436895315e-34,
        -6.352906041942405e-50,
        0.3730202451277699,
        2.0996935910926998e-17,
        -8.746273572497296e-35,
        1.5869486335858938e-51,
        1.2248815431988307,
        -8.388410436886892e-17,
        -1.3178845532633915e-33,
        8.024134531623681e-50,
        -1.7753398879534767,
        6.0690703087687e-17,
        6.157403977292624e-33,
        4.2588666683108084e-50,
        -0.7736112763236216,
        -2.812652713956606e-17,
        -2.5562317805561434e-35,
        -1.217864851646903e-51,
        0.51708291423816,
        4.3366518564549914e-17,
        -1.528756311547023e-33,
        2.786694187649594e-50,
        -0.257916913571561,
        -7.195152808990792e-21,
        -3.4279848075403856e-37,
        -1.570929526316849e-53,
        0.23095658980297892,
        -5.6344770751193876e-18,
        -3.7734214206176327e-34,
        -2.2573051833887096e-51,
        0.5937479747445307,
        -1.1326197543405264e-17,
        -1.1043036108976403e-34,
        4.586606918501064e-51,
        -1.978148464303496,
        -6.450782141628775e-17,
        -2.2933955581990745e-34,
        1.669852406306587e-50,
        -0.06568804118975029,
        1.7036400926609164e-18,
        7.309546151776133e-36,
        -3.349855763064181e-52,
        1.5443426624691952,
        9.014106740466073e-17,
        2.9417433818622883e-33,
        1.214975692494432e-49,
        -1.573739217944595,
        1.0815122415976191e-16,
        -4.8882699985166894e-33,
        -1.850062520908266e-49,
        1.2128724548484004,
        1.0144198875655323e-16,
        -4.2028473521770305e-33,
        -6.964346371946159e-50,
        -0.8445581366984021,
        -8.314819587895112e-18,
        -5.207463049859117e-35,
        2.7482121952990456e-51,
        1.7160533814227334,
        -1.1829963605724719e-18,
        -1.9602892328484868e-35,
        -1.2286098599953226e-51,
        -1.7523404136498562,
        7.154268567863649e-17,
        -9.170524361583744e-34,
        5.0557242617997325e-50,
        -1.625332983873041,
        1.0993258256636853e-16,
        -1.1619223206402803e-33,
        -1.236475362670189e-50,
        1.457637475785212,
        2.0558554398611556e-17,
        4.9571308478526475e-34,
        -1.196861860890493e-51,
    ],
};
