//! What the text must not say although the IR could: levels of a parallel computation that wait for each other, intervals that are
//! not written in the order in which they run.

use std::collections::HashMap;

use fieldstone_stencil::ir::{Computation, Expr, ExprKind, Order, Stencil, Stmt, StmtKind, Target};
use fieldstone_stencil::{Axis, Bound, Diagnostic, Level, Offset, Span};

use crate::rule;

/// Adds every violation to `diagnostics`.
pub fn check(stencil: &Stencil, diagnostics: &mut Vec<Diagnostic>) {
    for computation in &stencil.computations {
        interval_order(computation, diagnostics);
        if computation.order == Order::Parallel {
            parallel_k(stencil, computation, diagnostics);
        }
    }
}

/// Every target that statements write.
fn writes(statements: &[Stmt], visit: &mut impl FnMut(Target, Span)) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                ..
            } => visit(*target, *target_span),
            StmtKind::If { then, orelse, .. } => {
                writes(then, visit);
                writes(orelse, visit);
            }
        }
    }
}

/// Every read of an expression.
fn reads(expression: &Expr, visit: &mut impl FnMut(Target, Offset, Span)) {
    match &expression.kind {
        ExprKind::Access { target, offset } => visit(*target, *offset, expression.span),
        ExprKind::Literal(_) | ExprKind::Scalar(_) => {}
        ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => reads(operand, visit),
        ExprKind::Binary(_, left, right) | ExprKind::Compare(_, left, right) => {
            reads(left, visit);
            reads(right, visit);
        }
        ExprKind::Select(condition, then, orelse) => {
            for part in [condition, then, orelse] {
                reads(part, visit);
            }
        }
        ExprKind::Call(_, operands) => operands.iter().for_each(|operand| reads(operand, visit)),
    }
}

fn statement_reads(statements: &[Stmt], visit: &mut impl FnMut(Target, Offset, Span)) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Assign { value, .. } => reads(value, visit),
            StmtKind::If {
                condition,
                then,
                orelse,
            } => {
                reads(condition, visit);
                statement_reads(then, visit);
                statement_reads(orelse, visit);
            }
        }
    }
}

/// In a parallel computation no level waits for another.
fn parallel_k(stencil: &Stencil, computation: &Computation, diagnostics: &mut Vec<Diagnostic>) {
    let mut written: HashMap<Target, Span> = HashMap::new();
    for section in &computation.sections {
        writes(&section.body, &mut |target, span| {
            written.entry(target).or_insert(span);
        });
    }
    let mut seen = Vec::new();
    for section in &computation.sections {
        statement_reads(&section.body, &mut |target, offset, span| {
            let Some(write) = written.get(&target).filter(|_| offset.along(Axis::K) != 0) else {
                return;
            };
            if seen.contains(&span) {
                return;
            }
            seen.push(span);
            let name = stencil.target_name(target);
            diagnostics.push(
                rule::PARALLEL_K_RACE
                    .at(span, format!("`{name}` is read at another level and written in the same parallel computation"))
                    .with_label(format!("reads `{name}` at {offset}"))
                    .with_secondary(*write, format!("writes `{name}`"))
                    .with_help("use `computation(FORWARD)` or `computation(BACKWARD)` if levels depend on each other; if they do not, read it in a second `with computation(PARALLEL)`"),
            );
        });
    }
}

fn interval_order(computation: &Computation, diagnostics: &mut Vec<Diagnostic>) {
    let (words, way) = match computation.order {
        Order::Parallel => return,
        Order::Forward => ("FORWARD", "runs upwards, from the first level"),
        Order::Backward => ("BACKWARD", "runs downwards, from the last level"),
    };
    for pair in computation.sections.windows(2) {
        let [before, section] = pair else { continue };
        let (first, second) = (
            position(before.interval.start),
            position(section.interval.start),
        );
        let wrong = if computation.order == Order::Forward {
            second < first
        } else {
            second > first
        };
        if wrong {
            diagnostics.push(
                rule::INTERVAL_ORDER
                    .at(section.span, format!("the intervals of a {words} computation are not in the order in which they run"))
                    .with_label("this one runs first")
                    .with_secondary(before.span, "this one runs later")
                    .with_secondary(computation.span, way)
                    .with_help("swap the intervals"),
            );
        }
    }
}

/// Where a bound lies in a domain with very many levels.
fn position(bound: Bound) -> i64 {
    match bound.level {
        Level::Start => i64::from(bound.offset),
        Level::End => i64::from(u32::MAX) + i64::from(bound.offset),
    }
}
