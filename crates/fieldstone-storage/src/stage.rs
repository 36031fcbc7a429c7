//! Tiles that are transposed in memory between, and from there written past the caches row by row.
//!
//! For targets whose rows do not begin where lines of the cache do, since only whole lines are written past it; and for sources whose
//! rows fall into one set of the first-level cache, which has to let go of a line before all of it was used.

use crate::simd::{self, Rows};
use crate::tiles::Tile;
use std::cell::RefCell;

/// A line of a cache.
const LINE: usize = 64;

/// How tiles go through memory between.
pub(crate) struct Stage {
    /// Bytes of a tile's rows in the target.
    pub width: usize,
    /// Bytes of a tile's rows in the source.
    pub length: usize,
}

impl Stage {
    /// Tiles that fit a second-level cache, and rows long enough for memory to be read and written at full speed.
    pub fn past_caches() -> Self {
        Self {
            width: 2048,
            length: 1024,
        }
    }

    /// Copies a tile that has a kernel.
    ///
    /// # Safety
    /// As for [`Tile::copy`].
    pub unsafe fn copy(&self, tile: &Tile<'_>, source: *const u8, target: *mut u8) {
        let (a, b) = (tile.a, tile.b);
        let bytes = a.size * tile.itemsize;
        let rows = Rows {
            count: b.size,
            bytes,
            source: apart(bytes),
            target: b.target,
        };
        MEMORY.with_borrow_mut(|memory| {
            let needed = rows.count * rows.source.unsigned_abs() + LINE;
            memory.resize(memory.len().max(needed), 0);
            let skip = memory.as_ptr().align_offset(LINE);
            let between = memory[skip..].as_mut_ptr();
            let mut inner = *tile;
            inner.b.target = rows.source;
            // SAFETY: the memory between has room for the rows, and nobody else uses it; the rest is as the caller says.
            unsafe {
                strips(inner, source, between);
                simd::streaming_rows()(between, target, rows);
            }
        });
    }
}

/// Transposes a tile by strips of few rows of the source, each while the next is fetched.
///
/// # Safety
/// As for [`Tile::copy`].
unsafe fn strips(tile: Tile<'_>, source: *const u8, target: *mut u8) {
    let strip = (LINE / tile.itemsize).max(1);
    let count = (tile.a.size / strip).max(1);
    for number in 0..count {
        let begin = number * strip;
        let end = if number + 1 == count {
            tile.a.size
        } else {
            begin + strip
        };
        let mut part = tile;
        part.a.size = end - begin;
        part.fetches = true;
        let at = begin as isize;
        let from = source.wrapping_offset(at * tile.a.source);
        let to = target.wrapping_offset(at * tile.a.target);
        // SAFETY: a part of the tile.
        unsafe { part.copy(from, to) };
    }
}

thread_local! {
    /// The memory between; its pages stay with the thread.
    static MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The distance of rows so that few of them fall into one set of a cache.
fn apart(bytes: usize) -> isize {
    let lines = bytes.div_ceil(LINE);
    ((lines + usize::from(lines.is_multiple_of(4))) * LINE) as isize
}
