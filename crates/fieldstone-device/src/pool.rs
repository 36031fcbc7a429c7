//! A pool of threads that are already awake.
//!
//! A run costs what matters for short kernels: no lock is taken, nothing is allocated, and a worker that has just
//! worked is still spinning when the next run comes. The protocol between a caller and one worker:
//!
//! 1. the caller *claims* free workers, so it knows how many parts to cut the tasks into;
//! 2. it *posts* the job, which lives on its stack, to each of them, and works on the first part itself;
//! 3. a worker *takes* the job out of its post box, works, frees itself and counts the job's `pending` down;
//! 4. the caller *takes back* what no worker has started yet and does it itself, then waits for `pending` to be zero.
//!
//! Two callers at once share the workers that are free; the one that finds none works alone.

use crate::core;
use crate::threads::{self, MOST_THREADS};
use crate::{DeviceError, available_threads, requested_threads};
use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long a thread that waits stays awake before it sleeps.
const AWAKE: Duration = Duration::from_micros(50);

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
    limit: AtomicUsize,
    crew: AtomicPtr<Crew>,
}

impl Pool {
    /// A pool of `threads` threads, the caller of a run being one of them.
    ///
    /// # Errors
    /// If `threads` is not from 1 to 1024.
    pub fn new(threads: usize) -> Result<Self, DeviceError> {
        Ok(Self::with_limit(threads::check("threads", threads)?))
    }

    /// The process's pool: as many threads as `FIELDSTONE_NUM_THREADS` says, else as there are cores for this process.
    ///
    /// A malformed variable counts as not set here; [`requested_threads`] tells what is wrong with it.
    pub fn global() -> &'static Pool {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(|| {
            let requested = requested_threads().ok().flatten();
            Self::with_limit(requested.unwrap_or_else(available_threads))
        })
    }

    fn with_limit(threads: usize) -> Self {
        Self {
            limit: AtomicUsize::new(threads),
            crew: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The number of threads a run may use.
    pub fn threads(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Sets the number of threads a run may use.
    ///
    /// # Errors
    /// If `threads` is not from 1 to 1024.
    pub fn set_threads(&self, threads: usize) -> Result<(), DeviceError> {
        self.limit
            .store(threads::check("threads", threads)?, Ordering::Relaxed);
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

    /// Like [`run`](Self::run) for tasks of uneven length: a worker that is done takes the next `grain` tasks.
    ///
    /// `body` is called many times with the same `worker`.
    ///
    /// # Panics
    /// If `body` panics: with its payload, after all workers have stopped.
    pub fn run_dynamic(&self, tasks: usize, max_threads: usize, grain: usize, body: &Body<'_>) {
        self.start(tasks, max_threads, Some(grain.max(1)), body);
    }

    fn start(&self, tasks: usize, max_threads: usize, grain: Option<usize>, body: &Body<'_>) {
        let chunks = grain.map_or(tasks, |grain| tasks.div_ceil(grain));
        let wanted = chunks.min(max_threads).min(self.threads());
        if tasks == 0 {
            return;
        }
        if wanted <= 1 || INSIDE.get() {
            return body(0, 0, tasks);
        }
        self.crew().run(tasks, wanted, grain, body);
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
        let fresh = Box::into_raw(Box::new(Crew::new(generation)));
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

/// The workers of a pool in one process. Workers are started when they are first needed and never move.
struct Crew {
    generation: usize,
    workers: Box<[OnceLock<Worker>]>,
    /// How many of `workers` are there; the lock is held while starting one.
    started: Mutex<usize>,
}

struct Worker {
    post: Arc<PostBox>,
    thread: JoinHandle<()>,
}

/// Where a worker finds its next job. On a line of its own, because the worker spins on it.
#[repr(align(128))]
struct PostBox {
    /// Whether a caller has claimed this worker.
    claimed: AtomicBool,
    /// The job to do; null if there is none. What it points to lives until its `pending` is zero.
    job: AtomicPtr<Job<'static>>,
    /// The part of the job that is this worker's.
    part: AtomicUsize,
    /// The core from which the last job was posted.
    from: AtomicUsize,
    /// Whether the worker shall end.
    end: AtomicBool,
}

/// The tasks of one run, on the stack of its caller.
struct Job<'a> {
    body: &'a Body<'a>,
    tasks: usize,
    parts: usize,
    /// In a dynamic run, how many tasks to take at a time.
    grain: Option<usize>,
    /// In a dynamic run, the next task that nobody has taken.
    next: AtomicUsize,
    /// Workers that still hold this job.
    pending: AtomicUsize,
    caller: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Crew {
    fn new(generation: usize) -> Self {
        Self {
            generation,
            workers: (1..MOST_THREADS).map(|_| OnceLock::new()).collect(),
            started: Mutex::new(0),
        }
    }

    fn run(&self, tasks: usize, wanted: usize, grain: Option<usize>, body: &Body<'_>) {
        let mut claimed = [const { None }; MOST_INLINE];
        let mut more = Vec::new();
        let mut parts = 1;
        for slot in &self.workers {
            if parts == wanted {
                break;
            }
            let Some(worker) = slot.get().or_else(|| self.start_worker(slot)) else {
                break;
            };
            if worker.post.claim() {
                match claimed.get_mut(parts - 1) {
                    Some(place) => *place = Some(worker),
                    None => more.push(worker),
                }
                parts += 1;
            }
        }
        let claimed = || claimed.iter().flatten().chain(&more).copied();
        let job = Job {
            body,
            tasks,
            parts,
            grain,
            next: AtomicUsize::new(0),
            pending: AtomicUsize::new(parts - 1),
            caller: thread::current(),
            panic: Mutex::new(None),
        };
        for (worker, part) in claimed().zip(1..) {
            worker.post(&job, part);
        }
        job.work(0);
        for (worker, part) in claimed().zip(1..) {
            if worker.post.take_back(&job) {
                job.work(part);
                worker.post.claimed.store(false, Ordering::Release);
                job.pending.fetch_sub(1, Ordering::Relaxed);
            }
        }
        wait_until(|| job.pending.load(Ordering::Acquire) == 0, || ());
        let payload = job
            .panic
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = payload {
            panic::resume_unwind(payload);
        }
    }

    /// Starts the worker of `slot`; none if the system has no more threads to give.
    #[cold]
    fn start_worker<'a>(&self, slot: &'a OnceLock<Worker>) -> Option<&'a Worker> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.get().is_none() {
            let post = Arc::new(PostBox::new());
            let thread = thread::Builder::new()
                .name(format!("fieldstone-{}", *started + 1))
                .spawn({
                    let post = Arc::clone(&post);
                    move || post.serve()
                })
                .ok()?;
            *started += 1;
            // The lock makes this the only one to fill the slot.
            let _ = slot.set(Worker { post, thread });
        }
        slot.get()
    }
}

/// Claimed workers up to this number are listed without an allocation.
const MOST_INLINE: usize = 64;

impl Drop for Crew {
    fn drop(&mut self) {
        for worker in self.workers.iter_mut().filter_map(OnceLock::take) {
            worker.post.end.store(true, Ordering::Release);
            worker.thread.thread().unpark();
            // A worker never panics: what its tasks throw is handed to their caller.
            let _ = worker.thread.join();
        }
    }
}

impl Worker {
    fn post(&self, job: &Job<'_>, part: usize) {
        self.post.part.store(part, Ordering::Relaxed);
        let from = core::current().unwrap_or(usize::MAX);
        self.post.from.store(from, Ordering::Relaxed);
        let job = ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
        self.post.job.store(job, Ordering::Release);
        self.thread.thread().unpark();
    }
}

impl PostBox {
    fn new() -> Self {
        Self {
            claimed: AtomicBool::new(false),
            job: AtomicPtr::new(ptr::null_mut()),
            part: AtomicUsize::new(0),
            from: AtomicUsize::new(usize::MAX),
            end: AtomicBool::new(false),
        }
    }

    fn claim(&self) -> bool {
        !self.claimed.load(Ordering::Relaxed) && !self.claimed.swap(true, Ordering::Acquire)
    }

    /// Takes a job back that the worker has not started.
    fn take_back(&self, job: &Job<'_>) -> bool {
        let job = ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
        self.job
            .compare_exchange(job, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Leaves the core of the thread that posts the jobs. The system wakes threads there, and while runs are short, the caller
    /// does their parts before it notices that another core is idle.
    fn keep_apart(&self) {
        if let Some(here) = core::current()
            && here == self.from.load(Ordering::Relaxed)
        {
            core::leave(here);
        }
    }

    /// The life of a worker.
    fn serve(&self) {
        INSIDE.set(true);
        loop {
            let is_called =
                || !self.job.load(Ordering::Relaxed).is_null() || self.end.load(Ordering::Relaxed);
            wait_until(is_called, || self.keep_apart());
            let job = self.job.swap(ptr::null_mut(), Ordering::Acquire);
            // SAFETY: the caller that posted the job keeps it until `pending` is zero, and this worker, which has now
            // taken it, has not counted down yet.
            let Some(job) = (unsafe { job.as_ref() }) else {
                if self.end.load(Ordering::Acquire) {
                    return;
                }
                continue;
            };
            job.work(self.part.load(Ordering::Relaxed));
            let caller = job.caller.clone();
            // Free before counting down, so that the caller's next run finds this worker.
            self.claimed.store(false, Ordering::Release);
            // From here on the job may be gone.
            if job.pending.fetch_sub(1, Ordering::Release) == 1 {
                caller.unpark();
            }
        }
    }
}

impl Job<'_> {
    /// Does one part on this thread; a panic is kept for the caller.
    fn work(&self, part: usize) {
        let before = INSIDE.replace(true);
        let result = panic::catch_unwind(AssertUnwindSafe(|| match self.grain {
            None => {
                let (begin, end) = partition(self.tasks, self.parts, part);
                (self.body)(part, begin, end);
            }
            Some(grain) => self.take_tasks(part, grain),
        }));
        INSIDE.set(before);
        if let Err(payload) = result {
            self.next.store(self.tasks, Ordering::Relaxed);
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(payload);
        }
    }

    fn take_tasks(&self, part: usize, grain: usize) {
        loop {
            let taken = self
                .next
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                    (next < self.tasks).then(|| next.saturating_add(grain).min(self.tasks))
                });
            let Ok(begin) = taken else { return };
            let end = begin.saturating_add(grain).min(self.tasks);
            (self.body)(part, begin, end);
        }
    }
}

/// The tasks of one of `parts` parts: contiguous, in order, equal up to one task.
fn partition(tasks: usize, parts: usize, part: usize) -> (usize, usize) {
    let (length, longer) = (tasks / parts, tasks % parts);
    let begin = length * part + longer.min(part);
    (begin, begin + length + usize::from(part < longer))
}

/// Spins for a while, then sleeps, until `done`; whoever makes it so must `unpark` this thread. Calls `woken` when it was.
fn wait_until(done: impl Fn() -> bool, woken: impl Fn()) {
    const LOOKS: usize = 32;
    let mut since = None;
    loop {
        for _ in 0..LOOKS {
            if done() {
                return;
            }
            std::hint::spin_loop();
        }
        if since.get_or_insert_with(Instant::now).elapsed() > AWAKE {
            break;
        }
        // The system may have put two threads of a run on one core; who waits there must not keep the other from working.
        thread::yield_now();
    }
    while !done() {
        thread::park();
        woken();
    }
}
