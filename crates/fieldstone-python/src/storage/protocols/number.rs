//! A storage of one element as a number, and any as a container of values.

use pyo3::prelude::*;

use super::super::Storage;

#[pymethods]
impl Storage {
    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Self::current_values(slf)?.is_truthy()
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::current_values(slf)?.call_method0("__int__")
    }

    fn __float__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::current_values(slf)?.call_method0("__float__")
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::current_values(slf)?.call_method0("__complex__")
    }

    fn __index__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::current_values(slf)?.call_method0("__index__")
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Self::current_values(slf)?.contains(value)
    }
}
