//! The methods of universal functions beside calls and reductions.

use fieldstone_storage::{Dim, PerAxis};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::function::Ufunc;
use crate::errors::raise;
use crate::storage::Storage;
use crate::storage::axes::Axes;
use crate::storage::foreign::Foreign;
use crate::storage::function::{Axis, Call, Origin, axes_of_call, with_origins};
use crate::storage::library::Computed;

/// `ufunc.accumulate(storage, axis)` keeps all axes, `ufunc.reduceat(storage, indices, axis)` changes the points along one.
pub fn along<'py>(
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut call = Call::of_method(ufunc, method, inputs, keywords)?;
    let position = if method == "reduceat" { 2 } else { 1 };
    let out = call.out_by_name()?;
    let Some(source) = call.source().map(Foreign::of_storage) else {
        return call.run().map(|(result, _)| Some(out.unwrap_or(result)));
    };
    let along = axes_of_call(&mut call, position, Axis::Number(0), &source)?;
    let origin = |own: usize| match method == "reduceat" && along.contains(&own) {
        true => Origin::Changed(own),
        false => Origin::Kept(own),
    };
    let origins: Vec<_> = (0..source.view.ndim()).map(origin).collect();
    let (result, chosen) = call.run()?;
    if let Some(out) = out {
        return Ok(Some(out));
    }
    with_origins(result, &source, &origins, &chosen).map(Some)
}

/// `ufunc.outer(first, second)`: the axes of both, with their labels if no label is among both.
pub fn outer<'py>(
    ufunc: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let call = Call::of_method(ufunc, "outer", inputs, keywords)?;
    let out = call.out_by_name()?;
    let (result, chosen) = call.run()?;
    if let Some(out) = out {
        return Ok(Some(out));
    }
    let Some(computed) = Computed::of(&result)?.filter(|computed| computed.ndim() > 0) else {
        return chosen.library.number(result).map(Some);
    };
    let mut axes = Axes::plain(computed.ndim());
    let sides: Vec<_> = inputs
        .iter()
        .filter_map(|input| Some(Foreign::of_storage(input.cast::<Storage>().ok()?)))
        .collect();
    let mut alignment = 1;
    if let [first, second] = sides.as_slice() {
        let dims: Option<PerAxis<Dim>> =
            first
                .axes
                .dims
                .clone()
                .zip(second.axes.dims.clone())
                .map(|(mut dims, other)| {
                    dims.extend(other);
                    dims
                });
        axes.dims = dims.filter(|dims| fieldstone_storage::check_dims(dims).is_ok());
        axes.halo = [first, second]
            .iter()
            .flat_map(|side| side.axes.halo.clone())
            .collect();
        axes.aligned_index = axes.halo.iter().map(|&(lower, _)| lower).collect();
        alignment = super::result::least_common_multiple(first.alignment, second.alignment);
    }
    let resolved = chosen.resolved(&computed, axes, alignment);
    chosen.library.result(&computed, resolved).map(Some)
}

/// `ufunc.at(storage, indices, values)`: writes to the storage.
pub fn at<'py>(
    ufunc: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = ufunc.py();
    let call = Call::of_method(ufunc, "at", inputs, keywords)?;
    if let Some(target) = call.source() {
        if !target.borrow().writeable() {
            let message = "at: the storage wraps read-only memory; copy it with storage.copy() to write to it";
            return Err(raise(py, "ReadOnlyError", message));
        }
        return call.run_writing(0).map(Some);
    }
    call.run().map(|(result, _)| Some(result))
}

/// The refusal of a method that storages do not have.
pub fn refused(py: Python<'_>, ufunc: &Ufunc, method: &str) -> PyErr {
    let message = format!(
        "{}.{method} does not take storages; __call__, reduce, accumulate, reduceat, outer and at do, and \
         numpy.asarray(storage) is an array of the same memory",
        ufunc.name
    );
    raise(py, "ArgumentTypeError", message)
}
