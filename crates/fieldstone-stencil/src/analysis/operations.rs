//! Operations of a stencil, as it is written: before anything that occurs twice is computed once.
//!
//! What is the same at all points is computed once and does not count. Both branches of a condition count, and the body of a
//! loop as often as it is written.

use crate::ir::{BinaryOp, Builtin, Expr, ExprKind, Stencil, UnaryOp};
use crate::power;

use super::Analysis;
use super::points::statements;

/// A kind of operation on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Additions and subtractions.
    Add,
    /// Multiplications, those of small powers included.
    Multiply,
    /// Divisions and remainders.
    Divide,
    /// Square roots.
    SquareRoot,
    /// Powers that are computed by a function, exponentials, logarithms, trigonometric functions and their like.
    Function,
    /// Smaller or larger of two, absolute values, changes of sign.
    MinMax,
    /// Comparisons, and tests for what is no number.
    Compare,
    /// Choices between two values.
    Select,
    /// Roundings.
    Round,
    /// Conversions from one type to another.
    Convert,
    /// Operations on booleans and on bits.
    Logic,
}

impl Operation {
    /// Every kind with its name.
    pub const ALL: [(Operation, &'static str); 11] = [
        (Operation::Add, "add"),
        (Operation::Multiply, "multiply"),
        (Operation::Divide, "divide"),
        (Operation::SquareRoot, "square root"),
        (Operation::Function, "function"),
        (Operation::MinMax, "min max"),
        (Operation::Compare, "compare"),
        (Operation::Select, "select"),
        (Operation::Round, "round"),
        (Operation::Convert, "convert"),
        (Operation::Logic, "logic"),
    ];
}

/// How many operations of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    counts: [u128; Operation::ALL.len()],
    /// Those that count as floating-point operations.
    pub floating: u128,
}

impl Operations {
    /// Of a stencil in a domain of given size.
    pub fn of(stencil: &Stencil, analysis: &Analysis, domain: [usize; 3]) -> Operations {
        let mut total = Operations::default();
        for located in statements(stencil, &analysis.extents, domain) {
            let mut once = Operations::default();
            located.expressions().for_each(|expr| once.note(expr));
            total.add(once, located.points.count());
        }
        total
    }

    /// Of one evaluation of an expression.
    pub fn of_expression(expr: &Expr) -> Operations {
        let mut once = Operations::default();
        once.note(expr);
        once
    }

    /// How many of a kind.
    pub fn count(&self, kind: Operation) -> u128 {
        self.counts[kind as usize]
    }

    /// Adds those of `other`, as often as they are done.
    pub fn add(&mut self, other: Operations, times: u128) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more * times;
        }
        self.floating += other.floating * times;
    }

    /// Adds one evaluation of an expression.
    pub fn note(&mut self, expr: &Expr) {
        // Per operand whether it is the same at all points.
        let mut uniform: Vec<bool> = Vec::new();
        expr.walk(|node| {
            let operands = uniform.split_off(uniform.len() - node.operands().count());
            let varies = matches!(node.kind, ExprKind::Access { .. } | ExprKind::Position(_));
            let is_uniform = !varies && operands.into_iter().all(|uniform| uniform);
            uniform.push(is_uniform);
            if !is_uniform {
                self.note_node(node);
            }
        });
    }

    fn some(&mut self, kind: Operation, how_many: usize, node: &Expr) {
        self.counts[kind as usize] += how_many as u128;
        let counts = matches!(
            kind,
            Operation::Add
                | Operation::Multiply
                | Operation::Divide
                | Operation::SquareRoot
                | Operation::Function
        );
        if counts && node.dtype.is_some_and(|dtype| dtype.is_float()) {
            self.floating += how_many as u128;
        }
    }

    fn note_node(&mut self, node: &Expr) {
        let kind = match &node.kind {
            ExprKind::Literal(_)
            | ExprKind::Scalar(_)
            | ExprKind::Access { .. }
            | ExprKind::Position(_)
            | ExprKind::Size(_)
            | ExprKind::Checked(..) => return,
            ExprKind::Unary(UnaryOp::Neg, _) => Operation::MinMax,
            ExprKind::Unary(UnaryOp::Not | UnaryOp::Invert, _) => Operation::Logic,
            ExprKind::Binary(BinaryOp::Pow, _, exponent) => return self.power(node, exponent),
            ExprKind::Binary(operator, ..) => of_binary(*operator),
            ExprKind::Compare(..) => Operation::Compare,
            ExprKind::Select(..) => Operation::Select,
            ExprKind::Call(Builtin::Pow, arguments) => return self.power(node, &arguments[1]),
            ExprKind::Call(builtin, _) => of_builtin(*builtin),
            ExprKind::Cast(operand) if operand.dtype == node.dtype => return,
            ExprKind::Cast(_) => Operation::Convert,
        };
        self.some(kind, 1, node);
    }

    fn power(&mut self, node: &Expr, exponent: &Expr) {
        let Some(plan) = power::plan_of(exponent) else {
            return self.some(Operation::Function, 1, node);
        };
        self.some(Operation::Multiply, plan.products.len(), node);
        self.some(Operation::Divide, usize::from(plan.reciprocal), node);
    }
}

fn of_binary(operator: BinaryOp) -> Operation {
    match operator {
        BinaryOp::Add | BinaryOp::Sub => Operation::Add,
        BinaryOp::Mul => Operation::Multiply,
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod => Operation::Divide,
        BinaryOp::Pow => Operation::Function,
        BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => Operation::Logic,
    }
}

fn of_builtin(builtin: Builtin) -> Operation {
    match builtin {
        Builtin::Abs | Builtin::Min | Builtin::Max => Operation::MinMax,
        Builtin::Mod => Operation::Divide,
        Builtin::Sqrt => Operation::SquareRoot,
        Builtin::IsFinite | Builtin::IsInf | Builtin::IsNan => Operation::Compare,
        Builtin::Floor
        | Builtin::Ceil
        | Builtin::Trunc
        | Builtin::Round
        | Builtin::RoundAwayFromZero => Operation::Round,
        _ => Operation::Function,
    }
}
