//! Copies in which one axis is contiguous in the target and another one in the source.
//!
//! The loops of the nest become a plane and what is around it. Along `a` the plane's elements follow each other in the target, along
//! `b` in the source, over as many loops as go on where the one before ends: so an axis of three points makes no blocks of three.

use crate::PerAxis;
use crate::loops::{Loop, Nest, runs, turns};
use crate::share::{Source, Target, share, worth};
use crate::simd::mesh::Mesh;
use crate::simd::{self, Fetch, Kernel, Plane};
use crate::tiles::{Cut, Tiles};
use fieldstone_device::core_caches;
use std::cell::RefCell;
use std::ops::Range;

/// Bytes of a tile along `a` and along `b` in copies through the caches: of what its rows share with the next tile's, the first-level
/// cache holds one side.
const TILE: (usize, usize) = (1 << 10, 2 << 10);

/// Each thread has so many tiles at least, so that none has much more to do than others, while tiles are longer than so many bytes.
const TILES: usize = 8;
const SHORTEST: usize = 256;

/// Most elements of a tile along one side.
const LONGEST: usize = 4096;

/// Rows of the source that are shorter than this go on with another axis, if the target's are longer.
const SHORT: usize = 512;

/// Lines that are a multiple of so many bytes apart fall into one set of the first-level cache.
const SET: isize = 4 << 10;

/// From so many times the second-level cache on, rows of the source come from afar, and are better asked for than read a few at a time.
const AFAR: usize = 4;

/// Elements along `b` that are farther apart than this many times their size share too few lines of the source.
const FARTHEST: usize = 3;

/// A nest of loops as planes to transpose.
pub(crate) struct Transposition {
    /// What is contiguous in the target, the outermost loop first.
    pub a: PerAxis<Loop>,
    /// What is contiguous in the source.
    pub b: PerAxis<Loop>,
    /// The loops around them.
    pub outer: PerAxis<Loop>,
    pub itemsize: usize,
    pub kernel: Kernel,
    /// How many elements of the source are passed from one along `b` to the next: more than one where others lie between.
    step: usize,
    /// How far the plane's first elements are from those of the nest: runs along `b` go upwards in the source.
    first: (isize, isize),
}

impl Transposition {
    /// The nest as planes; none if no axis is contiguous on a side, or one is on both.
    pub fn of(nest: &Nest) -> Option<Self> {
        let unit = nest.itemsize as isize;
        let kernel = simd::transposition(nest.itemsize);
        let mut outer = nest.loops.clone();
        let along_a = outer.pop().filter(|axis| axis.target == unit)?;
        let (along_b, step, first) = along_source(&mut outer, along_a, &kernel, nest.itemsize)?;
        let mut found = Self {
            a: [along_a].into_iter().collect(),
            b: [along_b].into_iter().collect(),
            outer,
            itemsize: nest.itemsize,
            kernel,
            step,
            first,
        };
        while found.extend() {}
        found.a.reverse();
        found.b.reverse();
        Some(found)
    }

    /// Takes a loop that goes on where the plane ends, if there is one.
    fn extend(&mut self) -> bool {
        let bytes = |run: &[Loop]| self.itemsize * turns(run);
        let (long_a, long_b) = (bytes(&self.a), bytes(&self.b) * self.step);
        let place = |on: &dyn Fn(&Loop) -> bool| self.outer.iter().position(on);
        let next_a = place(&|axis| axis.target == long_a as isize);
        let next_b = place(&|axis| axis.source == long_b as isize);
        match (next_a, next_b) {
            (_, Some(next)) if next_a.is_none() || long_b < SHORT.min(long_a) => {
                self.b.push(self.outer.remove(next));
            }
            (Some(next), _) => self.a.push(self.outer.remove(next)),
            (None, _) => return false,
        }
        true
    }

    /// Whether elements follow each other along `b`; else they are moved through the caches only.
    pub fn is_dense(&self) -> bool {
        self.step == 1
    }

    /// Where the plane begins.
    pub fn from(&self, source: Source, target: Target) -> (Source, Target) {
        (
            Source(source.at(self.first.0)),
            Target(target.at(self.first.1)),
        )
    }

    /// Copies all elements, through the caches.
    ///
    /// # Safety
    /// The nest's elements must be readable from `source` on and writable from `target` on, by nobody else meanwhile, and be apart.
    pub unsafe fn copy(&self, source: Source, target: Target, threads: usize) {
        let (source, target) = self.from(source, target);
        let tiles = self.tiles(threads);
        let at_once = match self.rows_meet() && self.is_near(threads) {
            true => self.kernel.lanes,
            false => usize::MAX,
        };
        self.each(&tiles, threads, &|tables, from, to| {
            let Tables { a, b, mesh, .. } = tables;
            let itemsize = self.itemsize;
            let (from, to) = (source.at(from), target.at(to));
            for (first, rows) in parts(a, at_once) {
                let plane = Plane {
                    a: rows,
                    b,
                    itemsize,
                };
                let to = to.wrapping_add(first * itemsize);
                let fetch = &mut Fetch::nothing();
                // SAFETY: the tile is within the nest's elements.
                unsafe { self.transpose(mesh, from, to, plane, fetch, false) };
            }
        });
    }

    /// Whether lines of the source's rows displace each other in the first-level cache, and those of the target's do not.
    fn rows_meet(&self) -> bool {
        let meet = |apart: Option<isize>| apart.is_some_and(|apart| apart % SET == 0);
        let (rows, columns) = (self.a.last(), self.b.last());
        meet(rows.map(|row| row.source)) && !meet(columns.map(|column| column.target))
    }

    /// Whether the second-level caches hold a good part of the source.
    fn is_near(&self, threads: usize) -> bool {
        self.bytes() <= AFAR * threads * core_caches().second
    }

    /// The tiles of a copy through the caches.
    fn tiles(&self, threads: usize) -> Tiles<'_> {
        let lanes = self.kernel.lanes;
        let (size_a, size_b) = (turns(&self.a), turns(&self.b));
        // Where one side is short, a tile has more of the other.
        let length = |bytes: usize, other: usize, size: usize| {
            let usual = (bytes / self.itemsize).max(lanes);
            let others = (other / self.itemsize).max(lanes);
            (usual * others / size.clamp(1, others)).min(usual.max(LONGEST))
        };
        let mut tiles = Tiles {
            a: Cut::new(size_a, length(TILE.0, TILE.1, size_b), lanes),
            b: Cut::new(size_b, length(TILE.1, TILE.0, size_a), lanes),
            outer: &self.outer,
        };
        let enough = match worth(self.bytes(), threads) {
            1 => 1,
            threads => TILES * threads,
        };
        let shortest = (SHORTEST / self.itemsize).max(lanes);
        let (mut length_a, mut length_b) = (tiles.a.length, tiles.b.length);
        while tiles.count() < enough && length_a.max(length_b) > shortest {
            if length_b >= length_a {
                length_b /= 2;
                tiles.b = Cut::new(size_b, length_b, lanes);
            } else {
                length_a /= 2;
                tiles.a = Cut::new(size_a, length_a, lanes);
            }
        }
        tiles
    }

    /// Bytes of all elements.
    fn bytes(&self) -> usize {
        turns(&self.a) * turns(&self.b) * turns(&self.outer) * self.itemsize
    }

    /// Transposes a plane, if `stream` past the caches to a target in whole lines.
    ///
    /// # Safety
    /// As for every [`Transpose`](simd::Transpose).
    pub unsafe fn transpose(
        &self,
        mesh: &mut Mesh,
        source: *const u8,
        target: *mut u8,
        plane: Plane<'_>,
        fetch: &mut Fetch<'_>,
        stream: bool,
    ) {
        if let Some(sparse) = self.kernel.sparse.filter(|_| !self.is_dense()) {
            // SAFETY: as the caller says.
            return unsafe { sparse(source, target, plane, fetch) };
        }
        let past = self.kernel.stream.filter(|_| stream);
        let kernel = past.unwrap_or(self.kernel.run);
        let covered = mesh.cover(plane);
        let (Some((a, b)), Some(weave)) = (covered, self.kernel.weave) else {
            // SAFETY: as the caller says.
            return unsafe { kernel(source, target, plane, fetch) };
        };
        // What is left: along the longer side, as there is nothing along the other.
        let (from, to, rest) = if a < plane.a.len() {
            let rows = &plane.a[a..];
            (0, a * self.itemsize, Plane { a: rows, ..plane })
        } else {
            let columns = &plane.b[b..];
            (
                b * self.itemsize,
                0,
                Plane {
                    b: columns,
                    ..plane
                },
            )
        };
        // SAFETY: as the caller says; the blocks are within the plane. Long rows are foreseen by the processor.
        unsafe {
            weave(mesh, source, target, stream);
            kernel(
                source.wrapping_add(from),
                target.wrapping_add(to),
                rest,
                fetch,
            );
        }
    }

    /// Shares tiles between threads. `body` gets the tables of each, and where its first element is in source and target.
    pub fn each(
        &self,
        tiles: &Tiles<'_>,
        threads: usize,
        body: &(dyn Fn(&mut Tables, isize, isize) + Sync),
    ) {
        let unit = self.itemsize as isize;
        share(tiles.count(), self.bytes(), threads, &|begin, end| {
            TABLES.with_borrow_mut(|tables| {
                tables.tile = (0..0, 0..0);
                tiles.each(begin, end, |a, b, from, to| {
                    let (first_a, first_b) = (a.start as isize, b.start as isize);
                    tables.show(self, a, b);
                    let step = self.step as isize;
                    body(tables, from + first_b * unit * step, to + first_a * unit);
                });
            });
        });
    }
}

thread_local! {
    static TABLES: RefCell<Tables> = RefCell::default();
}

/// What a thread knows of the tile it copies. Its memory stays with the thread.
#[derive(Default)]
pub(crate) struct Tables {
    /// The tile these are of.
    tile: (Range<usize>, Range<usize>),
    /// Where rows begin in the source.
    pub a: Vec<isize>,
    /// Where columns begin in the target.
    pub b: Vec<isize>,
    /// Where they begin in the memory between.
    pub lines: Vec<isize>,
    pub between: Vec<u8>,
    pub mesh: Mesh,
}

impl Tables {
    /// Makes these the tables of a tile.
    fn show(&mut self, plane: &Transposition, a: Range<usize>, b: Range<usize>) {
        if self.tile.0 != a {
            offsets(&plane.a, &a, |source, _| source, &mut self.a);
        }
        if self.tile.1 != b {
            offsets(&plane.b, &b, |_, target| target, &mut self.b);
            spread(&mut self.b, plane.step);
        }
        self.tile = (a, b);
    }
}

/// Takes the loop out that goes through the source with the smallest steps, if it is of use there, and turns it upwards. With it: of how
/// many elements its steps are, and where it begins in source and target.
fn along_source(
    outer: &mut PerAxis<Loop>,
    along_a: Loop,
    kernel: &Kernel,
    itemsize: usize,
) -> Option<(Loop, usize, (isize, isize))> {
    let distance = |axis: &Loop| axis.source.unsigned_abs();
    let moving = (0..outer.len()).filter(|&n| outer[n].source != 0);
    let nearest = moving.min_by_key(|&n| distance(&outer[n]))?;
    let (apart, step) = (
        distance(&outer[nearest]),
        distance(&outer[nearest]) / itemsize,
    );
    let sparse = kernel.sparse.is_some() && apart < distance(&along_a);
    let farthest = if sparse { FARTHEST } else { 1 };
    if !apart.is_multiple_of(itemsize) || !(1..=farthest).contains(&step) {
        return None;
    }
    let mut axis = outer.remove(nearest);
    let mut first = (0, 0);
    if axis.source < 0 {
        let last = axis.size as isize - 1;
        first = (axis.source * last, axis.target * last);
        (axis.source, axis.target) = (-axis.source, -axis.target);
    }
    Some((axis, step, first))
}

/// Puts what is not wanted between columns.
fn spread(columns: &mut Vec<isize>, step: usize) {
    if step > 1 {
        let wanted = columns.len();
        let last = wanted.saturating_sub(1);
        columns.resize(last * step + wanted.min(1), simd::NOWHERE);
        for n in (1..wanted).rev() {
            columns[n * step] = std::mem::replace(&mut columns[n], simd::NOWHERE);
        }
    }
}

/// Rows in parts of so many, and which of all each begins with; the last part has what is left as well.
fn parts(rows: &[isize], length: usize) -> impl Iterator<Item = (usize, &[isize])> {
    let count = (rows.len() / length).max(1);
    (0..count).map(move |part| {
        let (first, last) = (part * length, part + 1 == count);
        let end = if last { rows.len() } else { first + length };
        (first, &rows[first..end])
    })
}

/// Where a side finds elements of a run that is contiguous on the other side.
fn offsets(
    run: &[Loop],
    part: &Range<usize>,
    side: fn(isize, isize) -> isize,
    found: &mut Vec<isize>,
) {
    found.clear();
    let step = run.last().map_or(0, |axis| side(axis.source, axis.target));
    runs(run, part.start, part.end, |source, target, count| {
        let first = side(source, target);
        found.extend((0..count as isize).map(|n| first + n * step));
    });
}
