//! Boxes of grid points, and the blocks they are evaluated in.

use std::ops::Range;

use fieldstone_device::DeviceError;
use fieldstone_stencil::{Area, Axis, Extent, Offset};

use super::memory::collected;

/// Points of a block at most: few enough for its values to stay in the nearest cache, enough to make calls rare.
const BLOCK: usize = 2048;

/// A box of grid points; index 0 is the first point of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) start: [i64; 3],
    pub(super) shape: [usize; 3],
}

/// A part of a region, and where its points stand in the order of all blocks.
pub(super) struct Block {
    pub(super) region: Region,
    pub(super) points: Range<usize>,
}

impl Region {
    pub(super) fn new(start: [i64; 3], shape: [usize; 3]) -> Region {
        Region { start, shape }
    }

    /// Number of points; of more than can be counted, the most.
    pub(super) fn len(&self) -> usize {
        (self.shape.iter()).fold(1, |count, points| count.saturating_mul(*points))
    }

    /// One past the last index along each axis.
    pub(super) fn end(&self) -> [i64; 3] {
        std::array::from_fn(|n| self.start[n] + self.shape[n] as i64)
    }

    /// With the points that `extent` adds at each end.
    pub(super) fn extended(&self, extent: Extent) -> Region {
        let grown = |n: usize| {
            let (lower, upper) = extent.0[n];
            let end = self.end()[n] + i64::from(upper);
            let start = self.start[n] - i64::from(lower);
            (start, usize::try_from(end - start).unwrap_or(0))
        };
        Region {
            start: std::array::from_fn(|n| grown(n).0),
            shape: std::array::from_fn(|n| grown(n).1),
        }
    }

    /// The part of it that lies in an area of a domain.
    pub(super) fn within(&self, area: Area, domain: [usize; 3]) -> Region {
        let mut inside = *self;
        for axis in [Axis::I, Axis::J] {
            let n = axis.index();
            let (part, mut end) = (area.along(axis), self.end()[n]);
            if let Some(bound) = part.start {
                inside.start[n] = inside.start[n].max(bound.resolve(domain[n]));
            }
            if let Some(bound) = part.end {
                end = end.min(bound.resolve(domain[n]));
            }
            inside.shape[n] = usize::try_from(end - inside.start[n]).unwrap_or(0);
        }
        inside
    }

    /// Where a mask holds, in the order of the blocks, and points are also in a part of the region.
    pub(super) fn mask_of(&self, part: &Region, mask: &[bool]) -> Result<Vec<bool>, DeviceError> {
        let end = part.end();
        let inside = |index: [i64; 3]| (0..3).all(|n| (part.start[n]..end[n]).contains(&index[n]));
        let points = self.blocks().flat_map(|block| {
            let points: Vec<[i64; 3]> = block.region.points().collect();
            points
        });
        let holds = points.zip(mask);
        collected(
            mask.len(),
            holds.map(|(index, holds)| *holds && inside(index)),
        )
    }

    /// The same box, moved.
    pub(super) fn shifted(&self, offset: Offset) -> Region {
        Region {
            start: std::array::from_fn(|n| self.start[n] + i64::from(offset.0[n])),
            shape: self.shape,
        }
    }

    /// Every point, I fastest.
    pub(super) fn points(&self) -> impl Iterator<Item = [i64; 3]> {
        let [i, j, k] = std::array::from_fn(|n| self.start[n]..self.end()[n]);
        k.flat_map(move |k| {
            let i = i.clone();
            j.clone()
                .flat_map(move |j| i.clone().map(move |i| [i, j, k]))
        })
    }

    /// The first point of every row along I, in the order of [`Region::points`].
    pub(super) fn rows(&self) -> impl Iterator<Item = [i64; 3]> {
        let [i, _, _] = self.start;
        let [_, j, k] = std::array::from_fn(|n| self.start[n]..self.end()[n]);
        k.flat_map(move |k| j.clone().map(move |j| [i, j, k]))
    }

    /// A point by its number in the order of the blocks.
    pub(super) fn point(&self, number: usize) -> [i64; 3] {
        (self.blocks())
            .find(|block| block.points.contains(&number))
            .and_then(|block| block.region.points().nth(number - block.points.start))
            .unwrap_or(self.start)
    }

    /// Boxes of few points that cover the region once.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let mut room = BLOCK;
        let step = self.shape.map(|points| {
            let step = points.clamp(1, room);
            room = (room / step).max(1);
            step
        });
        let count = std::array::from_fn::<_, 3, _>(|n| self.shape[n].div_ceil(step[n]));
        let (whole, mut begin) = (*self, 0);
        let tiles = Region::new([0; 3], count).points().collect::<Vec<_>>();
        tiles.into_iter().map(move |tile| {
            let first: [usize; 3] = std::array::from_fn(|n| tile[n] as usize * step[n]);
            let region = Region {
                start: std::array::from_fn(|n| whole.start[n] + first[n] as i64),
                shape: std::array::from_fn(|n| step[n].min(whole.shape[n] - first[n])),
            };
            let points = begin..begin + region.len();
            begin = points.end;
            Block { region, points }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_point_once() {
        for shape in [
            [3, 2, 4],
            [5000, 1, 2],
            [1, 70, 90],
            [100, 100, 3],
            [0, 4, 4],
        ] {
            let region = Region::new([-1, 2, 0], shape);
            let mut covered = Vec::new();
            for block in region.blocks() {
                assert!(block.region.len() <= BLOCK);
                assert_eq!(
                    block.points,
                    covered.len()..covered.len() + block.region.len()
                );
                covered.extend(block.region.points());
            }
            covered.sort_unstable();
            let mut expected: Vec<_> = region.points().collect();
            expected.sort_unstable();
            assert_eq!(covered, expected);
        }
    }
}
