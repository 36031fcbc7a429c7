//! The kernels of a run, on all threads.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fieldstone_device::{DeviceError, Pool, Scratch, core_caches, shared_cache};
use fieldstone_stencil::schedule::{Nest, RowNest};
use fieldstone_stencil::{Axis, Extent, ir::Order};

use super::ledger::Outlook;
use super::results::{Results, Way};
use super::{KernelFunction, Variant};
use crate::cost::{Cost, worthwhile};
use crate::llvm::abi::{OwnWords, Words};
use crate::llvm::{Cached, Kernel};
use crate::tile::{LINE, Lines, Tiles};

thread_local! {
    /// Memory for the temporaries of one tile, as large as any kernel of this thread needed.
    static SCRATCH: Scratch = const { Scratch::new() };
    /// Room for the words of a kernel that has its own.
    static OWN_WORDS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// Nanoseconds of tiles that a thread takes at a time at least: each time it begins anew with what all of them have in common.
const PIECE: f64 = 4000.0;

/// What runs one after the other on a domain.
pub(super) enum Part {
    /// A kernel on all levels that it computes.
    Whole {
        step: Box<Step>,
        levels: Range<usize>,
    },
    /// Kernels on one level after the other.
    Levels {
        levels: Range<usize>,
        downwards: bool,
        steps: Vec<Step>,
    },
}

/// A kernel on some points.
pub(super) struct Step {
    function: KernelFunction,
    /// Its words, where they are its own.
    own_words: Option<OwnWords>,
    /// Per way in which columns share cache lines, in the order of [`Lines::ALL`].
    tiles: [Tiles; Lines::ALL.len()],
    /// The same where others have moved more than the caches hold since the last run: what is read then comes from memory, in its order.
    tiles_for_memory: [Tiles; Lines::ALL.len()],
    /// Per such way the rows of a tile that are computed for one vector of levels before those for the next one.
    rows: [usize; Lines::ALL.len()],
    /// Threads that are worth it.
    threads: usize,
    /// Nanoseconds it takes on one thread, if that is known.
    work: f64,
    /// What becomes of its results.
    results: Results,
    /// Whether points of a row are vectors of levels, and whether tiles then have two lines of each column from memory.
    panels: bool,
    pairs: bool,
    /// What is fetched into the caches.
    ahead: Ahead,
    /// Whether the next level of a sweep is fetched into the first-level cache.
    next: bool,
    /// Bytes of the fields that it reads or writes.
    bytes: usize,
    /// Bytes of scratch memory for each thread.
    scratch: usize,
}

/// Rows ahead that are fetched into the caches.
struct Ahead {
    usual: usize,
    /// The same where it is for others that results go past the caches: what is read then comes from memory, too, and stores past the
    /// caches wait for those of rows that end within a line.
    for_others: usize,
    /// Whether that is so where the last cache still has what is read.
    even_cached: bool,
    /// How much the caches have to have for rows not to be fetched; `None` where they always are.
    unless: Option<Cached>,
}

impl Ahead {
    fn rows(&self, way: Way, cached: Cached) -> usize {
        match way.for_others && (way.lost || self.even_cached) {
            true => self.for_others,
            false if self.unless.is_some_and(|enough| cached >= enough) => 0,
            false => self.usual,
        }
    }
}

/// The points of a kernel.
#[derive(Clone, Copy)]
struct Points {
    /// Along I, J, K, of which it is known what they cost.
    costly: [usize; 3],
    /// Those at which fields are read and written.
    moved: usize,
    /// The domain.
    domain: [usize; 3],
}

/// A kernel and what there is to know of it.
#[derive(Clone, Copy)]
struct Code<'a> {
    function: KernelFunction,
    kernel: &'a Kernel,
    cost: &'a Cost,
}

impl Variant {
    /// What runs on a domain, with so many threads at most.
    pub(super) fn parts(&self, domain: [usize; 3], threads: usize) -> Vec<Part> {
        let points = |costly: [usize; 3], moved: [usize; 3]| Points {
            costly,
            moved: moved.iter().product(),
            domain,
        };
        let kernels = self.kernels.iter().zip(&self.plan.module.kernels);
        let mut codes = (kernels.zip(&self.plan.costs)).map(|((function, kernel), cost)| Code {
            function: *function,
            kernel,
            cost,
        });
        let mut next = || codes.next().expect("a kernel for each nest");
        let mut parts = Vec::with_capacity(self.plan.schedule.nests.len());
        for nest in &self.plan.schedule.nests {
            match nest {
                Nest::Rows(nest) => {
                    let levels = levels_of(nest, domain[2]);
                    let computed = [domain[0], domain[1], levels.len()];
                    let points = points(domain, computed);
                    let step = next().on_rows(nest, points, computed, threads);
                    parts.push(Part::Whole {
                        step: Box::new(step),
                        levels,
                    });
                }
                Nest::Columns(nest) => {
                    let computed = extended(domain, nest.extent);
                    let tiles = |kernel: &Kernel, threads| {
                        [Tiles::of_columns(nest, &kernel.scratch, computed, threads);
                            Lines::ALL.len()]
                    };
                    let step = next().step(points(computed, domain), threads, tiles);
                    parts.push(Part::Whole {
                        step: Box::new(step),
                        levels: 0..domain[2],
                    });
                }
                Nest::Levels(nest) => {
                    for (interval, nests) in &nest.sections {
                        let level = [domain[0], domain[1], 1];
                        let points = points(level, domain);
                        let steps = nests.iter();
                        let steps = steps.map(|nest| next().on_rows(nest, points, level, threads));
                        parts.push(Part::Levels {
                            levels: interval.resolve(domain[2]),
                            downwards: nest.order == Order::Backward,
                            steps: steps.collect(),
                        });
                    }
                }
            }
        }
        parts
    }
}

impl Code<'_> {
    /// Of a nest of rows, with tiles of so many points.
    fn on_rows(self, nest: &RowNest, points: Points, computed: [usize; 3], threads: usize) -> Step {
        let computed = extended(computed, nest.extent);
        let costly = extended(points.costly, nest.extent);
        let mut step = self.step(Points { costly, ..points }, threads, |kernel, threads| {
            let caches = shared_cache(threads);
            let near = kernel.keeps_near(nest.roles, points.moved, caches);
            Lines::ALL
                .map(|lines| Tiles::of_rows(nest, &kernel.scratch, computed, threads, lines, near))
        });
        let (scratch, threads) = (&self.kernel.scratch, step.threads);
        let (moved, shared) = (points.moved, shared_cache(threads));
        step.panels = nest.roles.are_panels();
        step.pairs = scratch.pairs;
        step.ahead.even_cached |= step.panels;
        step.results = Results::of_rows(self.kernel, nest, (moved, shared), core_caches());
        if step.panels || !step.results.always_pass {
            step.tiles_for_memory = Lines::ALL
                .map(|lines| Tiles::of_rows(nest, scratch, computed, threads, lines, false));
        }
        let from_memory = self.kernel.fills(moved, shared);
        step.rows = Lines::ALL.map(|lines| {
            let (tiles, scratch) = (step.tiles[lines as usize], &self.kernel.scratch);
            tiles.rows_of_vector(nest.roles, scratch, self.kernel.moved, (lines, from_memory))
        });
        step
    }

    fn step(
        self,
        points: Points,
        threads: usize,
        tiles: impl FnOnce(&Kernel, usize) -> [Tiles; Lines::ALL.len()],
    ) -> Step {
        let work = self.cost.nanoseconds(points.costly);
        let threads = worthwhile(work, threads);
        let caches = shared_cache(threads);
        let fetch = self.kernel.fetch;
        let tiles = tiles(self.kernel, threads);
        Step {
            function: self.function,
            own_words: self.kernel.words.clone(),
            tiles,
            tiles_for_memory: tiles,
            rows: [1; Lines::ALL.len()],
            threads,
            work: match self.cost.is_open() {
                true => f64::INFINITY,
                false => work,
            },
            results: Results::of_columns(self.kernel, points.moved, caches),
            panels: false,
            pairs: false,
            ahead: Ahead {
                usual: (self.kernel).fetched_ahead(points.moved, points.domain, caches),
                for_others: fetch.far(points.domain),
                even_cached: !core_caches().streams_are_late(),
                unless: fetch.unless,
            },
            next: self.kernel.fetches_next(points.moved, caches),
            bytes: self.kernel.moved.saturating_mul(points.moved),
            scratch: self.kernel.scratch.total(points.domain[2]),
        }
    }
}

impl Part {
    fn steps(&self) -> &[Step] {
        match self {
            Part::Whole { step, .. } => std::slice::from_ref(&**step),
            Part::Levels { steps, .. } => steps,
        }
    }

    /// Whether it would run on one thread even if there were more.
    pub fn is_for_one(&self) -> bool {
        let for_one = |step: &Step| step.threads == 1 && worthwhile(step.work, 2) == 1;
        self.steps().iter().all(for_one)
    }

    /// Nanoseconds it takes on one thread, if that is known.
    pub fn work(&self) -> f64 {
        let once: f64 = self.steps().iter().map(|step| step.work).sum();
        match self {
            Part::Whole { .. } => once,
            Part::Levels { levels, .. } => once * levels.len() as f64,
        }
    }

    /// Whether points of its rows are vectors of levels.
    pub fn is_panels(&self) -> bool {
        self.steps().iter().all(|step| step.panels)
    }

    /// Bytes of the fields that it reads or writes.
    pub fn bytes(&self) -> usize {
        self.steps().iter().map(|step| step.bytes).sum()
    }

    /// Runs on all levels, or on one level after the other, with what is known of its fields.
    ///
    /// # Errors
    /// If there is no memory for scratch.
    ///
    /// # Safety
    /// The words must describe memory that is valid for what the kernels read and write, and nobody else's meanwhile.
    pub unsafe fn run(
        &self,
        words: &mut [u64],
        outlook: Outlook,
        lines: Lines,
    ) -> Result<(), DeviceError> {
        match self {
            Part::Whole { step, levels } => {
                // SAFETY: as the caller says.
                unsafe { step.run(words, levels.clone(), outlook, lines) }
            }
            Part::Levels {
                levels,
                downwards,
                steps,
            } => {
                for n in 0..levels.len() {
                    let level = match downwards {
                        true => levels.end - 1 - n,
                        false => levels.start + n,
                    };
                    for step in steps {
                        // SAFETY: as the caller says.
                        unsafe { step.run(words, level..level + 1, Outlook::default(), lines)? };
                    }
                }
                Ok(())
            }
        }
    }
}

impl Step {
    /// # Safety
    /// As [`Part::run`].
    unsafe fn run(
        &self,
        words: &mut [u64],
        levels: Range<usize>,
        outlook: Outlook,
        lines: Lines,
    ) -> Result<(), DeviceError> {
        let way = self.results.way(outlook.left);
        // What a run has moved itself leaves some of it in the caches.
        let from_memory = way.lost && (!self.panels || outlook.cached == Cached::Little);
        let tiles = match from_memory && (!self.pairs || outlook.left.all <= Cached::Some) {
            true => &self.tiles_for_memory[lines as usize],
            false => &self.tiles[lines as usize],
        };
        words[Words::LEVELS] = levels.start as u64;
        words[Words::LEVELS + 1] = levels.end as u64;
        for axis in 0..3 {
            words[Words::TILE + axis] = tiles.size[axis] as u64;
            words[Words::COUNT + axis] = tiles.count[axis] as u64;
        }
        words[Words::STREAM] = u64::from(way.past);
        words[Words::AHEAD] = self.ahead.rows(way, outlook.cached) as u64;
        words[Words::NEXT] = u64::from(self.next || way.for_others);
        words[Words::ROWS] = match way.for_others && from_memory {
            true => 1,
            false => self.rows[lines as usize] as u64,
        };
        let Some(own) = &self.own_words else {
            // SAFETY: as the caller says.
            return unsafe { self.launch(words, tiles.total()) };
        };
        let mut own_words = OWN_WORDS.take();
        own.write(&mut own_words, words);
        // SAFETY: as the caller says.
        let done = unsafe { self.launch(&own_words, tiles.total()) };
        OWN_WORDS.set(own_words);
        done
    }

    /// Runs the function on all tiles, with its words.
    ///
    /// # Safety
    /// As [`Part::run`].
    unsafe fn launch(&self, words: &[u64], tiles: usize) -> Result<(), DeviceError> {
        let problem = Mutex::new(None);
        let body = |_, begin: usize, end: usize| {
            let run = |scratch: *mut u8| {
                // SAFETY: the kernel reads its words and the arrays they describe, and writes to those and to so many bytes of
                // scratch; tiles of one kernel do not write what another reads.
                unsafe { (self.function)(words.as_ptr(), begin as i64, end as i64, scratch) };
            };
            let done = SCRATCH.with(|memory| memory.with(self.scratch, LINE, run));
            if let Err(error) = done {
                *problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        };
        if self.threads == 1 {
            body(0, 0, tiles);
        } else {
            let grain = grain(tiles, self.threads, self.work);
            Pool::global().run_balanced(tiles, self.threads, grain, &body);
        }
        let problem = problem.into_inner().unwrap_or_else(PoisonError::into_inner);
        problem.map_or(Ok(()), Err)
    }
}

/// Tiles that a thread takes at a time at least, of so many that take so many nanoseconds in all.
fn grain(tiles: usize, threads: usize, work: f64) -> usize {
    // A float that is too small or no number becomes 0.
    let brief = (tiles as f64 * PIECE / work) as usize;
    brief.clamp(1, (tiles / threads).max(1))
}

/// The levels of a domain that a nest of rows computes, and those between them.
pub(crate) fn levels_of(nest: &RowNest, levels: usize) -> Range<usize> {
    // Where vectors run along K, tiles are aligned to the first level of the domain.
    if nest.roles.block != Axis::K || nest.roles.are_panels() {
        return 0..levels;
    }
    let all = nest
        .stages
        .iter()
        .map(|stage| stage.interval.resolve(levels));
    let some = all.filter(|range| !range.is_empty());
    some.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
        .unwrap_or(0..0)
}

pub(crate) fn extended(domain: [usize; 3], extent: Extent) -> [usize; 3] {
    std::array::from_fn(|n| {
        let (before, after) = extent.0[n];
        (domain[n] as i64 + i64::from(before) + i64::from(after)).max(0) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::grain;

    #[test]
    fn a_thread_takes_tiles_for_some_microseconds_and_leaves_the_other_threads_theirs() {
        assert_eq!(grain(60, 2, 60_000.0), 4);
        assert_eq!(grain(60, 2, 3_000.0), 30, "no more than its share");
        assert_eq!(grain(1, 2, 3_000.0), 1);
        assert_eq!(grain(60, 2, 1e9), 1);
        assert_eq!(grain(60, 2, f64::INFINITY), 1, "nobody knows how long");
    }
}
