//! Stages that are computed again at each point that reads them.
//!
//! ```text
//! lap = a[1, 0, 0] - a              lap = a[1, 0, 0] - a
//! b = lap - lap[-1, 0, 0]           lap[-1, 0, 0] = a - a[-1, 0, 0]
//!                         becomes   b = lap - lap[-1, 0, 0]
//! ```
//!
//! A thread has in registers what it reads of others otherwise, so that nothing goes through shared memory, and no thread waits.

use std::collections::BTreeSet;

use fieldstone_stencil::grid::Range;
use fieldstone_stencil::ir::{BinaryOp, Expr, ExprKind, Literal, Stencil, Stmt, StmtKind, Target};
use fieldstone_stencil::schedule::{Nest, Placement, RowLoop, RowNest, Schedule, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axes, Axis, Offset};

use super::{phases, shape::Shape};
use crate::cost::cycles;

/// Cycles until all threads of a block have passed a barrier, and have found their points behind it.
pub(super) const BARRIER: f64 = 20.0;

/// Statements of a point, at most: more need more registers than there are.
const MOST_STATEMENTS: usize = 200;

/// The points around one, on which a stage is computed for it.
type Points = BTreeSet<[i32; 3]>;

/// Computes the stages of nests of rows again where that takes less time than to share them.
pub fn recompute(stencil: &Stencil, schedule: &mut Schedule, shape: impl Fn(&RowNest) -> Shape) {
    for index in 0..schedule.nests.len() {
        let Nest::Rows(nest) = &schedule.nests[index] else {
            continue;
        };
        let Some(points) = points(stencil, schedule, nest) else {
            continue;
        };
        if !is_worthwhile(nest, &points, &shape(nest)) {
            continue;
        }
        let nest = at_points(stencil, nest, &points);
        for statement in nest.stages.iter().flat_map(|stage| &stage.statements) {
            for target in Accesses::of(statement).written() {
                if let Target::Temp(id) = target
                    && !schedule.is_array(target)
                {
                    schedule.temporaries[id.0 as usize] = Placement::Register;
                }
            }
        }
        schedule.nests[index] = Nest::Rows(nest);
    }
}

/// The points on which each stage of a nest has to be computed for one point; `None` where it is not as easy as that: they are
/// computed on parts of the domain, or what lies in arrays is read around a point.
fn points(stencil: &Stencil, schedule: &Schedule, nest: &RowNest) -> Option<Vec<Points>> {
    let first = nest.stages.first()?;
    let mut wanted: Vec<(Target, [i32; 3])> = Vec::new();
    let mut found = Vec::new();
    for stage in nest.stages.iter().rev() {
        let everywhere = stage.area == Area::FULL && stage.extent == stage.bounds;
        if !everywhere || stage.interval != first.interval {
            return None;
        }
        let accesses: Vec<Accesses> = stage.statements.iter().map(Accesses::of).collect();
        let written: Vec<Target> = accesses.iter().flat_map(Accesses::written).collect();
        if (written.iter()).any(|target| stencil.target_axes(*target) != Axes::IJK) {
            return None;
        }
        let of_others = wanted.iter().filter(|(target, _)| written.contains(target));
        let mut points: Points = of_others.map(|(_, point)| *point).collect();
        if written.iter().any(|target| schedule.is_array(*target)) {
            points.insert([0; 3]);
            if points.len() > 1 {
                return None;
            }
        }
        for (target, offset) in accesses.iter().flat_map(|accesses| &accesses.reads) {
            for point in &points {
                let there = std::array::from_fn(|n| point[n] + offset.0[n]);
                wanted.push((*target, there));
            }
        }
        found.push(points);
    }
    found.reverse();
    Some(found)
}

fn is_worthwhile(nest: &RowNest, points: &[Points], shape: &Shape) -> bool {
    let phases = phases::of(nest).len();
    let statements = nest.stages.iter().zip(points);
    let statements = statements.map(|(stage, points)| stage.statements.len() * points.len());
    if phases == 1 {
        // Nothing is shared: the stages are one already.
        return nest.stages.len() > 1;
    }
    if statements.sum::<usize>() > MOST_STATEMENTS {
        return false;
    }
    let (mut again, mut shared) = (0.0, BARRIER * phases as f64);
    for (stage, points) in nest.stages.iter().zip(points) {
        let (cycles, is_open) = cycles(stage);
        if is_open && points.len() > 1 {
            return false;
        }
        let beyond = stage.extent.beyond(nest.extent);
        let wider = Axis::ALL.map(|axis| {
            let ((before, after), tile) = (beyond.along(axis), shape.tile[axis.index()] as f64);
            (tile + f64::from(before + after)) / tile
        });
        again += cycles * points.len() as f64;
        shared += cycles * wider.iter().product::<f64>();
    }
    again <= shared
}

/// A nest of one stage, which computes all others for each point.
fn at_points(stencil: &Stencil, nest: &RowNest, points: &[Points]) -> RowNest {
    let mut statements = Vec::new();
    for (stage, points) in nest.stages.iter().zip(points) {
        for point in points {
            let all = stage.statements.iter();
            statements.extend(all.map(|one| shifted(stencil, one, Offset(*point))));
        }
    }
    let stage = Stage {
        statements,
        extent: nest.extent,
        bounds: nest.extent,
        ..nest.stages[0].clone()
    };
    RowNest {
        stages: vec![stage],
        loops: vec![RowLoop {
            stages: 1,
            fused: false,
        }],
        ..*nest
    }
}

/// A statement as it is computed `by` points further on.
fn shifted(stencil: &Stencil, statement: &Stmt, by: Offset) -> Stmt {
    let mut shifted = statement.clone();
    if by == Offset::ZERO {
        return shifted;
    }
    shifted.walk_mut(&mut |inner| {
        match &mut inner.kind {
            StmtKind::Assign { offset, .. } => *offset = *offset + by,
            StmtKind::Region { area, .. } => shift_area(area, by),
            _ => {}
        }
        for expression in inner.expressions_mut() {
            shift(stencil, expression, by);
        }
    });
    shifted
}

fn shift(stencil: &Stencil, part: &mut Expr, by: Offset) {
    for operand in part.operands_mut() {
        shift(stencil, operand, by);
    }
    match &mut part.kind {
        ExprKind::Access { target, offset, .. } => {
            for axis in stencil.target_axes(*target).iter() {
                offset.0[axis.index()] += by.along(axis);
            }
        }
        ExprKind::Position(axis) if by.along(*axis) != 0 => {
            let distance = Expr {
                kind: ExprKind::Literal(Literal::Int(by.along(*axis).into())),
                ..part.clone()
            };
            let here = Box::new(part.clone());
            part.kind = ExprKind::Binary(BinaryOp::Add, here, Box::new(distance));
        }
        _ => {}
    }
}

/// Bounds count from the ends of the domain, which are nearer for a point further on.
fn shift_area(area: &mut Area, by: Offset) {
    for axis in [Axis::I, Axis::J] {
        let Range { start, end } = &mut area.0[axis.index()];
        for bound in [start, end].into_iter().flatten() {
            bound.offset -= by.along(axis);
        }
    }
}
