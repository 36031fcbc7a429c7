//! The protocols that arrays of all libraries share: whatever `numpy.asarray` and `numpy.from_dlpack` take.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Purpose, Refusal, Request};
use crate::array::numpy;

/// The number of host memory in DLPack.
const HOST: i32 = 1;

/// The array of the first protocol the object speaks, of the same memory unless a copy will do.
pub fn read<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        if is_masked(object)? {
            return Err(request.refuse(object, Refusal::Masked));
        }
        return Ok(array.clone());
    }
    let may_convert = request.purpose == Purpose::Copy;
    // SAFETY: the object is alive and the interpreter attached.
    let has_buffer = unsafe { pyo3::ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0;
    let has_interface =
        object.hasattr("__array_interface__")? || object.hasattr("__array_struct__")?;
    let converts = object.hasattr("__array__")?;
    if object.hasattr("__cuda_array_interface__")? && !has_interface && !(converts && may_convert) {
        return Err(request.refuse(object, Refusal::OnDevice));
    }
    let speaks_numpy = has_buffer || has_interface || converts;
    let array = if !speaks_numpy && object.hasattr("__dlpack__")? {
        let device: (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
        if device.0 != HOST {
            return Err(request.refuse(object, Refusal::OnDevice));
        }
        numpy(py)?
            .call_method1("from_dlpack", (object,))
            .map_err(Refusal::Exchange)
    } else if speaks_numpy || may_convert {
        let keywords = PyDict::new(py);
        if !may_convert {
            keywords.set_item("copy", false)?;
        }
        numpy(py)?
            .call_method("asarray", (object,), Some(&keywords))
            .map_err(Refusal::NoArray)
    } else {
        Err(Refusal::NoMemory)
    };
    let array = array.map_err(|refusal| request.refuse(object, refusal))?;
    Ok(array.cast_into()?)
}

/// Whether an array is one of `numpy.ma` and masks any of its elements.
fn is_masked(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    match array.getattr_opt("mask")? {
        Some(mask) => numpy(array.py())?.call_method1("any", (mask,))?.is_truthy(),
        None => Ok(false),
    }
}
