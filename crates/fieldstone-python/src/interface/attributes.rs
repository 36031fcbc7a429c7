//! What an object says of its axes by attributes: its labels, and where its domain starts.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::dims::{BadLabels, labels};
use super::{Found, MAX_RANK, Refusal, Request, called};

/// Attributes by which an object says where its domain starts; the first wins.
const ORIGINS: [&str; 2] = ["default_origin", "__gt_origin__"];

/// Whether objects of this type say where their domain starts.
pub fn of_type(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind = object.get_type();
    ORIGINS
        .iter()
        .try_fold(false, |any, name| Ok(any || kind.hasattr(name)?))
}

/// Adds what the object says beside its memory, which counts where the description of the memory says nothing.
pub fn complete<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    found: &mut Found<'py>,
) -> PyResult<()> {
    if found.dims.is_none()
        && let Some((source, value)) = dims_of(object)?
    {
        set_dims(request, found, source, &value)?;
    }
    for attribute in ORIGINS {
        let Some(value) = object.getattr_opt(attribute)? else {
            continue;
        };
        let value = called(value)?;
        if !value.is_none() {
            let indices = integers(&value)
                .filter(|indices| indices.len() <= MAX_RANK)
                .ok_or_else(|| request.refuse(&value, Refusal::Origin { attribute }))?;
            found.origin = Some((attribute, indices));
            break;
        }
    }
    Ok(())
}

/// The object's `__gt_dims__`, else its `dims`.
fn dims_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
    if let Some(dims) = object.getattr_opt("__gt_dims__")? {
        let dims = called(dims)?;
        if !dims.is_none() {
            return Ok(Some(("__gt_dims__", dims)));
        }
    }
    // Other libraries have an attribute of this name that is a method or a number.
    let is_label = |dims: &Bound<'_, PyAny>| {
        dims.is_instance_of::<PyString>() || dims.extract::<Vec<String>>().is_ok()
    };
    Ok(object
        .getattr_opt("dims")?
        .filter(is_label)
        .map(|dims| ("dims", dims)))
}

/// Reads labels; whether ones that mean nothing are an error is for who asks to say, but their number must be right.
pub fn set_dims<'py>(
    request: &Request<'_, 'py>,
    found: &mut Found<'py>,
    source: &'static str,
    value: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let rank = found.memory.view.ndim();
    found.dims = Some(match labels(value) {
        Ok(dims) if dims.len() == rank => Ok(dims),
        Ok(dims) => {
            return Err(request.refuse(value, Refusal::LabelCount { source, dims, rank }));
        }
        Err(BadLabels::Raised(error)) => return Err(error),
        Err(problem) => Err(request.refuse(value, Refusal::Labels { source, problem })),
    });
    Ok(())
}

fn integers(value: &Bound<'_, PyAny>) -> Option<Vec<isize>> {
    value
        .try_iter()
        .ok()?
        .map(|entry| entry.ok()?.extract().ok())
        .collect()
}
