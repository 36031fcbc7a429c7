//! A storage as the argument of a stencil, where it has more than the memory in which the stencil runs.

use std::ffi::CString;
use std::sync::Arc;

use fieldstone_device::{Accelerator, Stream};
use fieldstone_storage::{Access, Pair, Side, View};
use pyo3::prelude::*;

use super::access::{transferred, warn_of_both};
use super::place::Place;
use super::{Storage, memory};
use crate::array::exception;
use crate::errors::raise;

/// Memory that is to be made current before a stencil runs, and whose writes are to be noted after.
pub enum Tracked {
    /// One of two copies.
    Pair {
        /// The two copies.
        pair: Arc<Pair>,
        /// The elements that are the argument.
        view: View,
        /// The side of the copy.
        side: Side,
        /// The elements there.
        here: View,
    },
    /// Memory that the device may still be writing to, for a stencil on the host.
    Managed(Arc<dyn Accelerator>),
    /// A copy for this call of memory on the device only, for a stencil on the host.
    Copied {
        /// What the argument is called.
        name: String,
        /// The device.
        accelerator: Arc<dyn Accelerator>,
        /// The elements there.
        device: View,
        /// Their copy.
        host: View,
        /// Whether the copy is that of another argument, which fills it.
        shared: bool,
    },
}

impl Tracked {
    /// What is to be tracked of a storage, the argument called `name` of a stencil that runs on a side.
    pub fn of(storage: &Storage, py: Python<'_>, name: &str, side: Side) -> PyResult<Option<Self>> {
        Ok(match &storage.place {
            Place::Host => None,
            Place::Pair { pair, .. } => Some(Self::Pair {
                pair: Arc::clone(pair),
                view: storage.view.clone(),
                side,
                here: match side {
                    Side::Host => storage.view.clone(),
                    Side::Device => pair.on_device(&storage.view),
                },
            }),
            Place::Device(_) | Place::Managed(_) if side == Side::Device => None,
            Place::Managed(accelerator) => Some(Self::Managed(Arc::clone(accelerator))),
            Place::Device(accelerator) => {
                let accelerator = Arc::clone(accelerator);
                Some(Self::copied(py, name, accelerator, storage.view.clone())?)
            }
        })
    }

    /// What is to be tracked of memory on a device only.
    pub fn copied(
        py: Python<'_>,
        name: &str,
        accelerator: Arc<dyn Accelerator>,
        mut device: View,
    ) -> PyResult<Self> {
        // Elements that are repeated are moved once.
        for axis in 0..device.ndim() {
            if device.strides()[axis] == 0 && device.shape()[axis] > 1 {
                device = device
                    .slice(axis, 0, 1, 1)
                    .map_err(|error| exception(py, &error))?;
            }
        }
        Ok(Self::Copied {
            name: name.to_owned(),
            accelerator,
            host: memory::like(py, &device)?,
            device,
            shared: false,
        })
    }

    /// The two copies, and the elements of them that are the argument.
    pub fn pair(&self) -> Option<(&Arc<Pair>, &View)> {
        match self {
            Self::Pair { pair, view, .. } => Some((pair, view)),
            Self::Managed(_) | Self::Copied { .. } => None,
        }
    }

    /// Where the stencil finds the elements.
    pub fn view(&self) -> Option<&View> {
        match self {
            Self::Pair { here, .. } => Some(here),
            Self::Managed(_) => None,
            Self::Copied { host, .. } => Some(host),
        }
    }

    /// Makes the elements current, on a device for work in a stream.
    pub fn acquire(&self, py: Python<'_>, writes: bool, stream: Option<Stream>) -> PyResult<()> {
        match self {
            Self::Pair {
                pair, view, side, ..
            } => {
                warn_of_both(py, pair)?;
                let access = if writes {
                    Access::ReadWrite
                } else {
                    Access::Read
                };
                let current = || match stream {
                    Some(stream) => pair.access_by(stream, view, access),
                    None => pair.access(*side, view, access),
                };
                transferred(py, py.detach(current))
            }
            Self::Managed(accelerator) => transferred(
                py,
                py.detach(|| Ok(accelerator.synchronize(Stream::DEFAULT)?)),
            ),
            Self::Copied {
                name,
                accelerator,
                device,
                host,
                shared: false,
            } => {
                warn(py, name, device.bounds().len())?;
                // SAFETY: the storage that is the argument keeps the device's memory alive, this the host's.
                transferred(
                    py,
                    py.detach(|| unsafe {
                        fieldstone_storage::download(accelerator.as_ref(), device, host)
                    }),
                )
            }
            Self::Copied { shared: true, .. } => Ok(()),
        }
    }

    /// Makes the copies of two arguments one where they are the same elements.
    ///
    /// Fails where they overlap otherwise: what is written to one copy would not be seen in the other.
    pub fn unite(&mut self, py: Python<'_>, first: &Self) -> PyResult<()> {
        let (
            Self::Copied {
                name,
                device,
                host,
                shared,
                ..
            },
            Self::Copied {
                name: first_name,
                device: first_device,
                host: first_host,
                ..
            },
        ) = (self, first)
        else {
            return Ok(());
        };
        let same = device.pointer() == first_device.pointer()
            && device.shape() == first_device.shape()
            && device.strides() == first_device.strides();
        if same {
            *host = first_host.clone();
            *shared = true;
        } else if device.overlaps(first_device) {
            let message = format!(
                "arguments '{first_name}' and '{name}' overlap in a device's memory, and each is copied to the host for this \
                 call; pass storages with a copy on the host (managed='gt4py'), or use the backend 'gpu'"
            );
            return Err(raise(py, "AliasError", message));
        }
        Ok(())
    }

    /// Leaves what may have been written by a run that failed: memory with a second copy is in step with it again.
    pub fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Self::Pair { .. } => self.touch(py),
            Self::Managed(_) | Self::Copied { .. } => Ok(()),
        }
    }

    /// Notes that the stencil has written to the elements.
    pub fn touch(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Self::Pair { pair, side, .. } => transferred(py, py.detach(|| pair.settle(*side))),
            Self::Managed(_) => Ok(()),
            Self::Copied {
                accelerator,
                device,
                host,
                ..
            } => transferred(
                py,
                // SAFETY: as in `acquire`.
                py.detach(|| unsafe {
                    fieldstone_storage::upload(accelerator.as_ref(), host, device)
                }),
            ),
        }
    }
}

fn warn(py: Python<'_>, name: &str, bytes: usize) -> PyResult<()> {
    let category = py.import("fieldstone.errors")?.getattr("TransferWarning")?;
    let message = format!(
        "argument '{name}' is on the device only, and the stencil runs on the host: {bytes} bytes are copied to the host \
         for this call, and back if it writes them"
    );
    PyErr::warn(py, &category, &CString::new(message)?, 1)
}
