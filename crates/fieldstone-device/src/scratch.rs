//! Memory of a thread that is used again.

use std::cell::RefCell;

use crate::{Contents, DeviceError, HostMemory};

/// Memory as large as any that was asked for so far, for a `thread_local!`.
#[derive(Debug, Default)]
pub struct Scratch(RefCell<Option<HostMemory>>);

impl Scratch {
    /// None yet.
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// Calls `body` with at least so many bytes, which hold anything; a null pointer if that is none and there was never more.
    ///
    /// # Errors
    /// If memory cannot be had.
    ///
    /// # Panics
    /// If `body` asks for the same memory.
    pub fn with(
        &self,
        bytes: usize,
        alignment: usize,
        body: impl FnOnce(*mut u8),
    ) -> Result<(), DeviceError> {
        let mut memory = self.0.borrow_mut();
        let held = memory.as_ref().map_or(0, HostMemory::bytes);
        if held < bytes {
            // The old block first: both need not fit.
            *memory = None;
            *memory = Some(HostMemory::new(bytes, alignment, Contents::Uninitialised)?);
        }
        body(
            memory
                .as_ref()
                .map_or(std::ptr::null_mut(), HostMemory::pointer),
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn memory_grows_and_is_used_again() {
        let scratch = Scratch::new();
        let address = |bytes| {
            let mut found = 0;
            scratch
                .with(bytes, 256, |pointer| found = pointer.addr())
                .expect("there is memory");
            found
        };
        assert_eq!(address(0), 0);
        let first = address(1000);
        assert_eq!(first % 256, 0);
        assert_eq!(address(10), first);
        assert_ne!(address(1 << 20), 0);
    }
}
