//! The loops of a nest of rows: tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.

use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::{Area, Axis, Bound, Extent, Level};

use super::builder::Builder;
use super::entry::{self, Context, Entry};
use super::kernel::Loops;
use super::place::Row;
use super::range::{clip_area, clip_levels, in_area, tile_range};
use super::row;

/// Tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.
pub(super) fn rows(
    name: &str,
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
) {
    let roles = nest.roles;
    let [vector, block] = [roles.vector, roles.block].map(Axis::index);
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
        let most = nest.stages.iter().map(|stage| lag(nest, stage)).max();
        let most = most.unwrap_or(0);
        let first_step = b.sub(&slides.0, most);
        b.for_loop(&first_step, &slides.1, "1", |b, step| {
            let place = Place {
                step: step.to_string(),
                vectors: vectors.clone(),
                blocks: blocks.clone(),
                slides: slides.clone(),
                most,
            };
            if nest.stages.len() <= MOST_STAGES {
                stages(context, entry, b, nest, &nest.stages, &place);
                return;
            }
            for (number, part) in nest.stages.chunks(STAGES_OF_PART).enumerate() {
                let name = format!("{name}_part_{number}");
                call_part(&name, context, b, nest, part, &place);
            }
        });
    });
}

/// Stages of a nest that is one function. LLVM takes more than twice the time for twice the loops in another one.
const MOST_STAGES: usize = 48;
/// Stages of each part of a larger one, which are functions of their own.
const STAGES_OF_PART: usize = 32;

/// Where in its tile a nest is.
struct Place {
    /// Along the sliding axis.
    step: String,
    /// The tile.
    vectors: (String, String),
    blocks: (String, String),
    slides: (String, String),
    /// The largest [`lag`] of the nest.
    most: i32,
}

impl Place {
    /// What a part of a nest is told, in order.
    const NAMES: [&str; 7] = [
        "%at.step",
        "%at.vectors.begin",
        "%at.vectors.end",
        "%at.blocks.begin",
        "%at.blocks.end",
        "%at.slides.begin",
        "%at.slides.end",
    ];

    fn values(&self) -> [&str; 7] {
        let [vectors, blocks, slides] = [&self.vectors, &self.blocks, &self.slides];
        [
            &self.step, &vectors.0, &vectors.1, &blocks.0, &blocks.1, &slides.0, &slides.1,
        ]
    }

    /// The place as a part of the nest sees it.
    fn inside(&self) -> Place {
        let [step, values @ ..] = Self::NAMES.map(str::to_owned);
        let [v0, v1, b0, b1, s0, s1] = values;
        Place {
            step,
            vectors: (v0, v1),
            blocks: (b0, b1),
            slides: (s0, s1),
            most: self.most,
        }
    }
}

/// How far a stage is ahead of those that are computed at the step itself.
fn lag(nest: &RowNest, stage: &Stage) -> i32 {
    let (before, after) = stage.extent.beyond(nest.extent).along(nest.roles.slide);
    before + after
}

/// Makes a function of some stages and calls it.
fn call_part(
    name: &str,
    context: &Context<'_>,
    b: &mut Builder,
    nest: &RowNest,
    part: &[Stage],
    place: &Place,
) {
    let inside = RowNest {
        roles: nest.roles,
        extent: nest.extent,
        stages: part.to_vec(),
    };
    let mut builder = Builder::new();
    let mut entry = entry::entry(context, &mut builder, Loops::Rows(&inside));
    let streamed = Loops::Rows(nest).streamed();
    entry.streamed.retain(|target| streamed.contains(target));
    stages(context, &entry, &mut builder, nest, part, &place.inside());
    builder.effect("ret void");
    let list = |values: &[&str]| -> String {
        let values = values.iter().map(|value| format!(", i64 {value}"));
        values.collect()
    };
    b.function(
        &format!(
            "define internal void @{name}(ptr noalias readonly %words, ptr noalias %scratch{}) noinline #0",
            list(&Place::NAMES)
        ),
        builder,
    );
    b.effect(format_args!(
        "call void @{name}(ptr %words, ptr %scratch{})",
        list(&place.values())
    ));
}

/// The rows that stages compute at a place.
fn stages(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stages: &[Stage],
    place: &Place,
) {
    let roles = nest.roles;
    let [vector, block, slide] = [roles.vector, roles.block, roles.slide].map(Axis::index);
    let mut tile: [String; 3] = Default::default();
    tile[vector] = place.vectors.0.clone();
    tile[block] = place.blocks.0.clone();
    tile[slide] = place.slides.0.clone();
    for stage in stages {
        let (before, after) = stage.extent.beyond(nest.extent).along(roles.slide);
        let at = b.add(&place.step, after);
        let emit = |b: &mut Builder| {
            let blocks = widen(entry, b, stage, roles.block, &place.blocks, nest.extent);
            let vectors = widen(entry, b, stage, roles.vector, &place.vectors, nest.extent);
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
        let bounds = bounds(stage, roles.slide);
        let tests = [bounds, stage.area].map(|area| in_area(entry, b, area, roles.slide, &at));
        let ready = (before + after < place.most).then(|| {
            let first = b.sub(&place.slides.0, before);
            b.value(format_args!("icmp sge i64 {at}, {first}"))
        });
        let tests = ready.into_iter().chain(tests.into_iter().flatten());
        match tests.reduce(|all, test| b.value(format_args!("and i1 {all}, {test}"))) {
            Some(condition) => b.when(&condition, emit),
            None => emit(b),
        }
    }
}

/// The points along an axis at which a stage is computed, where tiles at the edge of the domain would compute more.
fn bounds(stage: &Stage, axis: Axis) -> Area {
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
