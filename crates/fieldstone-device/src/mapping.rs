//! Pages straight from the system, some of which are kept for the next block.
//!
//! To touch a fresh page costs several times as much as to write to it, since the system clears it first. So what a large
//! block leaves behind is kept for one of about its size, as the C library does with smaller ones.

use std::ptr::{self, NonNull};
use std::sync::Mutex;

/// Longer mappings go back to the system at once.
const LONGEST_KEPT: usize = 64 << 20;

/// So many bytes are kept at most; the oldest mapping goes first.
const MOST_KEPT: usize = 128 << 20;

/// Size and alignment of a transparent huge page.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// What is kept, the oldest first.
static KEPT: Mutex<Vec<Pages>> = Mutex::new(Vec::new());

/// Pages of a mapping of ours.
#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: pages are an address range; who accesses them orders the accesses.
unsafe impl Send for Pages {}

/// Pages that nobody else uses.
#[derive(Debug)]
pub(crate) struct Mapping {
    pages: Pages,
}

impl Mapping {
    /// Fresh pages, all zero, which cost nothing until they are touched; none if the system has not that many.
    pub fn new(length: usize) -> Option<Self> {
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
        let start = NonNull::new(start.cast::<u8>())?;
        let pages = Pages { start, length };
        pages.advise_huge();
        Some(Self { pages })
    }

    /// Pages that were kept, at least so many bytes and not many more, with anything in them.
    pub fn kept(length: usize) -> Option<Self> {
        let most = length.saturating_add(length / 8);
        // Whoever holds the lock will not be long; in the child of a fork, for ever.
        let mut kept = KEPT.try_lock().ok()?;
        let fitting = kept
            .iter()
            .rposition(|pages| (length..=most).contains(&pages.length))?;
        let pages = kept.remove(fitting);
        Some(Self { pages })
    }

    /// Address of the first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.pages.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let Pages { start, length } = self.pages;
        let pages = Pages { start, length };
        if length > LONGEST_KEPT {
            return pages.give_back();
        }
        let Ok(mut kept) = KEPT.try_lock() else {
            return pages.give_back();
        };
        kept.push(pages);
        let mut bytes: usize = kept.iter().map(|pages| pages.length).sum();
        let superfluous = kept
            .iter()
            .take_while(|pages| {
                let excess = bytes > MOST_KEPT;
                bytes -= pages.length;
                excess
            })
            .count();
        let given_back: Vec<Pages> = kept.drain(..superfluous).collect();
        drop(kept);
        given_back.into_iter().for_each(Pages::give_back);
    }
}

impl Pages {
    fn give_back(self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }

    /// Asks for huge pages; that the system has none to give is no error.
    fn advise_huge(&self) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range is a mapping of ours, and the advice does not change what it holds.
        unsafe {
            libc::madvise(self.start.as_ptr().cast(), self.length, libc::MADV_HUGEPAGE);
        }
    }
}
