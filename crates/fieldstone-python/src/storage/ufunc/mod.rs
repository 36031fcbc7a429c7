//! Arithmetic: NumPy's universal functions and the operators, forwarded to NumPy.
//!
//! Storages with labels are matched by label: each is transposed to the order of the result's labels and repeated along
//! those it lacks. Storages without labels and arrays are matched by position, as NumPy does. The result is a storage:
//! its labels are those of all operands; its origin, halo and aligned index the largest per axis; its layout that of the
//! first storage; its alignment the least common multiple of all.
//!
//! A call of storages that are alike and in host memory goes by `alike`, any other by `call`: read the operands (`operand`),
//! match labels, choose the library (`super::library`), check the shapes (`shape`), allocate the result (`result`), call the
//! library's function.

mod alike;
mod call;
pub mod function;
mod gufunc;
mod methods;
pub mod operand;
mod operators;
pub mod reduction;
pub mod result;
pub mod shape;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use self::function::Ufunc;
use super::Storage;

#[pymethods]
impl Storage {
    /// Storages are compared element by element, and so cannot be keys.
    #[classattr]
    #[pyo3(name = "__hash__")]
    const HASH: Option<()> = None;

    #[pyo3(signature = (ufunc, method, *inputs, **keywords))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let known = Ufunc::of(ufunc)?;
        let given: Vec<_> = inputs.iter().collect();
        let no_keywords = || PyDict::new(py);
        let result = match method {
            "__call__" if known.is_elementwise => call::call(py, &known, &given, keywords)?,
            "__call__" => gufunc::call(py, &known, &given, keywords)?,
            "reduce" => {
                let keywords = keywords.map_or_else(|| Ok(no_keywords()), |given| given.copy())?;
                reduction::reduce(py, &known, inputs, &keywords)?
            }
            "accumulate" | "reduceat" => {
                methods::along(ufunc, method, inputs, keywords.unwrap_or(&no_keywords()))?
            }
            "outer" => methods::outer(ufunc, inputs, keywords.unwrap_or(&no_keywords()))?,
            "at" => methods::at(ufunc, inputs, keywords.unwrap_or(&no_keywords()))?,
            _ => return Err(methods::refused(py, &known, method)),
        };
        Ok(result.unwrap_or_else(|| py.NotImplemented().into_bound(py)))
    }
}
