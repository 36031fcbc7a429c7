//! DLPack, by which array libraries of all devices exchange memory.

use fieldstone_storage::Side;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::super::Storage;
use crate::dlpack::{self, Device, Legacy, Loan, Versioned};
use crate::errors::raise;
use crate::interface::describe_value;

#[pymethods]
impl Storage {
    /// The memory in a capsule of DLPack.
    ///
    /// Without ``max_version`` or with one below 1.0 it is a capsule of the older kind, which cannot say that memory is read-only.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(stream) = stream {
            let message = format!(
                "stream: {} was given, but the storage is in host memory, which has no streams; leave it out",
                describe_value(stream)
            );
            return Err(raise(py, "ArgumentValueError", message));
        }
        let versioned = match max_version {
            Some(version) => pair("max_version", version)?.0 >= i64::from(dlpack::VERSION.major),
            None => false,
        };
        if let Some(device) = dl_device {
            check_device(device)?;
        }
        let this = slf.borrow();
        if !this.place().has(Side::Host) {
            return Err(PyBufferError::new_err(
                "the storage has its elements on the device only; to_cupy() gives them there",
            ));
        }
        let copied = if copy == Some(true) {
            Some(this.duplicate(py)?)
        } else {
            None
        };
        let handed = match &copied {
            Some(_) => None,
            None => Storage::leased(slf, Side::Host)?,
        };
        let lent = copied.as_ref().unwrap_or(&this);
        if !lent.writeable && !versioned {
            return Err(PyBufferError::new_err(
                "the storage wraps read-only memory, which only DLPack 1.0 and later can say; ask with max_version=(1, 0), or \
                 for a copy",
            ));
        }
        let read_only = if lent.writeable { 0 } else { dlpack::READ_ONLY };
        let is_copied = if copied.is_some() {
            dlpack::IS_COPIED
        } else {
            0
        };
        let loan = Loan {
            view: &lent.view,
            dtype: lent.dtype.bind(py),
            device: dlpack::HOST,
            flags: read_only | is_copied,
            keeper: match handed {
                Some(handed) => Some(handed.into_any().unbind()),
                None => lent.keeper.as_ref().map(|keeper| keeper.clone_ref(py)),
            },
        };
        if versioned {
            loan.capsule::<Versioned>()
        } else {
            loan.capsule::<Legacy>()
        }
    }

    /// Kind and number of the device that holds the memory, as DLPack counts them.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (dlpack::HOST.kind, dlpack::HOST.id)
    }
}

/// A device that a consumer asks for, which must be where the memory is.
fn check_device(given: &Bound<'_, PyAny>) -> PyResult<()> {
    let (kind, id) = pair("dl_device", given)?;
    let Device {
        kind: own_kind,
        id: own_id,
    } = dlpack::HOST;
    if (kind, id) == (own_kind.into(), own_id.into()) {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!(
        "dl_device: the storage is on device ({own_kind}, {own_id}) of DLPack and cannot be exported to ({kind}, {id})"
    )))
}

fn pair(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    value.extract().map_err(|_| {
        let message = format!(
            "{name}: expected a pair of integers, got {}",
            describe_value(value)
        );
        raise(value.py(), "ArgumentTypeError", message)
    })
}
