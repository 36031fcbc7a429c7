//! The tasks of one run.

use super::crew::Worker;
use super::share::{Share, partition};
use super::{Body, INSIDE};
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;

/// The tasks of one run, on the stack of its caller.
pub(super) struct Job<'a> {
    pub body: &'a Body<'a>,
    pub tasks: usize,
    /// In a run that is balanced, how many tasks to take at a time at least.
    pub grain: Option<usize>,
    /// Those who do the parts behind the caller's. Each belongs to this run until its end.
    pub workers: &'a [&'a Worker],
    /// What is left of the caller's part, in a run that is balanced; that of a worker is in its post box.
    pub own: Share,
    /// Workers that still hold this job.
    pub pending: AtomicUsize,
    pub caller: Thread,
    pub panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job<'_> {
    pub fn parts(&self) -> usize {
        self.workers.len() + 1
    }

    fn share(&self, part: usize) -> &Share {
        match part.checked_sub(1) {
            None => &self.own,
            Some(worker) => &self.workers[worker].post.share,
        }
    }

    /// Gives every part its tasks.
    pub fn deal(&self) {
        if self.grain.is_none() {
            return;
        }
        for part in 0..self.parts() {
            let (begin, end) = partition(self.tasks, self.parts(), part);
            self.share(part).put(begin, end);
        }
    }

    /// Wakes the workers of the parts that it is up to this part to wake: with many threads it takes too long for one to
    /// wake all of them.
    pub fn wake_others(&self, part: usize) {
        for next in 2 * part + 1..=2 * part + 2 {
            if let Some(worker) = self.workers.get(next - 1) {
                worker.wake();
            }
        }
    }

    /// Does one part on this thread, and in a run that is balanced what is left of others; a panic is kept for the caller.
    pub fn work(&self, part: usize) {
        let before = INSIDE.replace(true);
        let result = panic::catch_unwind(AssertUnwindSafe(|| match self.grain {
            None => {
                let (begin, end) = partition(self.tasks, self.parts(), part);
                (self.body)(part, begin, end);
            }
            Some(grain) => self.take_tasks(part, grain),
        }));
        INSIDE.set(before);
        if let Err(payload) = result {
            (0..self.parts()).for_each(|part| self.share(part).clear());
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(payload);
        }
    }

    fn take_tasks(&self, part: usize, grain: usize) {
        let own = self.share(part);
        loop {
            while let Some((begin, end)) = own.take(grain) {
                (self.body)(part, begin, end);
            }
            let others = (part + 1..self.parts()).chain(0..part);
            let Some((begin, end)) = { others }.find_map(|other| self.share(other).steal(grain))
            else {
                return;
            };
            own.put(begin, end);
        }
    }
}
