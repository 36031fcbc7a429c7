//! One value for all elements of a view.

use crate::copy::check_target;
use crate::loops::Nest;
use crate::share::{Source, Target, Work};
use crate::{StorageError, View, elements, rows};

/// Sets all elements of `target` to the bytes of `element`, with at most `threads` threads.
///
/// # Errors
/// If `element` has not the size of an element, or elements of the target share memory. Nothing has been written then.
///
/// # Safety
/// The target must be memory of the host that can be written, and nobody else may access it meanwhile.
pub unsafe fn fill(target: &View, element: &[u8], threads: usize) -> Result<(), StorageError> {
    if element.len() != target.itemsize() {
        return Err(StorageError::Itemsizes {
            from: element.len(),
            to: target.itemsize(),
        });
    }
    check_target(target)?;
    if target.is_empty() {
        return Ok(());
    }
    let still = vec![0; target.ndim()];
    let nest = Nest::new(target.shape(), &still, target.strides(), target.itemsize());
    let past_caches = Work::Fill.streams(nest.touched(), threads);
    let to = Target(target.pointer().wrapping_offset(nest.target));
    // SAFETY: as the caller says; the source is the element, from which a nest with strides of zero never goes away.
    unsafe {
        match nest.loops.last() {
            Some(inner) if inner.target != nest.itemsize as isize => {
                elements::copy(&nest, Source(element.as_ptr()), to, threads);
            }
            _ => rows::fill(&nest, element, to, threads, past_caches),
        }
    }
    Ok(())
}
