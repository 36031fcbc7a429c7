//! Sweeps over columns along memory that compute every point from what lies at the point itself.
//!
//! To these it makes no difference which points lie in the lanes of a vector. Where a group of levels is whole, a vector of such a
//! sweep is some levels of one column, read and stored where they lie, instead of some columns of one level, and nothing of what it
//! alone needs is transposed. What later sweeps need of it is transposed in scratch, once the group is computed.

use std::collections::HashSet;

use fieldstone_stencil::carried::cover;
use fieldstone_stencil::ir::{ExprKind, Order, Stencil, Stmt, StmtKind, Target};
use fieldstone_stencil::schedule::{ColumnNest, Schedule, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, DType, Offset};

use crate::lanes::widest;
use crate::tile::{Place, Scratch};
use crate::transposed::{Moment, Transposed};

/// What such a sweep reads and writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direct {
    /// Arrays that are read where they lie.
    pub read: Vec<Target>,
    /// Arrays that are stored where they lie.
    pub stored: Vec<Target>,
    /// What is left in scratch for later sweeps.
    pub turned: Vec<Target>,
    /// Arrays that no other sweep accesses, and that are transposed only where a group is not whole.
    pub own: Vec<Target>,
}

impl Direct {
    /// Of each sweep of a nest, where it is such a sweep and that leaves less to transpose. A block is a few of `scratch.square`
    /// columns wide.
    pub(crate) fn of_nest(
        (stencil, schedule): (&Stencil, &Schedule),
        nest: &ColumnNest,
        scratch: &Scratch,
        vector_bytes: usize,
    ) -> Vec<Option<Direct>> {
        let one = |number: usize| {
            let search = Search {
                schedule,
                nest,
                scratch,
                number,
            };
            let lanes = |stage: &Stage| vector_bytes / widest(stencil, stage);
            let stages = search.stages()?;
            let all = stages.iter().all(|stage| lanes(stage) == scratch.square);
            let found = search.found(stages).filter(|_| all)?;
            (found.turned.len() < found.own.len()).then_some(found)
        };
        (0..nest.sweeps.len()).map(one).collect()
    }
}

/// A sweep that may be one.
struct Search<'a> {
    schedule: &'a Schedule,
    nest: &'a ColumnNest,
    scratch: &'a Scratch,
    number: usize,
}

impl<'a> Search<'a> {
    fn sweep(&self) -> &'a Sweep {
        &self.nest.sweeps[self.number]
    }

    fn others(&self) -> impl Iterator<Item = &'a Sweep> {
        let all = self.nest.sweeps.iter().enumerate();
        let others = all.filter(|(other, _)| *other != self.number);
        others.map(|(_, sweep)| sweep)
    }

    /// The stages of all levels, if they are computed for every column.
    fn stages(&self) -> Option<&'a [Stage]> {
        let sweep = self.sweep();
        let [(interval, stages)] = sweep.sections.as_slice() else {
            return None;
        };
        let is_everywhere =
            |stage: &Stage| stage.extent == self.nest.extent && stage.area == Area::FULL;
        let fits =
            |stage: &Stage| is_everywhere(stage) && stage.statements.iter().all(is_of_points);
        let all = sweep.order == Order::Parallel && cover([*interval]);
        (all && stages.iter().all(fits)).then_some(stages.as_slice())
    }

    /// What the stages access; `None` if that is anything else than elements at the point itself.
    fn found(&self, stages: &[Stage]) -> Option<Direct> {
        let mut found = Direct::default();
        let mut written = HashSet::new();
        for statement in stages.iter().flat_map(|stage| &stage.statements) {
            let accesses = Accesses::of(statement);
            if !accesses.afar.is_empty() {
                return None;
            }
            // What is written under a condition only, is what it was elsewhere.
            let partial = (accesses.writes.iter()).filter(|(_, conditional)| *conditional);
            let partial = partial.map(|(target, _)| (*target, Offset::ZERO));
            for (target, offset) in accesses.reads.iter().copied().chain(partial) {
                if offset != Offset::ZERO {
                    return None;
                }
                if !written.contains(&target) && !self.is_in_registers(target) {
                    self.note_read(&mut found, target)?;
                }
            }
            for target in accesses.written() {
                if !self.is_in_registers(target) && written.insert(target) {
                    self.note_written(&mut found, target)?;
                }
            }
        }
        Some(found)
    }

    /// Notes an array that is read before the sweep writes it, if it does.
    fn note_read(&self, found: &mut Direct, target: Target) -> Option<()> {
        let array = self.array(target)?;
        if array.composed.is_some() || self.others().any(|sweep| array.is_written_in(sweep)) {
            return None;
        }
        let is_own = self.is_own(target);
        if array.is_written_in(self.sweep()) && !is_own {
            return None;
        }
        if !found.read.contains(&target) {
            found.read.push(target);
            found.own.extend(is_own.then_some(target));
        }
        Some(())
    }

    /// Notes what is written for the first time.
    fn note_written(&self, found: &mut Direct, target: Target) -> Option<()> {
        if let Target::Temp(id) = target
            && let Some(place) = self.scratch.places.get(&id)
        {
            found.turned.push(target);
            return matches!(place, Place::Column { .. }).then_some(());
        }
        let array = self.array(target)?;
        if !self.is_own(target) {
            // Another sweep would come to a ring that is not turned any more.
            found.turned.push(target);
            let block = self.scratch.block(target, 0)?;
            return block.window.is_none().then_some(());
        }
        let stored = array.storing(self.nest);
        if !matches!(stored, Moment::Sweep { number, .. } if number == self.number) {
            return None;
        }
        found.stored.push(target);
        if !found.own.contains(&target) {
            found.own.push(target);
        }
        Some(())
    }

    fn is_own(&self, target: Target) -> bool {
        !self.others().any(|sweep| is_accessed(sweep, target))
    }

    fn is_in_registers(&self, target: Target) -> bool {
        match target {
            Target::Field(_) => false,
            Target::Temp(id) => {
                let in_scratch = self.scratch.places.contains_key(&id);
                !in_scratch && !self.schedule.is_array(target)
            }
        }
    }

    /// The array of a target that is transposed, if its elements are in a register what they are in memory.
    fn array(&self, target: Target) -> Option<&'a Transposed> {
        let mut arrays = self.scratch.transposed.iter().map(|(array, _)| array);
        let array = arrays.find(|array| (array.target, array.outer) == (target, 0))?;
        (array.dtype != DType::Bool).then_some(array)
    }
}

/// Whether all that a statement does depends on nothing but elements of arrays and numbers, and cannot fail.
fn is_of_points(statement: &Stmt) -> bool {
    let mut all = true;
    statement.walk(&mut |inner| {
        let is_region = matches!(inner.kind, StmtKind::Region { .. });
        all &= !is_region && !inner.may_fail();
        for expr in inner.expressions() {
            expr.walk(|node| all &= !matches!(node.kind, ExprKind::Position(_)));
        }
    });
    all
}

fn is_accessed(sweep: &Sweep, target: Target) -> bool {
    let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
    let mut accesses = stages.flat_map(|stage| stage.statements.iter().map(Accesses::of));
    accesses.any(|accesses| {
        accesses.reads.iter().any(|(read, _)| *read == target)
            || accesses.written().any(|written| written == target)
    })
}
