//! The parameters of a storage that a universal function makes.

use fieldstone_storage::{Dim, Layout};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyTuple};

use super::operand::Operand;
use crate::array;
use crate::storage::Storage;
use crate::storage::axes::Axes;
use crate::storage::foreign::Foreign;
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
        parameters(py, shape.clone(), dtype.clone(), dims, inputs)?
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
    let storage = parameters(py, array.shape().to_vec(), array.dtype(), dims, inputs)?
        .holding_array(array)?;
    Ok(storage.into_object(py)?.into_any())
}

/// The parameters of a result, from those of the storages among the operands.
fn parameters<'py>(
    py: Python<'py>,
    shape: Vec<usize>,
    dtype: Bound<'py, PyArrayDescr>,
    dims: Option<&[Dim]>,
    inputs: &[Operand<'py>],
) -> PyResult<Resolved<'py>> {
    let ndim = shape.len();
    let mut axes = Axes {
        dims: dims.map(<[Dim]>::to_vec),
        halo: vec![(0, 0); ndim],
        explicit_origin: None,
        aligned_index: vec![0; ndim],
        layout: Layout::c(ndim),
    };
    let mut origin = vec![0; ndim];
    let mut alignment = 1;
    let storages = inputs.iter().filter(|input| input.is_storage);
    for (number, foreign) in storages
        .filter_map(|input| input.array.as_ref())
        .enumerate()
    {
        let places = places(py, foreign, dims, ndim)?;
        for (axis, &place) in places.iter().enumerate() {
            let (lower, upper) = foreign.axes.halo[axis];
            let halo = &mut axes.halo[place];
            *halo = (halo.0.max(lower), halo.1.max(upper));
            axes.aligned_index[place] =
                axes.aligned_index[place].max(foreign.axes.aligned_index[axis]);
            origin[place] = origin[place].max(foreign.axes.origin()[axis]);
        }
        alignment = least_common_multiple(alignment, foreign.alignment);
        if number == 0 {
            axes.layout = layout_like(foreign, &places, ndim);
        }
    }
    for (axis, &size) in shape.iter().enumerate() {
        let (lower, upper) = axes.halo[axis];
        axes.halo[axis] = (lower.min(size), upper.min(size - lower.min(size)));
        axes.aligned_index[axis] = axes.aligned_index[axis].min(size);
        origin[axis] = origin[axis].min(size);
    }
    if axes
        .halo
        .iter()
        .zip(&origin)
        .any(|(&(lower, _), &origin)| lower != origin)
    {
        axes.explicit_origin = Some(origin);
    }
    Ok(Resolved {
        shape,
        dtype,
        axes,
        alignment,
        location: Location::Host,
    })
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

fn least_common_multiple(first: usize, second: usize) -> usize {
    let (mut a, mut b) = (first, second);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    first / a * second
}
