//! The loops of a nest of rows: tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.
//!
//! | module | what lives there |
//! |---|---|
//! | `far` | tiles of vectors of levels that come from memory and go there |
//! | `loops` | the loops over a row at a place, and how they take turns |
//! | `together` | which of them do |
//! | `order` | the places of a tile, and the order of its rows |
//! | `parts` | nests of many stages in parts that are functions of their own |
//! | `steps` | the loop over the steps of a tile |
//! | `tile` | which tiles a task computes |

mod far;
mod loops;
mod order;
mod parts;
mod steps;
mod tile;
mod together;

use std::collections::HashSet;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axis, Bound, Extent, Interval, Level};

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::place::{Panel, Row};
use super::range::{clip_area, clip_levels, in_area};
use super::row;
use super::setting::Setting;
use super::types::Lanes;

use self::order::Place;
use self::parts::{call_part, is_one, parts};

pub(super) use self::parts::own_words;

/// Tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.
pub(super) fn rows(
    name: &str,
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
) {
    let setting = Setting {
        context,
        entry,
        nest,
        shared: &shared(nest),
    };
    tile::for_tiles(setting, b, |b, tile| {
        let (first, end) = (b.sub(&tile.slides.0, tile.most), &tile.slides.1);
        let far = far::is_far(setting, b, tile);
        let last = match &far {
            Some(far) => b.select(far, &tile.slides.0, end),
            None => end.clone(),
        };
        order::for_places(setting, b, (tile, (&first, &last)), |b, place| {
            if is_one(nest) {
                return loops::loops(setting, b, place);
            }
            for (number, part) in parts(nest).iter().enumerate() {
                let name = format!("{name}_part_{number}");
                call_part(&name, setting, b, part, place, loops::loops);
            }
        });
        if let Some(far) = far {
            b.when(&far, |b| {
                far::call(&format!("{name}_far"), setting, b, tile)
            });
        }
    });
}

/// Targets that several stages of a nest write.
fn shared(nest: &RowNest) -> HashSet<Target> {
    let (mut written, mut shared) = (HashSet::new(), HashSet::new());
    for stage in &nest.stages {
        let accesses = stage.statements.iter().map(Accesses::of);
        let targets: HashSet<Target> = accesses
            .flat_map(|accesses| accesses.written().collect::<Vec<_>>())
            .collect();
        for target in targets {
            if !written.insert(target) {
                shared.insert(target);
            }
        }
    }
    shared
}

/// Runs `body` for each of some blocks of a tile, or once for the levels that are computed side by side, with those of an interval.
fn for_blocks(
    Setting { context, entry, .. }: Setting<'_>,
    b: &mut Builder,
    (blocks, place): (&(String, String), &Place),
    interval: Interval,
    body: impl FnOnce(&mut Builder, &str, Option<Panel>),
) {
    match context.scratch.lanes {
        None => b.for_loop(&blocks.0, &blocks.1, "1", |b, block| body(b, block, None)),
        Some(width) => {
            let (any, panel) = panel(entry, b, place, interval, Lanes { width });
            b.when(&any, |b| body(b, &place.blocks.0, Some(panel)));
        }
    }
}

/// The levels of an interval that are computed side by side, and whether there are any.
fn panel(
    entry: &Entry,
    b: &mut Builder,
    place: &Place,
    interval: Interval,
    lanes: Lanes,
) -> (String, Panel) {
    let (first, behind) = &place.blocks;
    let levels = (b.max(first, &entry.levels.0), behind.clone());
    let levels = clip_levels(entry, b, interval, levels);
    let count = b.sub(&levels.1, &levels.0);
    let any = b.value(format_args!("icmp sgt i64 {count}, 0"));
    let whole = b.value(format_args!("icmp eq i64 {count}, {}", lanes.width));
    let panel = Panel {
        lanes,
        levels,
        whole,
    };
    (any, panel)
}

/// Whether a stage computes a row at a place; `None` where it always does.
fn is_ready(
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stage: &Stage,
    place: &Place,
) -> Option<String> {
    let slide = nest.roles.slide;
    let at = b.add(&place.begin, nest.ahead(stage).along(slide));
    let tests = [bounds(stage, slide), stage.area].map(|area| in_area(entry, b, area, slide, &at));
    let begun = begins_later(nest, stage, place).then(|| {
        let first = b.sub(&place.slides.0, lag(nest, stage));
        b.value(format_args!("icmp sge i64 {}, {first}", place.begin))
    });
    let tests = begun.into_iter().chain(tests.into_iter().flatten());
    b.all(tests)
}

/// Whether a stage computes nothing at the first steps of a tile.
fn begins_later(nest: &RowNest, stage: &Stage, place: &Place) -> bool {
    !place.far && lag(nest, stage) < place.most
}

/// How far a stage is ahead of those that are computed at the step itself.
fn lag(nest: &RowNest, stage: &Stage) -> i32 {
    let (before, after) = stage.extent.beyond(nest.extent).along(nest.roles.slide);
    before + after
}

/// The rows that stages compute at a place.
fn stages(setting: Setting<'_>, b: &mut Builder, stages: &[Stage], place: &Place) {
    let Setting {
        context,
        entry,
        nest,
        ..
    } = setting;
    let roles = nest.roles;
    let [block, slide] = [roles.block, roles.slide].map(Axis::index);
    let tile = place.tile(roles);
    for stage in stages {
        let at = b.add(&place.step, nest.ahead(stage).along(roles.slide));
        let emit = |b: &mut Builder| {
            let blocks = widen(entry, b, stage, roles.block, &place.blocks, nest.extent);
            let vectors = widen(entry, b, stage, roles.vector, &place.vectors, nest.extent);
            let each = |b: &mut Builder, in_block: &str, panel: Option<Panel>| {
                let mut index: [String; 3] = Default::default();
                index[slide] = at.clone();
                index[block] = in_block.to_string();
                let row = Row {
                    vector: roles.vector,
                    index,
                    tile: tile.clone(),
                    panel,
                    moving: place.moving(nest.ahead(stage)),
                };
                let stage = (stage, &HashSet::new());
                row::stage(context, entry, b, stage, &row, &vectors, None);
            };
            for_blocks(setting, b, (&blocks, place), stage.interval, each);
        };
        match is_ready(entry, b, nest, stage, place) {
            Some(condition) => b.when(&condition, emit),
            None => emit(b),
        }
    }
}

/// The points along an axis at which a stage is computed, where tiles at the edge of the domain would compute more.
pub(super) fn bounds(stage: &Stage, axis: Axis) -> Area {
    let mut bounds = Area::FULL;
    let (lower, upper) = stage.bounds.along(axis);
    let at = |level, offset| Some(Bound { level, offset });
    if stage.extent.along(axis).0 > lower {
        bounds.0[axis.index()].start = at(Level::Start, -lower);
    }
    if stage.extent.along(axis).1 > upper {
        bounds.0[axis.index()].end = at(Level::End, upper);
    }
    bounds
}

/// A tile's range along an axis, widened to what a stage computes and cut to its levels or to its part of the plane.
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
        Axis::I | Axis::J => {
            let range = clip_area(entry, b, bounds(stage, axis), axis, range);
            clip_area(entry, b, stage.area, axis, range)
        }
    }
}
