//! The memory of an object with a buffer (PEP 3118), without its elements.

use std::mem::MaybeUninit;
use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

/// Memory that a buffer is in.
pub struct Bytes<'py> {
    /// Its addresses; if it is not contiguous, only the first is right.
    pub range: Range<usize>,
    /// Whether it must not be written.
    pub readonly: bool,
    /// Whether elements follow each other without gaps, in C's order.
    pub contiguous: bool,
    /// Keeps it where it is.
    pub holder: Bound<'py, PyMemoryView>,
}

impl<'py> Bytes<'py> {
    /// The memory of an object's buffer.
    ///
    /// # Errors
    ///
    /// If it has none.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        // Most objects that are asked have none, and Python's error for that takes long to make.
        // SAFETY: the object is alive and the interpreter attached.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Err(PyTypeError::new_err("the object has no buffer"));
        }
        let holder = PyMemoryView::from(object)?;
        let mut buffer = MaybeUninit::<ffi::Py_buffer>::zeroed();
        // SAFETY: the interpreter fills the buffer in if it does not fail. The holder keeps the memory when it is released.
        unsafe {
            if ffi::PyObject_GetBuffer(holder.as_ptr(), buffer.as_mut_ptr(), ffi::PyBUF_FULL_RO)
                != 0
            {
                return Err(PyErr::fetch(py));
            }
            let buffer = buffer.assume_init_mut();
            let start = buffer.buf.addr();
            let contiguous = ffi::PyBuffer_IsContiguous(buffer, b'C' as std::ffi::c_char) != 0;
            let bytes = Self {
                range: start..start.saturating_add_signed(buffer.len),
                readonly: buffer.readonly != 0,
                contiguous,
                holder: holder.clone(),
            };
            ffi::PyBuffer_Release(buffer);
            Ok(bytes)
        }
    }

    /// Whether there are elements, but at no address.
    pub fn is_nowhere(&self) -> bool {
        self.range.start == 0 && !self.range.is_empty()
    }
}
