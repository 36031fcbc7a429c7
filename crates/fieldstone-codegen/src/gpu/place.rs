//! Where the temporaries of a schedule live when blocks of threads compute it.

use std::collections::BTreeMap;
use std::ops::Range;

use fieldstone_stencil::ir::{Stencil, Target, TempId};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{Nest, Placement, RowLoop, RowNest, Schedule, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axes, Axis, DType, Extent};

use super::phases;
use super::shape::{Shape, Shared};
use crate::choices::Columns;

/// Of columns whose levels are all kept, each thread has its own in an array, or in the shared memory of its block, where this is as
/// easy as that; of those with a window, in registers.
pub fn columns(program: &Program, schedule: &mut Schedule, chosen: Columns) {
    let shared: Vec<TempId> = match chosen {
        Columns::Arrays => Vec::new(),
        Columns::Shared => whole_columns(program, schedule),
    };
    let extents = program.analysis.temporaries.iter();
    let both = schedule.temporaries.iter_mut().zip(extents);
    for (number, (placement, temporary)) in both.enumerate() {
        if let Placement::Column { window: None, .. } = placement
            && !shared.contains(&TempId(number as u32))
        {
            *placement = Placement::Array {
                extent: temporary.extent,
                zeroed: false,
            };
        }
    }
}

/// Temporaries of which sweeps need all levels of a column, one number at each point, all of as many bytes; none that is accessed at
/// levels that are computed.
fn whole_columns(program: &Program, schedule: &Schedule) -> Vec<TempId> {
    let stencil = &program.stencil;
    let afar: Vec<Target> = (schedule.nests.iter())
        .filter_map(|nest| match nest {
            Nest::Columns(nest) => Some(nest.stages()),
            _ => None,
        })
        .flatten()
        .flat_map(|stage| &stage.statements)
        .flat_map(|statement| Accesses::of(statement).afar)
        .collect();
    let whole = |number: &usize| {
        let id = TempId(*number as u32);
        let is_whole = matches!(
            schedule.temporaries[*number],
            Placement::Column { window: None, .. }
        );
        is_whole
            && stencil.temporary(id).axes == Axes::IJK
            && stencil.temporary(id).data_dims.is_empty()
            && !afar.contains(&Target::Temp(id))
    };
    let all = (0..schedule.temporaries.len()).filter(whole);
    let mut all: Vec<TempId> = all.map(|number| TempId(number as u32)).collect();
    let size = |id: &TempId| stencil.temporary(*id).dtype.map_or(1, DType::size);
    if let Some(first) = all.first().map(size) {
        all.retain(|id| size(id) == first);
    }
    all
}

/// Puts whole columns of a nest into the shared memory of a block: those of one temporary beside those of the others, level by level.
pub fn columns_in_shared(program: &Program, schedule: &Schedule, index: usize, shape: &mut Shape) {
    let whole = |(_, placement): &(usize, &Placement)| matches!(placement, Placement::Column { nest, window: None } if *nest == index);
    let placements = schedule.temporaries.iter().enumerate();
    let ids: Vec<usize> = placements.filter(whole).map(|(number, _)| number).collect();
    let [lanes, other, _] = shape.order().map(Axis::index);
    for (place, number) in ids.iter().enumerate() {
        let id = TempId(*number as u32);
        let (before, after) = program.analysis.temporaries[*number].extent.along(Axis::K);
        let mut shared = Shared {
            offset: 0,
            before: [0, 0, before],
            // Those of a level lie behind all others of it: how many levels there are does not matter.
            points: [1; 3],
        };
        shared.points[lanes] = shape.tile[lanes];
        shared.points[other] = shape.tile[other] * ids.len();
        shared.before[other] = (shape.tile[other] * place) as i32;
        let size = program.stencil.temporary(id).dtype.map_or(1, DType::size);
        shape.level_bytes = shared.points[lanes] * shared.points[other] * size;
        shape.levels_around = shape.levels_around.max((before + after) as usize);
        shape.shared.insert(id, shared);
    }
}

/// Computes every stage of a nest of rows for all of a tile, also what nothing reads and would need fewer points.
pub fn whole_tiles(schedule: &mut Schedule) {
    for nest in &mut schedule.nests {
        if let Nest::Rows(nest) = nest {
            for stage in &mut nest.stages {
                stage.extent = stage.extent.union(nest.extent);
            }
        }
    }
}

/// A temporary that stages of a nest share.
struct Use {
    /// The phases that access it.
    phases: Range<usize>,
    /// Where it is computed, beyond the nest's own extent.
    extent: Extent,
}

/// What the stages of a nest share.
pub struct Uses(BTreeMap<TempId, Use>);

/// What the stages of a nest share.
pub fn uses(schedule: &Schedule, nest: &RowNest) -> Uses {
    let mut uses: BTreeMap<TempId, Use> = BTreeMap::new();
    for (number, stages) in phases::of(nest).into_iter().enumerate() {
        for stage in &nest.stages[stages] {
            let beyond = stage.extent.beyond(nest.extent);
            let mut note = |target: Target, extent: Extent| {
                let Target::Temp(id) = target else { return };
                if !is_shared(schedule, id) {
                    return;
                }
                let fresh = Use {
                    phases: number..number + 1,
                    extent,
                };
                let known = uses.entry(id).or_insert(fresh);
                known.phases.end = number + 1;
                known.extent = known.extent.union(extent);
            };
            for accesses in stage.statements.iter().map(Accesses::of) {
                let (reads, written) = (accesses.reads.iter(), accesses.written());
                reads.for_each(|(target, offset)| note(*target, beyond.shifted(*offset)));
                written.for_each(|target| note(target, beyond));
            }
        }
    }
    Uses(uses)
}

/// Puts what the stages of a nest share into the shared memory of a block.
pub fn in_shared(stencil: &Stencil, Uses(uses): &Uses, shape: &mut Shape) {
    let mut taken: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (id, used) in uses {
        let dtype = stencil.temporary(*id).dtype.map_or(1, DType::size);
        let around = |axis: Axis| used.extent.along(axis);
        let points: [usize; 3] = Axis::ALL.map(|axis| {
            let (before, after) = around(axis);
            (shape.tile[axis.index()] as i32 + before + after) as usize
        });
        let bytes = points.iter().product::<usize>() * dtype;
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        let offset = free(&taken, &used.phases, bytes);
        taken.push((used.phases.clone(), offset..offset + bytes));
        shape.shared_bytes = shape.shared_bytes.max(offset + bytes);
        let place = Shared {
            offset,
            before: Axis::ALL.map(|axis| around(axis).0),
            points,
        };
        shape.shared.insert(*id, place);
    }
}

/// Of each temporary in shared memory.
const ALIGNMENT: usize = 16;

/// Whether stages of a nest of rows share a temporary.
fn is_shared(schedule: &Schedule, id: TempId) -> bool {
    matches!(
        schedule.temporaries[id.0 as usize],
        Placement::Carried { .. } | Placement::Ring { .. }
    )
}

/// The first bytes that are free in all of some phases. What is no longer read gives way to what is written next, since there is a
/// barrier between.
fn free(taken: &[(Range<usize>, Range<usize>)], phases: &Range<usize>, bytes: usize) -> usize {
    let meets = |other: &Range<usize>| phases.start < other.end && other.start < phases.end;
    let others = taken.iter().filter(|(other, _)| meets(other));
    let mut others: Vec<&Range<usize>> = others.map(|(_, bytes)| bytes).collect();
    others.sort_by_key(|other| other.start);
    let mut offset = 0;
    for other in others {
        if offset + bytes <= other.start {
            break;
        }
        offset = offset.max(other.end);
    }
    offset
}

/// A nest in parts, each of which computes what the next ones read for all of the domain; what they share becomes arrays.
pub fn apart(program: &Program, schedule: &mut Schedule, index: usize) {
    let Nest::Rows(nest) = &schedule.nests[index] else {
        return;
    };
    let parts = phases::of(nest).into_iter().map(|stages| {
        let stages = &nest.stages[stages];
        let bounds = stages.iter().map(|stage| stage.bounds);
        let extent = bounds.reduce(Extent::union).unwrap_or_default();
        let own = |stage: &Stage| Stage {
            extent,
            ..stage.clone()
        };
        Nest::Rows(RowNest {
            extent,
            stages: stages.iter().map(own).collect(),
            loops: vec![RowLoop {
                stages: stages.len(),
                fused: false,
            }],
            ..*nest
        })
    });
    let parts: Vec<Nest> = parts.collect();
    for (placement, temporary) in
        (schedule.temporaries.iter_mut()).zip(&program.analysis.temporaries)
    {
        if let Placement::Carried { nest } | Placement::Ring { nest, .. } = placement
            && *nest == index
        {
            *placement = Placement::Array {
                extent: temporary.extent,
                zeroed: false,
            };
        }
    }
    let cause = schedule.causes[index];
    let count = parts.len();
    schedule.nests.splice(index..=index, parts);
    schedule
        .causes
        .splice(index..=index, std::iter::repeat_n(cause, count));
}
