//! Indices of data dimensions, and where the elements they mean lie.

use fieldstone_stencil::ir::{Stencil, Subscript};

use super::Access;
use super::array::Array;
use super::expression::{State, Values, values};
use super::memory::zeros;
use super::region::Region;
use crate::error::RunError;

/// One index for each data dimension of what is accessed.
pub(super) struct Indices(Vec<Values<i64>>);

/// Where an element lies from the first one of the same point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Element {
    /// Bytes.
    pub(super) bytes: isize,
    /// Elements of a temporary.
    pub(super) number: usize,
}

impl Indices {
    /// The indices of an access.
    pub(super) fn new(
        subscript: Option<&Subscript>,
        stencil: &Stencil,
    ) -> Result<Indices, RunError> {
        let indices = subscript.map_or(&[][..], Subscript::indices);
        let indices = indices.iter().map(|index| values(index, stencil));
        Ok(Indices(indices.collect::<Result<_, _>>()?))
    }

    /// The element of each point of a region; `None` where there are no data dimensions.
    ///
    /// # Errors
    ///
    /// For an index outside of its dimension at a point that is active.
    pub(super) fn locate(
        &self,
        state: &State,
        region: &Region,
        active: Option<&[bool]>,
        array: &Array,
        access: &Access,
    ) -> Result<Option<Vec<Element>>, RunError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut elements = zeros::<Element>(region.len())?;
        let mut index = zeros(region.len())?;
        let mut stride = 1;
        for (dimension, (values, (size, bytes))) in self.0.iter().zip(array.data()).enumerate() {
            values(state, region, active, &mut index)?;
            for (point, (element, value)) in elements.iter_mut().zip(&index).enumerate() {
                if active.is_some_and(|active| !active[point]) {
                    continue;
                }
                if !(0..i64::from(*size)).contains(value) {
                    let at = region.points().nth(point).unwrap_or_default();
                    return Err(access.data_index(at, dimension, *value, *size));
                }
                element.bytes += *value as isize * bytes;
                element.number += *value as usize * stride;
            }
            stride *= *size as usize;
        }
        Ok(Some(elements))
    }
}
