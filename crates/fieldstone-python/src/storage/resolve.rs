//! From what the user gave to what is allocated: the preset, then the data or template, then the fallback.

use std::borrow::Cow;
use std::sync::Arc;

use fieldstone_device::Accelerator;
use fieldstone_storage::{Dim, Layout, PerAxis};
use numpy::{PyArrayDescr, dtype};
use pyo3::prelude::*;

use super::axes::{self, Axes};
use super::foreign::Foreign;
use super::parameters::{
    self, Alignment, Device, Element, LayoutChoice, Managed, Parameters, first_device,
};
use super::place::Place;
use crate::errors::raise;

/// The most axes that an array of NumPy's can have.
const MOST_AXES: usize = 64;

/// Everything that is to be known of a storage before it exists.
pub struct Resolved<'py> {
    pub shape: PerAxis<usize>,
    pub dtype: Bound<'py, PyArrayDescr>,
    pub axes: Axes,
    /// In bytes.
    pub alignment: usize,
    pub location: Location,
}

/// Where elements are to be.
#[derive(Clone)]
pub enum Location {
    Host,
    Device(Arc<dyn Accelerator>),
    Both(Arc<dyn Accelerator>),
    Managed(Arc<dyn Accelerator>),
}

impl Location {
    /// Where the elements of a storage are.
    pub fn of(place: &Place) -> Self {
        match place {
            Place::Host => Self::Host,
            Place::Device(accelerator) => Self::Device(Arc::clone(accelerator)),
            Place::Pair { pair, .. } => Self::Both(Arc::clone(pair.accelerator())),
            Place::Managed(accelerator) => Self::Managed(Arc::clone(accelerator)),
        }
    }
}

impl<'py> Resolved<'py> {
    /// What a shape and a type say where nothing else is said.
    pub fn plain(
        py: Python<'py>,
        mut shape: PerAxis<usize>,
        element: Option<Element<'py>>,
    ) -> PyResult<Self> {
        let dtype = match element {
            Some(element) => {
                shape.extend_from_slice(&element.data_shape);
                element.dtype
            }
            None => dtype::<f64>(py),
        };
        check_axes(py, &shape)?;
        Ok(Self {
            axes: Axes::plain(shape.len()),
            shape,
            dtype,
            alignment: 1,
            location: Location::Host,
        })
    }
}

/// Looks up each parameter; `template` is the data a storage is made from or like.
pub fn resolve<'py>(
    py: Python<'py>,
    parameters: &Parameters<'py>,
    element: Option<Element<'py>>,
    template: Option<&Foreign<'py>>,
) -> PyResult<Resolved<'py>> {
    let location = resolve_location(py, parameters, template)?;
    let data_shape = element
        .as_ref()
        .map_or(&[][..], |element| &element.data_shape);
    let dtype = match (&element, template) {
        (Some(element), _) => element.dtype.clone(),
        (None, Some(template)) => template.dtype.clone(),
        (None, None) => dtype::<f64>(py),
    };
    let shape = resolve_shape(py, parameters, data_shape, template)?;
    let ndim = shape.len();
    let dims = resolve_dims(py, parameters, data_shape, ndim, template)?;

    let origin = resolve_origin(py, parameters, dims.as_deref(), data_shape.len(), ndim)?;
    let template_axes = template.map(|template| match data_shape.len() {
        0 => Cow::Borrowed(&template.axes),
        carried => Cow::Owned(template.axes.with_data(carried)),
    });
    let template_axes = template_axes.as_deref();
    let halo = match (&parameters.halo, &origin, template_axes) {
        (Some(halo), ..) => per_axis(
            py,
            padded(halo, data_shape.len(), ndim, (0, 0)),
            ndim,
            "halo",
        )?,
        (None, Some(origin), _) => origin.iter().map(|&lower| (lower, 0)).collect(),
        (None, None, Some(axes)) => axes.halo.clone(),
        (None, None, None) => PerAxis::from_elem((0, 0), ndim),
    };
    check_halo(
        py,
        &halo,
        &shape,
        if parameters.halo.is_none() {
            "default_origin"
        } else {
            "halo"
        },
    )?;
    if let Some(origin) = &origin {
        check_inside(py, origin, &shape, "default_origin")?;
    }
    let lower: PerAxis<usize> = halo.iter().map(|&(lower, _)| lower).collect();
    let aligned_index = match (&parameters.aligned_index, &origin, template_axes) {
        (Some(index), ..) => per_axis(
            py,
            padded(index, data_shape.len(), ndim, 0),
            ndim,
            "aligned_index",
        )?,
        (None, Some(origin), _) => origin.clone(),
        (None, None, Some(axes)) if parameters.halo.is_none() => axes.aligned_index.clone(),
        _ => lower.clone(),
    };
    check_inside(py, &aligned_index, &shape, "aligned_index")?;
    let explicit_origin = match origin {
        Some(origin) => Some(origin).filter(|origin| *origin != lower),
        None if parameters.halo.is_none() => {
            template_axes.and_then(|axes| axes.explicit_origin.clone())
        }
        None => None,
    };
    let labels = || {
        dims.clone().unwrap_or_else(|| {
            let carried = data_shape.len();
            axes::with_data_dims(&Dim::defaults(ndim - carried), carried)
        })
    };
    let layout = resolve_layout(py, parameters, ndim, &labels, template_axes)?;
    let itemsize = numpy::PyArrayDescrMethods::itemsize(&dtype);
    let alignment = match (parameters.alignment, &parameters.defaults, template) {
        (Some(Alignment::Bytes(bytes)), ..) => bytes,
        (Some(Alignment::Elements(1)), ..) => 1,
        (Some(Alignment::Elements(elements)), ..) => {
            elements.checked_mul(itemsize).ok_or_else(|| {
                raise(
                    py,
                    "ArgumentValueError",
                    format!("alignment: {elements} elements are too many"),
                )
            })?
        }
        (None, Some(preset), _) => preset.alignment,
        (None, None, Some(template)) => template.alignment,
        (None, None, None) => 1,
    };
    Ok(Resolved {
        shape,
        dtype,
        axes: Axes {
            dims,
            halo,
            explicit_origin,
            aligned_index,
            layout,
        },
        alignment,
        location,
    })
}

/// The origin as it was given, with one entry per axis.
fn resolve_origin(
    py: Python<'_>,
    parameters: &Parameters<'_>,
    dims: Option<&[Dim]>,
    carried: usize,
    ndim: usize,
) -> PyResult<Option<PerAxis<usize>>> {
    let Some(origin) = &parameters.default_origin else {
        return Ok(None);
    };
    // As many entries as the field has axes are one for each of them, unless those of the shape were not.
    let of_three_axes = origin.len() != ndim || shape_of_three(parameters).is_some();
    let origin = dims
        .filter(|_| of_three_axes)
        .and_then(|dims| of_three(origin, dims))
        .unwrap_or_else(|| padded(origin, carried, ndim, 0));
    per_axis(py, origin, ndim, "default_origin").map(Some)
}

fn resolve_location(
    py: Python<'_>,
    parameters: &Parameters<'_>,
    template: Option<&Foreign<'_>>,
) -> PyResult<Location> {
    let preset = parameters.device_of_preset();
    let own = template.map(|template| Location::of(&template.place));
    let device = match (&parameters.device, preset, &own) {
        (Some(Device::Gpu(accelerator)), ..) => Arc::clone(accelerator),
        (Some(Device::Host), ..) | (None, Some("cpu"), _) => return Ok(Location::Host),
        (None, None, None | Some(Location::Host)) => return Ok(Location::Host),
        (None, _, Some(Location::Device(own) | Location::Both(own) | Location::Managed(own))) => {
            Arc::clone(own)
        }
        (None, Some(_), None | Some(Location::Host)) => match first_device(py, "defaults")? {
            Device::Gpu(accelerator) => accelerator,
            Device::Host => return Ok(Location::Host),
        },
    };
    let managed = parameters.managed.unwrap_or(match own {
        Some(Location::Device(_)) => Managed::No,
        Some(Location::Managed(_)) => Managed::Driver,
        _ => Managed::Software,
    });
    Ok(match managed {
        Managed::No => Location::Device(device),
        Managed::Software => Location::Both(device),
        Managed::Driver => Location::Managed(device),
    })
}

fn resolve_shape(
    py: Python<'_>,
    parameters: &Parameters<'_>,
    data_shape: &[usize],
    template: Option<&Foreign<'_>>,
) -> PyResult<PerAxis<usize>> {
    let mut shape = match (&parameters.shape, template) {
        (Some(shape), _) => {
            let shape = shape_of_three(parameters).unwrap_or_else(|| shape.clone());
            if let Some(template) = template.filter(|template| template.view.shape() != &shape[..])
            {
                let message = format!(
                    "shape: {} was given, but the data has shape {}; leave one out",
                    axes::numbers(&shape),
                    axes::numbers(template.view.shape())
                );
                return Err(raise(py, "ShapeError", message));
            }
            shape
        }
        (None, Some(template)) => template.view.shape().into(),
        (None, None) => {
            let message = "shape: neither a shape nor data was given; one of them is needed";
            return Err(raise(py, "ShapeError", message));
        }
    };
    shape.extend_from_slice(data_shape);
    check_axes(py, &shape)?;
    Ok(shape)
}

/// Refuses more axes than arrays can have.
fn check_axes(py: Python<'_>, shape: &[usize]) -> PyResult<()> {
    if shape.len() > MOST_AXES {
        let message = format!(
            "shape: it has {} axes; NumPy's arrays have {MOST_AXES} at most",
            shape.len()
        );
        return Err(raise(py, "ShapeError", message));
    }
    Ok(())
}

fn resolve_dims(
    py: Python<'_>,
    parameters: &Parameters<'_>,
    data_shape: &[usize],
    ndim: usize,
    template: Option<&Foreign<'_>>,
) -> PyResult<Option<PerAxis<Dim>>> {
    let Some(dims) = &parameters.dims else {
        let own = template.map(|template| template.labels(py)).transpose()?;
        return Ok(own
            .flatten()
            .map(|dims| axes::with_data_dims(dims, data_shape.len())));
    };
    let dims = match dims.len() == ndim {
        true => dims.clone(),
        false => axes::with_data_dims(dims, data_shape.len()),
    };
    if dims.len() != ndim {
        let message = format!(
            "{}: {} has {} labels, but the shape has {ndim} axes; give one label per axis",
            parameters.dims_name,
            axes::show(&dims),
            dims.len()
        );
        return Err(raise(py, "DimensionsError", message));
    }
    if let Some(own) = template
        .and_then(|template| template.axes.dims.as_deref())
        .filter(|own| *own != &dims[..])
    {
        let message = format!(
            "{name}: {} was given, but the data says that its axes are {}; leave {name} out, or transpose the data",
            axes::show(&dims),
            axes::show(own),
            name = parameters.dims_name
        );
        return Err(raise(py, "DimensionsError", message));
    }
    Ok(Some(dims))
}

/// The shape given for I, J and K to a field whose `axes` are some of them, reduced to those.
fn shape_of_three(parameters: &Parameters<'_>) -> Option<PerAxis<usize>> {
    let dims = parameters.dims.as_deref()?;
    let spatial =
        parameters.dims_name == "axes" && !dims.iter().any(|dim| matches!(dim, Dim::Data(_)));
    of_three(parameters.shape.as_ref().filter(|_| spatial)?, dims)
}

/// Entries for I, J and K reduced to those of the labels; `None` if that is not what `entries` are.
fn of_three(entries: &[usize], dims: &[Dim]) -> Option<PerAxis<usize>> {
    let &[i, j, k] = entries else {
        return None;
    };
    let reduced = dims
        .iter()
        .map(|dim| match dim {
            Dim::I => i,
            Dim::J => j,
            Dim::K => k,
            Dim::Data(_) => 0,
        })
        .collect();
    let spatial = dims.iter().filter(|dim| !matches!(dim, Dim::Data(_)));
    (spatial.count() < 3).then_some(reduced)
}

/// Adds entries for the data dimensions that the dtype carries, where they were not given.
fn padded<T: Copy>(entries: &[T], carried: usize, ndim: usize, entry: T) -> PerAxis<T> {
    let mut entries = PerAxis::from(entries);
    if entries.len() + carried == ndim {
        entries.resize(ndim, entry);
    }
    entries
}

fn per_axis<T>(
    py: Python<'_>,
    entries: PerAxis<T>,
    ndim: usize,
    name: &str,
) -> PyResult<PerAxis<T>> {
    if entries.len() == ndim {
        return Ok(entries);
    }
    let message = format!(
        "{name}: {} entries were given for {ndim} axes; give one per axis",
        entries.len()
    );
    Err(raise(py, "ArgumentValueError", message))
}

/// Refuses a halo that leaves no place for a domain.
pub fn check_halo(
    py: Python<'_>,
    halo: &[(usize, usize)],
    shape: &[usize],
    name: &str,
) -> PyResult<()> {
    for (axis, (&(lower, upper), &size)) in halo.iter().zip(shape).enumerate() {
        if lower.checked_add(upper).is_none_or(|points| points > size) {
            let message = format!(
                "{name}: {lower} points below and {upper} above the domain do not fit along axis {axis}, which has \
                 {size} points"
            );
            return Err(raise(py, "ArgumentValueError", message));
        }
    }
    Ok(())
}

fn check_inside(py: Python<'_>, index: &[usize], shape: &[usize], name: &str) -> PyResult<()> {
    for (axis, (&index, &size)) in index.iter().zip(shape).enumerate() {
        if index > size {
            let message =
                format!("{name}: index {index} is outside axis {axis}, which has {size} points");
            return Err(raise(py, "ArgumentValueError", message));
        }
    }
    Ok(())
}

fn resolve_layout(
    py: Python<'_>,
    parameters: &Parameters<'_>,
    ndim: usize,
    labels: &dyn Fn() -> PerAxis<Dim>,
    template: Option<&Axes>,
) -> PyResult<Layout> {
    let permutation = match (&parameters.layout, &parameters.defaults, template) {
        (Some(LayoutChoice::Permutation(permutation)), ..) => permutation.clone(),
        (Some(LayoutChoice::OfDims(callable)), ..) => parameters::permutation(
            &callable.call1((parameters::dims_tuple(py, &labels())?,))?,
            parameters.layout_name,
        )?,
        (Some(LayoutChoice::OfCount(callable)), ..) => {
            parameters::permutation(&callable.call1((ndim,))?, parameters.layout_name)?
        }
        (None, Some(preset), _) => {
            return preset
                .layout(&labels())
                .map_err(|error| raise(py, "DimensionsError", error.to_string()));
        }
        (None, None, Some(template)) => return Ok(template.layout.clone()),
        (None, None, None) => return Ok(Layout::c(ndim)),
    };
    if permutation.len() != ndim {
        let message = format!(
            "{}: {} has {} entries, but the shape has {ndim} axes; give a permutation of 0..{}",
            parameters.layout_name,
            axes::numbers(&permutation),
            permutation.len(),
            ndim.saturating_sub(1)
        );
        return Err(raise(py, "LayoutError", message));
    }
    Layout::new(permutation.clone()).map_err(|_| {
        let message = format!(
            "{}: {} is no order of {ndim} axes; give a permutation of 0..{}",
            parameters.layout_name,
            axes::numbers(&permutation),
            ndim.saturating_sub(1)
        );
        raise(py, "LayoutError", message)
    })
}
