//! What a kernel fetches into the caches before it needs it.

use std::collections::HashSet;

use fieldstone_device::CoreCaches;
use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::{Stencil, Target as Written};
use fieldstone_stencil::schedule::{ColumnNest, Roles, RowNest, Stage};
use fieldstone_stencil::visit::Accesses;

use super::loops::{Loops, volumes};
use super::prefetch::Purpose;
use crate::cost;
use crate::target::Target;
use crate::tile::{LINE, Scratch};

/// How far ahead a kernel fetches, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Rows, or levels of a sweep; nothing is fetched where 0.
    pub ahead: usize,
    /// Eighths of the caches that what a call needs has to fill for it to be worth it.
    pub eighths: usize,
    /// Whether rows are fetched even where they follow each other in memory.
    pub in_order: bool,
    /// Whether these are the next ones of a tile along the sliding axis, not those that follow in memory.
    pub in_tile: bool,
    /// How much of what it needs runs before have to have left in the caches, as far as can be told, for it not to be worth it; `None`
    /// where it always is.
    pub unless: Option<Cached>,
    /// What is fetched is so long: the shorter rows are, the more of them. `None` where that does not matter.
    pub length: Option<Length>,
}

/// How much is fetched of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Bytes in all.
    bytes: usize,
    /// Most rows.
    most: usize,
    /// The axis along which rows run, and the bytes of all arrays that are read at each of its points.
    row: (Axis, usize),
    /// Most points of a row.
    longest: usize,
}

/// How much of something is in the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cached {
    /// Little, or that is not known.
    #[default]
    Little,
    /// Some of it: less was moved since than the caches hold.
    Some,
    /// Most of it.
    Most,
    /// All of it.
    All,
    /// All of it, and that is so little that a core gets it soon enough.
    Near,
}

impl Cached {
    /// What is left in caches of so many bytes when so many were moved since.
    pub fn after(moved: u64, caches: u64) -> Cached {
        match moved {
            _ if moved <= caches / 8 * NEAR as u64 => Cached::Near,
            _ if moved <= caches / 8 * ALL as u64 => Cached::All,
            _ if moved <= caches / 8 * MOST as u64 => Cached::Most,
            _ if moved <= caches => Cached::Some,
            _ => Cached::Little,
        }
    }
}

/// Rows ahead, where a tile has many of them: at least so many, and at most where they are short.
const AHEAD: usize = 2;
const MOST_AHEAD: usize = 16;

/// The same where tiles have a few rows of each level.
const AHEAD_IN_PLANES: usize = 4;

/// Rows ahead that are then fetched on into the first-level cache: a core forgets some of what it was asked for.
pub(super) const SOON_IN_PLANES: usize = 2;

/// Rows ahead where the points of a row are vectors of levels, which take as long as several rows: at least so many, and at most.
const PANELS_AHEAD: usize = 1;
const MOST_PANELS_AHEAD: usize = 4;

/// The same where rows run along K, and are so short that the processor does not see that they follow each other: at least so many,
/// and at most.
const SHORT_AHEAD: usize = 8;
const MOST_SHORT_AHEAD: usize = 32;

/// The same where such rows have no more levels than a vector: a line of each.
const LINES_AHEAD: usize = 16;

/// Rows along K of a tile of few columns that are fetched ahead along its sliding axis.
const IN_TILE_AHEAD: usize = 2;

/// Eighths of the caches that are most of them. What so much of the last one holds is there in part only, where other machines share it; of
/// less the processor gets soon enough by itself.
pub(super) const MOST: usize = 5;

/// Eighths of the caches in which what was moved a moment ago is still there, for sure.
const ALL: usize = 3;

/// Eighths of the caches of which cores whose first-level cache is smaller than [`PATIENT`] get lines that are apart soon enough, too.
const NEAR: usize = 2;

/// Eighths of the caches that are more than those of one core. From a cache that cores share it still takes long.
const MORE_THAN_OWN: usize = 1;

/// The same for short rows, of which the processor is told as many times as others hold lines.
const MUCH_MORE_THAN_OWN: usize = 3;

/// Arrays that a processor sees are read in order, without being told.
const FORESEEN: usize = 16;

/// Cycles of a vector whose instructions fill the window in which a processor looks ahead.
const WINDOW: f64 = 100.0;

/// Cycles of a vector at which to ask for a line of each array adds to what it takes, at most.
const BRIEF: f64 = 2.0 * WINDOW;

/// Bytes ahead of short rows, and where a sweep visits some points of each level: the processor does not see that these follow each
/// other either, and its first-level cache forgets what it is asked for while more lines than this are under way.
const BYTES_AHEAD: usize = 128 * LINE;

/// The same of rows that follow each other in memory, where a register is half a line: those of a page or more are foreseen.
const BYTES_IN_ORDER: usize = 40 * LINE;

/// The same where the processor foresees them [too late](fieldstone_device::CoreCaches::streams_are_late).
const BYTES_OF_STREAMS: usize = 64 * LINE;

/// Levels ahead that these are at most.
const MOST_LEVELS: usize = 8;

/// The same at least, where a core [waits for lines](waits_for_lines) that it is not told of.
const FEWEST_LEVELS: usize = 2;

/// How many times that far ahead is the second-level cache asked, which waits for more lines at a time: for rows that are not short, and by
/// sweeps in registers where the first one forgets.
const FURTHER: usize = 2;

/// Bytes of first-level caches that wait for as many lines at a time as a sweep in registers asks memory for, as those of Zen 5 do. Of
/// smaller ones, those of Zen 4, most is forgotten, and lines that are apart are worth asking for where the last cache has them, too.
const PATIENT: usize = 48 << 10;

/// Columns of a block whose size follows from the domain alone.
pub(super) const TYPICAL_COLUMNS: usize = 128;

impl Fetch {
    /// Nothing is fetched.
    pub(super) const NOTHING: Fetch = Fetch::always(0);

    /// So far ahead, in every call.
    pub(super) const fn always(ahead: usize) -> Fetch {
        Fetch {
            ahead,
            eighths: 0,
            in_order: true,
            in_tile: false,
            unless: None,
            length: None,
        }
    }

    /// What is worth fetching in a nest.
    pub(super) fn of(
        loops: Loops<'_>,
        stencil: &Stencil,
        scratch: &Scratch,
        target: &Target,
    ) -> Fetch {
        match loops {
            Loops::Rows(nest) => of_rows(nest, stencil, scratch, target),
            Loops::Columns(nest) if scratch.is_held() => of_held(nest, stencil, scratch, target),
            Loops::Columns(nest) => of_columns(nest, stencil, scratch, target),
        }
    }

    /// So far ahead instead, in every call, where that was chosen.
    pub(super) fn or_chosen(self, ahead: Option<usize>) -> Fetch {
        match ahead {
            None => self,
            Some(ahead) => Fetch {
                in_tile: self.in_tile,
                ..Fetch::always(ahead)
            },
        }
    }

    /// How far ahead a kernel fetches in a domain that moves so many bytes, with caches of so many.
    pub fn with(self, domain: [usize; 3], moved: usize, caches: usize) -> usize {
        match self.eighths == 0 || moved > caches / 8 * self.eighths {
            true => self.far(domain),
            false => 0,
        }
    }

    /// The axis along which the rows lie that are fetched, and the other one across them.
    pub(super) fn order_of_rows(self, roles: Roles) -> [Axis; 2] {
        match self.in_tile {
            true => [roles.slide, roles.block],
            false => order_of_rows(roles),
        }
    }

    /// Whether it does in some domain.
    pub fn is_any(self) -> bool {
        self.ahead > 0 || self.length.is_some()
    }

    /// How far ahead a kernel fetches in a domain, if it does.
    pub fn far(self, domain: [usize; 3]) -> usize {
        match self.length {
            None => self.ahead,
            Some(length) => length.rows(domain).clamp(self.ahead, length.most),
        }
    }
}

impl Length {
    /// Points of a row in a domain.
    pub fn of_row(self, domain: [usize; 3]) -> usize {
        domain[self.row.0.index()].min(self.longest)
    }

    /// As many rows as are so long.
    fn rows(self, domain: [usize; 3]) -> usize {
        self.bytes / (self.row.1 * self.of_row(domain)).max(LINE)
    }
}

/// What a sweep in registers fetches rows of later levels for.
pub(super) fn purpose_of_held(target: &Target) -> Purpose {
    match waits_for_lines(target.caches) {
        true => Purpose::Later,
        false => Purpose::Soon,
    }
}

/// Whether a core waits for lines that are apart, unless it is told of them early, and keeps them in mind when it is.
pub(super) fn waits_for_lines(caches: CoreCaches) -> bool {
    caches.first < PATIENT && !caches.waits_for_few
}

fn of_held(nest: &ColumnNest, stencil: &Stencil, scratch: &Scratch, target: &Target) -> Fetch {
    let times = match purpose_of_held(target) {
        Purpose::Soon => 1,
        Purpose::Later => FURTHER,
    };
    Fetch {
        // A few lines of each level are apart, but some cores get these from a cache that is near as soon as they are asked to.
        unless: waits_for_lines(target.caches).then_some(Cached::Near),
        ..Fetch::always(levels_ahead(nest, stencil, scratch, times))
    }
}

fn of_columns(nest: &ColumnNest, stencil: &Stencil, scratch: &Scratch, target: &Target) -> Fetch {
    let levels = levels_ahead(nest, stencil, scratch, 1);
    let (ahead, unless) = match scratch.transposed.is_empty() {
        // Their lines are apart: the processor does not see that they follow each other.
        false => (levels, None),
        true if waits_for_lines(target.caches) => (levels.max(FEWEST_LEVELS), None),
        true => (levels, Some(enough(levels))),
    };
    Fetch {
        eighths: MORE_THAN_OWN,
        unless,
        ..Fetch::always(ahead)
    }
}

fn of_rows(nest: &RowNest, stencil: &Stencil, scratch: &Scratch, target: &Target) -> Fetch {
    let arrays = arrays_read(nest, stencil);
    let size = |array: &Written| match nest.roles.are_panels() {
        true => LINE,
        false => stencil.target_dtype(*array).size(),
    };
    let point: usize = arrays.iter().map(size).sum();
    let of = |bytes, most| Length {
        bytes,
        most,
        row: (nest.roles.vector, point),
        longest: scratch.vector.unwrap_or(usize::MAX),
    };
    let long = |most| of(FURTHER * BYTES_AHEAD, most);
    let is_short = nest.roles.vector == Axis::K;
    let length = match is_short {
        true => of(BYTES_AHEAD, MOST_SHORT_AHEAD),
        false => long(MOST_AHEAD),
    };
    match is_short {
        _ if nest.roles.are_panels() => of_panels(nest, target, long(MOST_PANELS_AHEAD)),
        true if nest.stages.iter().all(has_few_levels) => Fetch {
            eighths: MORE_THAN_OWN,
            ..Fetch::always(LINES_AHEAD)
        },
        // Each line would be asked for several times.
        _ if target.row_bytes() < LINE => Fetch::NOTHING,
        false if reads_own_rows(nest) && target.halves_lines() => Fetch {
            eighths: MOST,
            length: Some(of(BYTES_IN_ORDER, AHEAD)),
            ..Fetch::NOTHING
        },
        false if reads_own_rows(nest) && target.caches.streams_are_late() => Fetch {
            eighths: MOST,
            length: Some(of(BYTES_OF_STREAMS, MOST_AHEAD)),
            ..Fetch::always(1)
        },
        _ if reads_own_rows(nest) => Fetch {
            eighths: MOST,
            in_order: Loops::Rows(nest).volumes(stencil).len() > FORESEEN
                || (is_short || target.caches.shared_is_far) && fills_window(nest),
            length: is_short.then_some(length),
            ..Fetch::always(if is_short { SHORT_AHEAD } else { AHEAD })
        },
        true => of_short_rows(scratch, target, length),
        false => of_long_rows(nest, scratch, target, length),
    }
}

/// Of rows whose points are vectors of levels.
fn of_panels(nest: &RowNest, target: &Target, length: Length) -> Fetch {
    if target.caches.shared_is_far && !target.caches.waits_for_few {
        return Fetch {
            unless: Some(Cached::Most),
            ..Fetch::always(PANELS_AHEAD)
        };
    }
    Fetch {
        unless: enough_of_panels(nest, target),
        length: Some(length),
        ..Fetch::always(PANELS_AHEAD)
    }
}

/// Of rows along `K` of a nest that reads others than the one it computes.
fn of_short_rows(scratch: &Scratch, target: &Target, length: Length) -> Fetch {
    let eighths = match scratch.reads_again {
        // What they read again is near, which is most of it.
        true => MOST,
        false => MUCH_MORE_THAN_OWN,
    };
    match target.halves_lines() {
        true if scratch.reads_again || scratch.block.is_some() => Fetch {
            eighths,
            in_tile: true,
            ..Fetch::always(IN_TILE_AHEAD)
        },
        true => Fetch::NOTHING,
        false => Fetch {
            eighths,
            length: Some(length),
            ..Fetch::always(SHORT_AHEAD)
        },
    }
}

/// Of such rows along another axis.
fn of_long_rows(nest: &RowNest, scratch: &Scratch, target: &Target, length: Length) -> Fetch {
    if target.caches.waits_for_few {
        return Fetch::NOTHING;
    }
    if scratch.plane.is_some() {
        return Fetch {
            eighths: MOST,
            ..Fetch::always(AHEAD_IN_PLANES)
        };
    }
    let is_busy = cost::usual_cycles(&nest.stages) > BRIEF;
    Fetch {
        eighths: match target.halves_lines() && is_busy {
            true => MORE_THAN_OWN,
            false => MOST,
        },
        length: Some(length),
        ..Fetch::always(AHEAD)
    }
}

fn has_few_levels(stage: &Stage) -> bool {
    stage.interval.levels().is_some()
}

/// The arrays along all axes that a nest reads.
pub(crate) fn arrays_read(nest: &RowNest, stencil: &Stencil) -> HashSet<Written> {
    let statements = nest.stages.iter().flat_map(|stage| &stage.statements);
    let reads = statements.flat_map(|statement| Accesses::of(statement).reads);
    let read: HashSet<Written> = reads.map(|(target, _)| target).collect();
    let mut volumes = Loops::Rows(nest).volumes(stencil);
    volumes.retain(|target| read.contains(target));
    volumes
}

/// Whether a vector takes so long that the processor asks for a short row only when it gets there, and waits for what lies behind a gap.
fn fills_window(nest: &RowNest) -> bool {
    let mut stages = nest.stages.iter();
    stages.any(|stage| cost::cycles(stage).0 > WINDOW)
}

/// Whether a nest reads nothing but the row that it computes, so that it gets to each row once.
pub(crate) fn reads_own_rows(nest: &RowNest) -> bool {
    let across = [nest.roles.slide, nest.roles.block];
    let statements = nest.stages.iter().flat_map(|stage| &stage.statements);
    let mut reads = statements.flat_map(|statement| Accesses::of(statement).reads);
    reads.all(|(_, offset)| across.iter().all(|axis| offset.along(*axis) == 0))
}

/// The axis along which the rows follow that need memory which no row needed before, and the other axis across the rows.
pub(super) fn order_of_rows(roles: Roles) -> [Axis; 2] {
    match roles.block {
        // Tiles of one level follow those of the level below.
        Axis::K => [roles.slide, roles.block],
        block => [block, roles.slide],
    }
}

/// What caches have to have for a sweep that fetches so many levels ahead to fetch nothing: rows that follow each other come soon enough
/// by themselves. Where it reads many arrays at each level it gets less far ahead of them and asks for more.
fn enough(ahead: usize) -> Cached {
    match ahead {
        ..=AHEAD => Cached::Most,
        _ => Cached::All,
    }
}

/// The same for rows whose points are vectors of levels, each in lines of its own. `None` where they always fetch: to ask for a line takes
/// no time where a vector takes long.
fn enough_of_panels(nest: &RowNest, target: &Target) -> Option<Cached> {
    match target.caches.first {
        PATIENT.. => Some(Cached::Most),
        _ => (cost::usual_cycles(&nest.stages) <= BRIEF).then_some(Cached::Near),
    }
}

/// Levels that a nest of columns fetches ahead: the fewer, the more of its fields a block reads at one; so many times as usual.
fn levels_ahead(nest: &ColumnNest, stencil: &Stencil, scratch: &Scratch, times: usize) -> usize {
    let columns = scratch.vector.unwrap_or(TYPICAL_COLUMNS);
    let level = |stages: &Vec<Stage>| {
        let statements = stages.iter().flat_map(|stage| &stage.statements);
        let fields = volumes(stencil, statements).into_iter();
        let size = |field: Written| stencil.target_dtype(field).size();
        columns * fields.map(size).sum::<usize>()
    };
    let sections = nest.sweeps.iter().flat_map(|sweep| &sweep.sections);
    let most = sections.map(|(_, stages)| level(stages)).max();
    let most = most.unwrap_or(0).max(1);
    ((times * BYTES_AHEAD + most / 2) / most).clamp(1, times * MOST_LEVELS)
}
