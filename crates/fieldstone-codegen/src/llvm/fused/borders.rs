//! Rounds at the borders of the domain. Where a row begins with the domain and at a line, or ends with both, it is known when its
//! rounds are compiled which stages have points in them, at which lanes, and which regions: they ask for nothing.

use fieldstone_stencil::grid::Range;
use fieldstone_stencil::{Axis, Bound, Level};

use super::round::{Care, Masks};
use super::{BEYOND, Fused, Rounds};
use crate::llvm::builder::Builder;
use crate::llvm::memory::mask_of_lanes;
use crate::llvm::region::regions;

/// There are so many of these rounds at each end, at most.
const MOST: i64 = 4;

const EVERYWHERE: Range = Range {
    start: None,
    end: None,
};

/// Rounds whose first lanes are these points behind an end of the domain: the first of them, and the one behind the last.
#[derive(Clone, Copy)]
pub(super) struct Border {
    level: Level,
    first: i64,
    behind: i64,
}

/// Points behind an end of the domain.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::llvm) struct Place {
    pub level: Level,
    pub offset: i64,
}

impl Place {
    /// Which of so many lanes from here on are in a range; that of the other end is far away.
    pub fn lanes(self, range: Range, width: i64) -> std::ops::Range<i64> {
        let lane = |bound: Bound| match (bound.level == self.level, self.level) {
            (true, _) => i64::from(bound.offset) - self.offset,
            (false, Level::Start) => BEYOND,
            (false, Level::End) => -BEYOND,
        };
        let start = range.start.map_or(0, lane).clamp(0, width);
        start..range.end.map_or(width, lane).clamp(start, width)
    }
}

impl Fused<'_> {
    /// The first rounds of a row that begins with the domain, until all that are stored are whole vectors without regions, or the
    /// last ones of a row that ends with it. None if there are no such rounds, or they would be much to compile.
    pub(super) fn border(&self, level: Level) -> Option<Border> {
        if self.roles.vector == Axis::K || !self.has_near() {
            return None;
        }
        let (width, stages) = (self.width(), 0..self.stages.len());
        let ends = stages
            .clone()
            .map(|number| self.bound(number, level) - self.leads[number] * width);
        let inner: Option<Vec<Vec<i64>>> = stages.map(|number| self.inner(number, level)).collect();
        let inner = inner?.into_iter().flatten();
        let before = |points: i64| points.div_euclid(width);
        let behind = |points: i64| before(points + width - 1);
        let (first, behind) = match level {
            Level::Start => (before(ends.min()?), behind(inner.max()?)),
            Level::End => (behind(inner.min()? - width + 1), behind(ends.max()?)),
        };
        (1..=MOST).contains(&(behind - first)).then_some(Border {
            level,
            first: first * width,
            behind: behind * width,
        })
    }

    /// Up to where rounds look after a stage, from an end of the domain on: its own end, if it must not write beyond, and each of
    /// its regions. None where one of these may be anywhere.
    fn inner(&self, number: usize, level: Level) -> Option<Vec<i64>> {
        let lead = self.leads[number] * self.width();
        let strict = self.is_strict(number);
        let mut found: Vec<i64> = strict
            .then(|| self.bound(number, level) - lead)
            .into_iter()
            .collect();
        for area in regions(self.stages[number].stage) {
            let range = area.along(self.roles.vector);
            match (range.start, range.end) {
                _ if range == EVERYWHERE => {}
                (_, Some(end)) if end.level == Level::Start => {
                    found.extend((level == Level::Start).then(|| i64::from(end.offset) - lead));
                }
                (Some(start), _) if start.level == Level::End => {
                    found.extend((level == Level::End).then(|| i64::from(start.offset) - lead));
                }
                _ => return None,
            }
        }
        Some(found)
    }

    /// How far behind an end of the domain the points of a stage begin, or end.
    fn bound(&self, number: usize, level: Level) -> i64 {
        let stage = self.stages[number].stage;
        let (before, after) = stage.extent.along(self.roles.vector);
        let (lower, upper) = stage.bounds.along(self.roles.vector);
        i64::from(match level {
            Level::Start => -before.min(lower),
            Level::End => after.min(upper),
        })
    }

    /// Whether a row begins with these rounds.
    pub(super) fn begins_with(&self, b: &mut Builder, rounds: &Rounds, border: Border) -> String {
        let mut tests = vec![
            b.value(format_args!(
                "icmp eq i64 {}, {}",
                rounds.first, border.first
            )),
            b.value(format_args!(
                "icmp sle i64 {}, {}",
                rounds.whole_first, border.behind
            )),
            b.value(format_args!(
                "icmp sgt i64 {}, {}",
                rounds.whole_end,
                border.behind - self.width()
            )),
        ];
        self.all_are_at(b, border.level, &mut tests);
        self.both(b, tests)
    }

    /// Whether what is left of a row from `at` on are these rounds.
    pub(super) fn ends_with(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        at: &str,
        border: Border,
    ) -> String {
        let [first, behind] =
            [border.first, border.behind].map(|offset| self.at(b, border.level, offset));
        let mut tests = vec![
            b.value(format_args!("icmp eq i64 {at}, {first}")),
            b.value(format_args!("icmp eq i64 {}, {behind}", rounds.end)),
            b.value(format_args!("icmp sge i64 {at}, {}", rounds.whole_first)),
        ];
        self.all_are_at(b, border.level, &mut tests);
        self.both(b, tests)
    }

    /// Whether all stages are computed, and at points up to that end of the domain.
    fn all_are_at(&self, b: &mut Builder, level: Level, tests: &mut Vec<String>) {
        for (number, computed) in self.stages.iter().enumerate() {
            let bound = self.at(b, level, self.bound(number, level));
            let end = match level {
                Level::Start => &computed.range.0,
                Level::End => &computed.range.1,
            };
            tests.push(b.value(format_args!("icmp eq i64 {end}, {bound}")));
            tests.extend(computed.active.clone());
        }
    }

    fn both(&self, b: &mut Builder, tests: Vec<String>) -> String {
        let tests = tests.into_iter();
        let all = tests.reduce(|all, test| b.value(format_args!("and i1 {all}, {test}")));
        all.unwrap_or_else(|| String::from("true"))
    }

    /// An index so far behind an end of the domain.
    fn at(&self, b: &mut Builder, level: Level, offset: i64) -> String {
        match level {
            Level::Start => offset.to_string(),
            Level::End => b.add(&self.entry.domain[self.roles.vector.index()], offset),
        }
    }

    /// These rounds where a condition holds, and the values of the one behind them; elsewhere those that are given.
    pub(super) fn border_when(
        &self,
        b: &mut Builder,
        (condition, border): (&str, Border),
        rounds: &Rounds,
        (kinds, values): (&[String], Vec<String>),
    ) -> Vec<String> {
        let not = b.not(condition);
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        b.choose(&not, &kinds, values.clone(), |b| {
            self.border_rounds(b, rounds, values, border)
        })
    }

    /// These rounds, one after the other; returns the values of the one behind them.
    fn border_rounds(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        mut values: Vec<String>,
        border: Border,
    ) -> Vec<String> {
        for offset in (border.first..border.behind).step_by(self.width() as usize) {
            let place = Place {
                level: border.level,
                offset,
            };
            let at = self.at(b, border.level, offset);
            let kept = self.round(b, rounds, &at, &values[1..], Care::Border(place));
            let next = self.at(b, border.level, offset + self.width());
            values = [next].into_iter().chain(kept).collect();
        }
        values
    }

    /// Computes a stage in such a round, at its own points.
    pub(super) fn stage_at_border(
        &self,
        b: &mut Builder,
        (number, at): (usize, &str),
        (place, streaming): (Place, Option<&str>),
        vectors: &[Vec<String>],
        made: &[usize],
    ) -> Vec<String> {
        let width = self.width();
        let first = Place {
            offset: place.offset + self.leads[number] * width,
            ..place
        };
        let bound = |level| Bound {
            level,
            offset: self.bound(number, level) as i32,
        };
        let own = Range {
            start: Some(bound(Level::Start)),
            end: Some(bound(Level::End)),
        };
        let lanes = first.lanes(own, width);
        if lanes.is_empty() {
            return made
                .iter()
                .map(|_| String::from("zeroinitializer"))
                .collect();
        }
        let (mask, streaming) = match lanes == (0..width) {
            true => (None, streaming),
            false if self.may_compute_more(number) => (None, None),
            false => (Some(mask_of_lanes(b, self.lanes, lanes)), None),
        };
        let masks = Masks::At(first, mask);
        self.stage(b, (number, at), masks, streaming, vectors, made)
    }
}
