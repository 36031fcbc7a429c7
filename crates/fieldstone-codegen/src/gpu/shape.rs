//! How many threads a block has, which points it computes, and where in shared memory its temporaries lie.

use std::collections::BTreeMap;

use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::TempId;

use crate::choices::Choices;

/// Points of a tile along the lanes: the threads that an accelerator runs in step.
const LANES: usize = 32;

/// Levels of a point that a thread computes where the next one reads what one has read. More save little.
const CLIMB: usize = 4;

/// Threads of a block, at most: that many have 64 registers each.
const MOST_THREADS: usize = 1024;

/// Rows of columns of a block. Few, so that those of a small domain are shared out evenly.
const COLUMNS: usize = 2;

/// Columns that a processor shall sweep over at once, at least: enough for what it waits for, and 128 registers for each.
const COLUMNS_AT_ONCE: usize = 512;

/// How a block of threads computes a nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The axis along which neighbouring threads lie.
    pub lanes: Axis,
    /// How many threads it has, a power of two.
    pub threads: usize,
    /// Points of its tile along I, J, K; none along K where each thread computes a whole column.
    pub tile: [usize; 3],
    /// Levels of its tile that each thread computes, one behind the other.
    pub climb: usize,
    /// Temporaries in shared memory.
    pub shared: BTreeMap<TempId, Shared>,
    /// Bytes of shared memory.
    pub shared_bytes: usize,
}

/// A temporary in shared memory: the points of a tile and of what is around it, one row along the lanes behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Bytes from the beginning of shared memory.
    pub offset: usize,
    /// Points around the tile towards lower indices.
    pub before: [i32; 3],
    /// Points along each axis, those around the tile included.
    pub points: [usize; 3],
}

impl Shape {
    /// Points of a tile across the lanes that may be tried, the best first.
    pub const SIDES: [usize; 4] = [8, 4, 2, 1];

    /// For tiles with so many points across the lanes, or with as many along each axis as was chosen.
    pub fn of_rows(lanes: Axis, side: usize, choices: &Choices) -> Shape {
        let [first, second, _] = order(lanes);
        let mut tile = [1; 3];
        tile[first.index()] = LANES;
        tile[second.index()] = side;
        for axis in Axis::ALL {
            let chosen = choices.tile(axis);
            tile[axis.index()] = chosen.unwrap_or(tile[axis.index()]);
        }
        Shape::of_tile(lanes, tile)
    }

    /// For columns side by side along an axis.
    pub fn of_columns(lanes: Axis, choices: &Choices) -> Shape {
        let [first, second, _] = order(lanes);
        let mut tile = [0; 3];
        tile[first.index()] = choices.tile(first).unwrap_or(LANES);
        tile[second.index()] = choices.tile(second).unwrap_or(COLUMNS);
        Shape::of_tile(lanes, tile)
    }

    /// A thread computes several points of a tile that has more points than a block may have threads.
    fn of_tile(lanes: Axis, tile: [usize; 3]) -> Shape {
        let points: usize = tile.iter().map(|points| (*points).max(1)).product();
        Shape {
            lanes,
            threads: points.next_power_of_two().clamp(LANES, MOST_THREADS),
            tile,
            climb: 1,
            shared: BTreeMap::new(),
            shared_bytes: 0,
        }
    }

    /// The same, with threads that compute several levels.
    pub fn climbing(mut self) -> Shape {
        self.climb = CLIMB;
        self.tile[2] = CLIMB;
        self
    }

    /// Blocks along I, J, K that compute so many points.
    pub fn grid(&self, points: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|n| match self.tile[n] {
            0 => 1,
            tile => points[n].div_ceil(tile),
        })
    }

    /// Blocks that a processor shall have at once, at least, so that each thread may have so many registers; `None` where the
    /// assembler knows best. It spills registers of columns for the sake of threads that there are not.
    pub fn resident(&self) -> Option<usize> {
        let are_columns = self.tile[2] == 0;
        are_columns.then_some((COLUMNS_AT_ONCE / self.threads).max(1))
    }

    /// The axes, that of the lanes first.
    pub fn order(&self) -> [Axis; 3] {
        order(self.lanes)
    }
}

/// The axes, that of the lanes first.
pub fn order(lanes: Axis) -> [Axis; 3] {
    match lanes {
        Axis::I => [Axis::I, Axis::J, Axis::K],
        Axis::J => [Axis::J, Axis::I, Axis::K],
        Axis::K => [Axis::K, Axis::J, Axis::I],
    }
}
