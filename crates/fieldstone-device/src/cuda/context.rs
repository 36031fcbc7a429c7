//! What a thread needs to call the driver for one device.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::driver::{Driver, Failure, Handle};
use crate::{DeviceError, DeviceId};

/// So many kernels are told of where the driver reports an error of one that was not waited for.
const TOLD: usize = 8;

/// The primary context of a device: the one that all libraries of a process share.
#[derive(Debug)]
pub(super) struct Context {
    driver: &'static Driver,
    id: DeviceId,
    /// The driver's handle of the device.
    device: c_int,
    /// Made when it is first needed, since it takes memory and time; never released, since memory may outlive everything.
    primary: OnceLock<Handle>,
    /// The kernels that were launched last since nothing was left to be done.
    launched: Mutex<VecDeque<Arc<str>>>,
}

impl Context {
    pub(super) fn new(driver: &'static Driver, id: DeviceId, device: c_int) -> Self {
        Self {
            driver,
            id,
            device,
            primary: OnceLock::new(),
            launched: Mutex::default(),
        }
    }

    /// Notes that a kernel is launched.
    pub(super) fn launched(&self, kernel: &Arc<str>) {
        let mut launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
        if launched
            .back()
            .is_some_and(|last| Arc::ptr_eq(last, kernel))
        {
            return;
        }
        if launched.len() == TOLD {
            launched.pop_front();
        }
        launched.push_back(Arc::clone(kernel));
    }

    /// Notes that all that was launched has gone well.
    pub(super) fn all_done(&self) {
        self.launched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// A failure as an error of this device.
    pub(super) fn error(&self, failure: Failure) -> DeviceError {
        failure.on(self.id).after(|| {
            let launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
            launched
                .iter()
                .map(|kernel| String::from(&**kernel))
                .collect()
        })
    }

    pub(super) fn id(&self) -> DeviceId {
        self.id
    }

    /// Whether this process may use the driver at all.
    fn check(&self) -> Result<(), DeviceError> {
        match self.driver.is_usable() {
            true => Ok(()),
            false => Err(DeviceError::Forked),
        }
    }

    /// The context itself.
    pub(super) fn primary(&self) -> Result<Handle, DeviceError> {
        self.check()?;
        if let Some(primary) = self.primary.get() {
            return Ok(*primary);
        }
        let mut primary = Handle::NULL;
        // SAFETY: the driver writes one handle. Two threads at a time get the same, counted twice.
        unsafe {
            self.driver
                .primary_context_retain(&raw mut primary, self.device)
        }
        .map_err(|failure| self.error(failure))?;
        Ok(*self.primary.get_or_init(|| primary))
    }

    /// Whether the context exists, be it that another library has made it: otherwise the device has no memory in use.
    pub(super) fn is_active(&self) -> bool {
        if self.check().is_err() {
            return false;
        }
        let (mut flags, mut active) = (0, 0);
        // SAFETY: the driver writes two numbers.
        let asked = unsafe {
            self.driver
                .primary_context_state(self.device, &raw mut flags, &raw mut active)
        };
        asked.is_ok() && active != 0
    }

    /// Does something while this context is the calling thread's.
    pub(super) fn inside<T>(
        &self,
        work: impl FnOnce(&Driver) -> Result<T, Failure>,
    ) -> Result<T, DeviceError> {
        self.tried_inside(work)?
            .map_err(|failure| self.error(failure))
    }

    /// As [`Self::inside`], for work whose failure means something.
    pub(super) fn tried_inside<T>(
        &self,
        work: impl FnOnce(&Driver) -> Result<T, Failure>,
    ) -> Result<Result<T, Failure>, DeviceError> {
        let primary = self.primary()?;
        // SAFETY: the context is never released.
        unsafe { self.driver.context_push(primary) }.map_err(|failure| self.error(failure))?;
        let _entered = Entered(self.driver);
        Ok(work(self.driver))
    }
}

/// Puts the context back that was the thread's before, also if a panic passes by.
struct Entered(&'static Driver);

impl Drop for Entered {
    fn drop(&mut self) {
        let mut popped = Handle::NULL;
        // SAFETY: the driver writes one handle. If it fails, it does since it is shut down.
        let _ = unsafe { self.0.context_pop(&raw mut popped) };
    }
}
