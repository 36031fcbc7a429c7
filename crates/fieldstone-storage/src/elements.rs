//! Elements that follow each other on one side at most, in tiles that keep both sides in cache.
//!
//! Where the source is best walked along another axis than the target, a tile is brought into memory between as it lies in the
//! source, transposed there, and spread over the target: the transposition has elements that follow each other on both sides.

use crate::PerAxis;
use crate::between::{apart, room};
use crate::loops::{Loop, Nest};
use crate::share::{Source, Target, share};
use crate::simd::{self, Fetch, Plane};
use crate::tiles::{Cut, Tiles};
use std::cell::RefCell;

/// Bytes of a tile along the axis with the target's smallest stride.
const WIDTH: usize = 512;

/// Elements along the other axis where the tile is transposed.
const TURNED: usize = 64;

/// The same where the axis has the smallest stride of both, so that a tile is a few rows.
const ROW: usize = 4096;

/// Bytes of such a tile along the other axis.
const LENGTH: usize = 2048;

/// Copies the nest's elements.
///
/// # Safety
/// The nest's elements must be readable from `source` on and writable from `target` on, by nobody else meanwhile, and be apart.
pub(crate) unsafe fn copy(nest: &Nest, source: Source, target: Target, threads: usize) {
    let (a, b, outer) = plane(nest);
    let itemsize = nest.itemsize;
    let (near_a, near_b) = (a.target.unsigned_abs(), b.source.unsigned_abs());
    // Elements that share no line with others on either side may be moved in any order.
    let share_lines = near_a.min(near_b) < simd::LINE;
    let turned = b.size > 1 && near_b < a.source.unsigned_abs() && share_lines;
    let (width, length) = if turned {
        (WIDTH.div_ceil(itemsize), TURNED)
    } else {
        (ROW.div_ceil(itemsize), LENGTH.div_ceil(itemsize))
    };
    let tiles = Tiles {
        a: Cut::new(a.size, width, 1),
        b: Cut::new(b.size, length, 1),
        outer: &outer,
    };
    share(tiles.count(), nest.bytes(), threads, &|begin, end| {
        tiles.each(begin, end, |part_a, part_b, from, to| {
            let (first_a, first_b) = (part_a.start as isize, part_b.start as isize);
            let from = source.at(from + first_a * a.source + first_b * b.source);
            let to = target.at(to + first_a * a.target + first_b * b.target);
            let part = |axis: Loop, size| Loop { size, ..axis };
            let (a, b) = (part(a, part_a.len()), part(b, part_b.len()));
            // SAFETY: the tile is within the nest's elements.
            unsafe {
                if turned {
                    BETWEEN.with_borrow_mut(|between| between.turn(itemsize, a, b, from, to));
                } else {
                    simd::strided(from, to, b, a, itemsize);
                }
            }
        });
    });
}

/// The axes with the smallest stride of the target and of the source, and the others, of which the last has the smallest stride of the
/// target.
fn plane(nest: &Nest) -> (Loop, Loop, PerAxis<Loop>) {
    let mut outer = nest.loops.clone();
    let a = outer.pop().unwrap_or(Loop::ONCE);
    let nearest = (0..outer.len()).min_by_key(|&n| outer[n].source.unsigned_abs());
    let b = match nearest {
        // The source too is best walked along `a`.
        Some(n) if outer[n].source.unsigned_abs() >= a.source.unsigned_abs() => outer.pop(),
        Some(n) => Some(outer.remove(n)),
        None => None,
    };
    (a, b.unwrap_or(Loop::ONCE), outer)
}

thread_local! {
    static BETWEEN: RefCell<Between> = RefCell::default();
}

/// Memory for a tile in the order of the source, and for one in that of the target. It stays with the thread.
#[derive(Default)]
struct Between {
    gathered: Vec<u8>,
    transposed: Vec<u8>,
    /// Where rows begin in the source, and columns in the target.
    rows: Vec<isize>,
    columns: Vec<isize>,
}

impl Between {
    /// Copies a tile whose elements are near each other along `a` in the target and along `b` in the source.
    ///
    /// # Safety
    /// Its elements must be readable from `source` on and writable from `target` on, and be apart.
    unsafe fn turn(
        &mut self,
        itemsize: usize,
        a: Loop,
        b: Loop,
        source: *const u8,
        target: *mut u8,
    ) {
        let unit = itemsize as isize;
        let (row, column) = (apart(b.size * itemsize), apart(a.size * itemsize));
        let (gather, spread) = (b.source != unit, a.target != unit);
        let (mut from, mut from_step) = (source, a.source);
        if gather {
            let room = room(&mut self.gathered, a.size * row);
            (from, from_step) = (room, row as isize);
            let line = |axis: Loop, target| Loop { target, ..axis };
            // SAFETY: the memory has room for the tile; the rest is as the caller says.
            unsafe {
                simd::strided(source, room, line(a, from_step), line(b, unit), itemsize);
            }
        }
        let (mut to, mut to_step) = (target, b.target);
        if spread {
            to = room(&mut self.transposed, b.size * column);
            to_step = column as isize;
        }
        places(&mut self.rows, a.size, from_step);
        places(&mut self.columns, b.size, to_step);
        let plane = Plane {
            a: &self.rows,
            b: &self.columns,
            itemsize,
        };
        let transpose = simd::transposition(itemsize).run;
        // SAFETY: as above.
        unsafe { transpose(from, to, plane, &mut Fetch::nothing()) };
        if spread {
            let line = |axis: Loop, source| Loop { source, ..axis };
            // SAFETY: as above.
            unsafe { simd::strided(to, target, line(b, to_step), line(a, unit), itemsize) };
        }
    }
}

fn places(found: &mut Vec<isize>, count: usize, step: isize) {
    found.clear();
    found.extend((0..count as isize).map(|n| n * step));
}
