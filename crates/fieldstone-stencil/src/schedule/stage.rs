//! Grouping of statements into stages that share one vector loop.

use std::collections::HashSet;

use crate::grid::{Area, Offset};
use crate::ir::{Stencil, Stmt, StmtKind, Target};

use super::cut::Placed;
use super::reason::{Obstacle, Reason};
use super::{Stage, loops};

/// Which reads of what a stage writes keep it one loop.
#[derive(Clone, Copy)]
pub(super) enum Reads<'s> {
    /// At the point itself only.
    InPlace,
    /// At the point itself only, in rows that may have regions in them.
    InRow(&'s Stencil),
    /// Also at other levels, which an ordered sweep visits at other times.
    Vertical,
}

impl Reads<'_> {
    fn allow(self, offset: Offset) -> bool {
        match self {
            Reads::InPlace | Reads::InRow(_) => offset == Offset::ZERO,
            Reads::Vertical => offset.is_vertical(),
        }
    }
}

/// Groups statements, in order, into as few stages as possible.
pub(super) fn group<'a, 'p: 'a>(
    statements: impl IntoIterator<Item = &'a Placed<'p>>,
    reads: Reads<'_>,
) -> Vec<Stage> {
    let mut open: Option<Open> = None;
    let mut stages = Vec::new();
    for placed in statements {
        let apart = match open.as_mut().map(|open| open.join(placed, reads)) {
            Some(Ok(())) => continue,
            Some(Err(reason)) => Some(reason),
            None => None,
        };
        stages.extend(open.take().map(|open| open.stage));
        open = Some(Open::new(placed, reads, apart));
    }
    stages.extend(open.map(|open| open.stage));
    stages
}

/// The stage that is being filled.
struct Open {
    stage: Stage,
    written: HashSet<Target>,
    /// Targets read where the stage must not write them.
    elsewhere: HashSet<Target>,
    fields: HashSet<Target>,
}

/// Fields of a stage of several statements, at most: LLVM takes the square of that.
const MOST_FIELDS: usize = 128;

impl Open {
    fn new(placed: &Placed<'_>, reads: Reads<'_>, apart: Option<Reason>) -> Open {
        let mut open = Open {
            stage: Stage {
                statements: Vec::new(),
                interval: placed.interval,
                extent: placed.extent,
                bounds: placed.bounds,
                area: area(placed.statement),
                apart,
            },
            written: HashSet::new(),
            elsewhere: HashSet::new(),
            fields: HashSet::new(),
        };
        open.push(placed, reads);
        open
    }

    /// Adds a statement where it can share the loop, or says why it cannot.
    fn join(&mut self, placed: &Placed<'_>, reads: Reads<'_>) -> Result<(), Reason> {
        let reason = |obstacle, target, offset| Reason {
            obstacle,
            target,
            offset,
            span: placed.statement.span,
        };
        if self.stage.interval != placed.interval {
            return Err(reason(Obstacle::OtherInterval, None, Offset::ZERO));
        }
        if (self.stage.extent, self.stage.bounds) != (placed.extent, placed.bounds) {
            return Err(reason(Obstacle::OtherPoints, None, Offset::ZERO));
        }
        let (here, there) = (self.stage.area, area(placed.statement));
        let mixed = here != there || (here == Area::FULL && self.has_regions());
        if mixed && !self.admits(placed, reads) {
            return Err(reason(Obstacle::OtherRegion, None, Offset::ZERO));
        }
        let written = |(target, _): &(Target, Offset)| self.written.contains(target);
        if let Some((target, offset)) = disallowed(placed, reads).find(written) {
            return Err(reason(Obstacle::Neighbour, Some(target), offset));
        }
        let mut writes = placed.accesses.writes.iter().map(|(target, _)| *target);
        if let Some(target) = writes.find(|target| self.elsewhere.contains(target)) {
            return Err(reason(
                Obstacle::ReadByNeighbours,
                Some(target),
                Offset::ZERO,
            ));
        }
        let new = placed.fields().filter(|field| !self.fields.contains(field));
        if self.fields.len() + new.collect::<HashSet<_>>().len() > MOST_FIELDS {
            return Err(reason(Obstacle::ManyFields, None, Offset::ZERO));
        }
        self.push(placed, reads);
        Ok(())
    }

    fn has_regions(&self) -> bool {
        let mut areas = self.stage.statements.iter().map(area);
        areas.any(|area| area != Area::FULL)
    }

    /// Whether a statement can be computed together with others that have other regions: the loop over a row looks after those.
    fn admits(&self, placed: &Placed<'_>, reads: Reads<'_>) -> bool {
        let Reads::InRow(stencil) = reads else {
            return false;
        };
        let statements = self.stage.statements.iter();
        let mut all = statements.chain(std::iter::once(placed.statement));
        self.stage.area == Area::FULL && all.all(|statement| loops::fits(stencil, statement))
    }

    fn push(&mut self, placed: &Placed<'_>, reads: Reads<'_>) {
        self.stage.statements.push(placed.statement.clone());
        self.elsewhere
            .extend(disallowed(placed, reads).map(|(target, _)| target));
        let written = placed.accesses.writes.iter().map(|(target, _)| *target);
        self.written.extend(written);
        self.fields.extend(placed.fields());
    }
}

/// The part of the plane in which a statement is computed.
fn area(statement: &Stmt) -> Area {
    match statement.kind {
        StmtKind::Region { area, .. } => area,
        _ => Area::FULL,
    }
}

fn disallowed<'a>(
    placed: &'a Placed<'_>,
    reads: Reads<'a>,
) -> impl Iterator<Item = (Target, Offset)> + 'a {
    let accesses = placed.accesses.reads.iter();
    accesses
        .filter(move |(_, offset)| !reads.allow(*offset))
        .copied()
}
