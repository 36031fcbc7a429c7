//! Conditions that decide nothing: a slip of the pen, most often.

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::{CmpOp, Expr, ExprCompare, UnaryOp};
use ruff_text_size::Ranged;

use super::Lowering;
use crate::rule;

impl Lowering<'_> {
    /// Warns of parts of a condition that are made of numbers only. What externals decide is meant.
    pub(super) fn suspect(&mut self, test: &Expr) {
        if is_literal(test) {
            let span = self.span(test);
            let value = self.expression(test).ok();
            let truth = value.and_then(|value| crate::constant::value(&value));
            let Some(truth) = truth.map(crate::constant::truth) else {
                return;
            };
            self.warn(
                rule::CONSTANT_CONDITION
                    .warning_at(span, format!("this condition is always {truth}"))
                    .with_label("made of numbers only")
                    .with_help(
                        "compare a field, a parameter or an external; or leave the condition out",
                    ),
            );
            return;
        }
        match test {
            Expr::BoolOp(operation) => operation.values.iter().for_each(|part| self.suspect(part)),
            Expr::UnaryOp(operation) if operation.op == UnaryOp::Not => {
                self.suspect(&operation.operand);
            }
            _ => {}
        }
    }

    /// Warns where a value is compared with itself.
    pub(super) fn suspect_comparison(&mut self, comparison: &ExprCompare) {
        let operands: Vec<&Expr> = std::iter::once(comparison.left.as_ref())
            .chain(&comparison.comparators)
            .collect();
        for (pair, operator) in operands.windows(2).zip(&comparison.ops) {
            let [left, right] = pair else { continue };
            if is_literal(left) || ComparableExpr::from(*left) != ComparableExpr::from(*right) {
                continue;
            }
            let text = self.text()[left.range()].to_string();
            let (words, help) = match operator {
                CmpOp::NotEq => (
                    "false",
                    format!("write `isnan({text})` to find what is no number"),
                ),
                CmpOp::Eq => (
                    "true",
                    format!("write `not isnan({text})` to find what is a number"),
                ),
                CmpOp::Lt | CmpOp::Gt => ("false", "compare it with something else".to_string()),
                _ => ("true", "compare it with something else".to_string()),
            };
            let span = self.span(left.range().cover(right.range()));
            self.warn(
                rule::CONSTANT_CONDITION
                    .warning_at(
                        span,
                        format!("this comparison is always {words}, except for NaN"),
                    )
                    .with_label(format!("`{text}` is compared with itself"))
                    .with_help(help),
            );
        }
    }
}

/// Whether an expression is made of numbers only.
fn is_literal(expression: &Expr) -> bool {
    match expression {
        Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) => true,
        Expr::UnaryOp(operation) => is_literal(&operation.operand),
        Expr::BinOp(operation) => is_literal(&operation.left) && is_literal(&operation.right),
        Expr::BoolOp(operation) => operation.values.iter().all(is_literal),
        Expr::Compare(comparison) => {
            is_literal(&comparison.left) && comparison.comparators.iter().all(is_literal)
        }
        _ => false,
    }
}
