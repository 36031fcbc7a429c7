//! The stages of a level for neighbouring columns of a block.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::Area;
use fieldstone_stencil::ir::{StmtKind, Target};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;

use super::super::body::Known;
use super::super::builder::Builder;
use super::super::memory::{lane_indices, splat};
use super::super::row::{self, Vectors};
use super::super::types::Lanes;
use super::super::width;
use super::ColumnBlock;

/// Neighbouring columns of a block, and what is known of them at a level.
pub(super) struct Part<'a> {
    pub first: &'a str,
    pub columns: usize,
    pub known: HashMap<Lanes, Vec<Known>>,
    /// What is known and not stored.
    pub kept: HashSet<Target>,
    /// As in [`Vectors`].
    pub past: bool,
}

impl ColumnBlock<'_> {
    /// The stages of a level, for as many columns at a time as the longest vector has.
    pub(super) fn part_by_part(&self, b: &mut Builder, stages: &[Stage], level: &str, past: bool) {
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
                past,
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
            let everywhere = self.is_everywhere(stage);
            let mut vectors = Vectors {
                first: part.first,
                lanes,
                masks: None,
                loose: HashSet::new(),
                kept: part.kept.clone(),
                past: part.past && everywhere,
            };
            let (context, entry) = (self.context, self.entry);
            if !everywhere {
                let range = self.range(b, stage);
                let any = b.value(format_args!("icmp slt i64 {}, {}", range.0, range.1));
                b.when(&any, |b| {
                    vectors.masks = Some(masks(b, &vectors, known.len(), &range));
                    row::vectors(context, entry, b, stage, &row, &vectors, known);
                });
                continue;
            }
            if !vectors.past && self.leaves_scratch(stage) {
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
    pub(super) fn in_scratch(&self, stage: &Stage) -> HashSet<Target> {
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
