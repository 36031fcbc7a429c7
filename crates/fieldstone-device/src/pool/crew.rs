//! The threads of a pool, and how a caller hands them its tasks.
//!
//! The protocol between a caller and one worker:
//!
//! 1. the caller *claims* free workers, so it knows how many parts to cut the tasks into;
//! 2. it *posts* the job, which lives on its stack, to each of them, and works on the first part itself;
//! 3. a worker *takes* the job out of its post box, works, and counts the job's `pending` down;
//! 4. the caller *takes back* what no worker has started yet, waits for `pending` to be zero, and *frees* the workers.

use super::job::Job;
use super::share::Share;
use super::{Body, INSIDE};
use crate::core::{self, Cores};
use crate::threads::MOST_THREADS;
use std::panic;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a thread that waits stays awake before it sleeps.
const AWAKE: Duration = Duration::from_micros(50);

/// How long of that it lets nobody else have its core: to do so takes as long as many a wait, and it looks for nothing meanwhile.
const ALERT: Duration = Duration::from_micros(5);

/// Claimed workers up to this number are listed without an allocation.
const MOST_INLINE: usize = 32;

/// The workers of a pool in one process. Workers are started when they are first needed and never move.
pub(super) struct Crew {
    pub generation: usize,
    workers: Box<[OnceLock<Worker>]>,
    /// How many of `workers` are there; the lock is held while starting one.
    started: Mutex<usize>,
    quarters: Arc<Quarters>,
}

/// Where the workers of a pool may be.
#[derive(Default)]
pub(super) struct Quarters {
    /// The cores that its callers may run on. Nobody waits for this lock: in a child of the process it may be held for ever.
    cores: Mutex<Option<Cores>>,
    /// How often workers were to move to other cores.
    changes: AtomicUsize,
    /// Whether there are more threads than cores: then a thread that waits is in the way of one that works.
    crowded: AtomicBool,
}

pub(super) struct Worker {
    pub post: Arc<PostBox>,
    thread: JoinHandle<()>,
}

/// Where a worker finds its next job. On a line of its own, because the worker spins on it.
#[repr(align(128))]
pub(super) struct PostBox {
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
    /// What is left of its part.
    pub share: Spaced<Share>,
}

/// On a line of its own.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Spaced<T>(T);

impl<T> std::ops::Deref for Spaced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Crew {
    pub fn new(generation: usize, quarters: Arc<Quarters>) -> Self {
        Self {
            generation,
            workers: (1..MOST_THREADS).map(|_| OnceLock::new()).collect(),
            started: Mutex::new(0),
            quarters,
        }
    }

    /// Runs tasks on `wanted` threads, 2 at least, where there may be `limit` of them in all.
    pub fn run(
        &self,
        tasks: usize,
        wanted: usize,
        limit: usize,
        grain: Option<usize>,
        body: &Body<'_>,
    ) {
        let mut free = (self.workers[..limit - 1].iter())
            .map_while(|slot| slot.get().or_else(|| self.start_worker(slot)))
            .filter(|worker| worker.post.claim());
        let Some(first) = free.next() else {
            return body(0, 0, tasks);
        };
        let mut inline = [first; MOST_INLINE];
        let more: Vec<&Worker>;
        let claimed = if wanted <= MOST_INLINE + 1 {
            let mut count = 1;
            for (place, worker) in inline[1..].iter_mut().zip(free.take(wanted - 2)) {
                *place = worker;
                count += 1;
            }
            &inline[..count]
        } else {
            more = [first].into_iter().chain(free.take(wanted - 2)).collect();
            &more
        };
        let job = Job {
            body,
            tasks,
            grain,
            workers: claimed,
            own: Share::default(),
            pending: AtomicUsize::new(claimed.len()),
            caller: thread::current(),
            panic: Mutex::new(None),
        };
        job.deal();
        let from = core::current().unwrap_or(usize::MAX);
        for (worker, part) in claimed.iter().zip(1..) {
            worker.post(&job, part, from);
        }
        job.wake_others(0);
        job.work(0);
        for (worker, part) in claimed.iter().zip(1..) {
            if worker.post.take_back(&job) {
                if grain.is_none() {
                    job.work(part);
                }
                job.pending.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let crowded = self.quarters.crowded.load(Ordering::Relaxed);
        wait_until(
            || job.pending.load(Ordering::Acquire) == 0,
            || crowded,
            || (),
        );
        for worker in claimed {
            worker.post.claimed.store(false, Ordering::Release);
        }
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
                    let quarters = Arc::clone(&self.quarters);
                    move || post.serve(&quarters)
                })
                .ok()?;
            *started += 1;
            // The lock makes this the only one to fill the slot.
            let _ = slot.set(Worker { post, thread });
        }
        slot.get()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for worker in self.workers.iter_mut().filter_map(OnceLock::take) {
            worker.post.end.store(true, Ordering::Release);
            worker.wake();
            // A worker never panics: what its tasks throw is handed to their caller.
            let _ = worker.thread.join();
        }
    }
}

impl Worker {
    fn post(&self, job: &Job<'_>, part: usize, from: usize) {
        self.post.part.store(part, Ordering::Relaxed);
        self.post.from.store(from, Ordering::Relaxed);
        let job = ptr::from_ref(job).cast_mut().cast::<Job<'static>>();
        self.post.job.store(job, Ordering::Release);
    }

    /// Wakes the worker, if it sleeps.
    pub fn wake(&self) {
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
            share: Spaced::default(),
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
    fn serve(&self, quarters: &Quarters) {
        INSIDE.set(true);
        let mut moves = 0;
        loop {
            wait_until(
                || !self.job.load(Ordering::Relaxed).is_null() || self.end.load(Ordering::Relaxed),
                || quarters.crowded.load(Ordering::Relaxed),
                || self.keep_apart(),
            );
            let job = self.job.swap(ptr::null_mut(), Ordering::Acquire);
            // SAFETY: the caller that posted the job keeps it until `pending` is zero, and this worker, which has now
            // taken it, has not counted down yet.
            let Some(job) = (unsafe { job.as_ref() }) else {
                if self.end.load(Ordering::Acquire) {
                    return;
                }
                continue;
            };
            let part = self.part.load(Ordering::Relaxed);
            job.wake_others(part);
            quarters.move_in(&mut moves);
            job.work(part);
            let caller = job.caller.clone();
            // From here on the job may be gone.
            if job.pending.fetch_sub(1, Ordering::Release) == 1 {
                caller.unpark();
            }
        }
    }
}

impl Quarters {
    /// Whether callers may run on other cores than when it was looked last.
    pub fn are_others(&self, cores: &Cores) -> bool {
        let known = self.cores.try_lock();
        known.is_ok_and(|known| known.as_ref() != Some(cores))
    }

    /// Notes which cores callers may run on; workers move there with their next job, unless there are too many threads.
    pub fn change(&self, cores: Cores, crowded: bool) {
        let Ok(mut known) = self.cores.try_lock() else {
            return;
        };
        let freed = self.crowded.swap(crowded, Ordering::Relaxed) && !crowded;
        if *known != Some(cores) || freed {
            *known = Some(cores);
            self.changes.fetch_add(1, Ordering::Release);
        }
    }

    /// Moves the calling worker to the cores of its callers, if they have changed since its last move.
    fn move_in(&self, moves: &mut usize) {
        let changes = self.changes.load(Ordering::Acquire);
        if changes == *moves || self.crowded.load(Ordering::Relaxed) {
            return;
        }
        let Ok(known) = self.cores.try_lock() else {
            return;
        };
        *moves = changes;
        if let Some(cores) = &*known {
            cores.enter();
        }
    }
}

/// Waits until `done`, first awake, then asleep; whoever makes it so must wake this thread. Calls `woken` when it was.
fn wait_until(done: impl Fn() -> bool, crowded: impl Fn() -> bool, woken: impl Fn()) {
    const LOOKS: usize = 32;
    let mut since = None;
    loop {
        for _ in 0..LOOKS {
            if done() {
                return;
            }
            std::hint::spin_loop();
        }
        let waited = since.get_or_insert_with(Instant::now).elapsed();
        if crowded() || waited > AWAKE {
            break;
        }
        // The system may have put two threads of a run on one core; who waits there must not keep the other from working.
        if waited > ALERT {
            thread::yield_now();
        }
    }
    while !done() {
        thread::park();
        woken();
    }
}
