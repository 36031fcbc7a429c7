//! Memory that comes in by DLPack.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Kind, Stream};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::memory::{self, Memory};
use super::{Purpose, Refusal, Request, describe_value};
use crate::dlpack::{Borrowed, Device, Fault, VERSION};

/// The number of the stream that we work on, as DLPack exchanges it.
const OUR_STREAM: usize = 1;

/// The memory of an object that has `__dlpack__`.
pub fn read<'py>(request: &Request<'_, 'py>, object: &Bound<'py, PyAny>) -> PyResult<Memory<'py>> {
    let refuse = |refusal| request.refuse(object, refusal);
    let device = device_of(request, object)?;
    let accelerator = owner(request, object, device)?;
    let capsule = capsule_of(object, request.purpose, accelerator.as_deref())
        .map_err(|error| refuse(Refusal::Exchange(error)))?;
    let borrowed = Borrowed::read(capsule).map_err(|fault| match fault {
        Fault::Raised(error) => error,
        Fault::Wrong(problem) => refuse(Refusal::Capsule { problem }),
    })?;
    if borrowed.device != device {
        let problem = format!("holds memory of {}, not of {device}", borrowed.device);
        return Err(refuse(Refusal::Capsule { problem }));
    }
    if borrowed.copied && request.purpose != Purpose::Copy {
        let problem = "holds a copy of the memory, not the memory itself".into();
        return Err(refuse(Refusal::Capsule { problem }));
    }
    if device.is_managed()
        && let Some(accelerator) = memory::named(Device::cuda(device.id))
    {
        memory::wait(object.py(), accelerator.as_ref(), Stream::DEFAULT)?;
    }
    Ok(Memory {
        view: borrowed.view.clone(),
        dtype: borrowed.dtype.clone(),
        writeable: !borrowed.readonly,
        keeper: borrowed.take()?,
        written_in: accelerator.is_some().then_some(Stream::DEFAULT),
        accelerator,
    })
}

fn device_of<'py>(request: &Request<'_, 'py>, object: &Bound<'py, PyAny>) -> PyResult<Device> {
    let device = object
        .call_method0(intern!(object.py(), "__dlpack_device__"))
        .map_err(|error| request.refuse(object, Refusal::Exchange(error)))?;
    let (kind, id) = device.extract().map_err(|_| {
        let problem = format!(
            "cannot be asked for, its __dlpack_device__ gave {}, expected a pair of integers",
            describe_value(&device)
        );
        request.refuse(object, Refusal::Capsule { problem })
    })?;
    Ok(Device { kind, id })
}

/// The accelerator of DLPack's device; `None` for memory that the host can access.
fn owner<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    device: Device,
) -> PyResult<Option<Arc<dyn Accelerator>>> {
    if device.is_host() {
        return Ok(None);
    }
    match memory::named(device) {
        Some(accelerator) => Ok(Some(accelerator)),
        None => {
            let place = device.to_string();
            Err(request.refuse(object, Refusal::OnDevice { place }))
        }
    }
}

/// Asks for the memory as it is; producers from before version 1 know neither versions nor copies.
fn capsule_of<'py>(
    object: &Bound<'py, PyAny>,
    purpose: Purpose,
    accelerator: Option<&dyn Accelerator>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let name = intern!(py, "__dlpack__");
    let older = PyDict::new(py);
    if accelerator.is_some_and(|accelerator| accelerator.id().kind == Kind::Cuda) {
        older.set_item(intern!(py, "stream"), OUR_STREAM)?;
    }
    let keywords = older.copy()?;
    keywords.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
    if purpose != Purpose::Copy {
        keywords.set_item(intern!(py, "copy"), false)?;
    }
    match object.call_method(name, (), Some(&keywords)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            object.call_method(name, (), Some(&older))
        }
        answer => answer,
    }
}
