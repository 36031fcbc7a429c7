//! Where within a page large blocks begin.
//!
//! A load waits for each earlier store that is not in the cache yet and has the same place within a page, on many processors, since
//! they compare these bits first. A stencil that reads a few cache lines ahead, modulo a page, of what it has just stored then
//! computes a vector at a time, one after the other. So where a field begins is chosen by how far apart its rows and planes are.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a page, and of what addresses are compared by.
const PAGE: usize = 4096;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lines of a page.
const LINES: usize = PAGE / LINE;

/// How far apart the rows of a block are, and the planes, in bytes; 0 where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// From one row to the next.
    pub rows: usize,
    /// From one plane of rows to the next.
    pub planes: usize,
}

/// Where within a page the next block begins, a multiple of `alignment`, a power of two.
pub fn next(alignment: usize, apart: Apart) -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    if alignment >= PAGE {
        return 0;
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let unit = alignment.div_ceil(LINE);
    count.wrapping_mul(step(apart, unit)) % LINES * LINE
}

/// Lines from the begin of one block to that of the next, an odd number of units: equal indices of blocks and of their neighbouring
/// planes are then at lines that are different modulo eight, as far as columns of eight lines may be from each other.
fn step(apart: Apart, unit: usize) -> usize {
    let waits = waits(apart);
    // Blocks that are made one after the other are used together, and more of them are read before they are written.
    let cost = |step: usize| -> usize {
        (1..=NEAR)
            .map(|distance| {
                let lines = distance * step % LINES;
                (NEAR + 1 - distance) * (2 * waits[lines] + waits[(LINES - lines) % LINES])
            })
            .sum()
    };
    let steps = (1..LINES / unit).step_by(2).map(|odd| odd * unit);
    steps.min_by_key(|&step| cost(step)).unwrap_or(0)
}

/// Blocks that count, before and behind each.
const NEAR: usize = 6;

/// What vectors wait for a result whose block begins so many lines behind that of what is read: most if the next one or two do.
fn waits(apart: Apart) -> [usize; LINES] {
    const BY_VECTOR: [usize; 5] = [5, 6, 3, 2, 1];
    let (row, plane) = (apart.rows / LINE % LINES, apart.planes / LINE % LINES);
    let mut waits = [0; LINES];
    for (weight, ahead) in BY_VECTOR.into_iter().zip(1..) {
        // As many lines on in a row, with its neighbours; or as many rows on, with those of planes.
        for (vector, beside) in [(ahead, row), (ahead * row, plane)] {
            for lines in [0, beside, 2 * beside] {
                waits[(vector + lines) % LINES] += weight;
                waits[(vector + 2 * LINES - lines) % LINES] += weight;
            }
        }
        waits[(ahead + plane) % LINES] += weight;
        waits[(ahead + LINES - plane) % LINES] += weight;
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::{Apart, LINE, LINES, next, step, waits};

    #[test]
    fn blocks_begin_at_multiples_of_their_alignment() {
        for alignment in [1, 64, 128, 1024, 4096, 1 << 21] {
            for rows in [0, 512, 1088] {
                let found = next(alignment, Apart { rows, planes: 0 });
                assert!(found.is_multiple_of(alignment.max(LINE)) && found < LINE * LINES);
            }
        }
    }

    #[test]
    fn the_vectors_behind_one_that_was_stored_do_not_wait() {
        for (rows, planes) in [(17, 2278), (8, 1073), (10, 1340), (33, 8646), (9, 1206)] {
            let apart = Apart {
                rows: rows * LINE,
                planes: planes * LINE,
            };
            let lines = step(apart, 1);
            assert_eq!(lines % 2, 1);
            let most = *waits(apart).iter().max().expect("there are lines");
            assert!(waits(apart)[lines] * 3 <= most, "{rows} {planes} {lines}");
        }
    }
}
