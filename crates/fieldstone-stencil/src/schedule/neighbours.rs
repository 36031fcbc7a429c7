//! Along which axes neighbouring points are computed side by side.

use crate::grid::Axis;
use crate::ir::Order;
use crate::program::Program;

/// Points of a row of columns from which on its vectors are full enough, of sweeps over the levels.
const LONG_FOR_SWEEPS: usize = 32;

/// The same of columns whose levels are computed together: vectors are of levels, only what is done once for a row counts.
const LONG_FOR_LEVELS: usize = 3;

/// How many times as long a row has to be along the axis along which columns are farther from each other.
const MUCH_LONGER: usize = 2;

/// The columns of a call, seen from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plane {
    /// The horizontal axis along which they are nearer each other in memory.
    pub near: Axis,
    /// How many there are along I and J; many where `None`.
    pub points: Option<[usize; 2]>,
}

impl Default for Plane {
    /// Many, that lie as those of arrays in the order of their axes do.
    fn default() -> Plane {
        Plane {
            near: Axis::J,
            points: None,
        }
    }
}

impl Plane {
    /// The horizontal axis along which columns are farther from each other.
    fn far(self) -> Axis {
        other(self.near)
    }

    /// Whether rows of so many columns are long, and those along the other axis hardly ever, or not much, longer.
    fn has_rows_of(self, long: usize) -> bool {
        self.points.is_none_or(|points| {
            let [near, far] = [self.near, self.far()].map(|axis| points[axis.index()]);
            near >= long || far < near * MUCH_LONGER
        })
    }
}

/// Axes along which neighbouring points are computed side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Neighbours {
    /// The axis along which most fields are contiguous.
    pub contiguous: Axis,
    /// The horizontal axis that rows of columns lie along.
    pub across: Axis,
    /// Whether these have so few columns that one vector has them all.
    pub one_vector: bool,
}

impl Neighbours {
    /// The horizontal axis that rows of columns do not lie along.
    pub fn other(self) -> Axis {
        other(self.across)
    }

    /// Of fields that are contiguous along an axis, in a call with many columns.
    pub fn along(contiguous: Axis) -> Neighbours {
        let across = match contiguous {
            Axis::K => Plane::default().near,
            axis => axis,
        };
        Neighbours {
            contiguous,
            across,
            one_vector: false,
        }
    }

    /// The same in any call: rows lie along the axis along which columns are near each other in memory, unless they are short.
    pub fn on(program: &Program, contiguous: Axis, plane: Plane) -> Neighbours {
        let mut orders = program.stencil.computations.iter().map(|one| one.order);
        let long = match orders.any(|order| order != Order::Parallel) {
            true => LONG_FOR_SWEEPS,
            false => LONG_FOR_LEVELS,
        };
        let across = match (contiguous, plane.has_rows_of(long)) {
            (Axis::K, true) => plane.near,
            (Axis::K, false) => plane.far(),
            (axis, _) => axis,
        };
        Neighbours {
            contiguous,
            across,
            one_vector: false,
        }
    }

    /// The same where vectors have so many lanes, of a program with sweeps over the levels.
    pub fn in_vectors_of(self, lanes: usize, plane: Plane) -> Neighbours {
        let columns = plane.points.map(|points| points[self.across.index()]);
        Neighbours {
            one_vector: columns.is_some_and(|columns| columns <= lanes),
            ..self
        }
    }
}

/// The other horizontal axis.
pub(super) fn other(axis: Axis) -> Axis {
    match axis {
        Axis::J => Axis::I,
        _ => Axis::J,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_near_unless_they_are_short() {
        let has_rows = |near, points| {
            Plane {
                near,
                points: Some(points),
            }
            .has_rows_of(32)
        };
        for (points, expected) in [
            ([64, 32], true),
            ([64, 31], false),
            ([61, 31], true),
            ([1, 1], true),
            ([2, 1], false),
            ([1, 2], true),
            ([40, 0], false),
        ] {
            assert_eq!(has_rows(Axis::J, points), expected, "{points:?}");
            let [i, j] = points;
            assert_eq!(has_rows(Axis::I, [j, i]), expected, "{points:?} turned");
        }
        assert!(Plane::default().has_rows_of(32));
    }
}
