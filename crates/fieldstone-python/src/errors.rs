//! From the crates' error enums to the exceptions of `fieldstone.errors`.

use pyo3::prelude::*;
use pyo3::types::PyType;

/// Makes an exception of the class `name` of `fieldstone.errors`.
pub fn raise(py: Python<'_>, name: &str, message: impl Into<String>) -> PyErr {
    let class = py
        .import("fieldstone.errors")
        .and_then(|module| module.getattr(name))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, (message.into(),)),
        Err(error) => error,
    }
}
