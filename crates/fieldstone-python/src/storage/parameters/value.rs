//! What values the parameters take: integers of any kind, sequences of them, labels, devices.

use std::fmt;

use fieldstone_storage::{Dim, PerAxis};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFrozenSet, PyInt, PySet, PyString, PyTuple};

use super::{Device, Entries, LayoutChoice, Managed};
use crate::errors::raise;
use crate::interface::{BadLabels, labels};
use crate::storage::memory;

/// The repr of an object, cut to what fits in a message.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(
        |_| "?".to_owned(),
        |text| text.to_string_lossy().into_owned(),
    );
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(
        |_| "?".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Whether an object can be iterated but is no sequence of items: their order means nothing, or they are no items.
fn unordered(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
}

/// The items of a sequence that is no string.
pub fn items<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<PerAxis<Bound<'py, PyAny>>> {
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    if unordered(value) {
        return Err(wrong_items(value, name, expected));
    }
    value
        .try_iter()
        .map_err(|_| wrong_items(value, name, expected))?
        .collect()
}

pub fn wrong_items(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let message = format!(
        "{name}: expected {expected}, got {} ({})",
        shown(value),
        type_name(value)
    );
    raise(value.py(), "ArgumentTypeError", message)
}

/// An integer of 0 or more. NumPy integers are integers, floats and booleans are not.
pub fn count(
    value: &Bound<'_, PyAny>,
    name: &str,
    class: &str,
    what: fmt::Arguments<'_>,
) -> PyResult<usize> {
    let py = value.py();
    if let Ok(number) = value.cast_exact::<PyInt>()
        && let Ok(number) = number.extract::<usize>()
    {
        return Ok(number);
    }
    let index = if value.is_instance_of::<PyBool>() {
        None
    } else {
        memory::index(value)?
    };
    match index {
        None => {
            let message = format!(
                "{name}: expected an integer for {what}, got {} ({})",
                shown(value),
                type_name(value)
            );
            Err(raise(py, "ArgumentTypeError", message))
        }
        Some(number) => number.extract::<usize>().map_err(|_| {
            let negative = number.lt(0).unwrap_or(false);
            let reason = if negative {
                "it must be 0 or more"
            } else {
                "it is too large"
            };
            raise(
                py,
                class,
                format!("{name}: {what} is {}; {reason}", shown(value)),
            )
        }),
    }
}

/// The shape of an array; one integer is the shape of an array of one axis.
pub fn shape(value: &Bound<'_, PyAny>) -> PyResult<PerAxis<usize>> {
    if memory::index(value)?.is_some() {
        return Ok(std::iter::once(count(
            value,
            "shape",
            "ShapeError",
            format_args!("its size"),
        )?)
        .collect());
    }
    items(value, "shape", "a sequence of integers, one size per axis")?
        .iter()
        .enumerate()
        .map(|(axis, size)| {
            count(
                size,
                "shape",
                "ShapeError",
                format_args!("the size of axis {axis}"),
            )
        })
        .collect()
}

/// An index into an array, one entry per axis.
pub fn entries(value: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<Entries> {
    items(value, name, "a sequence of integers, one index per axis")?
        .iter()
        .enumerate()
        .map(|(axis, entry)| {
            count(
                entry,
                name,
                "ArgumentValueError",
                format_args!("the {what} along axis {axis}"),
            )
        })
        .collect()
}

pub fn boundary(value: &Bound<'_, PyAny>, name: &str, unit: &str) -> PyResult<usize> {
    let boundary = count(
        value,
        name,
        "ArgumentValueError",
        format_args!("the number of {unit}"),
    )?;
    if boundary == 0 {
        let message =
            format!("{name}: the number of {unit} is 0; it must be 1 (no alignment) or more");
        return Err(raise(value.py(), "ArgumentValueError", message));
    }
    Ok(boundary)
}

/// Points around the compute domain: per axis one integer for both sides or a pair.
pub fn halo(value: &Bound<'_, PyAny>) -> PyResult<PerAxis<(usize, usize)>> {
    const EXPECTED: &str = "a sequence with an integer or a pair of integers per axis";
    let points = |entry: &Bound<'_, PyAny>, axis: usize| {
        count(
            entry,
            "halo",
            "ArgumentValueError",
            format_args!("the number of points along axis {axis}"),
        )
    };
    items(value, "halo", EXPECTED)?
        .iter()
        .enumerate()
        .map(|(axis, entry)| {
            if entry.is_instance_of::<PyBool>() || memory::index(entry)?.is_some() {
                let both = points(entry, axis)?;
                return Ok((both, both));
            }
            match items(entry, "halo", EXPECTED)?.as_slice() {
                [lower, upper] => Ok((points(lower, axis)?, points(upper, axis)?)),
                pair => {
                    let message = format!(
                        "halo: axis {axis} has {} entries, {}; expected an integer or a pair (lower, upper)",
                        pair.len(),
                        shown(entry)
                    );
                    Err(raise(value.py(), "ArgumentValueError", message))
                }
            }
        })
        .collect()
}

/// Labels of axes: a sequence of them, or a string of labels of one character.
pub fn dims(value: &Bound<'_, PyAny>, name: &str) -> PyResult<PerAxis<Dim>> {
    let py = value.py();
    let read = match unordered(value) && !value.is_instance_of::<PyString>() {
        true => Err(BadLabels::NoSequence),
        false => labels(value),
    };
    let message = match read {
        Ok(dims) => return Ok(dims.into()),
        Err(BadLabels::Raised(error)) => return Err(error),
        Err(BadLabels::NoSequence) => {
            return Err(wrong_items(
                value,
                name,
                "labels such as ('I', 'J', 'K') or \"IJK\"",
            ));
        }
        Err(BadLabels::Unknown(label)) => format!(
            "{name}: '{label}' is no label of an axis; expected 'I', 'J', 'K', or '0', '1', ... for data dimensions"
        ),
        Err(BadLabels::Repeated(dim)) => {
            format!("{name}: '{dim}' is given twice in {}", shown(value))
        }
    };
    Err(raise(py, "DimensionsError", message))
}

pub fn layout<'py>(
    value: Bound<'py, PyAny>,
    key: &str,
    preset: &str,
) -> PyResult<LayoutChoice<'py>> {
    if value.is_callable() {
        return Ok(if key == "layout" {
            LayoutChoice::OfDims(value)
        } else {
            LayoutChoice::OfCount(value)
        });
    }
    if let Ok(name @ ("C" | "F")) = value.extract::<&str>() {
        let message = format!(
            "{key}: '{name}' is the name of a preset; give it as {preset}='{name}', or a permutation of the axes such as \
             (2, 1, 0)"
        );
        return Err(raise(value.py(), "ArgumentTypeError", message));
    }
    permutation(&value, key).map(LayoutChoice::Permutation)
}

/// The entries of a layout; whether they are a permutation is not known here.
pub fn permutation(value: &Bound<'_, PyAny>, name: &str) -> PyResult<PerAxis<usize>> {
    items(
        value,
        name,
        "a permutation of the axes such as (2, 1, 0), or a callable that returns one",
    )?
    .iter()
    .enumerate()
    .map(|(axis, entry)| count(entry, name, "LayoutError", format_args!("entry {axis}")))
    .collect()
}

/// Where to allocate: on the host, or on an accelerator that there is.
pub fn device(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Device> {
    Ok(crate::device::accelerator(name, value)?.map_or(Device::Host, Device::Gpu))
}

/// The first accelerator.
pub fn first_device(py: Python<'_>, asked_by: &str) -> PyResult<Device> {
    device(PyString::new(py, "gpu").as_any(), asked_by)
}

pub fn gpu(value: &Bound<'_, PyAny>) -> PyResult<Device> {
    match flag(value, "gpu")? {
        true => first_device(value.py(), "gpu"),
        false => Ok(Device::Host),
    }
}

/// True or False, Python's or NumPy's.
pub fn flag(value: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    value.extract::<bool>().map_err(|_| {
        let message = format!(
            "{name}: expected True or False, got {} ({})",
            shown(value),
            type_name(value)
        );
        raise(value.py(), "ArgumentTypeError", message)
    })
}

/// `managed` says who keeps a host and a device copy equal; host memory alone has nothing to keep equal.
pub fn managed(value: &Bound<'_, PyAny>) -> PyResult<Managed> {
    let is_false = value.cast::<PyBool>().is_ok_and(|flag| !flag.is_true());
    match value.extract::<&str>() {
        Ok("gt4py") => return Ok(Managed::Software),
        Ok("cuda") => return Ok(Managed::Driver),
        _ if is_false || value.is_none() => return Ok(Managed::No),
        _ => {}
    }
    let message = format!(
        "managed: expected None, False, 'gt4py' or 'cuda', got {}",
        shown(value)
    );
    Err(raise(value.py(), "ArgumentValueError", message))
}
