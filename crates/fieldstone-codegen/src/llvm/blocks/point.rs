//! Addresses of what a point reads and writes.

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::{Axis, Offset};

use super::Block;
use crate::gpu::Shared;
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::place::{self, Row, RowPointer, Spacing};

impl Block<'_> {
    /// Where `target` lies for the point that is computed, `offset` away from it along the axes the row does not run along.
    pub(in crate::llvm) fn pointer(
        &self,
        context: &Context<'_>,
        entry: &Entry,
        b: &mut Builder,
        row: &Row,
        target: Target,
        offset: Offset,
    ) -> RowPointer {
        let (pointer, spacing) = match target {
            Target::Temp(id) if !context.schedule.is_array(target) => {
                match self.shape.shared.get(&id) {
                    None => (String::new(), Spacing::Register),
                    Some(shared) => {
                        let size = place::dtype(context, target).size();
                        let pointer = self.in_shared(b, row, shared, size, offset);
                        (pointer, Spacing::Point(size.to_string()))
                    }
                }
            }
            _ => in_array(context, entry, b, row, target, offset),
        };
        RowPointer {
            pointer,
            spacing,
            pitch: None,
        }
    }

    /// Bytes from one level of a column to the next in shared memory, if that is where a target lies.
    pub(super) fn level_bytes(&self, target: Target) -> Option<usize> {
        let Target::Temp(id) = target else {
            return None;
        };
        self.shape
            .shared
            .contains_key(&id)
            .then_some(self.shape.level_bytes)
    }

    fn in_shared(
        &self,
        b: &mut Builder,
        row: &Row,
        shared: &Shared,
        size: usize,
        offset: Offset,
    ) -> String {
        let mut number = String::from("0");
        let mut pitch = 1;
        for axis in self.shape.order() {
            let n = axis.index();
            let inside = b.sub(&row.index[n], &row.tile[n]);
            let inside = b.add(&inside, shared.before[n] + offset.0[n]);
            let points = b.mul(&inside, pitch);
            number = b.add(&number, points);
            pitch *= shared.points[n];
        }
        let bytes = b.mul(&number, size);
        let bytes = b.add(&bytes, shared.offset);
        b.offset(self.shared, bytes)
    }
}

/// The way from the first point of the domain to that of the tile is the same for all threads of a block, and so is that to a
/// neighbour: neither takes time of each.
fn in_array(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    target: Target,
    offset: Offset,
) -> (String, Spacing) {
    let array = &entry.arrays[&target];
    let axes = context.program.stencil.target_axes(target);
    let contiguous = context.contiguous_along(target);
    let stride = |axis: Axis| match contiguous == Some(axis) {
        true => place::dtype(context, target).size().to_string(),
        false => array.strides[axis.index()].clone(),
    };
    let mut pointer = array.pointer.clone();
    for axis in axes.iter() {
        let bytes = b.mul(&row.tile[axis.index()], stride(axis));
        pointer = b.offset(&pointer, bytes);
    }
    for axis in axes.iter() {
        let (index, first) = (&row.index[axis.index()], &row.tile[axis.index()]);
        if index != first {
            let inside = b.sub(index, first);
            let bytes = b.mul(&inside, stride(axis));
            pointer = b.offset(&pointer, bytes);
        }
    }
    for axis in axes.iter().filter(|axis| *axis != row.vector) {
        if offset.along(axis) != 0 {
            let bytes = b.mul(&stride(axis), offset.along(axis));
            pointer = b.offset(&pointer, bytes);
        }
    }
    let along = match axes.contains(row.vector) {
        true => stride(row.vector),
        false => String::from("0"),
    };
    (pointer, Spacing::Point(along))
}
