//! Copies between views of any layouts, with all cores.
//!
//! Three cases, decided by the innermost loops once everything that can be one loop is one:
//!
//! * *rows*: runs of bytes that are contiguous on both sides;
//! * *transposition*: the axis that is contiguous in the target is another one than in the source; blocks are transposed in registers;
//! * anything else: element by element, in tiles that keep both sides in cache.
//!
//! What does not fit the caches is written past them, by the first two.

use crate::loops::Nest;
use crate::share::{Source, Target, Work};
use crate::transposition::Transposition;
use crate::{Allocation, Spec, StorageError, View, elements, rows};

/// Copies all elements of `source` to `target`, which has the same shape, with at most `threads` threads.
///
/// The views may overlap in any way: the target then holds what the source held before.
///
/// # Errors
/// If shapes or element sizes differ, or elements of the target share memory with each other. Nothing has been written then.
///
/// # Safety
/// Both views must be memory of the host that can be read, the target's also written, and nobody else may write to
/// either or read the target meanwhile.
pub unsafe fn copy(source: &View, target: &View, threads: usize) -> Result<(), StorageError> {
    check(source, target)?;
    if target.is_empty() || is_same(source, target) {
        return Ok(());
    }
    if source.overlaps(target) {
        let mut spec = Spec::packed(target.shape().to_vec(), target.itemsize());
        spec.layout = source.layout();
        let (_, between) = Allocation::new(&spec)?;
        // SAFETY: as the caller says, and nobody else knows the memory between.
        unsafe {
            copy_apart(source, &between, threads);
            copy_apart(&between, target, threads);
        }
    } else {
        // SAFETY: as the caller says; the views are apart.
        unsafe { copy_apart(source, target, threads) };
    }
    Ok(())
}

fn check(source: &View, target: &View) -> Result<(), StorageError> {
    if source.shape() != target.shape() {
        return Err(StorageError::Shapes {
            from: source.shape().to_vec(),
            to: target.shape().to_vec(),
        });
    }
    if source.itemsize() != target.itemsize() {
        return Err(StorageError::Itemsizes {
            from: source.itemsize(),
            to: target.itemsize(),
        });
    }
    check_target(target)
}

/// Refuses a target whose elements share memory.
pub(crate) fn check_target(target: &View) -> Result<(), StorageError> {
    if target.shares_elements() {
        return Err(StorageError::SharedElements {
            shape: target.shape().to_vec(),
            strides: target.strides().to_vec(),
        });
    }
    Ok(())
}

fn is_same(source: &View, target: &View) -> bool {
    source.pointer() == target.pointer() && source.strides() == target.strides()
}

/// # Safety
/// As for [`copy`], and the views must not overlap.
unsafe fn copy_apart(source: &View, target: &View, threads: usize) {
    let nest = Nest::new(
        source.shape(),
        source.strides(),
        target.strides(),
        target.itemsize(),
    );
    let past_caches = |work: Work| work.streams(nest.touched(), threads);
    // SAFETY: as the caller says.
    unsafe { follow(&nest, source, target, threads, &past_caches) };
}

/// # Safety
/// As for [`copy_apart`]; the nest is that of these views.
unsafe fn follow(
    nest: &Nest,
    source: &View,
    target: &View,
    threads: usize,
    past_caches: &dyn Fn(Work) -> bool,
) {
    let from = source.pointer().wrapping_offset(nest.source);
    let to = target.pointer().wrapping_offset(nest.target);
    let unit = nest.itemsize as isize;
    let contiguous = nest
        .loops
        .last()
        .is_none_or(|inner| (inner.source, inner.target) == (unit, unit));
    let planes = Transposition::of(nest).filter(|_| !contiguous);
    let (from, to) = (Source(from), Target(to));
    // SAFETY: as the caller says; the nest visits elements of the views only.
    unsafe {
        match planes {
            _ if contiguous => rows::copy(nest, from, to, threads, past_caches(Work::Rows)),
            Some(planes) if planes.is_dense() && past_caches(Work::Planes) => {
                planes.copy_past(from, to, threads);
            }
            Some(planes) => planes.copy(from, to, threads),
            None => elements::copy(nest, from, to, threads),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, PerAxis};
    use proptest::prelude::*;

    /// A view of memory whose bytes all differ from their neighbours, in any layout.
    fn view(shape: &[usize], itemsize: usize, ranks: &[usize], alignment: usize) -> View {
        let spec = Spec {
            shape: shape.into(),
            itemsize,
            layout: Layout::new(ranks).unwrap(),
            alignment,
            aligned_index: PerAxis::from_elem(0, shape.len()),
        };
        let (buffer, view) = Allocation::new(&spec).unwrap();
        for n in 0..buffer.bytes() {
            // SAFETY: within the buffer.
            unsafe { buffer.pointer().add(n).write((n * 7 + n / 251) as u8) };
        }
        view
    }

    /// The same, of an array with `cut` more elements before and behind it along each axis.
    fn part(shape: &[usize], itemsize: usize, layout: &(Vec<usize>, usize), cut: usize) -> View {
        let full: Vec<usize> = shape.iter().map(|size| size + 2 * cut).collect();
        let mut part = view(&full, itemsize, &layout.0, layout.1);
        for (axis, &size) in shape.iter().enumerate() {
            part = part.slice(axis, cut, 1, size).unwrap();
        }
        part
    }

    fn bytes(view: &View) -> Vec<u8> {
        let buffer = view.owner().unwrap();
        // SAFETY: the buffer is that long, and nobody writes to it meanwhile.
        unsafe { std::slice::from_raw_parts(buffer.pointer(), buffer.bytes()) }.to_vec()
    }

    fn elements(view: &View) -> Vec<&[u8]> {
        let mut addresses = vec![view.pointer()];
        for (&size, &stride) in view.shape().iter().zip(view.strides()) {
            let step = |&at: &*mut u8| {
                (0..size as isize).map(move |index| at.wrapping_offset(index * stride))
            };
            addresses = addresses.iter().flat_map(step).collect();
        }
        let element = |&at: &*mut u8| {
            // SAFETY: an element of a view that owns its memory.
            unsafe { std::slice::from_raw_parts(at, view.itemsize()) }
        };
        addresses.iter().map(element).collect()
    }

    fn layouts(ndim: usize) -> impl Strategy<Value = (Vec<usize>, usize)> {
        (
            Just((0..ndim).collect::<Vec<_>>()).prop_shuffle(),
            prop::sample::select(vec![1usize, 16, 64]),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// Whether a copy goes past the caches depends on its size elsewhere; here small ones do too.
        #[test]
        fn all_layouts_are_copied_through_and_past_the_caches(
            (shape, from, to) in (0usize..5).prop_flat_map(|ndim| {
                let sizes = prop::sample::select(vec![1usize, 2, 3, 5, 6, 8, 13, 16, 32, 40, 129, 515]);
                (prop::collection::vec(sizes, ndim), layouts(ndim), layouts(ndim))
            }).prop_filter("small", |(shape, ..)| shape.iter().product::<usize>() <= 80_000),
            cut in prop::collection::vec(0usize..2, 2),
            itemsize in prop::sample::select(vec![1usize, 2, 3, 4, 8, 12, 16]),
            threads in 1usize..4,
            past_caches: bool,
        ) {
            let source = part(&shape, itemsize, &from, cut[0]);
            let target = part(&shape, itemsize, &to, cut[1]);
            check_copy(&source, &target, threads, past_caches);
        }
    }

    /// Copies, and compares all memory of the target.
    fn check_copy(source: &View, target: &View, threads: usize, past_caches: bool) {
        let buffer = target.owner().unwrap();
        // SAFETY: the buffer is that long, and nobody else uses it.
        unsafe { buffer.pointer().write_bytes(170, buffer.bytes()) };
        let mut expected = bytes(target);
        let strides = (source.strides(), target.strides());
        let nest = Nest::new(source.shape(), strides.0, strides.1, source.itemsize());
        // SAFETY: both views own their memory.
        unsafe { follow(&nest, source, target, threads, &|_| past_caches) };
        for (from, to) in elements(source).into_iter().zip(elements(target)) {
            let place = to.as_ptr().addr() - buffer.pointer().addr();
            expected[place..][..from.len()].copy_from_slice(from);
        }
        let context = (source.shape(), strides, source.itemsize());
        assert!(
            bytes(target) == expected,
            "{context:?}, {threads}, {past_caches}"
        );
    }

    #[test]
    fn threads_take_parts_of_large_copies_from_each_other() {
        let shape = [130, 41, 55];
        for (from, to) in [
            ([0, 1, 2], [0, 1, 2]),
            ([2, 1, 0], [0, 1, 2]),
            ([1, 0, 2], [2, 0, 1]),
        ] {
            for (cut, past_caches) in [(0, false), (1, false), (0, true), (1, true)] {
                let source = part(&shape, 8, &(from.to_vec(), 64), cut);
                let target = part(&shape, 8, &(to.to_vec(), 1), cut);
                check_copy(&source, &target, 3, past_caches);
            }
        }
    }

    /// Few of them at a time, as their lines displace each other.
    #[test]
    fn rows_that_are_pages_apart_become_columns() {
        for rows in [5, 16, 37, 130] {
            for (itemsize, inner) in [(1, 64), (4, 16), (8, 8), (16, 4)] {
                for threads in [1, 3] {
                    let shape = [rows, 64, inner];
                    let source = view(&shape, itemsize, &[0, 1, 2], 1);
                    let target = view(&shape, itemsize, &[2, 1, 0], 1);
                    assert_eq!(source.strides()[0], 4096);
                    check_copy(&source, &target, threads, false);
                }
            }
        }
    }

    #[test]
    fn rows_of_whole_lines_are_written_in_any_order() {
        for (from, to) in [([1, 0, 2], [0, 1, 2]), ([0, 1, 2], [1, 0, 2])] {
            for (size, threads) in [(16, 1), (16, 3), (24, 3)] {
                let source = part(&[90, 70, size], 8, &(from.to_vec(), 64), 0);
                let target = part(&[90, 70, size], 8, &(to.to_vec(), 64), 0);
                check_copy(&source, &target, threads, true);
                let repeated = part(&[1, 70, size], 8, &(from.to_vec(), 64), 0);
                check_copy(
                    &repeated.broadcast(&[90, 70, size]).unwrap(),
                    &target,
                    threads,
                    true,
                );
            }
        }
    }

    #[test]
    fn lines_that_rows_share_are_written_once_and_completely() {
        for (shape, from, to, itemsize) in [
            // Elements longer than a line: the next row of a part of the first axis begins within one.
            ([32, 16, 2], [2, 0, 1], [2, 1, 0], 4),
            // Rows in several parts, whose last is followed by the next row.
            ([129, 2, 2], [1, 2, 0], [2, 0, 1], 16),
            ([515, 5, 7], [0, 1, 2], [2, 1, 0], 8),
            // Rows of less than a line.
            ([3, 50, 40], [0, 2, 1], [2, 1, 0], 4),
            ([5, 31, 33], [0, 1, 2], [2, 0, 1], 2),
        ] {
            for (cut_from, cut_to) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                for alignment in [1, 16, 64] {
                    let source = part(&shape, itemsize, &(from.to_vec(), alignment), cut_from);
                    let target = part(&shape, itemsize, &(to.to_vec(), alignment), cut_to);
                    check_copy(&source, &target, 2, true);
                }
            }
        }
    }
}
