//! Shapes that a kernel may have, and which of them is fastest on a device, as far as a count of what it does can tell.
//!
//! ```text
//! time = blocks of a multiprocessor × cycles of a block / speed with as many warps as it has then
//! ```
//!
//! A larger tile has less around it that is computed again by others. A smaller one takes less shared memory and fewer registers, so
//! that a multiprocessor has more blocks at once, and makes more blocks of a small domain, so that all multiprocessors have some.

use std::collections::HashSet;

use fieldstone_device::Resources;
use fieldstone_stencil::ir::{Stencil, Target};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{ColumnNest, RowNest, Schedule, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Extent, Offset};

use super::recomputation::BARRIER;
use super::room::{Room, speed};
use super::shape::Shape;
use super::{phases, place};
use crate::choices::Choices;
use crate::cost::cycles;
use crate::native::extended;

/// Points along the lanes and across them of a tile, the usual one first.
const TILES: [[usize; 2]; 6] = [[32, 8], [32, 4], [32, 2], [32, 1], [32, 16], [64, 8]];

/// The usual tile of rows.
pub const USUAL: [usize; 2] = TILES[0];

/// Of those, the ones for stages that share no memory: they would gain nothing by a larger tile.
const ALONE: usize = 4;

/// Rows of columns of a block. Few, so that those of a small domain are shared out evenly.
const COLUMNS: [usize; 2] = [2, 1];

/// Columns that a processor shall sweep over at once, at least: enough for what it waits for, and 128 registers for each; or, where
/// these are too few, all that a thread can name.
const COLUMNS_AT_ONCE: [usize; 2] = [512, 256];

/// Levels of a point that a thread computes where the next one reads what one has read. More save little.
const CLIMB: usize = 4;

/// What a level takes then, of what it takes alone.
const CLIMBED: f64 = 0.9;

/// Registers of a thread of a tile, as long as nobody knows.
const REGISTERS: usize = 40;

/// What another shape than the one before has to gain: less is not worth what is not counted.
pub const GAIN: f64 = 0.95;

/// A shape that a kernel may have.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// How a block computes it, with its temporaries in shared memory.
    pub shape: Shape,
    /// Cycles of all threads of a block, or something that grows like them.
    cycles: f64,
}

/// The candidates of a kernel, of which each fits, and the points around the domain that it computes as well.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// The first one that is as good as others is taken.
    all: Vec<Candidate>,
    extent: Extent,
}

/// Registers of a thread of a kernel that was loaded into a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    registers: usize,
    /// As many as the assembler had and were too few, if it has put others into memory.
    too_few: Option<usize>,
}

impl Need {
    /// Of a kernel, by what the driver says of it.
    pub fn of(resources: &Resources, shape: &Shape, room: &Room) -> Need {
        let had = room.registers(shape.threads_at_once());
        Need {
            registers: resources.registers as usize,
            too_few: (resources.local_bytes > 0).then_some(had),
        }
    }

    /// Registers of a thread of a block of another shape; `None` where there are as few as before.
    fn registers(&self, shape: &Shape, room: &Room) -> Option<usize> {
        let most = room.registers(shape.threads_at_once());
        match self.too_few {
            None => Some(self.registers),
            Some(before) => (most > before).then_some(most),
        }
    }
}

impl Candidates {
    /// Of tiles; none where what stages share fits into the shared memory of no block.
    pub fn of_rows(
        stencil: &Stencil,
        schedule: &Schedule,
        nest: &RowNest,
        room: &Room,
        choices: &Choices,
    ) -> Option<Candidates> {
        let phases = phases::of(nest).len();
        let uses = place::uses(schedule, nest);
        let stages = nest.stages.iter();
        let stages: Vec<(f64, Extent)> = stages
            .map(|stage| (cycles(stage).0, stage.extent.beyond(nest.extent)))
            .collect();
        let tiles = match phases {
            1 => &TILES[..ALONE],
            _ => &TILES[..],
        };
        let shapes = tiles.iter().flat_map(|tile| {
            let mut shape = Shape::of_rows(nest.roles.lanes, *tile, choices);
            place::in_shared(stencil, &uses, &mut shape);
            levels_of_a_thread(nest, choices)
                .iter()
                .map(move |levels| shape.clone().climbing(*levels))
                .collect::<Vec<Shape>>()
        });
        let candidates = shapes.map(|shape| Candidate {
            cycles: cycles_of_tile(&shape, &stages, phases),
            shape,
        });
        Candidates::fitting(candidates, nest.extent, room)
    }

    /// Of columns.
    pub fn of_columns(
        program: &Program,
        schedule: &Schedule,
        (index, nest): (usize, &ColumnNest),
        room: &Room,
        choices: &Choices,
    ) -> Option<Candidates> {
        let moved = moved(schedule, nest);
        let shapes = COLUMNS_AT_ONCE.into_iter().flat_map(|columns| {
            COLUMNS.map(|rows| {
                let shape = Shape::of_columns(nest.vector, rows, choices);
                let mut shape = shape.with_columns(columns);
                place::columns_in_shared(program, schedule, index, &mut shape);
                shape
            })
        });
        let candidates = shapes.map(|shape| Candidate {
            cycles: (shape.threads * moved) as f64,
            shape,
        });
        Candidates::fitting(candidates, nest.extent, room)
    }

    fn fitting(
        all: impl Iterator<Item = Candidate>,
        extent: Extent,
        room: &Room,
    ) -> Option<Candidates> {
        let fits = |one: &Candidate| {
            let Shape {
                threads,
                shared_bytes,
                ..
            } = one.shape;
            room.blocks(threads, REGISTERS, shared_bytes) > 0
        };
        let all: Vec<Candidate> = all.filter(fits).collect();
        (!all.is_empty()).then_some(Candidates { all, extent })
    }

    /// The fastest for a domain, or for a large one, with threads that need so much, where that is known, and how long it takes;
    /// for ever if none is possible.
    pub fn fastest(
        &self,
        room: &Room,
        domain: Option<[usize; 3]>,
        need: Option<Need>,
    ) -> (f64, &Shape) {
        let points = domain.map(|domain| extended(domain, self.extent));
        let mut best: Option<(f64, &Shape)> = None;
        for candidate in &self.all {
            let Some(time) = candidate.time(room, points, need) else {
                continue;
            };
            if best.is_none_or(|(other, _)| time < GAIN * other) {
                best = Some((time, &candidate.shape));
            }
        }
        best.unwrap_or((f64::INFINITY, &self.all[0].shape))
    }
}

impl Candidate {
    /// How long a multiprocessor takes, or for each point if there are more than count; `None` where threads have too few registers.
    fn time(&self, room: &Room, points: Option<[usize; 3]>, need: Option<Need>) -> Option<f64> {
        let shape = &self.shape;
        let registers = match need {
            Some(need) => need.registers(shape, room)?,
            None if shape.resident.is_some() => room.registers(shape.threads_at_once()),
            None => REGISTERS,
        };
        let shared = shape.shared_for(points.map_or(0, |points| points[2]));
        let at_once = room.blocks(shape.threads, registers, shared);
        if at_once == 0 {
            return None;
        }
        let warps = room.warps(shape.threads);
        let (Some(points), Some(multiprocessors)) = (points, room.multiprocessors) else {
            let points: usize = shape.tile.iter().map(|points| (*points).max(1)).product();
            return Some(self.cycles / points as f64 / speed(at_once * warps));
        };
        let blocks: usize = shape.grid(points).iter().product();
        let share = blocks.div_ceil(multiprocessors).max(1);
        Some(share as f64 * self.cycles / speed(share.min(at_once) * warps))
    }
}

/// Cycles of all threads of a block, which computes stages on its tile and so many points beyond, in so many phases.
fn cycles_of_tile(shape: &Shape, stages: &[(f64, Extent)], phases: usize) -> f64 {
    let barriers = BARRIER * (phases - 1) as f64;
    let stages = stages.iter().map(|(cycles, beyond)| {
        let points = extended(shape.tile, *beyond).into_iter().product::<usize>();
        let rounds = points.div_ceil(shape.threads * shape.climb);
        let climbed = if shape.climb > 1 { CLIMBED } else { 1.0 };
        cycles * climbed * (rounds * shape.climb) as f64
    });
    shape.threads as f64 * (stages.sum::<f64>() + barriers)
}

/// Elements of arrays that sweeps read and write for each point. What a sweep has written it has in registers.
fn moved(schedule: &Schedule, nest: &ColumnNest) -> usize {
    let of_sweep = |sweep: &Sweep| {
        let (mut read, mut written) = (HashSet::new(), HashSet::new());
        let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
        for accesses in stages.flat_map(|stage| &stage.statements).map(Accesses::of) {
            read.extend(accesses.reads.iter().map(|(target, _)| *target));
            written.extend(accesses.written());
        }
        read.retain(|target| !written.contains(target));
        let all = read.into_iter().chain(written);
        all.filter(|target| schedule.is_array(*target)).count()
    };
    nest.sweeps.iter().map(of_sweep).sum::<usize>().max(1)
}

/// Levels of a point that a thread may compute: several of a nest of one stage, with threads side by side along I or J.
fn levels_of_a_thread(nest: &RowNest, choices: &Choices) -> Vec<usize> {
    let [stage] = nest.stages.as_slice() else {
        return vec![1];
    };
    match (nest.roles.lanes, choices.levels, choices.tile(Axis::K)) {
        (Axis::K, ..) => vec![1],
        (_, Some(levels), _) => vec![levels],
        (_, None, None) if is_read_by_next_level(stage) => vec![CLIMB, 1],
        (_, None, _) => vec![1],
    }
}

/// Whether a level reads something that the next one reads too.
fn is_read_by_next_level(stage: &Stage) -> bool {
    let accesses: Vec<Accesses> = stage.statements.iter().map(Accesses::of).collect();
    let reads = || accesses.iter().flat_map(|accesses| &accesses.reads);
    let again = |(target, offset): &(Target, Offset)| {
        let above = Offset([offset.0[0], offset.0[1], offset.0[2] + 1]);
        reads().any(|other| *other == (*target, above))
    };
    reads().any(again)
}
