//! `SyncState`: which of two copies is current, as Python sees it.

use std::sync::Arc;

use fieldstone_storage::Side;
use pyo3::prelude::*;

use crate::errors::raise;
use crate::storage::parameters::shown;

/// Which copy of a storage was written to since both were equal. All views of the storage share one.
///
/// Its attribute ``state`` is one of ``SYNC_CLEAN``, ``SYNC_HOST_DIRTY`` and ``SYNC_DEVICE_DIRTY``. A new one, both equal, may
/// be given to `as_storage` for memory of one's own.
#[pyclass(frozen, weakref, name = "SyncState", module = "fieldstone.storage")]
pub struct SyncState {
    shared: Arc<fieldstone_storage::SyncState>,
}

#[pymethods]
#[allow(missing_docs)]
impl SyncState {
    #[classattr]
    const SYNC_CLEAN: u8 = 0;
    #[classattr]
    const SYNC_HOST_DIRTY: u8 = 1;
    #[classattr]
    const SYNC_DEVICE_DIRTY: u8 = 2;

    #[new]
    #[pyo3(signature = (state=None))]
    fn new(state: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let this = Self::of(&Arc::default());
        if let Some(state) = state {
            this.set_state(state)?;
        }
        Ok(this)
    }

    /// Which copy was written to since both were equal.
    #[getter]
    fn state(&self) -> u8 {
        match self.shared.ahead() {
            None => Self::SYNC_CLEAN,
            Some(Side::Host) => Self::SYNC_HOST_DIRTY,
            Some(Side::Device) => Self::SYNC_DEVICE_DIRTY,
        }
    }

    #[setter]
    fn set_state(&self, state: &Bound<'_, PyAny>) -> PyResult<()> {
        self.shared.declare(declared(state)?);
        Ok(())
    }

    fn __repr__(&self) -> &'static str {
        match self.shared.ahead() {
            None => "SyncState(SYNC_CLEAN)",
            Some(Side::Host) => "SyncState(SYNC_HOST_DIRTY)",
            Some(Side::Device) => "SyncState(SYNC_DEVICE_DIRTY)",
        }
    }
}

/// The side that one of the constants names.
fn declared(state: &Bound<'_, PyAny>) -> PyResult<Option<Side>> {
    match state.extract() {
        Ok(SyncState::SYNC_CLEAN) => Ok(None),
        Ok(SyncState::SYNC_HOST_DIRTY) => Ok(Some(Side::Host)),
        Ok(SyncState::SYNC_DEVICE_DIRTY) => Ok(Some(Side::Device)),
        _ => {
            let message = format!(
                "state: expected SyncState.SYNC_CLEAN, SYNC_HOST_DIRTY or SYNC_DEVICE_DIRTY, got {}",
                shown(state)
            );
            Err(raise(state.py(), "ArgumentValueError", message))
        }
    }
}

impl SyncState {
    /// The Python object of a state.
    pub fn of(shared: &Arc<fieldstone_storage::SyncState>) -> Self {
        Self {
            shared: Arc::clone(shared),
        }
    }

    /// The state itself.
    pub fn shared(&self) -> &Arc<fieldstone_storage::SyncState> {
        &self.shared
    }
}

/// The state that a user gave: a `SyncState`, or one of its constants for a new one.
pub fn given(value: &Bound<'_, PyAny>) -> PyResult<Py<SyncState>> {
    if let Ok(state) = value.cast::<SyncState>() {
        return Ok(state.clone().unbind());
    }
    let state = SyncState::of(&Arc::default());
    state.shared.declare(declared(value).map_err(|_| {
        let message = format!(
            "sync_state: expected a SyncState, such as that of the storage the data was taken from, or one of its \
             constants, got {}",
            shown(value)
        );
        raise(value.py(), "ArgumentTypeError", message)
    })?);
    Py::new(value.py(), state)
}
