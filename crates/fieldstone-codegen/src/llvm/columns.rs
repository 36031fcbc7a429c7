//! The loops of a nest of columns: blocks of columns, the sweeps over each, and the stages of each level.

use std::collections::{BTreeSet, HashSet};

use fieldstone_stencil::carried::cover;
use fieldstone_stencil::ir::Order;
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::{Area, Axis, Extent};

use crate::tile::{Block, LINE};
use crate::transposed::Transposed;

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::place::{self, Row};
use super::range::{clip_area, clip_levels, in_area, tile_range};
use super::row;
use super::transposition::{Plane, Squares, Way};

pub(super) fn columns(
    name: &str,
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &ColumnNest,
) {
    for squares in squares(context) {
        squares.define(name, b);
    }
    b.for_loop("%begin", "%end", "1", |b, task| {
        let count = &entry.count[nest.vector.index()];
        let vector_tile = b.value(format_args!("urem i64 {task}, {count}"));
        let outer_tile = b.value(format_args!("udiv i64 {task}, {count}"));
        let along = |b: &mut Builder, axis: Axis, tile: &str| {
            tile_range(entry, b, axis, tile, nest.extent.along(axis))
        };
        let columns = along(b, nest.vector, &vector_tile);
        let rows = along(b, nest.outer(), &outer_tile);
        let block = ColumnBlock {
            name,
            context,
            entry,
            nest,
            row: rows.0,
            columns,
        };
        let next = context.scratch.slim.then(|| {
            let task = b.add(task, 1);
            let vector_tile = b.value(format_args!("urem i64 {task}, {count}"));
            let outer_tile = b.value(format_args!("udiv i64 {task}, {count}"));
            let columns = along(b, nest.vector, &vector_tile);
            let rows = along(b, nest.outer(), &outer_tile);
            block.ahead(b, &rows.0, &columns.0)
        });
        block.compute(b, next.as_deref().unwrap_or_default());
    });
}

/// The transpositions of a nest.
fn squares(context: &Context<'_>) -> HashSet<Squares> {
    let scratch = context.scratch;
    let ways = |array: &Transposed| {
        let load = array.load.then_some(Way::In);
        let store = array.store.map(|_| Way::Out);
        load.into_iter().chain(store)
    };
    let arrays = scratch.transposed.iter().map(|(array, _)| array);
    let squares = arrays
        .flat_map(|array| ways(array).map(|way| Squares::new(way, array.dtype, scratch.square)));
    let mut seen = HashSet::new();
    let squares = squares.filter(|squares| seen.insert(*squares));
    squares.collect()
}

/// The next block's columns of an array, which are to be in a cache when their turn comes.
struct Ahead {
    /// Address of the first level of the first column.
    first: String,
    /// Bytes from one column to the next.
    stride: String,
    size: usize,
    written: bool,
}

/// A block of neighbouring columns.
struct ColumnBlock<'a> {
    /// Of the kernel.
    name: &'a str,
    context: &'a Context<'a>,
    entry: &'a Entry,
    nest: &'a ColumnNest,
    /// Index along the outer axis.
    row: String,
    /// Indices along the vector axis.
    columns: (String, String),
}

impl ColumnBlock<'_> {
    fn compute(&self, b: &mut Builder, next: &[Ahead]) {
        let transposed = &self.context.scratch.transposed;
        for (array, block) in transposed.iter().filter(|(array, _)| array.load) {
            self.load(b, array, *block);
        }
        if self.context.scratch.slim {
            let count = b.sub(&self.columns.1, &self.columns.0);
            let side = self.context.scratch.square;
            let full = b.value(format_args!("icmp eq i64 {count}, {side}"));
            let part = b.value(format_args!("xor i1 {full}, true"));
            b.when(&full, |b| self.sweeps(b, true, next));
            b.when(&part, |b| self.sweeps(b, false, next));
        } else {
            self.sweeps(b, false, next);
        }
        for (array, block) in transposed {
            if let Some(extent) = array.store {
                self.store(b, array, extent, *block);
            }
        }
    }

    /// All sweeps, of blocks that have as many columns as blocks have or of any others.
    fn sweeps(&self, b: &mut Builder, full: bool, next: &[Ahead]) {
        // Lines that are asked for all at once would wait for each other, so every sweep asks for its share.
        let whole = |sweep: &Sweep| cover(sweep.sections.iter().map(|(interval, _)| *interval));
        let count = self.nest.sweeps.iter().filter(|sweep| whole(sweep)).count();
        let mut shares = next.chunks(next.len().div_ceil(count.max(1)).max(1));
        for sweep in &self.nest.sweeps {
            let share = whole(sweep).then(|| shares.next()).flatten();
            self.sweep(b, sweep, full, share.unwrap_or_default());
        }
    }

    fn sweep(&self, b: &mut Builder, sweep: &Sweep, full: bool, next: &[Ahead]) {
        for (interval, stages) in &sweep.sections {
            let levels = clip_levels(self.entry, b, *interval, self.entry.levels.clone());
            b.for_loop(&levels.0, &levels.1, "1", |b, count| {
                let level = match sweep.order {
                    Order::Backward => {
                        let last = b.add(&levels.1, -1);
                        let first = b.sub(&last, count);
                        b.add(&first, levels.0.as_str())
                    }
                    Order::Forward | Order::Parallel => count.to_string(),
                };
                self.fetch(b, next, &level);
                for stage in stages {
                    self.stage(b, stage, &level, full);
                }
            });
        }
    }

    /// The columns of the block that begins at a row and a column.
    fn ahead(&self, b: &mut Builder, row: &str, column: &str) -> Vec<Ahead> {
        let (vector, outer) = (self.nest.vector, self.nest.outer());
        let transposed = self.context.scratch.transposed.iter();
        let ahead = transposed.map(|(array, _)| {
            let memory = &self.entry.arrays[&array.target];
            let row = b.add(row, array.outer);
            let mut first = memory.pointer.clone();
            for (axis, index) in [(outer, row.as_str()), (vector, column)] {
                let bytes = b.mul(index, &memory.strides[axis.index()]);
                first = b.offset(&first, bytes);
            }
            Ahead {
                first,
                stride: memory.strides[vector.index()].clone(),
                size: array.dtype.size(),
                written: array.store.is_some(),
            }
        });
        ahead.collect()
    }

    /// Fetches the lines of the next block's columns that begin at a level.
    fn fetch(&self, b: &mut Builder, next: &[Ahead], level: &str) {
        let sizes: BTreeSet<usize> = next.iter().map(|ahead| ahead.size).collect();
        for size in sizes {
            let in_line = b.value(format_args!("and i64 {level}, {}", LINE / size - 1));
            let first = b.value(format_args!("icmp eq i64 {in_line}, 0"));
            b.when(&first, |b| {
                let columns = self.context.scratch.square.to_string();
                let bytes = b.mul(level, size);
                b.for_loop("0", &columns, "1", |b, column| {
                    for ahead in next.iter().filter(|ahead| ahead.size == size) {
                        let skip = b.mul(column, &ahead.stride);
                        let address = b.offset(&ahead.first, skip);
                        let address = b.offset(&address, &bytes);
                        let write = if ahead.written { "1" } else { "0" };
                        let how = [
                            ("ptr", address.as_str()),
                            ("i32", write),
                            ("i32", "3"),
                            ("i32", "1"),
                        ];
                        b.call_void("llvm.prefetch.p0", &how);
                    }
                });
            });
        }
    }

    fn stage(&self, b: &mut Builder, stage: &Stage, level: &str, full: bool) {
        let (vector, outer) = (self.nest.vector.index(), self.nest.outer().index());
        let mut row = Row {
            vector: self.nest.vector,
            index: Default::default(),
            tile: Default::default(),
        };
        row.index[outer] = self.row.clone();
        row.index[2] = level.to_string();
        row.tile[vector] = self.columns.0.clone();
        let everywhere = stage.extent == self.nest.extent && stage.area == Area::FULL;
        if full && everywhere {
            let columns = self.context.scratch.square;
            let range = (self.columns.0.as_str(), self.columns.1.as_str());
            return row::vectors(self.context, self.entry, b, stage, &row, range, columns);
        }
        let range = self.clip(b, stage.extent);
        let mut range = clip_area(self.entry, b, stage.area, self.nest.vector, range);
        if let Some(inside) = in_area(self.entry, b, stage.area, self.nest.outer(), &self.row) {
            range.1 = b.value(format_args!(
                "select i1 {inside}, i64 {}, i64 {}",
                range.1, range.0
            ));
        }
        let compute = |b: &mut Builder| {
            row::stage(self.context, self.entry, b, stage, &row, &range);
        };
        if stage.area == Area::FULL {
            return compute(b);
        }
        // Most blocks have no column of a region.
        let any = b.value(format_args!("icmp slt i64 {}, {}", range.0, range.1));
        b.when(&any, compute);
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

    /// Transposes the block's columns of an array into scratch memory.
    fn load(&self, b: &mut Builder, array: &Transposed, block: Block) {
        let plane = self.plane(b, array, block, array.extent, array.across, array.levels);
        self.transpose(b, Way::In, array, &plane);
    }

    /// Transposes results back. Those lie in the domain; levels that are never accessed were not loaded and need not exist.
    fn store(&self, b: &mut Builder, array: &Transposed, extent: Extent, block: Block) {
        let levels = (array.levels.0.min(0), array.levels.1.min(0));
        let plane = self.plane(b, array, block, extent, (0, 0), levels);
        self.transpose(b, Way::Out, array, &plane);
    }

    fn transpose(&self, b: &mut Builder, way: Way, array: &Transposed, plane: &Plane) {
        let squares = Squares::new(way, array.dtype, self.context.scratch.square);
        squares.call(self.name, b, plane);
    }

    fn plane(
        &self,
        b: &mut Builder,
        array: &Transposed,
        block: Block,
        extent: Extent,
        across: (i32, i32),
        levels: (i32, i32),
    ) -> Plane {
        let (vector, outer) = (self.nest.vector, self.nest.outer());
        let columns = self.clip(b, extent);
        let count = b.sub(&columns.1, &columns.0);
        let none = b.value(format_args!("icmp sle i64 {count}, 0"));
        let wider = b.add(&count, across.1 - across.0);
        let first_column = b.add(&columns.0, across.0);
        let first_level = b.add(&self.entry.first_level, -levels.0);
        let last_level = b.add(&self.entry.domain[2], levels.1);

        let memory = &self.entry.arrays[&array.target];
        let row = b.add(&self.row, array.outer);
        let mut outside = memory.pointer.clone();
        for (axis, index) in [
            (outer, &row),
            (vector, &first_column),
            (Axis::K, &first_level),
        ] {
            let bytes = b.mul(index, &memory.strides[axis.index()]);
            outside = b.offset(&outside, bytes);
        }
        let (tile, size) = (&self.columns.0, array.dtype.size());
        let inside = place::block_pointer(self.context, b, block.offset, &first_level, tile, size);
        let bytes = b.mul(&first_column, size);
        Plane {
            array: outside,
            stride: memory.strides[vector.index()].clone(),
            scratch: b.offset(&inside, bytes),
            pitch: self.context.scratch.level_bytes.to_string(),
            columns: b.value(format_args!("select i1 {none}, i64 0, i64 {wider}")),
            levels: b.sub(&last_level, &first_level),
        }
    }
}
