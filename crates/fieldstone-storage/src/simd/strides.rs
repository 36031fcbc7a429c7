//! Elements at regular distances.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Rows, short_rows};
use crate::loops::Loop;

/// Copies elements of so many bytes at the distances of two loops, the outer one first. Sources must be readable, targets writable,
/// and both apart.
pub(crate) type MoveStrided = unsafe fn(*const u8, *mut u8, Loop, Loop, usize);

/// Copies elements that do not follow each other, or follow each other backwards.
///
/// # Safety
/// As for every [`MoveStrided`].
pub(crate) unsafe fn strided(
    source: *const u8,
    target: *mut u8,
    outer: Loop,
    inner: Loop,
    itemsize: usize,
) {
    #[cfg(target_arch = "x86_64")]
    let move_strided = x86::strided(inner, itemsize);
    #[cfg(not(target_arch = "x86_64"))]
    let move_strided = plain_strided;
    // SAFETY: as the caller says.
    unsafe { move_strided(source, target, outer, inner, itemsize) }
}

/// Copies elements one by one.
///
/// # Safety
/// As for every [`MoveStrided`].
pub(crate) unsafe fn plain_strided(
    source: *const u8,
    target: *mut u8,
    outer: Loop,
    inner: Loop,
    itemsize: usize,
) {
    // SAFETY: as the caller says.
    unsafe {
        match itemsize {
            1 => one_by_one_strided::<u8>(source, target, outer, inner),
            2 => one_by_one_strided::<[u8; 2]>(source, target, outer, inner),
            4 => one_by_one_strided::<[u8; 4]>(source, target, outer, inner),
            8 => one_by_one_strided::<[u8; 8]>(source, target, outer, inner),
            16 => one_by_one_strided::<[u8; 16]>(source, target, outer, inner),
            bytes => {
                let rows = Rows {
                    count: inner.size,
                    bytes,
                    source: inner.source,
                    target: inner.target,
                };
                each(outer, source, target, |from, to| {
                    short_rows()(from, to, rows)
                });
            }
        }
    }
}

/// # Safety
/// As for every [`MoveStrided`], and `T` has the size of an element and no alignment.
unsafe fn one_by_one_strided<T: Copy>(
    source: *const u8,
    target: *mut u8,
    outer: Loop,
    inner: Loop,
) {
    each(outer, source, target, |from, to| {
        each(inner, from, to, |from, to| {
            // SAFETY: both are elements.
            unsafe { to.cast::<T>().write(from.cast::<T>().read()) };
        });
    });
}

#[inline(always)]
fn each(axis: Loop, source: *const u8, target: *mut u8, body: impl Fn(*const u8, *mut u8)) {
    for n in 0..axis.size as isize {
        body(
            source.wrapping_offset(n * axis.source),
            target.wrapping_offset(n * axis.target),
        );
    }
}

/// All ways to copy elements at the distances of this inner loop on this processor.
#[cfg(test)]
fn all_strided(_inner: Loop, _itemsize: usize) -> Vec<MoveStrided> {
    #[cfg(target_arch = "x86_64")]
    let mut all = x86::all_strided(_inner, _itemsize);
    #[cfg(not(target_arch = "x86_64"))]
    let mut all: Vec<MoveStrided> = Vec::new();
    all.push(plain_strided);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_at_distances_are_moved_alone(
            count in 1usize..5, size in 1usize..150, itemsize in 1usize..80, gaps in (0usize..70, 0usize..70), backwards: bool,
            repeated: bool
        ) {
            let (source_step, target_step) = (itemsize + gaps.0, itemsize + gaps.1);
            let source: Vec<u8> = (0..(size + count) * source_step).map(|n| (n * 7 + n / 251) as u8).collect();
            let (first, step) = match (repeated, backwards) {
                (true, _) => (0, 0),
                (_, true) => ((size - 1) * source_step, -(source_step as isize)),
                _ => (0, source_step as isize),
            };
            let outer = Loop { size: count, source: source_step as isize, target: (size * target_step) as isize };
            let inner = Loop { size, source: step, target: target_step as isize };
            let moved = |move_strided: MoveStrided| {
                let mut target = vec![255u8; count * size * target_step];
                // SAFETY: source and target have room for the elements.
                unsafe { move_strided(source[first..].as_ptr(), target.as_mut_ptr(), outer, inner, itemsize) };
                target
            };
            let mut expected = vec![255u8; count * size * target_step];
            for (n, element) in expected.chunks_mut(target_step).enumerate() {
                let from = first as isize + (n / size) as isize * outer.source + (n % size) as isize * step;
                element[..itemsize].copy_from_slice(&source[from as usize..][..itemsize]);
            }
            for move_strided in all_strided(inner, itemsize) {
                prop_assert!(moved(move_strided) == expected);
            }
        }
    }
}
