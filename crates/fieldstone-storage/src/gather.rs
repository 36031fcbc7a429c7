//! Short rows that follow each other in the target, collected in memory between and written past the caches from there: only whole
//! lines are.

use crate::simd::{self, LINE, Rows};
use std::cell::RefCell;

/// Bytes of the memory between: less than a first-level cache has.
pub(crate) const ROOM: usize = 8 << 10;
/// Copies rows that follow each other without gaps in the target, of less than [`ROOM`] bytes each.
///
/// # Safety
/// Sources must be readable, targets writable, and both apart; [`simd::fence`] must follow.
pub(crate) unsafe fn copy(source: *const u8, target: *mut u8, rows: Rows) {
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
                simd::fetch(row(n + ahead), rows.bytes);
            }
            // SAFETY: the memory between has room for a row beside what it holds; the rest is as the caller says.
            unsafe {
                copy_row(
                    row(n),
                    between.wrapping_add(lead + held),
                    Rows::one(rows.bytes),
                )
            };
            held += rows.bytes;
            let last = n + 1 == rows.count;
            if held >= ROOM || last {
                let rest = if last { 0 } else { (lead + held) % LINE };
                let bytes = held - rest;
                let from = between.wrapping_add(lead);
                // SAFETY: as above; what is left of a line moves to where its line begins.
                unsafe {
                    move_rows(from, to, Rows::one(bytes));
                    between.copy_from(from.wrapping_add(bytes), rest);
                }
                (lead, held, to) = (0, rest, to.wrapping_add(bytes));
            }
        }
    });
}

thread_local! {
    /// The memory between; its pages stay with the thread.
    static MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
