//! How far around the domain each statement is computed.
//!
//! Going backwards through the stencil, every read of a statement asks the statements before it for the value on its own
//! extent, moved by the offset; a statement is computed on the union of what is asked of the targets it writes. Fields are
//! asked for the domain by the caller.
//!
//! In a FORWARD or BACKWARD computation, a read of a level that was computed before asks *every* statement of the
//! computation, also itself and later ones. The walk is repeated until nothing changes. A value that comes from further away
//! with each level never ends; that is an error.

use std::collections::{HashMap, HashSet};

use super::GROWING_EXTENT;
use super::access::{Place, places};
use crate::diagnostic::{Category, Diagnostic};
use crate::elements::{self, Indices};
use crate::grid::{Axis, Extent};
use crate::ir::{LevelIndex, Order, Stencil, StmtKind, Target};

type Asked = HashMap<Target, Extent>;

/// A stencil in which every value, and every element of data dimensions, has a name of its own.
fn apart(stencil: &Stencil) -> elements::Apart {
    let mut apart = elements::apart(stencil.clone(), Indices::Any);
    apart.stencil = crate::values::split(apart.stencil);
    apart
}

/// The horizontal extent of every top-level statement, per computation and section. What reads one value of a target asks
/// nothing of the statements that give it another.
///
/// # Errors
///
/// Where an extent would grow with the number of levels.
pub fn of(stencil: &Stencil) -> Result<Vec<Vec<Vec<Extent>>>, Box<Diagnostic>> {
    let apart = apart(stencil);
    let found = horizontal(&apart.stencil, &places(&apart.stencil))?;
    let mut extents: Vec<Vec<Vec<Extent>>> = (stencil.computations.iter())
        .map(|computation| {
            (computation.sections.iter())
                .map(|section| vec![Extent::ZERO; section.body.len()])
                .collect()
        })
        .collect();
    let sections = extents.iter_mut().flatten();
    let parts = found
        .iter()
        .flatten()
        .zip(apart.statements.iter().flatten());
    for (section, (found, origins)) in sections.zip(parts) {
        for (extent, origin) in found.iter().zip(origins) {
            section[*origin] = section[*origin].union(*extent);
        }
    }
    Ok(extents)
}

/// The statements of a stencil that are [`uneven`], where it is computed on these extents.
pub fn uneven_statements(
    stencil: &Stencil,
    extents: &[Vec<Vec<Extent>>],
) -> Vec<(usize, usize, usize)> {
    let apart = apart(stencil);
    let along = extents
        .iter()
        .zip(&apart.statements)
        .map(|(sections, origins)| {
            let both = sections.iter().zip(origins);
            both.map(|(extents, origins)| origins.iter().map(|origin| extents[*origin]).collect())
                .collect()
        });
    let along: Vec<Vec<Vec<Extent>>> = along.collect();
    let found = uneven(&apart.stencil, &places(&apart.stencil), &along);
    let origin = |(c, s, n): (usize, usize, usize)| (c, s, apart.statements[c][s][n]);
    let mut statements: Vec<_> = found.into_iter().map(origin).collect();
    statements.dedup();
    statements
}

/// The horizontal extent of every top-level statement, per computation and section.
///
/// # Errors
///
/// Where an extent would grow with the number of levels.
pub fn horizontal(
    stencil: &Stencil,
    places: &[Place],
) -> Result<Vec<Vec<Vec<Extent>>>, Box<Diagnostic>> {
    let mut extents: Vec<Vec<Vec<Extent>>> = (stencil.computations.iter())
        .map(|computation| {
            (computation.sections.iter())
                .map(|section| vec![Extent::ZERO; section.body.len()])
                .collect()
        })
        .collect();
    // What the computations behind the current one ask for.
    let mut asked = Asked::new();
    for run in places.chunk_by(|a, b| a.computation == b.computation).rev() {
        let n = run[0].computation;
        computation(stencil, run, &mut asked, &mut extents[n])?;
    }
    Ok(extents)
}

/// Statements that assign several targets, not all of which are needed on the statement's extent: computation, section,
/// statement.
///
/// Computed on its extent, such a statement would assign points of a target that nobody asked for, perhaps in the caller's
/// halo.
pub fn uneven(
    stencil: &Stencil,
    places: &[Place],
    extents: &[Vec<Vec<Extent>>],
) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let mut asked = Asked::new();
    for run in places.chunk_by(|a, b| a.computation == b.computation).rev() {
        let order = stencil.computations[run[0].computation].order;
        let moved = moved(run);
        let reads = || {
            let reads = run.iter().filter(|place| !place.write);
            reads.map(|read| {
                let at = reach(read, read.computed_on(extents));
                (read, source(stencil, order, read, &moved), at)
            })
        };
        for (read, _, at) in reads().filter(|read| read.1.is_carried()) {
            add(&mut asked, read.target, at);
        }
        let statements = run.chunk_by(|a, b| (a.section, a.statement) == (b.section, b.statement));
        for statement in statements.rev() {
            let first = &statement[0];
            let extent = first.computed_on(extents);
            let needed = |place: &Place| asked.get(&place.target).copied().unwrap_or_default();
            let mut writes = statement.iter().filter(|place| place.write);
            if writes.any(|place| needed(place) != extent) {
                found.push((first.computation, first.section, first.statement));
            }
            for read in statement.iter().filter(|place| !place.write) {
                if !matches!(source(stencil, order, read, &moved), Source::Ahead) {
                    add(&mut asked, read.target, reach(read, extent));
                }
            }
            for target in kept_by_loop(stencil, first, statement) {
                add(&mut asked, target, extent);
            }
        }
        for (read, _, at) in reads() {
            add(&mut asked, read.target, at);
        }
    }
    found.sort_unstable();
    found
}

/// Temporaries that a loop assigns. Where it has no round they keep the values from before, which have to be there wherever the
/// loop runs: it runs on one extent for all that it assigns.
fn kept_by_loop<'a>(
    stencil: &Stencil,
    at: &Place,
    statement: &'a [Place],
) -> impl Iterator<Item = Target> + use<'a> {
    let section = &stencil.computations[at.computation].sections[at.section];
    let mut loops = false;
    section.body[at.statement].walk(&mut |stmt| {
        loops |= matches!(stmt.kind, StmtKind::While { .. });
    });
    (statement.iter())
        .filter(move |place| loops && place.write && matches!(place.target, Target::Temp(_)))
        .map(|place| place.target)
}

/// Where a read of one statement finds its value.
enum Source {
    /// In the statements before.
    Before,
    /// In any statement of the computation, at an earlier level.
    Carried,
    /// In the computations before: this one has not reached the level yet.
    Ahead,
    /// In any of these.
    Anywhere,
}

impl Source {
    fn is_carried(&self) -> bool {
        matches!(self, Source::Carried | Source::Anywhere)
    }
}

/// What statements of a computation write at other levels than the one that is computed.
fn moved(places: &[Place]) -> HashSet<Target> {
    let elsewhere = |place: &&Place| {
        place.write && (place.offset.along(Axis::K) != 0 || place.level != LevelIndex::Constant)
    };
    (places.iter().filter(elsewhere))
        .map(|place| place.target)
        .collect()
}

fn source(stencil: &Stencil, order: Order, read: &Place, moved: &HashSet<Target>) -> Source {
    let up = match order {
        Order::Parallel => return Source::Before,
        Order::Forward => read.offset.along(Axis::K),
        Order::Backward => -read.offset.along(Axis::K),
    };
    let has_levels = stencil.target_axes(read.target).contains(Axis::K);
    if has_levels && (read.level != LevelIndex::Constant || moved.contains(&read.target)) {
        Source::Anywhere
    } else if up < 0 || !has_levels {
        Source::Carried
    } else if up == 0 {
        Source::Before
    } else {
        Source::Ahead
    }
}

fn computation(
    stencil: &Stencil,
    places: &[Place],
    asked: &mut Asked,
    extents: &mut [Vec<Extent>],
) -> Result<(), Box<Diagnostic>> {
    let order = stencil.computations[places[0].computation].order;
    let statements: Vec<&[Place]> = places
        .chunk_by(|a, b| (a.section, a.statement) == (b.section, b.statement))
        .collect();
    let moved = moved(places);
    let mut carried = Asked::new();
    for _ in 0..statements.len() + 2 {
        let mut here = Asked::new();
        let mut ahead = Asked::new();
        let mut grown = false;
        for statement in statements.iter().rev() {
            let extent = (statement.iter().filter(|place| place.write))
                .flat_map(|place| [&*asked, &here, &carried].map(|from| from.get(&place.target)))
                .flatten()
                .fold(Extent::ZERO, |all, one| all.union(*one));
            extents[statement[0].section][statement[0].statement] = extent;
            for target in kept_by_loop(stencil, &statement[0], statement) {
                add(&mut here, target, extent);
            }
            for read in statement.iter().filter(|place| !place.write) {
                let at = reach(read, extent);
                let source = source(stencil, order, read, &moved);
                match source {
                    Source::Before => add(&mut here, read.target, at),
                    Source::Ahead => add(&mut ahead, read.target, at),
                    Source::Carried | Source::Anywhere => {
                        if matches!(source, Source::Anywhere) {
                            add(&mut ahead, read.target, at);
                        }
                        add(&mut here, read.target, at);
                        // `carried` is read by the next round only, so that this one sees one state.
                        let known = carried.get(&read.target);
                        grown |= known.is_none_or(|known| known.union(at) != *known);
                    }
                }
            }
        }
        if !grown {
            for (target, extent) in here.into_iter().chain(ahead) {
                add(asked, target, extent);
            }
            return Ok(());
        }
        for statement in &statements {
            let extent = extents[statement[0].section][statement[0].statement];
            for read in statement.iter().filter(|place| !place.write) {
                if source(stencil, order, read, &moved).is_carried() {
                    add(&mut carried, read.target, reach(read, extent));
                }
            }
        }
    }
    Err(Box::new(growing(stencil, places, order)))
}

/// What a read asks for: at least the domain.
fn reach(read: &Place, extent: Extent) -> Extent {
    let [i, j, _] = read.reach(extent).unwrap_or_default().0;
    Extent::ZERO.union(Extent([i, j, (0, 0)]))
}

fn add(asked: &mut Asked, target: Target, extent: Extent) {
    let known = asked.entry(target).or_insert(extent);
    *known = known.union(extent);
}

fn growing(stencil: &Stencil, places: &[Place], order: Order) -> Diagnostic {
    let written = |target| {
        places
            .iter()
            .find(|place| place.write && place.target == target)
    };
    let reads = |place: &&Place| !place.write && written(place.target).is_some();
    let sideways = |place: &&Place| !place.offset.is_vertical();
    let moved = moved(places);
    let carried = |place: &&Place| source(stencil, order, place, &moved).is_carried();
    // The read most likely to be the one: a carried one from another column, else one from another column.
    let culprit = (places.iter().filter(reads).filter(sideways).find(carried))
        .or_else(|| places.iter().filter(reads).find(sideways))
        .unwrap_or(&places[0]);
    let name = stencil.source_name(culprit.target);
    let mut error = Diagnostic::error(
        GROWING_EXTENT,
        Category::Definition,
        culprit.span,
        format!(
            "`{name}` is needed from ever more distant columns, one step further with each level"
        ),
    )
    .with_label("the level before had to be computed on a larger area");
    if let Some(write) = written(culprit.target) {
        error = error.with_secondary(write.span, "assigned in the same vertical loop here");
    }
    error.with_help("read neighbouring columns of fields that this computation does not assign")
}
