//! NumPy's protocols: `__array__`, `__array_interface__`, `__array_struct__`.

use fieldstone_storage::{Access, Side, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::super::{CudaManagedGpuStorage, SoftwareManagedGpuStorage, Storage};
use super::buffer::is_contiguous;

impl Storage {
    /// The description of memory that the array interfaces share.
    pub(super) fn description<'py>(
        &self,
        py: Python<'py>,
        view: &View,
    ) -> PyResult<Bound<'py, PyDict>> {
        let description = PyDict::new(py);
        description.set_item("shape", PyTuple::new(py, view.shape())?)?;
        description.set_item("typestr", self.dtype.bind(py).getattr("str")?)?;
        description.set_item("data", (view.pointer().addr(), !self.writeable))?;
        description.set_item("strides", PyTuple::new(py, view.strides())?)?;
        description.set_item("version", 3)?;
        Ok(description)
    }

    /// What an address is handed out for: whoever has it may write there.
    fn handed_out(&self) -> Access {
        if self.writeable {
            Access::ReadWrite
        } else {
            Access::Read
        }
    }
}

#[pymethods]
impl SoftwareManagedGpuStorage {
    /// Above storages with one copy, so that this one decides how they mix.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: u32 = 11;
}

#[pymethods]
impl CudaManagedGpuStorage {
    /// Above storages on one side, so that this one decides how they mix.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: u32 = 11;
}

#[pymethods]
impl Storage {
    /// Above NumPy's arrays, so that the storage decides how they mix.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: u32 = 10;

    /// The host memory as a NumPy array; the device's as an array of its library, if there is nothing else, which NumPy never
    /// asks for.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if dtype.is_none() && copy.is_none() && !slf.borrow().place().has(Side::Host) {
            return Self::exported_on_device(slf);
        }
        let wanted = dtype
            .map(|dtype| PyArrayDescr::new(py, dtype))
            .transpose()?;
        let converts = wanted
            .as_ref()
            .is_some_and(|wanted| !wanted.is_equiv_to(slf.borrow().dtype.bind(py)));
        if let (Some(wanted), true, Some(false)) = (&wanted, converts, copy) {
            return Err(PyValueError::new_err(format!(
                "copy=False: elements of type {} cannot be seen as {wanted} without a copy",
                slf.borrow().dtype.bind(py)
            )));
        }
        // Nobody can write through a copy.
        let array = if converts || copy == Some(true) {
            Self::array(slf, Access::Read)?
        } else {
            Self::exported(slf)?
        };
        if wanted.is_none() && copy != Some(true) {
            return Ok(array);
        }
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "copy"), copy)?;
        array.call_method(intern!(py, "__array__"), (wanted,), Some(&keywords))
    }

    /// The host memory in NumPy's array interface, version 3. An address that is handed out counts as a write to it.
    #[getter(__array_interface__)]
    fn array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if !self.place().has(Side::Host) {
            return Err(PyAttributeError::new_err(
                "a storage that is on a device only has no __array_interface__",
            ));
        }
        let view = self.host(py, self.handed_out())?;
        // To have an address is no reason to lose what is written through arrays of the other side.
        self.settle(py, Side::Host)?;
        self.description(py, view)
    }

    /// The device memory in Numba's array interface, version 3. An address that is handed out counts as a write to it.
    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if !self.place().has(Side::Device) {
            return Err(PyAttributeError::new_err(
                "a storage that is in host memory only has no __cuda_array_interface__",
            ));
        }
        let view = self.on_device(py, self.handed_out())?;
        self.settle(py, Side::Device)?;
        let description = self.description(py, &view)?;
        if is_contiguous(view.shape(), view.strides(), view.itemsize()) {
            description.set_item("strides", py.None())?;
        }
        // Work of ours is on the default stream, which waits for all others.
        description.set_item("stream", 1)?;
        Ok(description)
    }

    /// The memory in the structure of NumPy's array interface. The capsule keeps it alive.
    ///
    /// NumPy asks for it before anything else: of a storage on a device only, it learns here that there is no host memory, by an
    /// error that is no `AttributeError`, after which it would go on asking.
    #[getter(__array_struct__)]
    fn array_struct<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // Of a storage on a device only, NumPy learns here that there is no host memory: it would not ask `__array__` well.
        Self::exported(slf)?.getattr(intern!(slf.py(), "__array_struct__"))
    }
}
