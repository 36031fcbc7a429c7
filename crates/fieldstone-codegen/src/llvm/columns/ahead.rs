//! What the next block of columns needs, fetched into the second-level cache before its turn comes. From there it is fetched into
//! the first one when the group of levels before it is transposed.

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};

use fieldstone_stencil::carried::cover;

use crate::cost::cycles;
use crate::transposed::Transposed;

use super::super::builder::Builder;
use super::super::prefetch::{Purpose, prefetch};
use super::ColumnBlock;

/// The columns of an array that a block transposes.
pub(super) struct Columns {
    /// Address of the first level of the first column.
    first: String,
    /// Bytes from one column to the next.
    stride: String,
    size: usize,
    /// Whether whole groups of levels are stored past the caches.
    past: Option<String>,
}

impl ColumnBlock<'_> {
    /// The columns of all arrays that the block transposes. Rows of an array come one after the other: the last one is new.
    pub(super) fn arrays(&self, b: &mut Builder) -> Vec<Columns> {
        let transposed = self.context.scratch.transposed.iter();
        let mut sources: Vec<((Target, i32), &Transposed)> = Vec::new();
        for (array, _) in transposed {
            for source in array.sources() {
                match sources.iter_mut().find(|(other, _)| other.0 == source.0) {
                    Some((other, _)) => other.1 = other.1.max(source.1),
                    None => sources.push((source, array)),
                }
            }
        }
        let columns = sources.into_iter().map(|(source, array)| {
            let first = self.first_of(b, source, &self.columns.0);
            let is_itself = array.composed.is_none();
            Columns {
                past: is_itself
                    .then(|| self.goes_past(b, array, &first))
                    .flatten(),
                first,
                stride: self.stride(source.0).to_owned(),
                size: array.dtype.size(),
            }
        });
        columns.collect()
    }

    /// Fetches the lines in which a group of levels begins, those of some columns in each of as many turns as it has levels.
    pub(super) fn fetch(&self, b: &mut Builder, arrays: &[Columns], group: &str, turn: &str) {
        if arrays.is_empty() {
            return;
        }
        let columns = self.context.scratch.vector.unwrap_or_default() / self.context.scratch.square;
        let column = b.mul(turn, columns);
        for array in arrays {
            let fetch = |b: &mut Builder| {
                let bytes = b.mul(group, array.size);
                let skip = b.mul(&column, &array.stride);
                let mut address = b.offset(&array.first, bytes);
                address = b.offset(&address, skip);
                for number in 0..columns {
                    if number > 0 {
                        address = b.offset(&address, &array.stride);
                    }
                    prefetch(b, &address, Purpose::Later);
                }
            };
            match &array.past {
                None => fetch(b),
                Some(past) => {
                    let cached = self.is_cached(b, past, group);
                    b.when(&cached, fetch);
                }
            }
        }
    }

    /// Whether a group of levels is stored through the caches where whole ones may go past them.
    fn is_cached(&self, b: &mut Builder, past: &str, group: &str) -> String {
        let end = b.add(group, self.context.scratch.square);
        let part = b.value(format_args!("icmp sgt i64 {end}, {}", self.entry.domain[2]));
        let through = b.not(past);
        b.value(format_args!("or i1 {part}, {through}"))
    }

    /// Fetches what is left to the turns of a group that are not among some levels.
    pub(super) fn fetch_rest(
        &self,
        b: &mut Builder,
        arrays: &[Columns],
        group: &str,
        levels: &(String, String),
    ) {
        if arrays.is_empty() {
            return;
        }
        let side = self.context.scratch.square.to_string();
        let before = b.sub(&levels.0, group);
        let before = b.min(&before, &side);
        let behind = b.sub(&levels.1, group);
        let behind = b.max(&behind, "0");
        for (first, end) in [("0", &before), (behind.as_str(), &side)] {
            b.for_loop(first, end, "1", |b, turn| {
                self.fetch(b, arrays, group, turn)
            });
        }
    }
}

/// The part of the arrays that each sweep of a nest fetches. Lines that are asked for all at once would wait for each other, and a sweep
/// that divides leaves the caches alone most of the time.
pub(super) fn shares<'a>(nest: &ColumnNest, arrays: &'a [Columns]) -> Vec<&'a [Columns]> {
    let weights: Vec<usize> = nest.sweeps.iter().map(weight).collect();
    let total = weights.iter().sum::<usize>().max(1);
    let part = |weight: usize| (weight * arrays.len() + total / 2) / total;
    let mut so_far = 0;
    let shares = weights.iter().map(|weight| {
        let first = so_far;
        so_far += weight;
        &arrays[part(first)..part(so_far)]
    });
    shares.collect()
}

/// About how many cycles a vector of a level of a sweep takes; nothing for one that does not visit every level.
fn weight(sweep: &Sweep) -> usize {
    if !cover(sweep.sections.iter().map(|(interval, _)| *interval)) {
        return 0;
    }
    let of_stages = |stages: &[Stage]| -> f64 { stages.iter().map(|stage| cycles(stage).0).sum() };
    let sections = sweep.sections.iter();
    let longest = sections.map(|(_, stages)| of_stages(stages));
    longest.fold(0.0, f64::max).ceil() as usize
}
