//! Results that a sweep fetches for the one behind it. A sweep that divides leaves the caches alone most of the time, while one that does
//! little but store waits for them.

use fieldstone_stencil::carried::cover;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Offset};

use super::super::ahead::TYPICAL_COLUMNS;
use super::super::builder::Builder;
use super::super::entry::{Context, Entry};
use super::super::place::{self, Row, Spacing};
use super::super::prefetch::{Purpose, prefetch};
use super::ColumnBlock;

/// The part of a second-level cache that they may fill, for usual domains.
const SHARE: usize = 4;
const TYPICAL_LEVELS: usize = 96;

/// The results of a nest that are fetched by another sweep than that which writes them.
pub(super) struct Early {
    /// What each sweep fetches.
    by_sweep: Vec<Vec<Target>>,
}

impl Early {
    pub(super) fn of(context: &Context<'_>, entry: &Entry, nest: &ColumnNest) -> Early {
        let mut by_sweep = vec![Vec::new(); nest.sweeps.len()];
        for target in &entry.streamed {
            let first = (nest.sweeps.iter()).position(|sweep| is_written(sweep, *target));
            let before = first.and_then(|first| first.checked_sub(1));
            if let Some(before) = before.filter(|before| is_everywhere(nest, *before)) {
                by_sweep[before].push(*target);
            }
        }
        let sizes = (by_sweep.iter().flatten()).map(|target| place::dtype(context, *target).size());
        let columns = context.scratch.vector.unwrap_or(TYPICAL_COLUMNS);
        let bytes = columns * TYPICAL_LEVELS * sizes.sum::<usize>();
        if bytes > context.target.caches.second / SHARE {
            by_sweep.iter_mut().for_each(Vec::clear);
        }
        by_sweep.iter_mut().for_each(|targets| targets.sort());
        Early { by_sweep }
    }

    pub(super) fn of_sweep(&self, number: usize) -> &[Target] {
        &self.by_sweep[number]
    }

    pub(super) fn contains(&self, target: Target) -> bool {
        self.by_sweep.iter().flatten().any(|one| *one == target)
    }
}

fn is_written(sweep: &Sweep, target: Target) -> bool {
    let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
    let mut statements = stages.flat_map(|stage| &stage.statements);
    statements.any(|statement| Accesses::of(statement).written().any(|one| one == target))
}

/// Whether the first stage of each level of a sweep is computed for all columns, and there is one for each level.
fn is_everywhere(nest: &ColumnNest, sweep: usize) -> bool {
    let sections = &nest.sweeps[sweep].sections;
    let whole = |stage: &Stage| stage.extent == nest.extent && stage.area == Area::FULL;
    cover(sections.iter().map(|(interval, _)| *interval))
        && (sections.iter()).all(|(_, stages)| stages.first().is_some_and(whole))
}

impl ColumnBlock<'_> {
    /// Fetches a vector of a row of some results, unless these go past the caches.
    pub(super) fn fetch_early(&self, b: &mut Builder, row: &Row, targets: &[Target], first: &str) {
        if targets.is_empty() {
            return;
        }
        let cached = b.not(&self.entry.stream);
        b.when(&cached, |b| {
            for target in targets {
                let (context, entry) = (self.context, self.entry);
                let pointer = place::row_pointer(context, entry, b, row, *target, Offset::ZERO);
                if pointer.spacing == Spacing::Contiguous {
                    let size = place::dtype(context, *target).size();
                    let address = pointer.at(b, size, (first, 0));
                    prefetch(b, &address, Purpose::Later);
                }
            }
        });
    }
}
