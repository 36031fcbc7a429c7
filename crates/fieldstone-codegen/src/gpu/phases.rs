//! Which stages of a nest of rows a block computes between two barriers.

use std::collections::HashSet;
use std::ops::Range;

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::visit::Accesses;

/// The phases of a nest, in order: stages on the same points, of which none accesses at a neighbour what another one writes. A
/// point is always one thread's.
pub fn of(nest: &RowNest) -> Vec<Range<usize>> {
    let mut phases: Vec<Range<usize>> = Vec::new();
    let mut open = Open::default();
    for (number, stage) in nest.stages.iter().enumerate() {
        match phases.last_mut() {
            Some(phase) if open.admits(&nest.stages[phase.start], stage) => phase.end += 1,
            _ => {
                phases.push(number..number + 1);
                open = Open::default();
            }
        }
        open.add(stage);
    }
    phases
}

/// What the stages of a phase do.
#[derive(Default)]
struct Open {
    written: HashSet<Target>,
    /// Read at other points.
    elsewhere: HashSet<Target>,
}

impl Open {
    fn admits(&self, first: &Stage, stage: &Stage) -> bool {
        let accesses = || stage.statements.iter().map(Accesses::of);
        let mut reads = accesses().flat_map(|accesses| accesses.reads);
        first.extent == stage.extent
            && !reads
                .any(|(target, offset)| offset != Offset::ZERO && self.written.contains(&target))
            && !accesses().any(|accesses| {
                let mut written = accesses.written();
                written.any(|target| self.elsewhere.contains(&target))
            })
    }

    fn add(&mut self, stage: &Stage) {
        for accesses in stage.statements.iter().map(Accesses::of) {
            self.written.extend(accesses.written());
            let elsewhere = accesses
                .reads
                .iter()
                .filter(|(_, offset)| *offset != Offset::ZERO);
            self.elsewhere.extend(elsewhere.map(|(target, _)| *target));
        }
    }
}
