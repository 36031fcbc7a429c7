//! What can go wrong with memory, devices and threads.

use crate::DeviceId;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The system has no memory of this size to give.
    #[error("cannot allocate {bytes} bytes aligned to {alignment} on device '{device}'")]
    OutOfMemory {
        /// Bytes that were asked for.
        bytes: usize,
        /// Alignment that was asked for.
        alignment: usize,
        /// The device.
        device: DeviceId,
    },
    /// An alignment that is zero or no power of two.
    #[error("alignment is {alignment}, but the alignment of a memory block must be a power of two")]
    Alignment {
        /// The alignment that was asked for.
        alignment: usize,
    },
    /// There is no such device.
    #[error("there is no GPU {index}: {reason}")]
    NoDevice {
        /// The number that was asked for.
        index: usize,
        /// Why there is none, and what to do.
        reason: String,
    },
    /// The environment asks for devices that there are not.
    #[error(
        "environment variable FIELDSTONE_DEVICE is '{value}', expected 'sim' for a simulated device, 'sim:N' for N of them \
         (1 to {limit}), 'cuda' for the GPUs of the machine, or nothing, which means the same as 'cuda'"
    )]
    Choice {
        /// The value that was given.
        value: String,
        /// Largest number of simulated devices.
        limit: usize,
    },
    /// An address that is none of the device's memory.
    #[error(
        "{bytes} bytes at address {address:#x} are no memory of device '{device}'; they were freed, or belong elsewhere"
    )]
    Address {
        /// The first byte.
        address: usize,
        /// How many bytes were to be accessed.
        bytes: usize,
        /// The device.
        device: DeviceId,
    },
    /// A thread count that is no positive integer.
    #[error("{name} is '{value}', but a number of threads must be an integer from 1 to {limit}")]
    Threads {
        /// What names the thread count.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The largest number of threads.
        limit: usize,
    },
}
