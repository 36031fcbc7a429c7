//! From a cut program to its schedule: stages, and where each temporary lives.

use std::collections::HashMap;

use crate::grid::{Axis, Extent, Interval};
use crate::ir::{Order, Stencil, Target, TempId};
use crate::program::Program;
use crate::visit::Accesses;

use super::cut::{Cut, Group, Item, Kind, Placed};
use super::loops;
use super::stage::{self, Reads};
use super::{
    ColumnNest, LevelNest, Neighbours, Nest, Placement, Roles, RowNest, Schedule, Stage, Sweep,
};

pub(super) fn schedule(program: &Program, neighbours: Neighbours, cut: Cut<'_>) -> Schedule {
    let nests: Vec<Nest> = cut
        .groups
        .iter()
        .map(|group| nest(&program.stencil, group, neighbours.across))
        .collect();
    let temporaries = placements(program, &cut, &nests);
    Schedule {
        neighbours,
        nests,
        causes: cut.groups.iter().map(|group| group.causes).collect(),
        temporaries,
    }
}

fn nest(stencil: &Stencil, group: &Group<'_>, across: Axis) -> Nest {
    match group.kind {
        Kind::Rows { roles, extent } => {
            let statements = group.items.iter().flat_map(Item::statements);
            let stages = stage::group(statements, Reads::InRow(stencil));
            Nest::Rows(RowNest::new(stencil, roles, extent, stages))
        }
        Kind::Columns => Nest::Columns(column_nest(group, across)),
        Kind::Levels => Nest::Levels(level_nest(stencil, group, across)),
    }
}

fn column_nest(group: &Group<'_>, across: Axis) -> ColumnNest {
    let mut sweeps = Vec::new();
    let mut parallel = Vec::new();
    for item in &group.items {
        match item {
            Item::Parallel(placed) => parallel.push(placed),
            Item::Sweep(order, sections) => {
                sweeps.extend(parallel_sweeps(&mut parallel));
                sweeps.push(Sweep {
                    order: *order,
                    sections: staged(sections, Reads::Vertical),
                });
            }
        }
    }
    sweeps.extend(parallel_sweeps(&mut parallel));
    let extents = group.items.iter().flat_map(Item::statements);
    let extent = extents.fold(Extent::ZERO, |all, placed| all.union(placed.bounds));
    ColumnNest {
        vector: across,
        extent,
        sweeps,
    }
}

/// One pass over the levels for each stage of a run of `PARALLEL` statements.
fn parallel_sweeps(run: &mut Vec<&Placed<'_>>) -> Vec<Sweep> {
    stage::group(run.drain(..), Reads::InPlace)
        .into_iter()
        .map(|stage| Sweep {
            order: Order::Parallel,
            sections: vec![(stage.interval, vec![of_columns(stage)])],
        })
        .collect()
}

/// A stage of a nest that computes nothing twice.
fn of_columns(stage: Stage) -> Stage {
    Stage {
        extent: stage.bounds,
        ..stage
    }
}

fn staged(
    sections: &[(Interval, Vec<Placed<'_>>)],
    reads: Reads<'_>,
) -> Vec<(Interval, Vec<Stage>)> {
    sections
        .iter()
        .map(|(interval, body)| (*interval, stage::group(body.iter(), reads)))
        .collect()
}

fn level_nest(stencil: &Stencil, group: &Group<'_>, across: Axis) -> LevelNest {
    let roles = Roles::new(across);
    let one_stage =
        |stage: Stage| RowNest::new(stencil, roles, stage.bounds, vec![of_columns(stage)]);
    let mut order = Order::Parallel;
    let mut sections = Vec::new();
    for item in &group.items {
        let (item_order, item_sections) = match item {
            Item::Sweep(order, body) => (*order, staged(body, Reads::Vertical)),
            Item::Parallel(placed) => (
                Order::Parallel,
                vec![(
                    placed.interval,
                    stage::group(std::iter::once(placed), Reads::InPlace),
                )],
            ),
        };
        order = item_order;
        for (interval, stages) in item_sections {
            sections.push((interval, stages.into_iter().map(one_stage).collect()));
        }
    }
    LevelNest { order, sections }
}

/// What is known of a temporary's uses.
#[derive(Clone, Copy)]
struct Uses {
    nest: usize,
    /// The one stage that uses it, `None` where several do.
    stage: Option<usize>,
    in_place: bool,
    written: bool,
    /// Rows along the sliding axis, relative to the row a step computes: newest written and oldest read.
    newest: i32,
    oldest: i32,
    /// Reach beyond the tile.
    extent: Extent,
}

fn placements(program: &Program, cut: &Cut<'_>, nests: &[Nest]) -> Vec<Placement> {
    let mut uses: HashMap<TempId, Uses> = HashMap::new();
    for (index, nest) in nests.iter().enumerate() {
        let (stages, base, slide): (Vec<&Stage>, Extent, Option<Axis>) = match nest {
            Nest::Rows(nest) => (
                nest.stages.iter().collect(),
                nest.extent,
                Some(nest.roles.slide),
            ),
            Nest::Columns(nest) => (nest.stages().collect(), Extent::ZERO, None),
            Nest::Levels(_) => continue,
        };
        for (number, stage) in stages.into_iter().enumerate() {
            note_stage(&mut uses, index, number, stage, base, slide);
        }
    }
    let place = |(number, temporary): (usize, &crate::analysis::TempInfo)| {
        let id = TempId(number as u32);
        let uses = uses.get(&id);
        // What has no levels is carried from one to the next.
        let has_levels = program.stencil.temporary(id).axes.contains(Axis::K);
        let in_registers = uses.is_some_and(|uses| uses.stage.is_some() && uses.in_place);
        let is_number = program.stencil.temporary(id).data_dims.is_empty();
        let in_registers = in_registers && has_levels && is_number;
        if cut.arrays.contains(&id) && !(in_registers && used_once(cut, id)) {
            return Placement::Array {
                extent: temporary.extent,
                zeroed: temporary.maybe_uninitialised,
            };
        }
        let Some(uses) = uses.filter(|uses| uses.written) else {
            return Placement::Unused;
        };
        if in_registers {
            return Placement::Register;
        }
        match &nests[uses.nest] {
            Nest::Columns(nest) => Placement::Column {
                nest: uses.nest,
                window: match has_levels {
                    true => window(nest, id),
                    false => Some(1),
                },
            },
            Nest::Rows(nest) if loops::is_carried(nest, Target::Temp(id)) => {
                Placement::Carried { nest: uses.nest }
            }
            Nest::Rows(_) | Nest::Levels(_) => Placement::Ring {
                nest: uses.nest,
                rows: ((uses.newest - uses.oldest + 1).max(1) as usize).next_power_of_two(),
                extent: uses.extent,
            },
        }
    };
    program
        .analysis
        .temporaries
        .iter()
        .enumerate()
        .map(place)
        .collect()
}

/// Levels of a temporary that a nest needs at a time, a power of two; `None` where several sweeps use it, or it is read from far
/// away.
fn window(nest: &ColumnNest, id: TempId) -> Option<usize> {
    const FAR: i32 = 3;
    let mut furthest = None;
    for sweep in &nest.sweeps {
        let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
        let statements = stages.flat_map(|stage| &stage.statements);
        let mut offsets = Vec::new();
        for accesses in statements.map(Accesses::of) {
            let own = |target: &Target| *target == Target::Temp(id);
            if accesses.afar.contains(&Target::Temp(id)) {
                return None;
            }
            let written = accesses.writes.iter().filter(|(target, _)| own(target));
            offsets.extend(written.map(|_| 0));
            let read = accesses.reads.iter().filter(|(target, _)| own(target));
            offsets.extend(read.map(|(_, offset)| offset.along(Axis::K).abs()));
        }
        let Some(most) = offsets.into_iter().max() else {
            continue;
        };
        if furthest.replace(most).is_some() {
            return None;
        }
    }
    let furthest = furthest.filter(|furthest| *furthest <= FAR)?;
    Some((furthest as usize + 1).next_power_of_two())
}

/// Whether all uses of a temporary are in one group.
fn used_once(cut: &Cut<'_>, id: TempId) -> bool {
    let uses = |group: &&Group<'_>| {
        group.kind != Kind::Levels
            && group.items.iter().flat_map(Item::statements).any(|placed| {
                let read = placed.accesses.reads.iter().map(|(target, _)| *target);
                read.chain(placed.accesses.written())
                    .any(|target| target == Target::Temp(id))
            })
    };
    cut.groups.iter().filter(uses).count() == 1
        && cut.groups.iter().all(|group| group.kind != Kind::Levels)
}

fn note_stage(
    all: &mut HashMap<TempId, Uses>,
    nest: usize,
    number: usize,
    stage: &Stage,
    base: Extent,
    slide: Option<Axis>,
) {
    let relative = stage.extent.beyond(base);
    let ahead = slide.map_or(0, |axis| relative.along(axis).1);
    let fresh = Uses {
        nest,
        stage: Some(number),
        in_place: true,
        written: false,
        newest: i32::MIN,
        oldest: i32::MAX,
        extent: Extent::ZERO,
    };
    let mut note = |id: TempId, row: i32, in_place: bool, written: bool, reach: Extent| {
        let uses = all.entry(id).or_insert(fresh);
        if uses.stage != Some(number) || uses.nest != nest {
            uses.stage = None;
        }
        uses.in_place &= in_place;
        uses.written |= written;
        uses.newest = uses.newest.max(row);
        uses.oldest = uses.oldest.min(row);
        uses.extent = uses.extent.union(reach);
    };
    for statement in &stage.statements {
        let accesses = Accesses::of(statement);
        for (target, offset) in accesses.reads {
            if let Target::Temp(id) = target {
                let row = ahead + slide.map_or(0, |axis| offset.along(axis));
                let in_place = offset == crate::grid::Offset::ZERO;
                note(id, row, in_place, false, relative.shifted(offset));
            }
        }
        for target in accesses.afar {
            if let Target::Temp(id) = target {
                note(id, ahead, false, false, relative);
            }
        }
        for (target, _) in accesses.writes {
            if let Target::Temp(id) = target {
                note(id, ahead, true, true, relative);
            }
        }
    }
}

impl ColumnNest {
    /// Every stage, in order.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.sweeps
            .iter()
            .flat_map(|sweep| sweep.sections.iter())
            .flat_map(|(_, stages)| stages)
    }
}
