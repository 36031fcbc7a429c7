//! Temporaries in memory of their own: those that outlive a nest.

use fieldstone_stencil::ir::{Stencil, Target, TempId, Temporary};
use fieldstone_stencil::schedule::{Placement, Schedule};
use fieldstone_stencil::{Axes, Axis, DType, Extent};

use crate::llvm::abi::Words;
use crate::tile::LINE;

/// A temporary in memory of its own.
pub(crate) struct Array {
    shape: ArrayShape,
    /// Whether it is zero before the run.
    pub(crate) zeroed: bool,
    /// The word with the address of the first point of the domain, behind which its strides stand.
    pub(crate) word: usize,
    /// The words with the strides of the data dimensions, of the sizes.
    data: usize,
    sizes: Vec<u32>,
}

impl Array {
    /// Address of the first point of the domain, of memory that starts there.
    pub(crate) fn first(&self, start: *mut u8) -> usize {
        start as usize + self.shape.origin
    }

    /// The first byte, from the first point of the domain, and one past the last.
    pub(crate) fn reach(&self) -> (isize, isize) {
        let origin = self.shape.origin as isize;
        (-origin, self.shape.bytes as isize - origin)
    }

    /// Bytes of all elements.
    pub(crate) fn bytes(&self) -> usize {
        self.shape.bytes
    }

    /// Writes its strides and where it ends to the words of a run.
    pub(crate) fn describe(&self, words: &mut [u64]) {
        for (axis, stride) in self.shape.strides.into_iter().enumerate() {
            words[self.word + 1 + axis] = stride as u64;
        }
        let origin = self.shape.origin as u64;
        words[self.word + Words::FIRST_ELEMENT] = origin.wrapping_neg();
        // An element is eight bytes at most.
        let last = (self.shape.bytes as u64).saturating_sub(8);
        words[self.word + Words::LAST_ELEMENT] = last.wrapping_sub(origin);
        // The last index counts single elements, as in C.
        let mut stride = self.shape.element;
        for (dimension, size) in self.sizes.iter().enumerate().rev() {
            words[self.data + dimension] = stride as u64;
            stride *= *size as usize;
        }
    }
}

/// Strides and size, in bytes, of a temporary as large as the domain and its extent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ArrayShape {
    strides: [usize; 3],
    /// Of the first point of the domain.
    origin: usize,
    /// From one element of a point to the next: each has an array of all points.
    element: usize,
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

/// The temporaries that outlive a nest.
pub(crate) fn arrays(
    stencil: &Stencil,
    schedule: &Schedule,
    words: &Words,
    domain: [usize; 3],
) -> Vec<Array> {
    let array = |(number, placement): (usize, &Placement)| {
        let Placement::Array { extent, zeroed } = *placement else {
            return None;
        };
        let temporary = stencil.temporary(TempId(number as u32));
        Some(Array {
            shape: ArrayShape::new(domain, extent, schedule.neighbours.contiguous, temporary),
            zeroed,
            word: words.array(number)?,
            data: words.data(Target::Temp(TempId(number as u32))),
            sizes: temporary.data_dims.clone(),
        })
    };
    let placements = schedule.temporaries.iter().enumerate();
    placements.filter_map(array).collect()
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
