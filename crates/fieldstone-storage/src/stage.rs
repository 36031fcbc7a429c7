//! Tiles that are brought into the target's order in memory between, and from there written past the caches row by row.
//!
//! For targets whose rows do not begin where lines of the cache do, since only whole lines are written past it.

use crate::loops::Loop;
use crate::simd::{self, Fetch, Rows, Share};
use crate::tiles::{LINE, Tile};
use std::cell::RefCell;

/// Bytes of the memory between: less than a first-level cache has.
pub(crate) const ROOM: usize = 8 << 10;

/// Copies a tile with rows of elements that follow each other in the target. Where rows go on in other tiles, those that
/// begin within a line leave it to the one before.
///
/// # Safety
/// As for [`Tile::copy`]; what is beside the tile is elements of the same source.
pub(crate) unsafe fn copy(tile: &Tile<'_>, source: *const u8, target: *mut u8, fetch: &mut Fetch) {
    let own = tile.a.size * tile.itemsize * tile.c.size;
    let mut inner = *tile;
    let behind = behind(tile);
    if tile.beside.a > 0 {
        inner.a.size += behind.a.size;
    }
    inner.c.target = (inner.a.size * tile.itemsize) as isize;
    let bytes = own + behind.a.size * behind.c.size * tile.itemsize;
    let pitch = apart(bytes);
    inner.b.target = pitch as isize;
    let rows = Rows {
        count: 0,
        bytes,
        source: pitch as isize,
        target: tile.b.target,
    };
    let share = Share {
        follows: tile.beside.before,
        own,
    };
    let move_rows = simd::streaming_rows();
    let chunk = (ROOM / pitch).next_multiple_of(tile.lanes()).max(1);
    MEMORY.with_borrow_mut(|memory| {
        memory.resize(memory.len().max(chunk * pitch + LINE), 0);
        let skip = memory.as_ptr().align_offset(LINE);
        let between = memory[skip..].as_mut_ptr();
        for first in (0..tile.b.size).step_by(chunk) {
            inner.b.size = (tile.b.size - first).min(chunk);
            let from = source.wrapping_offset(first as isize * tile.b.source);
            let to = target.wrapping_offset(first as isize * tile.b.target);
            if !tile.beside.before || bytes == own {
                fetch_ends(
                    to,
                    bytes,
                    Loop {
                        target: tile.b.target,
                        ..inner.b
                    },
                );
            }
            // SAFETY: the memory between has room for the rows, and nobody else uses it; the rest is as the caller says.
            unsafe {
                inner.copy(from, between, fetch);
                if tile.beside.a == 0 && bytes > own {
                    let mut part = inner;
                    (part.a, part.c) = (behind.a, behind.c);
                    // The next row, from its beginning.
                    let start = tile.beside.start as isize * tile.a.source;
                    let from = from.wrapping_offset(tile.c.size as isize * tile.c.source - start);
                    part.copy(from, between.wrapping_add(own), &mut Fetch::nothing());
                }
            }
            let rows = Rows {
                count: inner.b.size,
                ..rows
            };
            // SAFETY: as above.
            unsafe { move_rows(between, to, rows, share) };
        }
    });
}

/// Copies rows that follow each other without gaps in the target, of less than [`ROOM`] bytes each.
///
/// # Safety
/// Sources must be readable, targets writable, and both apart; [`simd::fence`] must follow.
pub(crate) unsafe fn gather(source: *const u8, target: *mut u8, rows: Rows) {
    let (move_rows, copy_row) = (simd::streaming_rows(), simd::short_rows());
    let ahead = (ROOM / 2 / rows.bytes.max(1)).max(1);
    MEMORY.with_borrow_mut(|memory| {
        memory.resize(memory.len().max(2 * ROOM + 2 * LINE), 0);
        let skip = memory.as_ptr().align_offset(LINE);
        let between = memory[skip..].as_mut_ptr();
        // Lines begin in the memory between where they begin in the target.
        let (mut lead, mut held, mut to) = (target.addr() % LINE, 0, target);
        for n in 0..rows.count {
            let row = |n: usize| source.wrapping_offset(n as isize * rows.source);
            if n + ahead < rows.count {
                Fetch::new(row(n + ahead), rows.bytes, rows.source, 1, 1).finish();
            }
            // SAFETY: the memory between has room for a row beside what it holds; the rest is as the caller says.
            unsafe { copy_row(row(n), between.wrapping_add(lead + held), one(rows.bytes)) };
            held += rows.bytes;
            let last = n + 1 == rows.count;
            if held >= ROOM || last {
                let rest = if last { 0 } else { (lead + held) % LINE };
                let bytes = held - rest;
                let from = between.wrapping_add(lead);
                // SAFETY: as above; what is left of a line moves to where its line begins.
                unsafe {
                    move_rows(from, to, one(bytes), Share::whole(bytes));
                    between.copy_from(from.wrapping_add(bytes), rest);
                }
                (lead, held, to) = (0, rest, to.wrapping_add(bytes));
            }
        }
    });
}

/// One row of so many bytes.
fn one(bytes: usize) -> Rows {
    Rows {
        count: 1,
        bytes,
        source: 0,
        target: 0,
    }
}

/// Asks for the lines of rows that are not written as a whole.
fn fetch_ends(target: *const u8, bytes: usize, rows: Loop) {
    for b in 0..rows.size as isize {
        let row = target.wrapping_offset(b * rows.target);
        for end in [row, row.wrapping_add(bytes)] {
            if !end.addr().is_multiple_of(LINE) {
                simd::fetch_to_write(end);
            }
        }
    }
}

/// What shares the last line with a tile.
struct Behind {
    a: Loop,
    c: Loop,
}

fn behind(tile: &Tile<'_>) -> Behind {
    let wanted = LINE.div_ceil(tile.itemsize);
    let (a, c) = if tile.beside.a > 0 {
        (wanted.min(tile.beside.a), 1)
    } else if tile.a.size < wanted {
        (tile.a.size, wanted.div_ceil(tile.a.size).min(tile.beside.c))
    } else {
        (wanted, tile.beside.c.min(1))
    };
    let row = (tile.a.size * tile.itemsize) as isize;
    Behind {
        a: Loop { size: a, ..tile.a },
        c: Loop {
            size: c,
            target: row,
            ..tile.c
        },
    }
}

thread_local! {
    /// The memory between; its pages stay with the thread.
    static MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The distance of rows so that few of them fall into one set of a cache.
fn apart(bytes: usize) -> usize {
    let lines = bytes.div_ceil(LINE);
    (lines + usize::from(lines.is_multiple_of(4))) * LINE
}
