//! Elements that are not contiguous on both sides, in tiles that keep both sides in cache.

use crate::PerAxis;
use crate::loops::{Loop, Nest};
use crate::share::{Source, Target, share};
use crate::simd::{self, Fetch, Kernel, Plane, Rows};
use crate::stage;

/// A line of a cache.
pub(crate) const LINE: usize = 64;

/// Rows that lie multiples of this many bytes apart fall into one set of the first-level cache, which has no room for many.
const ALIAS: usize = 2048;

/// Bytes of a tile along the axis with the target's smallest stride, and of one along the axis with the source's.
#[derive(Clone, Copy)]
struct Extent {
    width: usize,
    length: usize,
}

/// What a first-level cache holds of both sides.
const THROUGH: Extent = Extent {
    width: 512,
    length: 2048,
};

/// The same where the axis has the smallest stride of both, so that a tile is a few rows.
const ROWS: Extent = Extent {
    width: 4096,
    length: 2048,
};

/// Memory is written at full speed from a few lines in a row on, but read so only in longer rows.
const PAST: Extent = Extent {
    width: 256,
    length: 1024,
};

/// A tile that goes through memory between, which the first-level cache holds.
const STAGED: Extent = Extent {
    width: 512,
    length: 1024,
};

/// The same with all of a short row: only a few of its lines are then not written as a whole.
const STAGED_ROWS: Extent = Extent {
    width: 2048,
    length: 1024,
};

/// For rows of the source that compete for the same places in a cache.
const ALIASED: Extent = Extent {
    width: LINE,
    length: 2048,
};

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
    share(plan.count(), nest.bytes(), threads, &|begin, end| {
        let mut place = plan.place(begin);
        for number in begin..end {
            let (tile, from, to) = plan.tile(&place);
            plan.advance(&mut place);
            let mut fetch = if plan.fetches && number + 1 < end {
                let (next, from, _) = plan.tile(&place);
                next.fetch(source.at(from), tile.steps())
            } else {
                Fetch::nothing()
            };
            let (from, to) = (source.at(from), target.at(to));
            // SAFETY: the tile is within the nest's elements.
            unsafe {
                if plan.staged {
                    stage::copy(&tile, from, to, &mut fetch);
                } else {
                    tile.copy(from, to, &mut fetch);
                }
            }
            fetch.finish();
        }
        simd::fence();
    });
}

/// How a nest is cut into tiles.
struct Plan {
    /// The axis with the smallest stride of the target.
    a: Cut,
    /// The axis with the smallest stride of the source, or any other if that is `a`.
    b: Cut,
    /// The axis along which rows of `a` follow each other in the target without gaps, if that matters.
    c: Cut,
    /// What tiles are counted by, the slowest first.
    digits: PerAxis<Digit>,
    itemsize: usize,
    kernel: Option<Kernel>,
    /// Whether the kernel writes past the caches; it then needs targets that begin at a cache line.
    streaming: bool,
    /// Whether tiles go through memory between.
    staged: bool,
    /// Whether the next tile is fetched ahead.
    fetches: bool,
}

/// One of the numbers that say which tile is meant.
enum Digit {
    A,
    B,
    C,
    Outer(Loop),
}

/// A loop that is cut into `count` parts of `length` turns, the last of which may be shorter. The first has `head` more.
struct Cut {
    whole: Loop,
    head: usize,
    length: usize,
    count: usize,
}

/// A part of the nest.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    pub a: Loop,
    pub b: Loop,
    pub c: Loop,
    pub itemsize: usize,
    kernel: Option<&'a Kernel>,
    streaming: bool,
    /// What else there is in the same rows of the target.
    pub beside: Beside,
}

/// What is in the rows of the target before and behind a tile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Beside {
    /// Whether there is anything before.
    pub before: bool,
    /// How many elements along `a` are before.
    pub start: usize,
    /// Elements along `a` behind.
    pub a: usize,
    /// If there are none, turns of `c` behind.
    pub c: usize,
}

impl Plan {
    fn new(nest: &Nest, target: Target, past_caches: bool) -> Self {
        let unit = nest.itemsize as isize;
        let (a, b, mut outer) = plane(nest);
        let transposes = a.target == unit && b.source == unit;
        let address = target.0.addr();
        let head = address.next_multiple_of(LINE) - address;
        let in_lines = std::iter::once(&b)
            .chain(&outer)
            .all(|axis| axis.target % LINE as isize == 0)
            && head.is_multiple_of(nest.itemsize);
        // Few processors write past their caches well less than a line at a time.
        let streaming = past_caches && transposes && in_lines && nest.itemsize >= 4;
        let kernel = if transposes {
            simd::transposition(nest.itemsize, streaming)
        } else {
            None
        };
        let streaming = streaming && kernel.is_some();
        let aliases = |stride: isize| stride != 0 && stride.unsigned_abs().is_multiple_of(ALIAS);
        let staged = past_caches && a.target == unit && !streaming;
        let row = a.size * nest.itemsize;
        let extent = match past_caches {
            true if staged && row < STAGED_ROWS.width => STAGED_ROWS,
            true if staged => STAGED,
            true if streaming => PAST,
            // Few rows of the source at a time, unless that makes for many visits to rows of the target that are no better.
            false if kernel.is_some() && aliases(a.source) && !aliases(b.target) => ALIASED,
            _ if b.source.unsigned_abs() < a.source.unsigned_abs() => THROUGH,
            _ => ROWS,
        };
        let grain = LINE / nest.itemsize.min(LINE);
        let head = if streaming { head / nest.itemsize } else { 0 };
        let next = outer
            .iter()
            .position(|axis| staged && axis.target == row as isize);
        let c = next.map_or(ONCE, |place| outer.remove(place));
        let mut plan = Self {
            a: Cut::new(a, head, extent.width / nest.itemsize, grain),
            b: Cut::new(b, 0, extent.length / nest.itemsize, grain),
            c: Cut::new(c, 0, extent.width / row, 1),
            digits: PerAxis::new(),
            itemsize: nest.itemsize,
            kernel,
            streaming,
            staged,
            fetches: past_caches,
        };
        if past_caches {
            // In the order of the source, which is then read in long rows.
            outer.sort_by_key(|axis| std::cmp::Reverse(axis.source.unsigned_abs()));
            plan.digits.push(Digit::A);
            let cut =
                outer.partition_point(|axis| axis.source.unsigned_abs() > c.source.unsigned_abs());
            plan.digits
                .extend(outer[..cut].iter().map(|&axis| Digit::Outer(axis)));
            plan.digits.push(Digit::C);
            plan.digits
                .extend(outer[cut..].iter().map(|&axis| Digit::Outer(axis)));
            plan.digits.push(Digit::B);
        } else {
            plan.digits.extend(outer.into_iter().map(Digit::Outer));
            plan.digits.extend([Digit::C, Digit::B, Digit::A]);
        }
        plan
    }

    /// How many tiles a digit tells apart.
    fn size(&self, digit: &Digit) -> usize {
        match digit {
            Digit::A => self.a.count,
            Digit::B => self.b.count,
            Digit::C => self.c.count,
            Digit::Outer(axis) => axis.size,
        }
    }

    /// The number of tiles.
    fn count(&self) -> usize {
        self.digits.iter().map(|digit| self.size(digit)).product()
    }

    /// The digits of a tile's number.
    fn place(&self, mut number: usize) -> PerAxis<usize> {
        let mut place = PerAxis::from_elem(0, self.digits.len());
        for (digit, index) in self.digits.iter().zip(&mut place).rev() {
            let size = self.size(digit);
            *index = number % size;
            number /= size;
        }
        place
    }

    /// Goes on to the next tile.
    fn advance(&self, place: &mut [usize]) {
        for (digit, index) in self.digits.iter().zip(place).rev() {
            *index += 1;
            if *index < self.size(digit) {
                return;
            }
            *index = 0;
        }
    }

    /// A tile by the digits of its number, and where it begins in source and target.
    fn tile(&self, place: &[usize]) -> (Tile<'_>, isize, isize) {
        let mut tile = Tile {
            a: ONCE,
            b: ONCE,
            c: ONCE,
            itemsize: self.itemsize,
            kernel: self.kernel.as_ref(),
            streaming: self.streaming,
            beside: Beside::default(),
        };
        let (mut source, mut target) = (0, 0);
        for (digit, &index) in self.digits.iter().zip(place) {
            let (axis, begin) = match digit {
                Digit::A => {
                    let begin = self.a.part(index, &mut tile.a);
                    tile.beside.before |= begin > 0;
                    tile.beside.start = begin;
                    tile.beside.a = self.a.whole.size - begin - tile.a.size;
                    (&self.a.whole, begin)
                }
                Digit::B => (&self.b.whole, self.b.part(index, &mut tile.b)),
                Digit::C => {
                    let begin = self.c.part(index, &mut tile.c);
                    tile.beside.before |= begin > 0;
                    tile.beside.c = self.c.whole.size - begin - tile.c.size;
                    (&self.c.whole, begin)
                }
                Digit::Outer(axis) => (axis, index),
            };
            source += begin as isize * axis.source;
            target += begin as isize * axis.target;
        }
        (tile, source, target)
    }
}

/// The axes with the smallest stride of the target and of the source, and the others, of which the last has the smallest stride of the
/// target.
fn plane(nest: &Nest) -> (Loop, Loop, PerAxis<Loop>) {
    let mut outer = nest.loops.clone();
    let a = outer.pop().unwrap_or(ONCE);
    let nearest = (0..outer.len()).min_by_key(|&n| outer[n].source.unsigned_abs());
    let b = match nearest {
        // The source too is best walked along `a`.
        Some(n) if outer[n].source.unsigned_abs() >= a.source.unsigned_abs() => outer.pop(),
        Some(n) => Some(outer.remove(n)),
        None => None,
    };
    (a, b.unwrap_or(ONCE), outer)
}

impl Cut {
    /// Cuts a loop into parts of about this length. All but the first and the last begin and end a multiple of `grain` behind `head`.
    fn new(whole: Loop, head: usize, length: usize, grain: usize) -> Self {
        let rest = whole.size.saturating_sub(head).max(1);
        let count = ((rest + length / 2) / length.max(1)).max(1);
        let length = rest.div_ceil(count).next_multiple_of(grain);
        Self {
            whole,
            head,
            length,
            count: rest.div_ceil(length),
        }
    }

    /// A part by its number; returns where it begins.
    fn part(&self, number: usize, part: &mut Loop) -> usize {
        let begin = if number == 0 {
            0
        } else {
            self.head + number * self.length
        };
        let end = (self.head + (number + 1) * self.length).min(self.whole.size);
        *part = Loop {
            size: end - begin,
            ..self.whole
        };
        begin
    }
}

impl Tile<'_> {
    /// Elements along each axis that are best copied together.
    pub fn lanes(&self) -> usize {
        self.kernel.map_or(1, |kernel| kernel.lanes)
    }

    /// How many steps of a fetch copying this tile makes.
    fn steps(&self) -> usize {
        let lanes = self.lanes();
        let a = if self.kernel.is_some() {
            self.a.size / lanes
        } else {
            1
        };
        a * (self.b.size / lanes) * self.c.size
    }

    /// The rows of the source that a tile reads, to be fetched in so many steps.
    fn fetch(&self, source: *const u8, steps: usize) -> Fetch {
        let (row, stride, count) = if self.b.source == self.itemsize as isize {
            let behind = self.beside.a.min(LINE.div_ceil(self.itemsize));
            (self.b, self.a.source, self.a.size + behind)
        } else {
            (self.a, self.b.source, self.b.size)
        };
        let bytes = (row.size - 1) * row.source.unsigned_abs() + self.itemsize;
        let first = row.source.min(0) * (row.size as isize - 1);
        Fetch::new(source.wrapping_offset(first), bytes, stride, count, steps)
    }

    /// # Safety
    /// As for the copy this is a part of; with a kernel, `a` has unit stride in the target and `b` in the source.
    pub unsafe fn copy(&self, source: *const u8, target: *mut u8, fetch: &mut Fetch) {
        for c in 0..self.c.size as isize {
            let from = source.wrapping_offset(c * self.c.source);
            let to = target.wrapping_offset(c * self.c.target);
            // SAFETY: as the caller says.
            unsafe {
                match self.kernel {
                    Some(kernel) => self.blocks(from, to, kernel, fetch),
                    None => self.elements(from, to, fetch),
                }
            }
        }
    }

    /// Transposes a plane: whole blocks, and what is left around them.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    unsafe fn blocks(
        &self,
        source: *const u8,
        target: *mut u8,
        kernel: &Kernel,
        fetch: &mut Fetch,
    ) {
        let head = if self.streaming {
            let head = (target.addr().next_multiple_of(LINE) - target.addr()) / self.itemsize;
            head.min(self.a.size)
        } else {
            0
        };
        let whole_a = (self.a.size - head) / kernel.lanes * kernel.lanes;
        let whole_b = self.b.size / kernel.lanes * kernel.lanes;
        let run = |run: simd::Transpose, a: usize, b: usize, size_a, size_b, fetch: &mut Fetch| {
            let plane = Plane {
                a: size_a,
                b: size_b,
                source: self.a.source,
                target: self.b.target,
            };
            let from = source.wrapping_offset(a as isize * self.a.source);
            let from = from.wrapping_offset(b as isize * self.b.source);
            let to = target.wrapping_offset(a as isize * self.a.target);
            let to = to.wrapping_offset(b as isize * self.b.target);
            // SAFETY: the plane lies within this tile, whose strides are as the kernel needs them.
            unsafe { run(from, to, plane, fetch) };
        };
        let whole = if fetch.is_done() {
            kernel.whole
        } else {
            kernel.fetching
        };
        let behind_a = head + whole_a;
        run(kernel.edge, 0, 0, head, self.b.size, fetch);
        run(whole, head, 0, whole_a, whole_b, fetch);
        run(
            kernel.edge,
            head,
            whole_b,
            whole_a,
            self.b.size - whole_b,
            fetch,
        );
        run(
            kernel.edge,
            behind_a,
            0,
            self.a.size - behind_a,
            self.b.size,
            fetch,
        );
    }

    /// # Safety
    /// As for [`copy`](Self::copy).
    unsafe fn elements(&self, source: *const u8, target: *mut u8, fetch: &mut Fetch) {
        // SAFETY: as the caller says.
        unsafe {
            match self.itemsize {
                1 => self.typed::<u8>(source, target, fetch),
                2 => self.typed::<[u8; 2]>(source, target, fetch),
                4 => self.typed::<[u8; 4]>(source, target, fetch),
                8 => self.typed::<[u8; 8]>(source, target, fetch),
                16 => self.typed::<[u8; 16]>(source, target, fetch),
                bytes => {
                    let rows = Rows {
                        count: self.a.size,
                        bytes,
                        source: self.a.source,
                        target: self.a.target,
                    };
                    self.each_b(source, target, fetch, |from, to| {
                        simd::short_rows()(from, to, rows);
                    });
                }
            }
        }
    }

    /// # Safety
    /// As for [`copy`](Self::copy), and `T` has the size of an element and no alignment.
    unsafe fn typed<T: Copy>(&self, source: *const u8, target: *mut u8, fetch: &mut Fetch) {
        self.each_b(source, target, fetch, |from, to| {
            for a in 0..self.a.size as isize {
                let from = from.wrapping_offset(a * self.a.source).cast::<T>();
                let to = to.wrapping_offset(a * self.a.target).cast::<T>();
                // SAFETY: both are elements of the tile.
                unsafe { to.write(from.read()) };
            }
        });
    }

    #[inline(always)]
    fn each_b(
        &self,
        source: *const u8,
        target: *mut u8,
        fetch: &mut Fetch,
        body: impl Fn(*const u8, *mut u8),
    ) {
        for b in 0..self.b.size as isize {
            fetch.step();
            body(
                source.wrapping_offset(b * self.b.source),
                target.wrapping_offset(b * self.b.target),
            );
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
        (streaming, fetches): (bool, bool),
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
            c: ONCE,
            itemsize,
            kernel: kernel.as_ref(),
            streaming,
            beside: Beside::default(),
        };
        let mut fetch = if fetches {
            tile.fetch(source.as_ptr(), a)
        } else {
            Fetch::nothing()
        };
        // SAFETY: source and target have room for the tile.
        unsafe {
            tile.copy(
                source.as_ptr(),
                target[start + skip..].as_mut_ptr(),
                &mut fetch,
            )
        };
        simd::fence();
        target[start..][..stride * b].to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn every_kernel_does_what_plain_code_does(
            a in 1usize..150, b in 1usize..70, size in 0u32..5, place in 0usize..64, streaming: bool,
            fetches: bool
        ) {
            let itemsize = 1 << size;
            let skip = place * itemsize % LINE;
            let expected = transposed(a, b, itemsize, skip, None, (false, false));
            for kernel in simd::transpositions(itemsize, streaming) {
                let lanes = kernel.lanes;
                let made = transposed(a, b, itemsize, skip, Some(kernel), (streaming, fetches));
                prop_assert!(made == expected, "{lanes} lanes");
            }
        }
    }
}
