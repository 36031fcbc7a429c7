//! Where a storage has its elements.

use std::sync::Arc;

use fieldstone_device::Accelerator;
use fieldstone_storage::{Pair, Side};
use pyo3::prelude::*;

use super::sync_state::SyncState;
use super::{CpuStorage, CudaManagedGpuStorage, GpuStorage, SoftwareManagedGpuStorage, Storage};

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
