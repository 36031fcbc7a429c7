//! Sizes of tiles, and how the temporaries of a tile lie in a thread's scratch memory.
//!
//! | module | what lives there |
//! |---|---|
//! | `rings` | rings of rows |
//! | `panels` | rings of rows whose points are vectors of levels |
//! | `columns` | blocks of columns |
//! | `busy` | whether sweeps have enough to do for one vector of columns |
//! | `held` | which of these are so narrow that registers hold what a level leaves to the next one |
//! | `tiles` | how a domain is cut into tiles |

mod busy;
mod columns;
mod held;
mod panels;
mod rings;
mod tiles;

use std::collections::HashMap;

use fieldstone_stencil::ir::{Stencil, Target, TempId};
use fieldstone_stencil::schedule::{Placement, Roles, Schedule};
use fieldstone_stencil::{Axis, DType};

pub(crate) use columns::lanes_of_sweeps;
pub(crate) use panels::MOST_LANES;
pub use tiles::Tiles;
pub(crate) use tiles::{LONG_ROW, Lines};

use crate::direct::Direct;
use crate::transposed::Transposed;

/// Bytes that one vector register or cache line holds at most; rows of scratch start at multiples of it.
pub const LINE: usize = 64;

/// Short rows of a tile without scratch along the block axis: some planes of them fit a second-level cache.
const SHORT_ROWS: usize = 128;

/// How the temporaries of one nest lie in scratch memory, and the largest tile that fits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scratch {
    /// Where each temporary lies.
    pub places: HashMap<TempId, Place>,
    /// Bytes for a tile, and for each level of the domain on top.
    pub bytes: usize,
    /// Bytes for each level of the domain.
    pub level_bytes: usize,
    /// Levels before the domain that scratch has room for, and after it.
    pub levels_around: (usize, usize),
    /// Arrays that a block of columns is transposed from and to, and where in a level it lies.
    pub transposed: Vec<(Transposed, Block)>,
    /// Per sweep of a nest of columns, what it reads and stores where that lies.
    pub direct: Vec<Option<Direct>>,
    /// Columns, and levels, that are transposed at a time.
    pub square: usize,
    /// Whether a block of columns is a few vectors wide: levels are transposed some at a time, or not at all.
    pub slim: bool,
    /// Largest tile along the vector axis, a multiple of [`LINE`] elements; `None` without scratch.
    pub vector: Option<usize>,
    /// Levels of each point of a row, where it is a vector of them.
    pub lanes: Option<usize>,
    /// Levels of a tile of such rows where columns lie whole cache lines apart, unless that was chosen.
    pub line: Option<usize>,
    /// Points of such a row where columns share cache lines, unless tiles were chosen.
    pub short: Option<usize>,
    /// Points of such a row where columns are a multiple of 512 bytes apart and stay in the caches, unless tiles were chosen.
    pub aliased: Option<usize>,
    /// Points of such a row that comes from memory, where rows of more do not leave each other room in the first-level cache.
    pub far: Option<usize>,
    /// Points of the columns of a tile of such rows, so few that the second-level cache has all lines of these from the first to the last
    /// one: where the cache behind it is far, and columns lie whole lines apart.
    pub columns: Option<usize>,
    /// Whether the first-level cache has room for what is fetched for the next such row.
    pub soon: bool,
    /// Whether tiles of such rows that come from memory have two lines of each column, if that is long, unless tiles were chosen.
    pub pairs: bool,
    /// Bytes of the second-level cache that are left to the fields of such rows.
    pub left: usize,
    /// Points of the rows of a tile, at most, of a nest without scratch that reads other rows along the block axis than the one
    /// it computes: what it reads of them stays in the second-level cache until the next ones are computed.
    pub plane: Option<usize>,
    /// Whether such a nest reads rows along the sliding axis as well, and most of a plane again for the next one.
    pub reads_again: bool,
    /// The points of the rows of a tile, at most, of which the first-level cache keeps what is read again, where that gains anything.
    pub near: Option<usize>,
    /// Largest tile along the block axis; `None` without scratch.
    pub block: Option<usize>,
    /// Largest tile along the sliding axis, where that was chosen.
    pub slide: Option<usize>,
}

/// Where a temporary lies in scratch memory. All numbers are bytes unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A ring of rows.
    Ring {
        /// Of the first row.
        offset: usize,
        /// Of a row.
        row: usize,
        /// From one row to the next along the sliding axis, and along the block axis.
        steps: (usize, usize),
        /// Rows along the sliding axis, a power of two.
        rows: usize,
        /// Rows along the block axis for one along the sliding axis.
        blocks: usize,
        /// Rows along the block axis before the tile.
        before: usize,
        /// From the start of a row to the first point of the tile.
        pad: usize,
    },
    /// A block of columns.
    Column {
        /// Of the first point, within a level.
        offset: usize,
    },
    /// The last levels of a block of columns, in a ring.
    Window {
        /// Of the first level.
        offset: usize,
        /// From one level to the next.
        row: usize,
        /// Levels, a power of two.
        levels: usize,
    },
}

/// Where the transposed block of an array lies in a level of scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes before the first point of the tile, those of earlier blocks included.
    pub offset: usize,
    /// Levels of a ring, a power of two; `None` where there are all.
    pub window: Option<usize>,
}

impl Scratch {
    /// Rows of a tile along the block axis, at most.
    pub(crate) fn block_rows(&self, roles: Roles) -> usize {
        // Rows along K are short, and follow each other in memory along the block axis.
        let usual = match roles.vector {
            Axis::K => SHORT_ROWS,
            Axis::I | Axis::J => 1,
        };
        self.block.unwrap_or(usual)
    }

    /// Whether a block of columns is a few vectors wide and nothing is transposed for it.
    pub(crate) fn is_held(&self) -> bool {
        self.slim && self.transposed.is_empty()
    }

    /// The transposed block that holds an array at an offset along the outer axis.
    pub(crate) fn block(&self, target: Target, outer: i32) -> Option<Block> {
        let found =
            |(array, _): &&(Transposed, Block)| (array.target, array.outer) == (target, outer);
        self.transposed.iter().find(found).map(|(_, block)| *block)
    }

    /// The arrays that are transposed, without those of which only what is left of whole groups of levels is.
    pub fn mostly_transposed(&self) -> impl Iterator<Item = &Transposed> {
        let arrays = self.transposed.iter().map(|(array, _)| array);
        arrays.filter(|array| {
            let mut direct = self.direct.iter().flatten();
            !direct.any(|direct| direct.own.contains(&array.target))
        })
    }

    /// Bytes needed for a domain.
    pub fn total(&self, levels: usize) -> usize {
        // Squares at the end of a column reach behind it, and those at the end of a row behind that.
        let behind = match self.transposed.is_empty() {
            true => (0, 0),
            false => (self.square, LINE),
        };
        let levels = levels + self.levels_around.0 + self.levels_around.1 + behind.0;
        self.bytes + self.level_bytes * levels + behind.1
    }
}

fn temporaries<'a>(
    stencil: &'a Stencil,
    schedule: &'a Schedule,
) -> impl Iterator<Item = (TempId, DType, Placement)> + 'a {
    let both = stencil.temporaries.iter().zip(&schedule.temporaries);
    both.enumerate()
        .filter_map(|(number, (temporary, placement))| {
            Some((TempId(number as u32), temporary.dtype?, *placement))
        })
}

/// Points of whole cache lines of the smallest elements, at least so many.
fn whole_lines(points: usize) -> usize {
    points.next_multiple_of(LINE)
}
