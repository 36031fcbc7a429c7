//! Memory that is lent to another library.

use std::ffi::c_void;

use fieldstone_storage::View;
use numpy::PyArrayDescr;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::{DataType, Device, Managed, Tensor, release};

/// Memory to be lent.
pub struct Loan<'a, 'py> {
    /// The memory.
    pub view: &'a View,
    /// Type of the elements.
    pub dtype: &'a Bound<'py, PyArrayDescr>,
    /// Where the memory is.
    pub device: Device,
    /// [`READ_ONLY`](super::READ_ONLY), [`IS_COPIED`](super::IS_COPIED)
    pub flags: u64,
    /// What keeps the memory alive where the view does not.
    pub keeper: Option<Py<PyAny>>,
}

/// One entry per axis; most fields have no more axes.
type PerAxis = SmallVec<[i64; 4]>;

/// What a consumer holds until it calls the deleter.
#[repr(C)]
struct Lent<M> {
    /// First, so that its address is that of the whole.
    managed: M,
    shape: PerAxis,
    strides: PerAxis,
    _view: View,
    keeper: Option<Py<PyAny>>,
}

impl<M> Drop for Lent<M> {
    fn drop(&mut self) {
        // A deleter is called from any thread. When the interpreter is gone already, so is the object.
        if let Some(keeper) = self.keeper.take() {
            let mut keeper = Some(keeper);
            if Python::try_attach(|_| drop(keeper.take())).is_none() {
                std::mem::forget(keeper);
            }
        }
    }
}

impl<'py> Loan<'_, 'py> {
    /// A capsule with the structure `M`. Who takes it returns it by the deleter, from any thread and at any time.
    ///
    /// # Errors
    ///
    /// If DLPack cannot describe the memory.
    pub fn capsule<M: Managed>(self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.dtype.py();
        let strides = self.strides()?;
        let mut lent = Box::new(Lent {
            managed: M::new(self.tensor()?, self.flags, delete::<M>),
            shape: self.view.shape().iter().map(|&size| size as i64).collect(),
            strides,
            _view: self.view.clone(),
            keeper: self.keeper,
        });
        // Lists this short are in the box itself, so that their addresses are known only now.
        let (shape, strides) = (lent.shape.as_mut_ptr(), lent.strides.as_mut_ptr());
        let tensor = lent.managed.tensor();
        (tensor.shape, tensor.strides) = (shape, strides);
        let lent = Box::into_raw(lent);
        // SAFETY: the capsule's destructor or whoever takes the tensor out of it frees the box.
        unsafe {
            let capsule = ffi::PyCapsule_New(lent.cast(), M::NAME.as_ptr(), Some(discard::<M>));
            if capsule.is_null() {
                drop(Box::from_raw(lent));
            }
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }

    fn tensor(&self) -> PyResult<Tensor> {
        let dtype = DataType::of(self.dtype).ok_or_else(|| {
            PyBufferError::new_err(format!("DLPack has no elements of type {}", self.dtype))
        })?;
        let data = if self.view.is_empty() {
            std::ptr::null_mut()
        } else {
            self.view.pointer().cast::<c_void>()
        };
        Ok(Tensor {
            data,
            device: self.device,
            ndim: self.view.ndim() as i32,
            dtype,
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        })
    }

    /// The strides in elements. Those that mean nothing, along an axis of one point, are made up.
    fn strides(&self) -> PyResult<PerAxis> {
        let view = self.view;
        let itemsize = view.itemsize() as isize;
        let mut strides = PerAxis::from_elem(1, view.ndim());
        let mut covered = 1_i64;
        for axis in (0..view.ndim()).rev() {
            let (size, stride) = (view.shape()[axis], view.strides()[axis]);
            if size <= 1 || view.is_empty() {
                strides[axis] = covered;
                continue;
            }
            if stride % itemsize != 0 {
                return Err(PyBufferError::new_err(format!(
                    "DLPack counts strides in elements, but along axis {axis} the elements of {itemsize} bytes are {stride} \
                     bytes apart; export a copy"
                )));
            }
            strides[axis] = (stride / itemsize) as i64;
            covered = strides[axis].saturating_mul(size as i64);
        }
        Ok(strides)
    }
}

/// The deleter of a tensor that was lent.
unsafe extern "C" fn delete<M>(managed: *mut M) {
    // SAFETY: the tensor is the start of the box that was made for it, and a consumer returns it once.
    drop(unsafe { Box::from_raw(managed.cast::<Lent<M>>()) });
}

/// The destructor of a capsule, which still has its tensor if nobody took it.
unsafe extern "C" fn discard<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of this name holds a tensor of ours that nobody has taken.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) != 0 {
            release(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast::<M>());
        }
    }
}
