//! An object as the field of a stencil call, without an allocation.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Stream};
use fieldstone_stencil::DType;
use fieldstone_storage::{Dim, Side};
use numpy::npyffi::NPY_ARRAY_WRITEABLE;
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::element::data_type;
use super::{Found, Hooks, Memory};
use crate::errors::raise;
use crate::storage::Tracked;

/// Most dimensions an argument may have: three of the grid and the data dimensions.
pub const MAX_RANK: usize = 8;

/// Integers an object gives for its axes.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    values: [isize; MAX_RANK],
    len: usize,
}

impl Numbers {
    /// At most [`MAX_RANK`] integers.
    #[inline]
    pub fn new(given: impl ExactSizeIterator<Item = isize>) -> Self {
        let len = given.len().min(MAX_RANK);
        let mut values = [0; MAX_RANK];
        for (value, given) in values.iter_mut().zip(given) {
            *value = given;
        }
        Numbers { values, len }
    }

    /// The integers.
    pub fn as_slice(&self) -> &[isize] {
        &self.values[..self.len]
    }
}

/// An object as a field. Arrays are in the order of the object's own axes; entries from `rank` on mean nothing.
pub struct Description<'py> {
    /// Address of the element at index 0 of every axis.
    pub pointer: *mut u8,
    /// Number of axes.
    pub rank: usize,
    /// Elements along each axis.
    pub shape: [usize; MAX_RANK],
    /// Bytes from one element to the next.
    pub strides: [isize; MAX_RANK],
    /// Element type, or the object's name of a type that fields cannot have.
    pub dtype: Result<DType, String>,
    /// Whether the memory must not be written.
    pub readonly: bool,
    /// What each axis means, where the object says so.
    pub dims: Option<[Dim; MAX_RANK]>,
    /// Points around the domain, where the object says so.
    pub halo: Option<[(usize, usize); MAX_RANK]>,
    /// Index of the first point of the domain, where the object says so.
    pub origin: Option<Numbers>,
    /// Bytes behind each line along the contiguous axis that are nobody's.
    pub padding: usize,
    /// Whom to tell of the access.
    pub hooks: Option<Box<Hooks<'py>>>,
    /// What is to be made current before the access.
    pub tracked: Option<Box<Tracked>>,
    /// The device whose memory it is, for a stencil that runs on one.
    pub accelerator: Option<Arc<dyn Accelerator>>,
    /// The stream of the device in which somebody may be writing to it still.
    pub written_in: Option<Stream>,
    /// Object made on the way that owns the memory.
    pub keep: Option<Bound<'py, PyAny>>,
}

/// What is known of the axes of some memory; each list has an entry for each axis.
#[derive(Default)]
pub struct Known<'a> {
    /// What each axis means.
    pub dims: Option<&'a [Dim]>,
    /// Points around the domain.
    pub halo: Option<&'a [(usize, usize)]>,
    /// Index of the first point of the domain.
    pub origin: Option<Numbers>,
    /// Bytes behind each line along the contiguous axis that are nobody's.
    pub padding: usize,
    /// What is to be made current before the access.
    pub tracked: Option<Box<Tracked>>,
    /// The device whose memory it is, for a stencil that runs on one.
    pub accelerator: Option<Arc<dyn Accelerator>>,
}

impl<'py> Description<'py> {
    /// The memory of an argument called `name`.
    #[inline]
    pub fn of_memory(
        name: &str,
        pointer: *mut u8,
        shape: &[usize],
        strides: &[isize],
        dtype: &Bound<'py, PyArrayDescr>,
        writeable: bool,
        known: Known<'_>,
    ) -> PyResult<Self> {
        let rank = shape.len();
        if rank > MAX_RANK {
            return Err(too_many_axes(dtype.py(), name, rank));
        }
        let dtype = data_type(dtype)?;
        // Made in one go: it is large, and every argument of every call has one.
        Ok(Description {
            pointer,
            rank,
            shape: padded(shape, 1),
            strides: padded(strides, 0),
            dtype,
            readonly: !writeable,
            dims: known.dims.map(|dims| padded(dims, Dim::Data(u32::MAX))),
            halo: known.halo.map(|halo| padded(halo, (0, 0))),
            origin: known.origin,
            padding: known.padding,
            hooks: None,
            tracked: known.tracked,
            accelerator: known.accelerator,
            written_in: None,
            keep: None,
        })
    }

    /// The memory of a NumPy array.
    #[inline]
    pub fn of_array(
        name: &str,
        array: &Bound<'py, PyUntypedArray>,
        known: Known<'_>,
    ) -> PyResult<Self> {
        // SAFETY: the array is alive and the interpreter attached, so its header can be read.
        let (pointer, flags) = unsafe {
            let array = &*array.as_array_ptr();
            (array.fields.data.cast::<u8>(), array.fields.flags)
        };
        Self::of_memory(
            name,
            pointer,
            array.shape(),
            array.strides(),
            &array.dtype(),
            flags & NPY_ARRAY_WRITEABLE != 0,
            known,
        )
    }

    /// The memory and the axes of an object that has been read, for a stencil that runs on a side.
    pub fn of_found(name: &str, found: Found<'py>, side: Side) -> PyResult<Self> {
        let dims = found.dims.transpose()?;
        let Memory {
            view,
            dtype,
            writeable,
            keeper,
            accelerator,
            written_in,
        } = found.memory;
        let (there, elsewhere) = match side {
            Side::Host => (None, accelerator),
            Side::Device => (accelerator, None),
        };
        let copied = |accelerator| Tracked::copied(dtype.py(), name, accelerator, view.clone());
        let tracked = elsewhere.map(copied).transpose()?;
        let host = tracked.as_ref().and_then(Tracked::view).unwrap_or(&view);
        let origin = found.origin.map(|(_, origin)| origin.into_iter());
        let pointer = host.pointer();
        let known = Known {
            dims: dims.as_deref(),
            halo: found.halo.as_deref(),
            origin: origin.map(Numbers::new),
            padding: 0,
            tracked: tracked.map(Box::new),
            accelerator: there,
        };
        let mut description = Self::of_memory(
            name,
            pointer,
            view.shape(),
            view.strides(),
            &dtype,
            writeable,
            known,
        )?;
        description.hooks = found.hooks;
        description.written_in = written_in;
        description.keep = Some(keeper);
        Ok(description)
    }

    /// Says what the axes mean, one label for each.
    pub fn label(&mut self, dims: &[Dim]) {
        self.dims = Some(padded(dims, Dim::Data(u32::MAX)));
    }

    /// The shape as an array has it.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// The strides as an array has them.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// The meaning of each axis, where the object says so.
    pub fn dims(&self) -> Option<&[Dim]> {
        self.dims.as_ref().map(|dims| &dims[..self.rank])
    }
}

#[cold]
fn too_many_axes(py: Python<'_>, name: &str, rank: usize) -> PyErr {
    raise(
        py,
        "ShapeError",
        format!("argument '{name}' has {rank} dimensions, expected at most {MAX_RANK}"),
    )
}

/// The entries of each axis, and others that mean nothing.
#[inline]
fn padded<T: Copy>(entries: &[T], other: T) -> [T; MAX_RANK] {
    let mut padded = [other; MAX_RANK];
    padded[..entries.len()].copy_from_slice(entries);
    padded
}
