//! Memory from the CUDA driver: of a device, of the host, and of both.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use super::context::Context;
use super::driver::{
    Driver, Failure, GLOBAL, Handle, MEMORY_OF_DEVICE, PORTABLE, pointer_attribute,
};
use crate::{Contents, DeviceError, DeviceId, Memory};

/// Who reaches a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// The device.
    Device,
    /// The host, whose memory the device reads and writes without a copy in between.
    Pinned,
    /// Both; the driver moves it.
    Managed,
}

/// Allocates `bytes` bytes whose first address is a multiple of `alignment`.
pub(super) fn allocate(
    context: &Arc<Context>,
    space: Space,
    bytes: usize,
    alignment: usize,
    contents: Contents,
) -> Result<Box<dyn Memory>, DeviceError> {
    if !alignment.is_power_of_two() {
        return Err(DeviceError::Alignment { alignment });
    }
    let block = Block::aligned(context, space, bytes, alignment)?;
    if contents == Contents::Zeroed && bytes > 0 {
        block.clear()?;
    }
    Ok(Box::new(block))
}

/// Whether an address is memory of a device, or managed memory allocated by it.
pub(super) fn owns(context: &Context, address: u64) -> bool {
    let known = |driver: &Driver| {
        let memory_type = told(driver, pointer_attribute::MEMORY_TYPE, address)?;
        let is_managed = told(driver, pointer_attribute::IS_MANAGED, address)? != 0;
        let ordinal = told(driver, pointer_attribute::DEVICE_ORDINAL, address)?;
        let is_here = usize::try_from(ordinal).is_ok_and(|ordinal| ordinal == context.id().index);
        Ok(is_here && (memory_type == MEMORY_OF_DEVICE || is_managed))
    };
    // Of an address that it does not know the driver says that it is invalid.
    context.is_active() && context.inside(known).unwrap_or(false)
}

/// What the driver knows of an address.
fn told(driver: &Driver, attribute: c_int, address: u64) -> Result<c_uint, Failure> {
    // More than the driver writes, whatever it takes a truth value for.
    let mut value = [0 as c_uint; 4];
    // SAFETY: the driver writes one number.
    unsafe { driver.pointer_attribute(value.as_mut_ptr().cast(), attribute, address)? };
    Ok(value[0])
}

/// A block of memory.
#[derive(Debug)]
struct Block {
    context: Arc<Context>,
    space: Space,
    /// What the driver gave, if the block is not empty.
    base: Option<*mut u8>,
    pointer: *mut u8,
    bytes: usize,
}

// SAFETY: the block belongs to this value alone; accesses through the pointer are for their authors to order.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn aligned(
        context: &Arc<Context>,
        space: Space,
        bytes: usize,
        alignment: usize,
    ) -> Result<Self, DeviceError> {
        let exhausted = || DeviceError::OutOfMemory {
            bytes,
            alignment,
            device: context.id(),
        };
        let block = |base: Option<*mut u8>, pointer| Self {
            context: Arc::clone(context),
            space,
            base,
            pointer,
            bytes,
        };
        if bytes == 0 {
            return Ok(block(None, ptr::without_provenance_mut(alignment)));
        }
        // No address space has more, and what the driver says of such a number is not documented.
        if isize::try_from(bytes).is_err() {
            return Err(exhausted());
        }
        let base = take(context, space, bytes)?.ok_or_else(exhausted)?;
        let exact = block(Some(base), base);
        if base.addr().is_multiple_of(alignment) {
            return Ok(exact);
        }
        // The driver's blocks begin at multiples of 256 bytes or more; who wants more yet gets it from a longer one.
        drop(exact);
        let longer = bytes.checked_add(alignment).ok_or_else(exhausted)?;
        let base = take(context, space, longer)?.ok_or_else(exhausted)?;
        let skip = base.addr().next_multiple_of(alignment) - base.addr();
        Ok(block(Some(base), base.wrapping_add(skip)))
    }

    /// Writes zeros, and waits for them: whoever accesses the block next may do so by any stream.
    fn clear(&self) -> Result<(), DeviceError> {
        if self.space == Space::Pinned {
            // SAFETY: the block is host memory of this length, which nobody else knows yet.
            unsafe { self.pointer.write_bytes(0, self.bytes) };
            return Ok(());
        }
        let address = super::address(self.pointer);
        // SAFETY: the block is the device's, of this length.
        self.context.inside(|driver| unsafe {
            driver.memset(address, 0, self.bytes, Handle::NULL)?;
            driver.stream_synchronize(Handle::NULL)
        })
    }
}

/// New memory from the driver; none if there is not enough.
fn take(context: &Context, space: Space, bytes: usize) -> Result<Option<*mut u8>, DeviceError> {
    let (mut address, mut pointer) = (0, ptr::null_mut());
    // SAFETY: the driver writes one address.
    let taken = context.tried_inside(|driver| unsafe {
        match space {
            Space::Device => driver.allocate(&raw mut address, bytes),
            Space::Pinned => driver.allocate_host(&raw mut pointer, bytes, PORTABLE),
            Space::Managed => driver.allocate_managed(&raw mut address, bytes, GLOBAL),
        }
    })?;
    match taken {
        Ok(()) if space == Space::Pinned => Ok(Some(pointer.cast())),
        Ok(()) => Ok(Some(ptr::with_exposed_provenance_mut(address as usize))),
        Err(failure) if failure.is_out_of_memory() => Ok(None),
        Err(failure) => Err(failure.on(context.id())),
    }
}

impl Memory for Block {
    fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn device(&self) -> DeviceId {
        match self.space {
            Space::Pinned => DeviceId::HOST,
            Space::Device | Space::Managed => self.context.id(),
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some(base) = self.base else {
            return;
        };
        // Fails in a fork and after the driver has shut down, when the memory is gone already.
        // SAFETY: the block came from the driver, and nothing refers to it any more.
        let _ = self.context.inside(|driver| unsafe {
            match self.space {
                Space::Device | Space::Managed => driver.free(super::address(base)),
                Space::Pinned => driver.free_host(base.cast::<c_void>()),
            }
        });
    }
}
