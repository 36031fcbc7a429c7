//! The loops of a nest of rows: tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.
//!
//! | module | what lives there |
//! |---|---|
//! | `loops` | the loops over a row at a place, and how they take turns |
//! | `order` | the order of the rows of a tile |
//! | `past` | tiles of vectors of levels that come from memory and go there |
//! | `together` | which of them do |

mod loops;
mod order;
mod past;
mod together;

use std::collections::HashSet;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{Roles, RowNest, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axis, Bound, Extent, Interval, Level};

use super::builder::Builder;
use super::entry::{self, Context, Entry};
use super::kernel::Loops;
use super::place::{self, Panel, Row};
use super::range::{clip_area, clip_levels, in_area, tile_range};
use super::row;
use super::types::Lanes;

/// Tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.
pub(super) fn rows(
    name: &str,
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
) {
    let roles = nest.roles;
    let shift = (roles.are_panels()).then(|| levels_before(context, entry, b, nest));
    b.for_loop("%begin", "%end", "1", |b, task| {
        let [vector_tile, block_tile, slide_tile] = tile_numbers(b, &entry.count, roles, task);
        let range = |b: &mut Builder, axis: Axis, tile: &str| {
            tile_range(entry, b, axis, tile, nest.extent.along(axis))
        };
        let vectors = range(b, roles.vector, &vector_tile);
        let blocks = match &shift {
            Some(shift) => level_tile(entry, b, &block_tile, shift),
            None => range(b, roles.block, &block_tile),
        };
        let slides = range(b, roles.slide, &slide_tile);
        let most = nest.stages.iter().map(|stage| lag(nest, stage)).max();
        let tile = Place {
            step: String::new(),
            vectors,
            tile_begin: blocks.0.clone(),
            blocks,
            slides,
            most: most.unwrap_or(0),
            past: false,
        };
        let shared = shared(nest);
        let (first, end) = (b.sub(&tile.slides.0, tile.most), &tile.slides.1);
        let past = past::is_past(context, entry, b, nest, &tile, &shared);
        let last = match &past {
            Some(past) => b.select(past, &tile.slides.0, end),
            None => end.clone(),
        };
        order::for_places(context, entry, b, (&tile, (&first, &last)), |b, place| {
            if is_one(nest) {
                loops::loops(context, entry, b, nest, place, &shared);
                return;
            }
            for (number, part) in parts(nest).iter().enumerate() {
                let name = format!("{name}_part_{number}");
                call_part(&name, context, b, (nest, part), place, |b, entry, place| {
                    loops::loops(context, entry, b, part, place, &shared);
                });
            }
        });
        if let Some(past) = past {
            b.when(&past, |b| {
                let name = format!("{name}_past");
                past::call(&name, context, b, nest, &tile, &shared);
            });
        }
    });
}

/// Numbers of a tile along the vector, block and sliding axes. Tiles of further levels come first where points of a row are vectors of
/// levels, those of further points where they are not: what follows in memory is needed soon, as long as the caches have it that was
/// brought along.
fn tile_numbers(b: &mut Builder, count: &[String; 3], roles: Roles, task: &str) -> [String; 3] {
    let mut axes = [roles.vector, roles.block];
    if roles.are_panels() {
        axes.reverse();
    }
    let [near, far] = axes.map(|axis| &count[axis.index()]);
    let first = b.value(format_args!("urem i64 {task}, {near}"));
    let rest = b.value(format_args!("udiv i64 {task}, {near}"));
    let second = b.value(format_args!("urem i64 {rest}, {far}"));
    let slide = b.value(format_args!("udiv i64 {rest}, {far}"));
    match roles.are_panels() {
        true => {
            let others = b.mul(far, &count[roles.slide.index()]);
            [second, turned(b, &first, near, (&rest, &others)), slide]
        }
        false => [first, second, slide],
    }
}

/// The number of a tile among `count` with other lines of the same columns, which are the `columns.0`th of `columns.1`: these begin
/// with another line each, so that threads are at lines that are spread over a column. Were all at the same one, of columns a
/// multiple of 512 bytes apart, memory would store lines half as fast: addresses choose its channels. Lines of a pair stay together.
fn turned(b: &mut Builder, number: &str, count: &str, columns: (&str, &str)) -> String {
    let whole = b.mul(columns.0, count);
    let part = b.value(format_args!("udiv i64 {whole}, {}", columns.1));
    let first = b.value(format_args!("and i64 {part}, -2"));
    let turned = b.add(number, &first);
    b.value(format_args!("urem i64 {turned}, {count}"))
}

/// Levels that the first vector of each column begins before the first level, so that vectors of what a nest writes are aligned;
/// none where tiles would not get to the last level.
fn levels_before(context: &Context<'_>, entry: &Entry, b: &mut Builder, nest: &RowNest) -> String {
    let statements = nest.stages.iter().flat_map(|stage| &stage.statements);
    let mut written = statements.flat_map(|statement| {
        let accesses = Accesses::of(statement);
        accesses.written().collect::<Vec<_>>()
    });
    let along_levels = |target: &Target| {
        entry.arrays.contains_key(target) && context.contiguous_along(*target) == Some(Axis::K)
    };
    let Some(target) = written.find(along_levels) else {
        return String::from("0");
    };
    let array = &entry.arrays[&target];
    let size = place::dtype(context, target).size();
    let levels = context.scratch.line.or(context.scratch.lanes).unwrap_or(1);
    let apart = b.value(format_args!(
        "or i64 {}, {}",
        array.strides[0], array.strides[1]
    ));
    let past = b.value(format_args!("and i64 {apart}, {}", levels * size - 1));
    let alike = b.value(format_args!("icmp eq i64 {past}, 0"));
    let address = b.value(format_args!("ptrtoint ptr {} to i64", array.pointer));
    let level = b.value(format_args!(
        "lshr i64 {address}, {}",
        size.trailing_zeros()
    ));
    let before = b.value(format_args!("and i64 {level}, {}", levels - 1));
    let k = Axis::K.index();
    let levels = b.sub(&entry.levels.1, &entry.levels.0);
    let needed = b.add(&levels, &before);
    let all = b.mul(&entry.count[k], &entry.tile[k]);
    let enough = b.value(format_args!("icmp sle i64 {needed}, {all}"));
    let both = b.value(format_args!("and i1 {alike}, {enough}"));
    b.value(format_args!("select i1 {both}, i64 {before}, i64 0"))
}

/// The levels of a tile, of which the first one begins before the first level.
fn level_tile(entry: &Entry, b: &mut Builder, number: &str, before: &str) -> (String, String) {
    let (tile, (first, last)) = (&entry.tile[Axis::K.index()], &entry.levels);
    let begin = b.mul(number, tile);
    let begin = b.sub(&begin, before);
    let begin = b.add(first, &begin);
    let end = b.add(&begin, tile);
    let end = b.min(&end, last);
    (begin, end)
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

/// Whether a nest is one function.
fn is_one(nest: &RowNest) -> bool {
    nest.stages.len() <= MOST_STAGES && fields(&nest.stages).len() <= FIELDS_OF_PART
}

/// The fields that stages read or write.
fn fields(stages: &[Stage]) -> HashSet<Target> {
    let statements = stages.iter().flat_map(|stage| &stage.statements);
    let mut found = HashSet::new();
    for accesses in statements.map(Accesses::of) {
        found.extend(accesses.reads.iter().map(|(target, _)| *target));
        found.extend(accesses.written());
    }
    found.retain(|target| matches!(target, Target::Field(_)));
    found
}

/// What the function of a nest reads from its words on entry: where its parts are functions of their own, not what these do.
pub(super) fn own_words(nest: &RowNest) -> RowNest {
    match is_one(nest) {
        true => nest.clone(),
        false => parts(nest).swap_remove(0),
    }
}

/// A nest in parts of few stages and few fields.
fn parts(nest: &RowNest) -> Vec<RowNest> {
    let mut parts: Vec<RowNest> = Vec::new();
    let mut taken = HashSet::new();
    for (row_loop, stages) in nest.loops() {
        let fields = fields(stages);
        let room = taken.union(&fields).count() <= FIELDS_OF_PART;
        match parts.last_mut() {
            Some(part) if part.stages.len() + stages.len() <= STAGES_OF_PART && room => {
                part.stages.extend_from_slice(stages);
                part.loops.push(row_loop);
            }
            _ => parts.push(RowNest {
                stages: stages.to_vec(),
                loops: vec![row_loop],
                ..*nest
            }),
        }
        if parts.last().is_some_and(|part| part.loops.len() == 1) {
            taken.clear();
        }
        taken.extend(fields);
    }
    parts
}

/// Runs `body` for each of some blocks of a tile, or once for the levels that are computed side by side, with those of an interval.
fn for_blocks(
    context: &Context<'_>,
    entry: &Entry,
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

/// Whether all conditions hold; `None` where there is none.
fn all(b: &mut Builder, conditions: Vec<String>) -> Option<String> {
    let conditions = conditions.into_iter();
    conditions.reduce(|all, test| b.value(format_args!("and i1 {all}, {test}")))
}

/// Whether a stage computes the row `at` of the sliding axis; `None` where it computes every one.
fn is_ready(
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stage: &Stage,
    at: &str,
    place: &Place,
) -> Option<String> {
    let slide = nest.roles.slide;
    let (before, after) = stage.extent.beyond(nest.extent).along(slide);
    let tests = [bounds(stage, slide), stage.area].map(|area| in_area(entry, b, area, slide, at));
    let begun = (!place.past && before + after < place.most).then(|| {
        let first = b.sub(&place.slides.0, before);
        b.value(format_args!("icmp sge i64 {at}, {first}"))
    });
    let tests = begun.into_iter().chain(tests.into_iter().flatten());
    all(b, tests.collect())
}

/// Stages of a nest that is one function. LLVM takes more than twice the time for twice the loops in another one.
const MOST_STAGES: usize = 48;
/// Stages of each part of a larger one, which are functions of their own.
const STAGES_OF_PART: usize = 32;
/// Fields of each part: each has half a dozen numbers, which LLVM looks for room for.
const FIELDS_OF_PART: usize = 128;

/// Where in its tile a nest is.
#[derive(Clone)]
struct Place {
    /// Along the sliding axis.
    step: String,
    /// The tile.
    vectors: (String, String),
    /// Where points are vectors of levels, those of one.
    blocks: (String, String),
    slides: (String, String),
    /// Where the tile begins along the block axis.
    tile_begin: String,
    /// The largest [`lag`] of the nest.
    most: i32,
    /// Whether all stages have begun, and what [`past::is_past`] asks is known.
    past: bool,
}

impl Place {
    /// What a part of a nest is told, in order.
    const NAMES: [&str; 8] = [
        "%at.step",
        "%at.vectors.begin",
        "%at.vectors.end",
        "%at.blocks.begin",
        "%at.blocks.end",
        "%at.slides.begin",
        "%at.slides.end",
        "%at.tile.begin",
    ];

    fn values(&self) -> [&str; 8] {
        let [vectors, blocks, slides] = [&self.vectors, &self.blocks, &self.slides];
        [
            &self.step,
            &vectors.0,
            &vectors.1,
            &blocks.0,
            &blocks.1,
            &slides.0,
            &slides.1,
            &self.tile_begin,
        ]
    }

    /// First point of the tile along I, J, K.
    fn tile(&self, roles: Roles) -> [String; 3] {
        let mut tile: [String; 3] = Default::default();
        tile[roles.vector.index()] = self.vectors.0.clone();
        tile[roles.block.index()] = self.tile_begin.clone();
        tile[roles.slide.index()] = self.slides.0.clone();
        tile
    }

    /// The place as a part of the nest sees it.
    fn inside(&self) -> Place {
        let [step, values @ ..] = Self::NAMES.map(str::to_owned);
        let [v0, v1, b0, b1, s0, s1, tile_begin] = values;
        Place {
            step,
            vectors: (v0, v1),
            blocks: (b0, b1),
            slides: (s0, s1),
            tile_begin,
            most: self.most,
            past: self.past,
        }
    }
}

/// How far a stage is ahead of those that are computed at the step itself.
fn lag(nest: &RowNest, stage: &Stage) -> i32 {
    let (before, after) = stage.extent.beyond(nest.extent).along(nest.roles.slide);
    before + after
}

/// Makes a function of some stages of a nest at a place, and calls it.
fn call_part(
    name: &str,
    context: &Context<'_>,
    b: &mut Builder,
    (nest, part): (&RowNest, &RowNest),
    place: &Place,
    body: impl FnOnce(&mut Builder, &Entry, &Place),
) {
    let mut builder = Builder::new();
    let mut entry = entry::entry(context, &mut builder, Loops::Rows(part));
    let streamed = Loops::Rows(nest).streamed();
    entry.streamed.retain(|target| streamed.contains(target));
    body(&mut builder, &entry, &place.inside());
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
                };
                row::stage(context, entry, b, stage, &row, &vectors, &|_, _, _, _| {});
            };
            for_blocks(context, entry, b, (&blocks, place), stage.interval, each);
        };
        match is_ready(entry, b, nest, stage, &at, place) {
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
