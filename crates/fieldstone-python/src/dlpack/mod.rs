//! DLPack: its structures as the C header of version 1 has them, and the types of elements they name.
//!
//! Memory goes out as a [`Loan`] and comes in as a [`Borrowed`].
mod borrowed;
mod loan;

use std::ffi::{CStr, c_void};
use std::fmt::{self, Display, Formatter};

use fieldstone_device::{Accelerator, DeviceId, Kind};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;

pub use self::borrowed::{Borrowed, Fault};
pub use self::loan::Loan;

/// The version that is spoken; later ones with the same major number only add kinds of devices and of elements.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// Set where the memory must not be written.
pub const READ_ONLY: u64 = 1;

/// Set where the memory is a copy made for the consumer.
pub const IS_COPIED: u64 = 1 << 1;

/// `DLPackVersion`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Other numbers mean another structure.
    pub major: u32,
    /// Higher numbers mean more constants.
    pub minor: u32,
}

/// `DLDevice`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// `DLDeviceType`
    pub kind: i32,
    /// Number among the devices of its kind.
    pub id: i32,
}

/// Memory of the host.
pub const HOST: Device = Device { kind: 1, id: 0 };

impl Device {
    /// A GPU of CUDA's.
    pub fn cuda(id: i32) -> Self {
        Device { kind: 2, id }
    }

    /// What DLPack calls an accelerator. A simulated one is no GPU, but an extension that only we know.
    pub fn of(accelerator: &dyn Accelerator) -> Self {
        let DeviceId { kind, index } = accelerator.id();
        let kind = match kind {
            Kind::Host => return HOST,
            Kind::Cuda => 2,
            Kind::Simulated => 12,
        };
        Device {
            kind,
            id: index as i32,
        }
    }

    /// Memory that CUDA moves between the host and this device.
    pub fn managed(self) -> Self {
        Device {
            kind: 13,
            id: self.id,
        }
    }

    /// Whether CUDA moves the memory between host and device.
    pub fn is_managed(self) -> bool {
        self.kind == 13
    }

    /// Whether the host can access the memory: its own, what CUDA or ROCm has pinned, and what CUDA moves by itself.
    pub fn is_host(self) -> bool {
        matches!(self.kind, 1 | 3 | 11 | 13)
    }
}

impl Display for Device {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "device ({}, {}) of DLPack", self.kind, self.id)
    }
}

/// `DLDataType`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// `DLDataTypeCode`
    pub code: u8,
    /// Bits of a number.
    pub bits: u8,
    /// Numbers of an element.
    pub lanes: u16,
}

/// Codes of kinds of numbers beside the letters by which NumPy calls these.
const KINDS: [(u8, u8); 5] = [(0, b'i'), (1, b'u'), (2, b'f'), (5, b'c'), (6, b'b')];

impl DataType {
    /// The type of NumPy's elements, where there is one.
    pub fn of(dtype: &Bound<'_, PyArrayDescr>) -> Option<Self> {
        let kind = dtype.kind();
        let (code, _) = KINDS.into_iter().find(|(_, letter)| *letter == kind)?;
        let bits = u8::try_from(8 * dtype.itemsize()).ok()?;
        let found = Self {
            code,
            bits,
            lanes: 1,
        };
        found.kind().map(|_| found)
    }

    /// The letter by which NumPy calls the kind, if it has numbers of this kind and width.
    fn kind(self) -> Option<u8> {
        let (_, kind) = KINDS.into_iter().find(|(code, _)| *code == self.code)?;
        let widths: &[u8] = match kind {
            b'f' => &[16, 32, 64],
            b'c' => &[64, 128],
            b'b' => &[8],
            _ => &[8, 16, 32, 64],
        };
        (self.lanes == 1 && widths.contains(&self.bits)).then_some(kind)
    }

    /// NumPy's name of the type, where it has one.
    pub fn name(self) -> Option<String> {
        let kind = char::from(self.kind()?);
        Some(format!("{kind}{}", self.bits / 8))
    }
}

/// `DLTensor`
#[repr(C)]
pub struct Tensor {
    /// Start of the memory; null without elements.
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: Device,
    /// Number of axes.
    pub ndim: i32,
    /// Type of the elements.
    pub dtype: DataType,
    /// Size of each axis.
    pub shape: *mut i64,
    /// Elements from one index to the next, per axis; null for C's order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, in a capsule called `dltensor`.
#[repr(C)]
pub struct Legacy {
    /// The memory.
    pub tensor: Tensor,
    /// The producer's own.
    pub context: *mut c_void,
    /// To be called when the memory is no longer needed.
    pub deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

/// `DLManagedTensorVersioned`, in a capsule called `dltensor_versioned`.
#[repr(C)]
pub struct Versioned {
    /// To be looked at before all else.
    pub version: Version,
    /// The producer's own.
    pub context: *mut c_void,
    /// To be called when the memory is no longer needed.
    pub deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    /// [`READ_ONLY`], [`IS_COPIED`]
    pub flags: u64,
    /// The memory.
    pub tensor: Tensor,
}

/// One of the two structures in which a tensor is handed over.
pub trait Managed: Sized {
    /// Name of a capsule that nobody has taken the tensor of yet.
    const NAME: &'static CStr;
    /// Name of the capsule afterwards.
    const USED: &'static CStr;

    /// The structure of a producer that frees it by `deleter`.
    fn new(tensor: Tensor, flags: u64, deleter: unsafe extern "C" fn(*mut Self)) -> Self;

    /// The memory.
    fn tensor(&mut self) -> &mut Tensor;

    /// What is to be called when the memory is no longer needed.
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;

    /// What the producer says of the memory.
    fn flags(&self) -> u64;
}

impl Managed for Legacy {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(tensor: Tensor, _flags: u64, deleter: unsafe extern "C" fn(*mut Self)) -> Self {
        Legacy {
            tensor,
            context: std::ptr::null_mut(),
            deleter: Some(deleter),
        }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    /// The structure has no room for flags. Its consumers have always had to take it for read-only where they must be sure.
    fn flags(&self) -> u64 {
        READ_ONLY
    }
}

impl Managed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(tensor: Tensor, flags: u64, deleter: unsafe extern "C" fn(*mut Self)) -> Self {
        Versioned {
            version: VERSION,
            context: std::ptr::null_mut(),
            deleter: Some(deleter),
            flags,
            tensor,
        }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }

    fn flags(&self) -> u64 {
        self.flags
    }
}

/// Returns a tensor to its producer.
///
/// # Safety
///
/// `managed` is a producer's tensor that has not been returned, and nothing uses its memory any more.
pub unsafe fn release<M: Managed>(managed: *mut M) {
    // SAFETY: the structure is there until its deleter is called.
    unsafe {
        if let Some(deleter) = (*managed).deleter() {
            deleter(managed);
        }
    }
}
