//! Storages of data that the user gave: copied, or wrapped if what is said beside it is so.

use std::sync::Arc;

use fieldstone_storage::Side;
use numpy::{PyArrayDescrMethods, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::axes::numbers;
use super::creation;
use super::foreign::Foreign;
use super::parameters::{self, Accepted, Alignment, Device, Element, Managed, Parameters};
use super::resolve::{Location, Resolved, resolve};
use super::wrapping::{self, meaningless};
use super::{Storage, SyncState, memory, sync_state};
use crate::errors::raise;
use crate::interface::Purpose;

/// The arguments of a function that takes data.
struct Given<'a, 'py> {
    accepted: &'a Accepted<'a>,
    data: Option<&'a Bound<'py, PyAny>>,
    device_data: Option<&'a Bound<'py, PyAny>>,
    dtype: Option<&'a Bound<'py, PyAny>>,
    sync_state: Option<&'a Bound<'py, PyAny>>,
    keywords: &'a Bound<'py, PyDict>,
}

impl<'py> Given<'_, 'py> {
    /// A storage with a copy of the data, or around it.
    fn storage(&self, py: Python<'py>, copy: bool) -> PyResult<Storage> {
        let state = self.sync_state.map(sync_state::given).transpose()?;
        match (self.data.or(self.device_data), copy) {
            (Some(_), true) => self.copied(py, state),
            (Some(_), false) => self.wrapped(py, state),
            (None, _) if state.is_some() => Err(meaningless(py, "there is no data")),
            (None, false) => creation::new(
                py,
                self.accepted,
                None,
                None,
                self.dtype,
                None,
                self.keywords,
            ),
            (None, true) => {
                let message = format!(
                    "data: {}() has nothing to copy; give data, or allocate with empty(shape) or copy=False and a \
                     shape",
                    self.accepted.function
                );
                Err(raise(py, "ArgumentValueError", message))
            }
        }
    }

    fn copied(&self, py: Python<'py>, state: Option<Py<SyncState>>) -> PyResult<Storage> {
        let mut parameters = Parameters::read(py, self.accepted, self.keywords)?;
        let (data, beside) = self.read(&mut parameters, Purpose::Copy)?;
        let newer = state
            .as_ref()
            .and_then(|state| state.get().shared().ahead());
        let source = match (&data, &beside) {
            (Some(data), Some(beside)) => {
                check_alike(py, data, beside)?;
                if newer == Some(Side::Device) {
                    beside
                } else {
                    data
                }
            }
            (Some(_), None) | (None, Some(_)) if state.is_some() => {
                return Err(meaningless(py, "there is one buffer to copy from, not two"));
            }
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return Err(meaningless(py, "there is no data")),
        };
        let resolved = resolve(py, &parameters, self.element()?, Some(source))?;
        resolved.holding(py, &source.elements())
    }

    fn wrapped(&self, py: Python<'py>, state: Option<Py<SyncState>>) -> PyResult<Storage> {
        if let Some(source) = self.data_alone().filter(|_| state.is_none()) {
            return Ok(source?.wrapped());
        }
        let mut parameters = Parameters::read(py, self.accepted, self.keywords)?;
        let (data, beside) = self.read(&mut parameters, Purpose::Wrap)?;
        let (name, source, beside) = match (data, beside) {
            (Some(data), beside) => ("data", data, beside),
            (None, Some(beside)) => ("device_data", beside, None),
            (None, None) => return Err(meaningless(py, "there is no data")),
        };
        let resolved = resolve(py, &parameters, self.element()?, Some(&source))?;
        let alignment = check_memory(py, &parameters, &source, &resolved)?;
        if state.is_some() && !matches!(resolved.location, Location::Both(_)) {
            return Err(meaningless(py, "the storage has one buffer"));
        }
        wrapping::storage(py, name, source, beside, state, resolved, alignment)
    }

    /// An array or a storage that nothing is said of.
    fn data_alone(&self) -> Option<PyResult<Foreign<'py>>> {
        let data = self.data?;
        let alone = self.keywords.is_empty() && self.device_data.is_none() && self.dtype.is_none();
        let known = data.is_instance_of::<Storage>() || data.cast_exact::<PyUntypedArray>().is_ok();
        (alone && known).then(|| Foreign::of(data, "data", None, Purpose::Wrap))
    }

    /// The memory of the data and that of the data on a device, which says that a device copy is wanted.
    fn read(
        &self,
        parameters: &mut Parameters<'py>,
        purpose: Purpose,
    ) -> PyResult<(Option<Foreign<'py>>, Option<Foreign<'py>>)> {
        let read = |prefer: Side, name: &str, object: Option<&Bound<'py, PyAny>>| {
            let dims = parameters.dims.as_deref();
            object
                .map(|object| Foreign::near(prefer, object, name, dims, purpose))
                .transpose()
        };
        let alone = parameters.managed == Some(Managed::No)
            && matches!(parameters.device, Some(Device::Gpu(_)));
        let prefer = if alone { Side::Device } else { Side::Host };
        let data = read(prefer, "data", self.data)?;
        let beside = read(Side::Device, "device_data", self.device_data)?;
        let unsaid = parameters.device.is_none() && parameters.device_of_preset() != Some("cpu");
        let accelerator = beside
            .as_ref()
            .and_then(|beside| beside.place.accelerator());
        if let Some(accelerator) = accelerator.filter(|_| unsaid && data.is_some()) {
            parameters.device = Some(Device::Gpu(Arc::clone(accelerator)));
            parameters.managed.get_or_insert(Managed::Software);
        }
        Ok((data, beside))
    }

    /// The type asked for, whose shape is that of the data.
    fn element(&self) -> PyResult<Option<Element<'py>>> {
        let Some(dtype) = self.dtype else {
            return Ok(None);
        };
        let element = parameters::element(dtype)?;
        if element.data_shape.is_empty() {
            return Ok(Some(element));
        }
        let message = format!(
            "dtype: {} has data dimensions, but the shape is that of the data",
            parameters::shown(dtype)
        );
        Err(raise(dtype.py(), "DTypeError", message))
    }
}

#[pymethods]
impl Storage {
    #[new]
    #[classmethod]
    #[pyo3(
        signature = (data=None, device_data=None, *, dtype=None, copy=None, sync_state=None, **parameters),
        text_signature = "(data=None, device_data=None, *, dtype=None, copy=True, sync_state=None, **parameters)"
    )]
    fn called<'py>(
        class: &Bound<'py, PyType>,
        data: Option<&Bound<'py, PyAny>>,
        device_data: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
        sync_state: Option<&Bound<'py, PyAny>>,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Storage>> {
        let py = class.py();
        if !class.is(py.get_type::<Storage>()) {
            let message = format!(
                "{}: a subclass of Storage has no instances, as what is made is of fieldstone's own kinds; let your class \
                 hold a storage, and give what takes storages that or its __gt_data_interface__",
                class.name()?
            );
            return Err(raise(py, "ArgumentTypeError", message));
        }
        let none = PyDict::new(py);
        let given = Given {
            accepted: &Accepted::storages("Storage"),
            data,
            device_data,
            dtype,
            sync_state,
            keywords: parameters.unwrap_or(&none),
        };
        let copy = copy.map_or(Ok(true), |copy| parameters::flag(copy, "copy"))?;
        given.storage(py, copy)?.into_object(py)
    }
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
    copy: &Bound<'py, PyAny>,
    sync_state: Option<&Bound<'py, PyAny>>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    let given = Given {
        accepted: &Accepted::storages(function),
        data,
        device_data,
        dtype,
        sync_state,
        keywords,
    };
    given
        .storage(py, parameters::flag(copy, "copy")?)?
        .into_object(py)
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
    let given = Given {
        accepted: &Accepted::arrays(function),
        data: Some(data),
        device_data: None,
        dtype,
        sync_state: None,
        keywords,
    };
    let storage = given.storage(py, true)?;
    storage.into_object(py)?.call_method0("to_ndarray")
}

/// The storage around the memory of an object on a device, or in host memory if it has none there.
#[pyfunction]
fn wrap_on_device<'py>(py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Storage>> {
    let source = Foreign::near(Side::Device, data, "data", None, Purpose::Wrap)?;
    let resolved = resolve(py, &Parameters::default(), None, Some(&source))?;
    let alignment = source.alignment;
    wrapping::storage(py, "data", source, None, None, resolved, alignment)?.into_object(py)
}

/// Refuses two copies of which one cannot be the other's.
fn check_alike(py: Python<'_>, data: &Foreign<'_>, beside: &Foreign<'_>) -> PyResult<()> {
    if data.view.shape() == beside.view.shape() {
        return Ok(());
    }
    let message = format!(
        "device_data: its shape is {}, that of data {}; two copies have one shape",
        numbers(beside.view.shape()),
        numbers(data.view.shape())
    );
    Err(raise(py, "ShapeError", message))
}

/// Refuses parameters that are not true of the memory that is to be wrapped; gives its alignment.
fn check_memory(
    py: Python<'_>,
    parameters: &Parameters<'_>,
    source: &Foreign<'_>,
    resolved: &Resolved<'_>,
) -> PyResult<usize> {
    if !resolved.dtype.is_equiv_to(&source.dtype) {
        let message = format!(
            "dtype: {} was given, but the data is of type {}; memory that is wrapped keeps its type",
            resolved.dtype, source.dtype
        );
        return Err(raise(py, "DTypeError", message));
    }
    let layout = &resolved.axes.layout;
    if !memory::follows(&source.view, layout.ranks()) {
        let message = format!(
            "layout: {} was asked for, but the strides of the data are {} bytes; memory that is wrapped keeps its \
             layout, storage(data, layout=...) copies it to another",
            numbers(layout.ranks()),
            numbers(source.view.strides())
        );
        return Err(raise(py, "LayoutError", message));
    }
    let index = &resolved.axes.aligned_index;
    if memory::is_aligned(&source.view, index, resolved.alignment) {
        return Ok(resolved.alignment);
    }
    let name = match parameters.alignment {
        None => return Ok(1),
        Some(Alignment::Bytes(_)) => "alignment_size",
        Some(Alignment::Elements(_)) => "alignment",
    };
    let message = format!(
        "{name}: the address of index {} of the data is no multiple of {} bytes; memory that is wrapped stays where it \
         is",
        numbers(index),
        resolved.alignment
    );
    Err(raise(py, "ArgumentValueError", message))
}

/// Adds the functions of this file to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(storage, module)?)?;
    module.add_function(wrap_pyfunction!(copy_to_array, module)?)?;
    module.add_function(wrap_pyfunction!(wrap_on_device, module)?)
}
