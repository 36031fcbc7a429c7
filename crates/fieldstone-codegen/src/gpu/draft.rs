//! A stencil for arrays of one layout and one kind of device, up to the choice of the shape of each block.

use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{self, Neighbours, Nest, Schedule};

use super::candidates::{Candidates, GAIN, Need, USUAL};
use super::room::Room;
use super::shape::Shape;
use super::{place, recomputation};
use crate::choices::{Choices, Columns};
use crate::layout::Layout;
use crate::llvm::blocks;

/// A schedule for blocks of threads, and the shapes that they may have.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The layout.
    pub layout: Layout,
    /// What was chosen.
    pub choices: Choices,
    /// What the device has room for.
    pub room: Room,
    /// Where whole columns of temporaries are.
    pub columns: Columns,
    /// How the stencil is computed. Its temporaries that are arrays are the ones that need memory.
    pub schedule: Schedule,
    /// One for each kernel, and whether it is launched for one level at a time.
    kernels: Vec<(Candidates, bool)>,
}

impl Draft {
    /// Of a program as [`Program::for_schedule`] gives it.
    pub fn new(
        program: &Program,
        layout: &Layout,
        room: &Room,
        choices: &Choices,
        columns: Columns,
    ) -> Draft {
        let axis = (choices.vector).unwrap_or_else(|| crate::plan::contiguous(program, layout));
        let mut schedule = schedule::build(program, Neighbours::along(axis));
        place::columns(program, &mut schedule, columns);
        place::whole_tiles(&mut schedule);
        recomputation::recompute(&program.stencil, &mut schedule, |nest| {
            Shape::of_rows(nest.roles.lanes, USUAL, choices)
        });
        let mut all = Vec::new();
        let mut index = 0;
        while index < schedule.nests.len() {
            match of_nest(program, &schedule, index, room, choices) {
                Some(found) => {
                    all.extend(found);
                    index += 1;
                }
                None => place::apart(program, &mut schedule, index),
            }
        }
        Draft {
            layout: layout.clone(),
            choices: choices.clone(),
            room: *room,
            columns,
            schedule,
            kernels: all,
        }
    }

    /// The shapes of the kernels for a domain, or for a large one, whose threads need so much, where that is known.
    pub fn shapes(&self, domain: Option<[usize; 3]>, needs: &[Need]) -> Vec<Shape> {
        let fastest = self.fastest(domain, needs);
        fastest.map(|(_, shape)| shape).cloned().collect()
    }

    /// Whether it has kernels for columns, of which there may be temporaries.
    pub fn has_columns(&self) -> bool {
        let mut nests = self.schedule.nests.iter();
        nests.any(|nest| matches!(nest, Nest::Columns(_)))
    }

    /// Whether it takes clearly less time on a domain than another draft of the stencil, or it is wanted and there is room for it.
    pub fn is_better(&self, other: &Draft, domain: [usize; 3], is_wanted: bool) -> bool {
        let time = |draft: &Draft| draft.fastest(Some(domain), &[]).map(|(time, _)| time).sum();
        let (own, others): (f64, f64) = (time(self), time(other));
        own < GAIN * others || (is_wanted && own.is_finite())
    }

    fn fastest<'a>(
        &'a self,
        domain: Option<[usize; 3]>,
        needs: &'a [Need],
    ) -> impl Iterator<Item = (f64, &'a Shape)> {
        let kernels = self.kernels.iter().enumerate();
        kernels.map(move |(number, (candidates, by_level))| {
            let one_level = |[i, j, k]: [usize; 3]| [i, j, if *by_level { 1 } else { k }];
            let need = needs.get(number).copied();
            candidates.fastest(&self.room, domain.map(one_level), need)
        })
    }
}

/// The nests of a nest that are kernels.
pub fn kernels(nest: &Nest) -> Box<dyn Iterator<Item = blocks::Nest<'_>> + '_> {
    match nest {
        Nest::Rows(nest) => Box::new(std::iter::once(blocks::Nest::Rows(nest))),
        Nest::Columns(nest) => Box::new(std::iter::once(blocks::Nest::Columns(nest))),
        Nest::Levels(nest) => {
            let nests = nest.sections.iter().flat_map(|(_, nests)| nests);
            Box::new(nests.map(blocks::Nest::Rows))
        }
    }
}

/// What the kernels of a nest may be; `None` where what one of them shares does not fit.
fn of_nest(
    program: &Program,
    schedule: &Schedule,
    index: usize,
    room: &Room,
    choices: &Choices,
) -> Option<Vec<(Candidates, bool)>> {
    let nest = &schedule.nests[index];
    let by_level = matches!(nest, Nest::Levels(_));
    let candidates = kernels(nest).map(|nest| {
        let found = match nest {
            blocks::Nest::Columns(nest) => {
                Candidates::of_columns(program, schedule, (index, nest), room, choices)
            }
            blocks::Nest::Rows(nest) => {
                Candidates::of_rows(&program.stencil, schedule, nest, room, choices)
            }
        };
        found.map(|found| (found, by_level))
    });
    candidates.collect()
}
