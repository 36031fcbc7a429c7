//! Rows of later levels that a sweep over a narrow block fetches: those of the next block where the levels of this one end.

use std::collections::{BTreeMap, BTreeSet};

use fieldstone_stencil::ir::{Order, Target};
use fieldstone_stencil::schedule::Sweep;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Offset};

use super::super::ahead::purpose_of_held;
use super::super::builder::Builder;
use super::super::entry::Entry;
use super::super::place;
use super::super::prefetch::{Purpose, prefetch};
use super::ColumnBlock;
use crate::tile::LINE;

/// What a sweep fetches.
pub(super) struct Upcoming<'a> {
    entry: &'a Entry,
    order: Order,
    rows: Vec<Rows<'a>>,
    /// Results of the sweep behind it, at the level that it is at.
    early: Vec<Rows<'a>>,
    purpose: Purpose,
}

/// How far from a column a sweep accesses a row.
#[derive(Clone, Copy, Default)]
struct Reach {
    /// Columns further along the block.
    columns: i32,
    /// Levels further up, or further down where the sweep goes down.
    levels: i32,
}

/// The rows of an array at all levels.
struct Rows<'a> {
    /// Where that of level zero begins in this block, and in the next one.
    here: String,
    next: String,
    /// Bytes from one level to the next.
    pitch: &'a str,
    /// Bytes from where it begins to the last one of a block.
    last: i64,
    lines: usize,
    /// Levels from the one that is computed to that which is accessed first.
    level: i32,
    /// Whether they go past the caches, where they may: then they are left alone.
    past: Option<String>,
}

impl<'a> Upcoming<'a> {
    /// What a sweep fetches, but for what is there since an earlier one.
    pub fn of_sweep(
        b: &mut Builder,
        (block, next): (&'a ColumnBlock<'_>, &ColumnBlock<'_>),
        number: usize,
        there: &mut BTreeSet<(Target, i32)>,
    ) -> Upcoming<'a> {
        let sweep = &block.nest.sweeps[number];
        let mut of = |b: &mut Builder, row: (Target, i32), reach: Reach| {
            there
                .insert(row)
                .then(|| rows(b, (block, next), row, reach))
                .flatten()
        };
        let reached = reached(block, sweep).into_iter();
        let rows = reached
            .filter_map(|(row, reach)| of(b, row, reach))
            .collect();
        let early = block.early.of_sweep(number).iter();
        let early = early.filter_map(|target| of(b, (*target, 0), Reach::default()));
        Upcoming {
            early: early.collect(),
            entry: block.entry,
            order: sweep.order,
            rows,
            purpose: purpose_of_held(block.context.target),
        }
    }

    /// Fetches it at a level.
    pub fn fetch(&self, b: &mut Builder, level: &str) {
        let ahead = &self.entry.ahead;
        b.when(&self.entry.fetches, |b| {
            let far = match self.order {
                Order::Backward => b.sub(level, ahead),
                Order::Forward | Order::Parallel => b.add(level, ahead),
            };
            for rows in &self.rows {
                let (base, level) = self.later(b, rows, &far);
                self.fetch_row(b, rows, &base, &level);
            }
            for rows in &self.early {
                self.fetch_row(b, rows, &rows.here, level);
            }
        });
    }

    /// Where the rows of a later level begin, and which one: where there is none in this block, of the next one.
    fn later(&self, b: &mut Builder, rows: &Rows<'_>, far: &str) -> (String, String) {
        let level = b.add(far, i64::from(rows.level));
        let all = &self.entry.domain[2];
        let (is_behind, of_next) = match self.order {
            Order::Backward => (
                b.value(format_args!("icmp slt i64 {level}, 0")),
                b.add(&level, all),
            ),
            Order::Forward | Order::Parallel => (
                b.value(format_args!("icmp sge i64 {level}, {all}")),
                b.sub(&level, all),
            ),
        };
        let base = b.value(format_args!(
            "select i1 {is_behind}, ptr {}, ptr {}",
            rows.next, rows.here
        ));
        (base, b.select(&is_behind, &of_next, &level))
    }

    fn fetch_row(&self, b: &mut Builder, rows: &Rows<'_>, base: &str, level: &str) {
        let fetch = |b: &mut Builder| {
            let bytes = b.mul(level, rows.pitch);
            let first = b.offset(base, bytes);
            // The line that a block shares with the one before it was fetched for that.
            for line in 0..rows.lines {
                let address = b.offset(&first, rows.last - (line * LINE) as i64);
                prefetch(b, &address, self.purpose);
            }
        };
        match &rows.past {
            None => fetch(b),
            Some(past) => {
                let cached = b.not(past);
                b.when(&cached, fetch);
            }
        }
    }
}

/// The rows of an array in a block and the next one, if they are rows of memory and there is one for each level.
fn rows<'a>(
    b: &mut Builder,
    (block, next): (&'a ColumnBlock<'_>, &ColumnBlock<'_>),
    row: (Target, i32),
    reach: Reach,
) -> Option<Rows<'a>> {
    let context = block.context;
    let array = block.entry.arrays.get(&row.0)?;
    let has_levels = (context.program.stencil.target_axes(row.0)).contains(Axis::K);
    if !has_levels || context.contiguous_along(row.0) != Some(block.nest.vector) {
        return None;
    }
    let size = place::dtype(context, row.0).size();
    let bytes = context.scratch.vector? * size;
    Some(Rows {
        here: block.first_of(b, row, &block.columns.0),
        next: next.first_of(b, row, &next.columns.0),
        pitch: &array.strides[2],
        last: bytes as i64 - 1 + i64::from(reach.columns) * size as i64,
        level: reach.levels,
        lines: bytes.div_ceil(LINE),
        past: block.goes_past_in_rows(b, row.0),
    })
}

/// The rows that a sweep accesses, each by the array and how many rows it is away along the outer axis.
fn reached(block: &ColumnBlock<'_>, sweep: &Sweep) -> BTreeMap<(Target, i32), Reach> {
    let mut rows: BTreeMap<(Target, i32), Reach> = BTreeMap::new();
    let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
    for accesses in stages.flat_map(|stage| &stage.statements).map(Accesses::of) {
        let written = accesses.written().map(|target| (target, Offset::ZERO));
        for (target, offset) in accesses.reads.iter().copied().chain(written) {
            let [columns, outer] =
                [block.nest.vector, block.nest.outer()].map(|axis| offset.along(axis));
            let levels = offset.0[2];
            let reach = rows
                .entry((target, outer))
                .or_insert(Reach { columns, levels });
            reach.columns = reach.columns.max(columns);
            reach.levels = match sweep.order {
                Order::Backward => reach.levels.min(levels),
                Order::Forward | Order::Parallel => reach.levels.max(levels),
            };
        }
    }
    rows
}
