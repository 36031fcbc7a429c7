//! DLPack, by which array libraries of all devices exchange memory.

use fieldstone_device::{Accelerator, Kind, Stream};
use fieldstone_storage::{Access, Side, View};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::super::resolve::Location;
use super::super::{Place, Storage};
use crate::dlpack::{self, Device, Legacy, Loan, Versioned};
use crate::errors::raise;
use crate::interface::{describe_value, wait};

/// The stream number by which a consumer says that it waits itself.
const NO_WAIT: i64 = -1;

#[pymethods]
impl Storage {
    /// The memory in a capsule of DLPack.
    ///
    /// A storage with memory on host and device gives that of the host, unless ``dl_device`` says otherwise. Without ``max_version``
    /// or with one below 1.0 it is a capsule of the older kind, which cannot say that memory is read-only.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let versioned = match max_version {
            Some(version) => pair("max_version", version)?.0 >= i64::from(dlpack::VERSION.major),
            None => false,
        };
        let waits = waits(this.place(), stream)?;
        let wanted = match dl_device {
            Some(device) => wanted("dl_device", device)?,
            None => own_device(this.place()),
        };
        let (view, flags, keeper) = match side_on(this.place(), wanted) {
            Some(side) if copy != Some(true) => lent(slf, side)?,
            None if wanted != dlpack::HOST || copy == Some(false) => {
                return Err(elsewhere(this.place(), wanted));
            }
            _ => {
                let copied = this.duplicate_at(py, location_of(this.place(), wanted))?;
                (copied.view, dlpack::IS_COPIED, None)
            }
        };
        if flags & dlpack::READ_ONLY != 0 && !versioned {
            return Err(PyBufferError::new_err(
                "the storage wraps read-only memory, which only DLPack 1.0 and later can say; ask with max_version=(1, 0), or \
                 for a copy",
            ));
        }
        if let (true, Some(accelerator)) = (waits, this.place().accelerator()) {
            wait(py, accelerator.as_ref(), Stream::DEFAULT)?;
        }
        let loan = Loan {
            view: &view,
            dtype: this.dtype.bind(py),
            device: wanted,
            flags,
            keeper,
        };
        if versioned {
            loan.capsule::<Versioned>()
        } else {
            loan.capsule::<Legacy>()
        }
    }

    /// Kind and number of the device that holds the memory, as DLPack counts them.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let Device { kind, id } = own_device(self.place());
        (kind, id)
    }
}

/// The memory on one side, current, the flags for it, and what keeps it alive where it does not do so itself.
fn lent(slf: &Bound<'_, Storage>, side: Side) -> PyResult<(View, u64, Option<Py<PyAny>>)> {
    let py = slf.py();
    let handed = Storage::leased(slf, side)?;
    let this = slf.borrow();
    let view = match side {
        Side::Host => this.host(py, Access::Read)?.clone(),
        Side::Device => this.on_device(py, Access::Read)?,
    };
    let flags = if this.writeable { 0 } else { dlpack::READ_ONLY };
    let keeper = match handed {
        Some(handed) => Some(handed.into_any().unbind()),
        None => this.keeper.as_ref().map(|keeper| keeper.clone_ref(py)),
    };
    Ok((view, flags, keeper))
}

/// The device whose memory is lent where the consumer does not say which.
fn own_device(place: &Place) -> Device {
    match place {
        Place::Host | Place::Pair { .. } => dlpack::HOST,
        Place::Device(accelerator) => Device::of(accelerator.as_ref()),
        Place::Managed(accelerator) if is_cuda(accelerator.as_ref()) => {
            Device::of(accelerator.as_ref()).managed()
        }
        Place::Managed(_) => dlpack::HOST,
    }
}

fn is_cuda(accelerator: &dyn Accelerator) -> bool {
    accelerator.id().kind == Kind::Cuda
}

/// The side whose memory a consumer on a device can be lent; `None` if it needs a copy.
fn side_on(place: &Place, wanted: Device) -> Option<Side> {
    let is = |accelerator: &dyn Accelerator| wanted == Device::of(accelerator);
    match place {
        Place::Host | Place::Managed(_) | Place::Pair { .. } if wanted == dlpack::HOST => {
            Some(Side::Host)
        }
        Place::Device(accelerator) if is(accelerator.as_ref()) => Some(Side::Device),
        Place::Pair { pair, .. } if is(pair.accelerator().as_ref()) => Some(Side::Device),
        Place::Managed(accelerator) if is_cuda(accelerator.as_ref()) => {
            let either = is(accelerator.as_ref()) || wanted == own_device(place);
            either.then_some(Side::Device)
        }
        _ => None,
    }
}

fn elsewhere(place: &Place, wanted: Device) -> PyErr {
    let own = own_device(place);
    let how = if wanted == dlpack::HOST {
        " without a copy"
    } else {
        ""
    };
    PyBufferError::new_err(format!(
        "dl_device: the storage is on {own} and cannot be exported to {wanted}{how}"
    ))
}

/// Where a copy for a consumer on a device belongs.
fn location_of(place: &Place, wanted: Device) -> Location {
    match place.accelerator() {
        Some(accelerator) if wanted.is_managed() => Location::Managed(accelerator.clone()),
        Some(accelerator) if wanted != dlpack::HOST => Location::Device(accelerator.clone()),
        _ => Location::Host,
    }
}

/// Whether work on the memory has to be done before the consumer gets it.
fn waits(place: &Place, stream: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    let Some(stream) = stream else {
        return Ok(true);
    };
    let given = stream.extract::<i64>().ok();
    match place.accelerator() {
        Some(_) if given.is_some_and(|number| number == NO_WAIT) => Ok(false),
        Some(_) if given.is_some_and(|number| number > 0) => Ok(true),
        Some(_) => {
            let message = format!(
                "stream: {} was given, expected None, -1, 1, 2 or the address of one (0 could mean either of two)",
                describe_value(stream)
            );
            Err(raise(stream.py(), "ArgumentValueError", message))
        }
        None => {
            let message = format!(
                "stream: {} was given, but the storage is in host memory, which has no streams; leave it out",
                describe_value(stream)
            );
            Err(raise(stream.py(), "ArgumentValueError", message))
        }
    }
}

/// A device that a consumer asks for.
fn wanted(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Device> {
    let (kind, id) = pair(name, given)?;
    match (i32::try_from(kind), i32::try_from(id)) {
        (Ok(kind), Ok(id)) => Ok(Device { kind, id }),
        _ => Err(no_pair(name, given)),
    }
}

fn pair(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    value.extract().map_err(|_| no_pair(name, value))
}

fn no_pair(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let message = format!(
        "{name}: expected a pair of integers, got {}",
        describe_value(value)
    );
    raise(value.py(), "ArgumentTypeError", message)
}
