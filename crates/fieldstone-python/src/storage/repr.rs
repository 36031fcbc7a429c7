//! What a storage looks like to people: the facts and the values that the package's `_repr` makes text and pictures of.
//!
//! Looking at a storage moves nothing between host and device.

use fieldstone_device::Kind;
use fieldstone_storage::Side;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::host_array::array_of_copy;
use super::{Place, Storage, assign};
use crate::array::array_of;

#[pymethods]
impl Storage {
    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf
            .py()
            .import(intern!(slf.py(), "fieldstone._repr.text"))?;
        module.call_method1(intern!(slf.py(), "full"), (slf,))
    }

    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf
            .py()
            .import(intern!(slf.py(), "fieldstone._repr.text"))?;
        module.call_method1(intern!(slf.py(), "values"), (slf,))
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, specification: &str) -> PyResult<Bound<'py, PyAny>> {
        if specification.is_empty() {
            return Ok(slf.str()?.into_any());
        }
        if slf.borrow().view.shape().is_empty() {
            // Who says how the number is to be written wants the number.
            let scalar = Self::current_values(slf)?.call_method0("item")?;
            return scalar.call_method1("__format__", (specification,));
        }
        let message = "unsupported format string passed to a storage of several elements";
        Err(pyo3::exceptions::PyTypeError::new_err(message))
    }

    /// A drawing of the storage beside a table of its facts, for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf
            .py()
            .import(intern!(slf.py(), "fieldstone._repr.html"))?;
        module.call_method1(intern!(slf.py(), "card"), (slf,))
    }

    /// The storage in at most `max_width` characters, for a line of xarray's.
    fn _repr_inline_<'py>(slf: &Bound<'py, Self>, max_width: usize) -> PyResult<Bound<'py, PyAny>> {
        let module = slf
            .py()
            .import(intern!(slf.py(), "fieldstone._repr.text"))?;
        module.call_method1(intern!(slf.py(), "inline"), (slf, max_width))
    }
}

impl Storage {
    /// Whether host memory holds the values as they are now.
    fn is_at_hand(&self) -> bool {
        match &self.place {
            Place::Host | Place::Managed(_) => true,
            Place::Device(_) => false,
            Place::Pair { pair, .. } => pair.is_current(Side::Host, &self.view),
        }
    }
}

/// Where a storage has its elements, which of two copies is ahead, and what else no attribute tells.
#[pyfunction]
fn whereabouts<'py>(storage: &Bound<'py, Storage>) -> PyResult<Bound<'py, PyDict>> {
    let py = storage.py();
    let this = storage.borrow();
    let device = this.place.accelerator().map(|accelerator| {
        let name = accelerator.name().to_owned();
        match accelerator.id().kind {
            Kind::Cuda => format!("GPU {} ({name})", accelerator.id().index),
            _ => name,
        }
    });
    let (ahead, ahead_here) = match &this.place {
        Place::Pair { pair, .. } => (pair.sync().ahead(), pair.ahead_in(&this.view)),
        _ => (None, None),
    };
    let side = |side: Side| match side {
        Side::Host => "host",
        Side::Device => "device",
    };
    let facts = PyDict::new(py);
    facts.set_item("device", device)?;
    facts.set_item("copies", matches!(this.place, Place::Pair { .. }))?;
    facts.set_item("managed", matches!(this.place, Place::Managed(_)))?;
    facts.set_item("ahead", ahead.map(side))?;
    facts.set_item("ahead_here", ahead_here.map(side))?;
    facts.set_item("at_hand", this.is_at_hand())?;
    facts.set_item("wrapped", this.keeper.is_some())?;
    facts.set_item("writeable", this.writeable)?;
    Ok(facts)
}

/// The values as a NumPy array that is only read, if host memory has them as they are now; nothing is moved, and no state
/// changes.
#[pyfunction]
fn values_at_hand<'py>(storage: &Bound<'py, Storage>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = storage.py();
    let this = storage.borrow();
    if !this.is_at_hand() {
        return Ok(None);
    }
    if let Place::Managed(_) = this.place {
        // What the device is still writing comes first.
        this.host(py, fieldstone_storage::Access::Read)?;
    }
    let owner = storage.clone().into_any();
    array_of(&this.view, this.dtype.bind(py), false, owner).map(Some)
}

/// The values as a NumPy array that is only read: those at hand, else a copy made now, which changes no state.
#[pyfunction]
fn values_fetched<'py>(storage: &Bound<'py, Storage>) -> PyResult<Bound<'py, PyAny>> {
    if let Some(values) = values_at_hand(storage)? {
        return Ok(values);
    }
    let py = storage.py();
    let this = storage.borrow();
    let Place::Pair { pair, .. } = &this.place else {
        return Storage::current_values(storage);
    };
    let there = pair.on_device(&this.view);
    let copy = assign::downloaded(py, pair.accelerator().as_ref(), &there)?;
    array_of_copy(&copy, this.dtype.bind(py))
}

/// Adds what this file binds.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(whereabouts, module)?)?;
    module.add_function(wrap_pyfunction!(values_at_hand, module)?)?;
    module.add_function(wrap_pyfunction!(values_fetched, module)?)
}
