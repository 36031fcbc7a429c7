//! Loops, what shares them and why not more, tiles.

use fieldstone_codegen::lanes::widest;
use fieldstone_codegen::llvm::Kernel;
use fieldstone_codegen::tile::Tiles;
use fieldstone_stencil::analysis::operations::{Operation, Operations};
use fieldstone_stencil::analysis::points::LARGE;
use fieldstone_stencil::grid::Area;
use fieldstone_stencil::ir::{Order, Target};
use fieldstone_stencil::schedule::{ColumnNest, Nest, RowNest, Stage};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Extent, Interval, Span};
use pyo3::prelude::*;

use super::Explained;
use super::statement::{ReasonFacts, StatementFacts, statements};

/// A loop nest, with a barrier behind it.
#[derive(IntoPyObject)]
pub struct NestFacts {
    /// `rows`, `columns` or `levels`.
    kind: &'static str,
    /// From the outermost loop to the innermost.
    loops: Vec<LoopFacts>,
    extent: Vec<(i32, i32)>,
    passes: Vec<PassFacts>,
    /// Why it did not join the nest before: as rows, and as columns.
    apart: Option<(ReasonFacts, ReasonFacts)>,
    /// Why it is computed level by level.
    levels: Option<ReasonFacts>,
    /// Bytes of scratch memory for each thread.
    scratch: Option<usize>,
    /// Arrays of which whole blocks of columns are transposed, in, and out.
    transposed: Vec<(String, bool, bool)>,
    /// Bytes for each point that can be stored past the caches, and whether they are.
    streamed: usize,
    streams: Option<bool>,
    /// Rows ahead that are fetched into the caches, of arrays in which they follow each other.
    fetched: Option<usize>,
    /// Whether they are not where calls before left everything in the caches.
    unless_near: bool,
}

/// One loop of a nest.
#[derive(IntoPyObject)]
struct LoopFacts {
    axis: String,
    /// `tiles`, `block`, `slide`, `vector`, `levels`, `rows`.
    role: &'static str,
    /// Points of a tile along it; `None` where that depends on the domain.
    tile: Option<usize>,
    /// Number of tiles.
    tiles: Option<usize>,
}

/// What runs one after the other inside a nest: over all levels of a tile, or level by level of one section of a sweep.
#[derive(IntoPyObject)]
struct PassFacts {
    order: &'static str,
    /// Of a section of a sweep.
    levels: Option<String>,
    stages: Vec<StageFacts>,
}

/// Statements that share one vector loop.
#[derive(IntoPyObject)]
struct StageFacts {
    statements: Vec<StatementFacts>,
    levels: String,
    extent: Vec<(i32, i32)>,
    /// The region of the plane they are computed in, if that is not all of it.
    region: Option<String>,
    reads: Vec<String>,
    writes: Vec<String>,
    /// Elements computed at once.
    lanes: usize,
    /// Why it is not one loop with the stage before.
    apart: Option<ReasonFacts>,
    /// How many times the points that are needed are computed.
    recomputed: f64,
    operations: Vec<(&'static str, u128)>,
}

impl Explained<'_> {
    /// What there is to know of a nest.
    pub fn nest(&self, number: usize) -> NestFacts {
        let nest = &self.plan.schedule.nests[number];
        let tiles = self.plan.tiles(number, self.sized(), self.threads);
        let causes = &self.plan.schedule.causes[number];
        let kernels = self.plan.kernels(number);
        let reason = |reason| ReasonFacts::of(self.stencil, reason);
        let (kind, loops, extent, passes) = match nest {
            Nest::Rows(nest) => (
                "rows",
                self.row_loops(nest, &tiles[0]),
                nest.extent,
                vec![self.rows(nest, &tiles[0])],
            ),
            Nest::Columns(nest) => (
                "columns",
                self.column_loops(nest, &tiles[0]),
                nest.extent,
                self.columns(nest),
            ),
            Nest::Levels(nest) => {
                let nests = nest.sections.iter().flat_map(|(_, nests)| nests);
                let extent = nests.fold(Extent::ZERO, |all, nest| all.union(nest.extent));
                let mut tiles = tiles.iter();
                let passes = nest.sections.iter().map(|(interval, nests)| PassFacts {
                    order: order(nest.order),
                    levels: Some(levels(*interval)),
                    stages: nests
                        .iter()
                        .zip(tiles.by_ref())
                        .flat_map(|(nest, tiles)| self.rows(nest, tiles).stages)
                        .collect(),
                });
                let passes = passes.collect();
                ("levels", self.level_loops(nest), extent, passes)
            }
        };
        let scratch = &kernels.first().map(|kernel| &kernel.scratch);
        let fixed = scratch.is_none_or(|scratch| scratch.level_bytes == 0);
        let streamed = kernels.iter().map(Kernel::streamable).sum();
        let points = |domain: [usize; 3]| domain.iter().product::<usize>();
        let name = |target| self.stencil.source_name(target).to_owned();
        let transposed = scratch
            .iter()
            .flat_map(|scratch| scratch.mostly_transposed());
        NestFacts {
            kind,
            loops,
            extent: extent.0.to_vec(),
            passes,
            apart: (causes.apart.as_ref())
                .map(|apart| (reason(&apart.rows), reason(&apart.columns))),
            levels: causes.levels.as_ref().map(reason),
            scratch: (self.domain.is_some() || fixed)
                .then(|| scratch.map_or(0, |scratch| scratch.total(self.sized()[2]))),
            transposed: transposed
                .map(|array| {
                    let name = match &array.composed {
                        Some(composed) => self.text(composed.span),
                        None => name(array.target),
                    };
                    (name, array.load, array.store.is_some())
                })
                .collect(),
            streamed,
            streams: self.domain.map(|domain| {
                let mut kernels = kernels.iter();
                kernels.any(|kernel| kernel.streams(points(domain), self.caches))
            }),
            fetched: self.domain.and_then(|domain| {
                let ahead = |kernel: &Kernel| match kernel.fetch.in_order {
                    true => kernel.fetched_ahead(points(domain), domain, self.caches),
                    false => 0,
                };
                kernels.iter().map(ahead).max()
            }),
            unless_near: kernels.iter().any(|kernel| kernel.fetch.unless.is_some()),
        }
    }

    fn tile(&self, axis: Axis, role: &'static str, tiles: &Tiles, fixed: bool) -> LoopFacts {
        let known = self.domain.is_some() || fixed;
        LoopFacts {
            axis: axis.to_string(),
            role,
            tile: known.then_some(tiles.size[axis.index()]),
            tiles: self.domain.map(|_| tiles.count[axis.index()]),
        }
    }

    fn row_loops(&self, nest: &RowNest, tiles: &Tiles) -> Vec<LoopFacts> {
        let roles = nest.roles;
        let is_cut = |axis: Axis| {
            // A tile that is as long as the largest of domains has no length of its own.
            tiles.size[axis.index()] < LARGE[0] / 2
        };
        if roles.are_panels() {
            return vec![
                self.tile(roles.slide, "slide", tiles, is_cut(roles.slide)),
                self.tile(roles.vector, "row", tiles, is_cut(roles.vector)),
                self.tile(roles.lanes, "vector", tiles, is_cut(roles.lanes)),
            ];
        }
        vec![
            self.tile(roles.slide, "slide", tiles, is_cut(roles.slide)),
            self.tile(roles.block, "block", tiles, is_cut(roles.block)),
            self.tile(roles.vector, "vector", tiles, is_cut(roles.vector)),
        ]
    }

    fn column_loops(&self, nest: &ColumnNest, tiles: &Tiles) -> Vec<LoopFacts> {
        vec![
            self.tile(nest.outer(), "outer", tiles, true),
            LoopFacts {
                axis: Axis::K.to_string(),
                role: "levels",
                tile: None,
                tiles: None,
            },
            self.tile(nest.vector, "vector", tiles, true),
        ]
    }

    fn level_loops(&self, nest: &fieldstone_stencil::schedule::LevelNest) -> Vec<LoopFacts> {
        let mut loops = vec![LoopFacts {
            axis: Axis::K.to_string(),
            role: "levels",
            tile: None,
            tiles: None,
        }];
        let first = nest.sections.iter().flat_map(|(_, nests)| nests).next();
        if let Some(nest) = first {
            let along = |axis: Axis, role| LoopFacts {
                axis: axis.to_string(),
                role,
                tile: None,
                tiles: None,
            };
            loops.push(along(nest.roles.slide, "slide"));
            loops.push(along(nest.roles.vector, "vector"));
        }
        loops
    }

    fn rows(&self, nest: &RowNest, tiles: &Tiles) -> PassFacts {
        let stage = |stage| {
            let recomputed = self.plan.recomputed(nest, stage, tiles, self.sized());
            self.stage(stage, recomputed)
        };
        PassFacts {
            order: order(Order::Parallel),
            levels: None,
            stages: nest.stages.iter().map(stage).collect(),
        }
    }

    fn columns(&self, nest: &ColumnNest) -> Vec<PassFacts> {
        let sections = nest.sweeps.iter().flat_map(|sweep| {
            let sections = sweep.sections.iter();
            sections.map(|(interval, stages)| (sweep.order, *interval, stages))
        });
        sections
            .map(|(way, interval, stages)| PassFacts {
                order: order(way),
                levels: Some(levels(interval)),
                stages: stages.iter().map(|stage| self.stage(stage, 1.0)).collect(),
            })
            .collect()
    }

    fn stage(&self, stage: &Stage, recomputed: f64) -> StageFacts {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for accesses in stage.statements.iter().map(Accesses::of) {
            reads.extend(accesses.reads.iter().map(|(target, _)| *target));
            writes.extend(accesses.written());
        }
        let mut operations = Operations::default();
        for statement in &stage.statements {
            statement.walk(&mut |statement| {
                statement
                    .expressions()
                    .for_each(|expr| operations.note(expr));
            });
        }
        let counted = Operation::ALL
            .into_iter()
            .map(|(kind, name)| (name, operations.count(kind)));
        StageFacts {
            statements: statements(self.stencil, &stage.statements),
            levels: levels(stage.interval),
            extent: stage.extent.0.to_vec(),
            region: (stage.area != Area::FULL).then(|| stage.area.to_string()),
            reads: self.names(reads),
            writes: self.names(writes),
            lanes: self.vector_bytes / widest(self.stencil, stage),
            apart: (stage.apart.as_ref()).map(|reason| ReasonFacts::of(self.stencil, reason)),
            recomputed,
            operations: counted.filter(|(_, count)| *count > 0).collect(),
        }
    }

    /// What stands in the source, in one line.
    fn text(&self, span: Span) -> String {
        let text = self.stencil.sources.text(span).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn names(&self, targets: Vec<Target>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for target in targets {
            let name = self.stencil.target_name(target);
            if names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Parallel => "PARALLEL",
        Order::Forward => "FORWARD",
        Order::Backward => "BACKWARD",
    }
}

fn levels(interval: Interval) -> String {
    if interval == Interval::FULL {
        String::from("all levels")
    } else {
        format!("levels {interval}")
    }
}
