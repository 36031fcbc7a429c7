//! Rings of rows.

use std::collections::HashSet;

use fieldstone_stencil::ir::{self, Stencil, TempId};
use fieldstone_stencil::schedule::{self, Placement, RowNest, Schedule};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, DType, Extent};

use super::{LINE, Place, Scratch, temporaries, whole_lines};
use crate::choices::Choices;
use crate::target::Target;

/// Vectors at each end of a row of scratch that a loop may touch beside the points of a tile: that of which one point is
/// needed, those that stages are ahead, and those on either side that are read.
const ROOM: usize = 3 + schedule::MOST_AHEAD;

/// The part of a second-level cache that scratch of a tile of rows should stay within. Shorter rows would fit the first-level cache,
/// but for these more points at their ends are computed twice, and a core sees only what follows in memory coming.
const RING_SHARE: usize = 3;

/// Points of a row of a tile with scratch, from the most that are tried to the fewest.
const ROWS: [usize; 7] = [4096, 2048, 1024, 512, 256, 128, LINE];

/// The part of a second-level cache that planes should stay within that are read again.
const PLANE_SHARE: usize = 2;

/// Eighths of a first-level cache that planes of short rows should stay within, where a register is a whole cache line. With half of one
/// a core has as much to do for a line as the second-level cache needs to give it, and only pays for tiles.
const NEAR_EIGHTHS: usize = 5;

/// Rows along the block axis where stages reach along it: as many as fit.
const BLOCK_ROWS: &[usize] = &[32, 16, 8];

/// The same where they do not, of rows along `K`, which are short, and follow each other in memory along that axis.
const SHORT_BLOCK_ROWS: &[usize] = &[16, 8];

/// Scratch of a tile of rows whose size was chosen is not larger than this.
pub(super) const MOST_RINGS: usize = 4 << 20;

impl Scratch {
    /// Of a nest of rows.
    pub(crate) fn of_rows(
        stencil: &Stencil,
        schedule: &Schedule,
        index: usize,
        nest: &RowNest,
        choices: &Choices,
        target: &Target,
    ) -> Scratch {
        if nest.roles.are_panels() {
            let rings = rings_in(stencil, schedule, index);
            return Scratch::of_panels(stencil, &rings, nest, choices, target);
        }
        let again = read_again(stencil, nest);
        let near = again.filter(|_| !target.halves_lines());
        let chosen = Scratch {
            plane: plane(stencil, nest).map(|bytes| target.caches.second / PLANE_SHARE / bytes),
            reads_again: again.is_some(),
            near: near.map(|bytes| target.caches.first / 8 * NEAR_EIGHTHS / bytes),
            vector: choices.tile(nest.roles.vector).map(whole_lines),
            block: choices.tile(nest.roles.block),
            slide: choices.tile(nest.roles.slide),
            ..Scratch::default()
        };
        let rings = rings_in(stencil, schedule, index);
        if rings.is_empty() {
            return chosen;
        }
        let reaches = |axis: Axis| {
            let along = |(_, _, _, extent): &Ring| extent.along(axis);
            rings.iter().any(|ring| along(ring) != (0, 0))
        };
        let blocks = match nest.roles.vector {
            _ if reaches(nest.roles.block) => BLOCK_ROWS,
            Axis::K => SHORT_BLOCK_ROWS,
            Axis::I | Axis::J => &[1],
        };
        let budget = target.caches.second / RING_SHARE;
        let rings_of = |vector, block| rings_of(&rings, nest, vector, block, 1);
        let small = |rows: &usize| rings_of(2 * LINE, *rows).bytes <= budget;
        let usual = || {
            blocks
                .iter()
                .copied()
                .find(small)
                .unwrap_or(blocks[blocks.len() - 1])
        };
        let least = rings_of(LINE, 1).bytes;
        let block = chosen
            .block
            .unwrap_or_else(usual)
            .min((MOST_RINGS / least).max(1));
        let plan = |vector: usize| rings_of(vector, block);
        let fits = |vector: &usize| plan(*vector).bytes <= budget;
        let model = || ROWS.into_iter().find(fits).unwrap_or(LINE);
        Scratch {
            slide: chosen.slide,
            plane: chosen.plane,
            ..plan(chosen.vector.map_or_else(model, |vector| {
                vector.min(LINE * (MOST_RINGS / plan(LINE).bytes).max(1))
            }))
        }
    }

    /// Makes room for all blocks, each with the rows of all rings. Those of one block are close together: were they a multiple of
    /// 4 KiB apart, a core would take a load from one row for one of what was just stored in another.
    fn repeat_blocks(&mut self) {
        let mut most = 1;
        for place in self.places.values_mut() {
            if let Place::Ring { steps, blocks, .. } = place {
                steps.1 = self.bytes;
                most = most.max(*blocks);
            }
        }
        self.bytes *= most;
    }
}

/// A temporary in a ring: its type, rows along the sliding axis, and reach beyond the tile.
pub(super) type Ring = (TempId, DType, usize, Extent);

fn rings_in(stencil: &Stencil, schedule: &Schedule, index: usize) -> Vec<Ring> {
    let rings = temporaries(stencil, schedule).filter_map(|(id, dtype, place)| match place {
        Placement::Ring { nest, rows, extent } if nest == index => Some((id, dtype, rows, extent)),
        _ => None,
    });
    rings.collect()
}

/// Where rings lie for a tile of so many points, of which each has `lanes` elements.
pub(super) fn rings_of(
    rings: &[Ring],
    nest: &RowNest,
    vector: usize,
    block: usize,
    lanes: usize,
) -> Scratch {
    let mut scratch = Scratch {
        vector: Some(vector),
        block: Some(block),
        ..Scratch::default()
    };
    // All stages of a loop run along the same points, whichever are stored.
    let reaches = nest.stages.iter().map(|stage| {
        let beyond = stage.extent.beyond(nest.extent);
        beyond.along(nest.roles.vector)
    });
    let around = reaches.fold((0, 0), |all, (before, after)| {
        (all.0.max(before), all.1.max(after))
    });
    let reach = reach_along(nest, nest.roles.vector);
    for (id, dtype, rows, extent) in rings {
        let size = dtype.size() * lanes;
        let (before, after) = extent.along(nest.roles.vector);
        let around = (around.0.max(before) as usize, around.1.max(after) as usize);
        let room = match nest.roles.are_panels() {
            true => ((schedule::MOST_AHEAD_OF_PANELS + reach) * size).next_multiple_of(LINE),
            false => ROOM * LINE,
        };
        let pad = (around.0 * size).next_multiple_of(LINE) + room;
        let row = (pad + (vector + around.1) * size).next_multiple_of(LINE) + room;
        let (block_before, block_after) = extent.along(nest.roles.block);
        let blocks = block + block_before.max(0) as usize + block_after.max(0) as usize;
        let steps = match nest.roles.are_panels() {
            true => (row, 0),
            false => (row * blocks, row),
        };
        let place = Place::Ring {
            offset: scratch.bytes,
            row,
            steps,
            rows: *rows,
            blocks,
            before: block_before.max(0) as usize,
            pad,
        };
        scratch.bytes += rows * steps.0;
        scratch.places.insert(*id, place);
    }
    if nest.roles.are_panels() {
        scratch.repeat_blocks();
    }
    scratch
}

/// Bytes of a point of planes that are read again, as [`plane`] has them, where other rows along the sliding axis are read as well, and
/// half of a plane or more has been read for the one before. Of less, what is gained by having it near is smaller than what is lost by
/// short runs through memory.
fn read_again(stencil: &Stencil, nest: &RowNest) -> Option<usize> {
    let rows = rows_of_plane(stencil, nest)?;
    let arrays: HashSet<ir::Target> = rows.iter().map(|(target, _)| *target).collect();
    let (all, new) = (
        bytes(stencil, rows.iter().map(|(target, _)| *target)),
        bytes(stencil, arrays),
    );
    let mostly_again = 2 * (all - new) >= all;
    (mostly_again && reach_along(nest, nest.roles.slide) > 0).then_some(all.max(1))
}

/// Bytes of all that is read and written for a point, until those of the next block are computed, of a nest that reads other rows
/// along the block axis than the one it computes.
fn plane(stencil: &Stencil, nest: &RowNest) -> Option<usize> {
    let rows = rows_of_plane(stencil, nest)?;
    Some(bytes(stencil, rows.into_iter().map(|(target, _)| target)).max(1))
}

/// The rows of these, with their places along the block axis.
fn rows_of_plane(stencil: &Stencil, nest: &RowNest) -> Option<HashSet<(ir::Target, i32)>> {
    let block = nest.roles.block;
    if reach_along(nest, block) == 0 {
        return None;
    }
    let mut rows = HashSet::new();
    for accesses in nest
        .stages
        .iter()
        .flat_map(|stage| &stage.statements)
        .map(Accesses::of)
    {
        let reads = accesses
            .reads
            .iter()
            .map(|(target, offset)| (*target, offset.along(block)));
        rows.extend(reads.chain(accesses.written().map(|target| (target, 0))));
    }
    let lies = |target: &ir::Target| {
        [nest.roles.vector, block]
            .iter()
            .all(|axis| stencil.target_axes(*target).contains(*axis))
    };
    rows.retain(|(target, _)| lies(target));
    Some(rows)
}

/// Bytes of a point of fields.
fn bytes(stencil: &Stencil, targets: impl IntoIterator<Item = ir::Target>) -> usize {
    let size = |target| match target {
        ir::Target::Field(id) => stencil.field(id).dtype.size(),
        ir::Target::Temp(_) => 0,
    };
    targets.into_iter().map(size).sum()
}

/// How far along an axis a nest reads anything.
fn reach_along(nest: &RowNest, axis: Axis) -> usize {
    let statements = nest.stages.iter().flat_map(|stage| &stage.statements);
    let reads = statements.flat_map(|statement| Accesses::of(statement).reads);
    let offsets = reads.map(|(_, offset)| offset.along(axis).unsigned_abs() as usize);
    offsets.max().unwrap_or(0)
}
