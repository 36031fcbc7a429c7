//! A pool of threads that are already awake.
//!
//! A run costs what matters for short kernels: no lock is taken, nothing is allocated, and a worker that has just
//! worked is still spinning when the next run comes. The threads are a `crew`, what they are handed is a `job`, and what is
//! left of it for each of them a `share`.
//!
//! Two callers at once share the workers that are free; the one that finds none works alone.

mod crew;
mod job;
mod share;

use self::crew::{Crew, Quarters};
use crate::core::Cores;
use crate::threads;
use crate::{DeviceError, available_threads, requested_threads};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

/// How often it is looked which cores this process may use.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often `fork` made this process a child; workers of an earlier generation do not exist.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is inside a run; a run inside a run stays on its thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// What a run does: `body(worker, begin, end)` for tasks `begin..end`.
type Body<'a> = dyn Fn(usize, usize, usize) + Sync + 'a;

/// Threads that share the tasks of a run.
///
/// Any number of threads may use one pool at once, and a task may start a run of its own. After `fork`, the child's first run
/// starts new threads.
pub struct Pool {
    /// How many threads were asked for; 0 for as many as there are cores.
    asked: AtomicUsize,
    /// How many cores there were when it was looked last, and when that was.
    cores: AtomicUsize,
    looked: AtomicU64,
    quarters: Arc<Quarters>,
    crew: AtomicPtr<Crew>,
}

impl Pool {
    /// A pool of `threads` threads, the caller of a run being one of them.
    ///
    /// # Errors
    /// If `threads` is not from 1 to 1024.
    pub fn new(threads: usize) -> Result<Self, DeviceError> {
        Ok(Self::of(threads::check("threads", threads)?))
    }

    /// The process's pool: as many threads as `FIELDSTONE_NUM_THREADS` says, else as there are cores for this process, also
    /// when their number changes.
    ///
    /// A malformed variable counts as not set here; [`requested_threads`] tells what is wrong with it.
    pub fn global() -> &'static Pool {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(|| {
            let requested = requested_threads().ok().flatten();
            Self::of(requested.unwrap_or(0))
        })
    }

    /// A pool of so many threads, or as many as there are cores.
    fn of(asked: usize) -> Self {
        Self {
            asked: AtomicUsize::new(asked),
            cores: AtomicUsize::new(available_threads()),
            looked: AtomicU64::new(0),
            quarters: Arc::default(),
            crew: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The number of threads a run may use.
    pub fn threads(&self) -> usize {
        self.look();
        match self.asked.load(Ordering::Relaxed) {
            0 => self.cores.load(Ordering::Relaxed),
            asked => asked,
        }
    }

    /// Looks from time to time which cores the calling thread may use: that may be changed while the process runs. Workers
    /// keep to the same cores, unless more threads were asked for than there are cores for.
    fn look(&self) {
        let now = now();
        let since = now.wrapping_sub(self.looked.load(Ordering::Relaxed));
        if since < LOOK_EVERY.as_millis() as u64 {
            return;
        }
        self.looked.store(now, Ordering::Relaxed);
        let Some(cores) = Cores::allowed() else {
            return;
        };
        if self.quarters.are_others(&cores) {
            self.cores.store(available_threads(), Ordering::Relaxed);
        }
        let asked = self.asked.load(Ordering::Relaxed);
        let crowded = asked > self.cores.load(Ordering::Relaxed);
        self.quarters.change(cores, crowded);
    }

    /// Sets the number of threads a run may use.
    ///
    /// # Errors
    /// If `threads` is not from 1 to 1024.
    pub fn set_threads(&self, threads: usize) -> Result<(), DeviceError> {
        self.asked
            .store(threads::check("threads", threads)?, Ordering::Relaxed);
        self.looked.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Calls `body(worker, begin, end)` so that the ranges `begin..end` cover `0..tasks` once, and returns when all is done.
    ///
    /// Each worker gets one contiguous range, and the same one for the same `tasks` and `max_threads` while nobody else uses
    /// the pool, so that memory stays with the core that touched it first. `worker` is smaller than `max_threads` and belongs to
    /// one thread at a time: it can index scratch space. With one task or one thread, or inside another run,
    /// everything happens on the calling thread.
    ///
    /// # Panics
    /// If `body` panics: with its payload, after all workers have stopped.
    pub fn run(&self, tasks: usize, max_threads: usize, body: &Body<'_>) {
        self.start(tasks, max_threads, None, body);
    }

    /// Like [`run`](Self::run), but a worker that is done with its range takes from those of others, so that all finish
    /// together: where tasks take different times, or others use the cores as well.
    ///
    /// `body` is called many times with the same `worker`, for `grain` tasks at least while there are as many.
    ///
    /// # Panics
    /// If `body` panics: with its payload, after all workers have stopped.
    pub fn run_balanced(&self, tasks: usize, max_threads: usize, grain: usize, body: &Body<'_>) {
        let counted = tasks <= share::MOST_TASKS;
        self.start(tasks, max_threads, counted.then_some(grain.max(1)), body);
    }

    fn start(&self, tasks: usize, max_threads: usize, grain: Option<usize>, body: &Body<'_>) {
        if tasks == 0 {
            return;
        }
        let chunks = grain.map_or(tasks, |grain| tasks.div_ceil(grain));
        let most = chunks.min(max_threads);
        if most <= 1 || INSIDE.get() {
            return body(0, 0, tasks);
        }
        let limit = self.threads();
        match most.min(limit) {
            1 => body(0, 0, tasks),
            wanted => self.crew().run(tasks, wanted, limit, grain, body),
        }
    }

    /// The threads of this process; new ones if they were left behind by a `fork`.
    fn crew(&self) -> &Crew {
        let generation = GENERATION.load(Ordering::Relaxed);
        let current = self.crew.load(Ordering::Acquire);
        // SAFETY: a crew that was stored here lives until the pool is dropped, or for ever if a fork made it stale.
        match unsafe { current.as_ref() } {
            Some(crew) if crew.generation == generation => crew,
            _ => self.replace_crew(current, generation),
        }
    }

    #[cold]
    fn replace_crew(&self, current: *mut Crew, generation: usize) -> &Crew {
        watch_forks();
        let fresh = Box::into_raw(Box::new(Crew::new(generation, self.quarters.clone())));
        // A stale crew is leaked: its threads are gone and its locks may be held for ever.
        match self
            .crew
            .compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire)
        {
            // SAFETY: `fresh` came from a box and now belongs to the pool.
            Ok(_) => unsafe { &*fresh },
            Err(other) => {
                // SAFETY: `fresh` came from a box and nobody else has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                // SAFETY: another thread of this process has stored its crew.
                unsafe { &*other }
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let crew = *self.crew.get_mut();
        // SAFETY: a pointer that is not null came from a box and is dropped here only.
        let generation = unsafe { crew.as_ref() }.map(|crew| crew.generation);
        if generation == Some(GENERATION.load(Ordering::Relaxed)) {
            // SAFETY: as above; the pool's last user is gone, so no run is under way.
            drop(unsafe { Box::from_raw(crew) });
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.threads())
            .finish()
    }
}

/// Counts the generations of this process from now on.
fn watch_forks() {
    unsafe extern "C" fn child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler only adds to an atomic, which is allowed in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(child)) };
    });
}

/// Milliseconds since some time before this process, or a little less.
#[cfg(target_os = "linux")]
fn now() -> u64 {
    // SAFETY: a time of zeros is one.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the clock is there since Linux 2.6.32, and the time may be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    (time.tv_sec as u64) * 1000 + (time.tv_nsec as u64) / 1_000_000 + LOOK_EVERY.as_millis() as u64
}

/// Milliseconds since some time before now.
#[cfg(not(target_os = "linux"))]
fn now() -> u64 {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    (START.get_or_init(std::time::Instant::now).elapsed() + LOOK_EVERY).as_millis() as u64
}
