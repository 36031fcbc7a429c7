//! SSE2, AVX2 and AVX-512.
//!
//! A block of `n` registers with `n` lanes is transposed by log₂ `n` perfect shuffles: register `i` interleaved with register `i + n/2`
//! gives registers `2i` and `2i + 1`.

use super::{Blocks, FillRows, Kernel, MoveRows, Pattern, Rows};
use std::arch::x86_64::*;
use std::sync::OnceLock;

/// A line of a cache, which is written past it in one go.
const LINE: usize = 64;

pub(super) fn fence() {
    // SAFETY: every x86-64 processor has it.
    unsafe { _mm_sfence() };
}

/// What this processor can do.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Sse2,
    Avx2,
    Avx512,
}

fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        if is_x86_feature_detected!("avx512f") {
            Level::Avx512
        } else if is_x86_feature_detected!("avx2") {
            Level::Avx2
        } else {
            Level::Sse2
        }
    })
}

#[cfg(test)]
fn levels() -> impl Iterator<Item = Level> {
    let all = [Level::Sse2, Level::Avx2, Level::Avx512];
    all.into_iter().filter(|&each| each <= level())
}

#[cfg(test)]
pub(super) fn all_streaming_rows() -> Vec<MoveRows> {
    levels().map(streaming_rows_at).collect()
}

#[cfg(test)]
pub(super) fn transpositions(itemsize: usize, streaming: bool) -> Vec<Kernel> {
    let at = |level| transposition_at(level, itemsize, streaming);
    levels().filter_map(at).collect()
}

pub(super) fn streaming_rows() -> MoveRows {
    streaming_rows_at(level())
}

fn streaming_rows_at(level: Level) -> MoveRows {
    match level {
        Level::Sse2 => rows_sse2,
        Level::Avx2 => rows_avx2,
        Level::Avx512 => rows_avx512,
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
                let head = (to.addr().next_multiple_of(LINE) - to.addr()).min(rows.bytes);
                let lines = (rows.bytes - head) / LINE;
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
                        .copy_from_nonoverlapping(from.add(tail), rows.bytes - tail);
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
streaming_rows!(
    rows_avx512,
    "avx512f",
    __m512i,
    _mm512_loadu_si512,
    _mm512_stream_si512
);

pub(super) fn filled_rows(streaming: bool) -> FillRows {
    filled_rows_at(level(), streaming)
}

#[cfg(test)]
pub(super) fn all_filled_rows() -> Vec<FillRows> {
    levels()
        .flat_map(|level| [false, true].map(|streaming| filled_rows_at(level, streaming)))
        .collect()
}

fn filled_rows_at(level: Level, streaming: bool) -> FillRows {
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

pub(super) fn transposition(itemsize: usize, streaming: bool) -> Option<Kernel> {
    transposition_at(level(), itemsize, streaming)
}

fn transposition_at(level: Level, itemsize: usize, streaming: bool) -> Option<Kernel> {
    macro_rules! kernel {
        ($name:ident, $lanes:literal) => {
            Some(Kernel {
                lanes: $lanes,
                whole: if streaming {
                    $name::<true, true, false>
                } else {
                    $name::<false, false, false>
                },
                fetching: if streaming {
                    $name::<true, true, false>
                } else {
                    $name::<false, true, false>
                },
                partial: $name::<false, false, true>,
            })
        };
    }
    match (itemsize, level) {
        (1, _) => kernel!(sse2_1, 16),
        (2, _) => kernel!(sse2_2, 8),
        (4, Level::Avx512) => kernel!(avx512_4, 16),
        (4, Level::Avx2) => kernel!(avx2_4, 8),
        (4, Level::Sse2) => kernel!(sse2_4, 4),
        (8, Level::Avx512) => kernel!(avx512_8, 8),
        (8, Level::Avx2) => kernel!(avx2_8, 4),
        (8, Level::Sse2) => kernel!(sse2_8, 2),
        (16, Level::Avx512) => kernel!(avx512_16, 4),
        (16, Level::Avx2) => kernel!(avx2_16, 2),
        (16, Level::Sse2) => kernel!(sse2_16, 1),
        _ => None,
    }
}

macro_rules! transposition {
    ($name:ident, $feature:literal, $vector:ty, $lanes:literal, $load:ident, $store:ident, $stream:ident, $shuffle:expr) => {
        /// # Safety
        /// As for every [`super::Transpose`], and the processor must have the feature. With `STREAM`, target rows begin at cache lines.
        #[target_feature(enable = $feature)]
        unsafe fn $name<const STREAM: bool, const FETCH: bool, const PARTIAL: bool>(
            source: *const u8,
            target: *mut u8,
            blocks: Blocks,
        ) {
            const WIDTH: usize = size_of::<$vector>();
            for b in 0..blocks.count_b {
                let from = source.wrapping_add(b * WIDTH);
                let to = target.wrapping_offset((b * $lanes) as isize * blocks.target);
                for a in 0..blocks.count_a {
                    let from = from.wrapping_offset((a * $lanes) as isize * blocks.source);
                    let to = to.wrapping_add(a * WIDTH);
                    // SAFETY: the block is within what the caller vouches for.
                    unsafe {
                        let mut rows = [$load(from.cast()); $lanes];
                        for (n, row) in rows.iter_mut().enumerate() {
                            if FETCH {
                                let next = n as isize * blocks.source + blocks.ahead;
                                _mm_prefetch::<_MM_HINT_T0>(from.wrapping_offset(next).cast());
                            }
                            *row = $load(from.wrapping_offset(n as isize * blocks.source).cast());
                        }
                        let rows = $shuffle(rows);
                        for (n, row) in rows.into_iter().enumerate() {
                            if PARTIAL && n < blocks.skip {
                                continue;
                            }
                            let to = to.wrapping_offset(n as isize * blocks.target);
                            if STREAM {
                                $stream(to.cast(), row);
                            } else {
                                $store(to.cast(), row);
                            }
                        }
                    }
                }
            }
        }
    };
}

macro_rules! sse2 {
    ($name:ident, $lanes:literal, $rounds:literal, $low:ident, $high:ident) => {
        transposition!(
            $name,
            "sse2",
            __m128i,
            $lanes,
            _mm_loadu_si128,
            _mm_storeu_si128,
            _mm_stream_si128,
            |mut rows: [__m128i; $lanes]| {
                for _ in 0..$rounds {
                    let old = rows;
                    for n in 0..$lanes / 2 {
                        rows[2 * n] = $low(old[n], old[n + $lanes / 2]);
                        rows[2 * n + 1] = $high(old[n], old[n + $lanes / 2]);
                    }
                }
                rows
            }
        );
    };
}

sse2!(sse2_1, 16, 4, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
sse2!(sse2_2, 8, 3, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
sse2!(sse2_4, 4, 2, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
sse2!(sse2_8, 2, 1, _mm_unpacklo_epi64, _mm_unpackhi_epi64);

transposition!(
    sse2_16,
    "sse2",
    __m128i,
    1,
    _mm_loadu_si128,
    _mm_storeu_si128,
    _mm_stream_si128,
    |rows: [__m128i; 1]| rows
);

transposition!(
    avx2_8,
    "avx2",
    __m256d,
    4,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_stream_pd,
    |r: [__m256d; 4]| {
        // Interleaving 128-bit halves first makes the in-half unpacks a perfect shuffle.
        let a = [
            _mm256_permute2f128_pd::<0x20>(r[0], r[2]),
            _mm256_permute2f128_pd::<0x20>(r[1], r[3]),
            _mm256_permute2f128_pd::<0x31>(r[0], r[2]),
            _mm256_permute2f128_pd::<0x31>(r[1], r[3]),
        ];
        [
            _mm256_unpacklo_pd(a[0], a[1]),
            _mm256_unpackhi_pd(a[0], a[1]),
            _mm256_unpacklo_pd(a[2], a[3]),
            _mm256_unpackhi_pd(a[2], a[3]),
        ]
    }
);

transposition!(
    avx2_16,
    "avx2",
    __m256d,
    2,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_stream_pd,
    |r: [__m256d; 2]| {
        [
            _mm256_permute2f128_pd::<0x20>(r[0], r[1]),
            _mm256_permute2f128_pd::<0x31>(r[0], r[1]),
        ]
    }
);

transposition!(
    avx2_4,
    "avx2",
    __m256,
    8,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_stream_ps,
    |r: [__m256; 8]| {
        // Each half of `a[n]` and `a[n + 4]` holds four elements of rows 0 to 3 and 4 to 7; two rounds of unpacks transpose the halves.
        let mut a = [r[0]; 8];
        for n in 0..4 {
            a[n] = _mm256_permute2f128_ps::<0x20>(r[n], r[n + 4]);
            a[n + 4] = _mm256_permute2f128_ps::<0x31>(r[n], r[n + 4]);
        }
        for half in [0, 4] {
            for _ in 0..2 {
                let old = [a[half], a[half + 1], a[half + 2], a[half + 3]];
                for n in 0..2 {
                    a[half + 2 * n] = _mm256_unpacklo_ps(old[n], old[n + 2]);
                    a[half + 2 * n + 1] = _mm256_unpackhi_ps(old[n], old[n + 2]);
                }
            }
        }
        a
    }
);

transposition!(
    avx512_8,
    "avx512f",
    __m512d,
    8,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_stream_pd,
    |mut rows: [__m512d; 8]| {
        let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
        let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
        for _ in 0..3 {
            let old = rows;
            for n in 0..4 {
                rows[2 * n] = _mm512_permutex2var_pd(old[n], low, old[n + 4]);
                rows[2 * n + 1] = _mm512_permutex2var_pd(old[n], high, old[n + 4]);
            }
        }
        rows
    }
);

transposition!(
    avx512_4,
    "avx512f",
    __m512,
    16,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_stream_ps,
    |mut rows: [__m512; 16]| {
        let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        for _ in 0..4 {
            let old = rows;
            for n in 0..8 {
                rows[2 * n] = _mm512_permutex2var_ps(old[n], low, old[n + 8]);
                rows[2 * n + 1] = _mm512_permutex2var_ps(old[n], high, old[n + 8]);
            }
        }
        rows
    }
);

transposition!(
    avx512_16,
    "avx512f",
    __m512d,
    4,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_stream_pd,
    |mut rows: [__m512d; 4]| {
        let low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        let high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        for _ in 0..2 {
            let old = rows;
            for n in 0..2 {
                rows[2 * n] = _mm512_permutex2var_pd(old[n], low, old[n + 2]);
                rows[2 * n + 1] = _mm512_permutex2var_pd(old[n], high, old[n + 2]);
            }
        }
        rows
    }
);
