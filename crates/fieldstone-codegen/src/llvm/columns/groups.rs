//! Groups of levels that are transposed when a sweep comes to them, or is done with them.

use std::collections::HashMap;

use crate::transposed::{Moment, Next};

use super::super::builder::Builder;
use super::super::transposition::Way;
use super::ColumnBlock;
use super::course::Course;
use super::moves::Move;

/// What moves between arrays and scratch while a sweep runs.
#[derive(Default)]
pub(super) struct Moves<'a> {
    /// When a group begins.
    pub loads: Vec<&'a Move<'a>>,
    /// Between the levels of the group before.
    pub meanwhile: Vec<&'a Move<'a>>,
    /// When the group before begins.
    pub ahead: Vec<&'a Move<'a>>,
    /// When a group is done.
    pub stores: Vec<&'a Move<'a>>,
}

impl<'a> Moves<'a> {
    pub fn of_sweep(all: &'a [Move<'a>], sweep: usize) -> Moves<'a> {
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

    fn are_none(&self) -> bool {
        let all = [&self.loads, &self.meanwhile, &self.ahead, &self.stores];
        all.iter().all(|moves| moves.is_empty())
    }
}

impl ColumnBlock<'_> {
    /// Transposes what is needed for a group, and the results of the one before, if a level is where the sweep comes to it.
    pub(super) fn begin_group(
        &self,
        b: &mut Builder,
        moves: &Moves<'_>,
        course: &Course<'_>,
        (level, group, turn): (&str, &str, &str),
    ) {
        if moves.are_none() {
            return;
        }
        let upwards = course.upwards;
        let begins = course.begins_group(b, level, turn);
        let rare = b.begin_rare(&begins);
        let before = course.behind(b, group, -1);
        self.transpose_group(b, &moves.stores, &before, upwards);
        match self.meanwhile(b, &moves.meanwhile, course, &before) {
            None => self.transpose_group(b, &moves.meanwhile, group, upwards),
            Some(meanwhile) => {
                let not_yet = b.not(&meanwhile.is_possible);
                b.when(&not_yet, |b| {
                    self.transpose_group(b, &moves.meanwhile, group, upwards)
                });
            }
        }
        let following = course.behind(b, group, 1);
        self.transpose_group(b, &moves.ahead, &following, upwards);
        self.transpose_group(b, &moves.loads, group, upwards);
        b.end_rare_of(&rare, &[]);
    }

    /// Transposes the levels of a group, those that there are.
    pub(super) fn transpose_group(
        &self,
        b: &mut Builder,
        moves: &[&Move<'_>],
        group: &str,
        upwards: bool,
    ) {
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
}
