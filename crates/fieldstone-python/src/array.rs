//! Between a view of memory and NumPy's array of it.

use std::ffi::c_int;

use fieldstone_storage::{StorageError, View};
use numpy::npyffi::{self, NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE, PY_ARRAY_API};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PySystemError};
use pyo3::ffi::Py_REFCNT;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::device;
use crate::errors::raise;

/// The module `numpy`, imported once.
pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY
        .get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?
        .bind(py))
}

/// Whether an object is one of NumPy's numbers, which have a type like arrays and no memory of their own.
pub fn is_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    object.is_instance(GENERIC.import(object.py(), "numpy", "generic")?)
}

/// Address of the first element of a NumPy array.
pub fn pointer_of(array: &Bound<'_, PyUntypedArray>) -> *mut u8 {
    // SAFETY: the array is alive, its data pointer may be read.
    unsafe { (*array.as_array_ptr()).fields.data }.cast()
}

/// The view of a NumPy array's memory, which stays the array's.
pub fn view_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<View> {
    let pointer = pointer_of(array);
    let (shape, strides) = (array.shape(), array.strides());
    // SAFETY: NumPy vouches for the elements of its array; who uses the view keeps the array alive.
    unsafe { View::new(pointer, shape, strides, array.dtype().itemsize(), None) }
        .map_err(|error| exception(array.py(), &error))
}

/// Whether NumPy has allocated the memory of an array.
pub fn owns_memory(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: the array is alive, its flags may be read.
    unsafe { (*array.as_array_ptr()).fields.flags & NPY_ARRAY_OWNDATA != 0 }
}

/// Whether NumPy has allocated the memory of an array and whoever was given the array is the only one to know it.
pub fn is_nobody_elses(array: &Bound<'_, PyUntypedArray>) -> bool {
    let mut holder = array.as_array_ptr();
    // SAFETY: the array is alive; it keeps alive what it is a view of.
    unsafe {
        while Py_REFCNT(holder.cast()) == 1 {
            let base = (*holder).fields.base;
            if base.is_null() {
                return (*holder).fields.flags & NPY_ARRAY_OWNDATA != 0;
            }
            if npyffi::PyArray_Check(array.py(), base) == 0 {
                return false;
            }
            holder = base.cast();
        }
    }
    false
}

/// Whether the type of the elements is this very object.
pub fn has_dtype(array: &Bound<'_, PyUntypedArray>, dtype: &Py<PyArrayDescr>) -> bool {
    // SAFETY: the array is alive, the pointer to its type may be read.
    let own = unsafe { (*array.as_array_ptr()).fields.descr };
    std::ptr::addr_eq(own, dtype.as_ptr())
}

/// The number of axes of whatever can be an array.
pub fn ndim_of(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = object.py();
    numpy(py)?
        .call_method1(intern!(py, "ndim"), (object,))?
        .extract()
}

/// Whether a NumPy array may be written to.
pub fn is_writeable(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: the array is alive, its flags may be read.
    unsafe { (*array.as_array_ptr()).fields.flags & NPY_ARRAY_WRITEABLE != 0 }
}

/// A NumPy array of the memory of `view`, which `base` keeps alive.
pub fn array_of<'py>(
    view: &View,
    dtype: &Bound<'py, PyArrayDescr>,
    writeable: bool,
    base: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = dtype.py();
    let flags = if writeable { NPY_ARRAY_WRITEABLE } else { 0 };
    // NumPy takes null to mean that it should allocate; without elements, any other address will do.
    let pointer = match view.pointer() {
        null if null.is_null() => std::ptr::NonNull::<u128>::dangling().as_ptr().cast(),
        pointer => pointer,
    };
    // SAFETY: shape and strides have as many entries as the view has axes and describe memory that `base`, which the
    // array refers to, keeps alive; sizes of axes are no larger than NumPy's type for them can hold, and NumPy only reads
    // both lists; it takes over the references to the dtype and the base.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            dtype.clone().into_dtype_ptr(),
            view.ndim() as c_int,
            view.shape().as_ptr().cast_mut().cast::<npyffi::npy_intp>(),
            view.strides().as_ptr().cast_mut(),
            pointer.cast(),
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base.into_ptr()) < 0 {
            return Err(PyErr::take(py)
                .unwrap_or_else(|| PySystemError::new_err("PyArray_SetBaseObject failed")));
        }
        Ok(array)
    }
}

/// The exception for an error of the storage crate.
pub fn exception(py: Python<'_>, error: &StorageError) -> PyErr {
    let message = error.to_string();
    let class = match error {
        StorageError::Layout { .. } => "LayoutError",
        StorageError::UnknownDim { .. } | StorageError::RepeatedDim { .. } => "DimensionsError",
        StorageError::UnknownPreset { .. } | StorageError::PresetExists { .. } => "PresetError",
        StorageError::TooLarge { .. }
        | StorageError::Broadcast { .. }
        | StorageError::Shapes { .. } => "ShapeError",
        StorageError::Protected { .. } => "ReadOnlyError",
        StorageError::Index { .. } => return PyIndexError::new_err(message),
        StorageError::Device(error) => return device::exception(py, error),
        _ => "ArgumentValueError",
    };
    raise(py, class, message)
}
