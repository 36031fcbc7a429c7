//! Levels and indices between brackets, and which elements they mean.

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::{LevelIndex, Stencil, Subscript};

use super::access::Access;
use super::array::{Array, Element};
use super::expression::values;
use super::memory::zeros;
use super::region::Region;
use super::state::{State, Values};
use crate::error::RunError;

/// One index for each data dimension of what is accessed.
pub(super) struct Indices(Vec<Values<i64>>);

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

/// The level of an access, where it is computed.
pub(super) struct Level {
    value: Values<i64>,
    absolute: bool,
}

impl Level {
    pub(super) fn of(
        subscript: Option<&Subscript>,
        stencil: &Stencil,
    ) -> Result<Option<Level>, RunError> {
        let Some((subscript, level)) = subscript.and_then(|s| Some((s, s.level()?))) else {
            return Ok(None);
        };
        Ok(Some(Level {
            value: values(level, stencil)?,
            absolute: subscript.level == LevelIndex::Absolute,
        }))
    }

    /// The level at each point of a region that is `offset` away from the points that are computed.
    pub(super) fn evaluate(
        &self,
        state: &State,
        region: &Region,
        offset: Offset,
        active: Option<&[bool]>,
    ) -> Result<Vec<i64>, RunError> {
        let [i, j, k] = offset.0;
        let mut levels = zeros(region.len())?;
        (self.value)(
            state,
            &region.shifted(Offset([-i, -j, -k])),
            active,
            &mut levels,
        )?;
        for (level, [_, _, here]) in levels.iter_mut().zip(region.points()) {
            let from = if self.absolute { k.into() } else { here };
            *level = level.saturating_add(from);
        }
        Ok(levels)
    }
}
