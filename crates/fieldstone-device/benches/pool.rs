//! What it costs to hand an empty run to the threads of the pool, and to wake them first, beside doing it alone.

use fieldstone_device::Pool;
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 2000;

/// Median nanoseconds of a run with `threads` threads, each after `pause`.
fn cost(pool: &Pool, threads: usize, pause: Duration) -> u128 {
    let rounds = if pause.is_zero() { ROUNDS } else { ROUNDS / 10 };
    let mut times: Vec<_> = (0..rounds)
        .map(|_| {
            std::thread::sleep(pause);
            let start = Instant::now();
            pool.run(threads, threads, &|worker, begin, end| {
                black_box((worker, begin, end));
            });
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let pool = Pool::global();
    let alone = cost(pool, 1, Duration::ZERO).max(1);
    println!("{} threads", pool.threads());
    for (name, pause) in [
        ("awake", Duration::ZERO),
        ("asleep", Duration::from_millis(1)),
    ] {
        let shared = cost(pool, pool.threads(), pause);
        println!(
            "workers {name}: {shared} ns, {:.0} times a run alone",
            shared as f64 / alone as f64
        );
    }
}
