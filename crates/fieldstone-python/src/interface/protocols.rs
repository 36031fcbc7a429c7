//! The protocols that arrays of all libraries share.
//!
//! What says whether memory is read-only comes before DLPack, whose older capsules do not. `__array__` comes last: it may
//! return a copy.

use fieldstone_storage::Side;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use super::buffer::Buffer;
use super::bytes::Bytes;
use super::memory::Memory;
use super::{Purpose, Refusal, Request, dlpack};
use crate::array::{self, numpy};

/// The memory of the first protocol the object speaks, its own unless a copy will do.
pub fn read<'py>(request: &Request<'_, 'py>, object: &Bound<'py, PyAny>) -> PyResult<Memory<'py>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        if is_masked(object)? {
            return Err(request.refuse(object, Refusal::Masked));
        }
        return Memory::of_array(array);
    }
    let has = |attribute: &str| object.hasattr(attribute);
    // An array on a device may have the type of one that has a buffer.
    if let Ok(bytes) = Bytes::of(object) {
        if bytes.is_nowhere() {
            return Err(request.refuse(object, NOWHERE));
        }
        let may_convert = request.purpose == Purpose::Copy;
        if !may_convert && array::is_scalar(object)? {
            return Err(request.refuse(object, Refusal::NoMemory));
        }
        return Memory::of_array(&by_numpy(request, object)?);
    }
    if has("__array_struct__")? {
        let array = by_numpy(request, object)?;
        // Where the address is null, NumPy takes memory of its own.
        if array::owns_memory(&array) {
            return Err(request.refuse(object, NOWHERE));
        }
        return Memory::of_array(&array);
    }
    if let Some(interface) = object.getattr_opt("__array_interface__")? {
        return described(
            request,
            object,
            "__array_interface__",
            &interface,
            Side::Host,
        );
    }
    if let Some(interface) = object.getattr_opt("__cuda_array_interface__")? {
        let attribute = "__cuda_array_interface__";
        return described(request, object, attribute, &interface, Side::Device);
    }
    let may_convert = request.purpose == Purpose::Copy;
    if has("__dlpack__")? {
        dlpack::read(request, object)
    } else if may_convert || has("__array__")? {
        let array = by_numpy(request, object)?;
        // Some take no notice of being asked for no copy; what is written into it would be lost.
        if !may_convert && array::is_nobody_elses(&array) {
            let cause = PyValueError::new_err("its __array__ returns a copy");
            return Err(request.refuse(object, Refusal::NoArray(cause)));
        }
        Memory::of_array(&array)
    } else {
        Err(request.refuse(object, Refusal::NoMemory))
    }
}

/// Elements at the address 0.
const NOWHERE: Refusal = Refusal::NullAddress {
    attribute: "memory",
};

/// The memory on a device of an object that may have some in host memory as well.
pub fn on_device<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Memory<'py>>> {
    let attribute = "__cuda_array_interface__";
    let interface = object.getattr_opt(attribute)?;
    interface
        .map(|interface| described(request, object, attribute, &interface, Side::Device))
        .transpose()
}

/// The array that NumPy makes of an object.
fn by_numpy<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let keywords = PyDict::new(py);
    if request.purpose != Purpose::Copy {
        keywords.set_item("copy", false)?;
    }
    let array = numpy(py)?
        .call_method("asarray", (object,), Some(&keywords))
        .map_err(|error| request.refuse(object, Refusal::NoArray(error)))?;
    Ok(array.cast_into()?)
}

/// The memory that the dictionary of an attribute describes.
fn described<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    attribute: &'static str,
    interface: &Bound<'py, PyAny>,
    side: Side,
) -> PyResult<Memory<'py>> {
    let Ok(entries) = interface.cast::<PyMapping>() else {
        return Err(request.refuse(interface, Refusal::NoDescription { attribute }));
    };
    Buffer {
        request,
        object,
        attribute,
        entries,
    }
    .memory(side)
}

/// Whether an array is one of `numpy.ma` and masks any of its elements.
fn is_masked(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    match array.getattr_opt("mask")? {
        Some(mask) => numpy(array.py())?.call_method1("any", (mask,))?.is_truthy(),
        None => Ok(false),
    }
}
