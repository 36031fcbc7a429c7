//! The pool as its users see it.

use fieldstone_device::Pool;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

fn ranges(
    pool: &Pool,
    tasks: usize,
    max_threads: usize,
    grain: Option<usize>,
) -> Vec<(usize, usize, usize)> {
    let seen = Mutex::new(Vec::new());
    let body = |worker, begin, end| seen.lock().unwrap().push((begin, end, worker));
    match grain {
        None => pool.run(tasks, max_threads, &body),
        Some(grain) => pool.run_balanced(tasks, max_threads, grain, &body),
    }
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    seen
}

#[test]
fn every_task_runs_once() {
    for threads in [1, 2, 3, 7] {
        let pool = Pool::new(threads).unwrap();
        for tasks in [0, 1, 2, 3, 8, 1000] {
            for max_threads in [0, 1, 2, 5, 100] {
                for grain in [None, Some(0), Some(1), Some(3), Some(usize::MAX)] {
                    let seen = ranges(&pool, tasks, max_threads, grain);
                    let mut next = 0;
                    for &(begin, end, worker) in &seen {
                        assert_eq!(begin, next);
                        assert!(begin < end && worker < max_threads.max(1));
                        next = end;
                    }
                    assert_eq!(next, tasks);
                }
            }
        }
    }
}

#[test]
fn a_static_run_gives_each_worker_one_equal_range() {
    let pool = Pool::new(4).unwrap();
    let expected = [(0, 3, 0), (3, 6, 1), (6, 8, 2), (8, 10, 3)];
    for _ in 0..100 {
        assert_eq!(ranges(&pool, 10, 4, None), expected);
    }
}

#[test]
fn one_thread_or_one_task_stays_on_the_caller() {
    let caller = thread::current().id();
    for (threads, tasks, max_threads) in [(1, 9, 4), (4, 1, 4), (4, 9, 1)] {
        let pool = Pool::new(threads).unwrap();
        pool.run(tasks, max_threads, &|_, _, _| {
            assert_eq!(thread::current().id(), caller)
        });
    }
}

#[test]
fn runs_inside_runs_stay_on_their_thread() {
    let pool = Pool::new(3).unwrap();
    let count = AtomicUsize::new(0);
    pool.run(6, 3, &|_, begin, end| {
        let outer = thread::current().id();
        for _ in begin..end {
            pool.run(10, 3, &|worker, begin, end| {
                assert_eq!((worker, thread::current().id()), (0, outer));
                count.fetch_add(end - begin, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(count.into_inner(), 60);
}

#[test]
fn what_a_slow_worker_has_left_others_do() {
    let pool = Pool::new(2).unwrap();
    let done = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let slow = AtomicUsize::new(usize::MAX);
    pool.run_balanced(64, 2, 1, &|worker, begin, end| {
        // Whoever comes first waits until the other one has done all the rest.
        let first = slow.compare_exchange(usize::MAX, worker, Ordering::Relaxed, Ordering::Relaxed);
        let all = || done.iter().map(|done| done.load(Ordering::Relaxed));
        while first.is_ok() && all().sum::<usize>() + (end - begin) < 64 {
            thread::yield_now();
        }
        done[worker].fetch_add(end - begin, Ordering::Relaxed);
    });
    let [first, second] = done.map(AtomicUsize::into_inner);
    assert_eq!(first + second, 64);
    assert!(first.min(second) <= 8, "{first} and {second} tasks");
}

#[test]
fn callers_at_once_share_the_threads() {
    let pool = Pool::new(3).unwrap();
    let (workers, all) = (Mutex::new(Vec::new()), std::sync::Barrier::new(4));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let caller = thread::current().id();
                all.wait();
                for _ in 0..200 {
                    pool.run(3, 3, &|_, _, _| {
                        let here = thread::current().id();
                        if here != caller {
                            workers.lock().unwrap().push(here);
                        }
                    });
                }
            });
        }
    });
    let workers: std::collections::HashSet<_> = workers.into_inner().unwrap().into_iter().collect();
    assert!(
        workers.len() <= 2,
        "{} threads beside the callers",
        workers.len()
    );
}

#[test]
fn many_callers_at_once_are_all_served() {
    let pool = Pool::new(4).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..2000 {
                    let count = AtomicUsize::new(0);
                    pool.run(round % 9, 4, &|_, begin, end| {
                        count.fetch_add(end - begin, Ordering::Relaxed);
                    });
                    assert_eq!(count.into_inner(), round % 9);
                }
            });
        }
    });
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
    let pool = Pool::new(3).unwrap();
    for bad in 0..3 {
        let result = std::panic::catch_unwind(|| {
            pool.run(3, 3, &|_, begin, _| {
                assert_ne!(begin, bad, "task {bad} is bad")
            });
        });
        let payload = result.unwrap_err();
        let message = payload.downcast_ref::<String>().unwrap();
        assert!(message.contains(&format!("task {bad} is bad")), "{message}");
        assert_eq!(ranges(&pool, 3, 3, None).len(), 3);
    }
}

#[test]
fn sleeping_workers_wake_up() {
    let pool = Pool::new(2).unwrap();
    for _ in 0..20 {
        thread::sleep(std::time::Duration::from_millis(1));
        assert_eq!(ranges(&pool, 2, 2, None).len(), 2);
    }
}

#[test]
fn the_number_of_threads_can_change() {
    let pool = Pool::new(1).unwrap();
    for threads in [3, 1, 5, 2] {
        pool.set_threads(threads).unwrap();
        assert_eq!(pool.threads(), threads);
        assert_eq!(ranges(&pool, 100, 100, None).len(), threads);
    }
    let error = pool.set_threads(0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "threads is '0', but a number of threads must be an integer from 1 to 1024"
    );
}

#[cfg(unix)]
#[test]
fn a_forked_child_gets_threads_of_its_own() {
    let pool = Pool::new(3).unwrap();
    assert_eq!(ranges(&pool, 3, 3, None).len(), 3);
    // SAFETY: the child only runs the pool and leaves without unwinding or flushing.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let count = AtomicUsize::new(0);
        for _ in 0..10 {
            pool.run(3, 3, &|_, begin, end| {
                count.fetch_add(end - begin, Ordering::Relaxed);
            });
        }
        // SAFETY: ends the child at once. By a signal, because tools that look for leaks when a process exits take what the
        // parent's threads hold, which are not here, for lost.
        unsafe {
            libc::raise(if count.into_inner() == 30 {
                libc::SIGKILL
            } else {
                libc::SIGABRT
            })
        };
    }
    let mut status = 0;
    // SAFETY: `child` is a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL);
    assert_eq!(ranges(&pool, 3, 3, None).len(), 3);
}
