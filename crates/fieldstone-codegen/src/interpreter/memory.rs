//! Memory as large as a domain, which may be more than there is.

use fieldstone_device::{DeviceError, DeviceId};

/// Memory for so many elements; an error where there is not enough.
pub(super) fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>, DeviceError> {
    let mut memory = room(count)?;
    memory.resize(count, T::default());
    Ok(memory)
}

/// The values of an iterator that has so many of them.
pub(super) fn collected<T>(
    count: usize,
    values: impl Iterator<Item = T>,
) -> Result<Vec<T>, DeviceError> {
    let mut memory = room(count)?;
    memory.extend(values.take(count));
    Ok(memory)
}

fn room<T>(count: usize) -> Result<Vec<T>, DeviceError> {
    let mut memory = Vec::new();
    let found = memory.try_reserve_exact(count);
    found.map_err(|_| DeviceError::OutOfMemory {
        bytes: count.saturating_mul(size_of::<T>()),
        alignment: align_of::<T>(),
        device: DeviceId::HOST,
    })?;
    Ok(memory)
}
