//! Rows of later levels that sweeps over wide blocks fetch.

use fieldstone_stencil::ir::{Order, Target};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Offset};

use super::super::builder::Builder;
use super::super::memory::{Fetch, prefetch};
use super::super::place::{self, Spacing};
use super::super::preheader::{Preheader, across};
use super::ColumnBlock;

/// Of the rows of each target that a stage reads or writes, those that come to a level first.
pub(super) fn leading(stage: &Stage, order: Order, vector: Axis) -> Vec<(Target, Offset)> {
    let mut leading: Vec<(Target, Offset)> = Vec::new();
    for accesses in stage.statements.iter().map(Accesses::of) {
        let written = accesses.written().map(|target| (target, Offset::ZERO));
        for (target, offset) in accesses.reads.iter().copied().chain(written) {
            let row = across(offset, vector);
            let towards = |offset: Offset| match order {
                Order::Backward => -offset.0[2],
                Order::Forward | Order::Parallel => offset.0[2],
            };
            let plane = |offset: Offset| [offset.0[0], offset.0[1]];
            let same =
                |found: &&mut (Target, Offset)| found.0 == target && plane(found.1) == plane(row);
            match leading.iter_mut().find(same) {
                Some(found) if towards(found.1) < towards(row) => found.1 = row,
                Some(_) => {}
                None => leading.push((target, row)),
            }
        }
    }
    leading
}

impl ColumnBlock<'_> {
    /// Fetches a vector of a row of a later level, where it comes from an array: from memory that of some levels further on, into the
    /// first-level cache that of the next one. A vector of a sweep has so many instructions that a core does not see the next one coming.
    pub(super) fn fetch_level(
        &self,
        b: &mut Builder,
        preheader: &Preheader,
        (target, offset, order): (Target, Offset, Order),
        first: &str,
        purpose: Fetch,
    ) {
        let pointer = preheader.known_pointer(target, offset);
        let array = self.entry.arrays.get(&target);
        let (Some(pointer), Some(array)) = (pointer, array) else {
            return;
        };
        let has_levels = (self.context.program.stencil.target_axes(target)).contains(Axis::K);
        let outer = offset.along(self.nest.outer());
        let in_scratch = self.context.scratch.block(target, outer).is_some();
        if pointer.spacing != Spacing::Contiguous || !has_levels || in_scratch {
            return;
        }
        let size = place::dtype(self.context, target).size();
        let address = pointer.at(b, size, (first, 0));
        let level = &array.strides[2];
        let bytes = match purpose {
            Fetch::Soon => level.clone(),
            Fetch::Later => b.mul(level, &self.entry.ahead),
        };
        let bytes = match order {
            Order::Backward => b.sub("0", &bytes),
            Order::Forward | Order::Parallel => bytes,
        };
        let address = b.offset(&address, &bytes);
        prefetch(b, &address, purpose);
    }
}
