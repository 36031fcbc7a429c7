//! Later rows that are fetched into the caches.

use std::collections::HashMap;

use fieldstone_stencil::ir::{Stmt, StmtKind, Target};
use fieldstone_stencil::schedule::RowNest;
use fieldstone_stencil::visit::{Accesses, accesses};
use fieldstone_stencil::{Axis, Interval, Offset};

use super::{Aligned, Fused, Rounds, Source};
use crate::llvm::ahead::SOON_IN_PLANES;
use crate::llvm::builder::Builder;
use crate::llvm::memory::{block_address, fetch};
use crate::llvm::place::Spacing;
use crate::llvm::prefetch::{Purpose, prefetch};
use crate::tile::LINE;

/// Of the rows that loops on some levels read of each target, outside of regions, the one that gets to new memory first: its place
/// along the axis that is visited last, and along the other one, given these axes from the other one on.
pub(super) fn foremost(
    nest: &RowNest,
    levels: Interval,
    [near, far]: [Axis; 2],
) -> HashMap<Target, [i32; 2]> {
    let mut foremost: HashMap<Target, [i32; 2]> = HashMap::new();
    let loops = nest.loops().filter(|(row_loop, _)| row_loop.fused);
    let stages = loops.flat_map(|(_, stages)| stages);
    for stage in stages.filter(|stage| stage.interval == levels) {
        let ahead = nest.ahead(stage);
        let everywhere = |statement: &&Stmt| !matches!(statement.kind, StmtKind::Region { .. });
        let statements = stage.statements.iter().filter(everywhere);
        for (target, offset) in statements.flat_map(|statement| Accesses::of(statement).reads) {
            let row = [far, near].map(|axis| (offset + ahead).along(axis));
            let known = foremost.entry(target).or_insert(row);
            *known = (*known).max(row);
        }
    }
    foremost
}

impl Fused<'_> {
    /// Fetches those ends of a later row that are not stored as whole vectors: stores past the caches cannot wait for memory, but
    /// they wait for such a store. Those of the next row are fetched on from the second-level cache.
    pub(super) fn fetch_stored_ends(&self, b: &mut Builder, rounds: &Rounds, streamed: &[Aligned]) {
        let Some(streaming) = &rounds.streaming else {
            return;
        };
        let fetches = &self.entry.fetches;
        let both = b.value(format_args!("and i1 {streaming}, {fetches}"));
        b.when(&both, |b| self.fetch_both_ends(b, rounds, streamed));
    }

    fn fetch_both_ends(&self, b: &mut Builder, rounds: &Rounds, streamed: &[Aligned]) {
        for result in streamed {
            let (start, end) = &self.stages[result.stage].range;
            let last = b.sub(end, 1);
            for (edge, point) in [(start, start), (end, &last)] {
                let points = b.sub(edge, &rounds.first);
                let past = b.value(format_args!("and i64 {points}, {}", self.width() - 1));
                let mut partial = b.value(format_args!("icmp ne i64 {past}, 0"));
                if point == &last {
                    let stored = b.not(&rounds.padded);
                    partial = b.value(format_args!("and i1 {partial}, {stored}"));
                }
                b.when(&partial, |b| {
                    let address = block_address(b, &result.pointer, result.size, point);
                    let next = self.order[0];
                    fetch(b, self.entry, result.target, &address, next);
                    let strides = &self.entry.arrays[&result.target].strides;
                    let next = b.offset(&address, &strides[next.index()]);
                    prefetch(b, &next, Purpose::Soon);
                });
            }
        }
    }

    /// Fetches what rounds at the ends of a later row need, as those in between do for themselves. A line that nobody has asked for holds
    /// up all that is computed behind it for as long as memory takes.
    pub(super) fn fetch_read_ends(&self, b: &mut Builder, rounds: &Rounds) {
        b.when(&rounds.fetches, |b| {
            let width = self.width();
            let from_first = |b: &mut Builder, at: &str| {
                let points = b.sub(at, &rounds.first);
                let points = b.add(&points, width - 1);
                b.value(format_args!("and i64 {points}, {}", -width))
            };
            let inner = b.min(&rounds.whole_first, &rounds.end);
            let behind = b.max(&inner, &rounds.whole_end);
            let [inner, behind] = [inner, behind].map(|at| from_first(b, &at));
            let between = b.sub(&behind, &inner);
            let points = b.sub(&rounds.end, &rounds.first);
            let points = b.sub(&points, &between);
            b.for_loop("0", &points, &width.to_string(), |b, point| {
                let before = b.value(format_args!("icmp slt i64 {point}, {inner}"));
                let skipped = b.select(&before, "0", &between);
                let point = b.add(point, &skipped);
                let at = b.add(&rounds.first, &point);
                self.fetch(b, rounds, &at);
            });
        });
    }

    /// Fetches what later rows need that no row needed before, where it is worth it.
    pub(super) fn fetch(&self, b: &mut Builder, rounds: &Rounds, at: &str) {
        if rounds.in_lines {
            let next = self.order[0];
            for (target, address) in self.read_first(b, at) {
                fetch(b, self.entry, target, &address, next);
            }
            return;
        }
        b.when(&rounds.fetches, |b| {
            let read = self.read_first(b, at);
            self.fetch_vectors(b, &read);
            self.fetch_soon(b, &read);
            let Some(streaming) = &rounds.streaming else {
                return;
            };
            let cached = b.not(streaming);
            b.when(&cached, |b| {
                let results = self.streamed();
                let written = results.iter().map(|result| {
                    let first = (at, self.leads[result.stage] * self.width());
                    let pointer =
                        self.preheaders[result.stage].pointer(result.target, Offset::ZERO);
                    (result.target, pointer.at(b, result.size, first))
                });
                let written: Vec<(Target, String)> = written.collect();
                self.fetch_vectors(b, &written);
            });
        });
    }

    /// The vectors that a round reads of new memory.
    fn read_first(&self, b: &mut Builder, at: &str) -> Vec<(Target, String)> {
        let mut read = Vec::new();
        for number in self.leading() {
            let stream = &self.streams[number];
            let Source::Memory { stage, offset, .. } = stream.source else {
                continue;
            };
            let first = (at, stream.lead * self.width());
            let pointer = self.preheaders[stage].pointer(stream.target, offset);
            let address = pointer.at(b, self.dtype(stream.target).size(), first);
            read.push((stream.target, address));
        }
        read
    }

    /// Fetches a vector of each of some arrays at an address, for a later row.
    fn fetch_vectors(&self, b: &mut Builder, vectors: &[(Target, String)]) {
        let next = self.order[0];
        for (target, address) in vectors {
            fetch(b, self.entry, *target, address, next);
        }
        let targets: Vec<Target> = vectors.iter().map(|(target, _)| *target).collect();
        let Some(across) = self.lies_across(b, &targets) else {
            return;
        };
        b.when(&across, |b| {
            for (target, address) in vectors {
                let last = self.lanes.width * self.dtype(*target).size() - 1;
                let address = b.offset(address, last);
                fetch(b, self.entry, *target, &address, next);
            }
        });
    }

    /// Fetches what is read of a nearer row on into the first-level cache, where tiles have a few rows of each level.
    fn fetch_soon(&self, b: &mut Builder, vectors: &[(Target, String)]) {
        let has_planes = self.context.scratch.plane.is_some() && !self.context.fetch.in_tile;
        if self.panel.is_some() || self.is_short() || !has_planes {
            return;
        }
        for (target, address) in vectors {
            let stride = &self.entry.arrays[target].strides[self.order[0].index()];
            let bytes = b.mul(stride, SOON_IN_PLANES);
            let address = b.offset(address, &bytes);
            prefetch(b, &address, Purpose::Soon);
        }
    }

    /// Whether vectors of levels of some arrays lie across cache lines; `None` where points are no such vectors. The rest of a line
    /// belongs to the next vector of the same column, which may be one of another tile, and else is fetched much later.
    pub(super) fn lies_across(&self, b: &mut Builder, targets: &[Target]) -> Option<String> {
        self.panel?;
        let mut bits = String::from("0");
        for target in targets {
            let array = &self.entry.arrays[target];
            let address = b.value(format_args!("ptrtoint ptr {} to i64", array.pointer));
            for more in [&address, &array.strides[0], &array.strides[1]] {
                bits = b.value(format_args!("or i64 {bits}, {more}"));
            }
        }
        let past = b.value(format_args!("and i64 {bits}, {}", LINE - 1));
        Some(b.value(format_args!("icmp ne i64 {past}, 0")))
    }

    /// Fetches what a later row needs, where rows are one vector from an index on.
    pub(super) fn fetch_vector(&self, b: &mut Builder, first: &str) {
        b.when(&self.entry.fetches_rows, |b| {
            for target in self.volumes() {
                let pointer = self.preheaders[0].known_pointer(target, Offset::ZERO);
                if let Some(pointer) = pointer.cloned() {
                    let address = pointer.at(b, self.dtype(target).size(), (first, 0));
                    fetch(b, self.entry, target, &address, self.order[0]);
                }
            }
        });
    }

    /// The arrays that the stage of a short row reads or writes along it.
    fn volumes(&self) -> Vec<Target> {
        let mut found = Vec::new();
        accesses(&self.stages[0].stage.statements, &mut |access| {
            let is_volume =
                self.entry.arrays.contains_key(&access.target) && !self.is_exact(access.target);
            if is_volume && !found.contains(&access.target) {
                found.push(access.target);
            }
        });
        found
    }

    /// Whether lines of a row that a stage reads may be fetched: those of an array along it.
    fn is_fetched(&self, stage: usize, target: Target, row: Offset) -> bool {
        let pointer = self.preheaders[stage].pointer(target, row);
        pointer.spacing == Spacing::Contiguous && !self.is_ring(target) && !self.is_exact(target)
    }

    /// Of each array the stream that gets to new memory first, if none of another loop does so before: what that one fetches is
    /// near when this loop gets there.
    pub(super) fn leading(&self) -> Vec<usize> {
        let [near, far] = self.order;
        let mut leading: Vec<usize> = Vec::new();
        for (number, stream) in self.streams.iter().enumerate() {
            let Source::Memory { stage, offset, .. } = stream.source else {
                continue;
            };
            if !self.is_fetched(stage, stream.target, offset) {
                continue;
            }
            let row = offset + self.stages[stage].ahead;
            let row = [far, near].map(|axis| row.along(axis));
            let foremost = self.foremost.get(&stream.target);
            let is_known = |known: &usize| self.streams[*known].target == stream.target;
            if foremost.is_none_or(|foremost| row >= *foremost) && !leading.iter().any(is_known) {
                leading.push(number);
            }
        }
        leading
    }
}
