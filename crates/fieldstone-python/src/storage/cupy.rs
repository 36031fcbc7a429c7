//! CuPy, where it is installed: what computes with whole arrays on a GPU.

use fieldstone_device::{Accelerator, Kind};
use fieldstone_storage::View;
use numpy::PyArrayDescr;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::raise;

/// A CuPy array of memory on a device, which `keep` keeps alive.
pub fn cupy_array<'py>(
    view: &View,
    dtype: &Bound<'py, PyArrayDescr>,
    accelerator: &dyn Accelerator,
    keep: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = dtype.py();
    let cupy = cupy(py)?;
    let bounds = view.bounds();
    let cuda = cupy.getattr("cuda")?;
    let index = accelerator.id().index;
    let memory = cuda
        .getattr("UnownedMemory")?
        .call1((bounds.start, bounds.len(), keep, index))?;
    let lead = view.pointer().addr() - bounds.start;
    let pointer = cuda.getattr("MemoryPointer")?.call1((memory, lead))?;
    let keywords = PyDict::new(py);
    keywords.set_item("memptr", pointer)?;
    keywords.set_item("strides", PyTuple::new(py, view.strides())?)?;
    cupy.getattr("ndarray")?
        .call((PyTuple::new(py, view.shape())?, dtype), Some(&keywords))
}

/// The module `cupy`, which only those who compute with whole arrays on a GPU need.
pub fn cupy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("cupy").map_err(|error| {
        if !error.is_instance_of::<PyImportError>(py) {
            return error;
        }
        let message = "arrays on a GPU are CuPy's, and CuPy is not installed; install it (pip install cupy-cuda12x), or \
                       move the data with stencils and copies to the host only";
        let missing = raise(py, "DeviceError", message);
        missing.set_cause(py, Some(error));
        missing
    })
}

/// Whether something computes with whole arrays on a device.
pub fn has_library(py: Python<'_>, accelerator: &dyn Accelerator) -> bool {
    static HAS_CUPY: PyOnceLock<bool> = PyOnceLock::new();
    accelerator.id().kind == Kind::Simulated || *HAS_CUPY.get_or_init(py, || cupy(py).is_ok())
}
