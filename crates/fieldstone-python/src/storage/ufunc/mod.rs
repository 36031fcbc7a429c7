//! Arithmetic: NumPy's universal functions and the operators, forwarded to NumPy.
//!
//! Storages with labels are matched by label: each is transposed to the order of the result's labels and repeated along
//! those it lacks. Storages without labels and arrays are matched by position, as NumPy does. The result is a storage:
//! its labels are those of all operands; its origin, halo and aligned index the largest per axis; its layout that of the
//! first storage; its alignment the least common multiple of all.

pub mod operand;
pub mod reduction;
pub mod result;

use fieldstone_storage::Access;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use self::operand::{common_dims, match_condition, operands};
use self::reduction::reduce;
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
        let keywords = keywords.map_or_else(|| Ok(PyDict::new(py)), |keywords| keywords.copy())?;
        let elementwise = ufunc.getattr("signature")?.is_none();
        let result = match method {
            "__call__" if elementwise => call(py, ufunc, inputs, &keywords)?,
            "reduce" => reduce(py, ufunc, inputs, &keywords)?,
            _ => None,
        };
        Ok(result.unwrap_or_else(|| py.NotImplemented().into_bound(py)))
    }
}

/// An element-by-element function; `None` if one of the operands is to decide itself.
fn call<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let function: String = ufunc.getattr("__name__")?.extract()?;
    let Some(inputs) = operands(inputs.iter())? else {
        return Ok(None);
    };
    let out = keywords.get_item("out")?;
    let out_objects: Vec<_> = match &out {
        Some(out) => out.cast::<PyTuple>()?.iter().collect(),
        None => Vec::new(),
    };
    let Some(outputs) = operands(
        out_objects
            .iter()
            .filter(|object| !object.is_none())
            .cloned(),
    )?
    else {
        return Ok(None);
    };
    let dims = match common_dims(py, &outputs)? {
        Some(dims) => Some(dims),
        None => common_dims(py, &inputs)?,
    };
    let dims = dims.as_deref();

    let arrays: Vec<_> = inputs
        .iter()
        .map(|input| input.matched(py, &function, dims))
        .collect::<PyResult<_>>()?;
    if !match_condition(py, keywords, &function, dims)? {
        return Ok(None);
    }
    let names_type = ["dtype", "signature", "casting", "sig", "subok"];
    let mut targets: Vec<Option<Bound<'py, PyAny>>> = out_objects
        .iter()
        .map(|object| Some(object.clone()).filter(|object| !object.is_none()))
        .collect();
    if out.is_some() {
        let mut outputs = outputs.iter();
        let matched: Vec<_> = out_objects
            .iter()
            .map(|object| match object.is_none() {
                true => Ok(object.clone()),
                false => outputs.next().map_or(Ok(object.clone()), |output| {
                    output.matched(py, &function, dims)
                }),
            })
            .collect::<PyResult<_>>()?;
        keywords.set_item("out", PyTuple::new(py, matched)?)?;
    } else if !names_type
        .iter()
        .any(|name| keywords.contains(name).unwrap_or(true))
        && let Some(storages) = result::planned(py, ufunc, &inputs, &arrays, dims)?
    {
        let memory = storages
            .iter()
            .map(|storage| Storage::array(storage, Access::Write));
        keywords.set_item(
            "out",
            PyTuple::new(py, memory.collect::<PyResult<Vec<_>>>()?)?,
        )?;
        targets = storages
            .into_iter()
            .map(|storage| Some(storage.into_any()))
            .collect();
    }
    let computed = ufunc.call(PyTuple::new(py, arrays)?, Some(keywords))?;
    let named =
        |index: usize, computed: Bound<'py, PyAny>| match targets.get(index).cloned().flatten() {
            Some(target) => Ok(target),
            None => result::as_storage(py, computed, dims, &inputs),
        };
    match computed.cast::<PyTuple>() {
        Ok(several) => {
            let several = several
                .iter()
                .enumerate()
                .map(|(index, computed)| named(index, computed));
            Ok(Some(
                PyTuple::new(py, several.collect::<PyResult<Vec<_>>>()?)?.into_any(),
            ))
        }
        Err(_) => named(0, computed).map(Some),
    }
}

/// Gives storages the operators that NumPy has for whoever has universal functions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let mixin = py
        .import("numpy.lib.mixins")?
        .getattr("NDArrayOperatorsMixin")?;
    let storage = py.get_type::<Storage>();
    for name in mixin.getattr("__dict__")?.try_iter()? {
        let name = name?;
        let operator = mixin.getattr(name.cast::<PyString>()?)?;
        if operator.is_callable() && operator.hasattr("__qualname__")? {
            storage.setattr(name.cast::<PyString>()?, operator)?;
        }
    }
    Ok(())
}
