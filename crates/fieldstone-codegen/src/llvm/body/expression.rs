//! The values of expressions at one vector of points.

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::{BinaryOp, Builtin, Expr, ExprKind, Literal, ScalarId};

use super::Body;
use crate::llvm::memory::{lane_indices, splat};
use crate::llvm::types;
use crate::{power, transcendental};

/// Whether it is a literal other than zero.
fn is_number_but_zero(expr: &Expr) -> bool {
    match expr.kind {
        ExprKind::Literal(Literal::Int(value)) => value != 0,
        ExprKind::Literal(Literal::Float(value)) => value != 0.0,
        _ => false,
    }
}

/// Whether it is a literal other than NaN.
fn is_number(expr: &Expr) -> bool {
    match expr.kind {
        ExprKind::Literal(Literal::Float(value)) => !value.is_nan(),
        ExprKind::Literal(_) => true,
        _ => false,
    }
}

/// Whether a function is called that some numbers take through what is rare.
fn calls_a_function(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(|node| {
        found |= match node.kind {
            ExprKind::Call(builtin, _) => transcendental::operands(builtin).is_some(),
            ExprKind::Binary(BinaryOp::Pow, ..) => true,
            _ => false,
        };
    });
    found
}

/// The operands of calls of a function in each other, in order.
fn flatten<'e>(builtin: Builtin, expr: &'e Expr, operands: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Call(function, arguments) if *function == builtin => {
            (arguments.iter()).for_each(|argument| flatten(builtin, argument, operands));
        }
        _ => operands.push(expr),
    }
}

impl Body<'_, '_> {
    /// Evaluates where a condition holds, too.
    fn where_also(&mut self, condition: &str, expr: &Expr) -> String {
        let outer = self.guard.clone();
        let holds = self.both(outer.as_deref(), condition);
        self.guard = Some(holds);
        let value = self.expression(expr);
        self.guard = outer;
        value
    }

    /// Evaluates an index, whose first lane stands for all where it is the same in all.
    pub(in crate::llvm) fn index(&mut self, expr: &Expr, is_uniform: bool) -> String {
        let outer = std::mem::replace(&mut self.all_count, is_uniform);
        let value = self.expression(expr);
        self.all_count = outer;
        value
    }

    pub(in crate::llvm) fn expression(&mut self, expr: &Expr) -> String {
        let dtype = expr.dtype();
        match &expr.kind {
            ExprKind::Literal(literal) => self.arithmetic().literal(*literal, dtype),
            ExprKind::Scalar(id) => self.scalar(*id, dtype),
            ExprKind::Access {
                target,
                offset,
                subscript: Some(subscript),
            } => self.read_at(*target, *offset, subscript, expr.span),
            ExprKind::Access { target, offset, .. } => self.read(*target, *offset),
            ExprKind::Position(axis) if *axis == self.row.lanes() => {
                let first = match self.row.panel {
                    Some(_) => &self.row.index[2],
                    None => self.first,
                };
                lane_indices(self.b, self.lanes, first)
            }
            ExprKind::Position(axis) if *axis == self.row.vector => {
                splat(self.b, self.lanes, "i64", self.first)
            }
            ExprKind::Position(axis) => {
                let index = &self.row.index[axis.index()];
                splat(self.b, self.lanes, "i64", index)
            }
            ExprKind::Size(axis) => {
                let points = &self.entry.domain[axis.index()];
                splat(self.b, self.lanes, "i64", points)
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right)
                if right.may_miss() =>
            {
                let left = self.expression(left);
                let open = match op {
                    BinaryOp::And => left.clone(),
                    _ => self.arithmetic().not(&left),
                };
                let right = self.where_also(&open, right);
                self.arithmetic().binary(*op, dtype, &left, &right)
            }
            ExprKind::Select(condition, left, right)
                if [left, right]
                    .into_iter()
                    .any(|side| side.may_miss() || calls_a_function(side)) =>
            {
                let condition = self.expression(condition);
                let a = self.where_also(&condition, left);
                let fails = self.arithmetic().not(&condition);
                let b = self.where_also(&fails, right);
                self.arithmetic().select(&condition, dtype, &a, &b)
            }
            ExprKind::Checked(index, dimension) => {
                let index = self.expression(index);
                self.checked_index(index, *dimension, expr.span)
            }
            ExprKind::Cast(operand) => {
                let value = self.expression(operand);
                self.arithmetic().cast(operand.dtype(), dtype, &value)
            }
            ExprKind::Unary(op, operand) => {
                let value = self.expression(operand);
                self.arithmetic().unary(*op, operand.dtype(), &value)
            }
            ExprKind::Binary(BinaryOp::Pow, base, exponent) => self.power(base, exponent),
            ExprKind::Binary(BinaryOp::Div, left, right)
                if self.multiplies(left.dtype(), right) =>
            {
                self.quotient(left, right)
            }
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.expression(left), self.expression(right));
                self.arithmetic().binary(*op, left.dtype(), &a, &b)
            }
            ExprKind::Compare(op, left, right) => {
                let (a, b) = (self.expression(left), self.expression(right));
                self.arithmetic().compare(*op, left.dtype(), &a, &b)
            }
            ExprKind::Select(condition, left, right) => {
                let condition = self.expression(condition);
                let (a, b) = (self.expression(left), self.expression(right));
                self.arithmetic().select(&condition, dtype, &a, &b)
            }
            ExprKind::Call(builtin @ (Builtin::Min | Builtin::Max), _)
                if self.has_extremes(expr) =>
            {
                self.extremes(*builtin, expr)
            }
            ExprKind::Call(builtin @ (Builtin::Min | Builtin::Max), arguments)
                if self.is_unseen(&arguments[1]) =>
            {
                let values = [&arguments[0], &arguments[1]].map(|a| (self.expression(a), true));
                self.arithmetic().extremes(*builtin, dtype, &values)
            }
            ExprKind::Call(builtin, arguments) => {
                if let (Builtin::Pow, [base, exponent]) = (builtin, arguments.as_slice()) {
                    return self.power(base, exponent);
                }
                let values: Vec<String> = arguments.iter().map(|a| self.expression(a)).collect();
                let mut values: Vec<&str> = values.iter().map(String::as_str).collect();
                if matches!(builtin, Builtin::Min | Builtin::Max)
                    && is_number_but_zero(&arguments[0])
                {
                    // Then their order is all the same, and that the second is no NaN is known.
                    values.reverse();
                }
                self.arithmetic()
                    .call(*builtin, arguments[0].dtype(), &values)
            }
        }
    }

    /// Whether the least or the largest of several is found at once.
    fn has_extremes(&self, expr: &Expr) -> bool {
        self.context.target.compares_to_bits() && expr.dtype().is_float() && self.lanes.width > 1
    }

    /// Whether nobody sees that an operand of `min` or `max` is NaN.
    fn is_unseen(&self, operand: &Expr) -> bool {
        self.unseen.contains(&std::ptr::from_ref(operand))
    }

    /// The least or the largest of all that calls of the function in each other have.
    fn extremes(&mut self, builtin: Builtin, expr: &Expr) -> String {
        let mut operands = Vec::new();
        flatten(builtin, expr, &mut operands);
        if is_number_but_zero(operands[0]) {
            // Then their order is all the same, and what is known to be a number had better not come first.
            operands.rotate_left(1);
        }
        let values = operands.into_iter().map(|operand| {
            let value = self.expression(operand);
            (value, is_number(operand) || self.is_unseen(operand))
        });
        let values: Vec<(String, bool)> = values.collect();
        self.arithmetic().extremes(builtin, expr.dtype(), &values)
    }

    fn power(&mut self, base: &Expr, exponent: &Expr) -> String {
        let value = self.expression(base);
        if let Some(plan) = power::plan_of(exponent) {
            return self.arithmetic().power(&plan, base.dtype(), &value);
        }
        let exponent = self.expression(exponent);
        self.arithmetic()
            .binary(BinaryOp::Pow, base.dtype(), &value, &exponent)
    }

    fn scalar(&mut self, id: ScalarId, dtype: DType) -> String {
        let value = &self.entry.scalars[&id];
        splat(self.b, self.lanes, types::register(dtype), value)
    }
}
