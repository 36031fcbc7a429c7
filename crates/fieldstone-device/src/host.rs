//! The host: memory of this process.

use crate::{Contents, Device, DeviceError, DeviceId, Memory};
use std::alloc::{self, Layout};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks from this size on are mapped by themselves, with advice to use huge pages; NumPy draws the line here too.
const LARGE: usize = 4 << 20;

/// Zeros from this size on are left to `calloc`, which knows which memory is zero already.
const LAZY: usize = 64 << 10;

/// Size and alignment of a transparent huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Addresses that differ by a multiple of this compete for the same places in a first-level cache.
const ALIAS: usize = 4096;

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
/// Large blocks come straight from the system: zeros cost nothing until they are touched, and huge pages are asked for.
/// Such blocks do not all begin at the same place within a page, since equal indices of several fields would then compete
/// for the same cache sets.
#[derive(Debug)]
pub struct HostMemory {
    pointer: NonNull<u8>,
    bytes: usize,
    origin: Origin,
}

/// Where a block came from, hence how it is freed.
#[derive(Debug)]
enum Origin {
    /// No memory at all.
    Nothing,
    Allocator(Layout),
    Calloc {
        start: NonNull<u8>,
    },
    Mapping {
        start: NonNull<u8>,
        length: usize,
    },
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
        if !alignment.is_power_of_two() {
            return Err(DeviceError::Alignment { alignment });
        }
        let memory = if bytes == 0 {
            Some(Self::nothing(alignment))
        } else if bytes >= LARGE {
            Self::map(bytes, alignment)
        } else if contents == Contents::Zeroed && bytes >= LAZY {
            Self::from_calloc(bytes, alignment)
        } else {
            Self::from_allocator(bytes, alignment, contents)
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

    fn nothing(alignment: usize) -> Self {
        let pointer = ptr::without_provenance_mut(alignment);
        Self {
            pointer: NonNull::new(pointer).unwrap_or(NonNull::dangling()),
            bytes: 0,
            origin: Origin::Nothing,
        }
    }

    fn from_allocator(bytes: usize, alignment: usize, contents: Contents) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, alignment).ok()?;
        // SAFETY: the layout is not empty.
        let pointer = unsafe {
            match contents {
                Contents::Uninitialised => alloc::alloc(layout),
                Contents::Zeroed => alloc::alloc_zeroed(layout),
            }
        };
        Some(Self {
            pointer: NonNull::new(pointer)?,
            bytes,
            origin: Origin::Allocator(layout),
        })
    }

    fn from_calloc(bytes: usize, alignment: usize) -> Option<Self> {
        let length = bytes.checked_add(alignment)?;
        // SAFETY: the length is not zero.
        let start = unsafe { libc::calloc(length, 1) }.cast::<u8>();
        let start = NonNull::new(start)?;
        let skip = start.addr().get().next_multiple_of(alignment) - start.addr().get();
        // SAFETY: `skip` is less than the alignment, so `bytes` bytes of the block follow.
        let pointer = unsafe { start.add(skip) };
        Some(Self {
            pointer,
            bytes,
            origin: Origin::Calloc { start },
        })
    }

    fn map(bytes: usize, alignment: usize) -> Option<Self> {
        let colour = next_colour(alignment);
        let border = alignment.max(HUGE_PAGE);
        let length = bytes.checked_add(colour)?.checked_add(border)?;
        if length > isize::MAX as usize {
            return None;
        }
        // SAFETY: a fresh anonymous mapping touches no existing memory.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = start.cast::<u8>();
        advise_huge_pages(start, length);
        let skip = start.addr().next_multiple_of(border) - start.addr() + colour;
        // SAFETY: `skip` is at most `border + colour`, so `bytes` bytes of the mapping follow.
        let pointer = unsafe { start.add(skip) };
        Some(Self {
            pointer: NonNull::new(pointer)?,
            bytes,
            origin: Origin::Mapping {
                start: NonNull::new(start)?,
                length,
            },
        })
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

/// Where within a page the next large block begins.
fn next_colour(alignment: usize) -> usize {
    const STEP: usize = 5 * 128;
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let colour = COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP) % ALIAS;
    if alignment > ALIAS {
        0
    } else {
        colour & !(alignment - 1)
    }
}

/// Asks for huge pages; that the system has none to give is no error.
fn advise_huge_pages(start: *mut u8, length: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is a mapping of ours, and the advice does not change what it holds.
    unsafe {
        libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
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
        match self.origin {
            Origin::Nothing => {}
            // SAFETY: the block came from the allocator with this layout.
            Origin::Allocator(layout) => unsafe { alloc::dealloc(self.pointer(), layout) },
            // SAFETY: the block came from `calloc`.
            Origin::Calloc { start } => unsafe { libc::free(start.as_ptr().cast()) },
            // SAFETY: the mapping is ours and nothing refers to it any more.
            Origin::Mapping { start, length } => unsafe {
                libc::munmap(start.as_ptr().cast(), length);
            },
        }
    }
}
