//! Functions that work along one axis and keep it.

use pyo3::prelude::*;

use super::call::Call;
use super::reduction::axes;
use super::result::{Origin, ndim_of_result, with_origins};
use super::table::{Axis, Points};
use crate::array;
use crate::storage::foreign::Foreign;

/// A function whose result has the axes of its first argument.
pub fn apply<'py>(
    call: &mut Call<'py>,
    position: usize,
    default: Axis,
    points: Points,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(source) = call.source().map(Foreign::of_storage) else {
        return Ok(None);
    };
    let along = axes(call, position, default, &source)?;
    let (result, chosen) = call.run()?;
    let Some(ndim) = ndim_of_result(&result)? else {
        return chosen.library.number(result).map(Some);
    };
    let origin = |axis: usize| match points == Points::Move && along.contains(&axis) {
        true => Origin::Changed(axis),
        false => Origin::Kept(axis),
    };
    let origins: Vec<_> = match ndim == source.view.ndim() {
        true => (0..ndim).map(origin).collect(),
        false => vec![Origin::New; ndim],
    };
    with_origins(result, &source, &origins, &chosen).map(Some)
}

/// `take(a, indices, axis)`.
pub fn take<'py>(call: &mut Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (Some(source), Some(indices)) = (
        call.source().map(Foreign::of_storage),
        call.argument(1, "indices")?,
    ) else {
        return Ok(None);
    };
    let is_flat = call.argument(2, "axis")?.is_none_or(|axis| axis.is_none());
    let along = axes(call, 2, Axis::All, &source)?;
    let dims_of_indices = array::ndim_of(&indices)?;
    let (result, chosen) = call.run()?;
    let origins: Vec<Origin> = match along.as_slice() {
        &[axis] if !is_flat => {
            let taken = match dims_of_indices {
                0 => Vec::new(),
                1 => vec![Origin::Changed(axis)],
                several => vec![Origin::New; several],
            };
            let mut origins = Origin::all(source.view.ndim());
            origins.splice(axis..=axis, taken);
            origins
        }
        _ => vec![Origin::New; dims_of_indices],
    };
    with_origins(result, &source, &origins, &chosen).map(Some)
}
