//! Whether sweeps have so much to do for one vector of columns that a core needs no other one to compute while that waits.

use std::collections::HashSet;

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::{Expr, ExprKind, Order, StmtKind, Target};
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;

use crate::cost::{cycles_of, cycles_of_expression};

/// Cycles of a level for one vector, at least: `cloud`, for which a second one gains nothing, takes 339.
const MANY: f64 = 200.0;

/// The part of these, at most, that begins when the level before is done: with all of them a second vector saves a third of the time.
const PART: f64 = 0.5;

/// Whether that is so for the sweeps of a nest together.
pub(super) fn is_busy(nest: &ColumnNest) -> bool {
    let (mut all, mut waiting) = (0.0, 0.0);
    for sweep in &nest.sweeps {
        let sections = sweep.sections.iter();
        let sections = sections.map(|(_, stages)| cycles(sweep, stages));
        let longest = sections.max_by(|one, other| one.0.total_cmp(&other.0));
        let (of_level, after) = longest.unwrap_or_default();
        all += of_level;
        waiting += after;
    }
    all >= MANY && waiting <= PART * all
}

/// Cycles of some stages for one vector, and those of what needs anything that the level before leaves.
fn cycles(sweep: &Sweep, stages: &[Stage]) -> (f64, f64) {
    let before = match sweep.order {
        Order::Parallel => None,
        Order::Forward => Some(-1),
        Order::Backward => Some(1),
    };
    let statements = || stages.iter().flat_map(|stage| &stage.statements);
    let written: HashSet<Target> = statements()
        .flat_map(|statement| Accesses::of(statement).written().collect::<Vec<_>>())
        .collect();
    let mut late = HashSet::new();
    let (mut all, mut waiting) = (0.0, 0.0);
    for statement in statements() {
        let accesses = Accesses::of(statement);
        let is_late = |target: Target, offset: Offset| {
            let is_left = before == Some(offset.0[2]) && written.contains(&target);
            is_left || late.contains(&target)
        };
        let (cycles, _) = cycles_of([statement]);
        all += cycles;
        let mut reads = accesses.reads.iter();
        if !reads.any(|(target, offset)| is_late(*target, *offset)) {
            continue;
        }
        waiting += match &statement.kind {
            StmtKind::Assign { value, .. } => late_cycles(value, &is_late).unwrap_or(cycles),
            _ => cycles,
        };
        late.extend(accesses.written());
    }
    (all, waiting)
}

/// Cycles of the operations of an expression that need a late value; `None` where none does.
fn late_cycles(expr: &Expr, is_late: &impl Fn(Target, Offset) -> bool) -> Option<f64> {
    if let ExprKind::Access { target, offset, .. } = expr.kind {
        return is_late(target, offset).then_some(0.0);
    }
    let operands = expr.operands().map(|operand| late_cycles(operand, is_late));
    let late = operands.flatten().reduce(|one, other| one + other)?;
    let of_operands: f64 = expr.operands().map(cycles_of_expression).sum();
    Some(late + cycles_of_expression(expr) - of_operands)
}
