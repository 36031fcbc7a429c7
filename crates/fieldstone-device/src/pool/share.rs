//! What is left of the tasks of one thread, for itself and for those that are done with theirs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tasks `begin..end` of one part of a run. Its owner takes some from the front, others take from the back.
///
/// Both ends are one word. A range that was taken never comes back, neither here nor in another share: no range is seen
/// twice, and an exchange that succeeds takes what it saw.
#[derive(Debug, Default)]
pub(super) struct Share(AtomicU64);

/// More tasks than this are not counted in a share.
pub(super) const MOST_TASKS: usize = u32::MAX as usize;

/// The owner takes one in so many of what it has left at a time, so that something is left for others.
const PIECES: u64 = 4;

impl Share {
    /// Fills the share. Nobody but its owner may, and only when it is empty.
    pub fn put(&self, begin: usize, end: usize) {
        debug_assert!(begin <= end && end <= MOST_TASKS);
        self.0
            .store((begin as u64) << 32 | end as u64, Ordering::Relaxed);
    }

    /// Takes everything away.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Tasks for its owner: a few of the first that are left, `grain` at least.
    pub fn take(&self, grain: usize) -> Option<(usize, usize)> {
        self.split(|begin, end| {
            let middle = begin + ((end - begin) / PIECES).max(grain as u64).min(end - begin);
            ((begin, middle), (middle, end))
        })
    }

    /// Tasks for somebody else: the second half of what is left, `grain` at least.
    pub fn steal(&self, grain: usize) -> Option<(usize, usize)> {
        self.split(|begin, end| {
            let middle = end - (end - begin).div_ceil(2).max(grain as u64).min(end - begin);
            ((middle, end), (begin, middle))
        })
    }

    /// Cuts what is left into what is taken and what stays.
    fn split(&self, cut: impl Fn(u64, u64) -> ((u64, u64), (u64, u64))) -> Option<(usize, usize)> {
        let mut left = self.0.load(Ordering::Relaxed);
        loop {
            let (begin, end) = (left >> 32, left & MOST_TASKS as u64);
            if begin >= end {
                return None;
            }
            let (taken, (begin, end)) = cut(begin, end);
            // What a task needs of others is known since the run began, so that no order is needed here.
            match self.0.compare_exchange_weak(
                left,
                begin << 32 | end,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some((taken.0 as usize, taken.1 as usize)),
                Err(other) => left = other,
            }
        }
    }
}

/// The tasks of one of `parts` parts: contiguous, in order, equal up to one task.
pub(super) fn partition(tasks: usize, parts: usize, part: usize) -> (usize, usize) {
    let (length, longer) = (tasks / parts, tasks % parts);
    let begin = length * part + longer.min(part);
    (begin, begin + length + usize::from(part < longer))
}

#[cfg(test)]
mod tests {
    use super::{Share, partition};

    #[test]
    fn parts_follow_each_other_and_differ_by_one_task_at_most() {
        for (tasks, parts, expected) in [
            (10, 4, vec![(0, 3), (3, 6), (6, 8), (8, 10)]),
            (3, 3, vec![(0, 1), (1, 2), (2, 3)]),
            (7, 1, vec![(0, 7)]),
            (8, 2, vec![(0, 4), (4, 8)]),
        ] {
            let found: Vec<_> = (0..parts)
                .map(|part| partition(tasks, parts, part))
                .collect();
            assert_eq!(found, expected, "{tasks} tasks in {parts} parts");
        }
    }

    #[test]
    fn the_owner_takes_from_the_front_and_others_from_the_back() {
        let share = Share::default();
        assert_eq!(share.take(1), None);
        share.put(0, 16);
        assert_eq!(share.take(1), Some((0, 4)));
        assert_eq!(share.steal(1), Some((10, 16)));
        assert_eq!(share.take(5), Some((4, 9)));
        assert_eq!(share.steal(3), Some((9, 10)));
        assert_eq!((share.take(1), share.steal(1)), (None, None));
    }
}
