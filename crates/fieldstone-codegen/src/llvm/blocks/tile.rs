//! Nests of rows: a block computes a tile, stage by stage, each over the tile and what later ones read around it.

use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::{Axis, Interval};

use super::Block;
use super::climb::Climb;
use crate::gpu::phases;
use crate::llvm::body::Known;
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::place::Row;
use crate::llvm::range::clip_levels;
use crate::llvm::range::in_area;
use crate::llvm::rows::bounds;

/// A tile of the domain.
struct Tile {
    /// First point along I, J, K, and one past the last.
    begin: [String; 3],
    end: [String; 3],
    /// The levels that tiles partition: those of all stages, or all there are.
    interval: Interval,
}

/// The tile of a block.
pub(super) fn tile(
    context: &Context<'_>,
    block: &Block<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    numbers: [String; 3],
) {
    let tile = Tile::of_block(block, entry, b, nest, &numbers);
    for (number, phase) in phases::of(nest).into_iter().enumerate() {
        if number > 0 {
            block.machine.barrier(b);
        }
        self::phase(context, block, entry, b, nest, &nest.stages[phase], &tile);
    }
}

/// Stages on the same points around a tile.
fn phase(
    context: &Context<'_>,
    block: &Block<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stages: &[Stage],
    tile: &Tile,
) {
    let shape = block.shape;
    let around = stages[0].extent.beyond(nest.extent);
    let points = |axis: Axis| {
        let (before, after) = around.along(axis);
        let points = (shape.tile[axis.index()] as i32 + before + after) as usize;
        // A thread computes some levels of a nest of one stage, which has nothing around its tile.
        if axis == Axis::K {
            points / shape.climb
        } else {
            points
        }
    };
    let all = Axis::ALL.map(points).into_iter().product();
    block.machine.phase(b, shape, all, |b, point| {
        let mut rest = point.to_owned();
        let mut row = Row {
            vector: shape.lanes,
            index: Default::default(),
            tile: tile.begin.clone(),
            panel: None,
            moving: None,
        };
        let mut inside = Vec::new();
        let order = shape.order();
        for (place, axis) in order.into_iter().enumerate() {
            let is_last = order[place + 1..].iter().all(|axis| points(*axis) == 1);
            let number = match points(axis) {
                1 => String::from("0"),
                _ if is_last => rest.clone(),
                points => {
                    let number = b.value(format_args!("urem i64 {rest}, {points}"));
                    rest = b.value(format_args!("udiv i64 {rest}, {points}"));
                    number
                }
            };
            let (before, after) = around.along(axis);
            let first = b.sub(&tile.begin[axis.index()], before);
            let number = match axis {
                Axis::K if shape.climb > 1 && number != "0" => b.mul(&number, shape.climb),
                _ => number,
            };
            let index = b.add(&first, number);
            let has_less = axis == Axis::K && tile.interval != Interval::FULL;
            if shape.tile[axis.index()] > 1 || has_less {
                let end = b.add(&tile.end[axis.index()], after);
                inside.push(b.value(format_args!("icmp slt i64 {index}, {end}")));
            }
            row.index[axis.index()] = index;
        }
        let compute = |b: &mut Builder| {
            for stage in stages {
                self::stage(context, entry, b, (stage, shape.climb), &row, tile);
            }
        };
        match b.all(inside) {
            Some(inside) => b.when(&inside, compute),
            None => compute(b),
        }
    });
}

/// A stage at a point.
fn stage(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    (stage, climb): (&Stage, usize),
    row: &Row,
    tile: &Tile,
) {
    let mut tests = Vec::new();
    for axis in [Axis::I, Axis::J] {
        for area in [bounds(stage, axis), stage.area] {
            tests.extend(in_area(entry, b, area, axis, &row.index[axis.index()]));
        }
    }
    let level = row.index[2].clone();
    if stage.interval != tile.interval {
        let levels = clip_levels(entry, b, stage.interval, entry.levels.clone());
        tests.push(b.value(format_args!("icmp sge i64 {level}, {}", levels.0)));
        tests.push(b.value(format_args!("icmp slt i64 {level}, {}", levels.1)));
    }
    let compute = |b: &mut Builder| {
        let end = &tile.end[2];
        let stage = Climb {
            context,
            entry,
            stage,
            end,
        };
        stage.from(b, row.clone(), climb, Known::new());
    };
    match b.all(tests) {
        Some(inside) => b.when(&inside, compute),
        None => compute(b),
    }
}

/// The levels of all stages of a nest, if they have the same.
fn common_interval(nest: &RowNest) -> Interval {
    let mut intervals = nest.stages.iter().map(|stage| stage.interval);
    let first = intervals.next().unwrap_or(Interval::FULL);
    match intervals.all(|interval| interval == first) {
        true => first,
        false => Interval::FULL,
    }
}

impl Tile {
    fn of_block(
        block: &Block<'_>,
        entry: &Entry,
        b: &mut Builder,
        nest: &RowNest,
        numbers: &[String; 3],
    ) -> Tile {
        let mut tile = Tile {
            begin: Default::default(),
            end: Default::default(),
            interval: common_interval(nest),
        };
        for axis in Axis::ALL {
            let n = axis.index();
            let (before, after) = nest.extent.along(axis);
            let (first, last) = match axis {
                Axis::K => clip_levels(entry, b, tile.interval, entry.levels.clone()),
                _ => (String::from("0"), entry.domain[n].clone()),
            };
            let points = block.shape.tile[n];
            let skip = b.mul(&numbers[n], points);
            let begin = b.add(&skip, first.as_str());
            let begin = b.sub(&begin, before);
            let end = b.add(&begin, points);
            let last = b.add(&last, after);
            tile.end[n] = b.min(&end, &last);
            tile.begin[n] = begin;
        }
        tile
    }
}
