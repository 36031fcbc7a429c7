//! Polynomials and sums of two numbers that hold more digits than one.

use super::number::Real;

/// `c[0] + c[1] x + c[2] x^2 + …`, by shorter chains of operations than Horner's rule has, where each waits for the one before.
///
/// Other vectors of numbers would fill the time of waiting, but a processor looks only so many instructions ahead, and a function has
/// many: it sees few vectors at a time. Fewer coefficients than [`LONG`] are summed in two chains beside each other, of the even and
/// the odd powers. More are summed in groups of four, which do not wait for one another, and then in one chain of all groups.
#[inline(always)]
pub fn polynomial<R: Real>(x: R, coefficients: &[f64]) -> R {
    polynomial_of(x, coefficients.len(), |n| R::of(coefficients[n]))
}

/// The same of so many coefficients, which may differ from number to number.
#[inline(always)]
pub fn polynomial_of<R: Real>(x: R, count: usize, coefficient: impl Fn(usize) -> R) -> R {
    let square = x * x;
    if count < LONG {
        let every_other = |first: usize| {
            let mut n = first + (count - 1 - first) / 2 * 2;
            let mut sum = coefficient(n);
            while n > first {
                n -= 2;
                sum = sum.mul_add(square, coefficient(n));
            }
            sum
        };
        return every_other(1).mul_add(x, every_other(0));
    }
    let fourth = square * square;
    let linear = |n: usize| match n + 1 < count {
        true => coefficient(n + 1).mul_add(x, coefficient(n)),
        false => coefficient(n),
    };
    let group = |n: usize| match n + 2 < count {
        true => linear(n + 2).mul_add(square, linear(n)),
        false => linear(n),
    };
    let mut n = (count - 1) / 4 * 4;
    let mut sum = group(n);
    while n > 0 {
        n -= 4;
        sum = sum.mul_add(fourth, group(n));
    }
    sum
}

/// Polynomials of so many coefficients are long.
const LONG: usize = 12;

/// The same, of which the first two steps lose fewer digits.
#[inline(always)]
pub fn leading_polynomial<R: Real>(x: R, coefficients: &[f64]) -> R {
    let rest = polynomial(x, &coefficients[2..]);
    let rest = rest.mul_add(x, R::of(coefficients[1]));
    rest.mul_add(x, R::of(coefficients[0]))
}

/// The same by Horner's rule: with signs that alternate, or with little to spare, fewer digits are lost.
#[inline(always)]
pub fn exact_polynomial<R: Real>(x: R, coefficients: &[f64]) -> R {
    let mut sum = R::of(coefficients[coefficients.len() - 1]);
    for coefficient in coefficients.iter().rev().skip(1) {
        sum = sum.mul_add(x, R::of(*coefficient));
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
    /// A constant with more digits than one number has.
    #[inline(always)]
    pub fn of(parts: (f64, f64)) -> Pair<R> {
        Pair {
            high: R::of(parts.0),
            low: R::of(parts.1),
        }
    }

    /// A number.
    #[inline(always)]
    pub fn number(high: R) -> Pair<R> {
        Pair {
            high,
            low: R::of(0.0),
        }
    }

    /// `self` and some more of its last digits.
    #[inline(always)]
    pub fn and(self, low: R) -> Pair<R> {
        Pair {
            high: self.high,
            low: self.low + low,
        }
    }

    /// `2 self`.
    #[inline(always)]
    pub fn twice(self) -> Pair<R> {
        Pair {
            high: self.high + self.high,
            low: self.low + self.low,
        }
    }

    /// `a + b` exactly, where `a` is not the smaller one or is zero.
    #[inline(always)]
    pub fn sum(a: R, b: R) -> Pair<R> {
        let high = a + b;
        Pair {
            high,
            low: (a - high) + b,
        }
    }

    /// `a + b * c` but for hardly anything, where `a` is not the smaller one or is zero.
    #[inline(always)]
    pub fn sum_with_product(a: R, b: R, c: R) -> Pair<R> {
        let high = b.mul_add(c, a);
        Pair {
            high,
            low: b.mul_add(c, a - high),
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

    /// `a + b` exactly, whichever is larger.
    #[inline(always)]
    pub fn sum_of_any(a: R, b: R) -> Pair<R> {
        let high = a + b;
        let other = high - a;
        Pair {
            high,
            low: (a - (high - other)) + (b - other),
        }
    }

    /// The same sum, with all that fits in the first part.
    #[inline(always)]
    pub fn normal(self) -> Pair<R> {
        Pair::sum(self.high, self.low)
    }

    /// `self + b`, where `b` is not the larger one.
    #[inline(always)]
    pub fn plus(self, b: Pair<R>) -> Pair<R> {
        let Pair { high, low } = Pair::sum(self.high, b.high);
        Pair {
            high,
            low: low + (self.low + b.low),
        }
        .normal()
    }

    /// `self * b`, to about twice the digits.
    #[inline(always)]
    pub fn times_pair(self, b: Pair<R>) -> Pair<R> {
        let Pair { high, low } = self.times(b.high);
        Pair {
            high,
            low: self.high.mul_add(b.low, low),
        }
        .normal()
    }

    /// `self / b`, to about twice the digits.
    #[inline(always)]
    pub fn over(self, b: Pair<R>) -> Pair<R> {
        let reciprocal = R::of(1.0) / b.high;
        let high = self.high * reciprocal;
        let rest = (-high).mul_add(b.high, self.high) + (-high).mul_add(b.low, self.low);
        Pair {
            high,
            low: rest * reciprocal,
        }
    }

    /// `self / b` as one number, off by little more than its rounding.
    #[inline(always)]
    pub fn quotient(self, b: Pair<R>) -> R {
        let reciprocal = R::of(1.0) / b.high;
        let high = self.high * reciprocal;
        let rest = (-high).mul_add(b.high, self.high) + (-high).mul_add(b.low, self.low);
        rest.mul_add(reciprocal, high)
    }

    /// `a / b` of a positive number, to a few more digits than one number has.
    #[inline(always)]
    pub fn near_quotient(a: R, b: R) -> Pair<R> {
        let high = a / b;
        Pair {
            high,
            low: (-high).mul_add(b, a) * b.near_reciprocal(),
        }
    }

    /// The same of pairs.
    #[inline(always)]
    pub fn nearly_over(self, b: Pair<R>) -> Pair<R> {
        let high = self.high / b.high;
        let rest = (-high).mul_add(b.high, self.high) + (-high).mul_add(b.low, self.low);
        Pair {
            high,
            low: rest * b.high.near_reciprocal(),
        }
    }

    /// The square root, to a few more digits than one number has.
    #[inline(always)]
    pub fn near_sqrt(self) -> Pair<R> {
        let high = self.high.sqrt();
        let rest = (-high).mul_add(high, self.high) + self.low;
        Pair {
            high,
            low: rest * (high + high).near_reciprocal(),
        }
    }

    /// `a` where the mask holds, else `b`.
    #[inline(always)]
    pub fn select(mask: R::Mask, a: Pair<R>, b: Pair<R>) -> Pair<R> {
        Pair {
            high: R::select(mask, a.high, b.high),
            low: R::select(mask, a.low, b.low),
        }
    }
}

impl<R: Real> std::ops::Neg for Pair<R> {
    type Output = Pair<R>;

    #[inline(always)]
    fn neg(self) -> Pair<R> {
        Pair {
            high: -self.high,
            low: -self.low,
        }
    }
}
