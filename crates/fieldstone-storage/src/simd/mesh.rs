//! Planes of few long rows, or of few long columns, whose other side is contiguous: `xxxx yyyy zzzz` and `xyzxyzxyzxyz`.
//!
//! Blocks of such a plane are as many lines of the target as of the source, and each lane of the target's is picked from one of
//! the source's.

use super::{LINE, Plane};

/// Which lanes of a line of the source go to one of the target: for each lane of the target's line its number in the source's, as an
/// integer of an element's size.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Pick(pub [u8; LINE]);

/// Moves all blocks, if `stream` past the caches to targets that begin at cache lines. Sources must be readable, targets
/// writable, and both apart.
pub(crate) type Weave = unsafe fn(&Mesh, *const u8, *mut u8, bool);

/// Blocks of lines.
#[derive(Default)]
pub(crate) struct Mesh {
    pub blocks: usize,
    /// Where a block's lines are in the source, and how far the next block's.
    pub sources: Vec<isize>,
    pub source_step: isize,
    /// The same of the target.
    pub targets: Vec<isize>,
    pub target_step: isize,
    /// For each line of the target one of each line of the source.
    pub picks: Vec<Pick>,
    /// Which lanes of the target's line come from that line at all.
    pub masks: Vec<u64>,
    /// What the picks are for: elements of so many bytes, and whether rows are interleaved.
    of: (usize, bool),
}

impl Mesh {
    /// More rows take longer than blocks that are not full.
    pub const MOST: usize = 6;

    /// Makes this the mesh of a plane, and returns how much of it the blocks cover along `a` and `b`; nothing if it is not of this
    /// kind.
    pub fn cover(&mut self, plane: Plane<'_>) -> Option<(usize, usize)> {
        let (size_a, size_b, itemsize) = (plane.a.len(), plane.b.len(), plane.itemsize);
        let lanes = LINE / itemsize;
        let few = |size: usize| (2..=Self::MOST.min(lanes / 2)).contains(&size);
        let interleaves = few(size_a) && size_b >= lanes && follow(plane.b, size_a * itemsize);
        let parts = few(size_b) && size_a >= lanes && follow(plane.a, size_b * itemsize);
        if !interleaves && !parts {
            return None;
        }
        let (rows, long) = if interleaves {
            (plane.a, plane.b)
        } else {
            (plane.b, plane.a)
        };
        let count = rows.len();
        self.blocks = long.len() / lanes;
        (self.source_step, self.target_step) = if interleaves {
            (LINE as isize, (count * LINE) as isize)
        } else {
            ((count * LINE) as isize, LINE as isize)
        };
        let together = (0..count).map(|n| long[0] + (n * LINE) as isize);
        let (apart, lines) = if interleaves {
            (&mut self.sources, &mut self.targets)
        } else {
            (&mut self.targets, &mut self.sources)
        };
        apart.clear();
        apart.extend(rows);
        lines.clear();
        lines.extend(together);
        if self.of != (itemsize, interleaves) || self.picks.len() != count * count {
            self.of = (itemsize, interleaves);
            self.pick(itemsize, count, interleaves);
        }
        let whole = self.blocks * lanes;
        Some(if interleaves {
            (count, whole)
        } else {
            (whole, count)
        })
    }

    fn pick(&mut self, itemsize: usize, count: usize, interleaves: bool) {
        let lanes = LINE / itemsize;
        self.picks.clear();
        self.picks.resize(count * count, Pick([0; LINE]));
        self.masks.clear();
        self.masks.resize(count * count, 0);
        for line in 0..count {
            for lane in 0..lanes {
                // Where the elements of both sides are if all lines of each follow each other.
                let place = line * lanes + lane;
                let (from, from_lane) = if interleaves {
                    (place % count, place / count)
                } else {
                    let place = lane * count + line;
                    (place / lanes, place % lanes)
                };
                let pick = line * count + from;
                self.picks[pick].0[lane * itemsize] = from_lane as u8;
                self.masks[pick] |= 1 << lane;
            }
        }
    }
}

/// Whether rows of so many bytes follow each other without gaps.
fn follow(rows: &[isize], bytes: usize) -> bool {
    rows.windows(2)
        .all(|pair| pair[1] - pair[0] == bytes as isize)
}
