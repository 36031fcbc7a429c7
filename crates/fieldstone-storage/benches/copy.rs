//! Copies and fills beside `memcpy` with all cores, in the same run.
//!
//! Each line gives the best of interleaved repetitions in GB/s (bytes read and bytes written) and the share of what `memcpy` of as
//! many bytes reaches when each core copies its part. `cargo bench -p fieldstone-storage` runs it.

use fieldstone_device::Pool;
use fieldstone_storage::{Allocation, Layout, Spec, View, copy, fill};
use std::time::Instant;

const ROUNDS: usize = 41;

struct Case {
    name: &'static str,
    /// Bytes that are moved.
    bytes: usize,
    run: Box<dyn Fn()>,
}

fn field(shape: &[usize], itemsize: usize, ranks: &[usize], alignment: usize) -> View {
    let spec = Spec {
        shape: shape.into(),
        itemsize,
        layout: Layout::new(ranks.to_vec()).expect("a permutation"),
        alignment,
        aligned_index: vec![0; shape.len()].into(),
    };
    let (_, view) = Allocation::zeroed(&spec).expect("memory");
    let one = vec![1; itemsize];
    // SAFETY: nobody else knows the view.
    unsafe { fill(&view, &one, Pool::global().threads()) }.expect("a view that can be filled");
    view
}

fn copying(name: &'static str, source: View, target: View) -> Case {
    let bytes = 2 * target.len() * target.itemsize();
    let threads = Pool::global().threads();
    let run = Box::new(move || {
        // SAFETY: one run at a time uses these views.
        unsafe { copy(&source, &target, threads) }.expect("views that fit");
    });
    Case { name, bytes, run }
}

fn filling(name: &'static str, target: View) -> Case {
    let bytes = target.len() * target.itemsize();
    let threads = Pool::global().threads();
    let element = (1..=target.itemsize() as u8).collect::<Vec<_>>();
    let run = Box::new(move || {
        // SAFETY: one run at a time uses this view.
        unsafe { fill(&target, &element, threads) }.expect("a view that can be filled");
    });
    Case { name, bytes, run }
}

fn memcpy(source: View, target: View) -> Case {
    let bytes = target.len() * target.itemsize();
    let run = Box::new(move || {
        let pool = Pool::global();
        let (source, target) = (&source, &target);
        pool.run(bytes, pool.threads(), &|_, begin, end| {
            // SAFETY: both views are contiguous and that long.
            unsafe {
                let from = source.pointer().add(begin);
                target
                    .pointer()
                    .add(begin)
                    .copy_from_nonoverlapping(from, end - begin);
            }
        });
    });
    Case {
        name: "memcpy on each core",
        bytes: 2 * bytes,
        run,
    }
}

fn cases(shape: &[usize; 3]) -> Vec<Case> {
    let (c, f, jki) = ([0, 1, 2], [2, 1, 0], [2, 0, 1]);
    let packed = |itemsize| field(shape, itemsize, &c, 1);
    let odd = |view: View| view.slice(0, 1, 1, shape[0] - 1).expect("a slice");
    let bytes = shape.iter().product::<usize>();
    vec![
        memcpy(packed(8), packed(8)),
        copying("same layout, f64", packed(8), packed(8)),
        copying(
            "same layout to padded lines, f64",
            packed(8),
            field(shape, 8, &c, 64),
        ),
        copying(
            "C order to I-contiguous, f64",
            packed(8),
            field(shape, 8, &f, 64),
        ),
        copying(
            "C order to I-contiguous, f32",
            packed(4),
            field(shape, 4, &f, 64),
        ),
        copying(
            "C order to I-contiguous, c128",
            packed(16),
            field(shape, 16, &f, 64),
        ),
        copying(
            "C order to I-contiguous, i16",
            packed(2),
            field(shape, 2, &f, 64),
        ),
        copying(
            "I-contiguous to C order, f64",
            field(shape, 8, &f, 64),
            packed(8),
        ),
        copying(
            "C order to J, K, I, f64",
            packed(8),
            field(shape, 8, &jki, 64),
        ),
        copying(
            "C order to Fortran order, f64",
            packed(8),
            field(shape, 8, &f, 1),
        ),
        copying(
            "unaligned target, f64",
            odd(packed(8)),
            odd(field(shape, 8, &f, 64)),
        ),
        copying(
            "matrix transposition, f64",
            field(&[shape[0], bytes / shape[0]], 8, &[0, 1], 1),
            field(&[shape[0], bytes / shape[0]], 8, &[1, 0], 1),
        ),
        filling("fill, f64", packed(8)),
        filling("fill of padded lines, f32", field(shape, 4, &c, 64)),
    ]
}

fn main() {
    println!("{} threads", Pool::global().threads());
    for shape in [[32, 32, 80], [64, 64, 80], [256, 256, 80], [261, 259, 83]] {
        let cases = cases(&shape);
        let mut times = vec![Vec::new(); cases.len()];
        for _ in 0..ROUNDS {
            for (case, times) in cases.iter().zip(&mut times) {
                let start = Instant::now();
                (case.run)();
                times.push(start.elapsed().as_secs_f64());
            }
        }
        println!("{shape:?}");
        let mut unit = f64::NAN;
        for (case, mut times) in cases.iter().zip(times) {
            times.sort_by(f64::total_cmp);
            let rate = case.bytes as f64 / times[0] / 1e9;
            if unit.is_nan() {
                unit = rate;
            }
            println!(
                "  {:<36} {rate:6.1} GB/s  {:5.2} of memcpy",
                case.name,
                rate / unit
            );
        }
    }
}
