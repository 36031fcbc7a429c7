//! Types of elements.

use fieldstone_storage::PerAxis;
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;

use super::value::shown;
use crate::errors::raise;

/// An element type with the data dimensions it carries, as `(float, (3,))` does.
pub struct Element<'py> {
    pub dtype: Bound<'py, PyArrayDescr>,
    pub data_shape: PerAxis<usize>,
}

/// Reads a dtype: anything `numpy.dtype` takes that is a number or a boolean in the machine's byte order.
pub fn element<'py>(value: &Bound<'py, PyAny>) -> PyResult<Element<'py>> {
    let py = value.py();
    let dtype = PyArrayDescr::new(py, value).map_err(|error| {
        let message = format!(
            "dtype: {} is no element type; {}",
            shown(value),
            error.value(py)
        );
        raise(py, "DTypeError", message)
    })?;
    let element = Element {
        data_shape: dtype.shape().into(),
        dtype: dtype.base(),
    };
    check_dtype(&element.dtype, "dtype")?;
    Ok(element)
}

/// Refuses elements that are no plain numbers.
pub fn check_dtype(dtype: &Bound<'_, PyArrayDescr>, name: &str) -> PyResult<()> {
    let supported = match dtype.kind() {
        b'b' => true,
        b'i' | b'u' => dtype.itemsize() <= 8,
        b'f' => dtype.itemsize() <= 8,
        b'c' => dtype.itemsize() <= 16,
        _ => false,
    };
    let reason = if !supported {
        "storages hold booleans, integers, and floats and complex numbers of up to 64 bits per part"
    } else if dtype.is_native_byteorder() == Some(false) {
        "its bytes are swapped; convert it with .astype(dtype.newbyteorder('='))"
    } else {
        return Ok(());
    };
    let message = format!(
        "{name}: elements of type {} are not supported: {reason}",
        shown(dtype)
    );
    Err(raise(dtype.py(), "DTypeError", message))
}
