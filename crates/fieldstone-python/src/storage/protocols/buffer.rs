//! Python's buffer protocol (PEP 3118).

use std::ffi::{c_char, c_int};

use fieldstone_storage::{Access, PerAxis, Side, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::super::{Handed, Storage};

#[pymethods]
impl Storage {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        buffer: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let exported = Exported::new(&slf, flags)?;
        // SAFETY: the interpreter gives a buffer to be filled in.
        unsafe { exported.fill(slf, buffer, flags) };
        Ok(())
    }

    unsafe fn __releasebuffer__(&self, buffer: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is the box that `__getbuffer__` left there.
        drop(unsafe { Box::from_raw((*buffer).internal.cast::<Exported>()) });
    }
}

/// What a buffer points into while somebody holds it.
struct Exported {
    pointer: *mut u8,
    shape: PerAxis<ffi::Py_ssize_t>,
    strides: PerAxis<ffi::Py_ssize_t>,
    format: Format,
    itemsize: usize,
    /// Of all elements, without what lies between them.
    bytes: usize,
    readonly: bool,
    /// What is to live as long where there is another copy.
    _handed: Option<Py<Handed>>,
}

impl Exported {
    /// Checks that the memory is what the consumer can deal with.
    fn new(storage: &Bound<'_, Storage>, flags: c_int) -> PyResult<Self> {
        let py = storage.py();
        let this = storage.borrow();
        if asks(flags, ffi::PyBUF_WRITABLE) && !this.writeable {
            return Err(PyBufferError::new_err("the storage wraps read-only memory"));
        }
        if !lies_as_asked(&this.view, flags) {
            return Err(PyBufferError::new_err(
                "the strides of the storage are not those that were asked for",
            ));
        }
        if !this.place().has(Side::Host) {
            return Err(PyBufferError::new_err(
                "the storage has its elements on the device only; to_cupy() gives them there",
            ));
        }
        let handed = Storage::leased(storage, Side::Host)?.map(Bound::unbind);
        let view = this.host(py, Access::Read)?;
        Ok(Self {
            _handed: handed,
            pointer: view.pointer(),
            shape: view.shape().iter().map(|&size| size as isize).collect(),
            strides: PerAxis::from_slice(view.strides()),
            format: format_of(this.dtype.bind(py)),
            itemsize: view.itemsize(),
            bytes: view.len() * view.itemsize(),
            readonly: !this.writeable,
        })
    }

    /// # Safety
    ///
    /// `buffer` points to a `Py_buffer` that may be overwritten.
    unsafe fn fill(self, owner: Bound<'_, Storage>, buffer: *mut ffi::Py_buffer, flags: c_int) {
        let mut this = Box::new(self);
        // A buffer without axes has no lists, nor has one whose consumer wants none.
        let list = |flag: c_int, entries: &mut PerAxis<ffi::Py_ssize_t>| {
            if asks(flags, flag) && !entries.is_empty() {
                entries.as_mut_ptr()
            } else {
                std::ptr::null_mut()
            }
        };
        let ndim = if asks(flags, ffi::PyBUF_ND) {
            this.shape.len() as c_int
        } else {
            0
        };
        let format = if asks(flags, ffi::PyBUF_FORMAT) {
            this.format.as_mut_ptr()
        } else {
            std::ptr::null_mut()
        };
        let filled = ffi::Py_buffer {
            buf: this.pointer.cast(),
            obj: owner.into_any().into_ptr(),
            len: this.bytes as ffi::Py_ssize_t,
            itemsize: this.itemsize as ffi::Py_ssize_t,
            readonly: c_int::from(this.readonly),
            ndim,
            format,
            shape: list(ffi::PyBUF_ND, &mut this.shape),
            strides: list(ffi::PyBUF_STRIDES, &mut this.strides),
            suboffsets: std::ptr::null_mut(),
            internal: Box::into_raw(this).cast(),
        };
        // SAFETY: the caller lets the buffer be overwritten. Its pointers lead into the box, which lives until it is released,
        // and to the memory, which the owner keeps alive for as long.
        unsafe { buffer.write(filled) };
    }
}

fn asks(flags: c_int, flag: c_int) -> bool {
    flags & flag == flag
}

/// Whether the strides are those that a consumer can deal with.
fn lies_as_asked(view: &View, flags: c_int) -> bool {
    let c = || is_contiguous(view.shape(), view.strides(), view.itemsize());
    let fortran = || {
        let reversed =
            |entries: &[isize]| -> PerAxis<isize> { entries.iter().rev().copied().collect() };
        let shape: PerAxis<usize> = view.shape().iter().rev().copied().collect();
        is_contiguous(&shape, &reversed(view.strides()), view.itemsize())
    };
    if asks(flags, ffi::PyBUF_C_CONTIGUOUS) {
        c()
    } else if asks(flags, ffi::PyBUF_F_CONTIGUOUS) {
        fortran()
    } else if asks(flags, ffi::PyBUF_ANY_CONTIGUOUS) {
        c() || fortran()
    } else {
        asks(flags, ffi::PyBUF_STRIDES) || c()
    }
}

/// Whether elements follow each other without gaps, the last axis first.
pub fn is_contiguous(shape: &[usize], strides: &[isize], itemsize: usize) -> bool {
    let mut expected = itemsize as isize;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size > 1 && stride != expected {
            return shape.contains(&0);
        }
        expected = expected.wrapping_mul(size.max(1) as isize);
    }
    true
}

/// A text in the language of the `struct` module, which ends with zeros.
type Format = [c_char; 3];

/// The element type.
fn format_of(dtype: &Bound<'_, PyArrayDescr>) -> Format {
    let code = dtype.char();
    let text = match dtype.kind() {
        b'c' => [b'Z', code.to_ascii_lowercase(), 0],
        _ => [code, 0, 0],
    };
    text.map(|byte| byte as c_char)
}
