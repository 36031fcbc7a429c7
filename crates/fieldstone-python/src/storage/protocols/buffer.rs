//! Python's buffer protocol (PEP 3118).

use std::ffi::{CString, c_int, c_void};

use fieldstone_storage::Side;
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
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
    format: CString,
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
        let this = storage.borrow();
        let asks = |flag: c_int| flags & flag == flag;
        if asks(ffi::PyBUF_WRITABLE) && !this.writeable {
            return Err(PyBufferError::new_err("the storage wraps read-only memory"));
        }
        let view = &this.view;
        let c = is_contiguous(view.shape(), view.strides(), view.itemsize());
        let reversed =
            |entries: &[isize]| -> Vec<isize> { entries.iter().rev().copied().collect() };
        let shape_reversed: Vec<usize> = view.shape().iter().rev().copied().collect();
        let fortran = is_contiguous(&shape_reversed, &reversed(view.strides()), view.itemsize());
        let refused = if asks(ffi::PyBUF_C_CONTIGUOUS) {
            !c
        } else if asks(ffi::PyBUF_F_CONTIGUOUS) {
            !fortran
        } else if asks(ffi::PyBUF_ANY_CONTIGUOUS) {
            !c && !fortran
        } else {
            !asks(ffi::PyBUF_STRIDES) && !c
        };
        if refused {
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
        Ok(Self {
            _handed: handed,
            pointer: view.pointer(),
            shape: view
                .shape()
                .iter()
                .map(|&size| size as ffi::Py_ssize_t)
                .collect(),
            strides: view.strides().to_vec(),
            format: format_of(this.dtype.bind(storage.py()))?,
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
        let asks = |flag: c_int| flags & flag == flag;
        // SAFETY: the pointers lead into the box, which lives until the buffer is released, and to the memory, which
        // the owner keeps alive for as long.
        unsafe {
            (*buffer).buf = this.pointer.cast::<c_void>();
            (*buffer).len = this.bytes as ffi::Py_ssize_t;
            (*buffer).readonly = c_int::from(this.readonly);
            (*buffer).itemsize = this.itemsize as ffi::Py_ssize_t;
            (*buffer).format = if asks(ffi::PyBUF_FORMAT) {
                this.format.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*buffer).ndim = if asks(ffi::PyBUF_ND) {
                this.shape.len() as c_int
            } else {
                0
            };
            // A buffer without axes has no lists, nor has one whose consumer wants none.
            let lists = |flag: c_int, entries: &mut Vec<ffi::Py_ssize_t>| {
                if asks(flag) && !entries.is_empty() {
                    entries.as_mut_ptr()
                } else {
                    std::ptr::null_mut()
                }
            };
            (*buffer).shape = lists(ffi::PyBUF_ND, &mut this.shape);
            (*buffer).strides = lists(ffi::PyBUF_STRIDES, &mut this.strides);
            (*buffer).suboffsets = std::ptr::null_mut();
            (*buffer).internal = Box::into_raw(this).cast();
            (*buffer).obj = owner.into_any().into_ptr();
        }
    }
}

/// Whether elements follow each other without gaps, the last axis first.
pub fn is_contiguous(shape: &[usize], strides: &[isize], itemsize: usize) -> bool {
    let mut expected = itemsize as isize;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size > 1 && stride != expected {
            return shape.contains(&0);
        }
        expected *= size.max(1) as isize;
    }
    true
}

/// The element type in the language of the `struct` module.
fn format_of(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<CString> {
    let code = char::from(dtype.char());
    let text = if dtype.kind() == b'c' {
        format!("Z{}", code.to_ascii_lowercase())
    } else {
        code.to_string()
    };
    Ok(CString::new(text)?)
}
