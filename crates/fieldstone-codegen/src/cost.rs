//! Roughly how long a kernel takes on one thread: enough to tell how many threads are worth their while.
//!
//! To hand a part of the work to a thread costs a few tenths of a microsecond if it is awake, and some microseconds if it
//! must be woken, so that a factor of two does no harm here.

use std::sync::atomic::{AtomicUsize, Ordering};

use fieldstone_stencil::analysis::operations::{Operation, Operations};
use fieldstone_stencil::ir::{Expr, Stencil, Stmt, StmtKind};
use fieldstone_stencil::schedule::{Nest, RowNest, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Interval};

use crate::lanes::widest;

/// Cycles of the processors that this is meant for, in a nanosecond.
const CYCLES: f64 = 3.0;

/// Cycles to begin a row of points.
const ROW: f64 = 12.0;

/// How often the body of a loop is taken to run that ends point by point.
const ROUNDS: f64 = 16.0;

/// Nanoseconds of work that a further thread is worth.
static WORK_PER_THREAD: AtomicUsize = AtomicUsize::new(2500);

/// Sets the nanoseconds of work from which on a further thread is used, and returns what they were; with 0, as many threads are
/// used as there are.
///
/// What is computed does not depend on it. It is for tests, whose domains are too small for several threads.
pub fn set_work_per_thread(nanoseconds: usize) -> usize {
    WORK_PER_THREAD.swap(nanoseconds, Ordering::Relaxed)
}

/// Nanoseconds of work from which on a further thread is used.
pub fn work_per_thread() -> usize {
    WORK_PER_THREAD.load(Ordering::Relaxed)
}

/// How many of `threads` threads are worth it for work of so many nanoseconds.
pub fn worthwhile(nanoseconds: f64, threads: usize) -> usize {
    match work_per_thread() {
        0 => threads,
        // A float that is too large becomes the largest integer.
        work => ((nanoseconds / work as f64) as usize).clamp(1, threads.max(1)),
    }
}

/// What the points of a kernel cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The axis that rows run along.
    vector: Axis,
    /// Whether that is a guess, because loops run as often as values want it.
    open: bool,
    /// Levels, how many points are computed at once there, and the cycles that takes.
    parts: Vec<(Interval, f64, f64)>,
}

impl Cost {
    /// Of the kernels of a nest: one, but for a nest that runs level by level.
    pub fn of_nest(stencil: &Stencil, nest: &Nest, vector_bytes: usize) -> Vec<Cost> {
        let cost = |vector, stages: &mut dyn Iterator<Item = (Interval, &Stage)>| {
            let mut cost = Cost {
                vector,
                open: false,
                parts: Vec::new(),
            };
            stages.for_each(|(interval, stage)| cost.add(stencil, interval, stage, vector_bytes));
            cost
        };
        match nest {
            Nest::Rows(RowNest { roles, stages, .. }) => {
                let mut stages = stages.iter().map(|stage| (stage.interval, stage));
                vec![cost(roles.lanes, &mut stages)]
            }
            Nest::Columns(nest) => {
                let sections = nest.sweeps.iter().flat_map(|sweep| &sweep.sections);
                let mut stages = sections.flat_map(|(interval, stages)| {
                    stages.iter().map(move |stage| (*interval, stage))
                });
                vec![cost(nest.vector, &mut stages)]
            }
            Nest::Levels(nest) => (nest.sections.iter())
                .flat_map(|(_, nests)| nests)
                .map(|RowNest { roles, stages, .. }| {
                    let mut stages = stages.iter().map(|stage| (Interval::FULL, stage));
                    cost(roles.vector, &mut stages)
                })
                .collect(),
        }
    }

    fn add(&mut self, stencil: &Stencil, interval: Interval, stage: &Stage, vector_bytes: usize) {
        let lanes = (vector_bytes / widest(stencil, stage)).max(1) as f64;
        let (cycles, open) = cycles(stage);
        self.open |= open;
        let same = |part: &&mut (Interval, f64, f64)| part.0 == interval && part.1 == lanes;
        match self.parts.iter_mut().find(same) {
            Some(part) => part.2 += cycles,
            None => self.parts.push((interval, lanes, cycles)),
        }
    }

    /// Whether it may take much longer than [`Cost::nanoseconds`] says.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Nanoseconds for so many points along I, J, K on one thread.
    pub fn nanoseconds(&self, points: [usize; 3]) -> f64 {
        let cycles = self.parts.iter().map(|(interval, lanes, cycles)| {
            let mut points = points;
            points[2] = interval.resolve(points[2]).len();
            let row = points[self.vector.index()];
            points[self.vector.index()] = 1;
            let rows: f64 = points.iter().map(|points| *points as f64).product();
            rows * (ROW + (row as f64 / lanes).ceil() * cycles)
        });
        cycles.sum::<f64>() / CYCLES
    }
}

/// Cycles of a stage for one vector, and whether they may be many more.
pub(crate) fn cycles(stage: &Stage) -> (f64, bool) {
    cycles_of(&stage.statements)
}

/// Cycles of stages for one vector of points, away from regions.
pub(crate) fn usual_cycles<'a>(stages: impl IntoIterator<Item = &'a Stage>) -> f64 {
    let is_usual = |statement: &&Stmt| !matches!(statement.kind, StmtKind::Region { .. });
    let statements = stages.into_iter().flat_map(|stage| &stage.statements);
    cycles_of(statements.filter(is_usual)).0
}

/// The same of some statements.
pub(crate) fn cycles_of<'a>(statements: impl IntoIterator<Item = &'a Stmt>) -> (f64, bool) {
    let (mut cycles, mut open) = (0.0, false);
    for statement in statements {
        let mut once = Operations::default();
        let mut rounds = 1.0;
        statement.walk(&mut |statement| {
            statement.expressions().for_each(|expr| once.note(expr));
            if matches!(statement.kind, StmtKind::While { .. }) {
                rounds = ROUNDS;
                open = true;
            }
        });
        let accesses = Accesses::of(statement);
        let moved = accesses.reads.len() + 2 * accesses.writes.len();
        cycles += rounds * (moved as f64 + of_all(&once));
    }
    (cycles, open)
}

/// Cycles of an expression for one vector, without those that move what it reads.
pub(crate) fn cycles_of_expression(expr: &Expr) -> f64 {
    of_all(&Operations::of_expression(expr))
}

fn of_all(operations: &Operations) -> f64 {
    let kinds = Operation::ALL.iter();
    kinds
        .map(|(kind, _)| operations.count(*kind) as f64 * of(*kind))
        .sum()
}

/// Cycles of an operation on a vector, where others are under way at the same time.
fn of(operation: Operation) -> f64 {
    match operation {
        Operation::Divide => 10.0,
        Operation::SquareRoot => 15.0,
        Operation::Function => 50.0,
        Operation::Round | Operation::Convert => 1.0,
        Operation::Add
        | Operation::Multiply
        | Operation::MinMax
        | Operation::Compare
        | Operation::Select
        | Operation::Logic => 0.5,
    }
}
