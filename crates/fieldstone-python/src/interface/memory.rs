//! The memory that an object has shown, on the host or on a device.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Kind, Stream, accelerators};
use fieldstone_storage::View;
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::{Refusal, Request};
use crate::{array, device, dlpack};

/// Elements that belong to an object.
pub struct Memory<'py> {
    /// The elements, at the addresses of where they are.
    pub view: View,
    /// Their type.
    pub dtype: Bound<'py, PyArrayDescr>,
    /// Whether they may be written to.
    pub writeable: bool,
    /// What keeps them alive.
    pub keeper: Bound<'py, PyAny>,
    /// The device they are on, if it is not the host.
    pub accelerator: Option<Arc<dyn Accelerator>>,
    /// The stream of the device in which somebody may be writing to them still.
    pub written_in: Option<Stream>,
}

impl<'py> Memory<'py> {
    /// The memory of a NumPy array.
    pub fn of_array(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        Ok(Memory {
            view: array::view_of(array)?,
            dtype: array.dtype(),
            writeable: array::is_writeable(array),
            keeper: array.clone().into_any(),
            accelerator: None,
            written_in: None,
        })
    }

    /// A NumPy array of memory on the host.
    pub fn array(&self) -> PyResult<Bound<'py, PyAny>> {
        array::array_of(&self.view, &self.dtype, self.writeable, self.keeper.clone())
    }
}

/// The device whose memory an address is in.
pub fn owner_of<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    view: &View,
) -> PyResult<Arc<dyn Accelerator>> {
    let py = object.py();
    let all = accelerators().map_err(|error| device::exception(py, &error))?;
    // Nothing is anywhere.
    let owns =
        |accelerator: &Arc<dyn Accelerator>| view.is_empty() || accelerator.owns(view.pointer());
    all.into_iter().find(owns).ok_or_else(|| {
        let place = format!("address {:#x}", view.pointer().addr());
        request.refuse(object, Refusal::OnDevice { place })
    })
}

/// The device that DLPack calls by a kind and a number.
pub fn named(wanted: dlpack::Device) -> Option<Arc<dyn Accelerator>> {
    let all = accelerators().ok()?;
    all.into_iter()
        .find(|accelerator| dlpack::Device::of(accelerator.as_ref()) == wanted)
}

/// Waits for the work of whoever has written to memory of a device.
pub fn wait(py: Python<'_>, accelerator: &dyn Accelerator, stream: Stream) -> PyResult<()> {
    // Nobody but us works on a simulated device.
    if accelerator.id().kind == Kind::Simulated {
        return Ok(());
    }
    py.detach(|| accelerator.synchronize(stream))
        .map_err(|error| device::exception(py, &error))
}
