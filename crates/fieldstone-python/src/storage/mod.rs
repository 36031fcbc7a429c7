//! Storages as Python sees them.
//!
//! A creation function reads its keywords (`parameters`), looks up what was not given (`resolve`) in the preset and
//! in the data (`foreign`), and allocates or wraps (`creation`). From then on a `Storage` is a strided view of
//! memory plus what its axes mean (`axes`); `indexing` and `attributes` make further views of it, `protocols`
//! shows it to other libraries, `field` to stencils and `repr` to people, `ufunc` computes with it.
mod attributes;
mod axes;
mod creation;
mod field;
mod foreign;
mod indexing;
mod memory;
mod parameters;
mod pickling;
mod protocols;
mod repr;
mod resolve;
mod ufunc;

use fieldstone_storage::{Dim, Layout, View};
use numpy::PyArrayDescr;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use self::axes::Axes;
pub use self::field::describe;

/// An array that knows what its dimensions mean, where its halo is and how it lies in memory.
///
/// Called like `storage`; base class of all kinds of storages.
#[pyclass(subclass, weakref, name = "Storage", module = "fieldstone.storage")]
pub struct Storage {
    view: View,
    dtype: Py<PyArrayDescr>,
    axes: Axes,
    /// Bytes the address of the aligned index is a multiple of.
    alignment: usize,
    writeable: bool,
    /// The object whose memory is wrapped; `None` for memory of our own, which `view` keeps alive itself.
    keeper: Option<Py<PyAny>>,
}

/// A storage in host memory.
#[pyclass(extends = Storage, weakref, name = "CPUStorage", module = "fieldstone.storage")]
pub struct CpuStorage;

#[pymethods]
impl Storage {
    // Without its counterpart that clears: memory must not go before the storage does, and whatever else is in a cycle can
    // be cleared.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.dtype)?;
        visit.call(&self.keeper)
    }
}

impl Storage {
    /// The memory: address, shape and strides in bytes.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Labels of the axes in index order, if the storage has any.
    pub fn dims(&self) -> Option<&[Dim]> {
        self.axes.dims.as_deref()
    }

    /// Points around the compute domain, per axis.
    pub fn halo(&self) -> &[(usize, usize)] {
        &self.axes.halo
    }

    /// Index of the first point of the compute domain where a call does not say otherwise.
    pub fn origin(&self) -> Vec<usize> {
        self.axes.origin()
    }

    /// Index of the first point of the compute domain, if it was given apart from the halo.
    pub fn explicit_origin(&self) -> Option<&[usize]> {
        self.axes.explicit_origin.as_deref()
    }

    /// Whether the memory may be written to.
    pub fn writeable(&self) -> bool {
        self.writeable
    }

    /// NumPy's description of an element.
    pub fn dtype(&self) -> &Py<PyArrayDescr> {
        &self.dtype
    }

    /// Order of the strides.
    pub fn layout(&self) -> &Layout {
        &self.axes.layout
    }

    /// Another storage of the same memory.
    fn with_view(&self, py: Python<'_>, view: View, axes: Axes) -> Self {
        let mut other = Self {
            view,
            dtype: self.dtype.clone_ref(py),
            axes,
            alignment: self.alignment,
            writeable: self.writeable,
            keeper: self.keeper.as_ref().map(|keeper| keeper.clone_ref(py)),
        };
        if !memory::is_aligned(&other.view, &other.axes.aligned_index, other.alignment) {
            other.alignment = 1;
        }
        other
    }

    /// The Python object of this storage, of the class for where its memory is.
    fn into_object<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, CpuStorage>> {
        Bound::new(py, PyClassInitializer::from(self).add_subclass(CpuStorage))
    }
}

/// Adds the classes and functions of this folder to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Storage>()?;
    module.add_class::<CpuStorage>()?;
    ufunc::register(module)?;
    creation::register(module)?;
    field::register(module)?;
    pickling::register(module)
}
