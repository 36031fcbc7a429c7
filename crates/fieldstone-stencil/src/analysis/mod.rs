//! What follows from a stencil's accesses: how its fields are used, where its statements are computed, which domains it takes.
//!
//! | module | what it finds |
//! |---|---|
//! | [`area`] | what the bounds of regions ask of the domain; regions without a point |
//! | [`access`] | reads and writes of a statement; those that have no defined order; names that are not used |
//! | [`extent`] | how far around the domain each statement is computed, so that later ones find what they read |
//! | `conditions` | under which conditions temporaries are assigned |
//! | [`assigned`] | which temporaries are assigned where they are read |
//! | [`levels`] | which levels are read and written, relative to the domain's ends |
//! | [`points`] | the points a statement is computed at, and those it accesses, in a domain of given size |
//! | [`operations`] | operations for each of these points |
//! | [`traffic`] | elements that have to be moved, whatever the schedule |
//!
//! [`analyse`] puts them together. Every pass takes time in proportion to the length of the stencil, except that a FORWARD or
//! BACKWARD computation is gone through once more for every link of the longest chain of values carried from level to level.

pub mod access;
pub mod area;
pub mod assigned;
mod conditions;
pub mod extent;
pub mod levels;
pub mod operations;
pub mod points;
pub mod traffic;
mod written;

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostic};
use crate::elements::{self, Indices};
use crate::grid::Extent;
use crate::ir::{LevelIndex, Stencil, Target};
use access::Place;

/// A temporary is read where no statement before assigns it.
pub const READ_BEFORE_WRITE: Code = Code(400);
/// A temporary is read at a level at which it is never assigned.
pub const UNWRITTEN_LEVEL: Code = Code(401);
/// Intervals of one computation overlap.
pub const OVERLAP: Code = Code(402);
/// A statement reads neighbours of the point it assigns, while they are being assigned.
pub const SELF_ASSIGNMENT: Code = Code(403);
/// Several points of the computation assign one element.
pub const AMBIGUOUS_WRITE: Code = Code(404);
/// Values are carried along a vertical loop from ever more distant columns.
pub const GROWING_EXTENT: Code = Code(405);
/// A branch of an `if` reads neighbours that the same `if` assigns.
pub const CONDITIONAL_NEIGHBOUR: Code = Code(406);
/// An offset or the bound of an interval that is larger than any grid.
pub const TOO_FAR: Code = Code(407);
/// A `while` reads neighbours of what it assigns.
pub const LOOP_NEIGHBOUR: Code = Code(410);
/// A write at another level in a parallel computation.
pub const PARALLEL_WRITE: Code = Code(411);
/// A temporary is written at a level that no domain has.
pub const OUTSIDE_LEVEL: Code = Code(412);
/// Warning: a parameter that nothing uses.
pub const UNUSED_PARAMETER: Code = Code(420);
/// Warning: a temporary that is assigned but never read.
pub const UNREAD_TEMPORARY: Code = Code(421);
/// Warning: a stencil that assigns none of its fields.
pub const NO_OUTPUT: Code = Code(422);
/// Warning: a temporary that may be read where the condition of its assignment did not hold.
pub const MAYBE_UNINITIALISED: Code = Code(423);

/// Warning: a region that has no point in any domain.
pub const NEVER_REACHED: Code = Code(430);

/// What [`analyse`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Per [`Stencil::fields`].
    pub fields: Vec<FieldInfo>,
    /// Per [`Stencil::temporaries`].
    pub temporaries: Vec<TempInfo>,
    /// `extents[computation][section][statement]`: how far around the domain each top-level statement is computed.
    ///
    /// Lower and upper are never negative, and those along K are zero: every statement is computed at the levels of its
    /// interval.
    pub extents: Vec<Vec<Vec<Extent>>>,
    /// Levels a domain must have, so that no intervals contradict each other, and so that what is reached beyond one end of
    /// the domain does not depend on the other.
    pub min_levels: usize,
    /// Points along I and along J a domain must have, so that what a region at one end of the domain reaches does not depend on
    /// the other end.
    pub min_points: [usize; 2],
    /// What is probably not meant.
    pub warnings: Vec<Diagnostic>,
}

impl Analysis {
    /// Points along I, J and K a domain must have.
    pub fn min_domain(&self) -> [usize; 3] {
        let [i, j] = self.min_points;
        [i, j, self.min_levels]
    }
}

/// How a stencil uses a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Not at all.
    #[default]
    None,
    /// It is read.
    Read,
    /// It is written, perhaps not at every point.
    Write,
    /// It is read and written, in any order.
    ReadWrite,
}

impl Access {
    /// Whether it is read.
    pub fn reads(self) -> bool {
        matches!(self, Access::Read | Access::ReadWrite)
    }

    /// Whether it is written.
    pub fn writes(self) -> bool {
        matches!(self, Access::Write | Access::ReadWrite)
    }

    /// Both uses.
    pub fn union(self, other: Access) -> Access {
        match (
            self.reads() || other.reads(),
            self.writes() || other.writes(),
        ) {
            (false, false) => Access::None,
            (true, false) => Access::Read,
            (false, true) => Access::Write,
            (true, true) => Access::ReadWrite,
        }
    }
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Access::None => "not used",
            Access::Read => "read",
            Access::Write => "written",
            Access::ReadWrite => "read and written",
        })
    }
}

/// What a call has to know of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// How it is used.
    pub access: Access,
    /// The reach of all reads and writes around the compute domain, relative to the domain's ends.
    ///
    /// Along an axis with extent `(lower, upper)`, the elements from `-lower` to `size + upper - 1` must exist, where 0 is the
    /// first point of the domain and `size` its number of points. They are negative where the field is not touched at that end,
    /// as by a read of `f[1, 0, 0]` alone, with `(-1, 1)` along I. Along K they take the intervals into account:
    ///
    /// | reads | along K |
    /// |---|---|
    /// | `f` in `interval(...)` | `(0, 0)` |
    /// | `f[0, 0, -1]` in `interval(...)` | `(1, -1)` |
    /// | `f[0, 0, -1]` in `interval(1, None)` | `(0, -1)` |
    /// | `f[0, 0, 1]` in `interval(0, -1)` | `(-1, 0)` |
    /// | `f[0, 0, -1]` in `interval(0, 1)` | `(1, 0)` |
    /// | `f` in `interval(1, None)` | `(-1, 0)` |
    ///
    /// An end that depends on the height of the domain, as the upper one in `interval(0, 1)`, counts as 0. Along an axis that
    /// the field does not have, and for a field that is not used, it is `(0, 0)`. Levels that are computed do not count.
    pub extent: Extent,
    /// Whether it is accessed at levels that are computed, which may be any that its array has.
    pub any_level: bool,
}

/// What there is to know of a temporary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TempInfo {
    /// Horizontal reach of all reads and writes around the compute domain; `(0, 0)` along K.
    pub extent: Extent,
    /// Whether some read may find a point that was not assigned, because an assignment is conditional. It reads 0 then.
    pub maybe_uninitialised: bool,
    /// Whether it is read at all.
    pub read: bool,
}

/// Analyses a stencil whose types are resolved.
///
/// # Errors
///
/// Every place where accesses have no defined meaning.
pub fn analyse(stencil: &Stencil) -> Result<Analysis, Vec<Diagnostic>> {
    let places = access::places(stencil);
    let errors = levels::check_distances(stencil, &places);
    if !errors.is_empty() {
        return Err(errors);
    }
    // Elements of data dimensions are different values. Statements stay the same, so that their places do.
    let (apart, _) = elements::of_everything(stencil.clone(), Indices::Constant);
    let mut errors = access::check(&apart);
    errors.extend(levels::check_overlap(stencil));
    if !errors.is_empty() {
        return Err(errors);
    }
    // What reads one value of a temporary asks nothing of the statements that give it another.
    let extents = extent::of(stencil).map_err(|error| vec![*error])?;
    let uninitialised = assigned::check_temporaries(stencil)?;
    let fields = fields(stencil, &places, &extents);
    let mut warnings = access::unused(stencil, &places);
    warnings.extend(once_per_place(stencil, uninitialised.warnings));
    warnings.extend(once_per_place(
        stencil,
        area::never_reached(stencil, &extents),
    ));
    Ok(Analysis {
        min_points: area::min_points(&fields, &places, &extents),
        fields,
        temporaries: temporaries(stencil, &places, &extents, &uninitialised.temporaries),
        min_levels: levels::min_levels(stencil, &places),
        warnings,
        extents,
    })
}

/// Of what is found in each call of a function, the first.
fn once_per_place(stencil: &Stencil, found: Vec<Diagnostic>) -> impl Iterator<Item = Diagnostic> {
    let mut seen = HashSet::new();
    found
        .into_iter()
        .filter(move |found| seen.insert(stencil.sources.place(found.primary.span)))
}

fn fields(stencil: &Stencil, places: &[Place], extents: &[Vec<Vec<Extent>>]) -> Vec<FieldInfo> {
    let mut access = vec![Access::None; stencil.fields.len()];
    let mut reach: Vec<Option<Extent>> = vec![None; stencil.fields.len()];
    let mut any_level = vec![false; stencil.fields.len()];
    for place in places {
        let Target::Field(id) = place.target else {
            continue;
        };
        let n = id.0 as usize;
        access[n] = access[n].union(if place.write {
            Access::Write
        } else {
            Access::Read
        });
        any_level[n] |= place.level != LevelIndex::Constant;
        let Some(at) = place.reach(place.computed_on(extents)) else {
            continue;
        };
        let interval = stencil.computations[place.computation].sections[place.section].interval;
        let [i, j, _] = at.0.map(area::at_its_end);
        // A level that is computed may be any that the array has.
        let vertical = match place.level {
            LevelIndex::Constant => levels::reach(interval, place.offset),
            LevelIndex::Offset | LevelIndex::Absolute => (i32::MIN, i32::MIN),
        };
        let found = Extent([i, j, vertical]);
        reach[n] = Some(reach[n].map_or(found, |known| known.union(found)));
    }
    (stencil.fields.iter())
        .zip(access.into_iter().zip(reach).zip(any_level))
        .map(|(field, ((access, reach), any_level))| {
            let mut extent = reach.unwrap_or(Extent::ZERO);
            for (along, has_axis) in extent.0.iter_mut().zip(field.axes.0) {
                if !has_axis || *along == (i32::MIN, i32::MIN) {
                    *along = (0, 0);
                }
            }
            FieldInfo {
                access,
                extent,
                any_level,
            }
        })
        .collect()
}

fn temporaries(
    stencil: &Stencil,
    places: &[Place],
    extents: &[Vec<Vec<Extent>>],
    uninitialised: &[bool],
) -> Vec<TempInfo> {
    let mut infos: Vec<TempInfo> = (uninitialised.iter())
        .map(|maybe_uninitialised| TempInfo {
            extent: Extent::ZERO,
            maybe_uninitialised: *maybe_uninitialised,
            read: false,
        })
        .collect();
    debug_assert_eq!(infos.len(), stencil.temporaries.len());
    for place in places {
        let Target::Temp(id) = place.target else {
            continue;
        };
        let info = &mut infos[id.0 as usize];
        info.read |= !place.write;
        let Some(at) = place.reach(place.computed_on(extents)) else {
            continue;
        };
        let [i, j, _] = at.0;
        info.extent = info.extent.union(Extent([i, j, (0, 0)]));
    }
    infos
}
