//! The loops over a row at a place of a nest.

use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::{RowNest, Stage};

use super::order::Place;
use super::{bounds, for_blocks, is_ready, together, widen};
use crate::llvm::builder::Builder;
use crate::llvm::entry::Entry;
use crate::llvm::fused::{self, Computed, Rows, Way};
use crate::llvm::place::{Panel, Row};
use crate::llvm::range::{clip_levels, in_area};
use crate::llvm::setting::Setting;

/// The loops over a row at a place.
pub(super) fn loops(setting: Setting<'_>, b: &mut Builder, place: &Place) {
    for together in together::loops(setting.nest) {
        match together.as_slice() {
            [(row_loop, stages)] if !row_loop.fused => {
                super::stages(setting, b, stages, place);
            }
            some => {
                let some: Vec<&[Stage]> = some.iter().map(|(_, stages)| *stages).collect();
                fused(setting, b, &some, place);
            }
        }
    }
}

/// The rows that stages of each loop compute together, one block behind the other, of which each is done with all loops before the
/// next one.
fn fused(setting: Setting<'_>, b: &mut Builder, loops: &[&[Stage]], place: &Place) {
    let Setting {
        context,
        entry,
        nest,
        ..
    } = setting;
    let roles = nest.roles;
    let loops: Vec<OneLoop<'_>> = (loops.iter())
        .map(|stages| one_loop(entry, b, nest, stages, place))
        .collect();
    let most = loops[0].most;
    let blocks = loops[0].blocks.clone();
    let interval = loops[0].stages[0].interval;
    let is_one =
        context.scratch.lanes.is_none() && most == 0 && context.scratch.block_rows(roles) <= 1;
    let rows = Rows {
        slides: (b.sub(&place.slides.0, place.most), place.slides.1.clone()),
        planes: match is_one {
            true => levels_of(entry, b, nest, loops[0].stages, place.planes.clone()),
            false => blocks.clone(),
        },
        blocks: blocks.clone(),
    };
    let each = |b: &mut Builder, in_block: &str, panel: Option<Panel>, way: (usize, Way<'_>)| {
        for (number, one) in loops.iter().enumerate() {
            let computed = computed(entry, b, nest, one, place, (in_block, panel.as_ref()));
            let way = match way {
                _ if place.far => Way::Far,
                (known, way) if known == number => way,
                _ => Way::Any,
            };
            fused::row(setting, b, (&computed, way), &rows);
        }
    };
    if is_one {
        // Without a loop, what depends on the one row of the tile is computed before those along the sliding axis.
        let any = b.value(format_args!("icmp slt i64 {}, {}", blocks.0, blocks.1));
        return b.when(&any, |b| each(b, &blocks.0, None, (0, Way::Any)));
    }
    let ways = together::longest(nest, &loops, |one| one.stages).and_then(|number| {
        let any = computed(entry, b, nest, &loops[number], place, (&blocks.0, None));
        let any = any.as_slice();
        let ways = fused::ways(setting, b, any, &rows)?;
        Some((number, ways))
    });
    let Some((number, ways)) = ways else {
        let each = |b: &mut Builder, block: &str, panel| each(b, block, panel, (0, Way::Any));
        return for_blocks(setting, b, (&blocks, place), interval, each);
    };
    for (condition, rounds) in ways {
        let way = rounds.as_ref().map_or(Way::Outside, Way::Known);
        b.when(&condition, |b| {
            b.for_loop(&blocks.0, &blocks.1, "1", |b, block| {
                each(b, block, None, (number, way));
            });
        });
    }
}

/// Stages that share a loop over a row, and what all their rows in a tile at a step have in common.
struct OneLoop<'a> {
    stages: &'a [Stage],
    /// How far stages reach beside the tile along the block axis, at most.
    most: i32,
    /// Whether each computes rows at this step; always where `None`.
    ready: Vec<Option<String>>,
    /// Points of each along the row.
    ranges: Vec<(String, String)>,
    blocks: (String, String),
}

/// How far a stage reaches beside a tile along the block axis.
fn reach(nest: &RowNest, stage: &Stage) -> (i32, i32) {
    stage.extent.beyond(nest.extent).along(nest.roles.block)
}

fn one_loop<'a>(
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stages: &'a [Stage],
    place: &Place,
) -> OneLoop<'a> {
    let roles = nest.roles;
    let reaches = stages.iter().map(|stage| reach(nest, stage));
    let most = reaches.map(|(before, after)| before + after).max();
    let most = most.unwrap_or(0);
    let ready: Vec<Option<String>> = stages
        .iter()
        .map(|stage| is_ready(entry, b, nest, stage, place))
        .collect();
    let ranges: Vec<(String, String)> = stages
        .iter()
        .map(|stage| widen(entry, b, stage, roles.vector, &place.vectors, nest.extent))
        .collect();
    let first = b.sub(&place.blocks.0, most);
    let blocks = (first, place.blocks.1.clone());
    let blocks = levels_of(entry, b, nest, stages, blocks);
    OneLoop {
        stages,
        most,
        ready,
        ranges,
        blocks,
    }
}

/// Those of a range along the block axis that a loop computes, if that is the one of levels: its stages have the same.
fn levels_of(
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stages: &[Stage],
    range: (String, String),
) -> (String, String) {
    match nest.roles.block {
        Axis::K => clip_levels(entry, b, stages[0].interval, range),
        Axis::I | Axis::J => range,
    }
}

/// Whether all rows of a loop are as [`fused::is_far`] asks, at any step of a tile at which all stages have begun.
pub(super) fn are_far(
    setting: Setting<'_>,
    b: &mut Builder,
    stages: &[Stage],
    (place, panel): (&Place, &Panel),
) -> String {
    let Setting { entry, nest, .. } = setting;
    let one = one_loop(entry, b, nest, stages, place);
    let level = &place.blocks.0;
    let computed = computed(entry, b, nest, &one, place, (level, Some(panel)));
    let levels = (level.clone(), panel.behind(b, level));
    let rows = Rows {
        slides: place.slides.clone(),
        blocks: levels.clone(),
        planes: levels,
    };
    fused::is_far(setting, b, &computed, &rows)
}

/// The rows of the stages of a loop, of which those without an extent compute the one at `in_block`.
fn computed<'a>(
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    one: &OneLoop<'a>,
    place: &Place,
    (in_block, panel): (&str, Option<&Panel>),
) -> Vec<Computed<'a>> {
    let roles = nest.roles;
    let stages = one.stages.iter().enumerate();
    let rows = stages.map(|(number, stage)| {
        let ahead = nest.ahead(stage);
        let mut index: [String; 3] = Default::default();
        index[roles.slide.index()] = b.add(&place.step, ahead.along(roles.slide));
        let at = b.add(in_block, ahead.along(roles.block));
        let (before, after) = reach(nest, stage);
        let begun = (before + after < one.most).then(|| {
            let first = b.sub(&place.blocks.0, before);
            b.value(format_args!("icmp sge i64 {at}, {first}"))
        });
        let inside = in_area(entry, b, bounds(stage, roles.block), roles.block, &at);
        index[roles.block.index()] = at;
        let tests = one.ready[number].clone().into_iter();
        let tests = tests.chain(begun).chain(inside);
        Computed {
            stage,
            ahead,
            row: Row {
                vector: roles.vector,
                index,
                tile: place.tile(roles),
                panel: panel.cloned(),
                moving: place.moving(ahead),
            },
            range: one.ranges[number].clone(),
            active: b.all(tests),
        }
    });
    rows.collect()
}
