//! Elements between host memory and a device's, whatever their strides.

use fieldstone_device::{Accelerator, Stream};

use crate::{Allocation, Spec, StorageError, View, copy};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host to the device.
    Up,
    /// From the device to the host.
    Down,
}

/// Copies bytes; they may still be under way when this returns.
///
/// # Safety
/// Both must be memory of this length, on the host and on the device, that nobody else accesses until the default stream is
/// synchronised.
pub(crate) unsafe fn bytes(
    accelerator: &dyn Accelerator,
    way: Way,
    host: *mut u8,
    device: *mut u8,
    bytes: usize,
) -> Result<(), StorageError> {
    // SAFETY: as the caller says.
    unsafe {
        match way {
            Way::Up => accelerator.upload(host, device, bytes, Stream::DEFAULT)?,
            Way::Down => accelerator.download(device, host, bytes, Stream::DEFAULT)?,
        }
    }
    Ok(())
}

/// A copy in host memory of everything from the first to the last element of a view of device memory, with its strides.
///
/// # Errors
/// If there is not enough memory, or the device reports an error.
///
/// # Safety
/// The view must be memory of the device that nobody writes to meanwhile.
pub unsafe fn fetched(accelerator: &dyn Accelerator, device: &View) -> Result<View, StorageError> {
    let bounds = device.bounds();
    let (_, block) = Allocation::new(&Spec::packed(Vec::from([bounds.len()]), 1))?;
    if bounds.is_empty() {
        return Ok(device.at_address(block.pointer(), block.owner().cloned()));
    }
    let first = device.pointer().with_addr(bounds.start);
    // SAFETY: the block is as long as what the view reaches, and nobody else knows it.
    unsafe { bytes(accelerator, Way::Down, block.pointer(), first, bounds.len())? };
    accelerator.synchronize(Stream::DEFAULT)?;
    let lead = device.pointer().addr() - bounds.start;
    Ok(device.at_address(block.pointer().wrapping_add(lead), block.owner().cloned()))
}

/// Copies all elements of `device` to `host`, which has the same shape, and nothing in between.
///
/// # Errors
/// If shapes or element sizes differ, there is not enough memory, or the device reports an error.
///
/// # Safety
/// Both must be memory of the device and of the host, and nobody else may access them meanwhile.
pub unsafe fn download(
    accelerator: &dyn Accelerator,
    device: &View,
    host: &View,
) -> Result<(), StorageError> {
    // SAFETY: as the caller says.
    unsafe {
        let between = fetched(accelerator, device)?;
        copy(&between, host, threads())
    }
}

/// Copies all elements of `host` to `device`, which has the same shape, and nothing in between.
///
/// # Errors
/// As [`download`].
///
/// # Safety
/// As [`download`].
pub unsafe fn upload(
    accelerator: &dyn Accelerator,
    host: &View,
    device: &View,
) -> Result<(), StorageError> {
    if device.is_empty() && host.shape() == device.shape() {
        return Ok(());
    }
    // SAFETY: as the caller says. What lies between the elements comes back as it was.
    unsafe {
        let between = fetched(accelerator, device)?;
        copy(host, &between, threads())?;
        let bounds = device.bounds();
        let first = device.pointer().with_addr(bounds.start);
        let from = between.pointer().with_addr(between.bounds().start);
        bytes(accelerator, Way::Up, from, first, bounds.len())?;
    }
    accelerator.synchronize(Stream::DEFAULT)?;
    Ok(())
}

fn threads() -> usize {
    fieldstone_device::Pool::global().threads()
}
