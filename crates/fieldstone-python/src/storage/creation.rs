//! Making storages: allocated and filled, like another, copied from data, or wrapped around it.

use fieldstone_device::{Contents as Fresh, DeviceError, Memory};
use fieldstone_storage::{Allocation, Pair, Side, Spec, View};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::assign::{self, Elements};
use super::foreign::Foreign;
use super::parameters::{self, Accepted, Alignment, Parameters, element};
use super::place::Place;
use super::resolve::{Location, Resolved, resolve};
use super::{Storage, SyncState, memory, sync_state, wrapping};
use crate::array::{exception, view_of};
use crate::errors::raise;
use crate::interface::Purpose;

/// What new memory holds.
enum Contents<'a> {
    Undefined,
    /// One element, repeated.
    Filled(&'a [u8]),
}

#[pymethods]
impl Storage {
    #[new]
    #[pyo3(signature = (data=None, device_data=None, *, dtype=None, copy=true, sync_state=None, **parameters))]
    fn called<'py>(
        py: Python<'py>,
        data: Option<&Bound<'py, PyAny>>,
        device_data: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: bool,
        sync_state: Option<&Bound<'py, PyAny>>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Storage>> {
        let none = PyDict::new(py);
        storage(
            py,
            "Storage",
            data,
            device_data,
            dtype,
            copy,
            sync_state,
            parameters.unwrap_or(&none),
        )
    }
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

/// A NumPy array of a new allocation with the values of `data`.
#[pyfunction]
fn copy_to_array<'py>(
    py: Python<'py>,
    function: &str,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let storage = copied(py, &Accepted::arrays(function), data, dtype, keywords)?;
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

/// A storage with a copy of the data, or around it.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the arguments of the Python function"
)]
fn storage<'py>(
    py: Python<'py>,
    function: &str,
    data: Option<&Bound<'py, PyAny>>,
    device_data: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    copy: bool,
    sync_state: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    let accepted = Accepted::storages(function);
    let state = sync_state.map(sync_state::given).transpose()?;
    match (data, device_data, copy) {
        (None, None, false) => new(py, &accepted, None, None, dtype, None, keywords)?,
        (None, None, true) => {
            let message = format!(
                "data: {function}() has nothing to copy; give data, or allocate with empty(shape) or copy=False and a \
                 shape"
            );
            return Err(raise(py, "ArgumentValueError", message));
        }
        (Some(data), None, true) => copied(py, &accepted, data, dtype, keywords)?,
        (None, Some(data), true) => copied(py, &accepted, data, dtype, keywords)?,
        (Some(data), Some(device_data), true) => {
            // One of them is current, and both in the end.
            let newer = state.as_ref().and_then(|state| state.get().shared().ahead());
            let data = if newer == Some(Side::Device) { device_data } else { data };
            copied(py, &accepted, data, dtype, keywords)?
        }
        (Some(data), None, false) => wrapped(py, &accepted, ("data", data), None, state, dtype, keywords)?,
        (None, Some(data), false) => {
            wrapped(py, &accepted, ("device_data", data), None, state, dtype, keywords)?
        }
        (Some(data), Some(device_data), false) => {
            wrapped(py, &accepted, ("data", data), Some(device_data), state, dtype, keywords)?
        }
    }
    .into_object(py)
}

fn new<'py>(
    py: Python<'py>,
    accepted: &Accepted<'_>,
    shape: Option<&Bound<'py, PyAny>>,
    like: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    fill_value: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Storage> {
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
    let bytes = fill_value
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

fn copied<'py>(
    py: Python<'py>,
    accepted: &Accepted<'_>,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Storage> {
    let parameters = Parameters::read(py, accepted, keywords)?;
    let source = Foreign::of(data, "data", parameters.dims.as_deref(), Purpose::Copy)?;
    let resolved = resolve(py, &parameters, scalar_element(dtype)?, Some(&source))?;
    resolved.holding(py, &source.elements())
}

fn wrapped<'py>(
    py: Python<'py>,
    accepted: &Accepted<'_>,
    (name, data): (&str, &Bound<'py, PyAny>),
    device_data: Option<&Bound<'py, PyAny>>,
    state: Option<Py<SyncState>>,
    dtype: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Storage> {
    let parameters = Parameters::read(py, accepted, keywords)?;
    let source = Foreign::of(data, name, parameters.dims.as_deref(), Purpose::Wrap)?;
    let beside = device_data
        .map(|data| {
            Foreign::of(
                data,
                "device_data",
                parameters.dims.as_deref(),
                Purpose::Wrap,
            )
        })
        .transpose()?;
    let resolved = resolve(py, &parameters, scalar_element(dtype)?, Some(&source))?;
    if !resolved.dtype.is_equiv_to(&source.dtype) {
        let message = format!(
            "dtype: {} was given, but the data is of type {}; memory that is wrapped keeps its type",
            resolved.dtype, source.dtype
        );
        return Err(raise(py, "DTypeError", message));
    }
    if !follows(&source.view, resolved.axes.layout.ranks()) {
        let message = format!(
            "layout: {} was asked for, but the strides of the data are {:?} bytes; memory that is wrapped keeps its \
             layout, storage(data, layout=...) copies it to another",
            super::axes::numbers(resolved.axes.layout.ranks()),
            source.view.strides()
        );
        return Err(raise(py, "LayoutError", message));
    }
    let aligned = memory::is_aligned(
        &source.view,
        &resolved.axes.aligned_index,
        resolved.alignment,
    );
    if !aligned && parameters.alignment.is_some() {
        let name = if matches!(parameters.alignment, Some(Alignment::Elements(_))) {
            "alignment"
        } else {
            "alignment_size"
        };
        let message = format!(
            "{name}: the address of index {} of the data is no multiple of {} bytes; memory that is wrapped stays \
             where it is",
            super::axes::numbers(&resolved.axes.aligned_index),
            resolved.alignment
        );
        return Err(raise(py, "ArgumentValueError", message));
    }
    let alignment = if aligned { resolved.alignment } else { 1 };
    wrapping::storage(py, name, source, beside, state, resolved, alignment)
}

/// The type asked for where the shape is that of the data.
fn scalar_element<'py>(
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<parameters::Element<'py>>> {
    let element = dtype.map(element).transpose()?;
    match (&element, dtype) {
        (Some(with_data), Some(dtype)) if !with_data.data_shape.is_empty() => {
            let message = format!(
                "dtype: {} has data dimensions, but the shape is that of the data",
                parameters::shown(dtype)
            );
            Err(raise(dtype.py(), "DTypeError", message))
        }
        _ => Ok(element),
    }
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

/// Whether the strides fall in the order of `layout`; axes of one point have no stride to speak of.
pub fn follows(view: &View, layout: &[usize]) -> bool {
    let mut axes: Vec<usize> = (0..layout.len()).collect();
    axes.sort_by_key(|&axis| layout[axis]);
    axes.retain(|&axis| view.shape()[axis] > 1);
    view.shape().contains(&0)
        || axes.windows(2).all(|pair| {
            view.strides()[pair[0]].unsigned_abs() >= view.strides()[pair[1]].unsigned_abs()
        })
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
    module.add_function(wrap_pyfunction!(copy_to_array, module)?)?;
    module.add_function(wrap_pyfunction!(one_value, module)?)?;
    module.add_function(wrap_pyfunction!(parameters::register_preset, module)?)?;
    module.add_function(wrap_pyfunction!(storage, module)?)
}
