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
filled_rows!(
    fill_avx512,
    "avx512f",
    __m512i,
    _mm512_loadu_si512,
    _mm512_store_si512,
    _mm512_stream_si512
);
