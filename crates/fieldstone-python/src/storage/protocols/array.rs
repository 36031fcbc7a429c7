//! NumPy's protocols: `__array__`, `__array_interface__`, `__array_struct__`.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::super::Storage;
use crate::array;

impl Storage {
    /// The memory as a NumPy array that keeps the storage alive.
    pub fn array<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.borrow();
        array::array_of(
            &this.view,
            this.dtype.bind(slf.py()),
            this.writeable,
            slf.clone().into_any(),
        )
    }

    /// The description of the memory that the array interfaces share.
    pub(super) fn description<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let this = slf.borrow();
        let description = PyDict::new(py);
        description.set_item("shape", PyTuple::new(py, this.view.shape())?)?;
        description.set_item("typestr", this.dtype.bind(py).getattr("str")?)?;
        description.set_item("data", (this.view.pointer().addr(), !this.writeable))?;
        description.set_item("strides", PyTuple::new(py, this.view.strides())?)?;
        description.set_item("version", 3)?;
        Ok(description)
    }
}

#[pymethods]
impl Storage {
    /// Above NumPy's arrays, so that the storage decides how they mix.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: u32 = 10;

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let array = Self::array(slf)?;
        if dtype.is_none() && copy != Some(true) {
            return Ok(array);
        }
        let wanted = dtype
            .map(|dtype| PyArrayDescr::new(py, dtype))
            .transpose()?;
        if let (Some(wanted), Some(false)) = (&wanted, copy)
            && !wanted.is_equiv_to(slf.borrow().dtype.bind(py))
        {
            return Err(PyValueError::new_err(format!(
                "copy=False: elements of type {} cannot be seen as {wanted} without a copy",
                slf.borrow().dtype.bind(py)
            )));
        }
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "copy"), copy)?;
        array.call_method(intern!(py, "__array__"), (wanted,), Some(&keywords))
    }

    /// The memory in NumPy's array interface, version 3.
    #[getter(__array_interface__)]
    fn array_interface<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        Self::description(slf)
    }

    /// The memory in the structure of NumPy's array interface. The capsule keeps it alive.
    #[getter(__array_struct__)]
    fn array_struct<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.getattr(intern!(slf.py(), "__array_struct__"))
    }
}
