//! Elements that are not contiguous on both sides, in tiles that keep both sides in cache.

use crate::copy::{Source, Target, share, streams};
use crate::loops::{Loop, Nest, runs, turns};
use crate::simd::{self, Kernel};

/// Elements of a tile along the axis with the target's smallest stride, and along the one with the source's smallest.
const TILE: (usize, usize) = (64, 64);

/// A line of a cache.
const LINE: usize = 64;

/// Two axes of a nest: `a` has the smallest stride of the target, `b` that of the source.
#[derive(Clone, Copy)]
struct Tile {
    a: Loop,
    b: Loop,
    itemsize: usize,
}

/// Copies the nest's elements.
///
/// # Safety
/// The nest's elements must be readable from `source` on and writable from `target` on, by nobody else meanwhile, and be apart.
pub(crate) unsafe fn copy(nest: &Nest, source: Source, target: Target, threads: usize) {
    let mut outer = nest.loops.clone();
    let one = Loop {
        size: 1,
        source: 0,
        target: 0,
    };
    let a = outer.pop().unwrap_or(one);
    let b = match (0..outer.len()).min_by_key(|&n| outer[n].source.unsigned_abs()) {
        // The source is best walked along `a` too: a tile is then a few rows.
        Some(n) if outer[n].source.unsigned_abs() >= a.source.unsigned_abs() => outer.pop(),
        Some(n) => Some(outer.remove(n)),
        None => None,
    };
    let whole = Tile {
        a,
        b: b.unwrap_or(one),
        itemsize: nest.itemsize,
    };
    let unit = nest.itemsize as isize;
    let streaming = streams(nest.bytes()) && whole.b.target % LINE as isize == 0;
    let kernel = if a.target == unit && whole.b.source == unit {
        simd::transposition(nest.itemsize, streaming)
    } else {
        None
    };
    let (blocks_a, blocks_b) = (a.size.div_ceil(TILE.0), whole.b.size.div_ceil(TILE.1));
    let tiles = blocks_a * blocks_b;
    share(
        turns(&outer) * tiles,
        nest.bytes(),
        threads,
        &|begin, end| {
            let mut turn = begin / tiles;
            let step = outer.last().unwrap_or(&one);
            runs(&outer, turn, end.div_ceil(tiles), |from, to, count| {
                for n in 0..count as isize {
                    let (from, to) = (from + n * step.source, to + n * step.target);
                    let first = begin.saturating_sub(turn * tiles);
                    for tile in first..(end - turn * tiles).min(tiles) {
                        let (at_a, at_b) = (tile % blocks_a * TILE.0, tile / blocks_a * TILE.1);
                        let part = whole.part(at_a, at_b);
                        let from = from + at_a as isize * a.source + at_b as isize * whole.b.source;
                        let to = to + at_a as isize * a.target + at_b as isize * whole.b.target;
                        // SAFETY: the part is within the nest's elements.
                        unsafe { part.copy(source.at(from), target.at(to), kernel.as_ref()) };
                    }
                    turn += 1;
                }
            });
            simd::fence();
        },
    );
}

impl Tile {
    /// The tile that begins at these indices.
    fn part(self, at_a: usize, at_b: usize) -> Tile {
        let a = Loop {
            size: TILE.0.min(self.a.size - at_a),
            ..self.a
        };
        let b = Loop {
            size: TILE.1.min(self.b.size - at_b),
            ..self.b
        };
        Tile { a, b, ..self }
    }

    /// # Safety
    /// As for the copy this is a part of; with a kernel, `a` has unit stride in the target and `b` in the source.
    unsafe fn copy(self, source: *const u8, target: *mut u8, kernel: Option<&Kernel>) {
        let Some(kernel) = kernel else {
            // SAFETY: as the caller says.
            return unsafe { self.elements(source, target) };
        };
        // SAFETY: as the caller says.
        unsafe { self.blocks(source, target, kernel) }
    }

    /// Transposes square blocks, and the borders that are left element by element.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    unsafe fn blocks(self, source: *const u8, target: *mut u8, kernel: &Kernel) {
        let lanes = kernel.lanes;
        let head = kernel.head(target, self.itemsize).min(self.a.size);
        let (count_a, count_b) = ((self.a.size - head) / lanes, self.b.size / lanes);
        let (end_a, end_b) = (head + count_a * lanes, count_b * lanes);
        let at = |a: usize, b: usize| {
            let (a, b) = (a as isize, b as isize);
            (
                source.wrapping_offset(a * self.a.source + b * self.b.source),
                target.wrapping_offset(a * self.a.target + b * self.b.target),
            )
        };
        let border = |a: usize, b: usize, to_a: usize, to_b: usize| {
            let (from, to) = at(a, b);
            let size = |axis: Loop, size| Loop { size, ..axis };
            let part = Tile {
                a: size(self.a, to_a - a),
                b: size(self.b, to_b - b),
                ..self
            };
            // SAFETY: a part of this tile.
            unsafe { part.elements(from, to) };
        };
        let (from, to) = at(head, 0);
        // SAFETY: the blocks lie within this tile, whose strides are as the kernel needs them.
        unsafe { (kernel.run)(from, self.a.source, to, self.b.target, count_a, count_b) };
        border(0, 0, head, end_b);
        border(end_a, 0, self.a.size, end_b);
        border(0, end_b, self.a.size, self.b.size);
    }

    /// # Safety
    /// As for [`copy`](Self::copy).
    unsafe fn elements(self, source: *const u8, target: *mut u8) {
        // SAFETY: as the caller says.
        unsafe {
            match self.itemsize {
                1 => self.typed::<u8>(source, target),
                2 => self.typed::<[u8; 2]>(source, target),
                4 => self.typed::<[u8; 4]>(source, target),
                8 => self.typed::<[u8; 8]>(source, target),
                16 => self.typed::<[u8; 16]>(source, target),
                bytes => self.each(|from, to| {
                    let (from, to) = (source.wrapping_offset(from), target.wrapping_offset(to));
                    to.copy_from_nonoverlapping(from, bytes);
                }),
            }
        }
    }

    /// # Safety
    /// As for [`copy`](Self::copy), and `T` has the size of an element and no alignment.
    unsafe fn typed<T: Copy>(self, source: *const u8, target: *mut u8) {
        self.each(|from, to| {
            let from = source.wrapping_offset(from).cast::<T>();
            // SAFETY: both are elements of the tile.
            unsafe { target.wrapping_offset(to).cast::<T>().write(from.read()) };
        });
    }

    #[inline(always)]
    fn each(self, body: impl Fn(isize, isize)) {
        for b in 0..self.b.size as isize {
            for a in 0..self.a.size as isize {
                body(
                    b * self.b.source + a * self.a.source,
                    b * self.b.target + a * self.a.target,
                );
            }
        }
    }
}
