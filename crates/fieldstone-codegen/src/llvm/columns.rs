//! The loops of a nest of columns: blocks of columns, the sweeps over each, and the stages of each level.
//!
//! | module | what lives there |
//! |---|---|
//! | `moves` | columns of arrays on their way into scratch and out of it |
//! | `fetch` | rows of later levels that sweeps over wide blocks fetch |
//! | `course` | the way of a sweep through the levels, and through groups of them |
//! | `narrow` | sweeps over a block that is a few vectors wide |
//! | `groups` | groups of levels that such sweeps transpose |
//! | `meanwhile` | those that they transpose between the levels of the group before |
//! | `part` | the stages of a level for neighbouring columns |
//! | `carried` | what a level leaves to the next one in registers |
//! | `direct` | sweeps whose vectors may be levels of a column |
//! | `early` | results that a sweep fetches for the one behind it |
//! | `ahead` | columns of the next block that are fetched |
//! | `held` | sweeps over such a block of arrays that are not transposed |
//! | `upcoming` | rows of later levels, and of the next block, that these fetch |
//! | `section` | levels of a sweep one after the other |

mod ahead;
mod carried;
mod course;
mod direct;
mod early;
mod fetch;
mod groups;
mod held;
mod meanwhile;
mod moves;
mod narrow;
mod part;
mod section;
mod upcoming;

use std::collections::{BTreeSet, HashSet};

use fieldstone_stencil::ir::{Order, Target};
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::{Area, Axis, Extent};

use self::early::Early;
use self::fetch::Later;
use self::moves::squares;
use super::builder::Builder;
use super::entry::{Context, Entry};
use super::place::{self, Row};
use super::range::{clip_area, clip_levels, in_area, level, tile_range};
use super::row::{self, Ahead};
use super::transposition::{Way, turn};

pub(super) fn columns(
    name: &str,
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &ColumnNest,
) {
    for (squares, value) in squares(context, entry, nest) {
        squares.define(name, b, value);
    }
    let (side, pitch) = (context.scratch.square, context.scratch.level_bytes);
    let turned = (context.scratch.direct.iter().flatten()).flat_map(|direct| &direct.turned);
    let sizes = turned.map(|target| place::dtype(context, *target).size());
    for size in sizes.collect::<BTreeSet<usize>>() {
        turn::define(name, b, (size, side, pitch));
    }
    let early = Early::of(context, entry, nest);
    b.for_loop("%begin", "%end", "1", |b, task| {
        let of_task = |b: &mut Builder, task: &str| {
            ColumnBlock::of_task(name, (context, entry), b, nest, &early, task)
        };
        let block = of_task(b, task);
        if !context.scratch.slim {
            return block.compute(b);
        }
        let next = b.add(task, 1);
        let next = of_task(b, &next);
        if context.scratch.is_held() {
            return block.compute_held(b, &next);
        }
        let next = next.arrays(b);
        block.compute_narrow(b, &next);
    });
}

/// A block of neighbouring columns.
struct ColumnBlock<'a> {
    /// Of the kernel.
    name: &'a str,
    context: &'a Context<'a>,
    entry: &'a Entry,
    nest: &'a ColumnNest,
    early: &'a Early,
    /// Index along the outer axis.
    row: String,
    /// Indices along the vector axis.
    columns: (String, String),
}

impl<'a> ColumnBlock<'a> {
    fn of_task(
        name: &'a str,
        (context, entry): (&'a Context<'_>, &'a Entry),
        b: &mut Builder,
        nest: &'a ColumnNest,
        early: &'a Early,
        task: &str,
    ) -> ColumnBlock<'a> {
        let count = &entry.count[nest.vector.index()];
        let vector_tile = b.value(format_args!("urem i64 {task}, {count}"));
        let outer_tile = b.value(format_args!("udiv i64 {task}, {count}"));
        let mut along =
            |axis: Axis, tile: &str| tile_range(entry, b, axis, tile, nest.extent.along(axis));
        let columns = along(nest.vector, &vector_tile);
        let rows = along(nest.outer(), &outer_tile);
        ColumnBlock {
            name,
            context,
            entry,
            nest,
            early,
            row: rows.0,
            columns,
        }
    }
}

impl ColumnBlock<'_> {
    fn compute(&self, b: &mut Builder) {
        let moves = self.moves(b);
        let all = |way: Way| moves.iter().filter(move |each| each.way == way);
        all(Way::In).for_each(|each| self.transpose_all(b, each));
        for (number, sweep) in self.nest.sweeps.iter().enumerate() {
            self.sweep(b, sweep, self.early.of_sweep(number));
        }
        all(Way::Out).for_each(|each| self.transpose_all(b, each));
    }

    fn sweep(&self, b: &mut Builder, sweep: &Sweep, early: &[Target]) {
        for (interval, stages) in &sweep.sections {
            let levels = clip_levels(self.entry, b, *interval, self.entry.levels.clone());
            b.for_loop(&levels.0, &levels.1, "1", |b, count| {
                let level = level(b, sweep.order, &levels, count);
                for (number, stage) in stages.iter().enumerate() {
                    let early = if number == 0 { early } else { &[] };
                    self.stage(b, stage, &level, sweep.order, early);
                }
            });
        }
    }

    /// A level of the block.
    fn row(&self, level: &str) -> Row {
        let (vector, outer) = (self.nest.vector.index(), self.nest.outer().index());
        let mut row = Row {
            vector: self.nest.vector,
            index: Default::default(),
            tile: Default::default(),
            panel: None,
            moving: None,
        };
        row.index[outer] = self.row.clone();
        row.index[2] = level.to_string();
        row.tile[vector] = self.columns.0.clone();
        row
    }

    fn stage(&self, b: &mut Builder, stage: &Stage, level: &str, order: Order, early: &[Target]) {
        let row = self.row(level);
        let range = self.range(b, stage);
        let later = Later::new(self, b, (stage, order), &row, early);
        let ahead = Ahead {
            fetch: &|b, preheader, at, stream| later.fetch(b, preheader, at, stream),
            at_end: &later.at_end,
        };
        // Scratch has room for whole vectors. A core cannot take what it loads from a part of one that was just stored.
        let loose = match self.is_everywhere(stage) {
            true => self.in_scratch(stage),
            false => HashSet::new(),
        };
        let compute = |b: &mut Builder| {
            let stage = (stage, &loose);
            row::stage(
                self.context,
                self.entry,
                b,
                stage,
                &row,
                &range,
                Some(&ahead),
            );
        };
        if stage.area == Area::FULL {
            return compute(b);
        }
        // Most blocks have no column of a region.
        let any = b.value(format_args!("icmp slt i64 {}, {}", range.0, range.1));
        b.when(&any, compute);
    }

    /// The columns that a stage is computed for.
    fn range(&self, b: &mut Builder, stage: &Stage) -> (String, String) {
        let range = self.clip(b, stage.extent);
        let mut range = clip_area(self.entry, b, stage.area, self.nest.vector, range);
        if let Some(inside) = in_area(self.entry, b, stage.area, self.nest.outer(), &self.row) {
            range.1 = b.value(format_args!(
                "select i1 {inside}, i64 {}, i64 {}",
                range.1, range.0
            ));
        }
        range
    }

    /// The columns that belong to the domain with an extent; none where the row is outside.
    fn clip(&self, b: &mut Builder, extent: Extent) -> (String, String) {
        let mut range = self.columns.clone();
        let (vector, outer) = (self.nest.vector, self.nest.outer());
        let all = self.nest.extent;
        let (before, after) = extent.along(vector);
        if (before, after) != all.along(vector) {
            let last = b.add(&self.entry.domain[vector.index()], after);
            range.0 = b.max(&range.0, &(-before).to_string());
            range.1 = b.min(&range.1, &last);
        }
        let (before, after) = extent.along(outer);
        if (before, after) != all.along(outer) {
            let last = b.add(&self.entry.domain[outer.index()], after);
            let above = b.value(format_args!("icmp sge i64 {}, {}", self.row, -before));
            let below = b.value(format_args!("icmp slt i64 {}, {last}", self.row));
            let inside = b.value(format_args!("and i1 {above}, {below}"));
            range.1 = b.value(format_args!(
                "select i1 {inside}, i64 {}, i64 {}",
                range.1, range.0
            ));
        }
        range
    }
}
