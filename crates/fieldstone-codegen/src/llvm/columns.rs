//! The loops of a nest of columns: blocks of columns, the sweeps over each, and the stages of each level.

use std::collections::{BTreeMap, HashMap, HashSet};

use fieldstone_stencil::carried::cover;
use fieldstone_stencil::ir::{Order, Target, TempId};
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axis, Extent, Offset};

use crate::tile::Block;
use crate::transposed::{Moment, Transposed};

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::place::{self, Row};
use super::range::{clip_area, clip_levels, in_area, tile_range};
use super::row::{self, Known};
use super::transposition::{Plane, Squares, Way};
use super::types::Lanes;

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
fn squares(context: &Context<'_>) -> Vec<Squares> {
    let scratch = context.scratch;
    let ways = |array: &Transposed| {
        let load = array.load.then_some(Way::In);
        let store = array.store.map(|_| Way::Out);
        load.into_iter().chain(store)
    };
    let arrays = scratch.transposed.iter().map(|(array, _)| array);
    let squares = arrays.flat_map(|array| ways(array).map(|way| squares_of(context, way, array)));
    let mut seen = HashSet::new();
    let squares = squares.filter(|squares| seen.insert(*squares));
    squares.collect()
}

fn squares_of(context: &Context<'_>, way: Way, array: &Transposed) -> Squares {
    Squares {
        way,
        size: array.dtype.size(),
        side: context.scratch.square,
        pitch: context.scratch.level_bytes,
    }
}

/// How a statement uses a temporary.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Read(Offset),
    Write,
    /// At levels that are computed.
    Afar,
}

/// What moves while a sweep runs.
fn of_sweep<'a>(moves: &'a [Move<'a>], sweep: usize) -> Moves<'a> {
    let mut found = Moves::default();
    for each in moves {
        match (each.moment, each.way) {
            (Moment::Sweep { number, ahead }, Way::In) if number == sweep => {
                found.loads.push((each, ahead));
            }
            (Moment::Sweep { number, .. }, Way::Out) if number == sweep => found.stores.push(each),
            _ => {}
        }
    }
    found
}

/// About how long a level of a sweep takes, in accesses; nothing for one that does not visit every level.
fn weight(sweep: &Sweep) -> usize {
    if !cover(sweep.sections.iter().map(|(interval, _)| *interval)) {
        return 0;
    }
    let accesses = |stages: &Vec<Stage>| {
        let statements = stages.iter().flat_map(|stage| &stage.statements);
        let all = statements.map(Accesses::of);
        all.map(|accesses| accesses.reads.len() + accesses.writes.len())
            .sum::<usize>()
    };
    let computed = (sweep.sections.iter())
        .map(|(_, stages)| accesses(stages))
        .max();
    LATENCY + computed.unwrap_or(0)
}

/// What a level waits for the one before, in accesses.
const LATENCY: usize = 8;

/// Removes what a stage writes from what is known of targets.
fn forget(known: &mut [Known], stage: &Stage) {
    let written: HashSet<Target> = (stage.statements.iter())
        .flat_map(|statement| Accesses::of(statement).written().collect::<Vec<_>>())
        .collect();
    for known in known {
        known.retain(|(target, _), _| !written.contains(target));
    }
}

/// The level that is the `count`th of a section.
fn level(b: &mut Builder, order: Order, levels: &(String, String), count: &str) -> String {
    match order {
        Order::Backward => {
            let last = b.add(&levels.1, -1);
            let first = b.sub(&last, count);
            b.add(&first, levels.0.as_str())
        }
        Order::Forward | Order::Parallel => count.to_string(),
    }
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

/// What moves between arrays and scratch while a sweep runs.
#[derive(Default)]
struct Moves<'a> {
    /// Whether the next levels are moved, or these.
    loads: Vec<(&'a Move<'a>, bool)>,
    stores: Vec<&'a Move<'a>>,
    next: &'a [Ahead],
    /// Whether the block has all its columns.
    full: bool,
}

/// The columns of an array, on their way.
struct Move<'a> {
    way: Way,
    array: &'a Transposed,
    plane: Plane,
    moment: Moment,
    /// First level that is accessed and one past the last.
    levels: (String, String),
}

impl ColumnBlock<'_> {
    fn compute(&self, b: &mut Builder, next: &[Ahead]) {
        let moves = self.moves(b);
        let apart = |way: Way| {
            let apart = move |each: &&Move<'_>| each.way == way && each.moment == Moment::Apart;
            moves.iter().filter(apart)
        };
        for each in apart(Way::In) {
            self.transpose(b, each.way, each.array, &each.plane);
        }
        if self.context.scratch.slim {
            let count = b.sub(&self.columns.1, &self.columns.0);
            let columns = self.context.scratch.vector.unwrap_or_default();
            let full = b.value(format_args!("icmp eq i64 {count}, {columns}"));
            let part = b.value(format_args!("xor i1 {full}, true"));
            b.when(&full, |b| self.sweeps(b, true, &moves, next));
            b.when(&part, |b| self.sweeps(b, false, &moves, next));
        } else {
            self.sweeps(b, false, &moves, next);
        }
        for each in apart(Way::Out) {
            self.transpose(b, each.way, each.array, &each.plane);
        }
    }

    fn moves(&self, b: &mut Builder) -> Vec<Move<'_>> {
        let scratch = self.context.scratch;
        let mut moves = Vec::new();
        for (array, block) in &scratch.transposed {
            let mut add = |way, levels: (i32, i32), plane, moment: Moment| {
                let first = b.add(&self.entry.first_level, -levels.0);
                let last = b.add(&self.entry.domain[2], levels.1);
                moves.push(Move {
                    way,
                    array,
                    plane: self.plane(b, array, *block, plane, levels),
                    moment: if scratch.slim { moment } else { Moment::Apart },
                    levels: (first, last),
                });
            };
            if array.load {
                let plane = (array.extent, array.across);
                let moment = array.loading(self.nest, scratch.square);
                add(Way::In, array.levels, plane, moment);
            }
            // Results lie in the domain; levels that are never accessed were not loaded and need not exist.
            if let Some(extent) = array.store {
                let levels = (array.levels.0.min(0), array.levels.1.min(0));
                let moment = array.storing(self.nest);
                add(Way::Out, levels, (extent, (0, 0)), moment);
            }
        }
        moves
    }

    /// All sweeps, of blocks that have as many columns as blocks have or of any others.
    fn sweeps(&self, b: &mut Builder, full: bool, moves: &[Move<'_>], next: &[Ahead]) {
        let sweeps = self.nest.sweeps.iter().enumerate();
        let mut all: Vec<Moves<'_>> = sweeps.map(|(number, _)| of_sweep(moves, number)).collect();
        // Lines that are asked for all at once would wait for each other, so every sweep asks for its share.
        let weights: Vec<usize> = self.nest.sweeps.iter().map(weight).collect();
        let total = weights.iter().sum::<usize>().max(1);
        let mut so_far = 0;
        for (moves, weight) in all.iter_mut().zip(weights) {
            let [first, end] =
                [so_far, so_far + weight].map(|part| (part * next.len() + total / 2) / total);
            moves.next = &next[first..end];
            moves.full = full;
            so_far += weight;
        }
        for (sweep, moves) in self.nest.sweeps.iter().zip(&all) {
            self.sweep(b, sweep, full, moves);
        }
    }

    fn sweep(&self, b: &mut Builder, sweep: &Sweep, full: bool, moves: &Moves<'_>) {
        let first = match sweep.order {
            Order::Backward => b.add(&self.entry.domain[2], -1),
            Order::Forward | Order::Parallel => self.entry.first_level.clone(),
        };
        let first = self.group(b, &first);
        for (load, _) in moves.loads.iter().filter(|(_, ahead)| *ahead) {
            self.transpose_group(b, load, &first, full);
        }
        for (interval, stages) in &sweep.sections {
            let levels = clip_levels(self.entry, b, *interval, self.entry.levels.clone());
            if full {
                let any = b.value(format_args!("icmp slt i64 {}, {}", levels.0, levels.1));
                b.when(&any, |b| {
                    self.full_section(b, sweep.order, stages, &levels, moves);
                });
                continue;
            }
            b.for_loop(&levels.0, &levels.1, "1", |b, count| {
                let level = level(b, sweep.order, &levels, count);
                self.begin(b, sweep.order, &level, moves);
                for stage in stages {
                    self.stage(b, stage, &level);
                }
                self.end(b, sweep.order, &level, moves);
            });
        }
    }

    /// The first level of the group that a level belongs to; groups are transposed at a time.
    fn group(&self, b: &mut Builder, level: &str) -> String {
        b.value(format_args!(
            "and i64 {level}, -{}",
            self.context.scratch.square
        ))
    }

    /// Whether a level is the lowest of its group, or the highest.
    fn is_border(&self, b: &mut Builder, level: &str, lowest: bool) -> String {
        let side = self.context.scratch.square;
        let place = b.value(format_args!("and i64 {level}, {}", side - 1));
        if lowest {
            return b.value(format_args!("icmp eq i64 {place}, 0"));
        }
        let highest = b.value(format_args!("icmp eq i64 {place}, {}", side - 1));
        let last = b.add(&self.entry.domain[2], -1);
        let last = b.value(format_args!("icmp eq i64 {level}, {last}"));
        b.value(format_args!("or i1 {highest}, {last}"))
    }

    /// What is to be done before a level is computed.
    fn begin(&self, b: &mut Builder, order: Order, level: &str, moves: &Moves<'_>) {
        if moves.loads.is_empty() && moves.next.is_empty() {
            return;
        }
        let upwards = order != Order::Backward;
        let border = self.is_border(b, level, upwards);
        b.when(&border, |b| {
            let group = self.group(b, level);
            let side = self.context.scratch.square as i64;
            let ahead = b.add(&group, if upwards { side } else { -side });
            for (load, is_ahead) in &moves.loads {
                let group = if *is_ahead { &ahead } else { &group };
                self.transpose_group(b, load, group, moves.full);
            }
            self.fetch(b, moves.next, &group);
        });
    }

    /// What is to be done behind a level.
    fn end(&self, b: &mut Builder, order: Order, level: &str, moves: &Moves<'_>) {
        if moves.stores.is_empty() {
            return;
        }
        let border = self.is_border(b, level, order == Order::Backward);
        b.when(&border, |b| {
            let group = self.group(b, level);
            for store in &moves.stores {
                self.transpose_group(b, store, &group, moves.full);
            }
        });
    }

    /// Transposes the levels of a group, where there are any.
    fn transpose_group(&self, b: &mut Builder, each: &Move<'_>, group: &str, full: bool) {
        let scratch = self.context.scratch;
        let end = b.add(group, scratch.square);
        let mut first = b.max(group, &each.levels.0);
        let end = b.min(&end, &each.levels.1);
        let any = b.value(format_args!("icmp slt i64 {first}, {end}"));
        b.when(&any, |b| {
            if each.way == Way::In && each.array.store.is_none() {
                // A whole square is faster than what is left of one, even if some levels are there already.
                let whole = b.add(&each.levels.1, -(scratch.square as i64));
                let whole = b.max(&whole, &each.levels.0);
                first = b.min(&first, &whole);
            }
            let skip = b.sub(&first, &each.levels.0);
            let [bytes, rows] =
                [each.array.dtype.size(), scratch.level_bytes].map(|step| b.mul(&skip, step));
            let plane = Plane {
                array: b.offset(&each.plane.array, bytes),
                scratch: b.offset(&each.plane.scratch, rows),
                levels: b.sub(&end, &first),
                ..each.plane.clone()
            };
            let extent = match each.way {
                Way::In => each.array.extent,
                Way::Out => each.array.store.unwrap_or_default(),
            };
            if !full || extent != self.nest.extent || each.array.across != (0, 0) {
                return self.transpose(b, each.way, each.array, &plane);
            }
            let side = scratch.square;
            let whole = b.value(format_args!("icmp eq i64 {}, {side}", plane.levels));
            let rest = b.value(format_args!("xor i1 {whole}, true"));
            b.when(&whole, |b| {
                let squares = squares_of(self.context, each.way, each.array);
                squares.call_whole(self.name, b, &plane, scratch.vector.unwrap_or(side));
            });
            b.when(&rest, |b| self.transpose(b, each.way, each.array, &plane));
        });
    }

    /// The levels of a section, at least one, of a block that has all its columns. What one level takes from the one before is
    /// kept in registers.
    fn full_section(
        &self,
        b: &mut Builder,
        order: Order,
        stages: &[Stage],
        levels: &(String, String),
        moves: &Moves<'_>,
    ) {
        let columns = self.context.scratch.vector.unwrap_or_default();
        let carried = self.carried(order, stages);
        let mut values = vec![(String::from("i64"), levels.0.clone())];
        let mut keys = Vec::new();
        for (target, offset, lanes) in &carried {
            let first = level(b, order, levels, &levels.0);
            let row = self.row(&first);
            for number in 0..columns / lanes.width {
                let first = b.add(&self.columns.0, number * lanes.width);
                let (context, key) = (self.context, (*target, *offset));
                let value = row::value(context, self.entry, b, &row, key, &first, *lanes);
                values.push((lanes.value(place::dtype(context, *target)), value));
                keys.push((number, key));
            }
        }
        let (name, names) = b.begin_repeat(&values);
        let more = b.value(format_args!("icmp slt i64 {}, {}", names[0], levels.1));
        b.repeat_while(&name, &more);
        let level = level(b, order, levels, &names[0]);
        self.begin(b, order, &level, moves);
        let mut known: HashMap<Lanes, Vec<Known>> = HashMap::new();
        for stage in stages {
            if !self.is_everywhere(stage) {
                self.stage(b, stage, &level);
                known.values_mut().for_each(|known| forget(known, stage));
                continue;
            }
            let lanes = row::lanes(self.context, stage, columns);
            let others = known.iter_mut().filter(|(other, _)| **other != lanes);
            others.for_each(|(_, known)| forget(known, stage));
            let known = known.entry(lanes).or_insert_with(|| {
                let mut known = vec![Known::new(); columns / lanes.width];
                for ((number, key), name) in keys.iter().zip(&names[1..]) {
                    if carried.contains(&(key.0, key.1, lanes)) {
                        known[*number].insert(*key, name.clone());
                    }
                }
                known
            });
            let (row, first) = (self.row(&level), &self.columns.0);
            row::vectors(
                self.context,
                self.entry,
                b,
                stage,
                &row,
                (first, lanes),
                known,
            );
        }
        self.end(b, order, &level, moves);
        values[0].1 = b.add(&names[0], 1);
        for ((number, (target, offset)), value) in keys.iter().zip(&mut values[1..]) {
            let all = carried
                .iter()
                .find(|all| (all.0, all.1) == (*target, *offset));
            let known = all.and_then(|all| known[&all.2][*number].get(&(*target, Offset::ZERO)));
            value
                .1
                .clone_from(known.expect("what is carried is written at every level"));
        }
        b.end_repeat(&name, &values);
    }

    /// Temporaries that a level writes and reads as the level before it has left them, the offset of that one, and lanes of all
    /// stages that access them.
    fn carried(&self, order: Order, stages: &[Stage]) -> Vec<(Target, Offset, Lanes)> {
        let before = match order {
            Order::Forward => -1,
            Order::Backward => 1,
            Order::Parallel => return Vec::new(),
        };
        let before = Offset([0, 0, before]);
        let columns = self.context.scratch.vector.unwrap_or_default();
        let mut uses: BTreeMap<TempId, Vec<(usize, Use)>> = BTreeMap::new();
        let mut note = |stage, target: Target, how| {
            if let Target::Temp(id) = target {
                uses.entry(id).or_default().push((stage, how));
            }
        };
        for (stage, statements) in stages.iter().map(|stage| &stage.statements).enumerate() {
            for accesses in statements.iter().map(Accesses::of) {
                for (target, offset) in accesses.reads {
                    note(stage, target, Use::Read(offset));
                }
                for (target, _) in accesses.writes {
                    note(stage, target, Use::Write);
                }
                for target in accesses.afar {
                    note(stage, target, Use::Afar);
                }
            }
        }
        // Found once, as that looks at all of a stage.
        let whole = |stage| row::lanes(self.context, stage, columns);
        let lanes = stages
            .iter()
            .map(|stage| self.is_everywhere(stage).then(|| whole(stage)));
        let lanes: Vec<Option<Lanes>> = lanes.collect();
        let in_scratch = |id: &TempId| self.context.scratch.places.contains_key(id);
        let carried = uses.into_iter().filter_map(|(id, uses)| {
            let any = |how: Use| uses.iter().any(|(_, this)| *this == how);
            let of_all = lanes[uses[0].0]?;
            let all = uses
                .iter()
                .all(|(stage, how)| lanes[*stage] == Some(of_all) && *how != Use::Afar);
            let carried = all && in_scratch(&id) && any(Use::Read(before)) && any(Use::Write);
            carried.then_some((Target::Temp(id), before, of_all))
        });
        carried.collect()
    }

    /// Whether a stage is computed for every column of a block that has all its columns.
    fn is_everywhere(&self, stage: &Stage) -> bool {
        stage.extent == self.nest.extent && stage.area == Area::FULL
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

    /// Fetches the lines of the next block's columns in which a group of levels begins.
    fn fetch(&self, b: &mut Builder, next: &[Ahead], group: &str) {
        if next.is_empty() {
            return;
        }
        let columns = self.context.scratch.vector.unwrap_or_default();
        b.for_loop("0", &columns.to_string(), "1", |b, column| {
            for ahead in next {
                let skip = b.mul(column, &ahead.stride);
                let address = b.offset(&ahead.first, skip);
                let bytes = b.mul(group, ahead.size);
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
    }

    /// A level of the block.
    fn row(&self, level: &str) -> Row {
        let (vector, outer) = (self.nest.vector.index(), self.nest.outer().index());
        let mut row = Row {
            vector: self.nest.vector,
            index: Default::default(),
            tile: Default::default(),
            panel: None,
        };
        row.index[outer] = self.row.clone();
        row.index[2] = level.to_string();
        row.tile[vector] = self.columns.0.clone();
        row
    }

    fn stage(&self, b: &mut Builder, stage: &Stage, level: &str) {
        let row = self.row(level);
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

    fn transpose(&self, b: &mut Builder, way: Way, array: &Transposed, plane: &Plane) {
        squares_of(self.context, way, array).call(self.name, b, plane);
    }

    fn plane(
        &self,
        b: &mut Builder,
        array: &Transposed,
        block: Block,
        (extent, across): (Extent, (i32, i32)),
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
            columns: b.value(format_args!("select i1 {none}, i64 0, i64 {wider}")),
            levels: b.sub(&last_level, &first_level),
        }
    }
}
