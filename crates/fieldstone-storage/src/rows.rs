//! Runs of bytes that are contiguous on both sides.

use crate::gather;
use crate::loops::{Loop, Nest, runs, turns};
use crate::share::{Source, Target, share};
use crate::simd::{self, LINE, Pattern, Rows};
use std::cmp::Reverse;

/// A long row is shared between threads in pieces of about this many bytes.
const PIECE: usize = 64 << 10;

/// A call for each row takes too long if they have no more than so many bytes.
const SHORT: usize = 512;

/// It does not matter that the ends of rows from so many bytes on are no whole lines.
const LONG: usize = gather::ROOM;

/// Rows are asked for so many bytes before they are read: the processor itself only foresees how a row goes on.
const AHEAD: usize = 4 << 10;

/// A fill with elements that do not divide a line copies from a repetition of its element of at least this many bytes.
const PATTERN: usize = 4 << 10;

/// Copies the nest's elements; its innermost loop, if any, has the stride of one element on both sides.
///
/// # Safety
/// The nest's elements must be readable from `source` on and writable from `target` on, by nobody else meanwhile, and be apart.
pub(crate) unsafe fn copy(
    nest: &Nest,
    source: Source,
    target: Target,
    threads: usize,
    past_caches: bool,
) {
    let body = |from, to, rows| {
        // SAFETY: `each` stays within the nest's elements.
        unsafe { move_rows(source.at(from), target.at(to), rows, past_caches) };
    };
    match past_caches && are_lines(nest, target) {
        true => each(&as_in_source(nest), threads, &body),
        false => each(nest, threads, &body),
    }
}

/// The nest with rows in the order of the source: whole lines are written past the caches as fast in any order, but read faster one
/// after the other.
fn as_in_source(nest: &Nest) -> Nest {
    let mut nest = nest.clone();
    if let Some((_, outer)) = nest.loops.split_last_mut() {
        outer.sort_by_key(|axis| Reverse(axis.source.unsigned_abs()));
    }
    nest
}

/// Whether rows are whole lines of the target.
fn are_lines(nest: &Nest, target: Target) -> bool {
    let Some((row, outer)) = nest.loops.split_last() else {
        return false;
    };
    let is_whole = |bytes: usize| bytes.is_multiple_of(LINE);
    is_whole(target.0.addr())
        && is_whole(row.size * nest.itemsize)
        && outer.iter().all(|axis| is_whole(axis.target as usize))
}

/// Sets the nest's elements; its innermost loop, if any, has the stride of one element in the target, and none in the source.
///
/// # Safety
/// The nest's elements must be writable from `target` on, by nobody else meanwhile.
pub(crate) unsafe fn fill(
    nest: &Nest,
    element: &[u8],
    target: Target,
    threads: usize,
    past_caches: bool,
) {
    if let Some(byte) = uniform(element).filter(|_| !past_caches) {
        return each(nest, threads, &|_, to, rows| {
            for n in 0..rows.count as isize {
                let row = target.at(to + n * rows.target);
                // SAFETY: `each` stays within the nest's elements. The C library knows the fastest way to write one byte.
                unsafe { row.write_bytes(byte, rows.bytes) };
            }
        });
    }
    let Some(pattern) = Pattern::of(element) else {
        // SAFETY: as the caller says.
        return unsafe { fill_odd(nest, element, target, threads, past_caches) };
    };
    let fill_rows = if past_caches {
        simd::streaming_filled_rows()
    } else {
        simd::filled_rows()
    };
    each(nest, threads, &|_, to, rows| {
        // SAFETY: `each` stays within the nest's elements.
        unsafe { fill_rows(&pattern, target.at(to), rows) };
    });
}

/// The byte that an element has throughout, as zeros have.
fn uniform(element: &[u8]) -> Option<u8> {
    let &first = element.first()?;
    element.iter().all(|&byte| byte == first).then_some(first)
}

/// Fills with an element whose size does not divide a line of the cache.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_odd(nest: &Nest, element: &[u8], target: Target, threads: usize, past_caches: bool) {
    let pattern = &element.repeat(PATTERN.div_ceil(element.len()))[..];
    each(nest, threads, &|_, to, rows| {
        let short = rows.bytes <= pattern.len();
        let (blocks, count) = if short {
            (1, rows.count)
        } else {
            (rows.count, 1)
        };
        for block in 0..blocks as isize {
            let mut done = 0;
            while done < rows.bytes {
                let bytes = pattern.len().min(rows.bytes - done);
                let to = target.at(to + block * rows.target + done as isize);
                let part = Rows {
                    count,
                    bytes,
                    source: 0,
                    ..rows
                };
                // SAFETY: `each` stays within the nest's elements, and the pattern is that long.
                unsafe { move_rows(pattern.as_ptr(), to, part, past_caches) };
                done += bytes;
            }
        }
    });
}

/// Copies rows, past the caches or through them.
///
/// # Safety
/// As for every [`simd::MoveRows`].
unsafe fn move_rows(source: *const u8, target: *mut u8, rows: Rows, past_caches: bool) {
    let lines = target.addr() | rows.bytes;
    // SAFETY: as the caller says.
    unsafe {
        if !past_caches {
            let copy = if rows.bytes <= SHORT {
                simd::short_rows()
            } else {
                simd::plain_rows
            };
            copy(source, target, rows);
        } else if rows.target == rows.bytes as isize
            && rows.bytes < LONG
            && !lines.is_multiple_of(LINE)
        {
            gather::copy(source, target, rows);
        } else {
            stream(source, target, rows);
        }
    }
}

/// Copies rows past the caches.
///
/// # Safety
/// As for every [`simd::MoveRows`].
unsafe fn stream(source: *const u8, target: *mut u8, rows: Rows) {
    let move_rows = simd::streaming_rows();
    let ahead = (AHEAD / rows.bytes.max(1)).max(1);
    for n in 0..rows.count {
        let row = |n: usize| source.wrapping_offset(n as isize * rows.source);
        if n + ahead < rows.count && rows.source != 0 {
            simd::fetch(row(n + ahead), rows.bytes);
        }
        let to = target.wrapping_offset(n as isize * rows.target);
        // SAFETY: as the caller says.
        unsafe { move_rows(row(n), to, Rows { count: 1, ..rows }) };
    }
}

/// Shares the nest's rows between threads; a row that is long is cut between elements.
fn each(nest: &Nest, threads: usize, body: &(dyn Fn(isize, isize, Rows) + Sync)) {
    let one = Loop::ONCE;
    let (inner, outer) = nest.loops.split_last().unwrap_or((&one, &[]));
    let step = outer.last().unwrap_or(&one);
    let bytes = inner.size * nest.itemsize;
    let piece = (PIECE / nest.itemsize).max(1) * nest.itemsize;
    let pieces = bytes.div_ceil(piece);
    share(
        turns(outer) * pieces,
        nest.bytes(),
        threads,
        &|begin, end| {
            let (source, target) = (step.source, step.target);
            if pieces == 1 {
                runs(outer, begin, end, |from, to, count| {
                    body(
                        from,
                        to,
                        Rows {
                            count,
                            bytes,
                            source,
                            target,
                        },
                    );
                });
            } else {
                let mut row = begin / pieces;
                runs(outer, row, end.div_ceil(pieces), |from, to, count| {
                    for n in 0..count as isize {
                        let first = begin.saturating_sub(row * pieces) * piece;
                        let behind = (end - row * pieces).min(pieces) * piece;
                        let skip = (
                            if inner.source == 0 { 0 } else { first as isize },
                            first as isize,
                        );
                        let part = Rows {
                            count: 1,
                            bytes: behind.min(bytes) - first,
                            source,
                            target,
                        };
                        body(from + n * source + skip.0, to + n * target + skip.1, part);
                        row += 1;
                    }
                });
            }
            simd::fence();
        },
    );
}
