//! Memory that comes in by DLPack.

use numpy::PyUntypedArray;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Purpose, Refusal, Request, describe_value};
use crate::array::array_of;
use crate::dlpack::{Borrowed, Device, Fault, VERSION};

/// The host memory of an object that has `__dlpack__`.
pub fn read<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let refuse = |refusal| request.refuse(object, refusal);
    if !device_of(request, object)?.is_host() {
        return Err(refuse(Refusal::OnDevice));
    }
    let capsule =
        capsule_of(object, request.purpose).map_err(|error| refuse(Refusal::Exchange(error)))?;
    let borrowed = Borrowed::read(capsule).map_err(|fault| match fault {
        Fault::Raised(error) => error,
        Fault::Wrong(problem) => refuse(Refusal::Capsule { problem }),
    })?;
    if !borrowed.device.is_host() {
        return Err(refuse(Refusal::OnDevice));
    }
    if borrowed.copied && request.purpose != Purpose::Copy {
        let problem = "holds a copy of the memory, not the memory itself".into();
        return Err(refuse(Refusal::Capsule { problem }));
    }
    let (view, dtype, readonly) = (
        borrowed.view.clone(),
        borrowed.dtype.clone(),
        borrowed.readonly,
    );
    let keeper = borrowed.take()?;
    Ok(array_of(&view, &dtype, !readonly, keeper)?.cast_into()?)
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

/// Asks for the memory as it is; producers from before version 1 know no keywords.
fn capsule_of<'py>(object: &Bound<'py, PyAny>, purpose: Purpose) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let name = intern!(py, "__dlpack__");
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
    if purpose != Purpose::Copy {
        keywords.set_item(intern!(py, "copy"), false)?;
    }
    match object.call_method(name, (), Some(&keywords)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => object.call_method0(name),
        answer => answer,
    }
}
