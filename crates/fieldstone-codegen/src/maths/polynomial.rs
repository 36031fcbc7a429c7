//! Polynomials and sums of two numbers that hold more digits than one.

use super::number::Real;

/// `c[0] + c[1] x + c[2] x^2 + …`, even and odd powers apart: half as many operations wait for one another as with Horner's rule.
#[inline(always)]
pub fn polynomial<R: Real>(x: R, coefficients: &[f64]) -> R {
    let square = x * x;
    let (even, odd) = (
        every_other(square, coefficients),
        every_other(square, &coefficients[1..]),
    );
    odd.mul_add(x, even)
}

/// `c[0] + c[2] x + c[4] x^2 + …`
#[inline(always)]
fn every_other<R: Real>(x: R, coefficients: &[f64]) -> R {
    let last = (coefficients.len() - 1) / 2;
    let mut sum = R::of(coefficients[2 * last]);
    let mut n = last;
    while n > 0 {
        n -= 1;
        sum = sum.mul_add(x, R::of(coefficients[2 * n]));
    }
    sum
}

/// An unevaluated sum of two numbers, of which the second is at most half a unit in the last digit of the first.
///
/// The operations are those of Dekker (1971) and of chapters 4 and 14 of Muller et al., *Handbook of Floating-Point
/// Arithmetic*.
#[derive(Clone, Copy)]
pub struct Pair<R> {
    /// The sum, rounded.
    pub high: R,
    /// What that leaves out.
    pub low: R,
}

impl<R: Real> Pair<R> {
    /// `a + b` exactly, where `a` is not the smaller one or is zero.
    #[inline(always)]
    pub fn sum(a: R, b: R) -> Pair<R> {
        let high = a + b;
        Pair {
            high,
            low: (a - high) + b,
        }
    }

    /// `a * b` exactly.
    #[inline(always)]
    pub fn product(a: R, b: R) -> Pair<R> {
        let high = a * b;
        Pair {
            high,
            low: a.mul_add(b, -high),
        }
    }

    /// `self * factor`, to about twice the digits.
    #[inline(always)]
    pub fn times(self, factor: R) -> Pair<R> {
        let Pair { high, low } = Pair::product(self.high, factor);
        Pair {
            high,
            low: self.low.mul_add(factor, low),
        }
    }
}
