//! The parameters of a storage that a universal function makes.

use fieldstone_storage::{Dim, Layout, PerAxis};
use numpy::PyArrayDescr;
use pyo3::prelude::*;

use super::operand::Operand;
use crate::storage::axes::Axes;
use crate::storage::foreign::Foreign;
use crate::storage::resolve::{Location, Resolved};

/// The parameters of a result, from those of the storages among the operands.
pub fn parameters<'py>(
    py: Python<'py>,
    shape: &[usize],
    dtype: Bound<'py, PyArrayDescr>,
    dims: Option<&[Dim]>,
    inputs: &[Operand<'py>],
    location: Location,
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
    axes.dims = dims.map(PerAxis::from_slice);
    axes.limit(shape);
    Ok(Resolved {
        shape: shape.into(),
        dtype,
        axes,
        alignment,
        location,
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
    (first / a).checked_mul(second).unwrap_or(first.max(second))
}
