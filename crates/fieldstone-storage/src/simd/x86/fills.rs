//! Rows filled with a pattern, through the cache and past it.

use super::{LINE, Level};
use crate::simd::{FillRows, Pattern, Rows};
use std::arch::x86_64::*;

pub(super) fn rows(level: Level, streaming: bool) -> FillRows {
    match (level, streaming) {
        (Level::Sse2, false) => fill_sse2::<false>,
        (Level::Sse2, true) => fill_sse2::<true>,
        (Level::Avx2, false) => fill_avx2::<false>,
        (Level::Avx2, true) => fill_avx2::<true>,
        (Level::Avx512, false) => fill_avx512::<false>,
        (Level::Avx512, true) => fill_avx512::<true>,
    }
}

macro_rules! filled_rows {
    ($name:ident, $feature:literal, $vector:ty, $load:ident, $store:ident, $stream:ident) => {
        /// # Safety
        /// As for every [`FillRows`], and the processor must have the feature.
        #[target_feature(enable = $feature)]
        unsafe fn $name<const STREAM: bool>(pattern: &Pattern, target: *mut u8, rows: Rows) {
            const WIDTH: usize = size_of::<$vector>();
            const PARTS: usize = LINE / WIDTH;
            for n in 0..rows.count as isize {
                let to = target.wrapping_offset(n * rows.target);
                let head = (to.addr().next_multiple_of(LINE) - to.addr()).min(rows.bytes);
                let lines = (rows.bytes - head) / LINE;
                let tail = head + lines * LINE;
                let line = pattern.from(head);
                // SAFETY: all parts lie within the row, and whole lines are aligned.
                unsafe {
                    to.copy_from_nonoverlapping(pattern.from(0).as_ptr(), head);
                    let mut values = [$load(line.as_ptr().cast()); PARTS];
                    for (part, value) in values.iter_mut().enumerate() {
                        *value = $load(line.as_ptr().add(part * WIDTH).cast());
                    }
                    for place in 0..lines {
                        for (part, &value) in values.iter().enumerate() {
                            let to = to.add(head + place * LINE + part * WIDTH);
                            if STREAM {
                                $stream(to.cast(), value);
                            } else {
                                $store(to.cast(), value);
                            }
                        }
                    }
                    to.add(tail)
                        .copy_from_nonoverlapping(line.as_ptr(), rows.bytes - tail);
                }
            }
        }
    };
}

filled_rows!(
    fill_sse2,
    "sse2",
    __m128i,
    _mm_loadu_si128,
    _mm_store_si128,
    _mm_stream_si128
);
filled_rows!(
    fill_avx2,
    "avx2",
    __m256i,
    _mm256_loadu_si256,
    _mm256_store_si256,
    _mm256_stream_si256
);

/// # Safety
/// As for every [`FillRows`], and the processor must have the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn fill_avx512<const STREAM: bool>(pattern: &Pattern, target: *mut u8, rows: Rows) {
    for n in 0..rows.count as isize {
        let to = target.wrapping_offset(n * rows.target);
        let head = (to.addr().wrapping_neg() % LINE).min(rows.bytes);
        let tail = head + (rows.bytes - head) / LINE * LINE;
        // SAFETY: all parts lie within the row, and whole lines are aligned.
        unsafe {
            let first = _mm512_loadu_si512(pattern.from(0).as_ptr().cast());
            let line = _mm512_loadu_si512(pattern.from(head).as_ptr().cast());
            // Rather than a part of a line, some bytes of others are written twice: stores with masks take longer.
            let last = rows.bytes.checked_sub(LINE).filter(|_| !STREAM);
            if head > 0 && last.is_some() {
                _mm512_storeu_si512(to.cast(), first);
            } else if head > 0 {
                _mm512_mask_storeu_epi8(to.cast(), first_bytes(head), first);
            }
            for place in (head..tail).step_by(LINE) {
                let to = to.add(place).cast();
                if STREAM {
                    _mm512_stream_si512(to, line);
                } else {
                    _mm512_store_si512(to, line);
                }
            }
            if let Some(last) = last.filter(|_| tail < rows.bytes) {
                let end = _mm512_loadu_si512(pattern.from(last).as_ptr().cast());
                _mm512_storeu_si512(to.add(last).cast(), end);
            } else if tail < rows.bytes {
                let to = to.add(tail);
                _mm512_mask_storeu_epi8(to.cast(), first_bytes(rows.bytes - tail), line);
            }
        }
    }
}

/// So many of the bytes of a register, fewer than all.
fn first_bytes(bytes: usize) -> u64 {
    (1 << bytes) - 1
}
