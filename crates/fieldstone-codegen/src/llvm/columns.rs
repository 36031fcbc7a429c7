//! The loops of a nest of columns: blocks of columns, the sweeps over each, and the stages of each level.
//!
//! | module | what lives there |
//! |---|---|
//! | `narrow` | sweeps over a block that is a few vectors wide |
//! | `groups` | groups of levels that such sweeps transpose |
//! | `meanwhile` | those that they transpose between the levels of the group before |
//! | `part` | the stages of a level for neighbouring columns |
//! | `carried` | what a level leaves to the next one in registers |
//! | `direct` | sweeps whose vectors may be levels of a column |
//! | `early` | results that a sweep fetches for the one behind it |
//! | `ahead` | columns of the next block that are fetched |

mod ahead;
mod carried;
mod direct;
mod early;
mod groups;
mod meanwhile;
mod narrow;
mod part;

use std::collections::{BTreeSet, HashSet};

use fieldstone_stencil::ir::{Order, Target};
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axis, Extent, Offset};

use crate::tile::{Block, LINE};
use crate::transposed::{Moment, Transposed};

use early::Early;

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::memory::{Fetch, prefetch};
use super::place::{self, Row, Spacing};
use super::preheader::{Preheader, across};
use super::range::{clip_area, clip_levels, in_area, tile_range};
use super::row;
use super::transposition::{Plane, Squares, Way, turn};
use super::value::Value;

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
        let next = of_task(b, &next).arrays(b);
        block.compute_narrow(b, &next);
    });
}

/// The transpositions of a nest, each of a composed value with that.
fn squares<'a>(
    context: &Context<'a>,
    entry: &Entry,
    nest: &ColumnNest,
) -> Vec<(Squares, Option<Value<'a>>)> {
    let scratch = context.scratch;
    let of_array = |array: &'a Transposed| {
        let load = array.load.then(|| squares_of(context, Way::In, array));
        let load = load.map(|squares| (squares, value(context, nest, array)));
        let store = (array.store).map(|_| squares_of(context, Way::Out, array));
        let past = |squares: Squares| Squares {
            past: true,
            ..squares
        };
        let past = store
            .filter(|_| may_go_past(context, entry, array))
            .map(past);
        let stores = store.into_iter().chain(past);
        load.into_iter()
            .chain(stores.map(|squares| (squares, None)))
    };
    let squares = (scratch.transposed.iter()).flat_map(|(array, _)| of_array(array));
    let mut seen = HashSet::new();
    let squares = squares.filter(|(squares, _)| seen.insert(*squares));
    squares.collect()
}

fn squares_of(context: &Context<'_>, way: Way, array: &Transposed) -> Squares {
    let same = |(other, _): &(Transposed, Block)| other == array;
    let composed = array.composed.as_ref();
    Squares {
        way,
        size: array.dtype.size(),
        side: context.scratch.square,
        pitch: context.scratch.level_bytes,
        past: false,
        composed: composed.and_then(|_| context.scratch.transposed.iter().position(same)),
    }
}

/// What is composed on the way in, where an array is no array.
fn value<'a>(context: &Context<'_>, nest: &ColumnNest, array: &'a Transposed) -> Option<Value<'a>> {
    let composed = array.composed.as_ref()?;
    Some(Value {
        composed,
        dtype: array.dtype,
        outer: nest.outer(),
        fast_math: context.program.stencil.fast_math,
    })
}

/// Whether the columns of an array may be stored past the caches: they are not read before, and a row of a square is a cache line.
fn may_go_past(context: &Context<'_>, entry: &Entry, array: &Transposed) -> bool {
    let is_line = context.scratch.square * array.dtype.size() == LINE;
    is_line && !array.load && entry.streamed_columns.contains(&array.target)
}

/// Of the rows of each target that a stage reads or writes, those that come to a level first.
fn leading(stage: &Stage, order: Order, vector: Axis) -> Vec<(Target, Offset)> {
    let mut leading: Vec<(Target, Offset)> = Vec::new();
    for accesses in stage.statements.iter().map(Accesses::of) {
        let written = accesses.written().map(|target| (target, Offset::ZERO));
        for (target, offset) in accesses.reads.iter().copied().chain(written) {
            let row = across(offset, vector);
            let towards = |offset: Offset| match order {
                Order::Backward => -offset.0[2],
                Order::Forward | Order::Parallel => offset.0[2],
            };
            let plane = |offset: Offset| [offset.0[0], offset.0[1]];
            let same =
                |found: &&mut (Target, Offset)| found.0 == target && plane(found.1) == plane(row);
            match leading.iter_mut().find(same) {
                Some(found) if towards(found.1) < towards(row) => found.1 = row,
                Some(_) => {}
                None => leading.push((target, row)),
            }
        }
    }
    leading
}

/// The level that is the `count`th of a section.
pub(super) fn level(
    b: &mut Builder,
    order: Order,
    levels: &(String, String),
    count: &str,
) -> String {
    match order {
        Order::Backward => {
            let last = b.add(&levels.1, -1);
            let first = b.sub(&last, count);
            b.add(&first, levels.0.as_str())
        }
        Order::Forward | Order::Parallel => count.to_string(),
    }
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

/// The columns of an array, on their way.
struct Move<'a> {
    way: Way,
    array: &'a Transposed,
    /// Where level zero of the first column lies in the array, or in each of those that it is composed of, and bytes from one
    /// column to the next.
    outside: Vec<(String, String)>,
    /// Where it lies in scratch.
    inside: String,
    /// How many columns there are.
    columns: String,
    moment: Moment,
    /// Levels of the ring in scratch, where it is one.
    window: Option<usize>,
    /// First level that is accessed and one past the last.
    levels: (String, String),
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

    fn moves(&self, b: &mut Builder) -> Vec<Move<'_>> {
        let scratch = self.context.scratch;
        let mut moves = Vec::new();
        for (array, block) in &scratch.transposed {
            if array.load {
                let moment = array.loading(self.nest, scratch.square);
                let points = (array.extent, array.across, array.levels);
                moves.push(self.a_move(b, Way::In, (array, *block), moment, points));
            }
            // Results lie in the domain; levels that are never accessed were not loaded and need not exist.
            if let Some(extent) = array.store {
                let moment = array.storing(self.nest);
                let levels = (array.levels.0.min(0), array.levels.1.min(0));
                let points = (extent, (0, 0), levels);
                moves.push(self.a_move(b, Way::Out, (array, *block), moment, points));
            }
        }
        moves
    }

    fn a_move<'s>(
        &'s self,
        b: &mut Builder,
        way: Way,
        (array, block): (&'s Transposed, Block),
        moment: Moment,
        (extent, across, levels): (Extent, (i32, i32), (i32, i32)),
    ) -> Move<'s> {
        let columns = self.clip(b, extent);
        let count = b.sub(&columns.1, &columns.0);
        let none = b.value(format_args!("icmp sle i64 {count}, 0"));
        let wider = b.add(&count, across.1 - across.0);
        let first = b.add(&columns.0, across.0);
        let (tile, size) = (&self.columns.0, array.dtype.size());
        let inside = place::block_pointer(self.context, b, block.offset, "0", tile, size);
        let bytes = b.mul(&first, size);
        let sources = array.sources().into_iter();
        let outside = sources.map(|source| {
            let address = self.first_of(b, source, &first);
            (address, self.stride(source.0).to_owned())
        });
        Move {
            way,
            array,
            outside: outside.collect(),
            inside: b.offset(&inside, bytes),
            columns: b.value(format_args!("select i1 {none}, i64 0, i64 {wider}")),
            moment,
            window: block.window,
            levels: (
                b.add(&self.entry.first_level, -levels.0),
                b.add(&self.entry.domain[2], levels.1),
            ),
        }
    }

    /// Transposes all levels.
    fn transpose_all(&self, b: &mut Builder, each: &Move<'_>) {
        let side = self.context.scratch.square;
        let (first, end) = &each.levels;
        b.for_loop(first, end, &side.to_string(), |b, level| {
            let behind = b.add(level, side);
            let behind = b.min(&behind, end);
            self.transpose(b, each, &each.inside, (level, &behind), side as i64);
        });
    }

    /// Transposes some levels, as many as a square has at most, where level zero would lie at an address in scratch. Those so many
    /// levels further on are next.
    fn transpose(
        &self,
        b: &mut Builder,
        each: &Move<'_>,
        inside: &str,
        (first, end): (&str, &str),
        following: i64,
    ) {
        let (size, pitch) = (each.array.dtype.size(), self.context.scratch.level_bytes);
        let [bytes, rows] = [size, pitch].map(|step| b.mul(first, step));
        let arrays = each.outside.iter();
        let arrays = arrays.map(|(array, stride)| (b.offset(array, &bytes), stride.clone()));
        let arrays: Vec<(String, String)> = arrays.collect();
        let value = value(self.context, self.nest, each.array);
        let scalar = |id| self.entry.scalars[&id].clone();
        let plane = Plane {
            array: arrays[0].0.clone(),
            scratch: b.offset(inside, rows),
            stride: arrays[0].1.clone(),
            more: value.map_or_else(String::new, |value| value.arguments(&arrays, scalar)),
            columns: each.columns.clone(),
            levels: b.sub(end, first),
            following: (following * size as i64).to_string(),
        };
        let squares = squares_of(self.context, each.way, each.array);
        let past = match each.way {
            Way::In => None,
            Way::Out => self.goes_past(b, each.array, &plane.array),
        };
        let Some(past) = past else {
            return squares.call(self.name, b, &plane);
        };
        let name = b.begin_when(&past);
        let all = Squares {
            past: true,
            ..squares
        };
        all.call(self.name, b, &plane);
        b.otherwise(&name);
        squares.call(self.name, b, &plane);
        b.end_when(&name);
    }

    /// Whether columns of an array from an address on are stored past the caches, where they may be.
    fn goes_past(&self, b: &mut Builder, array: &Transposed, address: &str) -> Option<String> {
        if !may_go_past(self.context, self.entry, array) {
            return None;
        }
        let stride = self.stride(array.target);
        let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
        let both = b.value(format_args!("or i64 {address}, {stride}"));
        let rest = b.value(format_args!("and i64 {both}, {}", LINE - 1));
        let aligned = b.value(format_args!("icmp eq i64 {rest}, 0"));
        Some(b.value(format_args!("and i1 {}, {aligned}", self.entry.stream)))
    }

    /// A level of the block.
    fn row(&self, level: &str) -> Row {
        let (vector, outer) = (self.nest.vector.index(), self.nest.outer().index());
        let mut row = Row {
            vector: self.nest.vector,
            index: Default::default(),
            tile: Default::default(),
            panel: None,
        };
        row.index[outer] = self.row.clone();
        row.index[2] = level.to_string();
        row.tile[vector] = self.columns.0.clone();
        row
    }

    fn stage(&self, b: &mut Builder, stage: &Stage, level: &str, order: Order, early: &[Target]) {
        let row = self.row(level);
        let range = self.range(b, stage);
        let rows = leading(stage, order, self.nest.vector);
        let ahead = |b: &mut Builder, preheader: &Preheader, first: &str, stream: bool| {
            // What goes past the caches is not read before, and would have to leave them again.
            let past = |target: &Target| stream && self.entry.streamed.contains(target);
            let rows = || rows.iter().copied().filter(|(target, _)| !past(target));
            b.when(&self.entry.fetches, |b| {
                for (target, offset) in rows() {
                    let level = (target, offset, order);
                    let fetch = |b: &mut Builder| {
                        self.fetch_level(b, preheader, level, first, Fetch::Later)
                    };
                    match self.early.contains(target) {
                        // Rows that are not aligned go through the caches where others go past them.
                        true => b.when(&self.entry.stream, fetch),
                        false => fetch(b),
                    }
                }
                self.fetch_early(b, &row, early, first);
            });
            b.when(&self.entry.fetches_next, |b| {
                for (target, offset) in rows().filter(|(target, _)| !self.early.contains(*target)) {
                    self.fetch_level(b, preheader, (target, offset, order), first, Fetch::Soon);
                }
            });
        };
        let compute = |b: &mut Builder| {
            row::stage(self.context, self.entry, b, stage, &row, &range, &ahead);
        };
        if stage.area == Area::FULL {
            return compute(b);
        }
        // Most blocks have no column of a region.
        let any = b.value(format_args!("icmp slt i64 {}, {}", range.0, range.1));
        b.when(&any, compute);
    }

    /// Fetches a vector of a row of a later level, where it comes from an array: from memory that of some levels further on, into the
    /// first-level cache that of the next one. A vector of a sweep has so many instructions that a core does not see the next one coming.
    fn fetch_level(
        &self,
        b: &mut Builder,
        preheader: &Preheader,
        (target, offset, order): (Target, Offset, Order),
        first: &str,
        purpose: Fetch,
    ) {
        let pointer = preheader.known_pointer(target, offset);
        let array = self.entry.arrays.get(&target);
        let (Some(pointer), Some(array)) = (pointer, array) else {
            return;
        };
        let has_levels = (self.context.program.stencil.target_axes(target)).contains(Axis::K);
        let outer = offset.along(self.nest.outer());
        let in_scratch = self.context.scratch.block(target, outer).is_some();
        if pointer.spacing != Spacing::Contiguous || !has_levels || in_scratch {
            return;
        }
        let size = place::dtype(self.context, target).size();
        let address = pointer.at(b, size, (first, 0));
        let level = &array.strides[2];
        let bytes = match purpose {
            Fetch::Soon => level.clone(),
            Fetch::Later => b.mul(level, &self.entry.ahead),
        };
        let bytes = match order {
            Order::Backward => b.sub("0", &bytes),
            Order::Forward | Order::Parallel => bytes,
        };
        let address = b.offset(&address, &bytes);
        prefetch(b, &address, purpose);
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

    /// Bytes from one column of an array to the next.
    fn stride(&self, target: Target) -> &str {
        &self.entry.arrays[&target].strides[self.nest.vector.index()]
    }

    /// Address of level zero of a column of an array, so many rows away.
    fn first_of(&self, b: &mut Builder, (target, outer): (Target, i32), column: &str) -> String {
        let memory = &self.entry.arrays[&target];
        let row = b.add(&self.row, outer);
        let mut address = memory.pointer.clone();
        for (axis, index) in [
            (self.nest.outer(), row.as_str()),
            (self.nest.vector, column),
        ] {
            let bytes = b.mul(index, &memory.strides[axis.index()]);
            address = b.offset(&address, bytes);
        }
        address
    }
}
