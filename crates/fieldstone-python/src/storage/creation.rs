//! Making storages: allocated and filled, of a shape or like another.

use fieldstone_device::{Contents as Fresh, DeviceError, Memory};
use fieldstone_storage::{Allocation, Pair, Spec, View};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::assign::{self, Elements};
use super::foreign::Foreign;
use super::parameters::{self, Accepted, Parameters, element};
use super::place::Place;
use super::resolve::{Location, Resolved, resolve};
use super::{Storage, memory};
use crate::array::{exception, is_writeable, view_of};
use crate::errors::raise;
use crate::interface::Purpose;

/// What new memory holds.
enum Contents<'a> {
    Undefined,
    /// One element, repeated.
    Filled(&'a [u8]),
}

/// A storage of a new allocation; undefined values without `fill_value`.
#[pyfunction]
fn allocate<'py>(
    py: Python<'py>,
    function: &str,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    fill_value: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    new(
        py,
        &Accepted::storages(function),
        Some(shape),
        None,
        dtype,
        fill_value,
        keywords,
    )?
    .into_object(py)
}

/// A storage of a new allocation that is like `data`; undefined values without `fill_value`.
#[pyfunction]
pub fn allocate_like<'py>(
    py: Python<'py>,
    function: &str,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    fill_value: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    new(
        py,
        &Accepted::storages(function),
        None,
        Some(data),
        dtype,
        fill_value,
        keywords,
    )?
    .into_object(py)
}

/// A NumPy array of a new allocation, of a shape or like `data`.
#[pyfunction]
fn allocate_array<'py>(
    py: Python<'py>,
    function: &str,
    shape: Option<&Bound<'py, PyAny>>,
    data: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    fill_value: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let storage = new(
        py,
        &Accepted::arrays(function),
        shape,
        data,
        dtype,
        fill_value,
        keywords,
    )?;
    storage.into_object(py)?.call_method0("to_ndarray")
}

/// The value to fill with, which has two names.
#[pyfunction]
fn one_value<'py>(
    py: Python<'py>,
    function: &str,
    fill_value: Option<Bound<'py, PyAny>>,
    value: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let message = match (fill_value, value) {
        (Some(value), None) | (None, Some(value)) => return Ok(value),
        (Some(_), Some(_)) => format!(
            "{function}(): 'fill_value' and 'value' are two names of one parameter; give one of them"
        ),
        (None, None) => {
            format!("{function}(): fill_value is missing; give the number to fill with")
        }
    };
    Err(raise(py, "ArgumentTypeError", message))
}

/// A storage of a new allocation, of a shape or like something, filled or not.
pub(super) fn new<'py>(
    py: Python<'py>,
    accepted: &Accepted<'_>,
    shape: Option<&Bound<'py, PyAny>>,
    like: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    fill_value: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Storage> {
    if keywords.is_empty()
        && let (Some(shape), None) = (shape, like)
    {
        let element = dtype.map(element).transpose()?;
        let resolved = Resolved::plain(py, parameters::shape(shape)?, element)?;
        return filled(py, resolved, fill_value);
    }
    let mut parameters = Parameters::read(py, accepted, keywords)?;
    if let Some(shape) = shape {
        parameters.shape = Some(parameters::shape(shape)?);
    }
    let mut template = like
        .map(|data| Foreign::of(data, "data", parameters.dims.as_deref(), Purpose::Copy))
        .transpose()?;
    if let Some(template) = template.as_mut().filter(|_| parameters.dims.is_some()) {
        // What is new need not mean what it is like.
        template.axes.dims = None;
    }
    if template.is_some() && parameters.shape.is_some() {
        let message = format!(
            "shape: {}() takes the shape of its data; leave shape out",
            accepted.function
        );
        return Err(raise(py, "ArgumentTypeError", message));
    }
    let element = dtype.map(element).transpose()?;
    let resolved = resolve(py, &parameters, element, template.as_ref())?;
    filled(py, resolved, fill_value)
}

/// A new storage, all elements the same or undefined.
fn filled<'py>(
    py: Python<'py>,
    resolved: Resolved<'py>,
    value: Option<&Bound<'py, PyAny>>,
) -> PyResult<Storage> {
    let bytes = value
        .map(|value| memory::element_of(value, &resolved.dtype, "fill_value"))
        .transpose()?;
    allocated(
        py,
        resolved,
        bytes
            .as_deref()
            .map_or(Contents::Undefined, Contents::Filled),
    )
}

fn allocated(py: Python<'_>, resolved: Resolved<'_>, contents: Contents<'_>) -> PyResult<Storage> {
    let Resolved {
        shape,
        dtype,
        axes,
        alignment,
        location,
    } = resolved;
    let spec = Spec {
        shape,
        itemsize: dtype.itemsize(),
        layout: axes.layout.clone(),
        alignment,
        aligned_index: axes.aligned_index.clone(),
    };
    let zeroed =
        matches!(contents, Contents::Filled(element) if element.iter().all(|&byte| byte == 0));
    let (view, place) = match location {
        Location::Host => (memory::allocate(py, &spec, zeroed)?, Place::Host),
        elsewhere => placed(py, &spec, elsewhere, zeroed)?,
    };
    let storage = Storage {
        view,
        dtype: dtype.unbind(),
        axes,
        alignment,
        writeable: true,
        keeper: None,
        place,
    };
    if let Contents::Filled(element) = contents
        && !zeroed
    {
        assign::fill(py, &storage.elements(py), element)?;
    }
    Ok(storage)
}

/// New memory that is not on the host only.
fn placed(
    py: Python<'_>,
    spec: &Spec,
    location: Location,
    zeroed: bool,
) -> PyResult<(View, Place)> {
    let contents = if zeroed {
        Fresh::Zeroed
    } else {
        Fresh::Uninitialised
    };
    let by = |allocate: &dyn Fn(usize, usize) -> Result<Box<dyn Memory>, DeviceError>| {
        Allocation::by(spec, allocate)
            .map(|(_, view)| view)
            .map_err(|error| exception(py, &error))
    };
    Ok(match location {
        Location::Host => (memory::allocate(py, spec, zeroed)?, Place::Host),
        Location::Device(accelerator) => {
            let view = by(&|bytes, alignment| accelerator.allocate(bytes, alignment, contents))?;
            (view, Place::Device(accelerator))
        }
        Location::Both(accelerator) => {
            let view =
                by(&|bytes, alignment| accelerator.allocate_pinned(bytes, alignment, contents))?;
            let pair = Pair::of_new(&view, accelerator, contents, spec.alignment)
                .map_err(|error| exception(py, &error))?;
            (view, Place::of_pair(py, pair, None)?)
        }
        Location::Managed(accelerator) => {
            let view =
                by(&|bytes, alignment| accelerator.allocate_managed(bytes, alignment, contents))?;
            (view, Place::Managed(accelerator))
        }
    })
}

impl Resolved<'_> {
    /// A storage of these parameters with undefined values.
    pub fn allocated(self, py: Python<'_>) -> PyResult<Storage> {
        allocated(py, self, Contents::Undefined)
    }

    /// A storage of these parameters with the values of a NumPy array of the same shape.
    pub fn holding_array<'py>(self, array: &Bound<'py, PyUntypedArray>) -> PyResult<Storage> {
        let elements = Elements {
            view: &view_of(array)?,
            dtype: &array.dtype(),
            place: &Place::Host,
        };
        self.holding(array.py(), &elements)
    }

    /// A storage of these parameters with the values of elements of the same shape.
    pub fn holding(self, py: Python<'_>, elements: &Elements<'_, '_>) -> PyResult<Storage> {
        let storage = self.allocated(py)?;
        assign::assign(py, elements, &storage.elements(py))?;
        Ok(storage)
    }
}

/// A storage of an array that nobody else has: of its memory, if that lies as the storage's own would.
pub fn of_computed<'py>(
    array: &Bound<'py, PyUntypedArray>,
    resolved: Resolved<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let view = view_of(array)?;
    let Resolved {
        axes, alignment, ..
    } = &resolved;
    let as_it_is = matches!(resolved.location, Location::Host)
        && memory::follows(&view, axes.layout.ranks())
        && is_writeable(array)
        && memory::is_aligned(&view, &axes.aligned_index, *alignment);
    let storage = if as_it_is {
        Storage {
            view,
            dtype: resolved.dtype.unbind(),
            axes: resolved.axes,
            alignment: resolved.alignment,
            writeable: true,
            keeper: Some(array.clone().into_any().unbind()),
            place: Place::Host,
        }
    } else {
        resolved.holding_array(array)?
    };
    Ok(storage.into_object(py)?.into_any())
}

impl Storage {
    /// The elements, to be read or written.
    pub(super) fn elements<'a, 'py>(&'a self, py: Python<'py>) -> Elements<'a, 'py> {
        Elements {
            view: &self.view,
            dtype: self.dtype.bind(py),
            place: &self.place,
        }
    }

    /// New memory with the same parameters and values.
    pub(super) fn duplicate(&self, py: Python<'_>) -> PyResult<Self> {
        self.duplicate_at(py, Location::of(&self.place))
    }

    /// New memory elsewhere with the same parameters and values.
    pub(super) fn duplicate_at(&self, py: Python<'_>, location: Location) -> PyResult<Self> {
        let resolved = Resolved {
            shape: self.view.shape().into(),
            dtype: self.dtype.bind(py).clone(),
            axes: self.axes.clone(),
            alignment: self.alignment,
            location,
        };
        resolved.holding(py, &self.elements(py))
    }
}

/// Adds the functions of this file to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(allocate, module)?)?;
    module.add_function(wrap_pyfunction!(allocate_like, module)?)?;
    module.add_function(wrap_pyfunction!(allocate_array, module)?)?;
    module.add_function(wrap_pyfunction!(one_value, module)?)?;
    module.add_function(wrap_pyfunction!(parameters::register_preset, module)?)?;
    module.add_function(wrap_pyfunction!(parameters::preset_memory, module)?)
}
