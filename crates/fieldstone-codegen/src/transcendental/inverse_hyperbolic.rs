//! `asinh`, `acosh`, `atanh`, which are logarithms: `log(w) = n log(2) + 2 atanh(s)` with `s = (w - 2^n) / (w + 2^n)`, an odd
//! polynomial. Where `n` is zero, `s` is found from the argument itself, as `w` has lost digits of it.

use super::logarithm::{self, parts_of_normal};
use super::number::{Bits, Real};
use super::polynomial::{Pair, polynomial};

/// What depends on the type.
struct Constants {
    /// `(2 atanh(t / 2) - t) / t^3` as polynomial of `t^2` for `|t| <= 0.4012`.
    polynomial: &'static [f64],
    logarithm: &'static logarithm::Constants,
    /// Further away, squares may overflow, and nobody sees that the root is that of `x^2` and one.
    large: f64,
}

/// For 64 bits; the polynomial is off by 2^-62.5 of the whole.
const DOUBLE: Constants = Constants {
    polynomial: &[
        0.08333333333333325,
        0.012500000000017848,
        0.0022321428559115668,
        0.00043402781871824914,
        8.877765826578278e-05,
        1.8788041023880114e-05,
        4.019987222018071e-06,
        1.0566248254455585e-06,
    ],
    logarithm: &logarithm::DOUBLE,
    large: 1e150,
};

/// For 32 bits; the polynomial is off by 2^-28.3 of the whole.
const SINGLE: Constants = Constants {
    polynomial: &[
        0.08333368599414825,
        0.012486742809414864,
        0.002372434362769127,
    ],
    logarithm: &logarithm::SINGLE,
    large: 1e18,
};

of_both_types! {
    asinh asinh_double asinh_single;
    acosh acosh_double acosh_single;
    atanh atanh_double atanh_single;
}

/// `n log(2) + 2 atanh(s)`, of a quotient for `2 s`.
#[inline(always)]
fn sum<R: Real>(n: R, above: Pair<R>, below: Pair<R>, constants: &Constants) -> R {
    let twice = above.nearly_over(below);
    let square = twice.high * twice.high;
    let beyond = twice.high * square * polynomial(square, constants.polynomial);
    let log_2 = constants.logarithm.log_2;
    let sum = Pair::sum(n * R::of(log_2.0), twice.high);
    sum.high + (sum.low + (n.mul_add(R::of(log_2.1), twice.low) + beyond))
}

/// The logarithm of `w`, a sum of `x` and a root; where it is below the root of two, the logarithm of the number whose `s` is
/// a quotient.
#[inline(always)]
fn log_of<R: Real>(
    x: R,
    w: Pair<R>,
    (above, below): (Pair<R>, Pair<R>),
    constants: &Constants,
) -> R {
    let parts = parts_of_normal(w.high, constants.logarithm);
    let is_near = parts.exponent.equals(R::of(0.0));
    let low = w.low * R::power_of_two(-parts.exponent);
    let far_above = Pair {
        high: parts.fraction,
        low,
    };
    let far_below = Pair::sum(R::of(2.0), parts.fraction).and(low);
    let above = Pair::select(is_near, above, far_above);
    let twice = Pair {
        high: above.high + above.high,
        low: above.low + above.low,
    };
    let below = Pair::select(is_near, below, far_below);
    let value = sum(parts.exponent, twice, below, constants);

    let is_large = !x.at_most(R::of(constants.large));
    let [value] = R::rarely(is_large, [value], || {
        // That of 2 x.
        let parts = parts_of_normal(x, constants.logarithm);
        let twice = Pair::number(parts.fraction + parts.fraction);
        let below = Pair::sum(R::of(2.0), parts.fraction);
        let large = sum(parts.exponent + R::of(1.0), twice, below, constants);
        let large = R::select(x.below(R::of(f64::INFINITY)), large, x);
        [R::select(is_large, large, value)]
    });
    value
}

#[inline(always)]
fn asinh<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let one = R::of(1.0);
    let square = magnitude.mul_add(magnitude, one);
    let low = magnitude.mul_add(magnitude, one - square);
    let root = Pair { high: square, low }.near_sqrt();
    let w = Pair::sum(root.high, magnitude).and(root.low);
    let below = Pair::sum(root.high, one).and(root.low);
    let tangent = (Pair::number(magnitude), below);
    log_of(magnitude, w, tangent, constants).copysign(x)
}

#[inline(always)]
fn acosh<R: Real>(x: R, constants: &Constants) -> R {
    let one = R::of(1.0);
    let less_one = x - one;
    let twice = less_one + less_one;
    let square = less_one.mul_add(less_one, twice);
    let low = less_one.mul_add(less_one, twice - square);
    let root = Pair { high: square, low }.near_sqrt();
    let w = Pair::sum(x, root.high).and(root.low);
    let value = log_of(x, w, (root, Pair::sum(x, one)), constants);
    R::select(x.below(one), R::of(f64::NAN), value)
}

/// Half an octave, which bits as integers have at 1.5, less the distance from there to the root of two.
const ROUND: f64 = 1.5 - std::f64::consts::SQRT_2;

#[inline(always)]
fn atanh<R: Real>(x: R, constants: &Constants) -> R {
    let magnitude = x.abs();
    let one = R::of(1.0);
    let (more, less) = (Pair::sum(one, magnitude), Pair::sum(one, -magnitude));
    // Roughly 2^n: bits as integers are nearly logarithms.
    let of_one = (R::BIAS as f64 - ROUND) * (1u64 << R::FRACTION) as f64;
    let w = more.high.bits() - less.high.bits() + R::Bits::of(of_one as u64);
    let n = parts_of_normal(w.real(), constants.logarithm).exponent;
    let is_near = n.equals(R::of(0.0));
    let power = R::power_of_two(n);
    let (high, low) = (less.high * power, less.low * power);
    // Exact, as they are about the same.
    let above = Pair {
        high: more.high - high,
        low: more.low - low,
    };
    let below = Pair::sum_of_any(more.high, high).and(more.low + low);
    let above = Pair::select(is_near, Pair::number(magnitude), above);
    let below = Pair::select(is_near, Pair::number(one), below);
    let twice = Pair {
        high: above.high + above.high,
        low: above.low + above.low,
    };
    let value = R::of(0.5) * sum(n, twice, below, constants);
    let is_usual = magnitude.below(one);
    let [value] = R::rarely(!is_usual, [value], || {
        let is_one = magnitude.equals(one);
        let edge = R::select(is_one, R::of(f64::INFINITY), R::of(f64::NAN));
        [R::select(is_usual, value, edge)]
    });
    value.copysign(x)
}
