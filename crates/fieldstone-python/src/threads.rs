//! How many threads stencils, copies and fills use.

use std::ffi::CString;

use fieldstone_codegen::cost::set_work_per_thread;
use fieldstone_device::{Pool, requested_threads};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::errors::raise;

/// Number of threads that stencils, copies and fills use at most.
#[pyfunction]
fn num_threads() -> usize {
    Pool::global().threads()
}

#[pyfunction]
fn set_num_threads(py: Python<'_>, threads: &Bound<'_, PyAny>) -> PyResult<()> {
    let refused = |class, given: String| {
        let message = format!(
            "argument 'threads' is {given}, but a number of threads must be an integer from 1 to 1024"
        );
        raise(py, class, message)
    };
    let count: usize = threads.extract().map_err(|_| {
        let kind = threads
            .get_type()
            .name()
            .map_or_else(|_| "unknown".into(), |name| name.to_string());
        match threads.extract::<i128>() {
            Ok(value) => refused("ArgumentValueError", value.to_string()),
            Err(_) => refused("ArgumentTypeError", format!("of type {kind}")),
        }
    })?;
    Pool::global()
        .set_threads(count)
        .map_err(|_| refused("ArgumentValueError", count.to_string()))
}

/// Sets the nanoseconds of work from which on a stencil uses one thread more, and returns what they were. For tests: with 0, the
/// smallest domains are cut into parts as large ones are.
#[pyfunction]
fn _set_work_per_thread(nanoseconds: usize) -> usize {
    set_work_per_thread(nanoseconds)
}

/// Adds this file's functions to the extension module, and warns if the environment asks for no number of threads.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    if let Err(error) = requested_threads() {
        let message = CString::new(format!("{error}; it is ignored"))?;
        PyErr::warn(
            module.py(),
            &module.py().get_type::<PyUserWarning>(),
            &message,
            1,
        )?;
    }
    module.add_function(wrap_pyfunction!(num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(_set_work_per_thread, module)?)?;
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)
}
