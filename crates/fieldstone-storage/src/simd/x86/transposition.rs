//! Transpositions in registers.
//!
//! A block of `n` registers with `n` lanes is transposed by log₂ `n` rounds that interleave pairs of registers. Shuffles within
//! 128 bits are cheaper than those across.

use super::Level;
use crate::simd::{Fetch, Kernel, Plane};
use std::arch::x86_64::*;

pub(super) fn kernel(level: Level, itemsize: usize, streaming: bool) -> Option<Kernel> {
    macro_rules! kernel {
        ($whole:ident, $edge:expr, $lanes:literal) => {
            Some(Kernel {
                lanes: $lanes,
                whole: if streaming {
                    $whole::<true, false>
                } else {
                    $whole::<false, false>
                },
                fetching: if streaming {
                    $whole::<true, true>
                } else {
                    $whole::<false, true>
                },
                edge: $edge,
            })
        };
    }
    macro_rules! masked {
        ($edge:ident) => {
            if streaming {
                $edge::<true>
            } else {
                $edge::<false>
            }
        };
    }
    match (itemsize, level) {
        (1, Level::Avx512) => kernel!(sse2_1, masked!(masked_1), 16),
        (1, _) => kernel!(sse2_1, each::<u8>, 16),
        (2, Level::Avx512) => kernel!(sse2_2, masked!(masked_2), 8),
        (2, _) => kernel!(sse2_2, each::<[u8; 2]>, 8),
        (4, Level::Avx512) => kernel!(avx512_4, masked!(masked_4), 16),
        (4, Level::Avx2) => kernel!(avx2_4, each::<[u8; 4]>, 8),
        (4, Level::Sse2) => kernel!(sse2_4, each::<[u8; 4]>, 4),
        (8, Level::Avx512) => kernel!(avx512_8, masked!(masked_8), 8),
        (8, Level::Avx2) => kernel!(avx2_8, each::<[u8; 8]>, 4),
        (8, Level::Sse2) => kernel!(sse2_8, each::<[u8; 8]>, 2),
        (16, Level::Avx512) => kernel!(avx512_16, masked!(masked_16), 4),
        (16, Level::Avx2) => kernel!(avx2_16, each::<[u8; 16]>, 2),
        (16, Level::Sse2) => kernel!(sse2_16, each::<[u8; 16]>, 1),
        _ => None,
    }
}

/// A plane element by element.
///
/// # Safety
/// As for every [`Transpose`], and `T` has the size of an element and no alignment.
unsafe fn each<T: Copy>(source: *const u8, target: *mut u8, plane: Plane, _: &mut Fetch) {
    for b in 0..plane.b as isize {
        for a in 0..plane.a as isize {
            let from = source.wrapping_offset(a * plane.source).cast::<T>();
            let to = target.wrapping_offset(b * plane.target).cast::<T>();
            // SAFETY: both are elements of the plane.
            unsafe { to.wrapping_offset(a).write(from.wrapping_offset(b).read()) };
        }
    }
}

/// A function for planes of whole blocks: `take` loads a block and transposes it.
macro_rules! whole {
    ($name:ident, $feature:literal, $lanes:literal, $vector:ty, $take:ident, $store:ident, $stream:ident) => {
        /// # Safety
        /// As for every [`Transpose`], and the processor must have the feature. With `STREAM`, target rows begin at cache lines.
        #[target_feature(enable = $feature)]
        unsafe fn $name<const STREAM: bool, const FETCH: bool>(
            source: *const u8,
            target: *mut u8,
            plane: Plane,
            fetch: &mut Fetch,
        ) {
            const WIDTH: usize = size_of::<$vector>();
            for b in 0..plane.b / $lanes {
                let from = source.wrapping_add(b * WIDTH);
                let to = target.wrapping_offset((b * $lanes) as isize * plane.target);
                for a in 0..plane.a / $lanes {
                    let from = from.wrapping_offset((a * $lanes) as isize * plane.source);
                    let to = to.wrapping_add(a * WIDTH);
                    if FETCH {
                        fetch.step();
                    }
                    // SAFETY: the block is within what the caller vouches for.
                    unsafe {
                        for (n, row) in $take(from, plane.source).into_iter().enumerate() {
                            let to = to.wrapping_offset(n as isize * plane.target);
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

/// A function for planes of any size, which leaves alone what is beyond them.
macro_rules! masked {
    (
        $name:ident, $feature:literal, $lanes:literal, $vector:ty, $mask:ty, $bits:literal,
        $zero:ident, $load:ident, $store:ident, $stream:ident, $shuffle:ident
    ) => {
        /// # Safety
        /// As for every [`Transpose`], and the processor must have the features. With `STREAM`, rows of the target are whole lines apart.
        #[target_feature(enable = $feature)]
        unsafe fn $name<const STREAM: bool>(
            source: *const u8,
            target: *mut u8,
            plane: Plane,
            _: &mut Fetch,
        ) {
            const WIDTH: usize = size_of::<$vector>();
            // As many bits as so many elements have.
            let mask = |count: usize| <$mask>::MAX >> (<$mask>::BITS as usize - count * $bits);
            for b in (0..plane.b).step_by($lanes) {
                let count_b = (plane.b - b).min($lanes);
                let from = source.wrapping_add(b * WIDTH / $lanes);
                let to = target.wrapping_offset(b as isize * plane.target);
                for a in (0..plane.a).step_by($lanes) {
                    let count_a = (plane.a - a).min($lanes);
                    let from = from.wrapping_offset(a as isize * plane.source);
                    let to = to.wrapping_add(a * WIDTH / $lanes);
                    let (read, written) = (mask(count_b), mask(count_a));
                    let aligned = to.addr().is_multiple_of(WIDTH);
                    let mut rows = [$zero(); $lanes];
                    // SAFETY: what is within the masks is within what the caller vouches for.
                    unsafe {
                        for (n, row) in rows.iter_mut().enumerate() {
                            if n < count_a {
                                let from = from.wrapping_offset(n as isize * plane.source);
                                *row = $load(read, from.cast());
                            }
                        }
                        for (n, row) in $shuffle(rows).into_iter().enumerate() {
                            let to = to.wrapping_offset(n as isize * plane.target);
                            if n >= count_b {
                                break;
                            } else if STREAM && count_a == $lanes && aligned {
                                $stream(to.cast(), row);
                            } else {
                                $store(to.cast(), written, row);
                            }
                        }
                    }
                }
            }
        }
    };
}

/// A function that loads a block and transposes it.
macro_rules! take {
    ($name:ident, $feature:literal, $lanes:literal, $vector:ty, $load:ident, $shuffle:ident) => {
        /// # Safety
        /// The block must be readable, and the processor must have the feature.
        #[inline]
        #[target_feature(enable = $feature)]
        unsafe fn $name(source: *const u8, stride: isize) -> [$vector; $lanes] {
            // SAFETY: as the caller says.
            $shuffle(std::array::from_fn(|n| unsafe {
                $load(source.wrapping_offset(n as isize * stride).cast())
            }))
        }
    };
}

/// A function that transposes a block of 128-bit registers.
macro_rules! interleaved {
    ($name:ident, $lanes:literal, $rounds:literal, $low:ident, $high:ident) => {
        #[inline]
        #[target_feature(enable = "sse2")]
        fn $name(mut rows: [__m128i; $lanes]) -> [__m128i; $lanes] {
            for _ in 0..$rounds {
                let old = rows;
                for n in 0..$lanes / 2 {
                    rows[2 * n] = $low(old[n], old[n + $lanes / 2]);
                    rows[2 * n + 1] = $high(old[n], old[n + $lanes / 2]);
                }
            }
            rows
        }
    };
}

macro_rules! sse2 {
    ($whole:ident, $take:ident, $shuffle:ident, $lanes:literal) => {
        take!($take, "sse2", $lanes, __m128i, _mm_loadu_si128, $shuffle);
        whole!(
            $whole,
            "sse2",
            $lanes,
            __m128i,
            $take,
            _mm_storeu_si128,
            _mm_stream_si128
        );
    };
}

interleaved!(shuffled_1, 16, 4, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
interleaved!(shuffled_2, 8, 3, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
interleaved!(shuffled_4, 4, 2, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
interleaved!(shuffled_8, 2, 1, _mm_unpacklo_epi64, _mm_unpackhi_epi64);
/// A block of one element.
#[inline]
#[target_feature(enable = "sse2")]
fn shuffled_16(rows: [__m128i; 1]) -> [__m128i; 1] {
    rows
}

sse2!(sse2_1, taken_1, shuffled_1, 16);
sse2!(sse2_2, taken_2, shuffled_2, 8);
sse2!(sse2_4, taken_4, shuffled_4, 4);
sse2!(sse2_8, taken_8, shuffled_8, 2);
sse2!(sse2_16, taken_16, shuffled_16, 1);

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_shuffled_8(r: [__m256d; 4]) -> [__m256d; 4] {
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

take!(
    avx2_taken_8,
    "avx2",
    4,
    __m256d,
    _mm256_loadu_pd,
    avx2_shuffled_8
);
whole!(
    avx2_8,
    "avx2",
    4,
    __m256d,
    avx2_taken_8,
    _mm256_storeu_pd,
    _mm256_stream_pd
);

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_shuffled_16(r: [__m256d; 2]) -> [__m256d; 2] {
    [
        _mm256_permute2f128_pd::<0x20>(r[0], r[1]),
        _mm256_permute2f128_pd::<0x31>(r[0], r[1]),
    ]
}

take!(
    avx2_taken_16,
    "avx2",
    2,
    __m256d,
    _mm256_loadu_pd,
    avx2_shuffled_16
);
whole!(
    avx2_16,
    "avx2",
    2,
    __m256d,
    avx2_taken_16,
    _mm256_storeu_pd,
    _mm256_stream_pd
);

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_shuffled_4(r: [__m256; 8]) -> [__m256; 8] {
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

take!(
    avx2_taken_4,
    "avx2",
    8,
    __m256,
    _mm256_loadu_ps,
    avx2_shuffled_4
);
whole!(
    avx2_4,
    "avx2",
    8,
    __m256,
    avx2_taken_4,
    _mm256_storeu_ps,
    _mm256_stream_ps
);

/// Transposes the four by four parts of 128 bits of four registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn parts_transposed(rows: [__m512i; 4]) -> [__m512i; 4] {
    let a = _mm512_shuffle_i64x2::<0x88>(rows[0], rows[1]);
    let b = _mm512_shuffle_i64x2::<0xdd>(rows[0], rows[1]);
    let c = _mm512_shuffle_i64x2::<0x88>(rows[2], rows[3]);
    let d = _mm512_shuffle_i64x2::<0xdd>(rows[2], rows[3]);
    [
        _mm512_shuffle_i64x2::<0x88>(a, c),
        _mm512_shuffle_i64x2::<0x88>(b, d),
        _mm512_shuffle_i64x2::<0xdd>(a, c),
        _mm512_shuffle_i64x2::<0xdd>(b, d),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn avx512_shuffled_8(r: [__m512i; 8]) -> [__m512i; 8] {
    // Of each pair of rows the even and the odd columns, whose four parts of 128 bits belong to as many columns.
    let even = |n: usize| _mm512_unpacklo_epi64(r[n], r[n + 1]);
    let odd = |n: usize| _mm512_unpackhi_epi64(r[n], r[n + 1]);
    let [a, c, e, g] = parts_transposed([even(0), even(2), even(4), even(6)]);
    let [b, d, f, h] = parts_transposed([odd(0), odd(2), odd(4), odd(6)]);
    [a, b, c, d, e, f, g, h]
}

/// Transposes the four by four elements of four bytes in each 128 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn fours_transposed(rows: [__m512i; 4]) -> [__m512i; 4] {
    let a = _mm512_unpacklo_epi32(rows[0], rows[1]);
    let b = _mm512_unpackhi_epi32(rows[0], rows[1]);
    let c = _mm512_unpacklo_epi32(rows[2], rows[3]);
    let d = _mm512_unpackhi_epi32(rows[2], rows[3]);
    [
        _mm512_unpacklo_epi64(a, c),
        _mm512_unpackhi_epi64(a, c),
        _mm512_unpacklo_epi64(b, d),
        _mm512_unpackhi_epi64(b, d),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn avx512_shuffled_4(r: [__m512i; 16]) -> [__m512i; 16] {
    // Of each four rows every fourth column, whose four parts of 128 bits belong to as many columns.
    let a = fours_transposed([r[0], r[1], r[2], r[3]]);
    let b = fours_transposed([r[4], r[5], r[6], r[7]]);
    let c = fours_transposed([r[8], r[9], r[10], r[11]]);
    let d = fours_transposed([r[12], r[13], r[14], r[15]]);
    let [a0, a4, a8, a12] = parts_transposed([a[0], b[0], c[0], d[0]]);
    let [a1, a5, a9, a13] = parts_transposed([a[1], b[1], c[1], d[1]]);
    let [a2, a6, a10, a14] = parts_transposed([a[2], b[2], c[2], d[2]]);
    let [a3, a7, a11, a15] = parts_transposed([a[3], b[3], c[3], d[3]]);
    [
        a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15,
    ]
}

take!(
    avx512_taken_16,
    "avx512f",
    4,
    __m512i,
    _mm512_loadu_si512,
    parts_transposed
);

take!(
    avx512_taken_8,
    "avx512f",
    8,
    __m512i,
    _mm512_loadu_si512,
    avx512_shuffled_8
);
take!(
    avx512_taken_4,
    "avx512f",
    16,
    __m512i,
    _mm512_loadu_si512,
    avx512_shuffled_4
);

macro_rules! avx512 {
    ($whole:ident, $take:ident, $lanes:literal) => {
        whole!(
            $whole,
            "avx512f",
            $lanes,
            __m512i,
            $take,
            _mm512_storeu_si512,
            _mm512_stream_si512
        );
    };
}

avx512!(avx512_4, avx512_taken_4, 16);
avx512!(avx512_8, avx512_taken_8, 8);
avx512!(avx512_16, avx512_taken_16, 4);

masked!(
    masked_1,
    "avx512bw,avx512vl",
    16,
    __m128i,
    u16,
    1,
    _mm_setzero_si128,
    _mm_maskz_loadu_epi8,
    _mm_mask_storeu_epi8,
    _mm_stream_si128,
    shuffled_1
);
masked!(
    masked_2,
    "avx512bw,avx512vl",
    8,
    __m128i,
    u8,
    1,
    _mm_setzero_si128,
    _mm_maskz_loadu_epi16,
    _mm_mask_storeu_epi16,
    _mm_stream_si128,
    shuffled_2
);
masked!(
    masked_4,
    "avx512f",
    16,
    __m512i,
    u16,
    1,
    _mm512_setzero_si512,
    _mm512_maskz_loadu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_stream_si512,
    avx512_shuffled_4
);
masked!(
    masked_8,
    "avx512f",
    8,
    __m512i,
    u8,
    1,
    _mm512_setzero_si512,
    _mm512_maskz_loadu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_stream_si512,
    avx512_shuffled_8
);
masked!(
    masked_16,
    "avx512f",
    4,
    __m512i,
    u8,
    2,
    _mm512_setzero_si512,
    _mm512_maskz_loadu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_stream_si512,
    parts_transposed
);
