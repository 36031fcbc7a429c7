//! The elements of a storage where they are wanted.
//!
//! Whoever reads or writes elements asks for them on one side, and says what for ([`Access`]): the memory is then current,
//! and the other copy, if there is one, known to be behind after a write.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Stream};
use fieldstone_storage::{Access, Pair, Side, StorageError, View};
use pyo3::prelude::*;

use super::Storage;
use super::place::Place;
use crate::array::exception;
use crate::errors::raise;

impl Storage {
    /// The elements in host memory, current.
    #[inline]
    pub fn host(&self, py: Python<'_>, access: Access) -> PyResult<&View> {
        match &self.place {
            Place::Host => Ok(&self.view),
            other => self.host_beside(py, other, access),
        }
    }

    #[cold]
    fn host_beside(&self, py: Python<'_>, place: &Place, access: Access) -> PyResult<&View> {
        let current = match place {
            Place::Host => Ok(()),
            Place::Device(_) => return Err(self.no_host_buffer(py)),
            Place::Pair { pair, .. } => {
                warn_of_both(py, pair)?;
                py.detach(|| pair.access(Side::Host, &self.view, access))
            }
            Place::Managed(accelerator) => {
                py.detach(|| Ok(accelerator.synchronize(Stream::DEFAULT)?))
            }
        };
        current.map_err(|error| exception(py, &error))?;
        Ok(&self.view)
    }

    /// The elements on the device, current, at the device's addresses.
    pub fn on_device(&self, py: Python<'_>, access: Access) -> PyResult<View> {
        match &self.place {
            Place::Host => Err(no_buffer(
                py,
                "the storage has no buffer on a device; to_numpy() gives its host memory"
                    .to_owned(),
            )),
            Place::Device(_) | Place::Managed(_) => Ok(self.view.clone()),
            Place::Pair { pair, .. } => {
                warn_of_both(py, pair)?;
                py.detach(|| pair.access(Side::Device, &self.view, access))
                    .map_err(|error| exception(py, &error))?;
                Ok(pair.on_device(&self.view))
            }
        }
    }

    /// The address of the first element on a device, if it is that one.
    #[inline]
    pub fn pointer_on(&self, accelerator: &Arc<dyn Accelerator>) -> Option<*mut u8> {
        let is_there = |own: &Arc<dyn Accelerator>| Arc::ptr_eq(own, accelerator);
        match &self.place {
            Place::Host => None,
            Place::Device(own) | Place::Managed(own) => is_there(own).then(|| self.view.pointer()),
            Place::Pair { pair, .. } => {
                is_there(pair.accelerator()).then(|| pair.there(self.view.pointer()))
            }
        }
    }

    /// To be called after a write on one side: what has been handed out of the other is brought up to date.
    #[inline]
    pub fn settle(&self, py: Python<'_>, side: Side) -> PyResult<()> {
        match &self.place {
            Place::Pair { pair, .. } => py
                .detach(|| pair.settle(side))
                .map_err(|error| exception(py, &error)),
            _ => Ok(()),
        }
    }

    /// What came of a write on one side, after which [`Self::settle`] is due also if it failed: whoever holds an array of the
    /// other side goes on writing to it.
    #[inline]
    pub fn settled<T>(&self, py: Python<'_>, side: Side, written: PyResult<T>) -> PyResult<T> {
        let settled = self.settle(py, side);
        let written = written?;
        settled.map(|()| written)
    }

    /// Where the elements are.
    pub fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn no_host_buffer(&self, py: Python<'_>) -> PyErr {
        let device = self
            .place
            .accelerator()
            .map_or_else(String::new, |accelerator| {
                format!(" ({})", accelerator.name())
            });
        no_buffer(
            py,
            format!(
                "the storage has its elements on the device only{device}; to_cupy() gives them there, and \
                 storage(data, device='cpu') copies them to the host"
            ),
        )
    }
}

/// Warns where arrays of both copies are out: which of them has been written to last cannot be told.
pub fn warn_of_both(py: Python<'_>, pair: &Pair) -> PyResult<()> {
    if !pair.is_unknown() {
        return Ok(());
    }
    // While the interpreter ends nothing can be imported, and nobody reads warnings.
    let Ok(errors) = py.import("fieldstone.errors") else {
        return Ok(());
    };
    let category = errors.getattr("SyncWarning")?;
    let message = c"arrays of the host's copy and of the device's are out now, and fieldstone cannot tell through which of them \
                    was written last; give up one of them before using the storage, or call set_host_modified() or \
                    set_device_modified() after each write";
    PyErr::warn(py, &category, message, 1)
}

/// The exception for a buffer that a storage does not have.
pub fn no_buffer(py: Python<'_>, message: String) -> PyErr {
    raise(py, "GTNoSuchBufferError", message)
}

/// The exception for an error of a transfer.
pub fn transferred(py: Python<'_>, result: Result<(), StorageError>) -> PyResult<()> {
    result.map_err(|error| exception(py, &error))
}
