//! Elements from one storage, or array, to another, wherever either has them.
//!
//! A target with two copies is written on the device if, and only if, the value counts as one there: a storage whose device
//! copy is current, or memory of a device. Memory that the driver manages is reached from the host like any other.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Kind};
use fieldstone_storage::{Access, Side, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;

use super::access::warn_of_both;
use super::device_array::for_kernels;
use super::memory;
use super::place::Place;
use crate::array::exception;

/// Elements, and where they are.
pub struct Elements<'a, 'py> {
    /// Their view in host memory, on the device if they are nowhere else.
    pub view: &'a View,
    pub dtype: &'a Bound<'py, PyArrayDescr>,
    pub place: &'a Place,
}

impl<'a, 'py> Elements<'a, 'py> {
    /// Some of them.
    pub fn part<'b>(&self, view: &'b View) -> Elements<'b, 'py>
    where
        'a: 'b,
    {
        Elements {
            view,
            dtype: self.dtype,
            place: self.place,
        }
    }

    /// The device that they are read on or written to, if it is one.
    fn chosen(&self, side: Side) -> Option<&Arc<dyn Accelerator>> {
        match self.place {
            Place::Device(accelerator) => Some(accelerator),
            Place::Pair { pair, .. } if side == Side::Device => Some(pair.accelerator()),
            _ => None,
        }
    }

    /// The view on a side, current.
    fn on(&self, py: Python<'_>, side: Side, access: Access) -> PyResult<View> {
        match self.place {
            Place::Host | Place::Device(_) => Ok(self.view.clone()),
            Place::Managed(accelerator) => {
                let waited =
                    py.detach(|| accelerator.synchronize(fieldstone_device::Stream::DEFAULT));
                waited.map_err(|error| exception(py, &error.into()))?;
                Ok(self.view.clone())
            }
            Place::Pair { pair, .. } => {
                warn_of_both(py, pair)?;
                let current = py.detach(|| pair.access(side, self.view, access));
                current.map_err(|error| exception(py, &error))?;
                Ok(match side {
                    Side::Host => self.view.clone(),
                    Side::Device => pair.on_device(self.view),
                })
            }
        }
    }

    /// The view in host memory, current: of a copy if the elements are on a device only.
    pub fn on_host(&self, py: Python<'_>) -> PyResult<View> {
        match self.place {
            Place::Device(accelerator) => downloaded(py, accelerator.as_ref(), self.view),
            _ => self.on(py, Side::Host, Access::Read),
        }
    }

    /// As [`Storage::settled`](super::Storage::settled).
    fn settled(&self, py: Python<'_>, side: Side, written: PyResult<()>) -> PyResult<()> {
        let Place::Pair { pair, .. } = self.place else {
            return written;
        };
        let settled = py.detach(|| pair.settle(side));
        written?;
        settled.map_err(|error| exception(py, &error))
    }
}

/// Sets the elements of `target`, all of them, to those of `source`, which has the same shape and does not overlap it.
pub fn assign<'py>(
    py: Python<'py>,
    source: &Elements<'_, 'py>,
    target: &Elements<'_, 'py>,
) -> PyResult<()> {
    let on_device = source.place.is_on_device();
    let written = match target.place {
        Place::Device(_) => Side::Device,
        Place::Pair { .. } if on_device => Side::Device,
        _ => Side::Host,
    };
    let read = match source.place {
        Place::Device(_) => Side::Device,
        Place::Pair { .. } if on_device && written == Side::Device => Side::Device,
        _ => Side::Host,
    };
    let from = source.on(py, read, Access::Read)?;
    // A conversion may fail half way, and what was there before must still be current then.
    let access = if source.dtype.is_equiv_to(target.dtype) {
        Access::Write
    } else {
        Access::ReadWrite
    };
    let to = target.on(py, written, access)?;
    let accelerators = (source.chosen(read), target.chosen(written));
    let moved = moved(py, accelerators, (&from, source.dtype), (&to, target.dtype));
    target.settled(py, written, moved)
}

/// The device of one side.
type Chosen<'a> = Option<&'a Arc<dyn Accelerator>>;

/// A view on one side, and the type of its elements.
type Typed<'a, 'py> = (&'a View, &'a Bound<'py, PyArrayDescr>);

/// Moves elements from one side to another; `None` is the host.
fn moved<'py>(
    py: Python<'py>,
    accelerators: (Chosen<'_>, Chosen<'_>),
    (from, from_dtype): Typed<'_, 'py>,
    (to, to_dtype): Typed<'_, 'py>,
) -> PyResult<()> {
    match accelerators {
        (None, None) => memory::assign(from, from_dtype, to, to_dtype),
        (Some(accelerator), None) => {
            let here = downloaded(py, accelerator.as_ref(), from)?;
            memory::assign(&here, from_dtype, to, to_dtype)
        }
        (None, Some(accelerator)) => {
            uploaded(py, accelerator.as_ref(), (from, from_dtype), (to, to_dtype))
        }
        (Some(first), Some(second))
            if Arc::ptr_eq(first, second) && first.id().kind == Kind::Simulated =>
        {
            let from = for_kernels(py, first.as_ref(), from)?;
            let to = for_kernels(py, first.as_ref(), to)?;
            memory::assign(&from, from_dtype, &to, to_dtype)
        }
        // A device's array may be of the memory that it is assigned to.
        (Some(first), Some(second))
            if Arc::ptr_eq(first, second)
                && from_dtype.is_equiv_to(to_dtype)
                && !from.overlaps(to)
                && copied_there(py, first.as_ref(), from, to)? =>
        {
            Ok(())
        }
        (Some(first), Some(second)) => {
            let here = downloaded(py, first.as_ref(), from)?;
            uploaded(py, second.as_ref(), (&here, from_dtype), (to, to_dtype))
        }
    }
}

/// Whether elements could be copied within a device.
fn copied_there(
    py: Python<'_>,
    accelerator: &dyn Accelerator,
    from: &View,
    to: &View,
) -> PyResult<bool> {
    // SAFETY: the storages whose views these are keep the memory alive.
    py.detach(|| unsafe { fieldstone_storage::copy_there(accelerator, from, to) })
        .map_err(|error| exception(py, &error))
}

/// A copy in host memory of elements on a device.
pub fn downloaded(py: Python<'_>, accelerator: &dyn Accelerator, view: &View) -> PyResult<View> {
    // SAFETY: the storage whose view this is keeps the memory alive.
    py.detach(|| unsafe { fieldstone_storage::fetched(accelerator, view) })
        .map_err(|error| exception(py, &error))
}

fn uploaded<'py>(
    py: Python<'py>,
    accelerator: &dyn Accelerator,
    (from, from_dtype): (&View, &Bound<'py, PyArrayDescr>),
    (to, to_dtype): (&View, &Bound<'py, PyArrayDescr>),
) -> PyResult<()> {
    let converted;
    let from = if from_dtype.is_equiv_to(to_dtype) {
        from
    } else {
        converted = memory::converted(py, from, from_dtype, to_dtype)?;
        &converted
    };
    // SAFETY: the storages whose views these are keep the memory alive.
    py.detach(|| unsafe { fieldstone_storage::upload(accelerator, from, to) })
        .map_err(|error| exception(py, &error))
}

/// Sets every element of `target` to the bytes of one.
pub fn fill(py: Python<'_>, target: &Elements<'_, '_>, element: &[u8]) -> PyResult<()> {
    match target.place {
        Place::Device(accelerator) if accelerator.id().kind == Kind::Simulated => {
            let view = for_kernels(py, accelerator.as_ref(), target.view)?;
            memory::fill(py, &view, element)
        }
        Place::Device(accelerator) => {
            let one = memory::copy_of_element(py, element)?;
            let repeated = one
                .broadcast(target.view.shape())
                .map_err(|error| exception(py, &error))?;
            // SAFETY: the storage whose view this is keeps the memory alive.
            py.detach(|| unsafe {
                fieldstone_storage::upload(accelerator.as_ref(), &repeated, target.view)
            })
            .map_err(|error| exception(py, &error))
        }
        _ => {
            let view = target.on(py, Side::Host, Access::Write)?;
            let filled = memory::fill(py, &view, element);
            target.settled(py, Side::Host, filled)
        }
    }
}
