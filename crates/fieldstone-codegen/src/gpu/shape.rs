//! How many threads a block has, which points it computes, and where in shared memory its temporaries lie.

use std::collections::BTreeMap;

use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::TempId;

use crate::choices::Choices;

/// Points of a tile along the lanes: the threads that an accelerator runs in step.
const LANES: usize = 32;

/// Threads of a block where nobody chose more: that many have 128 registers each.
const MANY_THREADS: usize = 512;

/// Threads of a block, at most: that many have 64 registers each.
const MOST_THREADS: usize = 1024;

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
    /// Blocks that a processor shall have at once, at least, so that each thread may have so many registers; `None` where the
    /// assembler knows best. It spills registers of columns for the sake of threads that there are not.
    pub resident: Option<usize>,
    /// Temporaries in shared memory.
    pub shared: BTreeMap<TempId, Shared>,
    /// Bytes of shared memory.
    pub shared_bytes: usize,
    /// Bytes of it for each level of a column, beside those.
    pub level_bytes: usize,
    /// Levels of a column around the domain.
    pub levels_around: usize,
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
    /// For tiles of so many points along the lanes, and across them, or of as many along each axis as was chosen.
    pub fn of_rows(lanes: Axis, [along, across]: [usize; 2], choices: &Choices) -> Shape {
        let [first, second, _] = order(lanes);
        let mut tile = [1; 3];
        tile[first.index()] = along;
        tile[second.index()] = across;
        for axis in Axis::ALL {
            let chosen = choices.tile(axis);
            tile[axis.index()] = chosen.unwrap_or(tile[axis.index()]);
        }
        Shape::of_tile(lanes, tile, choices)
    }

    /// For columns side by side along an axis, in so many rows.
    pub fn of_columns(lanes: Axis, rows: usize, choices: &Choices) -> Shape {
        let [first, second, _] = order(lanes);
        let mut tile = [0; 3];
        tile[first.index()] = choices.tile(first).unwrap_or(LANES);
        tile[second.index()] = choices.tile(second).unwrap_or(rows);
        Shape::of_tile(lanes, tile, choices)
    }

    /// A thread computes several points of a tile that has more points than the block has threads.
    fn of_tile(lanes: Axis, tile: [usize; 3], choices: &Choices) -> Shape {
        let points: usize = tile.iter().map(|points| (*points).max(1)).product();
        let most = match choices.tile {
            [None, None, None] => MANY_THREADS,
            _ => MOST_THREADS,
        };
        Shape {
            lanes,
            threads: points.next_power_of_two().clamp(LANES, most),
            tile,
            climb: 1,
            resident: None,
            shared: BTreeMap::new(),
            shared_bytes: 0,
            level_bytes: 0,
            levels_around: 0,
        }
    }

    /// Bytes of shared memory for a domain with so many levels.
    pub fn shared_for(&self, levels: usize) -> usize {
        self.shared_bytes + self.level_bytes * (levels + self.levels_around)
    }

    /// The same, with threads that compute so many levels, of a tile that has at least as many.
    pub fn climbing(mut self, levels: usize) -> Shape {
        self.climb = levels;
        self.tile[2] = self.tile[2].next_multiple_of(levels);
        let points = self.tile.iter().product::<usize>() / levels;
        self.threads = points.next_power_of_two().clamp(LANES, self.threads);
        self
    }

    /// The same, where a processor has so many columns at once, at least.
    pub fn with_columns(mut self, columns: usize) -> Shape {
        self.resident = Some((columns / self.threads).max(1));
        self
    }

    /// Threads that a processor has at once, at least.
    pub fn threads_at_once(&self) -> usize {
        self.threads * self.resident.unwrap_or(1)
    }

    /// Blocks along I, J, K that compute so many points.
    pub fn grid(&self, points: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|n| match self.tile[n] {
            0 => 1,
            tile => points[n].div_ceil(tile),
        })
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
