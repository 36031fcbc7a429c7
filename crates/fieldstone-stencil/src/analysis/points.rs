//! The points of a domain of given size that statements are computed at and that accesses find.

use crate::grid::{Area, Axis, Bound, Extent, Interval, Offset};
use crate::ir::{Computation, Expr, Section, StmtKind};
use crate::ir::{Stencil, Stmt};

/// A box of points: per axis the first one and one past the last, counted from the first point of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Points(pub [(i64, i64); 3]);

impl Points {
    /// The points that a statement with an extent is computed at.
    pub fn of(domain: [usize; 3], interval: Interval, extent: Extent) -> Points {
        let levels = interval.resolve(domain[2]);
        Points(std::array::from_fn(|n| match Axis::ALL[n] {
            Axis::K => (levels.start as i64, levels.end as i64),
            axis => {
                let (before, after) = extent.along(axis);
                (-i64::from(before), domain[n] as i64 + i64::from(after))
            }
        }))
    }

    /// Those that lie in an area of the horizontal plane.
    pub fn within(mut self, area: Area, domain: [usize; 3]) -> Points {
        for (n, range) in area.0.into_iter().enumerate() {
            let at = |bound: Bound| bound.resolve(domain[n]);
            let (start, end) = self.0[n];
            let start = range.start.map_or(start, |bound| at(bound).max(start));
            let end = range.end.map_or(end, |bound| at(bound).min(end));
            self.0[n] = (start, end.max(start));
        }
        self
    }

    /// The same box elsewhere.
    pub fn shifted(self, offset: Offset) -> Points {
        let by = offset.0.map(i64::from);
        Points(std::array::from_fn(|n| {
            (self.0[n].0 + by[n], self.0[n].1 + by[n])
        }))
    }

    /// How many points they are.
    pub fn count(self) -> u128 {
        let along = self.0.map(|(start, end)| (end - start).max(0) as u128);
        along.into_iter().product()
    }
}

/// A domain so large that its edges do not count.
pub const LARGE: [usize; 3] = [1 << 28; 3];

/// A statement, however deep inside others, and the points it is computed at.
#[derive(Clone, Copy, Debug)]
pub struct Located<'a> {
    /// The computation.
    pub computation: &'a Computation,
    /// The section of it.
    pub section: &'a Section,
    /// The statement.
    pub statement: &'a Stmt,
    /// Where it is computed; a superset, where that depends on a condition.
    pub points: Points,
    /// Whether it depends on a condition.
    pub conditional: bool,
}

/// Every statement in program order, each before those inside it, in a domain of given size.
pub fn statements<'a>(
    stencil: &'a Stencil,
    extents: &[Vec<Vec<Extent>>],
    domain: [usize; 3],
) -> Vec<Located<'a>> {
    let mut found = Vec::new();
    for (computation, extents) in stencil.computations.iter().zip(extents) {
        for (section, extents) in computation.sections.iter().zip(extents) {
            for (statement, extent) in section.body.iter().zip(extents) {
                let located = Located {
                    computation,
                    section,
                    statement,
                    points: Points::of(domain, section.interval, *extent),
                    conditional: false,
                };
                add(located, domain, &mut found);
            }
        }
    }
    found
}

fn add<'a>(located: Located<'a>, domain: [usize; 3], found: &mut Vec<Located<'a>>) {
    found.push(located);
    let inside = match &located.statement.kind {
        StmtKind::Region { area, .. } => Located {
            points: located.points.within(*area, domain),
            ..located
        },
        _ => Located {
            conditional: true,
            ..located
        },
    };
    for statement in located.statement.inner() {
        add(
            Located {
                statement,
                ..inside
            },
            domain,
            found,
        );
    }
}

impl<'a> Located<'a> {
    /// The expressions that the statement evaluates at each of its points.
    pub fn expressions(&self) -> impl Iterator<Item = &'a Expr> + use<'a> {
        self.statement.expressions()
    }
}
