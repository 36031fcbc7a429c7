//! GDP 3's data interface.

use fieldstone_storage::{Side, View};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::super::{Place, Storage, parameters};

#[pymethods]
impl Storage {
    /// The memory per device, with what its axes mean.
    #[getter(__gt_data_interface__)]
    fn data_interface<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let this = slf.borrow();
        let devices = PyDict::new(py);
        let described = |view: &View, acquire: &str, touch: &str| {
            let buffer = this.description(py, view)?;
            if let Some(dims) = this.dims() {
                buffer.set_item("dims", parameters::dims_tuple(py, dims)?)?;
            }
            buffer.set_item("halo", PyTuple::new(py, this.halo())?)?;
            buffer.set_item("acquire", slf.getattr(acquire)?)?;
            buffer.set_item("touch", slf.getattr(touch)?)?;
            Ok::<_, PyErr>(buffer)
        };
        if this.place().has(Side::Host) {
            let host = described(&this.view, "device_to_host", "set_host_modified")?;
            devices.set_item(py.None(), host)?;
        }
        if this.place().has(Side::Device) {
            let there = match this.place() {
                Place::Pair { pair, .. } => pair.on_device(&this.view),
                _ => this.view.clone(),
            };
            let device = described(&there, "host_to_device", "set_device_modified")?;
            devices.set_item("gpu", device)?;
        }
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
