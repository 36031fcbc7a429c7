//! Elements of fields that have to be moved, whatever the schedule: each one that is needed is read once, and each one that
//! is assigned is written once.
//!
//! An element that is always assigned before it is read need not be read from memory.

use std::collections::BTreeSet;

use crate::grid::{Axis, Offset};
use crate::ir::{
    Expr, ExprKind, FieldId, LevelIndex, Literal, Order, Stencil, StmtKind, Subscript, Target,
};
use crate::visit::reads;

use super::Analysis;
use super::points::{Located, Points, statements};

/// Elements of one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Read from memory.
    pub read: u128,
    /// Written to memory.
    pub written: u128,
}

/// Elements moved, per field, in a domain of given size.
pub fn moved(stencil: &Stencil, analysis: &Analysis, domain: [usize; 3]) -> Vec<Moved> {
    let located = statements(stencil, &analysis.extents, domain);
    (0..stencil.fields.len() as u32)
        .map(|id| of_field(stencil, FieldId(id), &located, domain))
        .collect()
}

/// One access: where in the field, and whether it surely happens.
struct Touch {
    /// Along I, J, K, and the number of the element in its point.
    elements: [(i64, i64); 4],
    write: bool,
    conditional: bool,
    /// Whether the levels it reads were visited before, or are still ahead, in a vertical sweep.
    visited: bool,
    ahead: bool,
    computation: *const crate::ir::Computation,
}

fn of_field(stencil: &Stencil, id: FieldId, all: &[Located<'_>], domain: [usize; 3]) -> Moved {
    let touches: Vec<Touch> = all
        .iter()
        .flat_map(|located| touches(stencil, id, located, domain))
        .collect();
    if touches.is_empty() {
        return Moved::default();
    }
    let mut grid = Grid::new(&touches);
    for computation in touches.chunk_by(|a, b| a.computation == b.computation) {
        grid.computation(computation);
    }
    grid.moved()
}

fn touches(
    stencil: &Stencil,
    id: FieldId,
    located: &Located<'_>,
    domain: [usize; 3],
) -> Vec<Touch> {
    let order = located.computation.order;
    let has_levels = stencil.field(id).axes.contains(Axis::K);
    let touch = |offset: Offset, level: LevelIndex, indices: &[Expr], write: bool| {
        let up = match order {
            Order::Parallel => 0,
            _ if !has_levels || level != LevelIndex::Constant => 0,
            Order::Forward => offset.along(Axis::K),
            Order::Backward => -offset.along(Axis::K),
        };
        Touch {
            elements: elements(
                stencil,
                id,
                located.points.shifted(offset),
                level,
                indices,
                domain,
            ),
            write,
            // An index that is computed may be that of any element, not that of all.
            conditional: located.conditional
                || level != LevelIndex::Constant
                || indices.iter().any(|index| literal(index).is_none()),
            visited: up < 0,
            ahead: up > 0,
            computation: located.computation,
        }
    };
    let mut found = Vec::new();
    for expr in located.expressions() {
        expr.walk(|node| {
            if let ExprKind::Access {
                target: Target::Field(read),
                offset,
                subscript,
            } = &node.kind
                && *read == id
            {
                let (level, indices) = parts(subscript.as_deref());
                found.push(touch(*offset, level, indices, false));
            }
        });
    }
    if let StmtKind::Assign {
        target: Target::Field(written),
        offset,
        subscript,
        ..
    } = &located.statement.kind
        && *written == id
    {
        let (level, indices) = parts(subscript.as_deref());
        found.push(touch(*offset, level, indices, true));
    }
    found
}

fn parts(subscript: Option<&Subscript>) -> (LevelIndex, &[Expr]) {
    subscript.map_or((LevelIndex::Constant, &[]), |subscript| {
        (subscript.level, subscript.indices())
    })
}

/// The elements of a field at some points; all levels where the level is computed, all elements of a point where an index is.
fn elements(
    stencil: &Stencil,
    id: FieldId,
    points: Points,
    level: LevelIndex,
    indices: &[Expr],
    domain: [usize; 3],
) -> [(i64, i64); 4] {
    let field = stencil.field(id);
    let along = |axis: Axis| match axis {
        _ if !field.axes.contains(axis) => (0, 1),
        Axis::K if level != LevelIndex::Constant => (0, domain[2] as i64),
        _ => points.0[axis.index()],
    };
    let per_point = field
        .data_dims
        .iter()
        .map(|size| i64::from(*size))
        .product();
    let mut number = Some(0);
    for (index, size) in indices.iter().zip(&field.data_dims) {
        number = number
            .zip(literal(index))
            .map(|(n, index)| n * i64::from(*size) + index);
    }
    let one = number.filter(|_| indices.len() == field.data_dims.len());
    let within = one.map_or((0, per_point), |n| (n, n + 1));
    // No point is accessed where nothing is computed.
    if points.count() == 0 {
        return [(0, 0); 4];
    }
    [along(Axis::I), along(Axis::J), along(Axis::K), within]
}

fn literal(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) => Some(*value),
        ExprKind::Cast(operand) => literal(operand),
        _ => None,
    }
}

/// The elements of a field in cells between all the bounds that occur.
struct Grid {
    bounds: [Vec<i64>; 4],
    /// Per cell whether it is read from memory, and written.
    read: Vec<bool>,
    written: Vec<bool>,
    /// Per cell whether it has surely been assigned.
    assigned: Vec<bool>,
}

impl Grid {
    fn new(touches: &[Touch]) -> Grid {
        let bounds = std::array::from_fn(|n| {
            let along = touches.iter().map(|touch| touch.elements[n]);
            let bounds: BTreeSet<i64> = along.flat_map(|(start, end)| [start, end]).collect();
            bounds.into_iter().collect::<Vec<i64>>()
        });
        let cells = bounds
            .iter()
            .map(|bounds| bounds.len().saturating_sub(1))
            .product();
        Grid {
            bounds,
            read: vec![false; cells],
            written: vec![false; cells],
            assigned: vec![false; cells],
        }
    }

    /// The cells of a box.
    fn cells(&self, elements: [(i64, i64); 4]) -> Vec<usize> {
        let ranges: [std::ops::Range<usize>; 4] = std::array::from_fn(|n| {
            let at = |bound| self.bounds[n].partition_point(|known| *known < bound);
            at(elements[n].0)..at(elements[n].1)
        });
        let counts = self.bounds.each_ref().map(|bounds| bounds.len() - 1);
        let [i, j, k, l] = ranges;
        let mut found = Vec::new();
        for i in i {
            for j in j.clone() {
                for k in k.clone() {
                    let first = ((i * counts[1] + j) * counts[2] + k) * counts[3];
                    found.extend(l.clone().map(|l| first + l));
                }
            }
        }
        found
    }

    /// Goes through the accesses of one computation.
    fn computation(&mut self, touches: &[Touch]) {
        let before = self.assigned.clone();
        let mut here = vec![false; before.len()];
        for touch in touches
            .iter()
            .filter(|touch| touch.write && !touch.conditional)
        {
            for cell in self.cells(touch.elements) {
                here[cell] = true;
            }
        }
        for touch in touches {
            for cell in self.cells(touch.elements) {
                if touch.write {
                    self.written[cell] = true;
                    self.assigned[cell] |= !touch.conditional;
                    continue;
                }
                let known = match () {
                    () if touch.ahead => before[cell],
                    () if touch.visited => before[cell] || here[cell],
                    () => self.assigned[cell],
                };
                self.read[cell] |= !known;
            }
        }
    }

    fn moved(&self) -> Moved {
        let sizes = self.bounds.each_ref().map(|bounds| {
            let pairs = bounds.windows(2);
            pairs
                .map(|pair| (pair[1] - pair[0]) as u128)
                .collect::<Vec<_>>()
        });
        let [i, j, k, l] = &sizes;
        let mut moved = Moved::default();
        let mut cell = 0;
        for i in i {
            for j in j {
                for k in k {
                    for l in l {
                        let size = i * j * k * l;
                        moved.read += if self.read[cell] { size } else { 0 };
                        moved.written += if self.written[cell] { size } else { 0 };
                        cell += 1;
                    }
                }
            }
        }
        moved
    }
}

/// Values of fields and temporaries that a stencil reads and writes at each point, as it is written.
pub fn accesses(stencil: &Stencil, analysis: &Analysis, domain: [usize; 3]) -> (u128, u128) {
    let (mut loads, mut stores) = (0, 0);
    for located in statements(stencil, &analysis.extents, domain) {
        let points = located.points.count();
        for expr in located.expressions() {
            reads(expr, &mut |_| loads += points);
        }
        if let StmtKind::Assign { .. } = located.statement.kind {
            stores += points;
        }
    }
    (loads, stores)
}
