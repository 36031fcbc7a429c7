//! The loops of a nest of columns: blocks of columns, the sweeps over each, and the stages of each level.

use fieldstone_stencil::ir::Order;
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::{Area, Axis, Extent};

use crate::tile::Block;
use crate::transposed::{SYMBOL, Transposed};

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::place::{self, Row};
use super::range::{clip_area, clip_levels, in_area, tile_range};
use super::row;

pub(super) fn columns(context: &Context<'_>, entry: &Entry, b: &mut Builder, nest: &ColumnNest) {
    b.for_loop("%begin", "%end", "1", |b, task| {
        let count = &entry.count[nest.vector.index()];
        let vector_tile = b.value(format_args!("urem i64 {task}, {count}"));
        let outer_tile = b.value(format_args!("udiv i64 {task}, {count}"));
        let along = |b: &mut Builder, axis: Axis, tile: &str| {
            tile_range(entry, b, axis, tile, nest.extent.along(axis))
        };
        let columns = along(b, nest.vector, &vector_tile);
        let rows = along(b, nest.outer(), &outer_tile);
        b.for_loop(&rows.0, &rows.1, "1", |b, row| {
            let block = ColumnBlock {
                context,
                entry,
                nest,
                row: row.to_string(),
                columns: columns.clone(),
            };
            block.compute(b);
        });
    });
}

/// A block of neighbouring columns.
struct ColumnBlock<'a> {
    context: &'a Context<'a>,
    entry: &'a Entry,
    nest: &'a ColumnNest,
    /// Index along the outer axis.
    row: String,
    /// Indices along the vector axis.
    columns: (String, String),
}

impl ColumnBlock<'_> {
    fn compute(&self, b: &mut Builder) {
        let transposed = &self.context.scratch.transposed;
        for (array, block) in transposed.iter().filter(|(array, _)| array.load) {
            self.load(b, array, *block);
        }
        for sweep in &self.nest.sweeps {
            self.sweep(b, sweep);
        }
        for (array, block) in transposed {
            if let Some(extent) = array.store {
                self.store(b, array, extent, *block);
            }
        }
    }

    fn sweep(&self, b: &mut Builder, sweep: &Sweep) {
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
                for stage in stages {
                    self.stage(b, stage, &level);
                }
            });
        }
    }

    fn stage(&self, b: &mut Builder, stage: &Stage, level: &str) {
        let (vector, outer) = (self.nest.vector.index(), self.nest.outer().index());
        let mut row = Row {
            vector: self.nest.vector,
            index: Default::default(),
            tile: Default::default(),
        };
        row.index[outer] = self.row.clone();
        row.index[2] = level.to_string();
        row.tile[vector] = self.columns.0.clone();
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
        let arguments = [&plane.outside, &plane.stride, &plane.inside, &plane.pitch];
        self.transpose(b, arguments, (&plane.columns, &plane.levels), array);
    }

    /// Transposes results back. Those lie in the domain; levels that are never accessed were not loaded and need not exist.
    fn store(&self, b: &mut Builder, array: &Transposed, extent: Extent, block: Block) {
        let levels = (array.levels.0.min(0), array.levels.1.min(0));
        let plane = self.plane(b, array, block, extent, (0, 0), levels);
        let arguments = [&plane.inside, &plane.pitch, &plane.outside, &plane.stride];
        self.transpose(b, arguments, (&plane.levels, &plane.columns), array);
    }

    fn transpose(
        &self,
        b: &mut Builder,
        [source, source_stride, target, target_stride]: [&String; 4],
        (rows, lanes): (&String, &String),
        array: &Transposed,
    ) {
        let arguments = [
            ("ptr", source.as_str()),
            ("i64", source_stride),
            ("ptr", target),
            ("i64", target_stride),
            ("i64", rows),
            ("i64", lanes),
            ("i64", &array.dtype.size().to_string()),
        ];
        b.call_void(SYMBOL, &arguments);
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
            outside,
            stride: memory.strides[vector.index()].clone(),
            inside: b.offset(&inside, bytes),
            pitch: self.context.scratch.level_bytes.to_string(),
            columns: b.value(format_args!("select i1 {none}, i64 0, i64 {wider}")),
            levels: b.sub(&last_level, &first_level),
        }
    }
}

/// The columns of a block in an array and in scratch memory.
struct Plane {
    /// Address of the first point in the array, where levels are contiguous.
    outside: String,
    /// Bytes from one column to the next in the array.
    stride: String,
    /// Address of the first point in scratch memory, where columns are contiguous.
    inside: String,
    /// Bytes from one level to the next in scratch memory.
    pitch: String,
    columns: String,
    levels: String,
}
