//! GDP 3's data interface.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::super::{Storage, parameters};

#[pymethods]
impl Storage {
    /// The memory per device, with what its axes mean.
    #[getter(__gt_data_interface__)]
    fn data_interface<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let host = Self::description(slf)?;
        let this = slf.borrow();
        if let Some(dims) = this.dims() {
            host.set_item("dims", parameters::dims_tuple(py, dims)?)?;
        }
        host.set_item("halo", PyTuple::new(py, this.halo())?)?;
        host.set_item("acquire", slf.getattr("device_to_host")?)?;
        host.set_item("touch", slf.getattr("set_host_modified")?)?;
        let devices = PyDict::new(py);
        devices.set_item(py.None(), host)?;
        Ok(devices)
    }

    /// The data interface under its older name.
    #[getter(__gt_interface__)]
    fn older_data_interface<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        Self::data_interface(slf)
    }

    /// Labels of the axes; ``None`` if they are known by position only.
    fn __gt_dims__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.dims()
            .map(|dims| parameters::dims_tuple(py, dims))
            .transpose()
    }

    /// Index of the first point of the compute domain where a call does not say otherwise.
    #[getter(__gt_origin__)]
    fn gt_origin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.origin())
    }
}
