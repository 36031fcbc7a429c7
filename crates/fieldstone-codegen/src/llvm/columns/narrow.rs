//! Sweeps over a block of columns that is a few vectors wide. Groups of levels are transposed when a sweep comes to them, or is
//! done with them, so that little more than what several sweeps need is kept.
//!
//! A block has room for all lanes of its vectors. Those that have no columns are computed like the others, but only those that
//! have are read and written outside of scratch.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::ir::{Order, StmtKind, Target};
use fieldstone_stencil::schedule::{Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Offset};

use crate::direct::Direct;
use crate::transposed::{Moment, Next};

use super::super::body::Known;
use super::super::builder::Builder;
use super::super::memory::{lane_indices, splat};
use super::super::range::clip_levels;
use super::super::row::{self, Vectors};
use super::super::transposition::Way;
use super::super::types::Lanes;
use super::super::width;
use super::ahead::{self, Columns};
use super::carried::Carried;
use super::direct::split;
use super::meanwhile::Meanwhile;
use super::{ColumnBlock, Move, level};

/// What moves between arrays and scratch while a sweep runs.
#[derive(Default)]
struct Moves<'a> {
    /// When a group begins.
    loads: Vec<&'a Move<'a>>,
    /// Between the levels of the group before.
    meanwhile: Vec<&'a Move<'a>>,
    /// When the group before begins.
    ahead: Vec<&'a Move<'a>>,
    /// When a group is done.
    stores: Vec<&'a Move<'a>>,
}

impl<'a> Moves<'a> {
    fn of_sweep(all: &'a [Move<'a>], sweep: usize) -> Moves<'a> {
        let mut found = Moves::default();
        for each in all {
            match (each.moment, each.way) {
                (Moment::Sweep { number, .. }, _) if number != sweep => {}
                (Moment::Sweep { next, .. }, Way::In) => match next {
                    Next::Then => found.loads.push(each),
                    Next::Meanwhile => found.meanwhile.push(each),
                    Next::Before => found.ahead.push(each),
                },
                (Moment::Sweep { .. }, Way::Out) => found.stores.push(each),
                (Moment::Apart, _) => {}
            }
        }
        found
    }
}

/// Neighbouring columns of a block, and what is known of them at a level.
pub(super) struct Part<'a> {
    pub first: &'a str,
    pub columns: usize,
    pub known: HashMap<Lanes, Vec<Known>>,
    /// What is known and not stored.
    pub kept: HashSet<Target>,
}

impl ColumnBlock<'_> {
    pub(super) fn compute_narrow(&self, b: &mut Builder, next: &[Columns]) {
        let moves = self.moves(b);
        let apart = |way: Way| {
            let apart = move |each: &&Move<'_>| each.way == way && each.moment == Moment::Apart;
            moves.iter().filter(apart)
        };
        apart(Way::In).for_each(|each| self.transpose_all(b, each));
        let shares = ahead::shares(self.nest, next);
        for (number, (sweep, next)) in self.nest.sweeps.iter().zip(shares).enumerate() {
            let moves = Moves::of_sweep(&moves, number);
            let direct = self.context.scratch.direct[number].as_ref();
            self.sweep_in_groups(b, (sweep, direct), &moves, next);
        }
        apart(Way::Out).for_each(|each| self.transpose_all(b, each));
    }

    fn sweep_in_groups(
        &self,
        b: &mut Builder,
        (sweep, direct): (&Sweep, Option<&Direct>),
        moves: &Moves<'_>,
        next: &[Columns],
    ) {
        let side = self.context.scratch.square;
        let sections = sweep.sections.iter();
        let ranges: Vec<(String, String)> = sections
            .map(|(interval, _)| clip_levels(self.entry, b, *interval, self.entry.levels.clone()))
            .collect();
        let sections = sweep.sections.iter();
        let fetches = sections.map(|(interval, _)| interval.start.level != interval.end.level);
        let fetches: Vec<bool> = fetches.collect();
        let (first, end) = range_of_all(b, ranges.iter());
        let several = ranges.iter().zip(&fetches).filter(|(_, fetches)| **fetches);
        let fetching = range_of_all(b, several.map(|(range, _)| range));
        let lowest = b.value(format_args!("and i64 {first}, -{side}"));
        let last = b.add(&end, -1);
        let highest = b.value(format_args!("and i64 {last}, -{side}"));
        let upwards = sweep.order != Order::Backward;
        let beginning = if upwards { &lowest } else { &highest };
        self.transpose_group(b, &moves.ahead, beginning, upwards);
        self.transpose_group(b, &moves.meanwhile, beginning, upwards);
        let distance = b.sub(&highest, &lowest);
        let behind = b.add(&distance, 1);
        b.for_loop("0", &behind, &side.to_string(), |b, distance| {
            let (group, following) = if upwards {
                let group = b.add(&lowest, distance);
                let following = b.add(&group, side);
                (group, following)
            } else {
                let group = b.sub(&highest, distance);
                let following = b.sub(&group, side);
                (group, following)
            };
            self.transpose_group(b, &moves.ahead, &following, upwards);
            if let Some(direct) = direct {
                let levels = (first.as_str(), end.as_str());
                let direct = (direct, sweep.sections[0].1.as_slice());
                return self.direct_group(b, direct, moves, (&group, levels, &fetching), next);
            }
            self.transpose_group(b, &moves.loads, &group, upwards);
            let group_end = b.add(&group, side);
            let meanwhile = self.meanwhile(
                b,
                &moves.meanwhile,
                (&group, &following),
                &fetching,
                upwards,
            );
            for ((section, levels), fetches) in sweep.sections.iter().zip(&ranges).zip(&fetches) {
                let next = if *fetches { next } else { &[] };
                let meanwhile = meanwhile.as_ref().filter(|_| *fetches);
                let levels = (b.max(&levels.0, &group), b.min(&levels.1, &group_end));
                let any = b.value(format_args!("icmp slt i64 {}, {}", levels.0, levels.1));
                b.when(&any, |b| {
                    self.section(
                        b,
                        sweep.order,
                        &section.1,
                        (&group, &levels),
                        (next, meanwhile),
                    )
                });
            }
            self.fetch_rest(b, next, &group, &fetching);
            if let Some(meanwhile) = &meanwhile {
                let not_yet = b.not(&meanwhile.is_possible);
                b.when(&not_yet, |b| {
                    self.transpose_group(b, &moves.meanwhile, &following, upwards)
                });
            }
            self.transpose_group(b, &moves.stores, &group, upwards);
        });
    }

    /// A group of a sweep upwards whose vectors may be levels of a column.
    fn direct_group(
        &self,
        b: &mut Builder,
        (direct, stages): (&Direct, &[Stage]),
        moves: &Moves<'_>,
        (group, (first, end), fetching): (&str, (&str, &str), &(String, String)),
        next: &[Columns],
    ) {
        let whole = self.is_whole(b, group, (first, end));
        let part = b.not(&whole);
        let (spared, others) = split(&moves.loads, direct);
        b.when(&part, |b| self.transpose_group(b, &spared, group, true));
        self.transpose_group(b, &others, group, true);
        let behind = b.add(group, self.context.scratch.square);
        let levels = (b.max(first, group), b.min(end, &behind));
        self.direct(b, (direct, stages), (group, &levels), &whole, next);
        self.fetch_rest(b, next, group, fetching);
        b.when(&whole, |b| self.turn(b, direct, group));
        let (spared, others) = split(&moves.stores, direct);
        b.when(&part, |b| self.transpose_group(b, &spared, group, true));
        self.transpose_group(b, &others, group, true);
    }

    /// Transposes the levels of a group, those that there are.
    fn transpose_group(&self, b: &mut Builder, moves: &[&Move<'_>], group: &str, upwards: bool) {
        let side = self.context.scratch.square as i64;
        let mut known: HashMap<_, (String, String)> = HashMap::new();
        for each in moves {
            let whole = self.takes_whole_squares(each);
            let (lowest, end) = &each.levels;
            let levels = known
                .entry((lowest, end, whole))
                .or_insert_with(|| self.levels_of_group(b, each, group));
            let inside = self.inside(b, each, group);
            let following = if upwards { side } else { -side };
            self.transpose(b, each, &inside, (&levels.0, &levels.1), following);
        }
    }

    /// The levels of a group that are transposed, those that there are.
    pub(super) fn levels_of_group(
        &self,
        b: &mut Builder,
        each: &Move<'_>,
        group: &str,
    ) -> (String, String) {
        let side = self.context.scratch.square as i64;
        let (lowest, end) = &each.levels;
        let behind = b.add(group, side);
        let (first, behind) = (b.max(group, lowest), b.min(&behind, end));
        if !self.takes_whole_squares(each) {
            return (first, behind);
        }
        let any = b.value(format_args!("icmp slt i64 {first}, {behind}"));
        let latest = b.add(end, -side);
        let latest = b.max(&latest, lowest);
        let latest = b.min(&first, &latest);
        let first = b.value(format_args!("select i1 {any}, i64 {latest}, i64 {first}"));
        (first, behind)
    }

    /// Where level zero lies in scratch; in a ring, where it would lie if that of a group went on and on.
    pub(super) fn inside(&self, b: &mut Builder, each: &Move<'_>, group: &str) -> String {
        let Some(window) = each.window else {
            return each.inside.clone();
        };
        let laps = b.value(format_args!("and i64 {group}, -{window}"));
        let bytes = b.mul(&laps, self.context.scratch.level_bytes);
        let bytes = b.sub("0", &bytes);
        b.offset(&each.inside, &bytes)
    }

    /// Whether a square has all its levels where there are as many: that is faster than what is left of one, even if some levels are
    /// there already, unless they have changed.
    fn takes_whole_squares(&self, each: &Move<'_>) -> bool {
        each.way == Way::In && !self.changes(each)
    }

    /// Whether the sweep that loads levels of an array writes to them.
    fn changes(&self, each: &Move<'_>) -> bool {
        match each.moment {
            Moment::Sweep { number, .. } => each.array.is_written_in(&self.nest.sweeps[number]),
            Moment::Apart => each.array.store.is_some(),
        }
    }

    /// The levels of a section in a group, at least one. What one level takes from the one before is kept in registers.
    fn section(
        &self,
        b: &mut Builder,
        order: Order,
        stages: &[Stage],
        (group, levels): (&str, &(String, String)),
        (next, meanwhile): (&[Columns], Option<&Meanwhile>),
    ) {
        let carried = self.carried(order, stages);
        let first = self.row(&level(b, order, levels, &levels.0));
        let values = carried.iter().map(|each| {
            let (kind, key) = (each.lanes.value(each.dtype), (each.target, each.before));
            let first_column = b.add(&self.columns.0, each.first);
            let (context, entry) = (self.context, self.entry);
            let value = row::value(context, entry, b, &first, key, &first_column, each.lanes);
            (kind, value)
        });
        let mut values: Vec<(String, String)> = values.collect();
        values.push((String::from("i64"), levels.0.clone()));
        let (name, names) = b.begin_repeat(&values);
        let count = &names[carried.len()];
        let more = b.value(format_args!("icmp slt i64 {count}, {}", levels.1));
        b.repeat_while(&name, &more);
        let here = level(b, order, levels, count);
        let turn = b.sub(&here, group);
        self.fetch(b, next, group, &turn);
        if let Some(meanwhile) = meanwhile {
            self.transpose_meanwhile(b, meanwhile, &turn);
        }
        if carried.is_empty() {
            self.part_by_part(b, stages, &here);
        } else {
            let found = self.with_carried(b, stages, &here, &carried, &names);
            found
                .into_iter()
                .zip(&mut values)
                .for_each(|(value, all)| all.1 = value);
        }
        values[carried.len()].1 = b.add(count, 1);
        b.end_repeat(&name, &values);
        let last = b.add(&levels.1, -1);
        let last = self.row(&level(b, order, levels, &last));
        for (each, value) in carried.iter().zip(names).filter(|(each, _)| each.kept) {
            let first_column = b.add(&self.columns.0, each.first);
            let (context, entry, target) = (self.context, self.entry, (each.target, value));
            row::store(context, entry, b, &last, target, &first_column, each.lanes);
        }
    }

    /// The stages of a level that reads what is carried from the level before; returns what it leaves to the next.
    fn with_carried(
        &self,
        b: &mut Builder,
        stages: &[Stage],
        level: &str,
        carried: &[Carried],
        names: &[String],
    ) -> Vec<String> {
        let all: Vec<(&Carried, &String)> = carried.iter().zip(names).collect();
        let columns = self.context.scratch.vector.unwrap_or_default();
        let Some(half) = self.half(stages) else {
            return self.of_columns(b, stages, level, (0, columns), &all);
        };
        let is_first = |(each, _): &(&Carried, &String)| each.first < half;
        let (first, second): (Vec<_>, Vec<_>) = all.iter().partition(|each| is_first(each));
        let first = self.of_columns(b, stages, level, (0, half), &first);
        let kinds: Vec<String> = (second.iter())
            .map(|(each, _)| each.lanes.value(each.dtype))
            .collect();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let before = second.iter().map(|(_, name)| (*name).clone()).collect();
        let end = b.add(&self.columns.0, half);
        let is_narrow = b.value(format_args!("icmp sle i64 {}, {end}", self.columns.1));
        let second = b.choose(&is_narrow, &kinds, before, |b| {
            self.of_columns(b, stages, level, (half, columns), &second)
        });
        let (mut first, mut second) = (first.into_iter(), second.into_iter());
        let found = all.iter().map(|each| match is_first(each) {
            true => first.next(),
            false => second.next(),
        });
        found.flatten().collect()
    }

    /// How many columns of a block are computed whether or not it has more, at least two vectors, of which one is computed while the
    /// other waits; `None` where it is always all.
    fn half(&self, stages: &[Stage]) -> Option<usize> {
        let columns = self.context.scratch.vector.unwrap_or_default();
        let half = columns / 2;
        let fits = |stage| {
            let lanes = width::lanes(self.context, stage, columns);
            half.is_multiple_of(2 * lanes.width)
        };
        (half > 0 && stages.iter().all(fits)).then_some(half)
    }

    /// The same for the columns of a block from one on to another.
    fn of_columns(
        &self,
        b: &mut Builder,
        stages: &[Stage],
        level: &str,
        (begin, end): (usize, usize),
        carried: &[(&Carried, &String)],
    ) -> Vec<String> {
        let first = b.add(&self.columns.0, begin);
        let mut part = Part {
            first: &first,
            columns: end - begin,
            known: HashMap::new(),
            kept: HashSet::new(),
        };
        for (each, name) in carried {
            let all = || vec![Known::new(); part.columns / each.lanes.width];
            let known = part.known.entry(each.lanes).or_insert_with(all);
            let known = &mut known[(each.first - begin) / each.lanes.width];
            known.insert((each.target, each.before), (*name).clone());
            if each.kept {
                part.kept.insert(each.target);
            }
        }
        self.stages(b, stages, level, &mut part);
        let value = |(each, _): &(&Carried, &String)| {
            let known = &part.known[&each.lanes][(each.first - begin) / each.lanes.width];
            let value = known.get(&(each.target, Offset::ZERO));
            value
                .expect("what is carried is written at every level")
                .clone()
        };
        carried.iter().map(value).collect()
    }

    /// The stages of a level, for as many columns at a time as the longest vector has.
    fn part_by_part(&self, b: &mut Builder, stages: &[Stage], level: &str) {
        let columns = self.context.scratch.vector.unwrap_or_default();
        let lanes = stages
            .iter()
            .map(|stage| width::lanes(self.context, stage, columns).width);
        let longest = lanes.max().unwrap_or(columns);
        let (first, end) = (&self.columns.0, &self.columns.1);
        b.for_loop(first, end, &longest.to_string(), |b, first| {
            let mut part = Part {
                first,
                columns: longest,
                known: HashMap::new(),
                kept: HashSet::new(),
            };
            self.stages(b, stages, level, &mut part);
        });
    }

    /// The stages of a level for some columns.
    pub(super) fn stages(
        &self,
        b: &mut Builder,
        stages: &[Stage],
        level: &str,
        part: &mut Part<'_>,
    ) {
        let columns = self.context.scratch.vector.unwrap_or_default();
        let row = self.row(level);
        for stage in stages {
            let lanes = width::lanes(self.context, stage, columns);
            let others = part.known.iter_mut().filter(|(other, _)| **other != lanes);
            others.for_each(|(_, known)| forget(known, stage));
            let known = part.known.entry(lanes);
            let known = known.or_insert_with(|| vec![Known::new(); part.columns / lanes.width]);
            let mut vectors = Vectors {
                first: part.first,
                lanes,
                masks: None,
                loose: HashSet::new(),
                kept: part.kept.clone(),
            };
            let (context, entry) = (self.context, self.entry);
            if !self.is_everywhere(stage) {
                let range = self.range(b, stage);
                let any = b.value(format_args!("icmp slt i64 {}, {}", range.0, range.1));
                b.when(&any, |b| {
                    vectors.masks = Some(masks(b, &vectors, known.len(), &range));
                    row::vectors(context, entry, b, stage, &row, &vectors, known);
                });
                continue;
            }
            if self.leaves_scratch(stage) {
                vectors.masks = Some(masks(b, &vectors, known.len(), &self.columns));
                vectors.loose = self.in_scratch(stage);
            }
            row::vectors(context, entry, b, stage, &row, &vectors, known);
        }
    }

    /// Whether a stage is computed for every column of a block.
    pub(super) fn is_everywhere(&self, stage: &Stage) -> bool {
        stage.extent == self.nest.extent && stage.area == Area::FULL
    }

    /// Whether it matters which lanes of a stage have columns.
    fn leaves_scratch(&self, stage: &Stage) -> bool {
        let mut leaves = false;
        for statement in &stage.statements {
            statement.walk(&mut |inner| {
                leaves |= inner.may_fail() || matches!(inner.kind, StmtKind::While { .. });
            });
            let accesses = Accesses::of(statement);
            let read = accesses.reads.iter().map(|(target, _)| *target);
            let mut all = read
                .chain(accesses.written())
                .chain(accesses.afar.iter().copied());
            leaves |= all.any(|target| self.is_array(target) && !self.is_in_scratch(target));
        }
        leaves
    }

    /// What a stage accesses in scratch.
    fn in_scratch(&self, stage: &Stage) -> HashSet<Target> {
        let mut found = HashSet::new();
        for accesses in stage.statements.iter().map(Accesses::of) {
            found.extend(accesses.reads.iter().map(|(target, _)| *target));
            found.extend(accesses.written());
        }
        found.retain(|target| self.is_in_scratch(*target));
        found
    }

    fn is_in_scratch(&self, target: Target) -> bool {
        let scratch = self.context.scratch;
        let is_transposed = scratch
            .transposed
            .iter()
            .any(|(array, _)| array.target == target);
        is_transposed || matches!(target, Target::Temp(id) if scratch.places.contains_key(&id))
    }

    /// Whether a target has an element for each column, and it is in memory.
    fn is_array(&self, target: Target) -> bool {
        let stencil = &self.context.program.stencil;
        self.context.schedule.is_array(target)
            && stencil.target_axes(target).contains(self.nest.vector)
    }
}

/// From the first of some ranges to the last.
fn range_of_all<'a>(
    b: &mut Builder,
    ranges: impl Iterator<Item = &'a (String, String)>,
) -> (String, String) {
    let (firsts, ends): (Vec<String>, Vec<String>) = ranges.cloned().unzip();
    (b.smallest(&firsts), b.largest(&ends))
}

/// Which lanes of so many vectors are in a range of columns.
fn masks(
    b: &mut Builder,
    vectors: &Vectors<'_>,
    count: usize,
    range: &(String, String),
) -> Vec<String> {
    let lanes = vectors.lanes;
    let kind = lanes.of("i64");
    let [first, end] = [&range.0, &range.1].map(|bound| splat(b, lanes, "i64", bound));
    let one = |number: usize| {
        let index = b.add(vectors.first, number * lanes.width);
        let indices = lane_indices(b, lanes, &index);
        let begun = b.value(format_args!("icmp sge {kind} {indices}, {first}"));
        let goes_on = b.value(format_args!("icmp slt {kind} {indices}, {end}"));
        b.value(format_args!("and {} {begun}, {goes_on}", lanes.of("i1")))
    };
    (0..count).map(one).collect()
}

/// Removes what a stage writes from what is known of targets.
fn forget(known: &mut [Known], stage: &Stage) {
    let written: HashSet<Target> = (stage.statements.iter())
        .flat_map(|statement| Accesses::of(statement).written().collect::<Vec<_>>())
        .collect();
    for known in known {
        known.retain(|(target, _), _| !written.contains(target));
    }
}
