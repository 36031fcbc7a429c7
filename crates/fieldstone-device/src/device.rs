//! What a place that holds data can do.

use crate::DeviceError;
use std::fmt::Debug;

/// What freshly allocated memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Anything; the first access must be a write.
    Uninitialised,
    /// Zero in every byte.
    Zeroed,
}

/// A block of a device's memory, which it returns when dropped.
pub trait Memory: Debug + Send + Sync {
    /// Address of the first byte, in the device's address space.
    fn pointer(&self) -> *mut u8;

    /// Length of the block.
    fn bytes(&self) -> usize;

    /// Name of the device that holds it.
    fn device(&self) -> &'static str;
}

/// A place that holds data.
pub trait Device: Debug + Send + Sync {
    /// Name of the device, such as `cpu`.
    fn name(&self) -> &'static str;

    /// Allocates `bytes` bytes whose first address is a multiple of `alignment`, a power of two.
    ///
    /// # Errors
    /// If `alignment` is no power of two, or the device has not that much memory.
    fn allocate(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError>;

    /// Sets `bytes` bytes from `target` on to `value`.
    ///
    /// # Safety
    /// `target` must be valid for writes of `bytes` bytes of this device's memory, and nobody else may access them meanwhile.
    unsafe fn fill(&self, target: *mut u8, value: u8, bytes: usize);

    /// Copies `bytes` bytes within this device.
    ///
    /// # Safety
    /// `source` must be valid for reads and `target` for writes of `bytes` bytes of this device's memory, the two must not
    /// overlap, and nobody else may write to either or read `target` meanwhile.
    unsafe fn copy(&self, source: *const u8, target: *mut u8, bytes: usize);
}
