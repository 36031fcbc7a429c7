//! Operands that are alike: storages in host memory with the same axes, arrays of the same shape, and numbers. Most calls are
//! of this kind.

use fieldstone_storage::View;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
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

/// One of the operands.
enum Operand<'a, 'py> {
    Storage(&'a Bound<'py, Storage>, PyRef<'py, Storage>),
    Array(&'a Bound<'py, PyUntypedArray>),
    Number(&'a Bound<'py, PyAny>),
}

impl<'a, 'py> Operand<'a, 'py> {
    /// `None` for anything else.
    fn of(object: &'a Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(storage) = object.cast::<Storage>() {
            let borrowed = storage.borrow();
            let is_plain = matches!(borrowed.place, Place::Host)
                && is_native(borrowed.dtype.bind(object.py()));
            return is_plain.then(|| Self::Storage(storage, borrowed));
        }
        if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
            let dtype = array.dtype();
            let is_plain = matches!(dtype.kind(), b'b' | b'i' | b'u' | b'f' | b'c')
                && dtype.itemsize() <= LARGEST_ELEMENT
                && is_native(&dtype);
            return is_plain.then_some(Self::Array(array));
        }
        weak_kind(object).map(|_| Self::Number(object))
    }

    fn storage(&self) -> Option<&Storage> {
        match self {
            Self::Storage(_, storage) => Some(storage),
            _ => None,
        }
    }

    /// Whether its axes are those of a storage.
    fn fits(&self, own: &Storage) -> bool {
        match self {
            Self::Storage(_, other) => {
                other.view.shape() == own.view.shape() && other.axes.dims == own.axes.dims
            }
            Self::Array(array) => array.shape() == own.view.shape(),
            Self::Number(_) => true,
        }
    }

    /// How it enters promotion, and its type if it has elements.
    fn kind(&self, py: Python<'py>) -> (Kind, Option<Bound<'py, PyArrayDescr>>) {
        let dtype = match self {
            Self::Number(object) => return (weak_kind(object).unwrap_or(Kind::None), None),
            Self::Storage(_, storage) => storage.dtype.bind(py).clone(),
            Self::Array(array) => array.dtype(),
        };
        (Kind::Element(dtype.num()), Some(dtype))
    }

    /// What NumPy is given.
    fn array(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Storage(object, storage) => {
                let keep = (*object).clone().into_any();
                array_of(&storage.view, storage.dtype.bind(py), false, keep)
            }
            Self::Array(array) => Ok((*array).clone().into_any()),
            Self::Number(object) => Ok((*object).clone()),
        }
    }
}

/// Bytes of the largest element that a storage can have.
const LARGEST_ELEMENT: usize = 16;

fn is_native(dtype: &Bound<'_, PyArrayDescr>) -> bool {
    dtype.is_native_byteorder() != Some(false)
}

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
    let Some(first) = Operand::of(first) else {
        return Ok(None);
    };
    let second = match second.map(Operand::of) {
        Some(None) => return Ok(None),
        Some(second) => second,
        None => None,
    };
    let second_own = second.as_ref().and_then(Operand::storage);
    let Some(own) = first.storage().or(second_own) else {
        return Ok(None);
    };
    let fit = first.fits(own) && second.as_ref().is_none_or(|second| second.fits(own));
    if own.view.ndim() == 0 || !fit {
        return Ok(None);
    }
    let (first_kind, first_dtype) = first.kind(py);
    let (second_kind, second_dtype) = second
        .as_ref()
        .map_or((Kind::None, None), |second| second.kind(py));
    let types = [
        (first_kind, first_dtype.as_ref()),
        (second_kind, second_dtype.as_ref()),
    ];
    let Some(dtype) = ufunc.type_of_result(py, types)? else {
        return Ok(None);
    };

    let mut axes = own.axes.clone();
    let mut alignment = own.alignment;
    if let (Some(_), Some(other)) = (first.storage(), second_own) {
        if other.axes != axes {
            axes = largest(axes, &other.axes);
            axes.limit(own.view.shape());
        }
        alignment = least_common_multiple(alignment, other.alignment);
    }
    let resolved = Resolved {
        shape: own.view.shape().into(),
        dtype: dtype.clone(),
        axes,
        alignment,
        location: Location::Host,
    };
    let result = resolved.allocated(py)?;
    let view = result.view.clone();
    let result = result.into_object(py)?.into_any();
    let target = output(&view, &dtype, result.clone())?;
    let function = ufunc.object.bind(py);
    match second {
        Some(second) => with_out(function, [&first.array(py)?, &second.array(py)?, &target])?,
        None => with_out(function, [&first.array(py)?, &target])?,
    }
    Ok(Some(result))
}

/// A function of a storage and another operand that writes to the storage; `false` if the operands are of another kind.
pub fn call_in_place<'py>(
    ufunc: &Ufunc,
    storage: &Bound<'py, Storage>,
    other: &Bound<'py, PyAny>,
) -> PyResult<bool> {
    let py = storage.py();
    let (Some(Operand::Storage(_, own)), Some(other)) =
        (Operand::of(storage.as_any()), Operand::of(other))
    else {
        return Ok(false);
    };
    let usual = ufunc.is_elementwise && own.writeable && own.view.ndim() > 0 && other.fits(&own);
    if !usual {
        return Ok(false);
    }
    let target = output(&own.view, own.dtype.bind(py), storage.clone().into_any())?;
    let other = other.array(py)?;
    // Whoever holds the storage may look at it while NumPy works.
    drop(own);
    with_out(ufunc.object.bind(py), [&target, &other, &target])?;
    Ok(true)
}

fn output<'py>(
    view: &View,
    dtype: &Bound<'py, PyArrayDescr>,
    keep: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    array_of(view, dtype, true, keep)
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
