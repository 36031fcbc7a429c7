//! Elements at small regular distances, or backwards, that follow each other in the target: whole lines of it are picked from as many
//! lines of the source as they are spread over.

use super::{LINE, Level};
use crate::loops::Loop;
use crate::simd::MoveStrided;
use std::arch::x86_64::*;

/// Elements that are this many times their size apart are picked from lines; of lines that hold fewer of them not much is used.
const FARTHEST: usize = 4;

/// To find out what comes from where takes long for the many elements of a line that are smaller than this, and is only worth its
/// while for rows of so many bytes.
const LARGE: usize = 4;
const LONG: usize = 2 * LINE;

/// A function for such elements and distances; none where this is not the way, or not on this processor.
pub(super) fn packed(level: Level, axis: Loop, itemsize: usize) -> Option<MoveStrided> {
    let apart = axis.source.unsigned_abs();
    let follow = axis.target == itemsize as isize && apart.is_multiple_of(itemsize);
    let worth_picks = itemsize >= LARGE || axis.size * itemsize >= LONG;
    if level < Level::Avx512 || !follow || !worth_picks {
        return None;
    }
    macro_rules! of {
        ($name:ident) => {
            match apart / itemsize {
                1 => Some($name::<1>),
                2 => Some($name::<2>),
                3 => Some($name::<3>),
                FARTHEST => Some($name::<FARTHEST>),
                _ => None,
            }
        };
    }
    match itemsize {
        1 if is_x86_feature_detected!("avx512vbmi") => of!(packed_1),
        2 => of!(packed_2),
        4 => of!(packed_4),
        8 => of!(packed_8),
        _ => None,
    }
}

/// How the lines that hold a line of elements become one.
struct Picks {
    /// For each pair of lines and each lane of the target's the number of the lane of the pair, as an integer of an element's size.
    lanes: [[u8; LINE]; FARTHEST / 2],
    /// Which lanes of the target's line are from this pair.
    masks: [u64; FARTHEST / 2],
}

/// Where element `n` of a line of elements is among the lanes of the source's lines.
fn place(n: usize, lanes: usize, apart: usize, backwards: bool) -> usize {
    apart * if backwards { lanes - 1 - n } else { n }
}

impl Picks {
    fn of(itemsize: usize, apart: usize, backwards: bool) -> Self {
        let count = LINE / itemsize;
        let mut found = Self {
            lanes: [[0; LINE]; FARTHEST / 2],
            masks: [0; FARTHEST / 2],
        };
        for n in 0..count {
            let place = place(n, count, apart, backwards);
            let pair = place / (2 * count);
            found.lanes[pair][n * itemsize] = (place % (2 * count)) as u8;
            found.masks[pair] |= 1 << n;
        }
        found
    }
}

/// Which lanes of the source's lines hold the first so many elements of a line of them.
fn read(elements: usize, lanes: usize, apart: usize, backwards: bool) -> [u64; FARTHEST] {
    let mut masks = [0; FARTHEST];
    for n in 0..elements {
        let place = place(n, lanes, apart, backwards);
        masks[place / lanes] |= 1 << (place % lanes);
    }
    masks
}

macro_rules! packed {
    ($name:ident, $feature:literal, $itemsize:literal, $mask:ty, $load:ident, $store:ident, $pick:ident) => {
        /// # Safety
        /// As for every [`MoveStrided`], for an inner loop as [`packed`] says, and the processor must have the features.
        #[target_feature(enable = $feature)]
        unsafe fn $name<const APART: usize>(
            source: *const u8,
            target: *mut u8,
            outer: Loop,
            inner: Loop,
            _: usize,
        ) {
            const LANES: usize = LINE / $itemsize;
            let backwards = inner.source < 0;
            let picks = Picks::of($itemsize, APART, backwards);
            let [low, high] = picks.masks.map(|mask| mask as $mask);
            let lanes = picks.lanes.each_ref();
            // SAFETY: these are lines of bytes.
            let lanes = lanes.map(|lanes| unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) });
            let line = |from: *const u8, read: &[u64; FARTHEST]| {
                let mut lines = [_mm512_setzero_si512(); FARTHEST];
                for n in 0..APART {
                    let from = from.wrapping_add(n * LINE).cast();
                    // SAFETY: the mask leaves nothing but elements.
                    lines[n] = unsafe { $load(read[n] as $mask, from) };
                }
                let found = $pick(low, lines[0], lanes[0], lines[1]);
                if APART > 2 {
                    _mm512_or_si512(found, $pick(high, lines[2], lanes[1], lines[3]))
                } else {
                    found
                }
            };
            let whole = read(LANES, LANES, APART, backwards);
            let rest = inner.size % LANES;
            let part = read(rest, LANES, APART, backwards);
            let step = inner.source * LANES as isize;
            // Lines begin at the lowest of their elements, which going backwards is the last one.
            let first = if backwards { step - inner.source } else { 0 };
            for n in 0..outer.size as isize {
                let mut from = source.wrapping_offset(n * outer.source + first);
                let mut to = target.wrapping_offset(n * outer.target);
                for _ in 0..inner.size / LANES {
                    // SAFETY: the line is within what the caller vouches for.
                    unsafe { _mm512_storeu_si512(to.cast(), line(from, &whole)) };
                    from = from.wrapping_offset(step);
                    to = to.wrapping_add(LINE);
                }
                if rest > 0 {
                    let written = (1u64 << rest) - 1;
                    // SAFETY: as above, for what the mask leaves of it.
                    unsafe { $store(to.cast(), written as $mask, line(from, &part)) };
                }
            }
        }
    };
}

packed!(
    packed_1,
    "avx512f,avx512bw,avx512vbmi",
    1,
    u64,
    _mm512_maskz_loadu_epi8,
    _mm512_mask_storeu_epi8,
    _mm512_maskz_permutex2var_epi8
);
packed!(
    packed_2,
    "avx512f,avx512bw",
    2,
    u32,
    _mm512_maskz_loadu_epi16,
    _mm512_mask_storeu_epi16,
    _mm512_maskz_permutex2var_epi16
);
packed!(
    packed_4,
    "avx512f",
    4,
    u16,
    _mm512_maskz_loadu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_maskz_permutex2var_epi32
);
packed!(
    packed_8,
    "avx512f",
    8,
    u8,
    _mm512_maskz_loadu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_maskz_permutex2var_epi64
);
