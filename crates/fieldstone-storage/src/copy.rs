//! Copies between views of any layouts, with all cores.
//!
//! The elements are visited in the order of the target's memory. Three cases, decided by the innermost loops once everything that
//! can be one loop is one:
//!
//! * *rows*: runs of bytes that are contiguous on both sides;
//! * *transposition*: the axis that is contiguous in the target is another one than in the source; blocks are transposed in registers;
//! * anything else: element by element, in tiles that keep both sides in cache.

use crate::loops::Nest;
use crate::share::{Source, Target};
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
    let from = source.pointer().wrapping_offset(nest.source);
    let to = target.pointer().wrapping_offset(nest.target);
    let unit = nest.itemsize as isize;
    // SAFETY: as the caller says; the nest visits elements of the views only.
    unsafe {
        match nest.loops.last() {
            Some(inner) if (inner.source, inner.target) != (unit, unit) => {
                tiles::copy(&nest, Source(from), Target(to), threads);
            }
            _ => rows::copy(&nest, Source(from), Target(to), threads),
        }
    }
}
