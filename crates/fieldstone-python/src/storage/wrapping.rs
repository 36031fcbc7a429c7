//! Storages around memory that is there already.

use std::sync::Arc;

use fieldstone_device::Accelerator;
use fieldstone_storage::{Pair, Side, View};
use numpy::PyArrayDescrMethods;
use pyo3::prelude::*;

use super::foreign::Foreign;
use super::place::Place;
use super::resolve::{Location, Resolved};
use super::{Storage, SyncState, axes, memory};
use crate::array::exception;
use crate::errors::raise;

/// The storage around `source`, and around `beside`, its copy on a device, where that is given.
pub fn storage<'py>(
    py: Python<'py>,
    name: &str,
    source: Foreign<'py>,
    beside: Option<Foreign<'py>>,
    state: Option<Py<SyncState>>,
    resolved: Resolved<'py>,
    alignment: usize,
) -> PyResult<Storage> {
    let mut keeper = source.keeper.clone();
    let mut writeable = source.writeable;
    let (view, place) = match beside {
        Some(beside) => {
            writeable &= beside.writeable;
            let place = both(py, &source, &beside, state, &resolved.location)?;
            keeper = Some((keeper, beside.keeper).into_pyobject(py)?.into_any());
            (source.view, place)
        }
        None if name == "device_data" && !source.place.has(Side::Device) => {
            let message =
                "device_data: expected memory of a device, got host memory; pass that as data";
            return Err(raise(py, "DeviceError", message));
        }
        None => alone(py, &source, state, &resolved.location)?,
    };
    Ok(Storage {
        view,
        dtype: source.dtype.unbind(),
        axes: resolved.axes,
        alignment,
        writeable,
        keeper: keeper.map(Bound::unbind),
        place,
    })
}

/// Memory on one side, of which the other is made if it is wanted.
fn alone(
    py: Python<'_>,
    source: &Foreign<'_>,
    state: Option<Py<SyncState>>,
    location: &Location,
) -> PyResult<(View, Place)> {
    let same = |a: &Arc<dyn Accelerator>, b: &Arc<dyn Accelerator>| Arc::ptr_eq(a, b);
    let view = source.view.clone();
    Ok(match (&source.place, location) {
        (Place::Host, Location::Host) => (view, Place::Host),
        (Place::Device(own), Location::Device(wanted)) if same(own, wanted) => {
            (view, source.place.clone_ref(py))
        }
        (Place::Managed(own), Location::Managed(wanted)) if same(own, wanted) => {
            (view, source.place.clone_ref(py))
        }
        (Place::Pair { pair, state: own }, Location::Both(wanted))
            if same(pair.accelerator(), wanted) =>
        {
            if state.is_some_and(|state| !state.is(own)) {
                return Err(meaningless(
                    py,
                    "the storage that is wrapped has a state of its own",
                ));
            }
            (view, source.place.clone_ref(py))
        }
        (Place::Host, Location::Both(accelerator)) => {
            let (state, shared) = of_state(py, state)?;
            let pair = Pair::of_host(&view, Arc::clone(accelerator), shared);
            let pair = pair.map_err(|error| exception(py, &error))?;
            protect(&pair, Side::Host, source);
            (view, Place::of_pair(py, pair, Some(state))?)
        }
        (Place::Device(own), Location::Both(wanted)) if same(own, wanted) => {
            let (state, shared) = of_state(py, state)?;
            let host = memory::like(py, &view)?;
            let pair = Pair::of_device(&host, &view, Arc::clone(wanted), shared);
            let pair = pair.map_err(|error| exception(py, &error))?;
            protect(&pair, Side::Device, source);
            (host, Place::of_pair(py, pair, Some(state))?)
        }
        (own, wanted) => {
            let message = format!(
                "device: the data is {}, and a storage {} cannot wrap that; storage(data, ...) copies it",
                described(own),
                match wanted {
                    Location::Host => "in host memory",
                    Location::Device(_) => "on a device only (managed=None)",
                    Location::Both(_) =>
                        "with a copy on the host and one on that device (managed='gt4py')",
                    Location::Managed(_) => "in memory that the driver manages (managed='cuda')",
                }
            );
            return Err(raise(py, "DeviceError", message));
        }
    })
}

/// Memory on both sides.
fn both(
    py: Python<'_>,
    source: &Foreign<'_>,
    beside: &Foreign<'_>,
    state: Option<Py<SyncState>>,
    location: &Location,
) -> PyResult<Place> {
    let (Place::Host, Place::Device(own)) = (&source.place, &beside.place) else {
        let message = format!(
            "data and device_data: expected memory of the host and memory of a device, got one {} and one {}",
            described(&source.place),
            described(&beside.place)
        );
        return Err(raise(py, "DeviceError", message));
    };
    match location {
        Location::Both(wanted) if Arc::ptr_eq(own, wanted) => {}
        _ => {
            let message = "device_data: two buffers make a storage with device='gpu', that of device_data, and \
                           managed='gt4py' only";
            return Err(raise(py, "DeviceError", message));
        }
    }
    if !source.dtype.is_equiv_to(&beside.dtype) {
        let message = format!(
            "device_data: its elements are of type {}, those of data {}; two copies have one type",
            beside.dtype, source.dtype
        );
        return Err(raise(py, "DTypeError", message));
    }
    if source.view.shape() != beside.view.shape() {
        let message = format!(
            "device_data: its shape is {}, that of data {}; two copies have one shape",
            axes::numbers(beside.view.shape()),
            axes::numbers(source.view.shape())
        );
        return Err(raise(py, "ShapeError", message));
    }
    if source.view.strides() != beside.view.strides() {
        let message = format!(
            "device_data: its strides are {} bytes, those of data {}; two copies lie in memory alike",
            axes::numbers(beside.view.strides()),
            axes::numbers(source.view.strides())
        );
        return Err(raise(py, "LayoutError", message));
    }
    let (state, shared) = of_state(py, state)?;
    let pair = Pair::of_both(&source.view, &beside.view, Arc::clone(own), shared);
    let pair = pair.map_err(|error| exception(py, &error))?;
    protect(&pair, Side::Host, source);
    protect(&pair, Side::Device, beside);
    Place::of_pair(py, pair, Some(state))
}

/// Keeps memory that must not be written to from being brought up to date, whatever is said of the other copy.
fn protect(pair: &Pair, side: Side, memory: &Foreign<'_>) {
    if !memory.writeable {
        pair.protect(side);
    }
}

/// The state that was given, or a new one.
fn of_state(
    py: Python<'_>,
    state: Option<Py<SyncState>>,
) -> PyResult<(Py<SyncState>, Arc<fieldstone_storage::SyncState>)> {
    let state = match state {
        Some(state) => state,
        None => Py::new(py, SyncState::of(&Arc::default()))?,
    };
    let shared = Arc::clone(state.get().shared());
    Ok((state, shared))
}

fn described(place: &Place) -> &'static str {
    match place {
        Place::Host => "in host memory",
        Place::Device(_) => "on a device",
        Place::Pair { .. } => "on the host and on a device",
        Place::Managed(_) => "in memory that the driver manages",
    }
}

/// Refuses a state of two buffers where there are not two.
pub fn meaningless(py: Python<'_>, reason: &str) -> PyErr {
    let message = format!(
        "sync_state: it says which of two buffers is current, but {reason}; leave it out, or give data and device_data \
         for a storage with managed='gt4py'"
    );
    raise(py, "ArgumentValueError", message)
}
