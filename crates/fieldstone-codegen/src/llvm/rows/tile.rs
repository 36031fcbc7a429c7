//! Which tiles a task computes.

use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{Roles, RowNest, Stage};
use fieldstone_stencil::visit::Accesses;

use super::lag;
use super::order::Place;
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::place;
use crate::llvm::range::tile_range;
use crate::llvm::setting::Setting;

/// Runs `body` for all tiles from `%begin` to `%end`. Those of one plane that follow each other are one tile of several, of which `body` gets
/// one after the other: what all their rows have in common is found once.
pub(super) fn for_tiles(
    Setting {
        context,
        entry,
        nest,
        ..
    }: Setting<'_>,
    b: &mut Builder,
    body: impl FnOnce(&mut Builder, &Place),
) {
    let before = (nest.roles.are_panels()).then(|| levels_before(context, entry, b, nest));
    if !are_planes(context, nest) {
        return b.for_loop("%begin", "%end", "1", |b, task| {
            let tile = tile(entry, b, nest, before.as_deref(), (task, None));
            body(b, &tile);
        });
    }
    let [along_rows, planes] =
        [nest.roles.vector, nest.roles.block].map(|axis| &entry.count[axis.index()]);
    let follow = b.value(format_args!("icmp eq i64 {along_rows}, 1"));
    let (name, names) = b.begin_repeat(&[(String::from("i64"), String::from("%begin"))]);
    let task = &names[0];
    let more = b.value(format_args!("icmp slt i64 {task}, %end"));
    b.repeat_while(&name, &more);
    // Vectors reach beyond their rows: into arrays, but at the first and the last plane, which are tiles of their own.
    let plane = b.value(format_args!("urem i64 {task}, {planes}"));
    let inner = b.value(format_args!("icmp ne i64 {plane}, 0"));
    let several = b.value(format_args!("and i1 {follow}, {inner}"));
    let last = b.sub(planes, 1);
    let (left, tasks) = (b.sub(&last, &plane), b.sub("%end", task));
    let left = b.min(&left, &tasks);
    let left = b.max(&left, "1");
    let count = b.value(format_args!("select i1 {several}, i64 {left}, i64 1"));
    let tile = tile(entry, b, nest, None, (task, Some(&count)));
    b.for_loop(&tile.blocks.0, &tile.blocks.1, "1", |b, plane| {
        let behind = b.add(plane, 1);
        let of_plane = Place {
            blocks: (plane.to_owned(), behind),
            ..tile.clone()
        };
        body(b, &of_plane);
    });
    let next = b.add(task, &count);
    b.end_repeat(&name, &[(String::from("i64"), next)]);
}

/// Whether tiles have one row along the block axis, and stages read no others of what earlier ones make.
pub(super) fn are_planes(context: &Context<'_>, nest: &RowNest) -> bool {
    let block = nest.roles.block;
    let reaches = |stage: &Stage| stage.extent.beyond(nest.extent).along(block) != (0, 0);
    !nest.roles.are_panels()
        && context.scratch.block_rows(nest.roles) <= 1
        && !nest.stages.iter().any(reaches)
}

/// The tile of a task, of levels that begin so many before the first one where points of a row are vectors of them, or as many along the
/// block axis as there are.
fn tile(
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    levels_before: Option<&str>,
    (task, count): (&str, Option<&str>),
) -> Place {
    let roles = nest.roles;
    let [vector_tile, block_tile, slide_tile] = tile_numbers(b, &entry.count, roles, task);
    let range = |b: &mut Builder, axis: Axis, tile: &str| {
        tile_range(entry, b, axis, tile, nest.extent.along(axis))
    };
    let vectors = range(b, roles.vector, &vector_tile);
    let blocks = match levels_before {
        Some(before) => level_tile(entry, b, &block_tile, before),
        None => {
            let (begin, end) = range(b, roles.block, &block_tile);
            match count {
                // Each of them is one row.
                Some(count) => (begin.clone(), b.add(&begin, count)),
                None => (begin, end),
            }
        }
    };
    let slides = range(b, roles.slide, &slide_tile);
    let most = nest.stages.iter().map(|stage| lag(nest, stage)).max();
    Place {
        step: String::new(),
        begin: String::new(),
        vectors,
        planes: blocks.clone(),
        blocks,
        slides,
        most: most.unwrap_or(0),
        pointers: None,
        far: false,
    }
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
