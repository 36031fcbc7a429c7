//! Operands that are alike: storages in host memory with the same axes, and numbers. Most calls are of this kind.

use numpy::PyArrayDescrMethods;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use pyo3::{ffi, intern};

use super::function::{Kind, Ufunc, weak_kind};
use super::result::{largest, least_common_multiple};
use crate::array::array_of;
use crate::storage::Storage;
use crate::storage::place::Place;
use crate::storage::resolve::{Location, Resolved};

/// A function of one or two operands with one result; `None` if the operands are of another kind.
pub fn call<'py>(
    py: Python<'py>,
    ufunc: &Ufunc,
    inputs: &[Bound<'py, PyAny>],
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !ufunc.is_elementwise || ufunc.outputs != 1 {
        return Ok(None);
    }
    let (first, second) = match inputs {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => return Ok(None),
    };
    let (first_storage, second_storage) = (storage_of(first), second.and_then(storage_of));
    let borrowed = (
        first_storage.map(|storage| storage.borrow()),
        second_storage.map(|storage| storage.borrow()),
    );
    let (first_own, second_own) = (borrowed.0.as_deref(), borrowed.1.as_deref());
    let Some(own) = first_own.or(second_own) else {
        return Ok(None);
    };
    if own.view.ndim() == 0 {
        return Ok(None);
    }
    let other = second_own.filter(|_| first_own.is_some());
    if other.is_some_and(|other| {
        other.view.shape() != own.view.shape() || other.axes.dims != own.axes.dims
    }) {
        return Ok(None);
    }
    let Some(first_kind) = kind_of(py, first, first_own) else {
        return Ok(None);
    };
    let second_kind = match second {
        Some(second) => kind_of(py, second, second_own),
        None => Some(Kind::None),
    };
    let Some(second_kind) = second_kind else {
        return Ok(None);
    };
    let dtype =
        |storage: Option<&'_ Storage>| storage.map(|storage| storage.dtype.bind(py).clone());
    let (first_dtype, second_dtype) = (dtype(first_own), dtype(second_own));
    let types = [
        (first_kind, first_dtype.as_ref()),
        (second_kind, second_dtype.as_ref()),
    ];
    let Some(dtype) = ufunc.type_of_result(py, types)? else {
        return Ok(None);
    };

    let mut axes = own.axes.clone();
    let mut alignment = own.alignment;
    if let Some(other) = other {
        if other.axes != axes {
            axes = largest(axes, &other.axes);
            axes.limit(own.view.shape());
        }
        alignment = least_common_multiple(alignment, other.alignment);
    }
    let resolved = Resolved {
        shape: own.view.shape().into(),
        dtype,
        axes,
        alignment,
        location: Location::Host,
    };
    let result = resolved.allocated(py)?;
    let target = result.view.clone();
    let result_dtype = result.dtype.bind(py).clone();
    let result = result.into_object(py)?;
    let target = array_of(&target, &result_dtype, true, result.clone().into_any())?;
    let array = |object: &Bound<'py, PyAny>, storage: Option<&Storage>| match storage {
        Some(storage) => array_of(&storage.view, storage.dtype.bind(py), false, object.clone()),
        None => Ok(object.clone()),
    };
    let first = array(first, first_own)?;
    let function = ufunc.object.bind(py);
    match second {
        Some(second) => with_out(function, [&first, &array(second, second_own)?, &target])?,
        None => with_out(function, [&first, &target])?,
    }
    Ok(Some(result.into_any()))
}

/// Calls a function with its inputs by position and the last argument as `out`, without a dictionary.
fn with_out<const N: usize>(
    function: &Bound<'_, PyAny>,
    arguments: [&Bound<'_, PyAny>; N],
) -> PyResult<()> {
    static OUT: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
    let py = function.py();
    let names = OUT.get_or_try_init(py, || {
        PyTuple::new(py, [intern!(py, "out")]).map(Bound::unbind)
    })?;
    let arguments = arguments.map(|argument| argument.as_ptr());
    // SAFETY: the arguments are alive during the call; all but the last, which `names` names, are given by position.
    let result = unsafe {
        let result =
            ffi::PyObject_Vectorcall(function.as_ptr(), arguments.as_ptr(), N - 1, names.as_ptr());
        Bound::from_owned_ptr_or_err(py, result)
    };
    result.map(|_| ())
}

fn storage_of<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, Storage>> {
    object.cast::<Storage>().ok()
}

/// How an operand enters promotion; `None` if it is neither a storage in host memory nor a number of Python.
fn kind_of(py: Python<'_>, object: &Bound<'_, PyAny>, storage: Option<&Storage>) -> Option<Kind> {
    match storage {
        None => weak_kind(object),
        Some(storage) => {
            let dtype = storage.dtype.bind(py);
            let is_plain =
                matches!(storage.place, Place::Host) && dtype.is_native_byteorder() != Some(false);
            is_plain.then(|| Kind::Element(dtype.num()))
        }
    }
}
