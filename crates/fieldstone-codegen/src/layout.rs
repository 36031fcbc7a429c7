//! Along which axes the arrays of a call are contiguous.

use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::{Stencil, Target};
use fieldstone_stencil::schedule::{Placement, Schedule};

use crate::array::array_contiguous_along;

/// Which axis each array is contiguous along, in the order of the stencil's fields; `None` along none.
///
/// Code is made for one layout and runs with any strides that fit it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout(pub Vec<Option<Axis>>);

impl Layout {
    /// The axis along which most fields are contiguous; `I` where none is.
    pub fn contiguous(&self) -> Axis {
        let fields = |axis: Axis| self.0.iter().filter(|unit| **unit == Some(axis)).count();
        let best = Axis::ALL.into_iter().rev().max_by_key(|axis| fields(*axis));
        best.unwrap_or(Axis::I)
    }
}

/// The axis along which a field or an array is contiguous.
pub(crate) fn contiguous_along(
    stencil: &Stencil,
    schedule: &Schedule,
    layout: &Layout,
    target: Target,
) -> Option<Axis> {
    match target {
        Target::Field(id) => layout.0[id.0 as usize],
        Target::Temp(id) => {
            let is_array = matches!(schedule.temporaries[id.0 as usize], Placement::Array { .. });
            let axes = stencil.temporary(id).axes;
            array_contiguous_along(schedule.neighbours.contiguous, axes).filter(|_| is_array)
        }
    }
}
