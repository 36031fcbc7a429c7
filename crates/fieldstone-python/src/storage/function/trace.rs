//! Functions that put the same elements at other indices: views, found without touching the memory of the storage.
//!
//! The function is called with a stand-in whose strides tell each axis and each index along it apart, as digits of a
//! number. From the strides and the address of the result follows which points of which axis it has.

use fieldstone_storage::View;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};

use super::call::Call;
use super::result::{Origin, following, reshaped};
use crate::array;
use crate::storage::Storage;
use crate::storage::axes::{Points, Taken};
use crate::storage::foreign::Foreign;

/// Bytes up to which there is a stand-in. They are never touched, and so never become memory.
const LARGEST: usize = 1 << 40;

/// An array of the shape of a storage.
struct StandIn<'py> {
    array: Bound<'py, PyAny>,
    address: usize,
    strides: Vec<isize>,
}

/// Transpositions, reversals, splits, and axes of one point that come or go.
pub fn rearranged<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(source) = call.source() else {
        return Ok(None);
    };
    if call.name()? == "transpose" && call.keywords.is_empty() {
        let axes = PyTuple::new(call.py(), &call.positional[1..])?;
        return source.call_method1("transpose", axes).map(Some);
    }
    if call.name()? == "expand_dims" {
        return expanded(source, call).map(Some);
    }
    let Some(stand_in) = stand_in(source)? else {
        return Ok(None);
    };
    let first = std::iter::once(stand_in.array.clone());
    let positional = first.chain(call.positional[1..].iter().cloned());
    let positional = PyTuple::new(call.py(), positional.collect::<Vec<_>>())?;
    let result = call.function.call(positional, Some(&call.keywords))?;
    views(source, &stand_in, &result)
}

/// `expand_dims(storage, axis)`: NumPy says of an array of two points along each axis where the new ones are.
fn expanded<'py>(source: &Bound<'py, Storage>, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = call.py();
    let ndim = source.borrow().view.ndim();
    let zeros = array::numpy(py)?.getattr(intern!(py, "zeros"))?;
    let element = zeros.call1((PyTuple::empty(py), numpy::dtype::<bool>(py)))?;
    let twos = PyTuple::new(py, vec![2; ndim])?;
    let array = array::numpy(py)?.call_method1(intern!(py, "broadcast_to"), (element, twos))?;
    let first = std::iter::once(array);
    let positional = first.chain(call.positional[1..].iter().cloned());
    let positional = PyTuple::new(py, positional.collect::<Vec<_>>())?;
    let result = call.function.call(positional, Some(&call.keywords))?;
    let key = result
        .cast::<PyUntypedArray>()?
        .shape()
        .iter()
        .map(|&size| {
            if size == 1 {
                py.None().into_bound(py)
            } else {
                PySlice::full(py).into_any()
            }
        });
    source.get_item(PyTuple::new(py, key.collect::<Vec<_>>())?)
}

/// The stand-in for a storage; `None` if there are too many elements.
fn stand_in<'py>(storage: &Bound<'py, Storage>) -> PyResult<Option<StandIn<'py>>> {
    let py = storage.py();
    let storage = storage.borrow();
    let shape = storage.view.shape();
    let mut strides = Vec::with_capacity(shape.len());
    let mut bytes = 1usize;
    for &size in shape {
        strides.push(bytes as isize);
        // Two at least, so that no two axes have the same stride.
        let next = size
            .max(1)
            .checked_add(1)
            .and_then(|size| bytes.checked_mul(size));
        let Some(next) = next.filter(|&bytes| bytes <= LARGEST) else {
            return Ok(None);
        };
        bytes = next;
    }
    // Memory that may be read, since whoever looks at the variables of NumPy's functions after an error may print it.
    let dtype = numpy::dtype::<bool>(py);
    let memory = array::numpy(py)?
        .getattr(intern!(py, "zeros"))?
        .call1((bytes, &dtype))?
        .cast_into::<PyUntypedArray>()?;
    let pointer = array::view_of(&memory)?.pointer();
    // SAFETY: the largest index along each axis is below the number that its digit has room for, so that all elements
    // lie within the memory, which the array keeps alive.
    let view = unsafe { View::new(pointer, shape.to_vec(), strides.clone(), 1, None) }
        .map_err(|error| array::exception(py, &error))?;
    Ok(Some(StandIn {
        array: array::array_of(&view, &dtype, false, memory.into_any())?,
        address: pointer.addr(),
        strides,
    }))
}

/// The views that a function made of the stand-in; `None` if one of them is none that a storage can be.
fn views<'py>(
    source: &Bound<'py, Storage>,
    stand_in: &StandIn<'py>,
    result: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = source.py();
    if let Ok(list) = result.cast::<PyList>() {
        let parts: Option<Vec<_>> = list
            .iter()
            .map(|part| views(source, stand_in, &part))
            .collect::<PyResult<_>>()?;
        return Ok(match parts {
            Some(parts) => Some(PyList::new(py, parts)?.into_any()),
            None => None,
        });
    }
    if let Ok(tuple) = result.cast::<PyTuple>() {
        let parts: Option<Vec<_>> = tuple
            .iter()
            .map(|part| views(source, stand_in, &part))
            .collect::<PyResult<_>>()?;
        return Ok(match parts {
            Some(parts) => Some(PyTuple::new(py, parts)?.into_any()),
            None => None,
        });
    }
    let Ok(array) = result.cast::<PyUntypedArray>() else {
        return Ok(None);
    };
    let storage = source.borrow();
    let strides = &stand_in.strides;
    let starts = starts(
        array::view_of(array)?.pointer().addr() - stand_in.address,
        strides,
    );
    let Some(taken) = taken(
        storage.view.shape(),
        strides,
        &starts,
        array.shape(),
        array.strides(),
    ) else {
        return Ok(None);
    };
    let own = storage.view.strides();
    let offset = match array.shape().contains(&0) {
        true => 0,
        false => starts
            .iter()
            .zip(own)
            .map(|(&start, &stride)| start as isize * stride)
            .sum(),
    };
    let view = storage.part(&taken, offset);
    let axes = storage.axes.select(&taken);
    Ok(Some(
        storage
            .with_view(py, view, axes)
            .into_object(py)?
            .into_any(),
    ))
}

/// The index along each axis that an address of the stand-in is at.
fn starts(offset: usize, strides: &[isize]) -> Vec<usize> {
    let mut rest = offset;
    let mut starts = vec![0; strides.len()];
    for (start, &stride) in starts.iter_mut().zip(strides).rev() {
        *start = rest / stride as usize;
        rest %= stride as usize;
    }
    starts
}

/// The points that each axis of a view of the stand-in has; `None` if an axis runs along two, or repeats one.
fn taken(
    whole: &[usize],
    whole_strides: &[isize],
    starts: &[usize],
    shape: &[usize],
    strides: &[isize],
) -> Option<Vec<Taken>> {
    let mut taken: Vec<Taken> = Vec::with_capacity(shape.len());
    for (&len, &stride) in shape.iter().zip(strides) {
        if stride == 0 {
            if len != 1 {
                return None;
            }
            taken.push(None);
            continue;
        }
        let axis = whole_strides.iter().rposition(|&own| own <= stride.abs())?;
        let own = whole_strides[axis];
        let is_new = taken.iter().flatten().all(|&(other, _)| other != axis);
        if stride % own != 0 || !is_new {
            return None;
        }
        let points = Points {
            size: whole[axis],
            start: if len == 0 { 0 } else { starts[axis] },
            step: stride / own,
            len,
        };
        taken.push(Some((axis, points)));
    }
    Some(taken)
}

/// `broadcast_to(storage, shape)`: a view that repeats elements, and so is read-only.
pub fn broadcast<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(source) = call.source() else {
        return Ok(None);
    };
    let py = call.py();
    // NumPy reads the shape, and says what is wrong with it.
    let Some(result) = call.facts()? else {
        return Ok(None);
    };
    let shape = result.cast::<PyUntypedArray>()?.shape().to_vec();
    let storage = source.borrow();
    let own = storage.view.ndim();
    let mut origins = vec![Origin::New; shape.len() - own];
    origins.extend(Origin::all(own));
    let axes = following(&Foreign::of_storage(source), &origins, &shape);
    let view = storage
        .view
        .broadcast(&shape)
        .map_err(|error| array::exception(py, &error))?;
    let mut repeated = storage.with_view(py, view, axes);
    repeated.writeable = false;
    Ok(Some(repeated.into_object(py)?.into_any()))
}

/// `sliding_window_view(storage, window, axis)`: a view in which windows overlap, and so is read-only.
pub fn windows<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    reshaped(call)
}
