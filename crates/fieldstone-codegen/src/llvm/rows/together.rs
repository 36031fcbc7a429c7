//! Which loops of a nest compute a row one after the other, and then the next row.
//!
//! Stages on different levels do not share a loop. Where rows run along `K`, such loops store to the same cache lines where one's levels
//! end and the other's begin; were each to compute all rows of a tile first, those lines would be gone from the first-level cache.

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{RowLoop, RowNest, Stage};
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Axis, Offset};

/// A loop and its stages.
type Loop<'a> = (RowLoop, &'a [Stage]);

/// The loops of a nest, in groups of those that may take turns row by row.
pub(super) fn loops(nest: &RowNest) -> Vec<Vec<Loop<'_>>> {
    let mut groups: Vec<Vec<Loop<'_>>> = Vec::new();
    for next in nest.loops() {
        match groups.last_mut() {
            Some(group) if may_take_turns(nest, group, next) => group.push(next),
            _ => groups.push(vec![next]),
        }
    }
    groups
}

/// Whether a loop may compute a row before those of a group compute the next one: none of them has what another one writes from
/// another row.
fn may_take_turns(nest: &RowNest, group: &[Loop<'_>], next: Loop<'_>) -> bool {
    let along_levels = nest.roles.vector == Axis::K && !nest.roles.are_panels();
    let both = || group.iter().chain([&next]);
    let alike = |stage: &Stage| stage.extent == nest.extent;
    along_levels
        && both().all(|(row_loop, stages)| row_loop.fused && stages.iter().all(alike))
        && (group.iter()).all(|one| !reads_rows(one, &next) && !reads_rows(&next, one))
}

/// Of loops along `K` that take turns the one that may have many levels; `None` where several may.
pub(super) fn longest<'a, T>(
    nest: &RowNest,
    loops: &'a [T],
    stages: impl Fn(&'a T) -> &'a [Stage],
) -> Option<usize> {
    let may_be_long = |one: &'a T| {
        let stages = stages(one);
        stages.iter().any(|stage| stage.interval.levels().is_none())
    };
    let mut long = (0..loops.len()).filter(|number| may_be_long(&loops[*number]));
    let first = long.next().filter(|_| nest.roles.vector == Axis::K);
    first.filter(|_| long.next().is_none())
}

/// Whether a loop reads other rows than its own of what another one writes.
fn reads_rows((_, readers): &Loop<'_>, (_, writers): &Loop<'_>) -> bool {
    let mut written: Vec<Target> = Vec::new();
    for stage in *writers {
        accesses(&stage.statements, &mut |access| {
            if access.write {
                written.push(access.target);
            }
        });
    }
    let mut reads = false;
    for stage in *readers {
        accesses(&stage.statements, &mut |access| {
            let across = Offset([access.offset.0[0], access.offset.0[1], 0]);
            reads |= across != Offset::ZERO && written.contains(&access.target);
        });
    }
    reads
}
