//! What a place that holds data can do.

use crate::DeviceError;
use std::fmt::{self, Debug, Display};

/// What freshly allocated memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Anything; the first access must be a write.
    Uninitialised,
    /// Zero in every byte.
    Zeroed,
}

/// What drives a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// This process's own memory and cores.
    Host,
    /// An NVIDIA GPU, through the CUDA driver.
    Cuda,
    /// Host memory that behaves as that of a device.
    Simulated,
}

/// Which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId {
    /// What drives it.
    pub kind: Kind,
    /// Its number among those of its kind.
    pub index: usize,
}

impl DeviceId {
    /// The host.
    pub const HOST: Self = Self {
        kind: Kind::Host,
        index: 0,
    };
}

impl Display for DeviceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Host => formatter.write_str("cpu"),
            Kind::Cuda => write!(formatter, "cuda:{}", self.index),
            Kind::Simulated => write!(formatter, "simulated:{}", self.index),
        }
    }
}

/// A block of memory, which its device gets back when this is dropped.
pub trait Memory: Debug + Send + Sync {
    /// Address of the first byte, in the device's address space.
    fn pointer(&self) -> *mut u8;

    /// Length of the block.
    fn bytes(&self) -> usize;

    /// The device it was allocated by.
    fn device(&self) -> DeviceId;
}

/// A place that holds data.
pub trait Device: Debug + Send + Sync {
    /// Which device this is.
    fn id(&self) -> DeviceId;

    /// Name for people, such as that of the product.
    fn name(&self) -> &str;

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
}
