//! How far functions of 32 bits are from exact values: at numbers all over the type, or at every one of them.
//!
//! `FIELDSTONE_STEP=1 cargo test --release -p fieldstone-codegen --test accuracy -- --nocapture` looks at all 2^32 numbers,
//! which takes one to seven minutes of one core for each function and most of an hour for all, and prints the largest distance
//! that each function has; `FIELDSTONE_FUNCTIONS` names those to look at. What is exact is taken from the C library's functions
//! of 64 bits, which are off by a few units of their last digit, so by less than 10^-7 of one of 32 bits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use fieldstone_codegen::transcendental::of_single;
use fieldstone_stencil::ir::Builtin;

/// Numbers that are left out between two that are looked at, where nobody says more; prime.
const STEP: u64 = 40_009;

/// Numbers that a thread takes at once.
const SHARE: u64 = 1 << 22;

macro_rules! functions_of_c {
    ($($name:ident)*) => {
        // SAFETY: these are functions of the C library with these signatures, and have no effects.
        unsafe extern "C" {
            $(safe fn $name(x: f64) -> f64;)*
        }
    };
}

functions_of_c! {
    exp log log10 cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc tgamma
}

/// With the largest distance in units of the last digit.
const FUNCTIONS: [(Builtin, extern "C" fn(f64) -> f64, f64); 19] = [
    (Builtin::Exp, exp, 0.9),
    (Builtin::Log, log, 0.8),
    (Builtin::Log10, log10, 0.8),
    (Builtin::Cbrt, cbrt, 0.8),
    (Builtin::Sin, sin, 0.8),
    (Builtin::Cos, cos, 0.8),
    (Builtin::Tan, tan, 1.0),
    (Builtin::Asin, asin, 0.8),
    (Builtin::Acos, acos, 0.8),
    (Builtin::Atan, atan, 1.0),
    (Builtin::Sinh, sinh, 1.0),
    (Builtin::Cosh, cosh, 1.0),
    (Builtin::Tanh, tanh, 1.0),
    (Builtin::Asinh, asinh, 0.8),
    (Builtin::Acosh, acosh, 0.8),
    (Builtin::Atanh, atanh, 0.8),
    (Builtin::Erf, erf, 1.0),
    (Builtin::Erfc, erfc, 0.6),
    (Builtin::Gamma, tgamma, 0.6),
];

/// The largest distance that a function was seen to have.
#[derive(Clone, Copy, Default)]
struct Worst {
    units: f64,
    at: f32,
}

impl Worst {
    fn or(self, other: Worst) -> Worst {
        if other.units > self.units {
            other
        } else {
            self
        }
    }
}

/// Units of the last digit between a number of 32 bits and the exact value; infinite where they are not of one kind.
fn distance(found: f32, exact: f64) -> f64 {
    if exact.is_nan() || found.is_nan() {
        let both = exact.is_nan() && found.is_nan();
        return if both { 0.0 } else { f64::INFINITY };
    }
    let same_sign = exact.is_sign_negative() == found.is_sign_negative();
    if (found == 0.0 || exact.is_infinite()) && !same_sign {
        return f64::INFINITY;
    }
    // What is too large is infinity, which stands where the next number would.
    let beyond = f64::from(f32::MAX) + f64::from_bits((1023 + 104) << 52);
    let of_found = f64::from(found).clamp(-beyond, beyond);
    let exact = exact.clamp(-beyond, beyond);
    let exponent = (exact.abs().to_bits() >> 52).max(1023 - 126);
    (of_found - exact).abs() * f64::from_bits((2 * 1023 + 23 - exponent) << 52)
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn functions_of_32_bits_are_within_a_unit() {
    let step = setting("FIELDSTONE_STEP").map_or(STEP, |text| text.parse().expect("a number"));
    let wanted = setting("FIELDSTONE_FUNCTIONS");
    for (builtin, exact, most) in FUNCTIONS {
        let names = wanted.as_deref().unwrap_or(builtin.name()).split(',');
        if !names.into_iter().any(|name| name == builtin.name()) {
            continue;
        }
        let function = of_single(builtin).expect("a function of one number");
        let worst = largest(step, &|x| distance(function(x), exact(f64::from(x))));
        println!("{}: {:.4} at {:e}", builtin.name(), worst.units, worst.at);
        assert!(
            worst.units <= most,
            "{} is off by {} at {:e}",
            builtin.name(),
            worst.units,
            worst.at
        );
    }
}

/// The largest distance at all numbers, or at every so many of them.
fn largest(step: u64, distance: &(impl Fn(f32) -> f64 + Sync)) -> Worst {
    let next = AtomicU64::new(0);
    let share = SHARE.div_ceil(step) * step;
    let work = || {
        let mut worst = Worst::default();
        loop {
            let first = next.fetch_add(share, Ordering::Relaxed);
            if first > u64::from(u32::MAX) {
                return worst;
            }
            let last = (first + share).min(1 << 32);
            for bits in (first..last).step_by(step as usize) {
                let at = f32::from_bits(bits as u32);
                let units = distance(at);
                worst = worst.or(Worst { units, at });
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let all = all.into_iter().map(|thread| thread.join().unwrap());
        all.fold(Worst::default(), Worst::or)
    })
}
