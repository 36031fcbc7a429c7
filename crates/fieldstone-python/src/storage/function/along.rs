//! Functions that work along one axis and keep it.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::call::Call;
use super::reduction::axes;
use super::result::{Origin, storages};
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
    let result = call.run()?;
    let first = match (result.cast::<PyTuple>(), result.cast::<PyList>()) {
        (Ok(several), _) if !several.is_empty() => several.get_item(0)?,
        (_, Ok(several)) if !several.is_empty() => several.get_item(0)?,
        _ => result.clone(),
    };
    let Ok(array) = first.cast::<PyUntypedArray>() else {
        return Ok(Some(result));
    };
    let origin = |axis: usize| match points == Points::Move && along.contains(&axis) {
        true => Origin::Changed(axis),
        false => Origin::Kept(axis),
    };
    let origins: Vec<_> = match array.ndim() == source.view.ndim() {
        true => (0..array.ndim()).map(origin).collect(),
        false => vec![Origin::New; array.ndim()],
    };
    storages(result, &source, &origins).map(Some)
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
    let result = call.run()?;
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
    storages(result, &source, &origins).map(Some)
}
