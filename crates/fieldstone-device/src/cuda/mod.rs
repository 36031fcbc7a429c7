//! NVIDIA GPUs, through the CUDA driver, which is loaded when a GPU is first looked for.
//!
//! [`driver`] is the table of the driver's functions, [`context`] what a thread needs to call them for one device. Streams and
//! events are in [`queue`], memory is in [`memory`], kernels are in [`module`].
//!
//! Every call enters the device's primary context, which other libraries of the process use as well, and leaves it again: what
//! device a thread of theirs is set to does not change. Contexts are never released, and the driver is never unloaded, so that
//! memory can be given back at any time; what happens after the driver has shut down, or in a fork, is ignored.

mod context;
mod driver;
mod memory;
mod module;
mod queue;
#[cfg(test)]
mod signatures;

use std::any::Any;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

use crate::accelerator::{Counters, Event, Queue};
use crate::copies::{self, Copies};
use crate::kernel::{Code, Graph, Module, Node, Symbol};
use crate::{
    Accelerator, Capacity, Contents, Device, DeviceError, DeviceId, Kind, Limits, Memory,
    Properties, Rows, Stream, Transfers,
};
use context::Context;
use driver::{Driver, Failure, Handle, Memcpy2D, Side, attribute};

/// A GPU.
#[derive(Debug)]
pub(crate) struct Cuda {
    context: Arc<Context>,
    name: String,
    properties: Properties,
    /// The largest distance of rows that can be copied at once.
    max_pitch: usize,
    counters: Counters,
    copies: copies::Shared,
}

/// The GPUs of this machine, or why there are none.
pub(crate) fn find() -> Result<Vec<Cuda>, String> {
    let driver = Driver::get()?;
    let say = |failure: Failure| {
        format!("the CUDA driver works, but cannot tell about its devices: {failure}")
    };
    let count = driver.device_count().map_err(say)?;
    if count == 0 {
        return Err(driver::NO_DEVICE.to_owned());
    }
    (0..count)
        .map(|index| Cuda::new(driver, index).map_err(say))
        .collect()
}

impl Driver {
    fn device_count(&self) -> Result<usize, Failure> {
        let mut count = 0;
        // SAFETY: the driver writes one number.
        unsafe { self.device_get_count(&raw mut count)? };
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn attribute(&self, attribute: c_int, device: c_int) -> Result<c_int, Failure> {
        let mut value = 0;
        // SAFETY: the driver writes one number.
        unsafe { self.device_get_attribute(&raw mut value, attribute, device)? };
        Ok(value)
    }

    fn version(&self) -> Result<u32, Failure> {
        let mut version = 0;
        // SAFETY: the driver writes one number.
        unsafe { self.driver_version(&raw mut version)? };
        Ok(version.unsigned_abs())
    }

    fn device_name(&self, device: c_int) -> Result<String, Failure> {
        let mut name = [0 as c_char; 256];
        // One byte stays zero whatever the driver does.
        // SAFETY: the driver writes no more than it is told.
        unsafe { self.device_get_name(name.as_mut_ptr(), 255, device)? };
        // SAFETY: the array ends with zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        Ok(name.to_string_lossy().into_owned())
    }
}

impl Cuda {
    fn new(driver: &'static Driver, index: usize) -> Result<Self, Failure> {
        let ordinal = c_int::try_from(index).unwrap_or(c_int::MAX);
        let mut device = 0;
        // SAFETY: the driver writes one number.
        unsafe { driver.device_get(&raw mut device, ordinal)? };
        let number =
            |which| -> Result<u32, Failure> { Ok(driver.attribute(which, device)?.unsigned_abs()) };
        let has = |which| -> Result<bool, Failure> { Ok(driver.attribute(which, device)? != 0) };
        let properties = Properties {
            compute_capability: Some((
                number(attribute::COMPUTE_CAPABILITY_MAJOR)?,
                number(attribute::COMPUTE_CAPABILITY_MINOR)?,
            )),
            multiprocessors: Some(number(attribute::MULTIPROCESSOR_COUNT)?),
            unified_addressing: has(attribute::UNIFIED_ADDRESSING)?,
            managed_memory: has(attribute::MANAGED_MEMORY)?,
            concurrent_managed_access: has(attribute::CONCURRENT_MANAGED_ACCESS)?,
            driver: Some(driver.version()?),
            limits: Limits {
                warp: number(attribute::WARP_SIZE)?,
                threads_per_block: number(attribute::MAX_THREADS_PER_BLOCK)?,
                // Drivers older than CUDA 11 do not know these two; no GPU has fewer blocks or reserves more.
                blocks_per_multiprocessor: number(attribute::BLOCKS_PER_MULTIPROCESSOR)
                    .unwrap_or(16),
                shared_reserved_per_block: number(attribute::SHARED_RESERVED_PER_BLOCK)
                    .unwrap_or(1 << 10),
                threads_per_multiprocessor: number(attribute::MAX_THREADS_PER_MULTIPROCESSOR)?,
                registers_per_multiprocessor: number(attribute::REGISTERS_PER_MULTIPROCESSOR)?,
                shared_per_block: number(attribute::SHARED_PER_BLOCK)?,
                shared_per_block_optin: number(attribute::SHARED_PER_BLOCK_OPTIN)?,
                shared_per_multiprocessor: number(attribute::SHARED_PER_MULTIPROCESSOR)?,
            },
        };
        let id = DeviceId {
            kind: Kind::Cuda,
            index,
        };
        Ok(Self {
            context: Arc::new(Context::new(driver, id, device)),
            name: driver.device_name(device)?,
            properties,
            max_pitch: number(attribute::MAX_PITCH)? as usize,
            counters: Counters::default(),
            copies: copies::Shared::default(),
        })
    }

    /// Copies rows at once, or one by one if they lie too far apart for that.
    ///
    /// # Safety
    /// Both sides must be valid for the rows.
    unsafe fn copy_rows(
        &self,
        rows: Rows,
        source: Side,
        target: Side,
        stream: Stream,
        one: impl Fn(&Driver, usize) -> Result<(), Failure>,
    ) -> Result<(), DeviceError> {
        if rows.bytes == 0 || rows.count == 0 {
            return Ok(());
        }
        let copy = Memcpy2D {
            source,
            target,
            width: rows.bytes,
            height: rows.count,
        };
        self.inside(
            |driver| match rows.source_pitch.max(rows.target_pitch) <= self.max_pitch {
                // SAFETY: as the caller says.
                true => unsafe { driver.memcpy_2d(&raw const copy, handle(stream)) },
                false => (0..rows.count).try_for_each(|row| one(driver, row)),
            },
        )
    }

    /// Does something in the context of this device.
    fn inside<T>(
        &self,
        work: impl FnOnce(&Driver) -> Result<T, Failure>,
    ) -> Result<T, DeviceError> {
        self.context.inside(work)
    }
}

impl Device for Cuda {
    fn id(&self) -> DeviceId {
        self.context.id()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn allocate(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        memory::allocate(
            &self.context,
            memory::Space::Device,
            bytes,
            alignment,
            contents,
        )
    }
}

impl Accelerator for Cuda {
    fn allocate_pinned(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        memory::allocate(
            &self.context,
            memory::Space::Pinned,
            bytes,
            alignment,
            contents,
        )
    }

    fn allocate_managed(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        if !self.properties.managed_memory {
            let device = self.id();
            return Err(DeviceError::NoManagedMemory { device });
        }
        memory::allocate(
            &self.context,
            memory::Space::Managed,
            bytes,
            alignment,
            contents,
        )
    }

    unsafe fn upload(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        if bytes > 0 {
            // SAFETY: the caller vouches for both; the driver checks that the target is a device's.
            self.inside(|driver| unsafe {
                driver.memcpy_to_device(address(target), source.cast(), bytes, handle(stream))
            })?;
        }
        self.counters.upload(bytes);
        Ok(())
    }

    unsafe fn download(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        if bytes > 0 {
            // SAFETY: the caller vouches for both; the driver checks that the source is a device's.
            self.inside(|driver| unsafe {
                driver.memcpy_to_host(target.cast(), address(source), bytes, handle(stream))
            })?;
        }
        self.counters.download(bytes);
        Ok(())
    }

    unsafe fn upload_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let to_device = |driver: &Driver, row: usize| {
            let (from, to) = (
                source.wrapping_add(row * rows.source_pitch),
                target.wrapping_add(row * rows.target_pitch),
            );
            // SAFETY: the caller vouches for both; the driver checks that the target is a device's.
            unsafe { driver.memcpy_to_device(address(to), from.cast(), rows.bytes, handle(stream)) }
        };
        let from = Side::of_host(source.cast_mut().cast(), rows.source_pitch);
        let to = Side::of_device(address(target), rows.target_pitch);
        // SAFETY: as the caller says.
        unsafe { self.copy_rows(rows, from, to, stream, to_device)? };
        self.counters.upload(rows.bytes * rows.count);
        Ok(())
    }

    unsafe fn download_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let to_host = |driver: &Driver, row: usize| {
            let (from, to) = (
                source.wrapping_add(row * rows.source_pitch),
                target.wrapping_add(row * rows.target_pitch),
            );
            // SAFETY: the caller vouches for both; the driver checks that the source is a device's.
            unsafe { driver.memcpy_to_host(to.cast(), address(from), rows.bytes, handle(stream)) }
        };
        let from = Side::of_device(address(source), rows.source_pitch);
        let to = Side::of_host(target.cast(), rows.target_pitch);
        // SAFETY: as the caller says.
        unsafe { self.copy_rows(rows, from, to, stream, to_host)? };
        self.counters.download(rows.bytes * rows.count);
        Ok(())
    }

    unsafe fn copy(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller vouches for both; the driver checks that they are a device's.
        self.inside(|driver| unsafe {
            driver.memcpy_on_device(address(target), address(source), bytes, handle(stream))
        })
    }

    unsafe fn copy_to_peer(
        &self,
        source: *const u8,
        peer: &dyn Accelerator,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let any: &dyn Any = peer;
        let Some(other) = any.downcast_ref::<Self>() else {
            return Err(DeviceError::Peers {
                source_device: self.id(),
                target_device: peer.id(),
            });
        };
        if bytes == 0 {
            return Ok(());
        }
        let (from, to) = (self.context.primary()?, other.context.primary()?);
        // SAFETY: the caller vouches for both; the contexts are those of the two devices.
        self.inside(|driver| unsafe {
            driver.memcpy_to_peer(
                address(target),
                to,
                address(source),
                from,
                bytes,
                handle(stream),
            )
        })
    }

    unsafe fn fill(
        &self,
        target: *mut u8,
        value: u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller vouches for the target.
        self.inside(|driver| unsafe {
            driver.memset(address(target), value, bytes, handle(stream))
        })
    }

    fn assemble(&self, label: &str, ptx: &str) -> Result<Vec<u8>, DeviceError> {
        module::assemble(&self.context, label, ptx)
    }

    fn load(
        &self,
        label: &str,
        code: Code<'_>,
        kernels: &[Symbol<'_>],
    ) -> Result<Box<dyn Module>, DeviceError> {
        match code {
            Code::Image(code) => module::load(&self.context, label, code, kernels),
            Code::Functions(..) => Err(DeviceError::NotCode {
                label: label.to_owned(),
                device: self.id(),
                reason: format!("a GPU takes PTX, not {}", code.kind()),
            }),
        }
    }

    unsafe fn graph(&self, nodes: &[Node<'_>]) -> Result<Box<dyn Graph>, DeviceError> {
        // SAFETY: as the caller says.
        unsafe { module::graph(&self.context, nodes) }
    }

    fn synchronize(&self, stream: Stream) -> Result<(), DeviceError> {
        // SAFETY: the number is that of a stream, as its type says.
        self.inside(|driver| unsafe { driver.stream_synchronize(handle(stream)) })
    }

    fn synchronize_all(&self) -> Result<(), DeviceError> {
        // SAFETY: a context is current.
        self.inside(|driver| unsafe { driver.context_synchronize() })?;
        self.context.all_done();
        Ok(())
    }

    fn create_stream(&self) -> Result<Box<dyn Queue>, DeviceError> {
        queue::stream(&self.context, 0)
    }

    fn copies(&self) -> Result<Arc<Copies>, DeviceError> {
        let context = Arc::clone(&self.context);
        self.copies.get(
            || queue::stream(&self.context, driver::NON_BLOCKING),
            move || queue::event(&context, driver::WITHOUT_TIME),
        )
    }

    fn waits_for_default(&self, stream: Stream) -> Result<bool, DeviceError> {
        if stream.0 <= Stream::OF_THREAD.0 {
            return Ok(true);
        }
        let mut flags = 0;
        // SAFETY: the number is that of a stream, as its type says; the driver writes one number.
        self.inside(|driver| unsafe { driver.stream_flags(handle(stream), &raw mut flags) })?;
        Ok(flags & driver::NON_BLOCKING == 0)
    }

    fn create_event(&self) -> Result<Box<dyn Event>, DeviceError> {
        queue::event(&self.context, 0)
    }

    fn reachable(&self, _pointer: *mut u8) -> Option<*mut u8> {
        None
    }

    fn owns(&self, pointer: *const u8) -> bool {
        memory::owns(&self.context, address(pointer))
    }

    fn transfers(&self) -> Transfers {
        self.counters.read()
    }

    fn reset_transfers(&self) {
        self.counters.reset();
    }

    fn capacity(&self) -> Result<Capacity, DeviceError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the driver writes two numbers.
        self.inside(|driver| unsafe { driver.memory_info(&raw mut free, &raw mut total) })?;
        Ok(Capacity { total, free })
    }

    fn properties(&self) -> Properties {
        self.properties
    }
}

/// An address as the driver takes it.
fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// A stream as the driver takes it.
fn handle(stream: Stream) -> Handle {
    Handle::of(stream.0)
}
