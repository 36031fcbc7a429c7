//! Why statements are not computed together: by one nest, or by one vector loop.

use std::fmt;

use crate::grid::Offset;
use crate::ir::{Stencil, Target};
use crate::source::Span;

/// Why a nest is one of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// Why its first statements did not join the nest before; `None` for the first nest.
    pub apart: Option<Apart>,
    /// Why it is computed level by level, if it is.
    pub levels: Option<Reason>,
}

/// Why statements did not join a nest: neither kind of nest can hold both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Why a nest of rows cannot.
    pub rows: Reason,
    /// Why a nest of columns cannot.
    pub columns: Reason,
}

/// What stands in the way of computing a statement together with those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What it is.
    pub obstacle: Obstacle,
    /// What is read or written, where that matters.
    pub target: Option<Target>,
    /// Where it is read.
    pub offset: Offset,
    /// The statement that was to join.
    pub span: Span,
}

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// A vertical sweep, which rows do not have.
    Sweep,
    /// A read of what the nest writes, at a level that a tile may not have.
    OtherLevel,
    /// A read of what the nest writes, in a column of somebody else.
    OtherColumn,
    /// A write to what the nest reads, in a column of somebody else.
    ReadByColumns,
    /// Fields are written on different points around the domain.
    OtherExtent,
    /// A write to a target without levels, of which the last level is to win.
    NoLevels,
    /// A write to rows that earlier statements still have to read.
    RowInUse,
    /// A read of a field that the nest writes, at points of another tile.
    OtherTile,
    /// More fields than one nest or one loop has, with nothing that keeps them together.
    ManyFields,
    /// Other levels than those of the loop.
    OtherInterval,
    /// Other points around the domain than those of the loop.
    OtherPoints,
    /// Another part of the plane than that of the loop.
    OtherRegion,
    /// A read of what the loop writes, at other points than the one that is computed.
    Neighbour,
    /// A write to what the loop reads at other points than the one that is computed.
    ReadByNeighbours,
}

impl Reason {
    /// The reason as a clause whose subject is the statement, with the names of `stencil`.
    pub fn display<'a>(&'a self, stencil: &'a Stencil) -> impl fmt::Display + 'a {
        Printed {
            reason: self,
            stencil,
        }
    }
}

struct Printed<'a> {
    reason: &'a Reason,
    stencil: &'a Stencil,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason {
            obstacle,
            target,
            offset,
            ..
        } = *self.reason;
        let name = target.map_or("", |target| self.stencil.source_name(target));
        match obstacle {
            Obstacle::Sweep => write!(
                f,
                "it would be in a vertical sweep, and rows have no order of levels"
            ),
            Obstacle::OtherLevel => write!(
                f,
                "it reads `{name}{offset}`, another level of what the nest writes"
            ),
            Obstacle::OtherColumn => write!(
                f,
                "it reads `{name}{offset}`, another column of what the nest writes"
            ),
            Obstacle::ReadByColumns => write!(
                f,
                "it writes `{name}`, which the nest reads in other columns"
            ),
            Obstacle::OtherExtent => write!(
                f,
                "it writes `{name}` on other points around the domain than what the nest writes"
            ),
            Obstacle::NoLevels => write!(
                f,
                "it writes `{name}`, which has no levels: the last level has to win, and tiles have no order"
            ),
            Obstacle::RowInUse => write!(
                f,
                "it writes `{name}` where rows of its value before are still to be read"
            ),
            Obstacle::OtherTile => write!(
                f,
                "`{name}` is read around the points that a tile writes, which another tile may be writing"
            ),
            Obstacle::ManyFields => write!(f, "there are too many fields for one loop"),
            Obstacle::OtherInterval => write!(f, "it is computed on other levels"),
            Obstacle::OtherPoints => write!(f, "it is computed on other points around the domain"),
            Obstacle::OtherRegion => write!(f, "it is computed in another region of the plane"),
            Obstacle::Neighbour => write!(
                f,
                "it reads `{name}{offset}`, which is to be complete first"
            ),
            Obstacle::ReadByNeighbours => write!(
                f,
                "it writes `{name}`, which is read around the point before"
            ),
        }
    }
}

impl Obstacle {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Obstacle::Sweep => "sweep",
            Obstacle::OtherLevel => "other level",
            Obstacle::OtherColumn => "other column",
            Obstacle::ReadByColumns => "read by other columns",
            Obstacle::OtherExtent => "other extent",
            Obstacle::NoLevels => "no levels",
            Obstacle::RowInUse => "row in use",
            Obstacle::OtherTile => "other tile",
            Obstacle::ManyFields => "many fields",
            Obstacle::OtherInterval => "other interval",
            Obstacle::OtherPoints => "other points",
            Obstacle::OtherRegion => "other region",
            Obstacle::Neighbour => "neighbour",
            Obstacle::ReadByNeighbours => "read by neighbours",
        }
    }
}
