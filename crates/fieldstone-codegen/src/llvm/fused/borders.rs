//! Rounds at the borders of the domain. Where a row begins with the domain and at a line, or ends with both, it is known when its
//! rounds are compiled which stages have points in them, at which lanes, and which regions: they ask for nothing.

use fieldstone_stencil::grid::Range;
use fieldstone_stencil::{Axis, Bound, Level};

use super::round::{Care, Masks};
use super::{Fused, Rounds};
use crate::llvm::builder::Builder;
use crate::llvm::memory::mask_of_lanes;
use crate::llvm::range::bound;
use crate::llvm::region::{lanes_within, regions};

/// There are so many of these rounds at each end, at most.
const MOST: i64 = 4;

/// Rounds whose first lanes are these points behind an end of the domain: the first of them, and the one behind the last.
#[derive(Clone, Copy)]
pub(super) struct Border {
    level: Level,
    first: i64,
    behind: i64,
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
            .map(|number| self.edge(number, level) - self.leads[number] * width);
        let inner: Option<Vec<Vec<i64>>> = stages.map(|number| self.inner(number, level)).collect();
        let inner = inner?.into_iter().flatten();
        let down = |points: i64| points.div_euclid(width);
        let up = |points: i64| down(points + width - 1);
        let (first, behind) = match level {
            Level::Start => (down(ends.min()?), up(inner.max()?)),
            Level::End => (up(inner.min()? - width + 1), up(ends.max()?)),
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
            .then(|| self.edge(number, level) - lead)
            .into_iter()
            .collect();
        for area in regions(self.stages[number].stage) {
            let range = area.along(self.roles.vector);
            match (range.start, range.end) {
                _ if range == Range::default() => {}
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
    fn edge(&self, number: usize, level: Level) -> i64 {
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
        b.all(tests).expect("several conditions")
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
        b.all(tests).expect("several conditions")
    }

    /// Whether all stages are computed, and at points up to that end of the domain.
    fn all_are_at(&self, b: &mut Builder, level: Level, tests: &mut Vec<String>) {
        for (number, computed) in self.stages.iter().enumerate() {
            let edge = self.at(b, level, self.edge(number, level));
            let end = match level {
                Level::Start => &computed.range.0,
                Level::End => &computed.range.1,
            };
            tests.push(b.value(format_args!("icmp eq i64 {end}, {edge}")));
            tests.extend(computed.active.clone());
        }
    }

    /// The index so far behind an end of the domain.
    fn at(&self, b: &mut Builder, level: Level, offset: i64) -> String {
        bound(self.entry, b, self.roles.vector, behind(level, offset))
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
            let at = self.at(b, border.level, offset);
            let care = Care::Border(behind(border.level, offset));
            let kept = self.round(b, rounds, &at, &values[1..], care);
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
        (first, streaming): (Bound, Option<&str>),
        vectors: &[Vec<String>],
        made: &[usize],
    ) -> Vec<String> {
        let width = self.width();
        let lead = self.leads[number] * width;
        let first = behind(first.level, i64::from(first.offset) + lead);
        let edge = |level| Some(behind(level, self.edge(number, level)));
        let own = Range {
            start: edge(Level::Start),
            end: edge(Level::End),
        };
        let lanes = lanes_within(own, first, width);
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

/// So many points behind an end of the domain.
fn behind(level: Level, offset: i64) -> Bound {
    let offset = offset as i32;
    Bound { level, offset }
}
