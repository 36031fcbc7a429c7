//! Elements that follow each other on one side at most, in tiles that keep both sides in cache.

use crate::PerAxis;
use crate::loops::{Loop, Nest};
use crate::share::{Source, Target, share};
use crate::simd::{self, Rows};
use crate::tiles::{Cut, Tiles};

/// Bytes of a tile along the axis with the target's smallest stride.
const WIDTH: usize = 512;

/// The same where the axis has the smallest stride of both, so that a tile is a few rows.
const ROW: usize = 4096;

/// Bytes of a tile along the other axis.
const LENGTH: usize = 2048;

/// Copies the nest's elements.
///
/// # Safety
/// The nest's elements must be readable from `source` on and writable from `target` on, by nobody else meanwhile, and be apart.
pub(crate) unsafe fn copy(nest: &Nest, source: Source, target: Target, threads: usize) {
    let (a, b, outer) = plane(nest);
    let width = if b.source.unsigned_abs() < a.source.unsigned_abs() {
        WIDTH
    } else {
        ROW
    };
    let cut = |axis: Loop, bytes: usize| Cut::new(axis.size, bytes.div_ceil(nest.itemsize), 1);
    let tiles = Tiles {
        a: cut(a, width),
        b: cut(b, LENGTH),
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
            unsafe { copy_tile(nest.itemsize, a, b, from, to) };
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

/// # Safety
/// As for the copy this is a part of.
unsafe fn copy_tile(itemsize: usize, a: Loop, b: Loop, source: *const u8, target: *mut u8) {
    // SAFETY: as the caller says.
    unsafe {
        match itemsize {
            1 => typed::<u8>(a, b, source, target),
            2 => typed::<[u8; 2]>(a, b, source, target),
            4 => typed::<[u8; 4]>(a, b, source, target),
            8 => typed::<[u8; 8]>(a, b, source, target),
            16 => typed::<[u8; 16]>(a, b, source, target),
            bytes => {
                let rows = Rows {
                    count: a.size,
                    bytes,
                    source: a.source,
                    target: a.target,
                };
                each(b, source, target, |from, to| {
                    simd::short_rows()(from, to, rows)
                });
            }
        }
    }
}

/// # Safety
/// As for the copy this is a part of, and `T` has the size of an element and no alignment.
unsafe fn typed<T: Copy>(a: Loop, b: Loop, source: *const u8, target: *mut u8) {
    each(b, source, target, |from, to| {
        each(a, from, to, |from, to| {
            // SAFETY: both are elements of the tile.
            unsafe { to.cast::<T>().write(from.cast::<T>().read()) };
        });
    });
}

#[inline(always)]
fn each(axis: Loop, source: *const u8, target: *mut u8, body: impl Fn(*const u8, *mut u8)) {
    for n in 0..axis.size as isize {
        body(
            source.wrapping_offset(n * axis.source),
            target.wrapping_offset(n * axis.target),
        );
    }
}
