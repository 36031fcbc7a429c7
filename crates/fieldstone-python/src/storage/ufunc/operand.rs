//! What a universal function is applied to, matched by label or by position.

use fieldstone_storage::{Dim, PerAxis, View};
use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt};

use crate::array;
use crate::errors::raise;
use crate::interface::Purpose;
use crate::storage::axes::{Points, Taken};
use crate::storage::foreign::Foreign;
use crate::storage::{Storage, axes};

/// What a universal function is applied to or writes to.
pub struct Operand<'py> {
    pub object: Bound<'py, PyAny>,
    /// `None` for numbers, which fit everywhere.
    pub array: Option<Foreign<'py>>,
    pub is_storage: bool,
}

/// How arrays without labels are matched with labelled storages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unlabelled {
    /// They have all axes of the result, in its order.
    Whole,
    /// They have the last axes of the result, as in NumPy.
    Last,
}

/// Whether an object is a number of Python or NumPy.
pub fn is_number(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
    {
        return Ok(true);
    }
    array::is_scalar(object)
}

impl<'py> Operand<'py> {
    /// `None` for an object that has its own ideas of universal functions.
    pub fn of(object: Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let is_storage = object.is_instance_of::<Storage>();
        let is_number = !is_storage && is_number(&object)?;
        let is_known = is_storage || is_number || object.is_exact_instance_of::<PyUntypedArray>();
        if !is_known && has_ideas(&object)? {
            return Ok(None);
        }
        let array = if is_number {
            None
        } else {
            Some(Foreign::of(&object, "operand", None, Purpose::Copy)?)
        };
        Ok(Some(Self {
            object,
            array,
            is_storage,
        }))
    }

    pub fn of_storage(storage: Bound<'py, Storage>) -> Self {
        Self {
            array: Some(Foreign::of_storage(&storage)),
            object: storage.into_any(),
            is_storage: true,
        }
    }

    pub fn dims(&self, py: Python<'_>) -> PyResult<Option<&[Dim]>> {
        self.array
            .as_ref()
            .map_or(Ok(None), |array| array.labels(py))
    }

    /// Takes an array of three axes for one along I, J and K, if the labelled axes of the others are some of these.
    ///
    /// Axes of one point that the others lack are dropped.
    pub fn along_space(&mut self, py: Python<'_>, dims: &[Dim]) -> PyResult<()> {
        const SPACE: [Dim; 3] = [Dim::I, Dim::J, Dim::K];
        let Some(array) = &mut self.array else {
            return Ok(());
        };
        let fits = array.view.ndim() == SPACE.len()
            && dims.len() < SPACE.len()
            && dims.iter().all(|dim| SPACE.contains(dim));
        if !fits || array.labels(py)?.is_some() {
            return Ok(());
        }
        let mut labels = PerAxis::from_slice(&SPACE);
        for (axis, dim) in SPACE.iter().enumerate().rev() {
            if array.view.shape()[axis] == 1 && !dims.contains(dim) {
                array.view = array
                    .view
                    .drop_axis(axis, 0)
                    .map_err(|error| array::exception(py, &error))?;
                labels.remove(axis);
            }
        }
        let shape = array.view.shape();
        let mut sizes = shape.iter();
        let parts: Vec<Taken> = (0..SPACE.len())
            .filter(|&axis| labels.contains(&SPACE[axis]))
            .filter_map(|axis| Some(Some((axis, Points::all(*sizes.next()?)))))
            .collect();
        array.axes = array.axes.select(&parts);
        array.axes.dims = Some(labels);
        Ok(())
    }

    /// The geometry of the operand with its axes where those of the result are; `None` for numbers.
    pub fn placed(
        &self,
        py: Python<'_>,
        function: &str,
        dims: Option<&[Dim]>,
        unlabelled: Unlabelled,
    ) -> PyResult<Option<View>> {
        let Some(array) = &self.array else {
            return Ok(None);
        };
        Ok(Some(match (dims, array.labels(py)?) {
            (Some(dims), Some(own)) => spread(py, &array.view, own, dims)?,
            (Some(dims), None)
                if unlabelled == Unlabelled::Whole
                    && !matches!(array.view.ndim(), 0)
                    && array.view.ndim() != dims.len() =>
            {
                let message = format!(
                    "{function}: an array of shape {} has no labels, so it must have the {} axes {} of the result; give \
                     it axes of one point, or labels with as_storage(data, dims=...)",
                    axes::numbers(array.view.shape()),
                    dims.len(),
                    axes::show(dims)
                );
                return Err(raise(py, "DimensionsError", message));
            }
            _ => array.view.clone(),
        }))
    }
}

/// Whether an object has its own ideas of universal functions: other ones than NumPy's arrays, of which it may be a kind.
fn has_ideas(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let name = intern!(py, "__array_ufunc__");
    if !object.is_instance_of::<PyUntypedArray>() {
        return object.hasattr(name);
    }
    let own = object.get_type().getattr(name)?;
    Ok(!own.is(&py.get_type::<PyUntypedArray>().getattr(name)?))
}

/// The operands, or `None` if one of them is to decide itself.
pub fn operands<'py>(
    objects: impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Option<Vec<Operand<'py>>>> {
    objects.map(Operand::of).collect()
}

/// Puts the axes of a view where `dims` has its labels, and axes of one point where it has others.
fn spread(py: Python<'_>, view: &View, own: &[Dim], dims: &[Dim]) -> PyResult<View> {
    if own == dims {
        return Ok(view.clone());
    }
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

/// The labels of the result: those of the outputs, if they have any, else those of all inputs.
pub fn labels_of_result<'py>(
    py: Python<'py>,
    inputs: &mut [Operand<'py>],
    outputs: &mut [&mut Operand<'py>],
) -> PyResult<Option<Vec<Dim>>> {
    let of_outputs = common_dims(py, outputs.iter().map(|output| &**output))?;
    let dims = match of_outputs {
        Some(dims) => Some(dims),
        None => common_dims(py, inputs.iter())?,
    };
    let Some(dims) = dims else {
        return Ok(None);
    };
    for operand in inputs
        .iter_mut()
        .chain(outputs.iter_mut().map(|output| &mut **output))
    {
        operand.along_space(py, &dims)?;
    }
    match common_dims(py, outputs.iter().map(|output| &**output))? {
        Some(dims) => Ok(Some(dims)),
        None => common_dims(py, inputs.iter()),
    }
}

/// The operands' own order of labels if one of them has all, else I, J, K, data dimensions.
fn common_dims<'a, 'py: 'a>(
    py: Python<'py>,
    operands: impl Iterator<Item = &'a Operand<'py>>,
) -> PyResult<Option<Vec<Dim>>> {
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
