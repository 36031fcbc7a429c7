//! The parameters of a storage that a universal function makes.

use fieldstone_storage::{Dim, Layout, PerAxis};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyTuple};

use super::operand::Operand;
use crate::array;
use crate::storage::Storage;
use crate::storage::axes::Axes;
use crate::storage::foreign::Foreign;
use crate::storage::function::{fresh, is_supported};
use crate::storage::resolve::{Location, Resolved};

/// The storages to compute into; `None` where NumPy has to find out itself what types and shapes they have.
pub fn planned<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    inputs: &[Operand<'py>],
    arrays: &[Bound<'py, PyAny>],
    dims: Option<&[Dim]>,
) -> PyResult<Option<Vec<Bound<'py, Storage>>>> {
    let shapes = arrays
        .iter()
        .filter_map(|array| array.cast::<PyUntypedArray>().ok());
    let Some(shape) = common_shape(shapes.map(|array| array.shape())) else {
        return Ok(None);
    };
    if shape.is_empty() {
        return Ok(None);
    }
    let outputs: usize = ufunc.getattr("nout")?.extract()?;
    let mut types = arrays.iter().map(type_of).collect::<PyResult<Vec<_>>>()?;
    types.extend((0..outputs).map(|_| py.None().into_bound(py)));
    let Ok(types) = ufunc.call_method1("resolve_dtypes", (PyTuple::new(py, types)?,)) else {
        return Ok(None);
    };
    let types: Vec<Bound<'py, PyAny>> = types.extract()?;
    let storages = types[arrays.len()..].iter().map(|dtype| {
        let dtype = dtype.cast::<PyArrayDescr>()?;
        if dtype.has_object() {
            return Ok(None);
        }
        parameters(py, shape[..].into(), dtype.clone(), dims, inputs)?
            .allocated(py)?
            .into_object(py)
            .map(Some)
    });
    storages.collect()
}

/// How the types of operands enter promotion: those of Python's numbers give way.
fn type_of<'py>(operand: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_weak = !operand.is_instance_of::<PyBool>()
        && (operand.is_exact_instance_of::<PyInt>()
            || operand.is_exact_instance_of::<PyFloat>()
            || operand.is_exact_instance_of::<PyComplex>());
    if is_weak {
        return Ok(operand.get_type().into_any());
    }
    let numpy = array::numpy(operand.py())?;
    numpy
        .getattr("asarray")?
        .call1((operand,))?
        .getattr("dtype")
}

/// The shape that all shapes can be repeated to.
fn common_shape<'a>(shapes: impl Iterator<Item = &'a [usize]>) -> Option<Vec<usize>> {
    let mut common: Vec<usize> = Vec::new();
    for shape in shapes {
        let missing = shape.len().saturating_sub(common.len());
        common.splice(..0, std::iter::repeat_n(1, missing));
        let offset = common.len() - shape.len();
        for (own, &size) in common[offset..].iter_mut().zip(shape) {
            match (*own, size) {
                (own, size) if own == size => {}
                (_, 1) => {}
                (1, _) => *own = size,
                _ => return None,
            }
        }
    }
    Some(common)
}

/// A storage with what NumPy computed.
pub fn as_storage<'py>(
    py: Python<'py>,
    result: Bound<'py, PyAny>,
    dims: Option<&[Dim]>,
    inputs: &[Operand<'py>],
) -> PyResult<Bound<'py, PyAny>> {
    let Ok(array) = result.cast::<PyUntypedArray>() else {
        return Ok(result);
    };
    if !is_supported(&array.dtype()) {
        return Ok(result);
    }
    let resolved = parameters(py, array.shape().into(), array.dtype(), dims, inputs)?;
    fresh(array, resolved)
}

/// The parameters of a result, from those of the storages among the operands.
fn parameters<'py>(
    py: Python<'py>,
    shape: PerAxis<usize>,
    dtype: Bound<'py, PyArrayDescr>,
    dims: Option<&[Dim]>,
    inputs: &[Operand<'py>],
) -> PyResult<Resolved<'py>> {
    let ndim = shape.len();
    let mut axes: Option<Axes> = None;
    let mut alignment = 1;
    let storages = inputs.iter().filter(|input| input.is_storage);
    for foreign in storages.filter_map(|input| input.array.as_ref()) {
        let own = spread_axes(foreign, &places(py, foreign, dims, ndim)?, ndim);
        alignment = least_common_multiple(alignment, foreign.alignment);
        axes = Some(match axes {
            Some(axes) => largest(axes, &own),
            None => own,
        });
    }
    let mut axes = axes.unwrap_or_else(|| Axes::plain(ndim));
    axes.dims = dims.map(PerAxis::from);
    axes.limit(&shape);
    Ok(Resolved {
        shape,
        dtype,
        axes,
        alignment,
        location: Location::Host,
    })
}

/// The axes of an operand among those of the result, without labels.
fn spread_axes(foreign: &Foreign<'_>, places: &[usize], ndim: usize) -> Axes {
    let own = &foreign.axes;
    let mut axes = Axes::plain(ndim);
    let mut origin = PerAxis::from_elem(0, ndim);
    for (axis, &place) in places.iter().enumerate() {
        axes.halo[place] = own.halo[axis];
        axes.aligned_index[place] = own.aligned_index[axis];
        if let Some(own) = &own.explicit_origin {
            origin[place] = own[axis];
        }
    }
    axes.explicit_origin = own.explicit_origin.as_ref().map(|_| origin);
    axes.layout = layout_like(foreign, places, ndim);
    axes
}

/// The largest origin, halo and aligned index of two, per axis; the rest is that of the first.
pub fn largest(mut axes: Axes, other: &Axes) -> Axes {
    let explicit = axes.explicit_origin.is_some() || other.explicit_origin.is_some();
    let origins = axes.origin().into_iter().zip(other.origin());
    axes.explicit_origin = explicit.then(|| origins.map(|(a, b)| a.max(b)).collect());
    for (halo, other) in axes.halo.iter_mut().zip(&other.halo) {
        *halo = (halo.0.max(other.0), halo.1.max(other.1));
    }
    for (index, other) in axes.aligned_index.iter_mut().zip(&other.aligned_index) {
        *index = (*index).max(*other);
    }
    axes
}

/// For each axis of an operand, which axis of the result it is.
fn places(
    py: Python<'_>,
    foreign: &Foreign<'_>,
    dims: Option<&[Dim]>,
    ndim: usize,
) -> PyResult<Vec<usize>> {
    let own = foreign.view.ndim();
    Ok(match (dims, foreign.labels(py)?) {
        (Some(dims), Some(labels)) => labels
            .iter()
            .filter_map(|label| dims.iter().position(|dim| dim == label))
            .collect(),
        _ => (ndim.saturating_sub(own)..ndim).collect(),
    })
}

/// The layout of an operand, the axes it lacks being outermost.
fn layout_like(foreign: &Foreign<'_>, places: &[usize], ndim: usize) -> Layout {
    let mut order: Vec<usize> = (0..ndim).filter(|axis| !places.contains(axis)).collect();
    order.extend(
        foreign
            .axes
            .layout
            .order()
            .into_iter()
            .filter_map(|axis| places.get(axis)),
    );
    Layout::from_order(&order).unwrap_or_else(|_| Layout::c(ndim))
}

/// The smallest number that both divide.
pub fn least_common_multiple(first: usize, second: usize) -> usize {
    let (mut a, mut b) = (first, second);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    first / a * second
}
