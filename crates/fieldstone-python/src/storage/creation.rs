//! Making storages: allocated and filled, like another, copied from data, or wrapped around it.

use fieldstone_storage::{Spec, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::foreign::Foreign;
use super::parameters::{self, Accepted, Alignment, Parameters, element};
use super::resolve::{Resolved, resolve};
use super::{CpuStorage, Storage, memory};
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
    ) -> PyResult<Bound<'py, CpuStorage>> {
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
) -> PyResult<Bound<'py, CpuStorage>> {
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
fn allocate_like<'py>(
    py: Python<'py>,
    function: &str,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    fill_value: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, CpuStorage>> {
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
    storage
        .into_object(py)?
        .into_super()
        .call_method0("to_numpy")
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
    storage
        .into_object(py)?
        .into_super()
        .call_method0("to_numpy")
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
) -> PyResult<Bound<'py, CpuStorage>> {
    for (name, value) in [("device_data", device_data), ("sync_state", sync_state)] {
        if value.is_some() {
            let message = format!(
                "{name}: this version of fieldstone supports no device, host memory only; pass host memory as data"
            );
            return Err(raise(py, "DeviceError", message));
        }
    }
    let accepted = Accepted::storages(function);
    match (data, copy) {
        (Some(data), true) => copied(py, &accepted, data, dtype, keywords)?.into_object(py),
        (Some(data), false) => wrapped(py, &accepted, data, dtype, keywords)?.into_object(py),
        (None, false) => new(py, &accepted, None, None, dtype, None, keywords)?.into_object(py),
        (None, true) => {
            let message = format!(
                "data: {function}() has nothing to copy; give data, or allocate with empty(shape) or copy=False and a \
                 shape"
            );
            Err(raise(py, "ArgumentValueError", message))
        }
    }
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
    resolved.holding(py, &source.view, &source.dtype)
}

fn wrapped<'py>(
    py: Python<'py>,
    accepted: &Accepted<'_>,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Storage> {
    let parameters = Parameters::read(py, accepted, keywords)?;
    let source = Foreign::of(data, "data", parameters.dims.as_deref(), Purpose::Wrap)?;
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
    Ok(Storage {
        view: source.view,
        dtype: source.dtype.unbind(),
        axes: resolved.axes,
        alignment: if aligned { resolved.alignment } else { 1 },
        writeable: source.writeable,
        keeper: source.keeper.map(Bound::unbind),
    })
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
    } = resolved;
    let spec = Spec {
        shape,
        itemsize: dtype.itemsize(),
        layout: axes.layout.clone(),
        alignment,
        aligned_index: axes.aligned_index.clone(),
    };
    let view = match contents {
        Contents::Filled(element) if element.iter().all(|&byte| byte == 0) => {
            memory::allocate(py, &spec, true)?
        }
        Contents::Filled(element) => {
            let view = memory::allocate(py, &spec, false)?;
            memory::fill(py, &view, element)?;
            view
        }
        Contents::Undefined => memory::allocate(py, &spec, false)?,
    };
    Ok(Storage {
        view,
        dtype: dtype.unbind(),
        axes,
        alignment,
        writeable: true,
        keeper: None,
    })
}

impl Resolved<'_> {
    /// A storage of these parameters with undefined values.
    pub fn allocated(self, py: Python<'_>) -> PyResult<Storage> {
        allocated(py, self, Contents::Undefined)
    }

    /// A storage of these parameters with the values of memory of the same shape.
    pub fn holding<'py>(
        self,
        py: Python<'py>,
        view: &View,
        dtype: &Bound<'py, PyArrayDescr>,
    ) -> PyResult<Storage> {
        let storage = self.allocated(py)?;
        memory::assign(view, dtype, &storage.view, storage.dtype.bind(py))?;
        Ok(storage)
    }
}

/// Whether the strides fall in the order of `layout`; axes of one point have no stride to speak of.
fn follows(view: &View, layout: &[usize]) -> bool {
    let mut axes: Vec<usize> = (0..layout.len()).collect();
    axes.sort_by_key(|&axis| layout[axis]);
    axes.retain(|&axis| view.shape()[axis] > 1);
    view.shape().contains(&0)
        || axes.windows(2).all(|pair| {
            view.strides()[pair[0]].unsigned_abs() >= view.strides()[pair[1]].unsigned_abs()
        })
}

impl Storage {
    /// New memory with the same parameters and values.
    pub(super) fn duplicate(&self, py: Python<'_>) -> PyResult<Self> {
        let resolved = Resolved {
            shape: self.view.shape().to_vec(),
            dtype: self.dtype.bind(py).clone(),
            axes: self.axes.clone(),
            alignment: self.alignment,
        };
        let copy = resolved.allocated(py)?;
        let dtype: &Bound<'_, PyArrayDescr> = self.dtype.bind(py);
        memory::assign(&self.view, dtype, &copy.view, dtype)?;
        Ok(copy)
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
