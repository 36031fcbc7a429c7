//! Columns that lie along memory.
//!
//! A nest of columns computes neighbouring columns in the lanes of a vector. Where the levels of a column follow each other in
//! memory, a block of columns is transposed into scratch memory before the nest's sweeps, and its results are
//! transposed back behind them; in between every access is contiguous.

use std::collections::{BTreeMap, HashSet};

use fieldstone_stencil::analysis::operations::{Operation, Operations};
use fieldstone_stencil::carried::cover;
use fieldstone_stencil::ir::{Order, Target};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{ColumnNest, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, DType, Extent, Interval, Offset};

use crate::composed::Composed;

/// An array that a block of columns is transposed from and to.
#[derive(Clone, Debug, PartialEq)]
pub struct Transposed {
    /// The array.
    pub target: Target,
    /// Type of its elements.
    pub dtype: DType,
    /// Offset along the outer axis of the nest; every one has a block of its own.
    pub outer: i32,
    /// Smallest and largest offset along the vector axis.
    pub across: (i32, i32),
    /// Union of the extents of the stages that access it.
    pub extent: Extent,
    /// How far the levels that are accessed reach before the domain and behind it; negative where they stay inside.
    pub levels: (i32, i32),
    /// Whether its values are needed before the sweeps.
    pub load: bool,
    /// Extent of the stages that write it.
    pub store: Option<Extent>,
    /// What is computed instead of read, where it is no array.
    pub composed: Option<Composed>,
    /// Whether the sweep that loads it divides so much that there is time to transpose what comes next.
    pub meanwhile: bool,
}

/// When levels of an array are transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// All of them, before the sweeps or behind them.
    Apart,
    /// Some at a time, when a sweep comes to them or is done with them.
    Sweep {
        /// Which of the nest.
        number: usize,
        /// When the next ones are.
        next: Next,
    },
}

/// When a sweep has levels transposed that come behind those that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When it comes to them.
    Then,
    /// Between the levels of the group before.
    Meanwhile,
    /// Before, as it reads them.
    Before,
}

impl Transposed {
    /// The arrays that it is read from, with their offsets along the outer axis.
    pub fn sources(&self) -> Vec<(Target, i32)> {
        match &self.composed {
            Some(composed) => composed.sources.clone(),
            None => vec![(self.target, self.outer)],
        }
    }

    /// When it is transposed before it is needed, so many levels at a time.
    pub fn loading(&self, nest: &ColumnNest, levels: usize) -> Moment {
        let Some(number) = self
            .first_access(nest)
            .filter(|number| self.is_within(&nest.sweeps[*number]))
        else {
            return Moment::Apart;
        };
        let sweep = &nest.sweeps[number];
        let towards = |offset: i32| match sweep.order {
            Order::Forward | Order::Parallel => offset,
            Order::Backward => -offset,
        };
        let furthest = self.offsets(nest, sweep).into_iter().map(towards).max();
        match furthest.unwrap_or(0) {
            furthest if furthest > levels as i32 => Moment::Apart,
            furthest if furthest > 0 => Moment::Sweep {
                number,
                next: Next::Before,
            },
            _ => Moment::Sweep {
                number,
                next: match self.meanwhile {
                    true => Next::Meanwhile,
                    false => Next::Then,
                },
            },
        }
    }

    /// The first sweep that accesses it.
    fn first_access(&self, nest: &ColumnNest) -> Option<usize> {
        (nest.sweeps.iter()).position(|sweep| !self.offsets(nest, sweep).is_empty())
    }

    /// Whether it is an array that is only read, at the columns of a block.
    fn is_plain(&self, nest: &ColumnNest) -> bool {
        self.composed.is_none()
            && self.store.is_none()
            && (self.outer, self.across) == (0, (0, 0))
            && self.extent == nest.extent
    }

    /// When it is transposed back.
    pub fn storing(&self, nest: &ColumnNest) -> Moment {
        let last = (nest.sweeps.iter()).rposition(|sweep| self.is_written_in(sweep));
        match last.filter(|number| self.is_within(&nest.sweeps[*number])) {
            Some(number) => Moment::Sweep {
                number,
                next: Next::Then,
            },
            None => Moment::Apart,
        }
    }

    /// Whether a sweep writes to it.
    pub fn is_written_in(&self, sweep: &Sweep) -> bool {
        let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
        let mut accesses = stages.flat_map(|stage| stage.statements.iter().map(Accesses::of));
        accesses.any(|accesses| accesses.written().any(|target| target == self.target))
    }

    /// Levels of a ring that holds all it is needed for, where it is transposed so many at a time; a power of two. `None` where
    /// more than that has to be there.
    pub fn window(&self, nest: &ColumnNest, levels: usize) -> Option<usize> {
        let sweep_of = |moment: Moment| match moment {
            Moment::Sweep { number, .. } => Some(number),
            Moment::Apart => None,
        };
        let loaded = match self.load {
            true => Some(sweep_of(self.loading(nest, levels))?),
            false => None,
        };
        let stored = match self.store {
            Some(_) => Some(sweep_of(self.storing(nest))?),
            None => None,
        };
        let (mut behind, mut ahead) = (0, 0);
        for (number, sweep) in nest.sweeps.iter().enumerate() {
            let offsets = self.offsets(nest, sweep);
            if offsets.is_empty() {
                continue;
            }
            // What another sweep made or loaded is not there any more.
            let begins = loaded == Some(number) || self.is_made_in(sweep);
            if !begins || ![loaded, stored].contains(&Some(number)) {
                return None;
            }
            for offset in offsets {
                let towards = if sweep.order == Order::Backward {
                    -offset
                } else {
                    offset
                };
                behind = behind.max(-towards);
                ahead = ahead.max(towards);
            }
        }
        if self.load && self.meanwhile {
            ahead = ahead.max(1);
        }
        match (behind, ahead) {
            (0, 0) => Some(levels),
            (0, reach) | (reach, 0) if reach <= levels as i32 => Some(2 * levels),
            // The group before, the one behind it, and that between.
            (behind, ahead) if behind.max(ahead) <= levels as i32 => Some(4 * levels),
            _ => None,
        }
    }

    /// Whether a sweep writes every level and point before it reads it.
    fn is_made_in(&self, sweep: &Sweep) -> bool {
        self.is_within(sweep)
            && self.across == (0, 0)
            && (sweep.sections.iter())
                .all(|(_, stages)| is_written_first(sweep.order, stages, self))
    }

    /// Whether a sweep visits every level and accesses no others.
    fn is_within(&self, sweep: &Sweep) -> bool {
        let whole = cover(sweep.sections.iter().map(|(interval, _)| *interval));
        whole && self.levels.0 <= 0 && self.levels.1 <= 0
    }

    /// The offsets along K at which a sweep accesses it.
    fn offsets(&self, nest: &ColumnNest, sweep: &Sweep) -> Vec<i32> {
        let mut found = Vec::new();
        let stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
        for accesses in stages.flat_map(|stage| stage.statements.iter().map(Accesses::of)) {
            let writes = accesses.written().map(|target| (target, Offset::ZERO));
            let all = accesses.reads.iter().copied().chain(writes);
            let own = |(target, offset): &(Target, Offset)| {
                (*target, offset.along(nest.outer())) == (self.target, self.outer)
            };
            found.extend(all.filter(own).map(|(_, offset)| offset.along(Axis::K)));
        }
        found
    }
}

/// The arrays to transpose for a nest: those that `along_levels` says lie along K.
pub fn of(
    program: &Program,
    nest: &ColumnNest,
    along_levels: impl Fn(Target) -> bool,
) -> Vec<Transposed> {
    let mut found: BTreeMap<(Target, i32), Transposed> = BTreeMap::new();
    // Levels that are computed may be any of the array, not only those of the domain.
    let afar: HashSet<Target> = (nest.stages())
        .flat_map(|stage| &stage.statements)
        .flat_map(|statement| Accesses::of(statement).afar)
        .collect();
    let mut note = |stage: &Stage, target: Target, offset: Offset, written: bool| {
        let axes = program.stencil.target_axes(target);
        if afar.contains(&target)
            || !along_levels(target)
            || !axes.contains(nest.vector)
            || !axes.contains(Axis::K)
            || !program.stencil.data_dims(target).is_empty()
        {
            return;
        }
        let (outer, across) = (offset.along(nest.outer()), offset.along(nest.vector));
        let array = found.entry((target, outer)).or_insert(Transposed {
            target,
            dtype: dtype(program, target),
            outer,
            across: (across, across),
            extent: stage.extent,
            levels: levels(program, target),
            load: false,
            store: None,
            composed: None,
            meanwhile: false,
        });
        array.across = (array.across.0.min(across), array.across.1.max(across));
        array.extent = array.extent.union(stage.extent);
        if written {
            let store = array.store.unwrap_or(stage.extent);
            array.store = Some(store.union(stage.extent));
        }
    };
    for stage in nest.stages() {
        for accesses in stage.statements.iter().map(Accesses::of) {
            for (target, offset) in &accesses.reads {
                note(stage, *target, *offset, false);
            }
            for target in accesses.written() {
                note(stage, target, Offset::ZERO, true);
            }
        }
    }
    let mut found: Vec<Transposed> = found.into_values().collect();
    for array in &mut found {
        array.load = array.store.is_none() || !is_made_inside(nest, array);
    }
    found
}

fn dtype(program: &Program, target: Target) -> DType {
    let dtype = match target {
        Target::Field(id) => Some(program.stencil.field(id).dtype),
        Target::Temp(id) => program.stencil.temporary(id).dtype,
    };
    dtype.expect("types are resolved")
}

fn levels(program: &Program, target: Target) -> (i32, i32) {
    match target {
        Target::Field(id) => program.analysis.fields[id.0 as usize].extent.along(Axis::K),
        Target::Temp(_) => (0, 0),
    }
}

/// Divisions of a level for each array that is loaded, at least, so that these take longer than to transpose it.
const DIVISIONS: u128 = 2;

/// Marks the arrays that are transposed while a sweep divides.
pub fn mark_meanwhile(nest: &ColumnNest, arrays: &mut [Transposed]) {
    for (number, sweep) in nest.sweeps.iter().enumerate() {
        let loaded: Vec<&mut Transposed> = (arrays.iter_mut())
            .filter(|array| array.load && array.first_access(nest) == Some(number))
            .collect();
        let few = DIVISIONS * loaded.len() as u128 <= divisions(sweep);
        let sections = sweep.sections.iter();
        let several = |(interval, _): &&(Interval, _)| interval.start.level != interval.end.level;
        // The code for it is that of one section.
        if few && sweep.order != Order::Parallel && sections.filter(several).count() == 1 {
            (loaded.into_iter()).for_each(|array| array.meanwhile = array.is_plain(nest));
        }
    }
}

/// How often a level of a sweep divides.
fn divisions(sweep: &Sweep) -> u128 {
    let of_stages = |stages: &[Stage]| {
        let mut all = Operations::default();
        for statement in stages.iter().flat_map(|stage| &stage.statements) {
            statement.walk(&mut |inner| inner.expressions().for_each(|expr| all.note(expr)));
        }
        all.count(Operation::Divide)
    };
    let sections = sweep.sections.iter();
    let counts = sections.map(|(_, stages)| of_stages(stages));
    counts.max().unwrap_or(0)
}

/// Whether the sweeps write every level and point of an array before they read it.
fn is_made_inside(nest: &ColumnNest, array: &Transposed) -> bool {
    let writes = |sweep: &&Sweep| {
        let mut stages = sweep.sections.iter().flat_map(|(_, stages)| stages);
        stages.any(|stage| is_accessed(stage, array.target))
    };
    let Some(first) = nest.sweeps.iter().find(writes) else {
        return false;
    };
    array.is_made_in(first)
}

fn is_accessed(stage: &Stage, target: Target) -> bool {
    stage.statements.iter().map(Accesses::of).any(|accesses| {
        accesses.reads.iter().any(|(read, _)| *read == target)
            || accesses.written().any(|written| written == target)
    })
}

/// Whether the stages of a level write `array` at every point, and never read a level that is not written by then.
fn is_written_first(order: Order, stages: &[Stage], array: &Transposed) -> bool {
    let mut written = false;
    for stage in stages {
        for accesses in stage.statements.iter().map(Accesses::of) {
            let mut reads = accesses.reads.iter().filter(|read| read.0 == array.target);
            let unwritten = reads.any(|(_, offset)| {
                let ahead = match order {
                    Order::Forward => offset.along(Axis::K),
                    Order::Backward => -offset.along(Axis::K),
                    Order::Parallel => offset.along(Axis::K).abs(),
                };
                ahead > 0 || (ahead == 0 && !written)
            });
            if unwritten {
                return false;
            }
            let always = accesses.writes.contains(&(array.target, false));
            written |= always && stage.extent == array.extent;
        }
    }
    written
}
