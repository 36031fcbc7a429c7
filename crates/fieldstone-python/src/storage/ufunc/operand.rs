//! What a universal function is applied to, matched by label or by position.

use fieldstone_storage::{Dim, View};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt};

use crate::array;
use crate::errors::raise;
use crate::interface::Purpose;
use crate::storage::foreign::Foreign;
use crate::storage::{Storage, axes};

/// What a universal function is applied to or writes to.
pub struct Operand<'py> {
    pub object: Bound<'py, PyAny>,
    /// `None` for numbers, which fit everywhere.
    pub array: Option<Foreign<'py>>,
    pub is_storage: bool,
}

impl<'py> Operand<'py> {
    /// `None` for an object that has its own ideas of universal functions.
    pub fn of(object: Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let is_storage = object.is_instance_of::<Storage>();
        let is_number = object.is_instance_of::<PyFloat>()
            || object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyComplex>()
            || object.is_instance(&array::numpy(py)?.getattr("generic")?)?;
        let is_known = is_storage || is_number || object.is_exact_instance_of::<PyUntypedArray>();
        if !is_known && object.hasattr("__array_ufunc__")? {
            return Ok(None);
        }
        let array = if is_number {
            None
        } else {
            let mut array = Foreign::of(&object, "operand", None, Purpose::Copy)?;
            array.view = array.on_host(py)?;
            Some(array)
        };
        Ok(Some(Self {
            object,
            array,
            is_storage,
        }))
    }

    pub fn dims(&self, py: Python<'_>) -> PyResult<Option<&[Dim]>> {
        self.array
            .as_ref()
            .map_or(Ok(None), |array| array.labels(py))
    }

    /// The operand as NumPy is to see it, with its axes where those of the result are.
    ///
    /// Arrays do not say what their axes are, so that they must have all that the result has.
    pub fn matched(
        &self,
        py: Python<'py>,
        function: &str,
        dims: Option<&[Dim]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let message = match (&self.array, dims) {
            (Some(array), Some(dims))
                if array.labels(py)?.is_none()
                    && !matches!(array.view.ndim(), 0)
                    && array.view.ndim() != dims.len() =>
            {
                format!(
                    "{function}: an array of shape {} has no labels, so it must have the {} axes {} of the result; give \
                     it axes of one point, or labels with as_storage(data, dims=...)",
                    axes::numbers(array.view.shape()),
                    dims.len(),
                    axes::show(dims)
                )
            }
            _ => return self.matched_from_last(py, dims),
        };
        Err(raise(py, "DimensionsError", message))
    }

    /// The operand as NumPy is to see it; arrays of fewer axes than the result have the last ones, as in NumPy.
    pub fn matched_from_last(
        &self,
        py: Python<'py>,
        dims: Option<&[Dim]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = &self.array else {
            return Ok(self.object.clone());
        };
        let view = match (dims, array.labels(py)?) {
            (Some(dims), Some(own)) => spread(py, &array.view, own, dims)?,
            _ => array.view.clone(),
        };
        array::array_of(&view, &array.dtype, array.writeable, self.object.clone())
    }
}

/// The operands, or `None` if one of them is to decide itself.
pub fn operands<'py>(
    objects: impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Option<Vec<Operand<'py>>>> {
    objects.map(Operand::of).collect()
}

/// Replaces the keyword `where`, if it is given, by what NumPy is to see of it; `false` if it is to decide itself.
pub fn match_condition<'py>(
    py: Python<'py>,
    keywords: &Bound<'py, PyDict>,
    function: &str,
    dims: Option<&[Dim]>,
) -> PyResult<bool> {
    let Some(condition) = keywords.get_item("where")? else {
        return Ok(true);
    };
    let Some(condition) = Operand::of(condition)? else {
        return Ok(false);
    };
    keywords.set_item("where", condition.matched(py, function, dims)?)?;
    Ok(true)
}

/// Puts the axes of a view where `dims` has its labels, and axes of one point where it has others.
fn spread(py: Python<'_>, view: &View, own: &[Dim], dims: &[Dim]) -> PyResult<View> {
    if let Some(extra) = own.iter().find(|dim| !dims.contains(dim)) {
        let message = format!(
            "out: it has the axes {}, but the result has an axis '{extra}' as well",
            axes::show(dims)
        );
        return Err(raise(py, "DimensionsError", message));
    }
    let order: Vec<usize> = dims
        .iter()
        .filter_map(|dim| own.iter().position(|other| other == dim))
        .collect();
    let spread = || {
        let mut view = view.transpose(&order)?;
        for (axis, dim) in dims.iter().enumerate() {
            if !own.contains(dim) {
                view = view.insert_axis(axis)?;
            }
        }
        Ok(view)
    };
    spread().map_err(|error| array::exception(py, &error))
}

/// The labels of the result: the operands' own order if one of them has all, else I, J, K, data dimensions.
pub fn common_dims(py: Python<'_>, operands: &[Operand<'_>]) -> PyResult<Option<Vec<Dim>>> {
    let mut all: Vec<Dim> = Vec::new();
    let mut labelled = Vec::new();
    for operand in operands {
        if let Some(dims) = operand.dims(py)? {
            all.extend(dims);
            labelled.push(dims);
        }
    }
    all.sort_unstable();
    all.dedup();
    let complete = labelled.iter().find(|dims| dims.len() == all.len());
    Ok(if labelled.is_empty() {
        None
    } else {
        Some(complete.map_or(all, |dims| dims.to_vec()))
    })
}
