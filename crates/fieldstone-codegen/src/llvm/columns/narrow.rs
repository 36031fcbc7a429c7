//! Sweeps over a block of columns that is a few vectors wide. Groups of levels are transposed when a sweep comes to them, or is
//! done with them, so that little more than what several sweeps need is kept.
//!
//! A block has room for all lanes of its vectors. Those that have no columns are computed like the others, but only those that
//! have are read and written outside of scratch.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Order;
use fieldstone_stencil::schedule::{Stage, Sweep};

use crate::direct::Direct;
use crate::transposed::Moment;

use super::super::body::Known;
use super::super::builder::Builder;
use super::super::range::{clip_levels, level};
use super::super::row;
use super::super::transposition::Way;
use super::super::width;
use super::ColumnBlock;
use super::ahead::{self, Columns};
use super::carried::Carried;
use super::direct::split;
use super::groups::Moves;
use super::meanwhile::Meanwhile;
use super::moves::Move;
use super::part::Part;

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
}

/// From the first of some ranges to the last.
fn range_of_all<'a>(
    b: &mut Builder,
    ranges: impl Iterator<Item = &'a (String, String)>,
) -> (String, String) {
    let (firsts, ends): (Vec<String>, Vec<String>) = ranges.cloned().unzip();
    (b.smallest(&firsts), b.largest(&ends))
}
