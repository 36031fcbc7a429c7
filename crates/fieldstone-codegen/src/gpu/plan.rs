//! How arrays of one layout are computed with by blocks of threads, up to LLVM IR.

use fieldstone_stencil::ir::{Order, Target as Written};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{self, Nest, RowNest, Schedule};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Offset};

use super::shape::Shape;
use super::{place, recomputation};
use crate::choices::Choices;
use crate::llvm::blocks::{self, Kernel, Module};
use crate::llvm::{Layout, Target};
use crate::native::extended;

/// A stencil for arrays of one layout.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The layout.
    pub layout: Layout,
    /// How the stencil is computed. Its temporaries that are arrays are the ones that need memory.
    pub schedule: Schedule,
    /// The kernels as LLVM IR.
    pub module: Module,
    /// What was chosen about it.
    pub choices: Choices,
}

/// A kernel that is to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Number of the kernel.
    pub kernel: usize,
    /// Blocks along I, J, K.
    pub grid: [usize; 3],
    /// The first level that it computes, and one past the last.
    pub levels: [usize; 2],
}

impl Plan {
    /// Of a program as [`Program::for_schedule`] gives it, for an accelerator, or for a processor that does the work of one.
    pub fn new(program: &Program, layout: &Layout, target: &Target, choices: &Choices) -> Plan {
        let axis = (choices.vector).unwrap_or_else(|| crate::plan::contiguous(program, layout));
        let mut schedule = schedule::build(program, axis);
        place::columns_in_arrays(program, &mut schedule);
        place::whole_tiles(&mut schedule);
        recomputation::recompute(&program.stencil, &mut schedule, |nest| {
            Shape::of_rows(nest.roles.lanes, Shape::SIDES[0], choices)
        });
        let mut shapes = Vec::new();
        let mut index = 0;
        while index < schedule.nests.len() {
            match nest_shapes(program, &schedule, index, choices) {
                Some(found) => {
                    shapes.extend(found);
                    index += 1;
                }
                None => place::apart(program, &mut schedule, index),
            }
        }
        let nests = schedule.nests.iter().flat_map(kernels);
        let module = blocks::emit(program, &schedule, layout, target, nests.zip(shapes));
        Plan {
            layout: layout.clone(),
            module,
            schedule,
            choices: choices.clone(),
        }
    }

    /// The kernels that compute a domain, one behind the other.
    pub fn launches(&self, domain: [usize; 3]) -> Vec<Launch> {
        let mut launches = Vec::new();
        let mut number = 0;
        for nest in &self.schedule.nests {
            let count = kernels(nest).count();
            let numbers = number..number + count;
            number += count;
            let Nest::Levels(nest) = nest else {
                let launch = |number| self.launch(number, domain, [0, domain[2]]);
                launches.extend(numbers.map(launch));
                continue;
            };
            let mut first = numbers.start;
            for (interval, nests) in &nest.sections {
                let mut levels: Vec<usize> = interval.resolve(domain[2]).collect();
                if nest.order == Order::Backward {
                    levels.reverse();
                }
                for level in levels {
                    let numbers = first..first + nests.len();
                    let launch = |number| self.launch(number, domain, [level, level + 1]);
                    launches.extend(numbers.map(launch));
                }
                first += nests.len();
            }
        }
        launches.retain(|launch| launch.grid.iter().all(|blocks| *blocks > 0));
        launches
    }

    fn launch(&self, number: usize, domain: [usize; 3], levels: [usize; 2]) -> Launch {
        let Kernel { shape, extent, .. } = &self.module.kernels[number];
        let points = [domain[0], domain[1], levels[1] - levels[0]];
        Launch {
            kernel: number,
            grid: shape.grid(extended(points, *extent)),
            levels,
        }
    }
}

/// Whether a level of a nest, of one stage and with threads side by side along I or J, reads something that the next one reads too.
fn is_read_by_next_level(nest: &RowNest) -> bool {
    let [stage] = nest.stages.as_slice() else {
        return false;
    };
    let accesses: Vec<Accesses> = stage.statements.iter().map(Accesses::of).collect();
    let reads = || accesses.iter().flat_map(|accesses| &accesses.reads);
    let again = |(target, offset): &(Written, Offset)| {
        let above = Offset([offset.0[0], offset.0[1], offset.0[2] + 1]);
        reads().any(|other| *other == (*target, above))
    };
    nest.roles.lanes != Axis::K && reads().any(again)
}

/// The nests of a nest that are kernels.
fn kernels(nest: &Nest) -> Box<dyn Iterator<Item = blocks::Nest<'_>> + '_> {
    match nest {
        Nest::Rows(nest) => Box::new(std::iter::once(blocks::Nest::Rows(nest))),
        Nest::Columns(nest) => Box::new(std::iter::once(blocks::Nest::Columns(nest))),
        Nest::Levels(nest) => {
            let nests = nest.sections.iter().flat_map(|(_, nests)| nests);
            Box::new(nests.map(blocks::Nest::Rows))
        }
    }
}

/// The shapes of the kernels of a nest; `None` where what it shares does not fit.
fn nest_shapes(
    program: &Program,
    schedule: &Schedule,
    index: usize,
    choices: &Choices,
) -> Option<Vec<Shape>> {
    let shapes = kernels(&schedule.nests[index]).map(|nest| match nest {
        blocks::Nest::Columns(nest) => Some(Shape::of_columns(nest.vector, choices)),
        blocks::Nest::Rows(nest) => Shape::SIDES.into_iter().find_map(|side| {
            let mut shape = Shape::of_rows(nest.roles.lanes, side, choices);
            place::in_shared(&program.stencil, schedule, nest, &mut shape);
            let fits = shape.shared_bytes <= place::MOST_SHARED;
            let climbs = choices.tile(Axis::K).is_none() && is_read_by_next_level(nest);
            let shape = if climbs { shape.climbing() } else { shape };
            fits.then_some(shape)
        }),
    });
    shapes.collect()
}
