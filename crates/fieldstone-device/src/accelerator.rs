//! What a device with memory of its own can do beside holding data.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::copies::Copies;
use crate::kernel::{Code, Graph, Module, Node, Symbol};
use crate::{Contents, Device, DeviceError, DeviceId, Memory};

/// A queue of work on a device, by the number that the array interfaces exchange: what is put into one queue is done in
/// order.
///
/// The numbers are those of CUDA: 0 and 1 are the default stream, 2 the default stream of the thread, others are handles, of a
/// [`Queue`] or of another library. A number that is neither crashes the driver; a simulated device refuses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stream(pub usize);

impl Stream {
    /// The stream that waits for all others, and for which all others wait.
    pub const DEFAULT: Self = Self(0);

    /// The stream of the calling thread.
    pub const OF_THREAD: Self = Self(2);
}

/// A stream of one's own, which the device gets back when this is dropped; work that is still in it is done nevertheless.
///
/// The default stream waits for it, and it for the default stream.
pub trait Queue: Debug + Send + Sync {
    /// The number by which to put work into it.
    fn stream(&self) -> Stream;
}

/// A point in the work of a device: where a stream was when the event was last recorded.
pub trait Event: Any + Debug + Send + Sync {
    /// The device whose streams it is recorded in.
    fn device(&self) -> DeviceId;

    /// Takes the place where a stream is now.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn record(&self, stream: Stream) -> Result<(), DeviceError>;

    /// Whether all work before that place is done; there is none before the first [`Self::record`].
    ///
    /// # Errors
    /// If the driver reports an error, of that work perhaps.
    fn is_done(&self) -> Result<bool, DeviceError>;

    /// Waits until all work before that place is done.
    ///
    /// # Errors
    /// As [`Self::is_done`].
    fn synchronize(&self) -> Result<(), DeviceError>;

    /// Lets what is put into a stream of the device from now on wait for that place.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn hold(&self, stream: Stream) -> Result<(), DeviceError>;

    /// Milliseconds from the place of an earlier event of the same device to that of this one.
    ///
    /// # Errors
    /// If either was not recorded, is not done, or is of another device.
    fn milliseconds_since(&self, earlier: &dyn Event) -> Result<f64, DeviceError>;
}

/// A device with memory of its own.
///
/// Functions with a stream may return before the work is done: what they access must stay as it is until the stream has been
/// synchronised.
pub trait Accelerator: Any + Device {
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

    /// Copies rows of bytes from host memory to this device, as one transfer.
    ///
    /// # Errors
    /// As [`Self::upload`].
    ///
    /// # Safety
    /// As [`Self::upload`], for every row.
    unsafe fn upload_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
        stream: Stream,
    ) -> Result<(), DeviceError>;

    /// Copies rows of bytes from this device to host memory, as one transfer.
    ///
    /// # Errors
    /// As [`Self::upload`].
    ///
    /// # Safety
    /// As [`Self::download`], for every row.
    unsafe fn download_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
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

    /// Copies from this device to another one of the same kind, by a stream of this one.
    ///
    /// # Errors
    /// As [`Self::upload`], and if the other device is of another kind.
    ///
    /// # Safety
    /// As [`Self::copy`], with the target an address of the other device.
    unsafe fn copy_to_peer(
        &self,
        source: *const u8,
        peer: &dyn Accelerator,
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

    /// Machine code of PTX for this device, which [`Self::load`] takes as well, and faster.
    ///
    /// # Errors
    /// If the device takes no PTX, or its driver refuses this one; what the driver says of it is part of the error.
    fn assemble(&self, label: &str, ptx: &str) -> Result<Vec<u8>, DeviceError>;

    /// Loads code. `label` says in errors what it is of, such as `stencil 'lap'`.
    ///
    /// # Errors
    /// If it is no code of this device, has not all of the kernels, or one cannot have that much shared memory.
    fn load(
        &self,
        label: &str,
        code: Code<'_>,
        kernels: &[Symbol<'_>],
    ) -> Result<Box<dyn Module>, DeviceError>;

    /// Makes one piece of work of several, which are done in order.
    ///
    /// # Errors
    /// As [`Module::launch`].
    ///
    /// # Safety
    /// As [`Module::launch`], whenever the graph is launched.
    unsafe fn graph(&self, nodes: &[Node<'_>]) -> Result<Box<dyn Graph>, DeviceError>;

    /// Waits until all work of a stream is done.
    ///
    /// # Errors
    /// If the driver reports an error, of that work perhaps.
    fn synchronize(&self, stream: Stream) -> Result<(), DeviceError>;

    /// Waits until all work of all streams is done.
    ///
    /// # Errors
    /// As [`Self::synchronize`].
    fn synchronize_all(&self) -> Result<(), DeviceError>;

    /// Makes a new stream.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn create_stream(&self) -> Result<Box<dyn Queue>, DeviceError>;

    /// The streams in which memory is moved beside the default stream, the same ones for all who have them at a time.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn copies(&self) -> Result<Arc<Copies>, DeviceError>;

    /// Whether a stream and the default stream wait for each other; one that others made, or that is of [`Self::copies`], need not.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn waits_for_default(&self, stream: Stream) -> Result<bool, DeviceError>;

    /// Makes a new event.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn create_event(&self) -> Result<Box<dyn Event>, DeviceError>;

    /// Where this process reaches the byte at an address of the device: for a simulated one, whose kernels run here.
    ///
    /// A kernel that runs now comes after all work that was given to the device before, as it would in the default stream.
    fn reachable(&self, pointer: *mut u8) -> Option<*mut u8>;

    /// Whether an address lies in memory of this device, or in managed memory that it allocated.
    fn owns(&self, pointer: *const u8) -> bool;

    /// What has been moved since the device was found, or since [`Self::reset_transfers`].
    fn transfers(&self) -> Transfers;

    /// Counts transfers from nothing again.
    fn reset_transfers(&self);

    /// How much memory there is.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn capacity(&self) -> Result<Capacity, DeviceError>;

    /// What the device can do.
    fn properties(&self) -> Properties;
}

/// Rows of bytes at regular distances; these are not less than the bytes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Bytes of each row.
    pub bytes: usize,
    /// How many rows.
    pub count: usize,
    /// Bytes from one row to the next in the source.
    pub source_pitch: usize,
    /// Bytes from one row to the next in the target.
    pub target_pitch: usize,
}

impl Rows {
    /// One row.
    pub(crate) fn one(bytes: usize) -> Self {
        Self {
            bytes,
            count: 1,
            source_pitch: bytes,
            target_pitch: bytes,
        }
    }

    /// The same rows, of a source in which they follow one another.
    pub(crate) fn of_dense(self) -> Self {
        Self {
            source_pitch: self.bytes,
            ..self
        }
    }

    /// Bytes from the first of the source to its last.
    pub fn source_reach(&self) -> usize {
        self.count.saturating_sub(1) * self.source_pitch + self.bytes
    }

    /// Bytes from the first of the target to its last.
    pub fn target_reach(&self) -> usize {
        self.count.saturating_sub(1) * self.target_pitch + self.bytes
    }

    /// Copies the rows within memory of this process.
    ///
    /// # Safety
    /// Every row of the source must be valid for reads, of the target for writes, and they must not overlap.
    pub(crate) unsafe fn copy(&self, source: *const u8, target: *mut u8) {
        for row in 0..self.count {
            // SAFETY: as the caller says.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    source.add(row * self.source_pitch),
                    target.add(row * self.target_pitch),
                    self.bytes,
                );
            }
        }
    }
}

/// The memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// All of it.
    pub total: usize,
    /// What nobody uses, other programs included.
    pub free: usize,
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Version of its instruction set, major and minor, if it is a GPU.
    pub compute_capability: Option<(u32, u32)>,
    /// Number of its multiprocessors, if it is a GPU.
    pub multiprocessors: Option<u32>,
    /// Whether host and device addresses are never the same.
    pub unified_addressing: bool,
    /// Whether it can allocate memory that host and device reach at the same address.
    pub managed_memory: bool,
    /// Whether the host may access such memory while the device works.
    pub concurrent_managed_access: bool,
    /// Version of the driver, as that numbers it, if there is one.
    pub driver: Option<u32>,
    /// What blocks of threads may take.
    pub limits: Limits,
}

/// What blocks of threads may take of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads that go together.
    pub warp: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks on a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Threads of all blocks on a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Registers of all threads on a multiprocessor, of 32 bits.
    pub registers_per_multiprocessor: u32,
    /// Bytes of shared memory of a block.
    pub shared_per_block: u32,
    /// The same for a kernel that asks for more when it is loaded.
    pub shared_per_block_optin: u32,
    /// Bytes of shared memory of all blocks on a multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// Those that a block takes of them beside its own.
    pub shared_reserved_per_block: u32,
}

/// How much was moved between the host and a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

/// Counts transfers, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    uploads: AtomicUsize,
    uploaded_bytes: AtomicUsize,
    downloads: AtomicUsize,
    downloaded_bytes: AtomicUsize,
}

impl Counters {
    pub(crate) fn upload(&self, bytes: usize) {
        self.uploads.fetch_add(1, Ordering::Relaxed);
        self.uploaded_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn download(&self, bytes: usize) {
        self.downloads.fetch_add(1, Ordering::Relaxed);
        self.downloaded_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Transfers {
        Transfers {
            uploads: self.uploads.load(Ordering::Relaxed),
            uploaded_bytes: self.uploaded_bytes.load(Ordering::Relaxed),
            downloads: self.downloads.load(Ordering::Relaxed),
            downloaded_bytes: self.downloaded_bytes.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn reset(&self) {
        for counter in [
            &self.uploads,
            &self.uploaded_bytes,
            &self.downloads,
            &self.downloaded_bytes,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}
