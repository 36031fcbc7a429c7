//! Grouping of statements into stages that share one vector loop.

use std::collections::HashSet;

use crate::grid::Offset;
use crate::ir::Target;

use super::Stage;
use super::cut::Placed;

/// Which reads of what a stage writes keep it one loop.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reads {
    /// At the point itself only.
    InPlace,
    /// Also at other levels, which an ordered sweep visits at other times.
    Vertical,
}

impl Reads {
    fn allow(self, offset: Offset) -> bool {
        match self {
            Reads::InPlace => offset == Offset::ZERO,
            Reads::Vertical => offset.is_vertical(),
        }
    }
}

/// Groups statements, in order, into as few stages as possible.
pub(super) fn group<'a, 'p: 'a>(
    statements: impl IntoIterator<Item = &'a Placed<'p>>,
    reads: Reads,
) -> Vec<Stage> {
    let mut open: Option<Open> = None;
    let mut stages = Vec::new();
    for placed in statements {
        let joined = open.as_mut().is_some_and(|open| open.join(placed, reads));
        if !joined {
            stages.extend(open.take().map(|open| open.stage));
            open = Some(Open::new(placed, reads));
        }
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
}

impl Open {
    fn new(placed: &Placed<'_>, reads: Reads) -> Open {
        let mut open = Open {
            stage: Stage {
                statements: Vec::new(),
                interval: placed.interval,
                extent: placed.extent,
            },
            written: HashSet::new(),
            elsewhere: HashSet::new(),
        };
        open.push(placed, reads);
        open
    }

    /// Adds a statement where it can share the loop; says whether it did.
    fn join(&mut self, placed: &Placed<'_>, reads: Reads) -> bool {
        let same_points =
            self.stage.interval == placed.interval && self.stage.extent == placed.extent;
        let reads_written = disallowed(placed, reads).any(|target| self.written.contains(&target));
        let writes_read =
            (placed.accesses.writes.iter()).any(|(target, _)| self.elsewhere.contains(target));
        let joins = same_points && !reads_written && !writes_read;
        if joins {
            self.push(placed, reads);
        }
        joins
    }

    fn push(&mut self, placed: &Placed<'_>, reads: Reads) {
        self.stage.statements.push(placed.statement.clone());
        self.elsewhere.extend(disallowed(placed, reads));
        let written = placed.accesses.writes.iter().map(|(target, _)| *target);
        self.written.extend(written);
    }
}

fn disallowed<'a>(placed: &'a Placed<'_>, reads: Reads) -> impl Iterator<Item = Target> + 'a {
    let accesses = placed.accesses.reads.iter();
    accesses
        .filter(move |(_, offset)| !reads.allow(*offset))
        .map(|(target, _)| *target)
}
