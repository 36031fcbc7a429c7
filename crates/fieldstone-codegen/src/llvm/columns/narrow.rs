//! Sweeps over a block of columns that is a few vectors wide. Groups of levels are transposed when a sweep comes to them, or is
//! done with them, so that little more than what several sweeps need is kept.
//!
//! A block has room for all lanes of its vectors. Those that have no columns are computed like the others, but only those that
//! have are read and written outside of scratch.

use fieldstone_stencil::Interval;
use fieldstone_stencil::schedule::{Stage, Sweep};

use crate::direct::Direct;
use crate::transposed::Moment;

use super::super::builder::Builder;
use super::super::range::clip_levels;
use super::super::transposition::Way;
use super::ColumnBlock;
use super::ahead::{self, Columns};
use super::course::Course;
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
        let sections = sweep.sections.iter();
        let ranges: Vec<(String, String)> = sections
            .map(|(interval, _)| clip_levels(self.entry, b, *interval, self.entry.levels.clone()))
            .collect();
        let is_long = |(interval, _): &(Interval, _)| interval.start.level != interval.end.level;
        let long = sweep.sections.iter().position(is_long);
        let course = self.course(b, sweep.order, &ranges, long);
        self.transpose_group(b, &moves.ahead, course.beginning(), course.upwards);
        if let Some(direct) = direct {
            let direct = (direct, sweep.sections[0].1.as_slice());
            return self.groups_directly(b, direct, moves, &course, next);
        }
        for (number, ((_, stages), levels)) in sweep.sections.iter().zip(&ranges).enumerate() {
            let any = b.value(format_args!("icmp slt i64 {}, {}", levels.0, levels.1));
            b.when(&any, |b| {
                let section = Section {
                    order: sweep.order,
                    stages,
                    levels,
                    past: false,
                };
                self.section(b, &section, |b, level| {
                    let (group, turn) = course.place_of(b, level);
                    self.begin_group(b, moves, &course, (level, &group, &turn));
                    self.fetch(b, next, &group, &turn);
                    if Some(number) == long {
                        self.transpose_meanwhile(b, &moves.meanwhile, &course, (&group, &turn));
                    }
                });
            });
        }
        self.fetch_rest(b, next, &course.highest, &course.levels);
        self.transpose_group(b, &moves.stores, course.ending(), course.upwards);
    }

    /// The groups of a sweep upwards whose vectors may be levels of a column.
    fn groups_directly(
        &self,
        b: &mut Builder,
        direct: (&Direct, &[Stage]),
        moves: &Moves<'_>,
        course: &Course<'_>,
        next: &[Columns],
    ) {
        let side = course.side as i64;
        let end = b.add(&course.highest, 1);
        b.for_loop(&course.lowest, &end, &side.to_string(), |b, group| {
            let following = course.behind(b, group, 1);
            self.transpose_group(b, &moves.ahead, &following, true);
            self.direct_group(b, direct, moves, (group, &course.levels), next);
        });
    }

    /// One of these groups.
    fn direct_group(
        &self,
        b: &mut Builder,
        (direct, stages): (&Direct, &[Stage]),
        moves: &Moves<'_>,
        (group, (first, end)): (&str, &(String, String)),
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
        self.fetch_rest(b, next, group, &levels);
        b.when(&whole, |b| self.turn(b, direct, group));
        let (spared, others) = split(&moves.stores, direct);
        b.when(&part, |b| self.transpose_group(b, &spared, group, true));
        self.transpose_group(b, &others, group, true);
    }
}
