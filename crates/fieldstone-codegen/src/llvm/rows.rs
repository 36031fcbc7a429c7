//! The loops of a nest of rows: tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.

use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::{Axis, Extent};

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::place::Row;
use super::range::{clip_levels, tile_range};
use super::row;

/// Tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.
pub(super) fn rows(context: &Context<'_>, entry: &Entry, b: &mut Builder, nest: &RowNest) {
    let roles = nest.roles;
    let [vector, block, slide] = [roles.vector, roles.block, roles.slide].map(Axis::index);
    b.for_loop("%begin", "%end", "1", |b, task| {
        let count = &entry.count;
        let vector_tile = b.value(format_args!("urem i64 {task}, {}", count[vector]));
        let rest = b.value(format_args!("udiv i64 {task}, {}", count[vector]));
        let block_tile = b.value(format_args!("urem i64 {rest}, {}", count[block]));
        let slide_tile = b.value(format_args!("udiv i64 {rest}, {}", count[block]));
        let range = |b: &mut Builder, axis: Axis, tile: &str| {
            tile_range(entry, b, axis, tile, nest.extent.along(axis))
        };
        let vectors = range(b, roles.vector, &vector_tile);
        let blocks = range(b, roles.block, &block_tile);
        let slides = range(b, roles.slide, &slide_tile);
        let mut tile: [String; 3] = Default::default();
        tile[vector] = vectors.0.clone();
        tile[block] = blocks.0.clone();
        tile[slide] = slides.0.clone();
        let reach = |stage: &Stage, axis| stage.extent.beyond(nest.extent).along(axis);
        let lag = |stage: &Stage| {
            let (before, after) = reach(stage, roles.slide);
            before + after
        };
        let most = nest.stages.iter().map(lag).max().unwrap_or(0);
        let first_step = b.sub(&slides.0, most);
        b.for_loop(&first_step, &slides.1, "1", |b, step| {
            for stage in &nest.stages {
                let (before, after) = reach(stage, roles.slide);
                let at = b.add(step, after);
                let emit = |b: &mut Builder| {
                    let blocks = widen(entry, b, stage, roles.block, &blocks, nest.extent);
                    let vectors = widen(entry, b, stage, roles.vector, &vectors, nest.extent);
                    b.for_loop(&blocks.0, &blocks.1, "1", |b, in_block| {
                        let mut index: [String; 3] = Default::default();
                        index[slide] = at.clone();
                        index[block] = in_block.to_string();
                        let row = Row {
                            vector: roles.vector,
                            index,
                            tile: tile.clone(),
                        };
                        row::stage(context, entry, b, stage, &row, &vectors);
                    });
                };
                if before + after < most {
                    let first = b.sub(&slides.0, before);
                    let ready = b.value(format_args!("icmp sge i64 {at}, {first}"));
                    b.when(&ready, emit);
                } else {
                    emit(b);
                }
            }
        });
    });
}

/// A tile's range along an axis, widened to what a stage computes and cut to its levels.
fn widen(
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    axis: Axis,
    range: &(String, String),
    base: Extent,
) -> (String, String) {
    let (before, after) = stage.extent.beyond(base).along(axis);
    let range = (b.sub(&range.0, before), b.add(&range.1, after));
    match axis {
        Axis::K => clip_levels(entry, b, stage.interval, range),
        _ => range,
    }
}
