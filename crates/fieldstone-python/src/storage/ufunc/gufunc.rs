//! Functions with axes of their own, such as `matmul`: applied by position, as in NumPy.

use fieldstone_storage::{Access, Dim, PerAxis};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::call::outputs_of;
use super::function::Ufunc;
use super::operand::{Operand, operands};
use super::result::least_common_multiple;
use crate::errors::raise;
use crate::storage::Storage;
use crate::storage::axes::{self, Axes};
use crate::storage::library::{Chosen, Computed};
use crate::storage::resolve::Resolved;

/// Calls such a function; `None` if one of the operands is to decide itself.
///
/// A product of two matrices keeps the labels of its rows and columns; other results have none.
pub fn call<'py>(
    py: Python<'py>,
    ufunc: &Ufunc,
    inputs: &[Bound<'py, PyAny>],
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let keywords = keywords.map_or_else(|| Ok(PyDict::new(py)), |keywords| keywords.copy())?;
    let Some(mut inputs) = operands(inputs.iter().cloned())? else {
        return Ok(None);
    };
    let Some(outputs) = outputs_of(ufunc, &keywords)? else {
        return Ok(None);
    };
    let read: Vec<_> = inputs.iter().collect();
    let written: Vec<_> = outputs.iter().flatten().collect();
    let Chosen { library, location } = Chosen::among(py, &ufunc.name, &read, &written)?;
    for input in &mut inputs {
        library.reach(py, input)?;
    }
    let axes = match (ufunc.name.as_str(), inputs.as_slice()) {
        ("matmul", [first, second]) => product_axes(py, first, second)?,
        _ => None,
    };
    let array = |operand: &Operand<'py>, access: Access| match &operand.array {
        Some(foreign) => library.operand(operand, &foreign.view, access),
        None => Ok(operand.object.clone()),
    };
    let arrays: Vec<_> = inputs
        .iter()
        .map(|input| array(input, Access::Read))
        .collect::<PyResult<_>>()?;
    if !outputs.is_empty() {
        let memory = outputs.iter().map(|output| match output {
            Some(output) => array(output, Access::ReadWrite),
            None => Ok(py.None().into_bound(py)),
        });
        let memory = memory.collect::<PyResult<Vec<_>>>()?;
        keywords.set_item(intern!(py, "out"), PyTuple::new(py, memory)?)?;
    }
    let function = library.function(ufunc.object.bind(py))?;
    let mut computed = function.call(PyTuple::new(py, arrays)?, Some(&keywords));
    for output in outputs.iter().flatten() {
        if let Ok(storage) = output.object.cast::<Storage>() {
            computed = storage.borrow().settled(py, library.side(), computed);
        }
    }
    let computed = computed?;
    if let [Some(output)] = outputs.as_slice() {
        return Ok(Some(output.object.clone()));
    }
    let Some(computed) = Computed::of(&computed)?.filter(|computed| computed.ndim() > 0) else {
        return library.number(computed).map(Some);
    };
    let alignments = inputs.iter().filter(|input| input.is_storage);
    let alignment = alignments
        .filter_map(|input| Some(input.array.as_ref()?.alignment))
        .fold(1, least_common_multiple);
    let mut axes = axes
        .filter(|axes| axes.halo.len() == computed.ndim())
        .unwrap_or_else(|| Axes::plain(computed.ndim()));
    axes.limit(&computed.shape);
    let resolved = Resolved {
        shape: computed.shape.clone(),
        dtype: computed.dtype.clone(),
        axes,
        alignment,
        location,
    };
    library.result(&computed, resolved).map(Some)
}

/// The axes of the product of two matrices; `None` for other products.
fn product_axes<'py>(
    py: Python<'py>,
    first: &Operand<'py>,
    second: &Operand<'py>,
) -> PyResult<Option<Axes>> {
    let (Some(left), Some(right)) = (&first.array, &second.array) else {
        return Ok(None);
    };
    let (left_dims, right_dims) = (left.labels(py)?, right.labels(py)?);
    if let (Some(left_dims), Some(right_dims)) = (left_dims, right_dims) {
        let summed = right_dims.len().saturating_sub(2);
        if let (Some(last), Some(first)) = (left_dims.last(), right_dims.get(summed))
            && last != first
        {
            let message = format!(
                "matmul: the sum is along '{last}' of the axes {} and along '{first}' of the axes {}; transpose one of \
                 them, so that both are the same",
                axes::show(left_dims),
                axes::show(right_dims)
            );
            return Err(raise(py, "DimensionsError", message));
        }
    }
    let (&[row, _], &[_, column]) = (&left.axes.halo[..], &right.axes.halo[..]) else {
        return Ok(None);
    };
    let dims: Option<PerAxis<Dim>> = left_dims
        .zip(right_dims)
        .map(|(left, right)| PerAxis::from_slice(&[left[0], right[1]]))
        .filter(|dims| dims[0] != dims[1]);
    Ok(Some(Axes {
        dims,
        halo: PerAxis::from_slice(&[row, column]),
        aligned_index: PerAxis::from_slice(&[row.0, column.0]),
        ..Axes::plain(2)
    }))
}
