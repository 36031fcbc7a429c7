//! Blocks of columns.

use std::collections::HashSet;

use fieldstone_device::CoreCaches;
use fieldstone_stencil::ir::{self, Order, Stencil, TempId};
use fieldstone_stencil::schedule::{ColumnNest, Placement, Schedule};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axes, Axis, DType};

use super::busy::is_busy;
use super::held::held_columns;
use super::{Block, LINE, Place, Scratch, temporaries, whole_lines};
use crate::choices::Choices;
use crate::direct::Direct;
use crate::outline::Supply;
use crate::target::Target;
use crate::transposed::{Transposed, mark_meanwhile};

/// Columns of a block whose size was chosen, at most.
const MOST_COLUMNS: usize = 4096;

/// Levels for which scratch of a block of columns should stay within a quarter of a second-level cache, and for which it stays
/// within a half, which leaves room for fields.
const TYPICAL_LEVELS: usize = 96;
const DEEP_LEVELS: usize = 200;

/// Columns of a block: as many as fit.
const COLUMNS: &[usize] = &[256, 128, LINE, 32];

/// Columns of a block where none of those fits.
const FEWEST_COLUMNS: usize = 16;

/// Vectors of columns of a block whose levels are transposed some at a time: as many as fit, so that one is computed while others
/// wait.
const NARROW: &[usize] = &[4, 2, 1];

/// The same where their number was chosen, at most.
const MOST_NARROW: usize = 4;

/// Scratch of so many levels of them, and the lines of two groups of levels, should take no more than two first-level caches: a sweep
/// begins with the levels that the one before it came to last, so that little has to come back, and more vectors wait less.
const NARROW_LEVELS: usize = 64;

/// First-level caches by which a block of two vectors may exceed one where all that a call moves is in the caches: what has to come back
/// then has those to itself.
const BEYOND_IF_NEAR: usize = 3;

/// Bytes by which a block of more than two vectors may exceed the first-level cache: it waits little less than one of two, and what has
/// to come back takes its time however large that cache is.
const MOST_BEYOND: usize = 32 << 10;

/// Quarters of a first-level cache that a block may take at most where streams are late.
const QUARTERS_IF_LATE: usize = 3;

/// The part of the registers that a square may fill while a sweep computes.
const SHARE: usize = 4;

/// Rows that lie a multiple of this many bytes apart compete for the same lines of a first-level cache.
const ALIAS: usize = 2048;

impl Scratch {
    /// Of a nest of columns, with the arrays that are transposed for it to vectors of so many bytes.
    pub(crate) fn of_columns(
        stencil: &Stencil,
        schedule: &Schedule,
        (index, nest): (usize, &ColumnNest),
        mut transposed: Vec<Transposed>,
        (choices, supply): (&Choices, Supply),
        target: &Target,
    ) -> Scratch {
        let chosen = choices.tile(nest.vector).map(whole_lines);
        let columns =
            temporaries(stencil, schedule).filter_map(|(id, dtype, placement)| match placement {
                Placement::Column { nest, window } if nest == index => Some((id, dtype, window)),
                _ => None,
            });
        let columns: Vec<Column> = columns.collect();
        if columns.is_empty() && transposed.is_empty() {
            return Scratch {
                vector: chosen,
                ..Scratch::default()
            };
        }
        let wide = match chosen {
            Some(vector) => vector.min(MOST_COLUMNS),
            None => wide_columns(&columns, &transposed, target.caches.second),
        };
        let square = square(&transposed, target.vector_bytes());
        if square * SHARE <= target.vector_registers() {
            mark_meanwhile(nest, &mut transposed);
        }
        let narrow = match choices.tile(nest.vector) {
            Some(columns) => columns.next_multiple_of(square),
            None if is_slim(stencil, schedule, nest, &transposed) => {
                let around = nest.extent.along(nest.vector);
                let is_all = schedule.neighbours.one_vector && around == (0, 0);
                match is_all || is_busy(nest) {
                    true => square,
                    false => {
                        let all = (columns.as_slice(), transposed.as_slice());
                        square * narrow_vectors(all, nest, (square, target.caches), supply)
                    }
                }
            }
            None => MOST_COLUMNS,
        };
        let is_turned = narrow <= MOST_NARROW * square && !transposed.is_empty();
        let held = || {
            let temporaries = columns.iter().map(|(id, _, _)| *id).collect();
            held_columns(stencil, nest, &temporaries, target)
        };
        let may_be_held = match supply {
            Supply::Caches => true,
            // A row of such a block is so short that only what is fetched is asked for ahead.
            Supply::Memory => !target.caches.short_rows_are_late,
            // Rows of blocks that begin within lines would go through the caches.
            Supply::Ragged => false,
        };
        let slim = match chosen {
            _ if is_turned => Some(narrow),
            None if transposed.is_empty() && may_be_held => held(),
            _ => None,
        };
        let mut scratch = Scratch {
            vector: slim.or(Some(wide)),
            square,
            slim: slim.is_some(),
            ..Scratch::default()
        };
        for (id, dtype, window) in columns {
            let place = match window {
                None => Place::Column {
                    offset: scratch.reserve(dtype, (0, 0)),
                },
                Some(levels) => {
                    let row = scratch.vector.unwrap_or(LINE) * dtype.size();
                    let offset = scratch.bytes;
                    scratch.bytes += (row * levels).next_multiple_of(LINE);
                    Place::Window {
                        offset,
                        row,
                        levels,
                    }
                }
            };
            scratch.places.insert(id, place);
        }
        for array in transposed {
            let offset = scratch.reserve(array.dtype, array.across);
            let around = &mut scratch.levels_around;
            around.0 = around.0.max(array.levels.0.max(0) as usize);
            around.1 = around.1.max(array.levels.1.max(0) as usize);
            let window = (scratch.slim.then(|| array.window(nest, square))).flatten();
            if window.is_some() {
                // A whole square may begin before the ring.
                around.0 = around.0.max(square);
            }
            scratch.transposed.push((array, Block { offset, window }));
        }
        scratch.level_bytes = scratch.level_bytes.next_multiple_of(LINE);
        // Levels that lie an odd number of lines apart share the sets of a cache evenly.
        let alias = if scratch.slim { 2 * LINE } else { ALIAS };
        if scratch.level_bytes > 0 && scratch.level_bytes.is_multiple_of(alias) {
            scratch.level_bytes += LINE;
        }
        if scratch.slim {
            let bytes = target.vector_bytes();
            scratch.direct = Direct::of_nest((stencil, schedule), nest, &scratch, bytes);
        }
        scratch
    }

    /// Makes room in a level for a row of a tile and `across` points around it; returns where the tile's first point lies.
    fn reserve(&mut self, dtype: DType, across: (i32, i32)) -> usize {
        let size = dtype.size();
        let before = (across.0.min(0).unsigned_abs() as usize * size).next_multiple_of(LINE);
        let after = (across.1.max(0) as usize * size).next_multiple_of(LINE);
        let row = self.vector.unwrap_or(LINE) * size;
        // No vector of a row crosses a line that need not.
        let offset = self.level_bytes.next_multiple_of(row.min(LINE)) + before;
        self.level_bytes = offset + row + after;
        offset
    }
}

/// A temporary of a block of columns: its type, and how many levels are kept; all where `None`.
type Column = (TempId, DType, Option<usize>);

/// Columns of a block of which each level is visited row by row.
fn wide_columns(columns: &[Column], transposed: &[Transposed], cache: usize) -> usize {
    let column = |levels: usize| {
        let whole = columns
            .iter()
            .map(|(_, dtype, window)| dtype.size() * window.unwrap_or(levels));
        let arrays = transposed.iter().map(|array| array.dtype.size() * levels);
        whole.sum::<usize>() + arrays.sum::<usize>()
    };
    let fits = |vector: &usize| {
        let usually = *vector <= LINE || vector * column(TYPICAL_LEVELS) <= cache / 4;
        usually && vector * column(DEEP_LEVELS) <= cache / 2
    };
    let found = COLUMNS.iter().copied().find(fits);
    found.unwrap_or(FEWEST_COLUMNS)
}

/// Vectors of columns of a block whose levels are transposed some at a time.
fn narrow_vectors(
    (columns, transposed): (&[Column], &[Transposed]),
    nest: &ColumnNest,
    (square, caches): (usize, CoreCaches),
    supply: Supply,
) -> usize {
    let kept = columns
        .iter()
        .map(|(_, dtype, window)| dtype.size() * window.unwrap_or(NARROW_LEVELS));
    let moved = transposed
        .iter()
        .map(|array| array.dtype.size() * array.window(nest, square).unwrap_or(NARROW_LEVELS));
    let column = kept.sum::<usize>() + moved.sum::<usize>() + 2 * LINE * lines(transposed);
    let cache = caches.first;
    let fits = |vectors: &usize| {
        let room = match (vectors, supply) {
            (..=2, Supply::Caches) => cache + BEYOND_IF_NEAR * cache,
            _ if caches.streams_are_late() => cache / 4 * QUARTERS_IF_LATE,
            (..=2, _) => cache + cache,
            _ => cache + cache.min(MOST_BEYOND),
        };
        vectors * square * column <= room
    };
    NARROW.iter().copied().find(fits).unwrap_or(1)
}

/// Lines of a group of levels of one column, of all that is transposed.
fn lines(transposed: &[Transposed]) -> usize {
    let of_array = |array: &Transposed| {
        let loaded = if array.load { array.sources().len() } else { 0 };
        loaded + usize::from(array.store.is_some())
    };
    transposed.iter().map(of_array).sum()
}

/// Columns and levels that are transposed at a time: elements of the widest array in a register, and few enough for all registers.
fn square(transposed: &[Transposed], vector_bytes: usize) -> usize {
    let widest = transposed.iter().map(|array| array.dtype.size()).max();
    side(widest.unwrap_or(8), vector_bytes)
}

/// The same for arrays of which the widest has elements of so many bytes.
fn side(widest: usize, vector_bytes: usize) -> usize {
    (vector_bytes.max(32) / widest).min(16)
}

/// The same for all fields of a stencil that may be transposed; `None` if it has no sweeps over the levels.
pub(crate) fn lanes_of_sweeps(stencil: &Stencil, target: &Target) -> Option<usize> {
    let mut orders = stencil.computations.iter().map(|one| one.order);
    orders.find(|order| *order != Order::Parallel)?;
    let volumes = stencil.fields.iter();
    let volumes = volumes.filter(|field| field.axes == Axes::IJK);
    let widest = volumes.map(|field| field.dtype.size()).max()?;
    Some(side(widest, target.vector_bytes()))
}

/// Whether most arrays of a nest are transposed. A block of few columns then stays in the first cache, while the others, of
/// which it visits a few points of each level, are not worth more.
fn is_slim(
    stencil: &Stencil,
    schedule: &Schedule,
    nest: &ColumnNest,
    transposed: &[Transposed],
) -> bool {
    let turned: HashSet<ir::Target> = transposed.iter().map(|array| array.target).collect();
    let mut others = HashSet::new();
    for accesses in (nest.stages())
        .flat_map(|stage| &stage.statements)
        .map(Accesses::of)
    {
        let read = accesses.reads.iter().map(|(target, _)| *target);
        let all = read.chain(accesses.written());
        others.extend(all.filter(|target| {
            let axes = stencil.target_axes(*target);
            schedule.is_array(*target)
                && axes.contains(nest.vector)
                && axes.contains(Axis::K)
                && !turned.contains(target)
        }));
    }
    turned.len() > others.len()
}
