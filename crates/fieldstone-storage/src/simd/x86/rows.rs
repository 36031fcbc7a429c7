//! Rows of bytes: past the cache, and short ones through it.

use super::{LINE, Level};
use crate::simd::{Gather, MoveRows, Rows, plain_gathered, plain_rows};
use std::arch::x86_64::*;

pub(super) fn streaming(level: Level) -> MoveRows {
    match level {
        Level::Sse2 => rows_sse2,
        Level::Avx2 => rows_avx2,
        Level::Avx512 => rows_avx512,
    }
}

pub(super) fn short(level: Level) -> MoveRows {
    match level {
        Level::Sse2 | Level::Avx2 => plain_rows,
        Level::Avx512 => short_avx512,
    }
}

pub(super) fn gathered(level: Level) -> Gather {
    match level {
        Level::Sse2 | Level::Avx2 => plain_gathered,
        Level::Avx512 => gathered_avx512,
    }
}

/// # Safety
/// As for every [`Gather`], and the processor must have the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn gathered_avx512(source: *const u8, target: *mut u8, places: &[isize], bytes: usize) {
    let whole = (bytes - 1) / LINE * LINE;
    let mask = u64::MAX >> (LINE - (bytes - whole));
    let mut to = target;
    for &place in places {
        let from = source.wrapping_offset(place);
        // SAFETY: all parts lie within the element.
        unsafe {
            for line in (0..whole).step_by(LINE) {
                let value = _mm512_loadu_si512(from.wrapping_add(line).cast());
                _mm512_storeu_si512(to.wrapping_add(line).cast(), value);
            }
            let value = _mm512_maskz_loadu_epi8(mask, from.wrapping_add(whole).cast());
            _mm512_mask_storeu_epi8(to.wrapping_add(whole).cast(), mask, value);
        }
        to = to.wrapping_add(bytes);
    }
}

/// # Safety
/// As for every [`MoveRows`], and the processor must have the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn short_avx512(source: *const u8, target: *mut u8, rows: Rows) {
    let whole = rows.bytes / LINE * LINE;
    for n in 0..rows.count as isize {
        let from = source.wrapping_offset(n * rows.source);
        let to = target.wrapping_offset(n * rows.target);
        // SAFETY: all parts lie within the row.
        unsafe {
            for place in (0..whole).step_by(LINE) {
                let value = _mm512_loadu_si512(from.add(place).cast());
                _mm512_storeu_si512(to.add(place).cast(), value);
            }
            part(from.add(whole), to.add(whole), rows.bytes - whole);
        }
    }
}

macro_rules! streaming_rows {
    ($name:ident, $feature:literal, $vector:ty, $load:ident, $stream:ident) => {
        /// # Safety
        /// As for every [`MoveRows`], and the processor must have the feature.
        #[target_feature(enable = $feature)]
        unsafe fn $name(source: *const u8, target: *mut u8, rows: Rows) {
            const WIDTH: usize = size_of::<$vector>();
            for n in 0..rows.count as isize {
                let from = source.wrapping_offset(n * rows.source);
                let to = target.wrapping_offset(n * rows.target);
                let bytes = rows.bytes;
                let head = (to.addr().wrapping_neg() % LINE).min(bytes);
                let lines = (bytes - head) / LINE;
                let tail = head + lines * LINE;
                // SAFETY: all parts lie within the row, and whole lines are aligned.
                unsafe {
                    to.copy_from_nonoverlapping(from, head);
                    for line in 0..lines {
                        let (from, to) = (from.add(head + line * LINE), to.add(head + line * LINE));
                        for part in 0..LINE / WIDTH {
                            let value = $load(from.add(part * WIDTH).cast());
                            $stream(to.add(part * WIDTH).cast(), value);
                        }
                    }
                    to.add(tail)
                        .copy_from_nonoverlapping(from.add(tail), bytes - tail);
                }
            }
        }
    };
}

streaming_rows!(
    rows_sse2,
    "sse2",
    __m128i,
    _mm_loadu_si128,
    _mm_stream_si128
);
streaming_rows!(
    rows_avx2,
    "avx2",
    __m256i,
    _mm256_loadu_si256,
    _mm256_stream_si256
);
/// # Safety
/// As for every [`MoveRows`], and the processor must have the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn rows_avx512(source: *const u8, target: *mut u8, rows: Rows) {
    for n in 0..rows.count as isize {
        let from = source.wrapping_offset(n * rows.source);
        let to = target.wrapping_offset(n * rows.target);
        let bytes = rows.bytes;
        let head = (to.addr().wrapping_neg() % LINE).min(bytes);
        let tail = head + (bytes - head) / LINE * LINE;
        // SAFETY: all parts lie within the row, and whole lines are aligned.
        unsafe {
            part(from, to, head);
            for place in (head..tail).step_by(LINE) {
                let value = _mm512_loadu_si512(from.add(place).cast());
                _mm512_stream_si512(to.add(place).cast(), value);
            }
            part(from.add(tail), to.add(tail), bytes - tail);
        }
    }
}

/// Copies less than a line.
///
/// # Safety
/// The source must be readable, the target writable, and the processor must have the features.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn part(source: *const u8, target: *mut u8, bytes: usize) {
    if bytes > 0 {
        let mask = (1 << bytes) - 1;
        // SAFETY: as the caller says; nothing else is accessed.
        unsafe {
            let value = _mm512_maskz_loadu_epi8(mask, source.cast());
            _mm512_mask_storeu_epi8(target.cast(), mask, value);
        }
    }
}
