//! Reductions, which drop the axes they run along.

use fieldstone_storage::Dim;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::operand::{Operand, match_condition, operands};
use crate::errors::raise;
use crate::storage::axes::{Points, Taken};
use crate::storage::foreign::Foreign;
use crate::storage::resolve::{Location, Resolved};
use crate::storage::{Storage, axes};

/// `ufunc.reduce`; `None` if one of the operands is to decide itself.
pub fn reduce<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let function: String = ufunc.getattr("__name__")?.extract()?;
    let Some(inputs) = operands(inputs.iter())? else {
        return Ok(None);
    };
    let Some(Operand {
        array: Some(source),
        ..
    }) = inputs.first()
    else {
        return Ok(None);
    };
    let ndim = source.view.ndim();
    let dims = source.labels(py)?;
    let gone = reduced_axes(keywords, dims, ndim)?;
    let keepdims = keywords
        .get_item("keepdims")?
        .map_or(Ok(false), |keep| keep.is_truthy())?;
    let kept = dims.map(|dims| {
        let stays = |axis: &usize| keepdims || !gone.contains(axis);
        (0..ndim)
            .filter(stays)
            .map(|axis| dims[axis])
            .collect::<Vec<_>>()
    });
    if !match_condition(py, keywords, &function, dims)? {
        return Ok(None);
    }
    let mut target = None;
    if let Some(out) = keywords.get_item("out")? {
        let object = out
            .cast::<PyTuple>()
            .map_or(Ok(out.clone()), |out| out.get_item(0))?;
        if object.is_none() {
            keywords.del_item("out")?;
        } else {
            let Some(operand) = Operand::of(object.clone())? else {
                return Ok(None);
            };
            keywords.set_item("out", (operand.matched(py, &function, kept.as_deref())?,))?;
            target = Some(object);
        }
    }
    let array = inputs[0].matched(py, &function, dims)?;
    let result = ufunc.getattr("reduce")?.call((array,), Some(keywords))?;
    if target.is_some() {
        return Ok(target);
    }
    let Ok(array) = result.cast::<PyUntypedArray>() else {
        return Ok(Some(result));
    };
    reduced(py, array, source, &gone, keepdims).map(|storage| Some(storage.into_any()))
}

/// The axes along which to reduce; replaces labels by numbers in the keywords.
fn reduced_axes(
    keywords: &Bound<'_, PyDict>,
    dims: Option<&[Dim]>,
    ndim: usize,
) -> PyResult<Vec<usize>> {
    let given = match keywords.get_item("axis")? {
        None => vec![0],
        Some(axis) if axis.is_none() => return Ok((0..ndim).collect()),
        Some(axis) => axes_given(&axis, dims)?,
    };
    keywords.set_item("axis", PyTuple::new(keywords.py(), &given)?)?;
    // An axis that is not there is NumPy's error to raise.
    Ok(given
        .into_iter()
        .filter_map(|axis| usize::try_from(if axis < 0 { axis + ndim as isize } else { axis }).ok())
        .collect())
}

/// The numbers of axes, of which each may be given by its label.
pub fn axes_given(given: &Bound<'_, PyAny>, dims: Option<&[Dim]>) -> PyResult<Vec<isize>> {
    let number = |entry: &Bound<'_, PyAny>| -> PyResult<isize> {
        if !entry.is_instance_of::<PyString>() {
            return entry.extract();
        }
        let label: &str = entry.extract()?;
        let place = label
            .parse::<Dim>()
            .ok()
            .and_then(|dim| dims?.iter().position(|&other| other == dim));
        place.map(|axis| axis as isize).ok_or_else(|| {
            let own = dims.map_or_else(|| "none".to_owned(), axes::show);
            raise(
                given.py(),
                "DimensionsError",
                format!("axis: the storage has no axis '{label}'; its labels are {own}"),
            )
        })
    };
    match given.cast::<PyTuple>() {
        Ok(several) => several.iter().map(|entry| number(&entry)).collect(),
        Err(_) => Ok(vec![number(given)?]),
    }
}

fn reduced<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyUntypedArray>,
    source: &Foreign<'py>,
    gone: &[usize],
    keepdims: bool,
) -> PyResult<Bound<'py, Storage>> {
    let parts: Vec<Taken> = (0..source.view.ndim())
        .filter(|axis| keepdims || !gone.contains(axis))
        .map(|axis| Some((axis, Points::all(source.view.shape()[axis]))))
        .collect();
    let mut axes = source.axes.select(&parts);
    for &axis in gone.iter().filter(|_| keepdims) {
        axes.halo[axis] = (0, 0);
        axes.aligned_index[axis] = 0;
        if let Some(origin) = &mut axes.explicit_origin {
            origin[axis] = 0;
        }
    }
    let resolved = Resolved {
        shape: array.shape().into(),
        dtype: array.dtype(),
        axes,
        alignment: source.alignment,
        location: Location::Host,
    };
    let storage = resolved.holding_array(array)?;
    storage.into_object(py)
}
