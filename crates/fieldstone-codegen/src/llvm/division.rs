//! Division by what is the same at all points of a call, as by a grid spacing, without dividing at each point.
//!
//! The reciprocal is computed once, as the sum of two numbers. A product with it has at most one other quotient between it
//! and the right one, so that what is left of the dividend is exact, and the quotient that this corrects is rounded as a division's
//! (P. Markstein, *Computation of elementary functions on the IBM RISC System/6000 processor*, 1990). That holds as long as nothing
//! overflows or underflows on the way; vectors with other numbers are divided. [`Short`] numbers need less.

mod short;

use fieldstone_stencil::DType;
use fieldstone_stencil::analysis::operations::{Operation, Operations};
use fieldstone_stencil::fast_math::Liberty;
use fieldstone_stencil::ir::{Expr, ExprKind, Literal, Stmt, UnaryOp};

use self::short::Short;
use super::arithmetic::Arithmetic;
use super::body::Body;
use super::memory::splat;
use super::types::{self, Lanes};

/// What is divided so by other numbers than short ones: of single precision a vector takes as long either way.
const DTYPE: DType = DType::Float64;

/// Binary exponents of dividends, and of divisors, up to which no intermediate result overflows or underflows.
const DIVIDEND: i32 = 900;
const DIVISOR: i32 = 100;

/// Other operations for each division, up to which a processor waits for divisions more than for as many operations.
const OTHERS: u128 = 4;

/// The same of divisions by short numbers, which take fewer instructions otherwise.
const OTHERS_OF_SHORT: u128 = 12;

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

    /// Whether there are so few other operations for each of them.
    fn have_at_most(self, others: u128) -> bool {
        self.others <= others * self.divisions
    }
}

impl Body<'_, '_> {
    /// Whether it is worth it to multiply by the reciprocal of a divisor.
    pub(super) fn multiplies(&self, dtype: DType, divisor: &Expr) -> bool {
        let context = self.context;
        let may_be = context.target.has_fused_multiplication()
            && self.lanes.width > 1
            && self.is_whole()
            && !(context.program.stencil.fast_math).allows(Liberty::Reciprocal)
            && is_of_call(divisor);
        if !may_be || is_power_of_two(divisor) {
            return false;
        }
        let divisions = self.entry.divisions;
        match Short::of(divisor, dtype) {
            Some(_) => divisions.have_at_most(OTHERS_OF_SHORT),
            None => dtype == DTYPE && divisions.have_at_most(OTHERS),
        }
    }

    /// Whether it is a vector of which all lanes are computed, as most are.
    fn is_whole(&self) -> bool {
        self.mask.is_none() && self.stored.is_none()
    }

    /// The quotient of such numbers.
    pub(super) fn quotient(&mut self, dividend: &Expr, divisor: &Expr) -> String {
        let dtype = dividend.dtype();
        let a = self.expression(dividend);
        if let Some(short) = Short::of(divisor, dtype) {
            return short.divide(self.arithmetic(), dtype, &a);
        }
        let b = self.expression(divisor);
        divided(self.arithmetic(), &a, &b)
    }
}

/// `a / divisor`, where the divisor has the same value in all lanes.
fn divided(mut to: Arithmetic<'_>, a: &str, divisor: &str) -> String {
    let (register, kind) = (types::register(DTYPE), to.lanes.value(DTYPE));
    let one = (to.b).value(format_args!("extractelement {kind} {divisor}, i64 0"));
    let [high, low] = reciprocal(&mut of_call(&mut to), &one);
    let most = most(&mut of_call(&mut to), &one);
    let [high, low, most] = [high, low, most].map(|value| splat(to.b, to.lanes, register, &value));
    let low = to.instruction("fmul", DTYPE, a, &low);
    let near = to.intrinsic("fma", DTYPE, &[a, &high, &low]);
    let opposite = to.unary(UnaryOp::Neg, DTYPE, &near);
    let left = to.intrinsic("fma", DTYPE, &[&opposite, divisor, a]);
    let quotient = to.intrinsic("fma", DTYPE, &[&left, &high, &near]);
    let is_rare = is_beyond(&mut to, a, -DIVIDEND, &most);
    let is_rare = to.b.any(to.lanes, &is_rare);
    let rare = to.b.begin_rare(&is_rare);
    let exact = to.instruction("fdiv", DTYPE, a, divisor);
    let values = to.b.end_rare(&rare, &kind, &[[exact, quotient]]);
    values.into_iter().next().expect("one value")
}

/// The reciprocal as it is rounded, and what is left of it.
fn reciprocal(to: &mut Arithmetic<'_>, divisor: &str) -> [String; 2] {
    let one = to.literal(Literal::Float(1.0), DTYPE);
    let high = to.instruction("fdiv", DTYPE, &one, divisor);
    let opposite = to.unary(UnaryOp::Neg, DTYPE, &high);
    let left = to.intrinsic("fma", DTYPE, &[&opposite, divisor, &one]);
    let low = to.instruction("fmul", DTYPE, &left, &high);
    [high, low]
}

/// The largest dividend for which that is right: none if the divisor is too large or too small.
fn most(to: &mut Arithmetic<'_>, divisor: &str) -> String {
    let [none, largest] = [Literal::Float(-1.0), Literal::Float(2f64.powi(DIVIDEND))]
        .map(|value| to.literal(value, DTYPE));
    let limit = to.literal(Literal::Float(2f64.powi(DIVISOR)), DTYPE);
    let never = is_beyond(to, divisor, -DIVISOR, &limit);
    to.select(&never, DTYPE, &none, &largest)
}

/// Where a number is none, or its size is larger than `most` or has a smaller binary exponent than `least`.
fn is_beyond(to: &mut Arithmetic<'_>, value: &str, least: i32, most: &str) -> String {
    let least = to.literal(Literal::Float(2f64.powi(least)), DTYPE);
    let size = to.intrinsic("fabs", DTYPE, &[value]);
    let kind = to.lanes.value(DTYPE);
    let small = (to.b).value(format_args!("fcmp ult {kind} {size}, {least}"));
    let large = (to.b).value(format_args!("fcmp ugt {kind} {size}, {most}"));
    to.instruction("or", DType::Bool, &small, &large)
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
        seen: [None; 2],
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
