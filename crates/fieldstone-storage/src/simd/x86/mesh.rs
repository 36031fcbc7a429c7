//! Few long rows that are interleaved, or taken apart again.

use crate::simd::mesh::{Mesh, Weave};
use std::arch::x86_64::*;

/// With AVX-512.
pub(super) fn weave(itemsize: usize) -> Option<Weave> {
    match itemsize {
        1 if is_x86_feature_detected!("avx512vbmi") => Some(weave_1),
        2 => Some(weave_2),
        4 => Some(weave_4),
        8 => Some(weave_8),
        _ => None,
    }
}

macro_rules! weave {
    ($name:ident, $feature:literal, $mask:ty, $permute:ident) => {
        /// # Safety
        /// As for every [`Weave`], and the processor must have the features.
        #[target_feature(enable = $feature)]
        unsafe fn $name(mesh: &Mesh, source: *const u8, target: *mut u8, stream: bool) {
            let Mesh {
                picks,
                masks,
                sources,
                targets,
                ..
            } = mesh;
            let count = sources.len();
            // Loops by numbers: iterators over two slices would not be inlined here.
            for block in 0..mesh.blocks as isize {
                let from = source.wrapping_offset(block * mesh.source_step);
                let to = target.wrapping_offset(block * mesh.target_step);
                let mut held = [_mm512_setzero_si512(); Mesh::MOST];
                for other in 0..count {
                    let from = from.wrapping_offset(sources[other]).cast();
                    // SAFETY: the line is within what the caller vouches for.
                    held[other] = unsafe { _mm512_loadu_si512(from) };
                }
                for line in 0..count {
                    let mut value = _mm512_setzero_si512();
                    for other in 0..count {
                        let pick = line * count + other;
                        // SAFETY: a pick has as many bytes.
                        let lanes = unsafe { _mm512_load_si512(picks[pick].0.as_ptr().cast()) };
                        // Not one permutation after the other.
                        let picked = $permute(masks[pick] as $mask, lanes, held[other]);
                        value = _mm512_or_si512(value, picked);
                    }
                    let to = to.wrapping_offset(targets[line]);
                    // SAFETY: as above.
                    unsafe {
                        if stream {
                            _mm512_stream_si512(to.cast(), value);
                        } else {
                            _mm512_storeu_si512(to.cast(), value);
                        }
                    }
                }
            }
        }
    };
}

weave!(
    weave_1,
    "avx512f,avx512vbmi",
    u64,
    _mm512_maskz_permutexvar_epi8
);
weave!(
    weave_2,
    "avx512f,avx512bw",
    u32,
    _mm512_maskz_permutexvar_epi16
);
weave!(weave_4, "avx512f", u16, _mm512_maskz_permutexvar_epi32);
weave!(weave_8, "avx512f", u8, _mm512_maskz_permutexvar_epi64);
