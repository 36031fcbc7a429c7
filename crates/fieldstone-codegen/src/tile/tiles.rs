//! How a domain is cut into tiles.

use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::{ColumnNest, Roles, RowNest};

use super::{LINE, Scratch};

/// Rows of a tile without scratch that reads other rows along the block axis, where these are short.
const SHORT_ROWS_PER_CHUNK: usize = 32;

/// The same where they are long, at least: enough to amortise the tile.
const FEWEST_ROWS_PER_CHUNK: usize = 8;

/// The same where what they read stays in the first-level cache, at least: neighbours of the first and the last one are read twice.
const FEWEST_NEAR_ROWS: usize = 4;

/// Tiles for each thread, so that threads finish together.
const TILES_PER_THREAD: usize = 4;

/// Rows that are computed for one vector of levels before the next one, at least: the first of them find nothing in the first-level cache.
const FEWEST_ROWS_OF_VECTOR: usize = 8;

/// Rows of a tile whose columns stay in the second-level cache, at least: those at its edges are read and computed twice.
const FEWEST_ROWS_OF_COLUMNS: usize = 32;

/// Points of a row of which the begin and the end hardly count.
pub(crate) const LONG_ROW: usize = 2048;

/// Bytes of a column beyond which fewer than two fit a page of memory.
const LONG: usize = 2048;

/// Lines of such a column that a tile has where it has one of others: that of a page of its own is found anew for each tile.
const LINES_OF_LONG: usize = 4;

/// Lines of a column from which on a tile has two of each where what comes from memory is late.
const LINES_IN_PAIRS: usize = 10;

/// Bytes between lines that have their places in the same eighth of a first-level cache.
const ALIAS: usize = 512;

/// How columns whose levels follow each other in memory share cache lines with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// The first level of each is where a line begins.
    Apart,
    /// The same level of each is.
    Shifted,
    /// None is.
    Shared,
}

impl Lines {
    /// All of them, in order.
    pub(crate) const ALL: [Lines; 3] = [Lines::Apart, Lines::Shifted, Lines::Shared];
}

/// How a domain is cut into tiles, along I, J, K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Points of a tile; the last one along an axis may have fewer.
    pub size: [usize; 3],
    /// Number of tiles.
    pub count: [usize; 3],
}

impl Tiles {
    /// How many tiles there are in all.
    pub fn total(&self) -> usize {
        self.count.iter().product()
    }

    fn new(points: [usize; 3], size: [usize; 3]) -> Tiles {
        let size = size.map(|size| size.max(1));
        Tiles {
            size,
            count: std::array::from_fn(|n| points[n].div_ceil(size[n])),
        }
    }

    /// Tiles of a nest of rows that computes `points` points along each axis; `near` if rows or planes may be so small
    /// that they stay in the first-level cache.
    pub(crate) fn of_rows(
        nest: &RowNest,
        scratch: &Scratch,
        mut points: [usize; 3],
        threads: usize,
        lines: Lines,
        near: bool,
    ) -> Tiles {
        let roles = nest.roles;
        if let (Some(line), Lines::Shifted) = (scratch.line, lines) {
            // The first tile begins before the first level.
            points[roles.block.index()] += line - 1;
        }
        if let Some(size) = scratch.long_rows(roles, points, threads) {
            return Tiles::new(points, size);
        }
        let mut size = points;
        let short = match lines {
            // Rows of fewer points leave room for more lines of each.
            Lines::Shared => scratch.short,
            _ if near && scratch.columns.is_none() => {
                (scratch.aliased).filter(|_| scratch.is_aliased(points))
            }
            _ => scratch.far,
        };
        if let Some(cap) = short.or(scratch.vector) {
            let points = points[roles.vector.index()];
            size[roles.vector.index()] = match roles.are_panels() {
                true => points.div_ceil(points.div_ceil(cap).max(1)),
                false => even(points, cap),
            };
        }
        let blocks = points[roles.block.index()];
        size[roles.block.index()] = match (scratch.block, scratch.lanes) {
            (Some(levels), Some(lanes)) => {
                let levels = match (scratch.line, lines) {
                    // Those that share lines would have each moved twice.
                    (None, _) | (_, Lines::Shared) => levels,
                    (Some(line), _) if blocks.div_ceil(line) * LINE >= LONG => {
                        levels.min(line * LINES_OF_LONG)
                    }
                    (Some(line), _)
                        if scratch.pairs && !near && blocks.div_ceil(line) >= LINES_IN_PAIRS =>
                    {
                        levels.min(line * 2)
                    }
                    // One line leaves most of the cache to a row.
                    (Some(line), _) => line,
                };
                let tiles = blocks.div_ceil(levels).max(1);
                blocks.div_ceil(tiles).next_multiple_of(lanes)
            }
            _ => (scratch.near_columns(points[roles.vector.index()]))
                .filter(|_| near && roles.vector == Axis::K)
                .unwrap_or_else(|| scratch.block_rows(roles)),
        };
        let others = Tiles::new(points, size).total();
        let slide = points[roles.slide.index()];
        // Rows at the edge of a chunk are computed twice, so only as many chunks as the threads need.
        let needed = (threads * TILES_PER_THREAD).div_ceil(others.max(1));
        let chunks = match scratch.plane.filter(|_| scratch.places.is_empty()) {
            Some(plane) => {
                let rows = match roles.vector {
                    Axis::K => SHORT_ROWS_PER_CHUNK,
                    axis => {
                        let points = points[axis.index()];
                        let rows = scratch.near_rows(points).filter(|_| near);
                        rows.unwrap_or((plane / points.max(1)).max(FEWEST_ROWS_PER_CHUNK))
                    }
                };
                slide.div_ceil(rows).max(needed)
            }
            None => match scratch.columns.filter(|_| lines != Lines::Shared) {
                Some(columns) => {
                    let row = size[roles.vector.index()] * points[roles.block.index()];
                    let rows = (columns / row.max(1)).max(FEWEST_ROWS_OF_COLUMNS);
                    slide.div_ceil(rows).max(needed)
                }
                None => needed,
            },
        };
        let chunk = slide.div_ceil(chunks.clamp(1, slide.max(1)));
        size[roles.slide.index()] = scratch.slide.unwrap_or(chunk);
        Tiles::new(points, size)
    }

    /// Rows of such a tile that are computed for one vector of levels before those for the next one, where a point has several, of
    /// fields of so many bytes. What one row shares with the next is in the first-level cache then, and the rest of a line that two
    /// vectors share in the second-level one. What comes from memory comes faster in its order.
    pub(crate) fn rows_of_vector(
        &self,
        roles: Roles,
        scratch: &Scratch,
        bytes: usize,
        (lines, from_memory): (Lines, bool),
    ) -> usize {
        if lines != Lines::Shared || from_memory {
            return 1;
        }
        let [points, levels] = [roles.vector, roles.block].map(|axis| self.size[axis.index()]);
        (scratch.left / (points * levels * bytes).max(1)).max(FEWEST_ROWS_OF_VECTOR)
    }

    /// Tiles of a nest of columns; along K there is one.
    pub(crate) fn of_columns(
        nest: &ColumnNest,
        scratch: &Scratch,
        points: [usize; 3],
        threads: usize,
    ) -> Tiles {
        let mut size = points;
        let (vector, outer) = (nest.vector.index(), nest.outer().index());
        size[vector] = even(points[vector], scratch.vector.unwrap_or(256));
        size[outer] = 1;
        let tiles = Tiles::new(points, size);
        if scratch.slim || tiles.total() >= threads * TILES_PER_THREAD {
            return tiles;
        }
        let fewest = scratch.vector.unwrap_or(LINE).min(LINE);
        size[vector] = even(points[vector], fewest);
        Tiles::new(points, size)
    }
}

impl Scratch {
    /// Points of tiles that are long rows, or parts of them where there are too few for the threads, each aligned as it is; `None` where
    /// rows are short or lie in planes, or tiles are made for scratch memory or were chosen.
    fn long_rows(&self, roles: Roles, points: [usize; 3], threads: usize) -> Option<[usize; 3]> {
        let chosen = self.vector.or(self.block).or(self.slide);
        let along = |axis: Axis| points[axis.index()];
        let (row, rows) = (along(roles.vector), along(roles.slide) * along(roles.block));
        let in_a_line = rows == along(roles.slide).max(along(roles.block));
        if row < LONG_ROW || !in_a_line || chosen.is_some() || !self.places.is_empty() {
            return None;
        }
        let needed = (threads * TILES_PER_THREAD).div_ceil(rows.max(1));
        let parts = needed.clamp(1, row / LONG_ROW);
        let mut size = [1; 3];
        size[roles.vector.index()] = even(row, row.div_ceil(parts).next_multiple_of(LINE));
        Some(size)
    }

    /// Whether columns of so many points along each axis, of whole cache lines, are a multiple of [`ALIAS`] bytes apart.
    fn is_aliased(&self, points: [usize; 3]) -> bool {
        let levels = points[Axis::K.index()];
        let lines = self.line.map(|line| levels.div_ceil(line) * LINE);
        lines.is_some_and(|bytes| bytes.is_multiple_of(ALIAS))
    }

    /// Rows along `K` of a tile along the block axis, of so many points, where what they read should stay near.
    pub(crate) fn near_columns(&self, points: usize) -> Option<usize> {
        let near = self.near.filter(|_| self.block.is_none());
        near.map(|near| (near / points.max(1)).max(FEWEST_ROWS_PER_CHUNK))
    }

    /// Other rows of a tile along the sliding axis, of so many points, whose planes are near enough, if there are enough such rows.
    fn near_rows(&self, points: usize) -> Option<usize> {
        let rows = self.near? / points.max(1);
        (rows >= FEWEST_NEAR_ROWS).then_some(rows)
    }
}

/// The size of equal tiles, none larger than `cap`, that are whole cache lines of the smallest elements.
fn even(points: usize, cap: usize) -> usize {
    let tiles = points.div_ceil(cap).max(1);
    points.div_ceil(tiles).next_multiple_of(LINE).min(cap)
}

#[cfg(test)]
mod tests {
    use fieldstone_stencil::Extent;

    use super::*;

    /// A nest whose points are vectors of eight levels, one line of each column.
    fn panels() -> (RowNest, Scratch) {
        let nest = RowNest {
            roles: Roles::of_panels(Axis::J),
            extent: Extent::default(),
            stages: Vec::new(),
            loops: Vec::new(),
        };
        let scratch = Scratch {
            vector: Some(64),
            block: Some(64),
            lanes: Some(8),
            line: Some(8),
            aliased: Some(32),
            ..Scratch::default()
        };
        (nest, scratch)
    }

    #[test]
    fn long_rows_in_a_line_are_tiles_of_their_own() {
        let nest = RowNest {
            roles: Roles::new(Axis::K),
            extent: Extent::default(),
            stages: Vec::new(),
            loops: Vec::new(),
        };
        let tiles = |scratch: &Scratch, domain: [usize; 3]| {
            Tiles::of_rows(&nest, scratch, domain, 2, Lines::Shared, false)
        };
        let none = Scratch::default();
        assert_eq!(tiles(&none, [30, 1, 5000]).size, [1, 1, 5056], "a row each");
        assert_eq!(
            tiles(&none, [1, 1, 5000]).count,
            [1, 1, 2],
            "a part of the row for each thread"
        );
        assert_eq!(tiles(&none, [1, 1, 50_000]).count, [1, 1, 8]);
        assert!(tiles(&none, [30, 1, 500]).size[0] > 1, "short rows");
        assert!(tiles(&none, [30, 8, 5000]).size[0] > 1, "rows in a plane");
        let chosen = Scratch {
            slide: Some(4),
            ..Scratch::default()
        };
        assert_eq!(tiles(&chosen, [30, 1, 5000]).size[0], 4);
    }

    #[test]
    fn rows_have_fewer_points_where_columns_share_places_of_the_first_level_cache() {
        let (nest, scratch) = panels();
        let points = |scratch: &Scratch, levels: usize, near: bool| {
            let domain = [128, 128, levels];
            Tiles::of_rows(&nest, scratch, domain, 2, Lines::Apart, near).size[1]
        };
        assert_eq!(
            [52, 60, 64, 72, 124].map(|levels| points(&scratch, levels, true)),
            [64, 32, 32, 64, 32]
        );
        assert_eq!(points(&scratch, 64, false), 64, "rows from memory");
        let full = Scratch {
            far: Some(32),
            ..scratch
        };
        assert_eq!(points(&full, 72, true), 64);
        assert_eq!(points(&full, 72, false), 32, "rows from memory");
    }

    #[test]
    fn tiles_from_memory_have_two_lines_of_long_columns_where_these_come_late() {
        let (nest, scratch) = panels();
        let levels = |pairs: bool, levels: usize, lines: Lines, near: bool| {
            let scratch = Scratch {
                pairs,
                ..scratch.clone()
            };
            Tiles::of_rows(&nest, &scratch, [240, 128, levels], 2, lines, near).size[2]
        };
        assert_eq!(
            [64, 72, 80, 88, 128].map(|all| levels(true, all, Lines::Apart, false)),
            [8, 8, 16, 16, 16]
        );
        assert_eq!(levels(true, 80, Lines::Apart, true), 8, "from the caches");
        assert_eq!(levels(false, 80, Lines::Apart, false), 8);
        assert_eq!(
            levels(true, 80, Lines::Shared, false),
            40,
            "no lines of their own"
        );
    }

    #[test]
    fn tiles_have_so_few_columns_that_the_second_level_cache_keeps_all_their_lines() {
        let (nest, scratch) = panels();
        let scratch = Scratch {
            far: Some(32),
            columns: Some(32 * 40 * 80),
            ..scratch
        };
        let size = |levels: usize, lines: Lines| {
            let tiles = Tiles::of_rows(&nest, &scratch, [240, 128, levels], 2, lines, true);
            [tiles.size[0], tiles.size[1]]
        };
        assert_eq!(size(80, Lines::Apart), [40, 32]);
        assert_eq!(size(40, Lines::Apart), [80, 32]);
        assert_eq!(size(800, Lines::Apart), [30, 32], "rows at edges count");
        assert!(size(80, Lines::Shared)[0] > 80, "no lines of their own");
    }
}
