//! How arrays of one layout are computed with by blocks of threads, up to LLVM IR.

use fieldstone_stencil::ir::Order;
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{Nest, Schedule};

use super::draft::{Draft, kernels};
use super::shape::Shape;
use crate::choices::Choices;
use crate::layout::Layout;
use crate::llvm::blocks::{self, Kernel, Module};
use crate::native::extended;
use crate::target::Target;

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
    /// Bytes of shared memory that each block is to be given.
    pub shared_bytes: usize,
}

impl Plan {
    /// With blocks of these shapes, for an accelerator, or for a processor that does the work of one.
    pub fn new(program: &Program, draft: &Draft, shapes: &[Shape], target: &Target) -> Plan {
        let nests = draft.schedule.nests.iter().flat_map(kernels);
        let (layout, schedule) = (&draft.layout, &draft.schedule);
        let nests = nests.zip(shapes.iter().cloned());
        Plan {
            layout: layout.clone(),
            module: blocks::emit(program, schedule, layout, target, nests),
            schedule: schedule.clone(),
            choices: draft.choices.clone(),
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
        let Kernel {
            shape,
            extent,
            asked_bytes,
            ..
        } = &self.module.kernels[number];
        let points = [domain[0], domain[1], levels[1] - levels[0]];
        Launch {
            kernel: number,
            grid: shape.grid(extended(points, *extent)),
            levels,
            shared_bytes: asked_bytes + shape.shared_for(domain[2]) - shape.shared_bytes,
        }
    }
}
