//! How other libraries see a storage: the array, data and buffer interfaces, DLPack.

use std::ffi::{CString, c_int, c_void};

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Storage, parameters};
use crate::array;

impl Storage {
    /// The memory as a NumPy array that keeps the storage alive.
    pub fn array<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.borrow();
        array::array_of(
            &this.view,
            this.dtype.bind(slf.py()),
            this.writeable,
            slf.clone().into_any(),
        )
    }

    /// The description of the memory that the array interfaces share.
    fn description<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let this = slf.borrow();
        let description = PyDict::new(py);
        description.set_item("shape", PyTuple::new(py, this.view.shape())?)?;
        description.set_item("typestr", this.dtype.bind(py).getattr("str")?)?;
        description.set_item("data", (this.view.pointer().addr(), !this.writeable))?;
        description.set_item("strides", PyTuple::new(py, this.view.strides())?)?;
        description.set_item("version", 3)?;
        Ok(description)
    }
}

#[pymethods]
impl Storage {
    /// Above NumPy's arrays, so that the storage decides how they mix.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: u32 = 10;

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let array = Self::array(slf)?;
        let wanted = dtype
            .map(|dtype| PyArrayDescr::new(py, dtype))
            .transpose()?;
        let wanted = wanted.filter(|wanted| !wanted.is_equiv_to(slf.borrow().dtype.bind(py)));
        match (wanted, copy) {
            (None, Some(true)) => array.call_method1("copy", ("K",)),
            (None, _) => Ok(array),
            (Some(wanted), Some(false)) => Err(PyValueError::new_err(format!(
                "copy=False: elements of type {} cannot be seen as {wanted} without a copy",
                slf.borrow().dtype.bind(py)
            ))),
            (Some(wanted), _) => array.call_method1("astype", (wanted,)),
        }
    }

    /// The memory in NumPy's array interface, version 3.
    #[getter(__array_interface__)]
    fn array_interface<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        Self::description(slf)
    }

    /// The memory per device, with what its axes mean.
    #[getter(__gt_data_interface__)]
    fn data_interface<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let host = Self::description(slf)?;
        let this = slf.borrow();
        if let Some(dims) = this.dims() {
            host.set_item("dims", parameters::dims_tuple(py, dims)?)?;
        }
        host.set_item("halo", PyTuple::new(py, this.halo())?)?;
        host.set_item("acquire", slf.getattr("device_to_host")?)?;
        host.set_item("touch", slf.getattr("set_host_modified")?)?;
        let devices = PyDict::new(py);
        devices.set_item(py.None(), host)?;
        Ok(devices)
    }

    /// The data interface under its older name.
    #[getter(__gt_interface__)]
    fn older_data_interface<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        Self::data_interface(slf)
    }

    /// Labels of the axes; ``None`` if they are known by position only.
    fn __gt_dims__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.dims()
            .map(|dims| parameters::dims_tuple(py, dims))
            .transpose()
    }

    /// Index of the first point of the compute domain where a call does not say otherwise.
    #[getter(__gt_origin__)]
    fn gt_origin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.origin())
    }

    #[pyo3(signature = (**keywords))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.call_method("__dlpack__", (), keywords)
    }

    fn __dlpack_device__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.call_method0("__dlpack_device__")
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Self::array(slf)?.is_truthy()
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.call_method0("__int__")
    }

    fn __float__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.call_method0("__float__")
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.call_method0("__complex__")
    }

    fn __index__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.call_method0("__index__")
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Self::array(slf)?.contains(value)
    }

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
    readonly: bool,
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
        Ok(Self {
            pointer: view.pointer(),
            shape: view
                .shape()
                .iter()
                .map(|&size| size as ffi::Py_ssize_t)
                .collect(),
            strides: view.strides().to_vec(),
            format: format_of(this.dtype.bind(storage.py()))?,
            itemsize: view.itemsize(),
            readonly: !this.writeable,
        })
    }

    /// # Safety
    ///
    /// `buffer` points to a `Py_buffer` that may be overwritten.
    unsafe fn fill(self, owner: Bound<'_, Storage>, buffer: *mut ffi::Py_buffer, flags: c_int) {
        let mut this = Box::new(self);
        let asks = |flag: c_int| flags & flag == flag;
        let size: ffi::Py_ssize_t = this.shape.iter().product();
        // SAFETY: the pointers lead into the box, which lives until the buffer is released, and to the memory, which
        // the owner keeps alive for as long.
        unsafe {
            (*buffer).buf = this.pointer.cast::<c_void>();
            (*buffer).len = size * this.itemsize as ffi::Py_ssize_t;
            (*buffer).readonly = c_int::from(this.readonly);
            (*buffer).itemsize = this.itemsize as ffi::Py_ssize_t;
            (*buffer).format = if asks(ffi::PyBUF_FORMAT) {
                this.format.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            };
            (*buffer).ndim = this.shape.len() as c_int;
            (*buffer).shape = if asks(ffi::PyBUF_ND) {
                this.shape.as_mut_ptr()
            } else {
                std::ptr::null_mut()
            };
            (*buffer).strides = if asks(ffi::PyBUF_STRIDES) {
                this.strides.as_mut_ptr()
            } else {
                std::ptr::null_mut()
            };
            (*buffer).suboffsets = std::ptr::null_mut();
            (*buffer).internal = Box::into_raw(this).cast();
            (*buffer).obj = owner.into_any().into_ptr();
        }
    }
}

/// Whether elements follow each other without gaps, the last axis first.
fn is_contiguous(shape: &[usize], strides: &[isize], itemsize: usize) -> bool {
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
