//! What it costs to hand an empty run to the threads of the pool, and to wake them first, beside doing it alone.

use fieldstone_device::Pool;
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 2000;

/// Median nanoseconds of a run with `threads` threads, each after `pause`.
fn cost(pool: &Pool, threads: usize, balanced: bool, pause: Duration) -> u128 {
    let rounds = if pause.is_zero() { ROUNDS } else { ROUNDS / 10 };
    let mut times: Vec<_> = (0..rounds)
        .map(|_| {
            std::thread::sleep(pause);
            let start = Instant::now();
            let body = |worker, begin, end| {
                black_box((worker, begin, end));
            };
            if balanced {
                pool.run_balanced(8 * threads, threads, 1, &body);
            } else {
                pool.run(threads, threads, &body);
            }
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let pool = Pool::global();
    let alone = cost(pool, 1, false, Duration::ZERO).max(1);
    println!("{} threads", pool.threads());
    for (name, pause) in [
        ("awake", Duration::ZERO),
        ("asleep", Duration::from_millis(1)),
    ] {
        for (tasks, balanced) in [("one range each", false), ("eight tasks each", true)] {
            let shared = cost(pool, pool.threads(), balanced, pause);
            println!(
                "workers {name}, {tasks}: {shared} ns, {:.0} times a run alone",
                shared as f64 / alone as f64
            );
        }
    }
}
