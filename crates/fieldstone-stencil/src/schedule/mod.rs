//! Decisions on how a stencil is computed, apart from what it computes.
//!
//! A [`Schedule`] cuts the statements of a program into *nests*, each a loop nest over the grid that runs on all threads with
//! a barrier behind it:
//!
//! * a [`RowNest`] computes `PARALLEL` statements tile by tile. Inside a tile it slides along one axis and computes every
//!   stage a few rows ahead of the stages that read it, so temporaries are short rings of rows and nothing is computed twice
//!   except at tile edges;
//! * a [`ColumnNest`] computes vertical sweeps (and `PARALLEL` statements that need nothing from other columns) for a block of
//!   columns at a time, so temporaries are one block of columns;
//! * a [`LevelNest`] is the general case of a sweep whose statements read each other at horizontal offsets: level by level,
//!   each stage over the whole level.
//!
//! [`build`] decides the cut (`cut`, `divide`), groups statements into stages that share one vector loop (`stage`) and says where
//! each temporary lives ([`Placement`]). `Display` prints the decisions.

mod cut;
mod divide;
mod loops;
mod neighbours;
mod panel;
mod place;
mod print;
mod reason;
mod stage;

use crate::grid::{Area, Axis, Extent, Interval, Offset};
use crate::ir::{Order, Stencil, Stmt, Target};
use crate::program::Program;

pub use loops::{MOST_AHEAD, MOST_AHEAD_OF_PANELS};
pub use neighbours::{Neighbours, Plane};
pub use reason::{Apart, Causes, Obstacle, Reason};

/// How a program is computed, for fields whose rows run along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Axes along which neighbouring points are computed side by side.
    pub neighbours: Neighbours,
    /// What runs, in order, with a barrier behind each.
    pub nests: Vec<Nest>,
    /// Per nest why it is one of its own.
    pub causes: Vec<Causes>,
    /// Where each temporary lives, per [`crate::ir::Stencil::temporaries`].
    pub temporaries: Vec<Placement>,
}

/// A loop nest over the grid.
#[derive(Clone, Debug, PartialEq)]
pub enum Nest {
    /// Tiles that slide along one axis.
    Rows(RowNest),
    /// Blocks of columns.
    Columns(ColumnNest),
    /// Level after level.
    Levels(LevelNest),
}

/// The three axes by their role in a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Roles {
    /// Innermost: rows run along it.
    pub vector: Axis,
    /// Vectors lie along it: that of the rows, or `K` where neighbouring levels of a whole row are computed at once.
    pub lanes: Axis,
    /// The axis a tile slides along; never `K`.
    pub slide: Axis,
    /// The remaining axis, cut into blocks.
    pub block: Axis,
}

impl Roles {
    /// The roles for rows along `vector`.
    pub fn new(vector: Axis) -> Roles {
        let (slide, block) = match vector {
            Axis::I => (Axis::J, Axis::K),
            Axis::J => (Axis::I, Axis::K),
            // Columns lie behind each other in memory along J.
            Axis::K => (Axis::I, Axis::J),
        };
        Roles {
            vector,
            lanes: vector,
            slide,
            block,
        }
    }

    /// The roles for rows along `vector`, a horizontal axis, of which every point is a vector of levels, which follow each other in
    /// memory.
    ///
    /// Rows along `K` are short, and what stages make in a plane of them fills a cache; a plane of such rows has few levels.
    pub fn of_panels(vector: Axis) -> Roles {
        Roles {
            lanes: Axis::K,
            ..Roles::new(vector)
        }
    }

    /// Whether every point of a row is a vector of levels.
    pub fn are_panels(&self) -> bool {
        self.lanes != self.vector
    }
}

/// `PARALLEL` statements, tile by tile.
#[derive(Clone, Debug, PartialEq)]
pub struct RowNest {
    /// Roles of the axes.
    pub roles: Roles,
    /// Extent of the statements that write fields; tiles partition the domain extended by it.
    pub extent: Extent,
    /// Stages in order.
    pub stages: Vec<Stage>,
    /// How the stages share loops over a row, in order.
    pub loops: Vec<RowLoop>,
}

/// Consecutive stages of a [`RowNest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLoop {
    /// How many.
    pub stages: usize,
    /// Whether one loop over a row computes them, each as far ahead of its readers as they reach. A stage that cannot share
    /// a loop is on its own.
    pub fused: bool,
}

/// Vertical sweeps over blocks of columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnNest {
    /// The horizontal axis the vector loop runs along.
    pub vector: Axis,
    /// Union of the extents of all stages; column blocks partition the domain extended by it.
    pub extent: Extent,
    /// Sweeps in order.
    pub sweeps: Vec<Sweep>,
}

/// One pass over the levels of a block of columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Order of the levels; `Parallel` sweeps run upwards.
    pub order: Order,
    /// Ranges of levels in the order in which they run, each with its stages.
    pub sections: Vec<(Interval, Vec<Stage>)>,
}

/// A sweep over the levels of the whole domain, with a barrier behind every stage of every level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelNest {
    /// Order of the levels.
    pub order: Order,
    /// Ranges of levels in the order in which they run, each with nests of one stage.
    pub sections: Vec<(Interval, Vec<RowNest>)>,
}

/// Statements that share one vector loop: within it every read of what the stage writes is at the point itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Statements, in order.
    pub statements: Vec<Stmt>,
    /// Levels computed.
    pub interval: Interval,
    /// How far around a tile of the domain the stage is computed.
    pub extent: Extent,
    /// How far around the domain it is computed. That is less where regions at an edge read what lies inside.
    pub bounds: Extent,
    /// The part of the plane in which it is computed. Where that is not all of it, every statement is a region of this area; where
    /// it is, and the stage shares a loop over a row, there may be regions among the statements.
    pub area: Area,
    /// Why it is not one loop with the stage before; `None` for the first.
    pub apart: Option<Reason>,
}

/// Where a temporary lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Nowhere: never written.
    Unused,
    /// In registers of the one stage that uses it.
    Register,
    /// In registers of the one loop over a row that uses it, from vector to vector.
    Carried {
        /// Index of the nest.
        nest: usize,
    },
    /// In a ring of rows of a [`RowNest`]: `rows` along the sliding axis, with `extent` around the tile along the others.
    Ring {
        /// Index of the nest.
        nest: usize,
        /// Rows kept, a power of two.
        rows: usize,
        /// Reach beyond the tile, relative to the nest's own extent.
        extent: Extent,
    },
    /// In a block of columns of a [`ColumnNest`].
    Column {
        /// Index of the nest.
        nest: usize,
        /// How many levels are kept, a power of two, where one sweep reads no level further back; all where `None`.
        window: Option<usize>,
    },
    /// In an array as large as the domain and its extent.
    Array {
        /// Reach beyond the domain.
        extent: Extent,
        /// Whether it must hold zeros before the first write.
        zeroed: bool,
    },
}

/// Decides how to compute a program for fields whose neighbouring points are these.
///
/// Rows run along the axis along which fields are contiguous unless one that is written does not have it.
pub fn build(program: &Program, neighbours: Neighbours) -> Schedule {
    let cut = cut::cut(program, neighbours);
    place::schedule(program, neighbours, cut)
}

impl Schedule {
    /// Whether a target is in memory of its own: a field, or a temporary that is an array.
    pub fn is_array(&self, target: Target) -> bool {
        match target {
            Target::Field(_) => true,
            Target::Temp(id) => {
                matches!(self.temporaries[id.0 as usize], Placement::Array { .. })
            }
        }
    }
}

impl RowNest {
    /// A nest, with its stages in as few loops as can be.
    pub(crate) fn new(
        stencil: &Stencil,
        roles: Roles,
        extent: Extent,
        stages: Vec<Stage>,
    ) -> RowNest {
        let mut nest = RowNest {
            roles,
            extent,
            stages,
            loops: Vec::new(),
        };
        nest.loops = loops::cut(stencil, &nest);
        nest
    }

    /// The loops over a row, each with its stages.
    pub fn loops(&self) -> impl Iterator<Item = (RowLoop, &[Stage])> {
        let mut rest = self.stages.as_slice();
        self.loops.iter().map(move |row_loop| {
            let (stages, behind) = rest.split_at(row_loop.stages);
            rest = behind;
            (*row_loop, stages)
        })
    }

    /// The row that a stage computes when those without an extent compute row zero.
    pub fn ahead(&self, stage: &Stage) -> Offset {
        let beyond = stage.extent.beyond(self.extent);
        let mut ahead = Offset::ZERO;
        for axis in [self.roles.slide, self.roles.block] {
            ahead.0[axis.index()] = beyond.along(axis).1;
        }
        ahead
    }
}

impl ColumnNest {
    /// The horizontal axis the vector loop does not run along.
    pub fn outer(&self) -> Axis {
        neighbours::other(self.vector)
    }
}
