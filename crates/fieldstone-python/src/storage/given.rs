//! Storages of data that the user gave: copied, or wrapped if what is said beside it is so.

use std::sync::Arc;

use fieldstone_storage::{Side, View};
use numpy::{PyArrayDescrMethods, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::axes::numbers;
use super::creation;
use super::foreign::Foreign;
use super::parameters::{self, Accepted, Alignment, Device, Element, Managed, Parameters};
use super::resolve::{Location, Resolved, resolve};
use super::{Storage, SyncState, memory, sync_state, wrapping};
use crate::errors::raise;
use crate::interface::Purpose;

/// The arguments of a function that takes data.
pub struct Given<'a, 'py> {
    pub accepted: &'a Accepted<'a>,
    pub data: Option<&'a Bound<'py, PyAny>>,
    pub device_data: Option<&'a Bound<'py, PyAny>>,
    pub dtype: Option<&'a Bound<'py, PyAny>>,
    pub sync_state: Option<&'a Bound<'py, PyAny>>,
    pub keywords: &'a Bound<'py, PyDict>,
}

impl<'py> Given<'_, 'py> {
    /// A storage with a copy of the data, or around it.
    pub fn storage(&self, py: Python<'py>, copy: bool) -> PyResult<Storage> {
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

/// The storage around the memory of an object on a device, or in host memory if it has none there.
#[pyfunction]
pub fn wrap_on_device<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, Storage>> {
    let source = Foreign::near(Side::Device, data, "data", None, Purpose::Wrap)?;
    let resolved = resolve(py, &Parameters::default(), None, Some(&source))?;
    let alignment = source.alignment;
    wrapping::storage(py, "data", source, None, None, resolved, alignment)?.into_object(py)
}

/// Refuses a state of two buffers where there are not two.
pub fn meaningless(py: Python<'_>, reason: &str) -> PyErr {
    let message = format!(
        "sync_state: it says which of two buffers is current, but {reason}; leave it out, or give data and device_data \
         for a storage with managed='gt4py'"
    );
    raise(py, "ArgumentValueError", message)
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
    if !follows(&source.view, layout.ranks()) {
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
