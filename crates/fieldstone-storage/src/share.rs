//! How threads share a copy or a fill: the addresses they all know, and the tasks each takes.

use fieldstone_device::{CoreCaches, Pool, core_caches, near_caches, shared_cache};

/// A thread is worth its while from this many bytes on.
const WORTH_A_THREAD: usize = 64 << 10;

/// From this many bytes on threads that are done take tasks from others, as many at a time as move about so many, at least.
const BALANCED: usize = 2 << 20;
const AT_A_TIME: usize = 128 << 10;

/// Where the first element of the source is.
#[derive(Clone, Copy)]
pub(crate) struct Source(pub *const u8);

/// Where the first element of the target is.
#[derive(Clone, Copy)]
pub(crate) struct Target(pub *mut u8);

// SAFETY: the threads of a copy only read here.
unsafe impl Send for Source {}
// SAFETY: as above.
unsafe impl Sync for Source {}
// SAFETY: each thread of a copy writes elements of its own.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Source {
    /// The address so many bytes further on.
    pub fn at(self, offset: isize) -> *const u8 {
        self.0.wrapping_offset(offset)
    }
}

impl Target {
    /// The address so many bytes further on.
    pub fn at(self, offset: isize) -> *mut u8 {
        self.0.wrapping_offset(offset)
    }
}

/// What moves bytes.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// A copy of rows that are contiguous on both sides.
    Rows,
    /// One of planes whose rows become columns.
    Planes,
    Fill,
}

impl Work {
    /// Whether a target should be written past the caches, into which it would only be read to be overwritten: it and its source, `bytes`
    /// together, leave nothing of them to others, or it takes longer to write them to the last one.
    pub fn streams(self, bytes: usize, threads: usize) -> bool {
        bytes >= self.least(shared_cache(threads), near_caches(threads), core_caches())
    }

    /// Bytes from which on that is so, with shared caches of so many bytes, and near ones.
    fn least(self, shared: usize, near: usize, caches: CoreCaches) -> usize {
        match self {
            _ if !caches.streams_are_late() => shared,
            Work::Rows => near.max(shared / 2),
            Work::Planes | Work::Fill => near.max(shared / 3),
        }
    }
}

/// How many of so many threads are worth their while for so many bytes.
pub(crate) fn worth(bytes: usize, threads: usize) -> usize {
    threads.min(bytes.div_ceil(WORTH_A_THREAD)).max(1)
}

/// Shares `tasks` tasks, which move `bytes` bytes together, between as many threads as are worth it. Of many bytes a thread takes
/// more than others that have to wait longer for memory, or for their core.
pub(crate) fn share(
    tasks: usize,
    bytes: usize,
    threads: usize,
    body: &(dyn Fn(usize, usize) + Sync),
) {
    let threads = worth(bytes, threads);
    if threads <= 1 {
        return body(0, tasks);
    }
    let body = |_, begin, end| body(begin, end);
    if bytes < BALANCED {
        return Pool::global().run(tasks, threads, &body);
    }
    let grain = AT_A_TIME / (bytes / tasks.max(1)).max(1);
    Pool::global().run_balanced(tasks, threads, grain, &body);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_past_the_last_cache_is_as_large_or_less_where_streams_are_late() {
        let late = CoreCaches {
            short_rows_are_late: true,
            ..CoreCaches::default()
        };
        for (near, caches, expected) in [
            (2, CoreCaches::default(), [48; 3]),
            (2, late, [24, 16, 16]),
            (20, late, [24, 20, 20]),
        ] {
            let all = [Work::Rows, Work::Planes, Work::Fill];
            let least = all.map(|work| work.least(48, near, caches));
            assert_eq!(least, expected, "{near} {caches:?}");
        }
    }
}
