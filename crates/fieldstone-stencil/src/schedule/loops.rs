//! Which stages of a nest of rows share one loop over a row.
//!
//! In such a loop each stage is ahead of those that read it: by rows of the tile, and along the row by whole vectors. What a
//! stage makes in the row that another one reads at the same step never leaves the registers; rows of earlier steps come from
//! rings.

use std::collections::{HashMap, HashSet};

use crate::grid::{Area, Axis, Extent, Offset};
use crate::ir::{ExprKind, Stencil, Stmt, StmtKind, Target};
use crate::visit::Accesses;

use super::{RowLoop, RowNest, Stage};

/// Operations of a loop, at most: a processor looks ahead only so far for what it can compute meanwhile, and LLVM takes more than
/// twice the time for twice as many.
const MOST_OPERATIONS: usize = 80;

/// Vectors that a stage of a loop may be ahead of the last one.
pub const MOST_AHEAD: usize = 2;

/// The same where every point of a row is a vector.
pub const MOST_AHEAD_OF_PANELS: usize = 4;

/// Points along a row from which a value is still taken out of registers.
const REACH: i32 = 8;

/// The same where every point is a vector.
const REACH_OF_PANELS: i32 = 2;

/// Cuts the stages of a nest into loops.
pub(super) fn cut(stencil: &Stencil, nest: &RowNest) -> Vec<RowLoop> {
    let mut loops: Vec<RowLoop> = Vec::new();
    let mut open: Option<Open> = None;
    for stage in &nest.stages {
        if open.as_mut().is_some_and(|open| open.join(nest, stage)) {
            if let Some(last) = loops.last_mut() {
                last.stages += 1;
            }
            continue;
        }
        let fused = can_share(stencil, stage);
        open = fused.then(|| Open::new(stencil, nest, stage));
        loops.push(RowLoop { stages: 1, fused });
    }
    loops
}

/// Whether a temporary of a nest is read only in the loop that writes it, and there in the row that was just made.
pub(super) fn is_carried(nest: &RowNest, target: Target) -> bool {
    let mut home: Option<(usize, Offset)> = None;
    for (number, stages) in nest.loops().enumerate() {
        for stage in stages.1 {
            let row = nest.ahead(stage);
            let accesses: Vec<Accesses> = stage.statements.iter().map(Accesses::of).collect();
            let mut reads = accesses.iter().flat_map(|accesses| &accesses.reads);
            let written = accesses
                .iter()
                .any(|accesses| accesses.written().any(|other| other == target));
            let elsewhere = |(other, offset): &(Target, Offset)| {
                let from = across(*offset, nest.roles.vector) + row;
                *other == target && home != Some((number, from)) && !(written && from == row)
            };
            if reads.any(elsewhere) || (written && home.is_some()) {
                return false;
            }
            if written {
                if !stages.0.fused {
                    return false;
                }
                home = Some((number, row));
            }
        }
    }
    home.is_some()
}

/// An offset without its part along an axis.
fn across(offset: Offset, axis: Axis) -> Offset {
    let mut across = offset;
    across.0[axis.index()] = 0;
    across
}

/// Whether a stage can be in a loop with others: it computes every point of its rows from single elements at known places.
fn can_share(stencil: &Stencil, stage: &Stage) -> bool {
    stage.area == Area::FULL && (stage.statements.iter()).all(|statement| fits(stencil, statement))
}

/// Whether a statement can be in such a stage: a simple one, or simple ones in a region.
pub(super) fn fits(stencil: &Stencil, statement: &Stmt) -> bool {
    let simple = |statement: &Stmt| {
        let mut simple = true;
        statement.walk(&mut |inner| simple &= is_simple(stencil, inner));
        simple
    };
    match &statement.kind {
        StmtKind::Region { body, .. } => body.iter().all(simple),
        _ => simple(statement),
    }
}

pub(super) fn is_simple(stencil: &Stencil, statement: &Stmt) -> bool {
    let itself = match &statement.kind {
        StmtKind::Assign {
            target,
            offset,
            subscript,
            ..
        } => {
            *offset == Offset::ZERO
                && subscript.is_none()
                && stencil.data_dims(*target).is_empty()
                && stencil.target_axes(*target).len() == Axis::ALL.len()
        }
        StmtKind::If { .. } => true,
        StmtKind::While { .. } | StmtKind::Require { .. } | StmtKind::Region { .. } => false,
    };
    itself
        && statement.expressions().all(|expr| {
            let mut simple = true;
            expr.walk(|node| {
                simple &= match &node.kind {
                    ExprKind::Access { subscript, .. } => subscript.is_none(),
                    ExprKind::Checked(..) => false,
                    _ => true,
                };
            });
            simple
        })
}

fn most_ahead(nest: &RowNest) -> usize {
    match nest.roles.are_panels() {
        true => MOST_AHEAD_OF_PANELS,
        false => MOST_AHEAD,
    }
}

/// The loop that is being filled.
struct Open<'s> {
    stencil: &'s Stencil,
    first: Stage,
    operations: usize,
    /// How many vectors its first stage is ahead of its last one.
    ahead: usize,
    /// What its stages write, with the row and the points of the one that does.
    written: HashMap<Target, Written>,
    touched: HashSet<Target>,
}

#[derive(Clone, Copy)]
struct Written {
    row: Offset,
    extent: Extent,
    bounds: Extent,
    /// How many vectors the first stage is ahead of it.
    ahead: usize,
}

impl<'s> Open<'s> {
    fn new(stencil: &'s Stencil, nest: &RowNest, stage: &Stage) -> Open<'s> {
        let mut open = Open {
            stencil,
            first: stage.clone(),
            operations: 0,
            ahead: 0,
            written: HashMap::new(),
            touched: HashSet::new(),
        };
        open.push(nest, stage);
        open
    }

    /// Adds a stage where it can share the loop.
    fn join(&mut self, nest: &RowNest, stage: &Stage) -> bool {
        let ahead = self.ahead(nest, stage);
        let possible = can_share(self.stencil, stage)
            && ahead <= most_ahead(nest)
            && self.first.interval == stage.interval
            && self.operations + operations(stage) <= MOST_OPERATIONS
            && stage.statements.iter().all(|statement| {
                let accesses = Accesses::of(statement);
                accesses
                    .written()
                    .all(|target| !self.touched.contains(&target))
                    && accesses
                        .reads
                        .iter()
                        .all(|(target, offset)| self.can_read(nest, stage, *target, *offset))
            });
        if possible {
            self.ahead = ahead;
            self.push(nest, stage);
        }
        possible
    }

    /// How many vectors the first stage would be ahead of another one.
    fn ahead(&self, nest: &RowNest, stage: &Stage) -> usize {
        let mut ahead = self.ahead;
        for accesses in stage.statements.iter().map(Accesses::of) {
            for (target, offset) in &accesses.reads {
                let Some(written) = self.written.get(target) else {
                    continue;
                };
                let row = across(*offset, nest.roles.vector) + nest.ahead(stage);
                if row == written.row && offset.along(nest.roles.vector) > 0 {
                    let vectors = match nest.roles.are_panels() {
                        true => offset.along(nest.roles.vector) as usize,
                        false => 1,
                    };
                    ahead = ahead.max(written.ahead + vectors);
                }
            }
        }
        ahead
    }

    /// Whether what a stage reads is there when the loop runs: in registers, or in memory behind an earlier row.
    fn can_read(&self, nest: &RowNest, stage: &Stage, target: Target, offset: Offset) -> bool {
        let Some(written) = self.written.get(&target) else {
            return true;
        };
        let vector = nest.roles.vector;
        let row = across(offset, vector) + nest.ahead(stage);
        if row == written.row {
            let points = (written.extent, written.bounds) == (stage.extent, stage.bounds);
            let is_temporary = matches!(target, Target::Temp(_));
            let reach = match nest.roles.are_panels() {
                true => REACH_OF_PANELS,
                false => REACH,
            };
            return offset.along(vector).abs() <= reach && (is_temporary || points);
        }
        // Tiles have rings of temporaries only.
        let [slide, block] = [nest.roles.slide, nest.roles.block];
        matches!(target, Target::Temp(_))
            && row.along(slide) <= written.row.along(slide)
            && row.along(block) <= written.row.along(block)
    }

    fn push(&mut self, nest: &RowNest, stage: &Stage) {
        self.operations += operations(stage);
        let written = Written {
            row: nest.ahead(stage),
            extent: stage.extent,
            bounds: stage.bounds,
            ahead: self.ahead,
        };
        for accesses in stage.statements.iter().map(Accesses::of) {
            let read = accesses.reads.iter().map(|(target, _)| *target);
            self.touched.extend(read.chain(accesses.written()));
            self.written
                .extend(accesses.written().map(|target| (target, written)));
        }
    }
}

/// Operations at every point; regions are elsewhere most of the time.
fn operations(stage: &Stage) -> usize {
    let everywhere = |statement: &&Stmt| !matches!(statement.kind, StmtKind::Region { .. });
    operations_of(stage.statements.iter().filter(everywhere))
}

pub(super) fn operations_of<'s>(statements: impl IntoIterator<Item = &'s Stmt>) -> usize {
    let mut count = 0;
    for statement in statements {
        statement.walk(&mut |inner| {
            count += 1;
            for expr in inner.expressions() {
                expr.walk(|node| {
                    let counts = !matches!(node.kind, ExprKind::Literal(_) | ExprKind::Scalar(_));
                    count += usize::from(counts);
                });
            }
        });
    }
    count
}
