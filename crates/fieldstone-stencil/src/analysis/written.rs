//! Levels of temporaries that are written.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::ir::TempId;

/// Disjoint ranges of levels, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Levels(pub(super) Vec<Range<i64>>);

impl Levels {
    pub(super) fn add(&mut self, range: &Range<i64>) {
        if range.is_empty() || self.first_missing(range.clone()).is_none() {
            return;
        }
        let mut all = std::mem::take(&mut self.0);
        all.push(range.clone());
        all.sort_by_key(|range| range.start);
        for range in all {
            match self.0.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => self.0.push(range),
            }
        }
    }

    /// The first level of `range` that is not in the set.
    pub(super) fn first_missing(&self, range: Range<i64>) -> Option<i64> {
        let mut level = range.start;
        for known in &self.0 {
            if known.contains(&level) {
                level = known.end;
            }
        }
        (level < range.end).then_some(level)
    }
}

/// Levels of temporaries, by how far ahead of the level that is computed they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead(pub(super) HashMap<TempId, BTreeMap<i64, Levels>>);

/// Further ahead than every read: what is written at a level that is computed may be any.
pub(super) const ANYWHERE: i64 = i64::MAX;

impl Ahead {
    pub(super) fn add(&mut self, id: TempId, ahead: i64, range: &Range<i64>) {
        let written = self.0.entry(id).or_default();
        written.entry(ahead).or_default().add(range);
    }

    /// What is written of a temporary at the level that is computed.
    pub(super) fn get(&self, id: TempId) -> Option<&Levels> {
        self.0.get(&id)?.get(&0)
    }

    /// What is written of a temporary at distances that `wanted` says.
    pub(super) fn collect(&self, id: TempId, wanted: impl Fn(i64) -> bool, into: &mut Levels) {
        for (ahead, levels) in self.0.get(&id).into_iter().flatten() {
            if wanted(*ahead) {
                levels.0.iter().for_each(|range| into.add(range));
            }
        }
    }
}

/// Levels of temporaries that were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// By any statement.
    pub(super) some: Ahead,
    /// By statements that write every point.
    pub(super) every: Ahead,
}

impl Written {
    /// Adds what a computation wrote that is over.
    pub(super) fn add(&mut self, other: Written) {
        for (mine, theirs) in [(&mut self.some, other.some), (&mut self.every, other.every)] {
            for (id, levels) in theirs.0 {
                for range in levels.values().flat_map(|levels| &levels.0) {
                    mine.add(id, 0, range);
                }
            }
        }
    }
}
