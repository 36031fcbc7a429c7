//! Sweeps over a block of columns of arrays that are not transposed. It is a few vectors wide, so that a level finds in registers what the
//! one before it has left, and what later sweeps need of it stays in the first-level cache.

use std::collections::BTreeSet;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;

use super::super::builder::Builder;
use super::super::range::clip_levels;
use super::ColumnBlock;
use super::moves::begin_at_lines;
use super::section::Section;
use super::upcoming::Upcoming;

impl ColumnBlock<'_> {
    pub(super) fn compute_held(&self, b: &mut Builder, next: &ColumnBlock<'_>) {
        let mut there = BTreeSet::new();
        for (number, sweep) in self.nest.sweeps.iter().enumerate() {
            let upcoming = Upcoming::of_sweep(b, (self, next), number, &mut there);
            for (interval, stages) in &sweep.sections {
                let levels = clip_levels(self.entry, b, *interval, self.entry.levels.clone());
                let past = self.rows_go_past(b, stages);
                let any = b.value(format_args!("icmp slt i64 {}, {}", levels.0, levels.1));
                let section = |b: &mut Builder, past: bool| {
                    let section = Section {
                        order: sweep.order,
                        stages,
                        levels: &levels,
                        past,
                    };
                    self.section(b, &section, |b, level| upcoming.fetch(b, level));
                };
                b.when(&any, |b| match &past {
                    None => section(b, false),
                    Some(past) => {
                        let name = b.begin_when(past);
                        section(b, true);
                        b.otherwise(&name);
                        section(b, false);
                        b.end_when(&name);
                    }
                });
            }
        }
    }

    /// Whether what stages write goes past the caches, where some of it may.
    fn rows_go_past(&self, b: &mut Builder, stages: &[Stage]) -> Option<String> {
        let statements = stages.iter().flat_map(|stage| &stage.statements);
        let accesses: Vec<Accesses> = statements.map(Accesses::of).collect();
        let written: BTreeSet<Target> = accesses.iter().flat_map(Accesses::written).collect();
        let past = written
            .into_iter()
            .filter_map(|target| self.goes_past_in_rows(b, target));
        let past: Vec<String> = past.collect();
        let both = |one, other| b.value(format_args!("and i1 {one}, {other}"));
        past.into_iter().reduce(both)
    }

    /// Whether a result goes past the caches, where it may: all columns of the block are there, and rows of it begin where cache lines do.
    pub(super) fn goes_past_in_rows(&self, b: &mut Builder, target: Target) -> Option<String> {
        if !self.entry.streamed.contains(&target) {
            return None;
        }
        let first = self.first_of(b, (target, 0), &self.columns.0);
        let level = &self.entry.arrays[&target].strides[2];
        let aligned = begin_at_lines(b, &first, level);
        let columns = b.sub(&self.columns.1, &self.columns.0);
        let all = self.context.scratch.vector.unwrap_or_default();
        let whole = b.value(format_args!("icmp eq i64 {columns}, {all}"));
        let both = b.value(format_args!("and i1 {aligned}, {whole}"));
        Some(b.value(format_args!("and i1 {}, {both}", self.entry.stream)))
    }
}
