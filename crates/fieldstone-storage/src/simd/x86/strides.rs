//! Elements at regular distances: those that lie within a line of each other are moved by one permutation of its bytes.

use super::packed::packed;
use super::{LINE, Level};
use crate::loops::Loop;
use crate::simd::{MoveStrided, plain_strided};
use std::arch::x86_64::*;

/// The fastest way for elements at the distances of this inner loop.
pub(super) fn strided(level: Level, inner: Loop, itemsize: usize) -> MoveStrided {
    if let Some(packed) = packed(level, inner, itemsize) {
        packed
    } else if level == Level::Avx512 && is_x86_feature_detected!("avx512vbmi") {
        permuted
    } else {
        plain_strided
    }
}

/// How bytes go from a line of the source to one of the target.
struct Permutation {
    /// So many elements at a time.
    count: usize,
    /// How far the first byte of the source's line is from the first element; not ahead of it.
    first: isize,
    /// For each byte of the target's line the number of the source's.
    picks: [u8; LINE],
    /// Which bytes of both are those of elements.
    read: u64,
    written: u64,
}

impl Permutation {
    /// None where fewer than two elements are within a line on both sides.
    fn of(axis: Loop, itemsize: usize) -> Option<Self> {
        let reach = |stride: isize| match stride.unsigned_abs() {
            0 => axis.size,
            stride => LINE
                .checked_sub(itemsize)
                .map_or(0, |room| room / stride + 1),
        };
        let count = reach(axis.source).min(reach(axis.target)).min(axis.size);
        if count < 2 {
            return None;
        }
        let mut found = Self {
            count,
            first: (axis.source * (count - 1) as isize).min(0),
            picks: [0; LINE],
            read: 0,
            written: 0,
        };
        for n in 0..count as isize {
            let from = (n * axis.source - found.first) as usize;
            let to = (n * axis.target) as usize;
            for byte in 0..itemsize {
                found.picks[to + byte] = (from + byte) as u8;
                found.read |= 1 << (from + byte);
                found.written |= 1 << (to + byte);
            }
        }
        Some(found)
    }
}

/// # Safety
/// As for every [`MoveStrided`], the target's strides being positive, and the processor must have the features.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn permuted(source: *const u8, target: *mut u8, outer: Loop, inner: Loop, itemsize: usize) {
    let Some(permutation) = Permutation::of(inner, itemsize) else {
        // SAFETY: as the caller says.
        return unsafe { plain_strided(source, target, outer, inner, itemsize) };
    };
    let Permutation {
        count,
        first,
        picks,
        read,
        written,
    } = permutation;
    // SAFETY: the picks are a line of bytes.
    let picks = unsafe { _mm512_loadu_si512(picks.as_ptr().cast()) };
    let last = inner.size - count;
    for n in 0..outer.size as isize {
        let from = source.wrapping_offset(n * outer.source + first);
        let to = target.wrapping_offset(n * outer.target);
        for place in (0..inner.size).step_by(count) {
            // The last ones are moved with some that have been moved before.
            let place = place.min(last) as isize;
            // SAFETY: the masks leave nothing but elements.
            unsafe {
                let from = from.wrapping_offset(place * inner.source);
                let line = _mm512_maskz_loadu_epi8(read, from.cast());
                let line = _mm512_permutexvar_epi8(picks, line);
                let to = to.wrapping_offset(place * inner.target);
                _mm512_mask_storeu_epi8(to.cast(), written, line);
            }
        }
    }
}
