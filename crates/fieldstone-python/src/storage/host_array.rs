//! The NumPy array that stands for host memory: for one operation, or handed out.

use fieldstone_storage::{Access, Lease, Side, View};
use numpy::PyArrayDescr;
use pyo3::prelude::*;

use super::Storage;
use super::place::Place;
use crate::array::{array_of, exception};

impl Storage {
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
