//! Rows that follow each other in memory without a gap, computed as one: behind the last level of a column of a NumPy array comes the
//! first one of the next column, so that all columns are one long row to a stencil that treats their points alike.
//!
//! Such a call runs on a domain with the same points, of which one axis has more and another one has one, and with the same strides. Each
//! point lies where it did, and so do its neighbours: the next one along an axis that is left with one point is a stride of that axis away.

use fieldstone_stencil::ir::{ExprKind, Stmt, StmtKind};
use fieldstone_stencil::schedule::{Nest, Placement, RowNest, Schedule, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axis, Interval};

use crate::call::FieldArgument;
use crate::tile::LONG_ROW;

/// What there is to know of a schedule to fold its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folds {
    /// The axis that rows run along.
    vector: Axis,
    /// Of each axis, whether all of its points are treated alike.
    alike: [bool; 3],
}

impl Folds {
    /// Of a schedule; `None` if no row of it may be a part of a longer one.
    pub fn of(schedule: &Schedule) -> Option<Folds> {
        let rows = schedule.nests.iter().map(|nest| match nest {
            Nest::Rows(nest) if !nest.roles.are_panels() => Some(nest),
            Nest::Rows(_) | Nest::Columns(_) | Nest::Levels(_) => None,
        });
        let rows: Vec<&RowNest> = rows.collect::<Option<_>>()?;
        let vector = rows.first()?.roles.vector;
        let along_one = rows.iter().all(|nest| nest.roles.vector == vector);
        let in_registers = (schedule.temporaries.iter())
            .all(|place| matches!(place, Placement::Register | Placement::Unused));
        let stages = || rows.iter().flat_map(|nest| &nest.stages);
        let alike = Axis::ALL.map(|axis| stages().all(|stage| is_alike(stage, axis)));
        let others = (0..3).any(|n| n != vector.index() && alike[n]);
        (along_one && in_registers && alike[vector.index()] && others)
            .then_some(Folds { vector, alike })
    }

    /// The domain that a call on another one runs on.
    pub fn domain(&self, mut domain: [usize; 3], fields: &[FieldArgument]) -> [usize; 3] {
        let vector = self.vector.index();
        while domain[vector] < LONG_ROW {
            let follows = |axis: &usize| {
                let stride = |field: &FieldArgument| {
                    (field.strides[vector]).checked_mul(domain[vector] as isize)
                };
                let mut fields = fields.iter();
                fields.all(|field| stride(field) == Some(field.strides[*axis]))
            };
            let long = |axis: &usize| *axis != vector && domain[*axis] > 1;
            let mut others = (0..3).filter(|axis| self.alike[*axis] && long(axis));
            let Some(axis) = others.find(follows) else {
                break;
            };
            domain[vector] *= std::mem::replace(&mut domain[axis], 1);
        }
        domain
    }
}

/// Whether a stage treats all points of an axis alike, and computes those of the domain only.
fn is_alike(stage: &Stage, axis: Axis) -> bool {
    let everywhere = match axis {
        Axis::I | Axis::J => stage.area == Area::FULL,
        Axis::K => stage.interval == Interval::FULL,
    };
    let around = [stage.extent, stage.bounds].map(|extent| extent.along(axis));
    let mut alike = everywhere && around == [(0, 0); 2];
    for statement in &stage.statements {
        statement.walk(&mut |inner| alike &= !tells_apart(inner, axis));
        alike &= axis != Axis::K || Accesses::of(statement).afar.is_empty();
    }
    alike
}

/// Whether a statement itself tells points of an axis apart.
fn tells_apart(statement: &Stmt, axis: Axis) -> bool {
    let mut apart = match &statement.kind {
        StmtKind::Region { .. } => axis != Axis::K,
        // It says where the call fails.
        StmtKind::Require { .. } => true,
        StmtKind::Assign { .. } | StmtKind::If { .. } | StmtKind::While { .. } => false,
    };
    let named = |kind: &ExprKind| matches!(kind, ExprKind::Position(of) | ExprKind::Size(of) if *of == axis);
    for expression in statement.expressions() {
        expression.walk(|node| apart |= named(&node.kind));
    }
    apart
}
