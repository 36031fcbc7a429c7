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
    #[error("{call} failed on device '{device}': {name} ({code}), {message}{}{}", advice(*code), launched(*code, kernels))]
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
        /// Kernels that were launched since all work was known to have gone well, in order: it may be of one of them.
        kernels: Vec<String>,
    },
    /// Work of a kernel failed.
    #[error("kernel '{kernel}' of {label}: {error}")]
    Kernel {
        /// Its name.
        kernel: String,
        /// What its code is of.
        label: String,
        /// What went wrong.
        error: Box<DeviceError>,
    },
    /// The driver refuses code.
    #[error(
        "device '{device}' cannot load the code of {label}: {error}{}",
        said(log)
    )]
    Code {
        /// What the code is of.
        label: String,
        /// The device.
        device: DeviceId,
        /// What went wrong.
        error: Box<DeviceError>,
        /// What the driver's compiler says.
        log: String,
    },
    /// Code that is not of the device's kind, or lacks a kernel.
    #[error("device '{device}' cannot load the code of {label}: {reason}")]
    NotCode {
        /// What the code is of.
        label: String,
        /// The device.
        device: DeviceId,
        /// What is wrong with it.
        reason: String,
    },
    /// A launch that the device cannot do.
    #[error("kernel '{kernel}' of {label} cannot be launched: {reason}")]
    Launch {
        /// Its name.
        kernel: String,
        /// What its code is of.
        label: String,
        /// Why not.
        reason: String,
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

impl DeviceError {
    /// The same error of the driver, with the kernels that may have caused it.
    pub(crate) fn after(mut self, launched: impl FnOnce() -> Vec<String>) -> Self {
        if let Self::Driver { code, kernels, .. } = &mut self
            && is_fatal(*code)
        {
            *kernels = launched();
        }
        self
    }
}

/// Whether the driver's documentation says of an error, by its number, that it leaves the process in a state in which any further
/// work returns the same error.
fn is_fatal(code: i32) -> bool {
    matches!(code, 700 | 702 | 710 | 714..=719)
}

/// What to do about an error of the driver.
fn advice(code: i32) -> &'static str {
    match is_fatal(code) {
        true => {
            "; earlier work on the device failed, the device is lost to this process, which has to be started anew"
        }
        false => "",
    }
}

/// Which kernels an error of the driver may be of.
fn launched(code: i32, kernels: &[String]) -> String {
    match is_fatal(code) && !kernels.is_empty() {
        true => format!("; launched last: {}", kernels.join(", ")),
        false => String::new(),
    }
}

/// What a compiler says, on lines of its own.
fn said(log: &str) -> String {
    match log.trim() {
        "" => String::new(),
        log => format!("\n{log}"),
    }
}
