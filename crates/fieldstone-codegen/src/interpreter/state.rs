//! What a run has: its arrays and scalars, and the closures that read them.

use fieldstone_stencil::ir::Target;

use super::array::Array;
use super::region::Region;
use crate::error::RunError;

/// What expressions read and statements write.
pub(super) struct State {
    pub(super) fields: Vec<Array>,
    pub(super) temporaries: Vec<Array>,
    /// Bits of each scalar argument.
    pub(super) scalars: Vec<u64>,
    /// Whether a NaN that is assigned is an error.
    pub(super) checks_nan: bool,
    /// Points of the domain along I, J, K.
    pub(super) domain: [usize; 3],
}

impl State {
    pub(super) fn array(&self, target: Target) -> &Array {
        match target {
            Target::Field(id) => &self.fields[id.0 as usize],
            Target::Temp(id) => &self.temporaries[id.0 as usize],
        }
    }

    pub(super) fn array_mut(&mut self, target: Target) -> &mut Array {
        match target {
            Target::Field(id) => &mut self.fields[id.0 as usize],
            Target::Temp(id) => &mut self.temporaries[id.0 as usize],
        }
    }
}

/// Computes the values of an expression at the points of a region. Where a mask is given, only the points where it holds
/// matter: others get any value, and nothing is demanded of what they read.
pub(super) type Values<T> =
    Box<dyn Fn(&State, &Region, Option<&[bool]>, &mut [T]) -> Result<(), RunError> + Send + Sync>;
