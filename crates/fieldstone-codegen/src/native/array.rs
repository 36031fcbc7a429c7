//! Temporaries in memory of their own: those that outlive a nest.

use std::sync::PoisonError;

use fieldstone_device::{Contents, HostMemory};
use fieldstone_stencil::ir::{TempId, Temporary};
use fieldstone_stencil::schedule::Placement;
use fieldstone_stencil::{Axes, Axis, DType, Extent};

use super::{Native, Variant};
use crate::call::Call;
use crate::error::RunError;
use crate::tile::LINE;

/// A temporary in memory of its own.
pub(super) struct Array<'a> {
    pub(super) memory: HostMemory,
    pub(super) shape: ArrayShape,
    /// Of the data dimensions.
    pub(super) sizes: &'a [u32],
}

/// Strides and size, in bytes, of a temporary as large as the domain and its extent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ArrayShape {
    pub(super) strides: [usize; 3],
    /// Of the first point of the domain.
    pub(super) origin: usize,
    /// From one element of a point to the next: each has an array of all points.
    pub(super) element: usize,
    pub bytes: usize,
}

impl ArrayShape {
    pub fn new(
        domain: [usize; 3],
        extent: Extent,
        contiguous: Axis,
        temporary: &Temporary,
    ) -> ArrayShape {
        let (axes, size) = (temporary.axes, temporary.dtype.map_or(1, DType::size));
        let order = axes_by_stride(contiguous).filter(|axis| axes.contains(*axis));
        let contiguous = array_contiguous_along(contiguous, axes);
        let mut shape = ArrayShape {
            strides: [0; 3],
            origin: 0,
            element: 0,
            bytes: size,
        };
        for axis in order {
            let (before, after) = extent.along(axis);
            let (mut before, after) = (before.max(0) as usize, after.max(0) as usize);
            if Some(axis) == contiguous {
                // The first point of the domain starts a line in every row.
                before = before.next_multiple_of(LINE / size);
            }
            shape.strides[axis.index()] = shape.bytes;
            shape.origin += before * shape.bytes;
            shape.bytes *= before + domain[axis.index()] + after;
            if Some(axis) == contiguous {
                shape.bytes = shape.bytes.next_multiple_of(LINE);
            }
        }
        shape.element = shape.bytes;
        let elements = temporary.data_dims.iter();
        shape.bytes *= elements.map(|size| *size as usize).product::<usize>();
        shape
    }
}

impl Native {
    /// Memory for the temporaries that outlive a nest.
    pub(super) fn arrays(
        &self,
        variant: &Variant,
        call: &Call<'_>,
    ) -> Result<Vec<Option<Array<'_>>>, RunError> {
        let stencil = &self.program.stencil;
        let mut arrays = Vec::with_capacity(stencil.temporaries.len());
        for (number, placement) in variant.plan.schedule.temporaries.iter().enumerate() {
            let Placement::Array { extent, zeroed } = *placement else {
                arrays.push(None);
                continue;
            };
            let temporary = stencil.temporary(TempId(number as u32));
            let contiguous = variant.plan.schedule.contiguous;
            let shape = ArrayShape::new(call.domain, extent, contiguous, temporary);
            let memory = self.memory(shape.bytes)?;
            if zeroed {
                // SAFETY: the block has that many bytes and is this run's alone.
                unsafe { memory.pointer().write_bytes(0, shape.bytes) };
            }
            arrays.push(Some(Array {
                memory,
                shape,
                sizes: &temporary.data_dims,
            }));
        }
        Ok(arrays)
    }

    fn memory(&self, bytes: usize) -> Result<HostMemory, RunError> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fits) = spare.iter().position(|memory| memory.bytes() >= bytes) {
            return Ok(spare.swap_remove(fits));
        }
        drop(spare);
        Ok(HostMemory::new(bytes, LINE, Contents::Uninitialised)?)
    }
}

/// The axes of an array of a schedule, that with the smallest stride first.
fn axes_by_stride(contiguous: Axis) -> impl Iterator<Item = Axis> {
    let order = match contiguous {
        Axis::I => [Axis::I, Axis::J, Axis::K],
        Axis::J => [Axis::J, Axis::I, Axis::K],
        Axis::K => [Axis::K, Axis::J, Axis::I],
    };
    order.into_iter()
}

/// The axis that an array of a schedule for rows along `contiguous` is contiguous along.
pub(crate) fn array_contiguous_along(contiguous: Axis, axes: Axes) -> Option<Axis> {
    axes_by_stride(contiguous).find(|axis| axes.contains(*axis))
}
