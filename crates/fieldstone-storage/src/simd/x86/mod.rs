//! SSE2, AVX2 and AVX-512.

mod fills;
mod mesh;
mod packed;
mod rows;
mod strides;
mod transposition;

use crate::loops::Loop;

use super::{FillRows, Gather, Kernel, LINE, MoveRows, MoveStrided};
use std::arch::x86_64::*;
use std::sync::OnceLock;

pub(super) fn fence() {
    // SAFETY: every x86-64 processor has it.
    unsafe { _mm_sfence() };
}

/// Asks for the line of an address, which may be any, in the second-level cache.
#[inline(always)]
pub(super) fn fetch(address: *const u8) {
    // SAFETY: every x86-64 processor has it, and it never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
}

/// What this processor can do.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Sse2,
    Avx2,
    /// With all that the first processors for servers had of it.
    Avx512,
}

fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx512 {
            Level::Avx512
        } else if is_x86_feature_detected!("avx2") {
            Level::Avx2
        } else {
            Level::Sse2
        }
    })
}

#[cfg(test)]
fn levels() -> impl Iterator<Item = Level> {
    let all = [Level::Sse2, Level::Avx2, Level::Avx512];
    all.into_iter().filter(|&each| each <= level())
}

pub(super) fn streaming_rows() -> MoveRows {
    rows::streaming(level())
}

#[cfg(test)]
pub(super) fn all_streaming_rows() -> Vec<MoveRows> {
    levels().map(rows::streaming).collect()
}

pub(super) fn short_rows() -> MoveRows {
    rows::short(level())
}

#[cfg(test)]
pub(super) fn all_short_rows() -> Vec<MoveRows> {
    levels().map(rows::short).collect()
}

pub(super) fn gathered() -> Gather {
    rows::gathered(level())
}

pub(super) fn filled_rows(streaming: bool) -> FillRows {
    fills::rows(level(), streaming)
}

#[cfg(test)]
pub(super) fn all_filled_rows() -> Vec<FillRows> {
    levels()
        .flat_map(|level| [false, true].map(|streaming| fills::rows(level, streaming)))
        .collect()
}

pub(super) fn strided(inner: Loop, itemsize: usize) -> MoveStrided {
    strides::strided(level(), inner, itemsize)
}

#[cfg(test)]
pub(super) fn all_strided(inner: Loop, itemsize: usize) -> Vec<MoveStrided> {
    levels()
        .map(|level| strides::strided(level, inner, itemsize))
        .collect()
}

pub(super) fn transposition(itemsize: usize) -> Option<Kernel> {
    transposition::kernel(level(), itemsize)
}
