//! Elements that are not contiguous on both sides, in tiles that keep both sides in cache.

use crate::PerAxis;
use crate::loops::{Loop, Nest, runs, turns};
use crate::share::{Source, Target, share};
use crate::simd::{self, Blocks, Kernel};
use crate::stage::Stage;

/// A line of a cache. A tile that is written past the cache is two lines wide: few rows of the source are then read side by side,
/// while those of the next tile are fetched ahead.
const LINE: usize = 64;

/// Rows that lie multiples of this many bytes apart fall into one set of the first-level cache, which has no room for many.
const ALIAS: usize = 2048;

/// Bytes of other tiles along the axis with the target's smallest stride.
const WIDTH: usize = 512;

/// The same if that is also the axis with the source's smallest stride, so that a tile is a few rows.
const ROW: usize = 4096;

/// Elements of a tile along the axis with the source's smallest stride.
const LENGTH: usize = 256;

/// No loop at all.
const ONCE: Loop = Loop {
    size: 1,
    source: 0,
    target: 0,
};

/// Copies the nest's elements.
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
    let plan = Plan::new(nest, target, past_caches);
    let tiles = plan.a.count * plan.b.count;
    let step = plan.outer.last().unwrap_or(&ONCE);
    share(
        turns(&plan.outer) * tiles,
        nest.bytes(),
        threads,
        &|begin, end| {
            let mut turn = begin / tiles;
            runs(&plan.outer, turn, end.div_ceil(tiles), |from, to, count| {
                for n in 0..count as isize {
                    let (from, to) = (from + n * step.source, to + n * step.target);
                    let first = begin.saturating_sub(turn * tiles);
                    for tile in first..(end - turn * tiles).min(tiles) {
                        let (tile, skip) = plan.tile(tile);
                        let (from, to) = (source.at(from + skip.0), target.at(to + skip.1));
                        // SAFETY: the tile is within the nest's elements.
                        unsafe {
                            match &plan.stage {
                                Some(stage) => stage.copy(&tile, from, to),
                                None => tile.copy(from, to),
                            }
                        }
                    }
                    turn += 1;
                }
            });
            simd::fence();
        },
    );
}

/// How a nest is cut into tiles.
struct Plan {
    /// Loops over the plane of tiles.
    outer: PerAxis<Loop>,
    /// The axis with the smallest stride of the target.
    a: Cut,
    /// The axis with the smallest stride of the source, or any other if that is `a`.
    b: Cut,
    itemsize: usize,
    kernel: Option<Kernel>,
    /// Whether the kernel writes past the caches; it then needs targets that begin at a cache line.
    streaming: bool,
    /// How tiles go through memory between, if they do.
    stage: Option<Stage>,
}

/// A loop that is cut into `count` parts of about the same length. All but the first and the last begin and end a multiple of
/// `grain` behind `head`.
struct Cut {
    whole: Loop,
    head: usize,
    grain: usize,
    count: usize,
}

/// A part of the plane of tiles.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    pub a: Loop,
    pub b: Loop,
    pub itemsize: usize,
    kernel: Option<&'a Kernel>,
    streaming: bool,
    /// Whether what follows the tile along `a` is fetched ahead.
    pub fetches: bool,
}

impl Plan {
    fn new(nest: &Nest, target: Target, past_caches: bool) -> Self {
        let mut outer = nest.loops.clone();
        let a = outer.pop().unwrap_or(ONCE);
        let nearest = (0..outer.len()).min_by_key(|&n| outer[n].source.unsigned_abs());
        let b = match nearest {
            // The source too is best walked along `a`.
            Some(n) if outer[n].source.unsigned_abs() >= a.source.unsigned_abs() => outer.pop(),
            Some(n) => Some(outer.remove(n)),
            None => None,
        };
        let b = b.unwrap_or(ONCE);
        let unit = nest.itemsize as isize;
        let transposes = a.target == unit && b.source == unit;
        let address = target.0.addr();
        let head = address.next_multiple_of(LINE) - address;
        let in_lines = std::iter::once(&b)
            .chain(&outer)
            .all(|axis| axis.target % LINE as isize == 0)
            && head.is_multiple_of(nest.itemsize);
        let aliases = |stride: isize| stride.unsigned_abs().is_multiple_of(ALIAS);
        let (from_aliases, to_aliases) = (aliases(a.source), aliases(b.target));
        let staged = past_caches && transposes && (!in_lines || from_aliases);
        let streaming = past_caches && transposes && !staged;
        let kernel = if transposes {
            simd::transposition(nest.itemsize, streaming)
        } else {
            None
        };
        let stage = match &kernel {
            Some(kernel) if staged && a.size >= kernel.lanes && b.size >= kernel.lanes => {
                Some(Stage::past_caches())
            }
            _ => None,
        };
        let (width, length) = match &stage {
            Some(stage) => (stage.width, (stage.length / nest.itemsize).max(1)),
            None if streaming => (2 * LINE, LENGTH),
            // Few rows of the source at a time, unless that makes for many visits to rows of the target that are no better.
            None if transposes && from_aliases && !to_aliases => (LINE, LENGTH),
            None if b.source.unsigned_abs() < a.source.unsigned_abs() => (WIDTH, LENGTH),
            None => (ROW, LENGTH),
        };
        let head = if streaming { head / nest.itemsize } else { 0 };
        let grain = LINE / nest.itemsize.min(LINE);
        Self {
            outer,
            a: Cut::new(a, head, (width / nest.itemsize).max(1), grain),
            b: Cut::new(b, 0, length, grain),
            itemsize: nest.itemsize,
            kernel,
            streaming,
            stage,
        }
    }

    /// A tile by its number, and how far its source and target are from those of the first one.
    fn tile(&self, number: usize) -> (Tile<'_>, (isize, isize)) {
        let (skip_a, a) = self.a.part(number % self.a.count);
        let (skip_b, b) = self.b.part(number / self.a.count);
        let tile = Tile {
            a,
            b,
            itemsize: self.itemsize,
            kernel: self.kernel.as_ref(),
            streaming: self.streaming,
            fetches: self.streaming,
        };
        (tile, (skip_a.0 + skip_b.0, skip_a.1 + skip_b.1))
    }
}

impl Cut {
    /// Cuts a loop into parts of about this length.
    fn new(whole: Loop, head: usize, length: usize, grain: usize) -> Self {
        let rest = whole.size.saturating_sub(head);
        Self {
            whole,
            head,
            grain,
            count: ((rest + length / 2) / length).max(1),
        }
    }

    /// A part by its number, and how far it is from the beginning.
    fn part(&self, number: usize) -> ((isize, isize), Loop) {
        let (begin, end) = (self.border(number), self.border(number + 1));
        let at = begin as isize;
        let part = Loop {
            size: end - begin,
            ..self.whole
        };
        ((at * self.whole.source, at * self.whole.target), part)
    }

    /// Where a part begins.
    fn border(&self, number: usize) -> usize {
        if number == 0 {
            0
        } else if number == self.count {
            self.whole.size
        } else {
            let rest = self.whole.size - self.head;
            // As `rest * number / count`, which may overflow.
            let even = rest / self.count * number + rest % self.count * number / self.count;
            self.head + even / self.grain * self.grain
        }
    }
}

impl Tile<'_> {
    /// # Safety
    /// As for the copy this is a part of; with a kernel, `a` has unit stride in the target and `b` in the source.
    pub unsafe fn copy(&self, source: *const u8, target: *mut u8) {
        // SAFETY: as the caller says.
        unsafe {
            match self.kernel {
                Some(kernel) if self.a.size >= kernel.lanes && self.b.size >= kernel.lanes => {
                    self.blocks(source, target, kernel);
                }
                _ => self.elements(source, target),
            }
        }
    }

    /// Transposes square blocks. Where their size does not divide the tile's, blocks at the borders overlap others.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy), and the tile is as large as a block.
    unsafe fn blocks(&self, source: *const u8, target: *mut u8, kernel: &Kernel) {
        let lanes = kernel.lanes;
        let head = if self.streaming {
            (target.addr().next_multiple_of(LINE) - target.addr()) / self.itemsize
        } else {
            0
        };
        let count_a = self.a.size.saturating_sub(head) / lanes;
        let count_b = self.b.size / lanes;
        let run = |run: simd::Transpose, a: usize, b: usize, count_a, count_b, skip| {
            let blocks = Blocks {
                count_a,
                count_b,
                source: self.a.source,
                target: self.b.target,
                skip,
                ahead: self.a.size as isize * self.a.source,
            };
            let (a, b) = (a as isize, b as isize);
            let from = source.wrapping_offset(a * self.a.source + b * self.b.source);
            let to = target.wrapping_offset(a * self.a.target + b * self.b.target);
            // SAFETY: the blocks lie within this tile, whose strides are as the kernel needs them.
            unsafe { run(from, to, blocks) };
        };
        let (last_a, last_b) = (self.a.size - lanes, self.b.size - lanes);
        let cover = |begin: usize, end: usize, b, count_b, skip| {
            for a in (begin..end).step_by(lanes) {
                run(kernel.partial, a.min(last_a), b, 1, count_b, skip);
            }
        };
        cover(0, head.min(self.a.size), 0, count_b, 0);
        let whole = if self.fetches {
            kernel.fetching
        } else {
            kernel.whole
        };
        run(whole, head, 0, count_a, count_b, 0);
        cover(head + count_a * lanes, self.a.size, 0, count_b, 0);
        let done = count_b * lanes;
        if done < self.b.size {
            cover(0, self.a.size, last_b, 1, done - last_b);
        }
    }

    /// # Safety
    /// As for [`copy`](Self::copy).
    unsafe fn elements(&self, source: *const u8, target: *mut u8) {
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
    unsafe fn typed<T: Copy>(&self, source: *const u8, target: *mut u8) {
        self.each(|from, to| {
            let from = source.wrapping_offset(from).cast::<T>();
            // SAFETY: both are elements of the tile.
            unsafe { target.wrapping_offset(to).cast::<T>().write(from.read()) };
        });
    }

    #[inline(always)]
    fn each(&self, body: impl Fn(isize, isize)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Transposes a tile at byte `skip` of a target of whole lines, with a kernel or none.
    fn transposed(
        a: usize,
        b: usize,
        itemsize: usize,
        skip: usize,
        kernel: Option<Kernel>,
        streaming: bool,
    ) -> Vec<u8> {
        let stride = (skip + a * itemsize).next_multiple_of(LINE);
        let source: Vec<u8> = (0..a * b * itemsize)
            .map(|n| (n * 7 + n / 251) as u8)
            .collect();
        let mut target = vec![0u8; stride * b + LINE];
        let start = target.as_ptr().align_offset(LINE);
        let unit = itemsize as isize;
        let tile = Tile {
            a: Loop {
                size: a,
                source: b as isize * unit,
                target: unit,
            },
            b: Loop {
                size: b,
                source: unit,
                target: stride as isize,
            },
            itemsize,
            kernel: kernel.as_ref(),
            streaming,
            fetches: streaming,
        };
        // SAFETY: source and target have room for the tile.
        unsafe { tile.copy(source.as_ptr(), target[start + skip..].as_mut_ptr()) };
        simd::fence();
        target[start..][..stride * b].to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn every_kernel_does_what_plain_code_does(
            a in 1usize..150, b in 1usize..70, size in 0u32..5, place in 0usize..64, streaming: bool
        ) {
            let itemsize = 1 << size;
            let skip = place * itemsize % LINE;
            let expected = transposed(a, b, itemsize, skip, None, false);
            for kernel in simd::transpositions(itemsize, streaming) {
                let lanes = kernel.lanes;
                let made = transposed(a, b, itemsize, skip, Some(kernel), streaming);
                prop_assert!(made == expected, "{lanes} lanes");
            }
        }
    }
}
