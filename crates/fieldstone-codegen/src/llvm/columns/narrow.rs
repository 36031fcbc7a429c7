//! Sweeps over a block of columns that is a few vectors wide. Groups of levels are transposed when a sweep comes to them, or is
//! done with them, so that little more than what several sweeps need is kept.
//!
//! A block has room for all lanes of its vectors. Those that have no columns are computed like the others, but only those that
//! have are read and written outside of scratch.

use fieldstone_stencil::ir::Order;
use fieldstone_stencil::schedule::{Stage, Sweep};

use crate::direct::Direct;
use crate::transposed::Moment;

use super::super::builder::Builder;
use super::super::range::clip_levels;
use super::super::transposition::Way;
use super::ColumnBlock;
use super::ahead::{self, Columns};
use super::direct::split;
use super::groups::Moves;
use super::moves::Move;
use super::section::Section;

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
                    let section = Section {
                        order: sweep.order,
                        stages: &section.1,
                        levels: &levels,
                        past: false,
                    };
                    self.section(b, &section, |b, level| {
                        let turn = b.sub(level, &group);
                        self.fetch(b, next, &group, &turn);
                        if let Some(meanwhile) = meanwhile {
                            self.transpose_meanwhile(b, meanwhile, &turn);
                        }
                    });
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
}

/// From the first of some ranges to the last.
fn range_of_all<'a>(
    b: &mut Builder,
    ranges: impl Iterator<Item = &'a (String, String)>,
) -> (String, String) {
    let (firsts, ends): (Vec<String>, Vec<String>) = ranges.cloned().unzip();
    (b.smallest(&firsts), b.largest(&ends))
}
