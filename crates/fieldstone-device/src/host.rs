//! The host: memory of this process.

use crate::colour::{self, Apart};
use crate::mapping::{HUGE_PAGE, Mapping};
use crate::{Contents, Device, DeviceError, DeviceId, Memory, Pool};
use std::ptr::{self, NonNull};

/// Blocks from this size on are mapped by themselves, with advice to use huge pages; NumPy draws the line here too.
const LARGE: usize = 4 << 20;

/// Zeros from this size on are left to `calloc`, which knows which memory is zero already, but takes its time to find out.
const LAZY: usize = 64 << 10;

/// `malloc` aligns to this.
const HEAP_ALIGNMENT: usize = 16;

/// Threads that clear a block take pieces of this size.
const PIECE: usize = 256 << 10;

/// The memory of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

impl Device for Host {
    fn id(&self) -> DeviceId {
        DeviceId::HOST
    }

    fn name(&self) -> &str {
        "host"
    }

    fn allocate(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        Ok(Box::new(HostMemory::new(bytes, alignment, contents)?))
    }
}

/// An aligned block of host memory, freed when dropped.
///
/// Large blocks come straight from the system, or from what earlier ones have left: zeros cost nothing until they are touched,
/// or are written by all cores to pages that exist already, and huge pages are asked for.
/// Such blocks do not all begin at the same place within a page, since equal indices of several fields would then compete
/// for the same cache sets, and loads wait for stores to another field.
#[derive(Debug)]
pub struct HostMemory {
    pointer: NonNull<u8>,
    bytes: usize,
    origin: Origin,
    may_be_used: bool,
}

/// Where a block came from, hence how it is freed.
#[derive(Debug)]
enum Origin {
    /// No memory at all.
    Nothing,
    /// The C library.
    Heap { start: NonNull<u8> },
    /// The system; the pages go when this is dropped.
    Mapped { _pages: Mapping },
}

// SAFETY: the block belongs to this value alone, and the value has no interior of its own to share.
unsafe impl Send for HostMemory {}
// SAFETY: as above; accesses through the pointer are for their authors to order.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Allocates `bytes` bytes whose first address is a multiple of `alignment`, a power of two.
    ///
    /// # Errors
    /// If `alignment` is no power of two, or the system has not that much memory.
    pub fn new(bytes: usize, alignment: usize, contents: Contents) -> Result<Self, DeviceError> {
        Self::of_rows(bytes, alignment, contents, Apart::default())
    }

    /// The same for a field whose rows and planes are so far apart, so that a stencil's loads need not wait for its stores.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn of_rows(
        bytes: usize,
        alignment: usize,
        contents: Contents,
        apart: Apart,
    ) -> Result<Self, DeviceError> {
        if !alignment.is_power_of_two() {
            return Err(DeviceError::Alignment { alignment });
        }
        let memory = if bytes == 0 {
            Some(Self::nothing(alignment))
        } else if bytes >= LARGE {
            Self::map(bytes, alignment, contents, apart)
        } else {
            Self::from_heap(bytes, alignment, contents)
        };
        memory.ok_or(DeviceError::OutOfMemory {
            bytes,
            alignment,
            device: DeviceId::HOST,
        })
    }

    /// Address of the first byte; for an empty block, of nothing.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Length of the block.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there may be anything but zeros in it when it is made.
    pub fn may_be_used(&self) -> bool {
        self.may_be_used
    }

    fn nothing(alignment: usize) -> Self {
        let pointer = ptr::without_provenance_mut(alignment);
        Self {
            pointer: NonNull::new(pointer).unwrap_or(NonNull::dangling()),
            bytes: 0,
            origin: Origin::Nothing,
            may_be_used: false,
        }
    }

    fn from_heap(bytes: usize, alignment: usize, contents: Contents) -> Option<Self> {
        // A block that is shorter than that may be aligned to less.
        let length = bytes
            .max(HEAP_ALIGNMENT)
            .checked_add(alignment.saturating_sub(HEAP_ALIGNMENT))?;
        let lazy = contents == Contents::Zeroed && bytes >= LAZY;
        // SAFETY: the length is not zero.
        let start = unsafe {
            if lazy {
                libc::calloc(length, 1)
            } else {
                libc::malloc(length)
            }
        };
        let start = NonNull::new(start.cast::<u8>())?;
        let skip = start.addr().get().next_multiple_of(alignment) - start.addr().get();
        // SAFETY: `skip` is at most what was added to the length, so `bytes` bytes of the block follow.
        let pointer = unsafe { start.add(skip) };
        if contents == Contents::Zeroed && !lazy {
            // SAFETY: as above.
            unsafe { pointer.write_bytes(0, bytes) };
        }
        Some(Self {
            pointer,
            bytes,
            origin: Origin::Heap { start },
            may_be_used: contents == Contents::Uninitialised,
        })
    }

    fn map(bytes: usize, alignment: usize, contents: Contents, apart: Apart) -> Option<Self> {
        let colour = colour::next(alignment, apart);
        let border = alignment.max(HUGE_PAGE);
        let length = bytes.checked_add(colour)?.checked_add(border)?;
        let kept = Mapping::kept(length);
        let is_used = kept.is_some();
        let pages = kept.or_else(|| Mapping::new(length))?;
        let start = pages.start();
        let skip = start.addr().get().next_multiple_of(border) - start.addr().get() + colour;
        // SAFETY: `skip` is at most `border + colour`, so `bytes` bytes of the mapping follow.
        let pointer = unsafe { start.add(skip) };
        if is_used && contents == Contents::Zeroed {
            clear(pointer, bytes);
        }
        Some(Self {
            pointer,
            bytes,
            origin: Origin::Mapped { _pages: pages },
            may_be_used: is_used && contents == Contents::Uninitialised,
        })
    }
}

impl HostMemory {
    /// Sets the first `bytes` bytes to zero, with all cores.
    pub fn clear(&mut self, bytes: usize) {
        clear(self.pointer, bytes.min(self.bytes));
    }
}

/// All memory of the machine, in bytes.
pub fn physical_memory() -> usize {
    // SAFETY: `sysconf` only reads the system's configuration.
    let (pages, size) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    usize::try_from(pages)
        .unwrap_or(0)
        .saturating_mul(usize::try_from(size).unwrap_or(0))
}

/// Memory of the machine that programs can still get, in bytes.
pub fn available_memory() -> usize {
    available().unwrap_or_else(physical_memory)
}

#[cfg(target_os = "linux")]
fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(not(target_os = "linux"))]
fn available() -> Option<usize> {
    None
}

/// Sets the bytes of a block that nobody else knows to zero, with all cores.
fn clear(pointer: NonNull<u8>, bytes: usize) {
    let start = pointer.as_ptr().expose_provenance();
    let pool = Pool::global();
    pool.run(bytes.div_ceil(PIECE), pool.threads(), &|_, begin, end| {
        let (begin, end) = (begin * PIECE, bytes.min(end * PIECE));
        // SAFETY: each thread writes to pieces of its own, all within the block.
        unsafe {
            ptr::with_exposed_provenance_mut::<u8>(start + begin).write_bytes(0, end - begin);
        }
    });
}

impl Memory for HostMemory {
    fn pointer(&self) -> *mut u8 {
        self.pointer()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn device(&self) -> DeviceId {
        DeviceId::HOST
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Origin::Heap { start } = self.origin {
            // SAFETY: the block came from the C library.
            unsafe { libc::free(start.as_ptr().cast()) };
        }
    }
}
