//! Kernels: code for a device, and what it is launched with.

use std::any::Any;
use std::fmt::{self, Debug};

use crate::{DeviceError, DeviceId, Stream};

/// Blocks `begin..end` of a kernel as a function of this process, with shared memory for one block.
///
/// Blocks are counted along the first axis of the grid, then the second, then the third.
pub type BlockFunction =
    unsafe extern "C" fn(words: *const u64, begin: i64, end: i64, shared: *mut u8);

/// Code as a device takes it.
pub enum Code<'a> {
    /// Text of PTX, or what [`Accelerator::assemble`](crate::Accelerator::assemble) made of it: for a GPU.
    Image(&'a [u8]),
    /// Functions of this process, one for each kernel, and what keeps them in memory: for a simulated device.
    Functions(Vec<BlockFunction>, Box<dyn Any + Send + Sync>),
}

impl Code<'_> {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Code::Image(_) => "PTX",
            Code::Functions(..) => "functions of the host",
        }
    }
}

impl Debug for Code<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind())
    }
}

/// A kernel to be found in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name there.
    pub name: &'a str,
    /// Bytes of shared memory that its launches ask for at most.
    pub shared_bytes: u32,
}

/// What a kernel takes of a GPU, by what its driver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Registers of each thread.
    pub registers: u32,
    /// Bytes of each thread in memory that registers were spilled to, or that arrays of its own are in.
    pub local_bytes: u32,
    /// Bytes of shared memory that every block has, beside what launches ask for.
    pub shared_bytes: u32,
    /// Threads that a block can have.
    pub max_threads: u32,
}

/// A word of a launch that is an address on the device, and the bytes from there that the kernel may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Which word. One that is zero is no address.
    pub word: usize,
    /// The first byte.
    pub low: isize,
    /// One past the last byte.
    pub high: isize,
}

/// What a kernel is launched with.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Which of the kernels of the module.
    pub kernel: usize,
    /// Blocks along each axis of the grid.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// Bytes of shared memory of each block.
    pub shared_bytes: u32,
    /// The one parameter, an array of words.
    pub words: &'a [u64],
    /// Which of them are addresses.
    pub addresses: &'a [Address],
}

impl Launch<'_> {
    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&count| u64::from(count)).product()
    }
}

/// Code in the memory of a device, which it leaves when this is dropped.
pub trait Module: Any + Debug + Send + Sync {
    /// The device.
    fn device(&self) -> DeviceId;

    /// What a kernel takes of the device, if that is a GPU.
    ///
    /// # Errors
    /// If the driver reports an error.
    fn resources(&self, kernel: usize) -> Result<Option<Resources>, DeviceError>;

    /// Puts a kernel into a stream.
    ///
    /// # Errors
    /// If the device cannot launch it so, or the driver reports an error, which may be one of earlier work.
    ///
    /// # Safety
    /// The kernel must take such words, and may access with them only memory of the device that stays until the stream is
    /// synchronised and that no other work accesses at the same time where the kernel writes.
    unsafe fn launch(&self, launch: &Launch<'_>, stream: Stream) -> Result<(), DeviceError>;
}

/// A piece of work as part of a graph.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// A kernel of a module.
    Launch(&'a dyn Module, Launch<'a>),
    /// Sets so many bytes from an address on to zero.
    Clear(*mut u8, usize),
}

impl Debug for Node<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(_, launch) => formatter.debug_tuple("Launch").field(launch).finish(),
            Self::Clear(target, bytes) => {
                let mut tuple = formatter.debug_tuple("Clear");
                tuple.field(target).field(bytes).finish()
            }
        }
    }
}

/// Work in order, given to a device once and repeated at the cost of one launch.
pub trait Graph: Debug + Send + Sync {
    /// Puts all of it into a stream, behind what this graph was launched for before.
    ///
    /// # Errors
    /// As [`Module::launch`].
    ///
    /// # Safety
    /// As [`Module::launch`], for each of them; the modules must be there still.
    unsafe fn launch(&self, stream: Stream) -> Result<(), DeviceError>;
}
