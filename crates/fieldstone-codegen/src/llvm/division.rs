//! Division by what is the same at all points of a call, as by a grid spacing, without dividing at each point.
//!
//! The reciprocal is computed once, as the sum of two numbers. A product with it has at most one other quotient between it
//! and the right one, so that what is left of the dividend is exact, and the quotient that this corrects is rounded as a division's
//! (P. Markstein, *Computation of elementary functions on the IBM RISC System/6000 processor*, 1990). That holds as long as nothing
//! overflows or underflows on the way; vectors with other numbers are divided.

use fieldstone_stencil::DType;
use fieldstone_stencil::analysis::operations::{Operation, Operations};
use fieldstone_stencil::fast_math::Liberty;
use fieldstone_stencil::ir::{Expr, ExprKind, Literal, Stmt, UnaryOp};

use super::arithmetic::Arithmetic;
use super::body::Body;
use super::memory::splat;
use super::types::{self, Lanes};

/// Divisions that may be multiplications.
#[derive(Clone, Copy)]
struct Kind {
    dtype: DType,
    /// Binary exponents of dividends, and of divisors, up to which no intermediate result overflows or underflows.
    dividend: i32,
    divisor: i32,
    /// Other operations for each division, up to which a processor waits for divisions more than for as many operations.
    others: u128,
}

impl Kind {
    /// Of single precision a vector takes as long either way.
    fn of(dtype: DType) -> Option<Kind> {
        (dtype == DType::Float64).then_some(Kind {
            dtype,
            dividend: 900,
            divisor: 100,
            others: 4,
        })
    }
}

/// How many divisions the loops of a kernel have, and other operations.
#[derive(Clone, Copy)]
pub(super) struct Divisions {
    divisions: u128,
    others: u128,
}

impl Divisions {
    pub(super) fn of<'a>(statements: impl Iterator<Item = &'a Stmt>) -> Self {
        let mut all = Operations::default();
        for statement in statements {
            statement.walk(&mut |statement| {
                statement.expressions().for_each(|expr| all.note(expr));
            });
        }
        let divisions = all.count(Operation::Divide);
        let sum: u128 = (Operation::ALL.iter())
            .map(|(kind, _)| all.count(*kind))
            .sum();
        Self {
            divisions,
            others: sum - divisions,
        }
    }

    /// Whether the processor waits for the divisions, and would for as many multiplications less.
    fn are_most(self, kind: Kind) -> bool {
        self.others <= kind.others * self.divisions
    }
}

impl Body<'_, '_> {
    /// Whether it is worth it to compute the reciprocal of a divisor once.
    pub(super) fn multiplies(&self, dtype: DType, divisor: &Expr) -> bool {
        let context = self.context;
        let allowed = context.target.has_fused_multiplication()
            && self.lanes.width > 1
            && self.is_whole()
            && !(context.program.stencil.fast_math).allows(Liberty::Reciprocal);
        Kind::of(dtype).is_some_and(|kind| allowed && self.entry.divisions.are_most(kind))
            && !is_power_of_two(divisor)
            && is_of_call(divisor)
    }

    /// Whether it is a vector of which all lanes are computed, as most are.
    fn is_whole(&self) -> bool {
        self.mask.is_none() && self.stored.is_none()
    }

    /// The quotient of such numbers.
    pub(super) fn quotient(&mut self, dividend: &Expr, divisor: &Expr) -> String {
        let kind = Kind::of(dividend.dtype()).expect("what is worth it");
        let (a, b) = (self.expression(dividend), self.expression(divisor));
        kind.divide(self.arithmetic(), &a, &b)
    }
}

impl Kind {
    /// `a / divisor`, where the divisor has the same value in all lanes.
    fn divide(self, mut to: Arithmetic<'_>, a: &str, divisor: &str) -> String {
        let (dtype, lanes) = (self.dtype, to.lanes);
        let (register, kind) = (types::register(dtype), lanes.value(dtype));
        let one =
            to.b.value(format_args!("extractelement {kind} {divisor}, i64 0"));
        let [high, low] = self.reciprocal(&mut of_call(&mut to), &one);
        let [high, low] = [high, low].map(|part| splat(to.b, lanes, register, &part));
        let low = to.instruction("fmul", dtype, a, &low);
        let near = to.intrinsic("fma", dtype, &[a, &high, &low]);
        let opposite = to.unary(UnaryOp::Neg, dtype, &near);
        let left = to.intrinsic("fma", dtype, &[&opposite, divisor, a]);
        let quotient = to.intrinsic("fma", dtype, &[&left, &high, &near]);
        let most = self.most(&mut of_call(&mut to), &one);
        let most = splat(to.b, lanes, register, &most);
        let is_rare = self.is_beyond(&mut to, a, self.dividend, &most);
        let is_rare = to.b.any(lanes, &is_rare);
        let rare = to.b.begin_rare(&is_rare);
        let divided = to.instruction("fdiv", dtype, a, divisor);
        let values = to.b.end_rare(&rare, &kind, &[[divided, quotient]]);
        values.into_iter().next().expect("one value")
    }

    /// The reciprocal as it is rounded, and what is left of it.
    fn reciprocal(self, to: &mut Arithmetic<'_>, divisor: &str) -> [String; 2] {
        let one = to.literal(Literal::Float(1.0), self.dtype);
        let high = to.instruction("fdiv", self.dtype, &one, divisor);
        let opposite = to.unary(UnaryOp::Neg, self.dtype, &high);
        let left = to.intrinsic("fma", self.dtype, &[&opposite, divisor, &one]);
        let low = to.instruction("fmul", self.dtype, &left, &high);
        [high, low]
    }

    /// The largest dividend for which that is right: none if the divisor is too large or too small.
    fn most(self, to: &mut Arithmetic<'_>, divisor: &str) -> String {
        let most = self.power(to, self.divisor);
        let never = self.is_beyond(to, divisor, self.divisor, &most);
        let (none, most) = (
            to.literal(Literal::Float(-1.0), self.dtype),
            self.power(to, self.dividend),
        );
        to.select(&never, self.dtype, &none, &most)
    }

    fn power(self, to: &Arithmetic<'_>, exponent: i32) -> String {
        to.literal(Literal::Float(2f64.powi(exponent)), self.dtype)
    }

    /// Where a number is none, larger than `most`, or has a smaller exponent than one with this sign turned.
    fn is_beyond(self, to: &mut Arithmetic<'_>, value: &str, exponent: i32, most: &str) -> String {
        let least = self.power(to, -exponent);
        let size = to.intrinsic("fabs", self.dtype, &[value]);
        let kind = to.lanes.value(self.dtype);
        let small = to.b.value(format_args!("fcmp ult {kind} {size}, {least}"));
        let large = to.b.value(format_args!("fcmp ugt {kind} {size}, {most}"));
        to.instruction("or", DType::Bool, &small, &large)
    }
}

/// Whether an expression is the same at all points of a call.
fn is_of_call(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Scalar(_) => true,
        ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cast(_) => {
            expr.operands().all(is_of_call)
        }
        _ => false,
    }
}

/// Operations on what is the same for a call.
fn of_call<'b>(to: &'b mut Arithmetic<'_>) -> Arithmetic<'b> {
    Arithmetic {
        b: to.b,
        lanes: Lanes { width: 1 },
        seen: None,
        fast_math: to.fast_math,
    }
}

/// Whether dividing by it is a multiplication anyway.
fn is_power_of_two(divisor: &Expr) -> bool {
    let value = match divisor.kind {
        ExprKind::Literal(Literal::Int(value)) => value as f64,
        ExprKind::Literal(Literal::Float(value)) => value,
        _ => return false,
    };
    value.to_bits() << 12 == 0
}
