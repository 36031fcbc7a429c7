//! How arrays of one layout are computed with, up to LLVM IR: all there is to know before machine code is made.

use std::ops::Range;

use fieldstone_device::shared_cache;
use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::{Field, TempId};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{self, Neighbours, Nest, Placement, RowNest, Schedule, Stage};

use crate::array::ArrayShape;
use crate::choices::Choices;
use crate::cost::{Cost, worthwhile};
use crate::folded::Folds;
use crate::layout::Layout;
use crate::llvm::{self, Kernel, Module};
use crate::native::{extended, levels_of};
use crate::outline::Supply;
use crate::target::Target;
use crate::tile::{Lines, Tiles};

/// The axis along which most fields are contiguous, of those with the most axes: a plane has little to say beside volumes.
pub(crate) fn contiguous(program: &Program, layout: &Layout) -> Axis {
    let axes = |field: &Field| field.axes.len();
    let fields = &program.stencil.fields;
    let most = fields.iter().map(axes).max().unwrap_or(0);
    let whole = fields
        .iter()
        .zip(&layout.0)
        .filter(|(field, _)| axes(field) == most);
    Layout(whole.map(|(_, unit)| *unit).collect()).contiguous()
}

/// A stencil for arrays of one layout.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The layout.
    pub layout: Layout,
    /// How the stencil is computed.
    pub schedule: Schedule,
    /// The kernels as LLVM IR.
    pub module: Module,
    /// What was chosen about it, not by the cost model.
    pub choices: Choices,
    /// What the points of each kernel cost.
    pub costs: Vec<Cost>,
    /// Whether rows of arrays in which they follow each other without a gap are computed as one.
    pub folds: Option<Folds>,
}

impl Plan {
    /// Of a program as [`Program::for_schedule`] gives it, for domains on which these points are neighbours unless that was chosen, and
    /// arrays that are there.
    pub fn new(
        program: &Program,
        (layout, neighbours, supply): (&Layout, Neighbours, Supply),
        target: &Target,
        choices: &Choices,
    ) -> Plan {
        let schedule = schedule::build(program, choices.neighbours(neighbours));
        let bytes = target.vector_bytes();
        let costs =
            (schedule.nests.iter()).flat_map(|nest| Cost::of_nest(&program.stencil, nest, bytes));
        Plan {
            layout: layout.clone(),
            costs: costs.collect(),
            folds: Folds::of(&schedule),
            module: llvm::emit(program, &schedule, (layout, supply), target, choices),
            schedule,
            choices: choices.clone(),
        }
    }

    /// The kernels of a nest: one, but for a nest that runs level by level.
    pub fn kernels(&self, nest: usize) -> &[Kernel] {
        &self.module.kernels[self.range(nest)]
    }

    /// Which kernels are those of a nest.
    fn range(&self, nest: usize) -> Range<usize> {
        let count = |nest: &Nest| match nest {
            Nest::Rows(_) | Nest::Columns(_) => 1,
            Nest::Levels(nest) => nest.sections.iter().map(|(_, nests)| nests.len()).sum(),
        };
        let nests = &self.schedule.nests;
        let first: usize = nests[..nest].iter().map(count).sum();
        first..first + count(&nests[nest])
    }

    /// The tiles of each kernel of a nest.
    pub fn tiles(&self, nest: usize, domain: [usize; 3], threads: usize) -> Vec<Tiles> {
        let mut kernels = (self.kernels(nest).iter()).zip(&self.costs[self.range(nest)]);
        let rows =
            |nest: &RowNest, (kernel, cost): (&Kernel, &Cost), [costly, levels]: [usize; 2]| {
                let [costly, points] = [costly, levels]
                    .map(|levels| extended([domain[0], domain[1], levels], nest.extent));
                let threads = worthwhile(cost.nanoseconds(costly), threads);
                let all = points.iter().product();
                let near = kernel.keeps_near(nest.roles, all, shared_cache(threads));
                Tiles::of_rows(nest, &kernel.scratch, points, threads, Lines::Apart, near)
            };
        match &self.schedule.nests[nest] {
            Nest::Rows(nest) => (kernels.take(1))
                .map(|kernel| {
                    let levels = levels_of(nest, domain[2]).len();
                    rows(nest, kernel, [domain[2], levels])
                })
                .collect(),
            Nest::Columns(nest) => {
                let points = extended(domain, nest.extent);
                let (kernel, cost) = kernels.next().expect("a kernel for each nest");
                let threads = worthwhile(cost.nanoseconds(points), threads);
                vec![Tiles::of_columns(nest, &kernel.scratch, points, threads)]
            }
            Nest::Levels(nest) => {
                let nests = nest.sections.iter().flat_map(|(_, nests)| nests);
                let both = nests.zip(kernels);
                both.map(|(nest, kernel)| rows(nest, kernel, [1, 1]))
                    .collect()
            }
        }
    }

    /// How many times the points of a stage that are needed are computed, those at the edges of tiles by several of them.
    pub fn recomputed(
        &self,
        nest: &RowNest,
        stage: &Stage,
        tiles: &Tiles,
        domain: [usize; 3],
    ) -> f64 {
        let points = extended(domain, nest.extent);
        let needed = extended(domain, stage.extent);
        let around = stage.extent.beyond(nest.extent).0;
        let times: f64 = (0..3)
            .map(|n| {
                let (before, after) = around[n];
                let edges = tiles.count[n] as f64 * f64::from(before + after);
                (points[n] as f64 + edges) / (needed[n] as f64).max(1.0)
            })
            .product();
        // What nothing reads may be computed on fewer points than the tiles have.
        times.max(1.0)
    }

    /// Bytes of a temporary that is an array.
    pub fn array_bytes(&self, program: &Program, id: TempId, domain: [usize; 3]) -> Option<usize> {
        let Placement::Array { extent, .. } = self.schedule.temporaries[id.0 as usize] else {
            return None;
        };
        let temporary = program.stencil.temporary(id);
        Some(
            ArrayShape::new(
                domain,
                extent,
                self.schedule.neighbours.contiguous,
                temporary,
            )
            .bytes,
        )
    }
}
