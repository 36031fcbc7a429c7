//! Copies between views of any layouts, with all cores.
//!
//! The elements are visited in the order of the target's memory. Three cases, decided by the innermost loops once everything that
//! can be one loop is one:
//!
//! * *rows*: runs of bytes that are contiguous on both sides;
//! * *transposition*: the axis that is contiguous in the target is another one than in the source; blocks are transposed in registers;
//! * anything else: element by element, in tiles that keep both sides in cache.

use crate::loops::Nest;
use crate::share::{Source, Target, streams};
use crate::{Allocation, Spec, StorageError, View, rows, tiles};

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
    let past_caches = streams(nest.touched(), threads);
    // SAFETY: as the caller says.
    unsafe { follow(&nest, source, target, threads, past_caches) };
}

/// # Safety
/// As for [`copy_apart`]; the nest is that of these views.
unsafe fn follow(nest: &Nest, source: &View, target: &View, threads: usize, past_caches: bool) {
    let from = source.pointer().wrapping_offset(nest.source);
    let to = target.pointer().wrapping_offset(nest.target);
    let unit = nest.itemsize as isize;
    // SAFETY: as the caller says; the nest visits elements of the views only.
    unsafe {
        match nest.loops.last() {
            Some(inner) if (inner.source, inner.target) != (unit, unit) => {
                tiles::copy(nest, Source(from), Target(to), threads, past_caches);
            }
            _ => rows::copy(nest, Source(from), Target(to), threads, past_caches),
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
                let sizes = prop::sample::select(vec![1usize, 2, 3, 8, 13, 16, 32, 40, 129]);
                (prop::collection::vec(sizes, ndim), layouts(ndim), layouts(ndim))
            }).prop_filter("small", |(shape, ..)| shape.iter().product::<usize>() <= 80_000),
            itemsize in prop::sample::select(vec![1usize, 2, 3, 4, 8, 16]),
            threads in 1usize..4,
            past_caches: bool,
        ) {
            let source = view(&shape, itemsize, &from.0, from.1);
            let target = view(&shape, itemsize, &to.0, to.1);
            let nest = Nest::new(&shape, source.strides(), target.strides(), itemsize);
            // SAFETY: both views own their memory.
            unsafe { follow(&nest, &source, &target, threads, past_caches) };
            prop_assert!(elements(&source) == elements(&target));
        }
    }
}
