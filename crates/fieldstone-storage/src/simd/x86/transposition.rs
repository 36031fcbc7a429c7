//! Transpositions in registers.
//!
//! A block of `n` registers with `n` lanes is transposed by log₂ `n` rounds that interleave pairs of registers. Shuffles within
//! 128 bits are cheaper than those across. With AVX-512 a block has whole lines of a cache on both sides, for elements of any size,
//! and what is left at the ends of a plane is moved with masks, once more with rows before it, or element by element if it is little.
//! With AVX2 four squares make a block of whole lines.

use super::{LINE, Level, mesh};
use crate::simd::{Fetch, Kernel, NOWHERE, Plane};
use kernels::*;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

pub(super) fn kernel(level: Level, itemsize: usize) -> Option<Kernel> {
    macro_rules! of {
        (lines $lanes:literal, $kernel:ident) => {
            Some(Kernel {
                lanes: $lanes,
                run: $kernel::<false, false>,
                stream: Some($kernel::<true, false>),
                sparse: Some($kernel::<false, true>),
                writes_lines: true,
                weave: mesh::weave(itemsize),
            })
        };
        (halves $lanes:literal, $kernel:ident) => {
            Some(Kernel {
                lanes: $lanes,
                run: $kernel::<false>,
                stream: Some($kernel::<true>),
                sparse: None,
                writes_lines: false,
                weave: None,
            })
        };
        (squares $lanes:literal, $kernel:ident) => {
            Some(Kernel {
                lanes: $lanes,
                run: $kernel,
                // Many lines would be under way at a time.
                stream: None,
                sparse: None,
                writes_lines: false,
                weave: None,
            })
        };
    }
    match (itemsize, level) {
        (1, Level::Avx512) => of!(lines 64, avx512_1),
        (1, _) => of!(squares 16, sse2_1),
        (2, Level::Avx512) => of!(lines 32, avx512_2),
        (2, _) => of!(squares 8, sse2_2),
        (4, Level::Avx512) => of!(lines 16, avx512_4),
        (4, Level::Avx2) => of!(halves 16, avx2_lines_4),
        (4, Level::Sse2) => of!(squares 4, sse2_4),
        (8, Level::Avx512) => of!(lines 8, avx512_8),
        (8, Level::Avx2) => of!(halves 8, avx2_lines_8),
        (8, Level::Sse2) => of!(squares 2, sse2_8),
        (16, Level::Avx512) => of!(lines 4, avx512_16),
        (16, Level::Avx2) => of!(halves 4, avx2_lines_16),
        (16, Level::Sse2) => of!(squares 1, sse2_16),
        _ => None,
    }
}

/// A part of a plane element by element.
///
/// # Safety
/// As for every [`Transpose`](crate::simd::Transpose), and `T` has the size of an element and no alignment.
unsafe fn each<T: Copy>(
    source: *const u8,
    target: *mut u8,
    plane: Plane<'_>,
    a: Range<usize>,
    b: Range<usize>,
) {
    for b in b {
        let from = source.wrapping_add(b * size_of::<T>());
        let to = target.wrapping_offset(plane.b[b]);
        for a in a.clone() {
            // SAFETY: both are elements of the plane.
            unsafe {
                let value = from.wrapping_offset(plane.a[a]).cast::<T>().read();
                to.cast::<T>().wrapping_add(a).write(value);
            }
        }
    }
}

/// A function that transposes planes in blocks, and what is left of them element by element.
macro_rules! blocks {
    ($name:ident, $feature:literal, $element:ty, $lanes:literal, $load:ident, $store:ident, $shuffle:ident) => {
        /// # Safety
        /// As for every [`Transpose`](crate::simd::Transpose), and the processor must have the feature.
        #[target_feature(enable = $feature)]
        pub(super) unsafe fn $name(
            source: *const u8,
            target: *mut u8,
            plane: Plane<'_>,
            fetch: &mut Fetch<'_>,
        ) {
            const SIZE: usize = size_of::<$element>();
            let whole_a = plane.a.len() / $lanes * $lanes;
            let whole_b = plane.b.len() / $lanes * $lanes;
            for b in (0..whole_b).step_by($lanes) {
                for a in (0..whole_a).step_by($lanes) {
                    fetch.step();
                    // SAFETY: the block is within what the caller vouches for.
                    unsafe {
                        let rows = $shuffle(std::array::from_fn(|n| {
                            let row = source.wrapping_offset(plane.a[a + n]);
                            $load(row.wrapping_add(b * SIZE).cast())
                        }));
                        for (n, row) in rows.into_iter().enumerate() {
                            let to = target.wrapping_offset(plane.b[b + n]);
                            let to = to.wrapping_add(a * SIZE);
                            $store(to.cast(), row);
                        }
                    }
                }
            }
            let (all_a, all_b) = (plane.a.len(), plane.b.len());
            // SAFETY: as the caller says.
            unsafe {
                each::<$element>(source, target, plane, 0..whole_a, whole_b..all_b);
                each::<$element>(source, target, plane, whole_a..all_a, 0..all_b);
            }
        }
    };
}

/// A function that transposes planes in blocks of whole lines, each of two registers, and what is left of them in squares. The halves of
/// a line are moved one right after the other: it is needed once, and no other is begun before it is written.
macro_rules! half_lines {
    ($name:ident, $feature:literal, $itemsize:literal, $squares:ident, $load:ident, $store:ident, $stream:ident, $shuffle:ident) => {
        /// # Safety
        /// As for every [`Transpose`](crate::simd::Transpose), and the processor must have the feature.
        #[target_feature(enable = $feature)]
        pub(super) unsafe fn $name<const STREAM: bool>(
            source: *const u8,
            target: *mut u8,
            plane: Plane<'_>,
            fetch: &mut Fetch<'_>,
        ) {
            const LANES: usize = LINE / $itemsize;
            const SQUARE: usize = LANES / 2;
            const HALF: usize = LINE / 2;
            let (blocks, rest_a) = plane.a.as_chunks::<LANES>();
            let (lines, rest_b) = plane.b.as_chunks::<LANES>();
            for (b, columns) in lines.iter().enumerate() {
                let from = source.wrapping_add(b * LINE);
                for turn in 0..blocks.len() {
                    fetch.step();
                    let block = zigzag(turn, blocks.len());
                    let rows = &blocks[block];
                    let to = target.wrapping_add(block * LINE);
                    if !STREAM {
                        for &row in rows {
                            let next = from.wrapping_offset(row).wrapping_add(LINE);
                            _mm_prefetch::<_MM_HINT_T0>(next.cast());
                        }
                    }
                    let (rows, others) = rows.split_at(SQUARE);
                    for (half, columns) in columns.chunks_exact(SQUARE).enumerate() {
                        let from = from.wrapping_add(half * HALF);
                        // SAFETY: rows and columns are within what the caller vouches for.
                        unsafe {
                            let square = |rows: &[isize]| {
                                $shuffle(std::array::from_fn(|n| {
                                    $load(from.wrapping_offset(rows[n]).cast())
                                }))
                            };
                            let (values, behind) = (square(rows), square(others));
                            for (n, &column) in columns.iter().enumerate() {
                                let to = to.wrapping_offset(column);
                                if STREAM {
                                    $stream(to.cast(), values[n]);
                                    $stream(to.wrapping_add(HALF).cast(), behind[n]);
                                } else {
                                    $store(to.cast(), values[n]);
                                    $store(to.wrapping_add(HALF).cast(), behind[n]);
                                }
                            }
                        }
                    }
                }
            }
            let (rows, others) = plane.a.split_at(plane.a.len() - rest_a.len());
            let columns = Plane {
                a: rows,
                b: rest_b,
                ..plane
            };
            let rows = Plane { a: others, ..plane };
            // SAFETY: as the caller says; lines and blocks are as long as what they are of.
            unsafe {
                let from = source.wrapping_add(lines.len() * LINE);
                $squares(from, target, columns, fetch);
                let to = target.wrapping_add(blocks.len() * LINE);
                $squares(source, to, rows, fetch);
            }
        }
    };
}

/// A function that transposes the square of elements in each 128 bits of as many registers as there are such elements: in each of
/// some rounds, the first half of them is interleaved with the second. (Loops over so many registers would not be unrolled.)
macro_rules! interleaved {
    ($name:ident, $feature:literal, $vector:ty, $low:ident, $high:ident, $rounds:tt, $pairs:tt) => {
        #[inline]
        #[target_feature(enable = $feature)]
        pub(super) fn $name(mut rows: [$vector; 1 << $rounds.len()]) -> [$vector; 1 << $rounds.len()] {
            interleaved!(@rounds rows, $low, $high, $rounds, $pairs);
            rows
        }
    };
    (@rounds $rows:ident, $low:ident, $high:ident, [$($round:literal),+], $pairs:tt) => {
        $(interleaved!(@round $round, $rows, $low, $high, $pairs);)+
    };
    (@round $round:literal, $rows:ident, $low:ident, $high:ident, [$($n:literal),+]) => {
        $rows = [$($low($rows[$n], $rows[$n + $rows.len() / 2]), $high($rows[$n], $rows[$n + $rows.len() / 2])),+];
    };
}

/// One element is its own transposition.
#[inline]
#[target_feature(enable = "sse2")]
fn sse2_square_16(rows: [__m128i; 1]) -> [__m128i; 1] {
    rows
}

/// The same with AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
fn avx512_square_16(rows: [__m512i; 1]) -> [__m512i; 1] {
    rows
}

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_square_8(r: [__m256d; 4]) -> [__m256d; 4] {
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

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_square_16(r: [__m256d; 2]) -> [__m256d; 2] {
    [
        _mm256_permute2f128_pd::<0x20>(r[0], r[1]),
        _mm256_permute2f128_pd::<0x31>(r[0], r[1]),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_square_4(r: [__m256; 8]) -> [__m256; 8] {
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

/// A function that transposes planes in blocks of whole lines, and what is left of them in blocks with masks.
///
/// Of four rows that are a fourth of a block apart, each fourth is brought into one register. What such registers hold in each 128
/// bits is a square of elements.
macro_rules! lines {
    ($name:ident, $turned:ident, $itemsize:literal, $square:ident) => {
        /// Lines of rows as lines of columns, of which as many as a square has are together.
        ///
        /// # Safety
        /// The bytes that the mask names must be readable from `from` on in each row.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn $turned(
            from: *const u8,
            rows: &[isize; LINE / $itemsize],
            read: u64,
        ) -> [[__m512i; LINE / $itemsize / 4]; 4] {
            const SQUARE: usize = LINE / $itemsize / 4;
            let mut fourths = [[MaybeUninit::uninit(); SQUARE]; 4];
            for n in 0..SQUARE {
                let row = |part: usize| from.wrapping_offset(rows[n + part * SQUARE]);
                // SAFETY: as the caller says.
                let rows = unsafe {
                    [
                        line(row(0), read),
                        line(row(1), read),
                        line(row(2), read),
                        line(row(3), read),
                    ]
                };
                let [first, second, third, last] = parts_transposed(rows);
                fourths[0][n].write(first);
                fourths[1][n].write(second);
                fourths[2][n].write(third);
                fourths[3][n].write(last);
            }
            fourths.map(|fourth| {
                // SAFETY: all of it has been written.
                $square(unsafe { fourth.as_ptr().cast::<[__m512i; SQUARE]>().read() })
            })
        }

        /// # Safety
        /// As for every [`Transpose`](crate::simd::Transpose), and the processor must have the features.
        #[target_feature(enable = "avx512f,avx512bw")]
        pub(super) unsafe fn $name<const STREAM: bool, const SPARSE: bool>(
            source: *const u8,
            target: *mut u8,
            plane: Plane<'_>,
            fetch: &mut Fetch<'_>,
        ) {
            const LANES: usize = LINE / $itemsize;
            const SQUARE: usize = LANES / 4;
            // So many elements are moved as fast one by one as in a block that is mostly empty.
            const FEW: usize = 2 * LANES;
            for (b, columns) in plane.b.chunks(LANES).enumerate() {
                let from = source.wrapping_add(b * LINE);
                let read = if SPARSE {
                    wanted(columns, $itemsize)
                } else {
                    mask(columns.len() * $itemsize)
                };
                let all = plane.a.len();
                let mut done = 0;
                if !SPARSE && let Ok(columns) = <&[isize; LANES]>::try_from(columns) {
                    let blocks = all / LANES;
                    for turn in 0..blocks {
                        fetch.step();
                        let first = zigzag(turn, blocks) * LANES;
                        let rows = plane.a[first..].first_chunk().expect("a whole block");
                        // SAFETY: the block is within what the caller vouches for.
                        unsafe {
                            let squares = $turned(from, rows, u64::MAX);
                            let to = target.wrapping_add(first * $itemsize);
                            for (&value, &column) in squares.as_flattened().iter().zip(columns) {
                                put::<STREAM>(value, to.wrapping_offset(column), u64::MAX);
                            }
                        }
                    }
                    done = blocks * LANES;
                }
                while done < all {
                    fetch.step();
                    let left = all - done;
                    if !STREAM && !SPARSE && left * columns.len() <= FEW {
                        let columns = b * LANES..b * LANES + columns.len();
                        // SAFETY: as the caller says.
                        unsafe {
                            each::<[u8; $itemsize]>(source, target, plane, done..all, columns)
                        };
                        break;
                    }
                    // Rather than a part of a line, some rows are moved once more.
                    let again = !STREAM && left < LANES && all >= LANES;
                    let first = if again { all - LANES } else { done };
                    let rows = &plane.a[first..all.min(first + LANES)];
                    done = first + rows.len();
                    let to = target.wrapping_add(first * $itemsize);
                    let written = mask(rows.len() * $itemsize);
                    let repeated;
                    let rows: &[isize; LANES] = match rows.try_into() {
                        Ok(rows) => rows,
                        Err(_) => {
                            let mut all = [rows[0]; LANES];
                            all[..rows.len()].copy_from_slice(rows);
                            repeated = all;
                            &repeated
                        }
                    };
                    // SAFETY: the rows are within what the caller vouches for.
                    let squares = unsafe { $turned(from, rows, read) };
                    // SAFETY: the columns are within what the caller vouches for.
                    let write = |value, column| unsafe {
                        put::<STREAM>(value, to.wrapping_offset(column), written)
                    };
                    for (fourth, first) in (0..columns.len()).step_by(SQUARE).enumerate() {
                        let square = squares[fourth];
                        for n in 0..SQUARE {
                            if let Some(&column) = columns.get(first + n)
                                && !(SPARSE && column == NOWHERE)
                            {
                                write(square[n], column);
                            }
                        }
                    }
                }
            }
        }
    };
}

/// Which block comes in which turn: one of the first half, one of the second. A processor that saw blocks follow each other at one
/// distance would go on at it behind the last one, to where the target may be that another thread writes to.
fn zigzag(turn: usize, blocks: usize) -> usize {
    turn / 2 + (turn % 2) * blocks.div_ceil(2)
}

/// The bytes of a line that the mask names; the next line is asked for.
///
/// # Safety
/// These bytes must be readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn line(from: *const u8, mask: u64) -> __m512i {
    // SAFETY: as the caller says; nothing is read of a line that is asked for.
    unsafe {
        _mm_prefetch::<_MM_HINT_T1>(from.wrapping_add(LINE).cast());
        _mm512_maskz_loadu_epi8(mask, from.cast())
    }
}

/// Writes the bytes that the mask names, whole lines past the caches if that is wanted.
///
/// # Safety
/// These bytes must be writable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn put<const STREAM: bool>(value: __m512i, to: *mut u8, mask: u64) {
    // SAFETY: as the caller says.
    unsafe {
        if STREAM && mask == u64::MAX {
            _mm512_stream_si512(to.cast(), value);
        } else if mask == u64::MAX {
            _mm512_storeu_si512(to.cast(), value);
        } else {
            _mm512_mask_storeu_epi8(to.cast(), mask, value);
        }
    }
}

/// The bytes of a line whose elements are wanted.
fn wanted(columns: &[isize], itemsize: usize) -> u64 {
    let element = mask(itemsize);
    let wanted = columns
        .iter()
        .enumerate()
        .filter(|&(_, &column)| column != NOWHERE);
    wanted.fold(0, |found, (n, _)| found | element << (n * itemsize))
}

/// The first so many bytes of a register.
fn mask(bytes: usize) -> u64 {
    u64::MAX >> (LINE - bytes)
}

#[rustfmt::skip]
mod kernels {
    use super::*;

    interleaved!(sse2_square_1, "sse2", __m128i, _mm_unpacklo_epi8, _mm_unpackhi_epi8, [1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6, 7]);
    interleaved!(sse2_square_2, "sse2", __m128i, _mm_unpacklo_epi16, _mm_unpackhi_epi16, [1, 2, 3], [0, 1, 2, 3]);
    interleaved!(sse2_square_4, "sse2", __m128i, _mm_unpacklo_epi32, _mm_unpackhi_epi32, [1, 2], [0, 1]);
    interleaved!(sse2_square_8, "sse2", __m128i, _mm_unpacklo_epi64, _mm_unpackhi_epi64, [1], [0]);
    blocks!(sse2_1, "sse2", u8, 16, _mm_loadu_si128, _mm_storeu_si128, sse2_square_1);
    blocks!(sse2_2, "sse2", [u8; 2], 8, _mm_loadu_si128, _mm_storeu_si128, sse2_square_2);
    blocks!(sse2_4, "sse2", [u8; 4], 4, _mm_loadu_si128, _mm_storeu_si128, sse2_square_4);
    blocks!(sse2_8, "sse2", [u8; 8], 2, _mm_loadu_si128, _mm_storeu_si128, sse2_square_8);
    blocks!(sse2_16, "sse2", [u8; 16], 1, _mm_loadu_si128, _mm_storeu_si128, sse2_square_16);
    blocks!(avx2_4, "avx2", [u8; 4], 8, _mm256_loadu_ps, _mm256_storeu_ps, avx2_square_4);
    blocks!(avx2_8, "avx2", [u8; 8], 4, _mm256_loadu_pd, _mm256_storeu_pd, avx2_square_8);
    blocks!(avx2_16, "avx2", [u8; 16], 2, _mm256_loadu_pd, _mm256_storeu_pd, avx2_square_16);

    half_lines!(avx2_lines_4, "avx2", 4, avx2_4, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_stream_ps, avx2_square_4);
    half_lines!(avx2_lines_8, "avx2", 8, avx2_8, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_stream_pd, avx2_square_8);
    half_lines!(avx2_lines_16, "avx2", 16, avx2_16, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_stream_pd, avx2_square_16);

    interleaved!(avx512_square_1, "avx512bw", __m512i, _mm512_unpacklo_epi8, _mm512_unpackhi_epi8, [1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6, 7]);
    interleaved!(avx512_square_2, "avx512bw", __m512i, _mm512_unpacklo_epi16, _mm512_unpackhi_epi16, [1, 2, 3], [0, 1, 2, 3]);
    interleaved!(avx512_square_4, "avx512f", __m512i, _mm512_unpacklo_epi32, _mm512_unpackhi_epi32, [1, 2], [0, 1]);
    interleaved!(avx512_square_8, "avx512f", __m512i, _mm512_unpacklo_epi64, _mm512_unpackhi_epi64, [1], [0]);
    lines!(avx512_1, avx512_turned_1, 1, avx512_square_1);
    lines!(avx512_2, avx512_turned_2, 2, avx512_square_2);
    lines!(avx512_4, avx512_turned_4, 4, avx512_square_4);
    lines!(avx512_8, avx512_turned_8, 8, avx512_square_8);
    lines!(avx512_16, avx512_turned_16, 16, avx512_square_16);
}

#[cfg(test)]
mod tests {
    use super::super::levels;
    use super::*;
    use proptest::prelude::*;

    /// A plane whose rows and columns begin at the places, moved by a kernel or element by element.
    struct Case {
        itemsize: usize,
        source: Vec<u8>,
        rows: Vec<isize>,
        columns: Vec<isize>,
        bytes: usize,
    }

    impl Case {
        fn of(a: usize, b: usize, itemsize: usize, gap: usize, upwards: bool) -> Self {
            let (row, column) = (b * itemsize + gap, (a * itemsize).next_multiple_of(LINE));
            let source = (0..a * row).map(|n| (n * 7 + n / 251) as u8).collect();
            let places = |count: usize, stride: usize| -> Vec<isize> {
                let place = |n: usize| if upwards { n } else { count - 1 - n };
                (0..count).map(|n| (place(n) * stride) as isize).collect()
            };
            Self {
                itemsize,
                source,
                rows: places(a, row),
                columns: places(b, column),
                bytes: b * column,
            }
        }

        /// What is in whole lines of a target whose columns begin so many bytes behind a line.
        fn moved(&self, skip: usize, run: impl Fn(*const u8, *mut u8, Plane<'_>)) -> Vec<u8> {
            let mut target = vec![0u8; self.bytes + 2 * LINE];
            let start = target.as_ptr().align_offset(LINE);
            let plane = Plane {
                a: &self.rows,
                b: &self.columns,
                itemsize: self.itemsize,
            };
            run(
                self.source.as_ptr(),
                target[start + skip..].as_mut_ptr(),
                plane,
            );
            crate::simd::fence();
            target[start..][..self.bytes + LINE].to_vec()
        }

        fn expected(&self, skip: usize) -> Vec<u8> {
            self.moved(skip, |_, target, _| {
                for (a, &row) in self.rows.iter().enumerate() {
                    let wanted = |&(_, &column): &(usize, &isize)| column != NOWHERE;
                    for (b, &column) in self.columns.iter().enumerate().filter(wanted) {
                        let from = row as usize + b * self.itemsize;
                        let to = target
                            .wrapping_offset(column)
                            .wrapping_add(a * self.itemsize);
                        let element = &self.source[from..from + self.itemsize];
                        // SAFETY: the target has room for each row.
                        unsafe { to.copy_from_nonoverlapping(element.as_ptr(), self.itemsize) };
                    }
                }
            })
        }
    }

    #[test]
    fn every_block_has_one_turn_and_none_follows_another_at_one_distance() {
        for blocks in 0..20usize {
            let order: Vec<usize> = (0..blocks).map(|turn| zigzag(turn, blocks)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..blocks), "{order:?}");
            let alike = |three: &[usize]| three[0] + three[2] == 2 * three[1];
            assert!(!order.windows(3).any(alike), "{order:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_kernel_moves_planes_of_any_size(
            a in 1usize..150, b in 1usize..150, size in 0u32..5, gap in 0usize..70, skip in 0usize..64, upwards: bool,
            fetches: bool, step in 0usize..12
        ) {
            let itemsize = 1 << size;
            let others = [0, 4096, -64];
            for kernel in levels().filter_map(|level| kernel(level, itemsize)) {
                let mut case = Case::of(a, b, itemsize, gap, upwards);
                let moved = |skip, run: crate::simd::Transpose| {
                    case.moved(skip, |source, target, plane| {
                        let mut fetch = if fetches { Fetch::new(source, &others, 200, a) } else { Fetch::nothing() };
                        // SAFETY: source and target have room for the plane.
                        unsafe { run(source, target, plane, &mut fetch) };
                    })
                };
                prop_assert!(moved(skip, kernel.run) == case.expected(skip), "{} lanes", kernel.lanes);
                let stream = kernel.stream.unwrap_or(kernel.run);
                prop_assert!(moved(0, stream) == case.expected(0), "{} lanes, streaming", kernel.lanes);
                if let Some(sparse) = kernel.sparse {
                    let unwanted = case.columns.iter_mut().skip(step % 3).step_by(1 + step / 3);
                    unwanted.for_each(|column| *column = NOWHERE);
                    let moved = case.moved(skip, |source, target, plane| {
                        // SAFETY: as above.
                        unsafe { sparse(source, target, plane, &mut Fetch::nothing()) };
                    });
                    prop_assert!(moved == case.expected(skip), "{} lanes, sparse", kernel.lanes);
                }
            }
        }
    }
}
