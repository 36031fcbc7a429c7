//! Powers with a small literal exponent: the multiplications they stand for, the same in every backend.

use crate::ir::{Expr, ExprKind, Literal, UnaryOp};

/// The largest absolute exponent that is multiplied out; others call `pow`.
pub const LARGEST: i64 = 16;

/// How a power is computed: products of earlier values, and at the end perhaps a reciprocal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Value 0 is the base; product `n` makes value `n + 1` out of two earlier values, left times right.
    pub products: Vec<(usize, usize)>,
    /// Which value is the power, `None` where it is the number one.
    pub result: Option<usize>,
    /// Whether the result is one divided by that value. On integers it is 0, but for one and minus one.
    pub reciprocal: bool,
}

/// Square-and-multiply from the lowest bit; `None` where `|exponent|` exceeds [`LARGEST`].
pub fn plan(exponent: i64) -> Option<Plan> {
    if exponent.unsigned_abs() > LARGEST.unsigned_abs() {
        return None;
    }
    let mut products = Vec::new();
    let mut multiply = |left, right| {
        products.push((left, right));
        products.len()
    };
    let (mut result, mut square) = (None, 0);
    let mut bits = exponent.unsigned_abs();
    while bits != 0 {
        if bits & 1 == 1 {
            result = Some(result.map_or(square, |value| multiply(value, square)));
        }
        bits >>= 1;
        if bits != 0 {
            square = multiply(square, square);
        }
    }
    Some(Plan {
        products,
        result,
        reciprocal: exponent < 0,
    })
}

/// The exponent of a power if it is an integer literal, perhaps negated or converted by type resolution.
pub fn literal_exponent(exponent: &Expr) -> Option<i64> {
    match &exponent.kind {
        ExprKind::Literal(Literal::Int(value)) => Some(*value),
        ExprKind::Unary(UnaryOp::Neg, operand) => literal_exponent(operand)?.checked_neg(),
        ExprKind::Cast(operand) => literal_exponent(operand),
        _ => None,
    }
}

/// The plan of `base ** exponent` where `exponent` is a small integer literal, `None` where `pow` is to be called.
pub fn plan_of(exponent: &Expr) -> Option<Plan> {
    plan(literal_exponent(exponent)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies_out_by_squaring() {
        let products = |exponent| plan(exponent).unwrap().products;
        assert_eq!(products(1), []);
        assert_eq!(products(2), [(0, 0)]);
        assert_eq!(products(3), [(0, 0), (0, 1)]);
        assert_eq!(products(4), [(0, 0), (1, 1)]);
        assert_eq!(products(5), [(0, 0), (1, 1), (0, 2)]);
        assert_eq!(products(7), [(0, 0), (0, 1), (1, 1), (2, 3)]);
        assert_eq!(plan(0).unwrap().result, None);
        assert_eq!(plan(17), None);
        assert_eq!(plan(i64::MIN), None);
    }

    #[test]
    fn every_plan_computes_its_power() {
        for exponent in -LARGEST..=LARGEST {
            let plan = plan(exponent).unwrap();
            let mut values = vec![3.0f64];
            for (left, right) in &plan.products {
                values.push(values[*left] * values[*right]);
            }
            let power = plan.result.map_or(1.0, |value| values[value]);
            let power = if plan.reciprocal { 1.0 / power } else { power };
            assert_eq!(power, 3.0f64.powi(exponent as i32), "3 ** {exponent}");
        }
    }
}
