//! Streams of devices: our own, those that others give, and the current ones of the libraries of arrays.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Kind, Queue, Stream};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt};

use crate::device;
use crate::errors::raise;
use crate::interface::describe_value;

/// A queue of work on a device: what is put into one is done in order, and those of different ones at the same time.
#[pyclass(name = "Stream", module = "fieldstone", frozen)]
pub struct PyStream {
    accelerator: Arc<dyn Accelerator>,
    queue: Box<dyn Queue>,
}

impl PyStream {
    /// A new stream of a device.
    pub fn new(py: Python<'_>, accelerator: &Arc<dyn Accelerator>) -> PyResult<Self> {
        let queue = accelerator
            .create_stream()
            .map_err(|error| device::exception(py, &error))?;
        Ok(Self {
            accelerator: Arc::clone(accelerator),
            queue,
        })
    }
}

#[pymethods]
impl PyStream {
    /// The number by which libraries exchange streams.
    #[getter]
    fn ptr(&self) -> usize {
        self.queue.stream().0
    }

    /// The same, in the protocol that says so: a version, and the number.
    fn __cuda_stream__(&self) -> (u32, usize) {
        (0, self.ptr())
    }

    /// Waits until all work of the stream is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.accelerator.synchronize(self.queue.stream()))
            .map_err(|error| device::exception(py, &error))
    }

    fn __repr__(&self) -> String {
        let (name, number) = (self.accelerator.name(), self.ptr());
        format!("<Stream {number:#x} of {name}>")
    }
}

/// The stream of `stream=`: a number, or an object that has one, ours, CuPy's, PyTorch's or any with `__cuda_stream__`.
pub fn given(value: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let py = value.py();
    let number = |value: &Bound<'_, PyAny>| match value.is_instance_of::<PyBool>() {
        true => None,
        false => value.extract::<usize>().ok(),
    };
    let mut found = None;
    if value.is_instance_of::<PyInt>() {
        found = number(value);
    } else if let Some(protocol) = value.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let (_, handle): (usize, usize) = match protocol.is_callable() {
            true => protocol.call0()?.extract()?,
            false => protocol.extract()?,
        };
        found = Some(handle);
    } else {
        for attribute in [intern!(py, "ptr"), intern!(py, "cuda_stream")] {
            if let (Some(handle), None) = (value.getattr_opt(attribute)?, found) {
                found = number(&handle);
            }
        }
    }
    found.map(Stream).ok_or_else(|| {
        let message = format!(
            "stream is {}, expected a stream of fieldstone, CuPy or PyTorch, or the number of one",
            describe_value(value)
        );
        raise(py, "ArgumentTypeError", message)
    })
}

/// The stream in which the libraries of arrays that have been imported work now: CuPy's, else PyTorch's, else the default one.
pub fn current(py: Python<'_>, accelerator: &dyn Accelerator) -> PyResult<Stream> {
    if accelerator.id().kind != Kind::Cuda {
        return Ok(Stream::DEFAULT);
    }
    let modules = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?;
    let modules = modules.cast::<PyDict>()?;
    let mut number: usize = 0;
    if let Some(cupy) = modules.get_item(intern!(py, "cupy"))? {
        let stream = cupy
            .getattr(intern!(py, "cuda"))?
            .call_method0(intern!(py, "get_current_stream"))?;
        number = stream.getattr(intern!(py, "ptr"))?.extract()?;
    }
    if let (Some(torch), 0) = (modules.get_item(intern!(py, "torch"))?, number) {
        let cuda = torch.getattr(intern!(py, "cuda"))?;
        // Else there is none, and to ask would make one.
        if cuda
            .call_method0(intern!(py, "is_initialized"))?
            .is_truthy()?
        {
            let index = accelerator.id().index;
            let stream = cuda.call_method1(intern!(py, "current_stream"), (index,))?;
            number = stream.getattr(intern!(py, "cuda_stream"))?.extract()?;
        }
    }
    Ok(Stream(number))
}

/// Adds this file's class to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyStream>()
}
