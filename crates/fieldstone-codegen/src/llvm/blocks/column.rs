//! Nests of columns: each thread sweeps over one column.
//!
//! Temporaries of which a sweep needs few levels at a time are *windows*: a place for each of these levels, which LLVM puts in
//! registers.

use fieldstone_stencil::ir::{Order, Target, TempId};
use fieldstone_stencil::schedule::{ColumnNest, Placement, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Offset};

use super::Block;
use super::machine::ONE;
use super::tile::all_of;
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::place::{self, Row};
use crate::llvm::range::{clip_levels, in_area};
use crate::llvm::row::{self, Body};
use crate::llvm::types;

/// Makes room for the windows of a nest.
pub(super) fn windows(context: &Context<'_>, b: &mut Builder, nest: &ColumnNest) {
    for id in temporaries(nest) {
        let kind = types::register(place::dtype(context, Target::Temp(id)));
        for level in 0..levels(context, id) {
            b.effect(format_args!("{} = alloca {kind}", slot(id, level)));
        }
    }
}

/// The columns of a block.
pub(super) fn columns(
    context: &Context<'_>,
    block: &Block<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &ColumnNest,
    numbers: [String; 3],
) {
    let shape = block.shape;
    let [lanes, other, _] = shape.order();
    let (width, points) = (
        shape.tile[lanes.index()],
        shape.tile[lanes.index()] * shape.tile[other.index()],
    );
    block.machine.phase(b, shape, points, |b, point| {
        let places = [
            b.value(format_args!("urem i64 {point}, {width}")),
            b.value(format_args!("udiv i64 {point}, {width}")),
        ];
        let mut row = Row {
            vector: lanes,
            index: Default::default(),
            tile: Default::default(),
            panel: None,
        };
        let mut inside = Vec::new();
        for (axis, number) in [lanes, other].into_iter().zip(places) {
            let n = axis.index();
            let (before, after) = nest.extent.along(axis);
            let first = b.mul(&numbers[n], shape.tile[n]);
            let first = b.sub(&first, before);
            let index = b.add(&first, number);
            let end = b.add(&entry.domain[n], after);
            inside.push(b.value(format_args!("icmp slt i64 {index}, {end}")));
            (row.index[n], row.tile[n]) = (index, first);
        }
        row.tile[2] = String::from("0");
        let column = Column {
            context,
            entry,
            nest,
            row,
        };
        let inside = all_of(b, inside).unwrap_or_default();
        b.when(&inside, |b| {
            for sweep in &nest.sweeps {
                column.sweep(b, sweep);
            }
        });
    });
}

/// The column of a thread.
struct Column<'a> {
    context: &'a Context<'a>,
    entry: &'a Entry,
    nest: &'a ColumnNest,
    /// Its first level.
    row: Row,
}

impl Column<'_> {
    fn sweep(&self, b: &mut Builder, sweep: &Sweep) {
        for (interval, stages) in &sweep.sections {
            let levels = clip_levels(self.entry, b, *interval, self.entry.levels.clone());
            b.for_loop(&levels.0, &levels.1, "1", |b, count| {
                let level = match sweep.order {
                    Order::Forward | Order::Parallel => count.to_owned(),
                    Order::Backward => {
                        let last = b.add(&levels.1, -1);
                        let first = b.sub(&last, count);
                        b.add(&first, levels.0.as_str())
                    }
                };
                let mut row = Row {
                    vector: self.row.vector,
                    index: self.row.index.clone(),
                    tile: self.row.tile.clone(),
                    panel: None,
                };
                row.index[2] = level;
                for stage in stages {
                    self.stage(b, sweep.order, stage, &row);
                }
                self.advance(b, stages);
            });
        }
    }

    /// A stage at a level.
    fn stage(&self, b: &mut Builder, order: Order, stage: &Stage, row: &Row) {
        let mut tests = Vec::new();
        for axis in [Axis::I, Axis::J] {
            let index = &row.index[axis.index()];
            let (before, after) = stage.extent.along(axis);
            if (before, after) != self.nest.extent.along(axis) {
                let end = b.add(&self.entry.domain[axis.index()], after);
                tests.push(b.value(format_args!("icmp sge i64 {index}, {}", -before)));
                tests.push(b.value(format_args!("icmp slt i64 {index}, {end}")));
            }
            tests.extend(in_area(self.entry, b, stage.area, axis, index));
        }
        let compute = |b: &mut Builder| self.compute(b, order, stage, row);
        match all_of(b, tests) {
            Some(inside) => b.when(&inside, compute),
            None => compute(b),
        }
    }

    fn compute(&self, b: &mut Builder, order: Order, stage: &Stage, row: &Row) {
        let (context, entry) = (self.context, self.entry);
        let preheader = row::preheader(context, entry, b, stage, row, false);
        let back = if order == Order::Backward { 1 } else { -1 };
        let used = used(std::slice::from_ref(stage));
        let mut values = Vec::new();
        for id in &used {
            let target = Target::Temp(*id);
            let kind = types::register(place::dtype(context, target));
            for level in 0..levels(context, *id) {
                let value = b.value(format_args!("load {kind}, ptr {}", slot(*id, level)));
                let offset = Offset([0, 0, back * level as i32]);
                values.push(((target, offset), value));
            }
        }
        let first = &row.index[row.vector.index()];
        let mut body = Body::new((context, entry, b), ONE, (row, &preheader), first, None);
        body.values.extend(values);
        body.stage(stage);
        let values = std::mem::take(&mut body.values);
        for id in used {
            if levels(context, id) > 0 {
                let target = Target::Temp(id);
                let kind = types::register(place::dtype(context, target));
                let value = &values[&(target, Offset::ZERO)];
                b.effect(format_args!("store {kind} {value}, ptr {}", slot(id, 0)));
            }
        }
    }

    /// What is behind a level moves on.
    fn advance(&self, b: &mut Builder, stages: &[Stage]) {
        for id in used(stages) {
            let kind = types::register(place::dtype(self.context, Target::Temp(id)));
            for level in (1..levels(self.context, id)).rev() {
                let value = b.value(format_args!("load {kind}, ptr {}", slot(id, level - 1)));
                b.effect(format_args!(
                    "store {kind} {value}, ptr {}",
                    slot(id, level)
                ));
            }
        }
    }
}

/// Levels of a temporary in registers.
fn levels(context: &Context<'_>, id: TempId) -> usize {
    let temporary = context.program.stencil.temporary(id);
    match context.schedule.temporaries[id.0 as usize] {
        Placement::Column { .. } if !temporary.axes.contains(Axis::K) => 1,
        Placement::Column { window, .. } => window.unwrap_or_default(),
        _ => 0,
    }
}

fn slot(id: TempId, level: usize) -> String {
    format!("%window.{}.{level}", id.0)
}

fn temporaries(nest: &ColumnNest) -> Vec<TempId> {
    let stages: Vec<Stage> = nest.stages().cloned().collect();
    used(&stages)
}

/// Temporaries that stages access, each once.
fn used(stages: &[Stage]) -> Vec<TempId> {
    let mut found = Vec::new();
    for statement in stages.iter().flat_map(|stage| &stage.statements) {
        let accesses = Accesses::of(statement);
        let read = accesses.reads.iter().map(|(target, _)| *target);
        for target in read.chain(accesses.written()) {
            if let Target::Temp(id) = target
                && !found.contains(&id)
            {
                found.push(id);
            }
        }
    }
    found
}
