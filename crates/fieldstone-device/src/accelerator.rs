//! What a device with memory of its own can do beside holding data.

use crate::{Contents, Device, DeviceError, Memory};

/// A queue of work on a device, by the number that the array interfaces exchange: what is put into one queue is done in
/// order.
///
/// The numbers are those of CUDA: 0 and 1 are the default stream, 2 the default stream of the thread, others are handles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stream(pub usize);

impl Stream {
    /// The stream that waits for all others, and for which all others wait.
    pub const DEFAULT: Self = Self(0);
}

/// A device with memory of its own.
///
/// Functions with a stream may return before the work is done: what they access must stay as it is until the stream has been
/// synchronised.
pub trait Accelerator: Device {
    /// Allocates host memory that the device reads and writes fastest.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    fn allocate_pinned(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError>;

    /// Allocates memory that host and device reach at the same address; the driver moves it between them.
    ///
    /// # Errors
    /// As [`Device::allocate`], and if the device cannot do that.
    fn allocate_managed(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError>;

    /// Copies from host memory to this device.
    ///
    /// # Errors
    /// If the target is no memory of this device, or the driver reports an error, which may be one of earlier work.
    ///
    /// # Safety
    /// `source` must be valid for reads of `bytes` bytes of host memory, and `target` an address of this device for writes;
    /// nobody may write to either until the stream is synchronised.
    unsafe fn upload(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError>;

    /// Copies from this device to host memory.
    ///
    /// # Errors
    /// As [`Self::upload`].
    ///
    /// # Safety
    /// As [`Self::upload`], with source and target exchanged.
    unsafe fn download(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError>;

    /// Copies within this device.
    ///
    /// # Errors
    /// As [`Self::upload`].
    ///
    /// # Safety
    /// Both must be addresses of this device, valid for `bytes` bytes, which must not overlap; nobody may write to either
    /// until the stream is synchronised.
    unsafe fn copy(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError>;

    /// Sets every byte to `value`.
    ///
    /// # Errors
    /// As [`Self::upload`].
    ///
    /// # Safety
    /// `target` must be an address of this device, valid for writes of `bytes` bytes, and nobody else may access them until
    /// the stream is synchronised.
    unsafe fn fill(
        &self,
        target: *mut u8,
        value: u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError>;

    /// Waits until all work of a stream is done.
    ///
    /// # Errors
    /// If the driver reports an error, of that work perhaps.
    fn synchronize(&self, stream: Stream) -> Result<(), DeviceError>;

    /// Where this process reaches the byte at an address of the device: for a simulated one, whose kernels run here.
    fn reachable(&self, pointer: *mut u8) -> Option<*mut u8>;

    /// Whether an address lies in memory of this device.
    fn owns(&self, pointer: *const u8) -> bool;

    /// What has been moved so far.
    fn transfers(&self) -> Transfers;
}

/// How much was moved between the host and a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Copies from the host to the device.
    pub uploads: usize,
    /// Bytes they moved.
    pub uploaded_bytes: usize,
    /// Copies from the device to the host.
    pub downloads: usize,
    /// Bytes they moved.
    pub downloaded_bytes: usize,
}
