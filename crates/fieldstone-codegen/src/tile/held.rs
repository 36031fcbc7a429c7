//! Blocks of columns whose vectors find in registers what the level before has left.

use std::collections::BTreeSet;

use fieldstone_stencil::ir::{Order, Stencil, Target as Written, TempId};
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;

use super::LINE;
use crate::cost;
use crate::lanes::widest;
use crate::target::Target;

/// Vectors of a block: with fewer, one that divides is waited for.
const VECTORS: usize = 4;

/// Bytes of a row of a block, at least: a core asks for each row on its own.
const ROW: usize = 4 * LINE;

/// The part of the registers that may hold what a level leaves to the next one.
const SHARE: usize = 2;

/// Cycles of a vector that takes so long that it hardly matters where it finds that: `vadv` takes 69, and `cloud`, for which wide blocks are
/// better, 339.
const LONG: f64 = 100.0;

/// Columns of such a block, with these temporaries in scratch memory; `None` where a wide one is better.
pub(super) fn held_columns(
    stencil: &Stencil,
    nest: &ColumnNest,
    temporaries: &BTreeSet<TempId>,
    target: &Target,
) -> Option<usize> {
    let bytes = target.vector_bytes();
    let of_sweep = |sweep| sections(sweep).map(|stages| carried(sweep, stages, temporaries));
    let most = nest.sweeps.iter().flat_map(of_sweep).max()?;
    let fits = most > 0 && most * VECTORS * SHARE <= target.vector_registers();
    if !fits || VECTORS * bytes < ROW || nest.sweeps.iter().flat_map(sections).any(is_long) {
        return None;
    }
    let size = nest.stages().map(|stage| widest(stencil, stage)).max()?;
    Some(VECTORS * bytes / size)
}

fn is_long(stages: &[Stage]) -> bool {
    let cycles = stages.iter().map(|stage| cost::cycles(stage).0);
    cycles.sum::<f64>() > LONG
}

fn sections(sweep: &Sweep) -> impl Iterator<Item = &[Stage]> {
    sweep.sections.iter().map(|(_, stages)| stages.as_slice())
}

/// How many temporaries a level reads as the one before it has left them.
fn carried(sweep: &Sweep, stages: &[Stage], temporaries: &BTreeSet<TempId>) -> usize {
    let before = match sweep.order {
        Order::Parallel => return 0,
        Order::Forward => -1,
        Order::Backward => 1,
    };
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    let statements = stages.iter().flat_map(|stage| &stage.statements);
    for accesses in statements.map(Accesses::of) {
        let reads = accesses.reads.iter();
        let reads = reads.filter(|(_, offset)| offset.0 == [0, 0, before]);
        read.extend(reads.map(|(target, _)| *target));
        written.extend(accesses.written());
    }
    let is_kept =
        |target: &&Written| matches!(target, Written::Temp(id) if temporaries.contains(id));
    read.intersection(&written).filter(is_kept).count()
}
