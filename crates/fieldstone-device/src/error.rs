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
    /// A stream that is none of the device's.
    #[error(
        "stream {stream:#x} is none of device '{device}'; it was destroyed, or belongs elsewhere"
    )]
    Stream {
        /// Its number.
        stream: usize,
        /// The device.
        device: DeviceId,
    },
    /// An event that does not say when something was.
    #[error("{which} event {reason}, so that there is no time between the two")]
    Event {
        /// The earlier or the later one.
        which: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A copy between devices that cannot reach one another.
    #[error(
        "cannot copy from device '{source_device}' to '{target_device}': they are of different kinds; copy by way of the host"
    )]
    Peers {
        /// Where the data are.
        source_device: DeviceId,
        /// Where they should go.
        target_device: DeviceId,
    },
    /// A device without managed memory.
    #[error(
        "device '{device}' has no managed memory, that host and device reach at the same address; let host and device \
         have a copy each"
    )]
    NoManagedMemory {
        /// The device.
        device: DeviceId,
    },
    /// The driver was in use when the process was forked.
    #[error(
        "the CUDA driver was used before this process was forked, and cannot be used in the child; fork before the first use \
         of a GPU, or start processes by 'spawn' or 'forkserver'"
    )]
    Forked,
    /// The driver reports an error.
    #[error("{call} failed on device '{device}': {name} ({code}), {message}{}", advice(*code))]
    Driver {
        /// The function of the driver.
        call: &'static str,
        /// The device.
        device: DeviceId,
        /// Number of the error.
        code: i32,
        /// Its name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// What the driver says of it.
        message: String,
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

/// What to do about an error of the driver, by its number.
fn advice(code: i32) -> &'static str {
    match code {
        // The driver's documentation: these leave the process in a state in which any further work returns the same error.
        700 | 702 | 710 | 714..=719 => {
            "; earlier work on the device failed, the device is lost to this process, which has to be started anew"
        }
        _ => "",
    }
}
