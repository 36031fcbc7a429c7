//! Columns of arrays on their way into scratch and out of it, transposed.

use std::collections::HashSet;

use fieldstone_stencil::Extent;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::ColumnNest;

use super::super::builder::Builder;
use super::super::entry::{Context, Entry};
use super::super::place;
use super::super::transposition::{Plane, Squares, Way};
use super::super::value::Value;
use super::ColumnBlock;
use crate::tile::{Block, LINE};
use crate::transposed::{Moment, Transposed};

/// The transpositions of a nest, each of a composed value with that.
pub(super) fn squares<'a>(
    context: &Context<'a>,
    entry: &Entry,
    nest: &ColumnNest,
) -> Vec<(Squares, Option<Value<'a>>)> {
    let scratch = context.scratch;
    let of_array = |array: &'a Transposed| {
        let load = array
            .load
            .then(|| squares_of(context, nest, Way::In, array));
        let load = load.map(|squares| (squares, value(context, nest, array)));
        let store = (array.store).map(|_| squares_of(context, nest, Way::Out, array));
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

pub(super) fn squares_of(
    context: &Context<'_>,
    nest: &ColumnNest,
    way: Way,
    array: &Transposed,
) -> Squares {
    let vector = nest.vector;
    let is_of_block = array.extent.along(vector) == nest.extent.along(vector);
    let same = |(other, _): &(Transposed, Block)| other == array;
    let composed = array.composed.as_ref();
    Squares {
        way,
        size: array.dtype.size(),
        side: context.scratch.square,
        pitch: context.scratch.level_bytes,
        past: false,
        fills: way == Way::In && is_of_block && array.across == (0, 0),
        has_masked_stores: context.target.has_masked_stores(),
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

/// The columns of an array, on their way.
pub(super) struct Move<'a> {
    pub way: Way,
    pub array: &'a Transposed,
    /// Where level zero of the first column lies in the array, or in each of those that it is composed of, and bytes from one
    /// column to the next.
    pub outside: Vec<(String, String)>,
    /// Where it lies in scratch.
    pub inside: String,
    /// How many columns there are.
    pub columns: String,
    pub moment: Moment,
    /// Levels of the ring in scratch, where it is one.
    pub window: Option<usize>,
    /// First level that is accessed and one past the last.
    pub levels: (String, String),
}

impl ColumnBlock<'_> {
    /// All arrays that are transposed, on their way in or out.
    pub(super) fn moves(&self, b: &mut Builder) -> Vec<Move<'_>> {
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
    pub(super) fn transpose_all(&self, b: &mut Builder, each: &Move<'_>) {
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
    pub(super) fn transpose(
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
        let squares = squares_of(self.context, self.nest, each.way, each.array);
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
    pub(super) fn goes_past(
        &self,
        b: &mut Builder,
        array: &Transposed,
        address: &str,
    ) -> Option<String> {
        if !may_go_past(self.context, self.entry, array) {
            return None;
        }
        let aligned = begin_at_lines(b, address, self.stride(array.target));
        Some(b.value(format_args!("and i1 {}, {aligned}", self.entry.stream)))
    }

    /// Bytes from one column of an array to the next.
    pub(super) fn stride(&self, target: Target) -> &str {
        &self.entry.arrays[&target].strides[self.nest.vector.index()]
    }

    /// Address of level zero of a column of an array, so many rows away.
    pub(super) fn first_of(
        &self,
        b: &mut Builder,
        (target, outer): (Target, i32),
        column: &str,
    ) -> String {
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

/// Whether what lies at an address, and in steps from it, begins where cache lines do.
pub(super) fn begin_at_lines(b: &mut Builder, address: &str, step: &str) -> String {
    let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
    let both = b.value(format_args!("or i64 {address}, {step}"));
    let rest = b.value(format_args!("and i64 {both}, {}", LINE - 1));
    b.value(format_args!("icmp eq i64 {rest}, 0"))
}
