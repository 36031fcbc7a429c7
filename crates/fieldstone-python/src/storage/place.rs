//! Where a storage has its elements, and how they are reached there.
//!
//! Whoever reads or writes elements asks for them on one side, and says what for ([`Access`]): the memory is then current,
//! and the other copy, if there is one, known to be behind after a write.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Kind, Stream};
use fieldstone_storage::{Access, Lease, Pair, Side, StorageError, View};
use numpy::PyArrayDescr;
use pyo3::prelude::*;

use super::sync_state::SyncState;
use super::{CpuStorage, CudaManagedGpuStorage, GpuStorage, SoftwareManagedGpuStorage, Storage};
use crate::array::{self, array_of, exception};
use crate::errors::raise;

/// Where the elements of a storage are. A storage's view is one of host memory, but in `Device`.
pub enum Place {
    /// In host memory.
    Host,
    /// On a device only.
    Device(Arc<dyn Accelerator>),
    /// In both, and fieldstone keeps them equal.
    Pair {
        /// The two copies.
        pair: Arc<Pair>,
        /// Their state as Python sees it, one object for all views.
        state: Py<SyncState>,
    },
    /// At one address for both, and the driver moves them.
    Managed(Arc<dyn Accelerator>),
}

impl Place {
    /// The same place, for a view.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Host => Self::Host,
            Self::Device(accelerator) => Self::Device(Arc::clone(accelerator)),
            Self::Pair { pair, state } => Self::Pair {
                pair: Arc::clone(pair),
                state: state.clone_ref(py),
            },
            Self::Managed(accelerator) => Self::Managed(Arc::clone(accelerator)),
        }
    }

    /// Two copies, whose state may have been given.
    pub fn of_pair(
        py: Python<'_>,
        pair: Arc<Pair>,
        state: Option<Py<SyncState>>,
    ) -> PyResult<Self> {
        let state = match state {
            Some(state) => state,
            None => Py::new(py, SyncState::of(pair.sync()))?,
        };
        Ok(Self::Pair { pair, state })
    }

    /// The device with a copy.
    pub fn accelerator(&self) -> Option<&Arc<dyn Accelerator>> {
        match self {
            Self::Host => None,
            Self::Device(accelerator) | Self::Managed(accelerator) => Some(accelerator),
            Self::Pair { pair, .. } => Some(pair.accelerator()),
        }
    }

    /// Whether there is a copy on a side.
    pub fn has(&self, side: Side) -> bool {
        match self {
            Self::Host => side == Side::Host,
            Self::Device(_) => side == Side::Device,
            Self::Pair { .. } | Self::Managed(_) => true,
        }
    }

    /// Whether a value here counts as one on the device where a device is to be chosen.
    pub fn is_on_device(&self) -> bool {
        match self {
            Self::Host => false,
            Self::Device(_) | Self::Managed(_) => true,
            Self::Pair { pair, .. } => pair.sync().ahead() != Some(Side::Host),
        }
    }
}

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

    fn no_host_buffer(&self, py: Python<'_>) -> PyErr {
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

    /// A NumPy array of the host memory, for the time of one operation.
    pub fn array<'py>(slf: &Bound<'py, Self>, access: Access) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let view = this.host(py, access)?;
        array_of(
            view,
            this.dtype.bind(py),
            this.writeable,
            slf.clone().into_any(),
        )
    }

    /// The values as a NumPy array that is only read: of a copy if they are on a device only.
    pub fn current_values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let Place::Device(_) = this.place else {
            return Self::array(slf, Access::Read);
        };
        let copy = this.elements(py).on_host(py)?;
        array_of_copy(&copy, this.dtype.bind(py))
    }

    /// A NumPy array of the host memory to be handed out.
    ///
    /// If there is a copy on a device, then as long as the array lives, it may have been written to whenever the device's copy
    /// is asked for, and it is brought up to date after each write on the device.
    pub fn exported<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let Some(lease) = Self::leased(slf, Side::Host)? else {
            return Self::array(slf, Access::Read);
        };
        let py = slf.py();
        let this = slf.borrow();
        array_of(
            &this.view,
            this.dtype.bind(py),
            this.writeable,
            lease.into_any(),
        )
    }

    /// What is to live as long as an array of one side that is handed out; `None` if there is one copy only.
    pub fn leased<'py>(slf: &Bound<'py, Self>, side: Side) -> PyResult<Option<Bound<'py, Handed>>> {
        let py = slf.py();
        let this = slf.borrow();
        let Place::Pair { pair, .. } = &this.place else {
            return Ok(None);
        };
        let view = &this.view;
        // Other views of the same memory may be written to where this one may not.
        let writeable = this.writeable;
        let lease = py.detach(|| match writeable {
            true => pair.lease(side, view),
            false => pair.show(side, view),
        });
        let handed = Handed {
            _lease: lease.map_err(|error| exception(py, &error))?,
            _storage: slf.clone().unbind(),
        };
        Bound::new(py, handed).map(Some)
    }

    /// The array in which the device's library computes: NumPy's for a simulated device, else CuPy's.
    pub fn kernel_array<'py>(
        slf: &Bound<'py, Self>,
        access: Access,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let view = this.on_device(py, access)?;
        let Some(accelerator) = this.place.accelerator() else {
            return Err(this.no_host_buffer(py));
        };
        let keep = slf.clone().into_any();
        if accelerator.id().kind != Kind::Simulated {
            return super::device_array::cupy_array(
                &view,
                this.dtype.bind(py),
                accelerator.as_ref(),
                keep,
            );
        }
        let view = super::assign::for_kernels(py, accelerator.as_ref(), &view)?;
        array_of(&view, this.dtype.bind(py), this.writeable, keep)
    }

    /// The Python object of this storage, of the class for where its elements are.
    #[inline]
    pub fn into_object(self, py: Python<'_>) -> PyResult<Bound<'_, Storage>> {
        let class = PyClassInitializer::from;
        Ok(match self.place {
            Place::Host => Bound::new(py, class(self).add_subclass(CpuStorage))?.into_super(),
            Place::Device(_) => Bound::new(py, class(self).add_subclass(GpuStorage))?.into_super(),
            Place::Pair { .. } => {
                Bound::new(py, class(self).add_subclass(SoftwareManagedGpuStorage))?.into_super()
            }
            Place::Managed(_) => {
                Bound::new(py, class(self).add_subclass(CudaManagedGpuStorage))?.into_super()
            }
        })
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

/// Keeps a storage alive for an array of its memory that somebody holds, who may write to it.
#[pyclass(frozen, name = "Handed", module = "fieldstone._core")]
pub struct Handed {
    _lease: Lease,
    _storage: Py<Storage>,
}

/// A NumPy array, only to be read, of a copy of some elements.
pub fn array_of_copy<'py>(
    copy: &View,
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = Copied {
        _memory: copy.clone(),
    };
    array_of(
        copy,
        dtype,
        false,
        Bound::new(dtype.py(), owner)?.into_any(),
    )
}

/// Keeps a copy alive.
#[pyclass(frozen, name = "Copied", module = "fieldstone._core")]
struct Copied {
    _memory: View,
}

/// The exception for an error of a transfer.
pub fn transferred(py: Python<'_>, result: Result<(), StorageError>) -> PyResult<()> {
    result.map_err(|error| array::exception(py, &error))
}
