//! Storages as Python sees them.
//!
//! A creation function reads its keywords (`parameters`), looks up what was not given (`resolve`) in the preset and in
//! the data (`foreign`), and allocates (`creation`), or copies or wraps (`wrapping`) what it was `given`. From then on a
//! `Storage` is a strided view of memory plus what its axes mean (`axes`); `indexing` and `attributes` make further views
//! of it, `advanced` reads and writes scattered elements, `protocols` shows it to other libraries, `field` to stencils and
//! `repr` to people, `ufunc` and `function` compute with it, where `library` says.
mod access;
mod advanced;
mod assign;
mod attributes;
pub(crate) mod axes;
mod creation;
mod cupy;
mod device_array;
mod field;
mod foreign;
mod function;
mod given;
mod host_array;
mod indexing;
mod library;
mod memory;
mod parameters;
mod pickling;
mod place;
mod protocols;
mod repr;
mod resolve;
mod sent;
mod sync_state;
mod tracked;
mod ufunc;
mod wrapping;

use fieldstone_storage::{Dim, Layout, PerAxis, View};
use numpy::PyArrayDescr;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

pub use self::access::{transferred, warn_of_both};
use self::axes::Axes;
pub use self::device_array::SimulatedArray;
pub use self::field::describe;
pub use self::host_array::Handed;
pub use self::place::Place;
pub use self::sent::{Given, Sent};
pub use self::sync_state::SyncState;
pub use self::tracked::Tracked;
use crate::errors::raise;

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
    /// Dropped before the keeper: two copies wait for uploads that still read the host's.
    place: Place,
    /// The object whose memory is wrapped; `None` for memory of our own, which `view` keeps alive itself.
    keeper: Option<Py<PyAny>>,
}

/// A storage in host memory.
#[pyclass(extends = Storage, weakref, name = "CPUStorage", module = "fieldstone.storage")]
pub struct CpuStorage;

/// A storage in the memory of a device only.
#[pyclass(extends = Storage, weakref, name = "GPUStorage", module = "fieldstone.storage")]
pub struct GpuStorage;

/// A storage with a copy in host memory and one on a device, which fieldstone keeps equal.
#[pyclass(extends = Storage, weakref, name = "SoftwareManagedGPUStorage", module = "fieldstone.storage")]
pub struct SoftwareManagedGpuStorage;

/// A storage in memory that host and device share, which the driver moves between them.
#[pyclass(extends = Storage, weakref, name = "CUDAManagedGPUStorage", module = "fieldstone.storage")]
pub struct CudaManagedGpuStorage;

/// The kinds are made, not called: which one a storage is follows from its memory.
macro_rules! is_not_called {
    ($($kind:ident)*) => { $(
        #[pymethods]
        impl $kind {
            #[new]
            #[classmethod]
            #[pyo3(signature = (*_arguments, **_keywords), text_signature = "(*arguments, **keywords)")]
            fn called(
                class: &Bound<'_, PyType>,
                _arguments: &Bound<'_, PyTuple>,
                _keywords: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<PyClassInitializer<Self>> {
                let message = format!(
                    "{0}: the class cannot be called; make storages with storage.zeros(shape, ...), \
                     storage.storage(data, ...) and their like, whose device and managed say of which kind",
                    class.name()?
                );
                Err(raise(class.py(), "ArgumentTypeError", message))
            }
        }
    )* };
}

is_not_called!(CpuStorage GpuStorage SoftwareManagedGpuStorage CudaManagedGpuStorage);

#[pymethods]
impl Storage {
    /// The class of `sync_state`.
    #[classattr]
    #[pyo3(name = "SyncState")]
    fn class_of_state(py: Python<'_>) -> Py<PyType> {
        py.get_type::<SyncState>().unbind()
    }

    // Without its counterpart that clears: memory must not go before the storage does, and whatever else is in a cycle can
    // be cleared.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.dtype)?;
        visit.call(&self.keeper)
    }
}

impl Storage {
    /// Labels of the axes in index order, if the storage has any.
    pub fn dims(&self) -> Option<&[Dim]> {
        self.axes.dims.as_deref()
    }

    /// Points around the compute domain, per axis.
    pub fn halo(&self) -> &[(usize, usize)] {
        &self.axes.halo
    }

    /// Index of the first point of the compute domain where a call does not say otherwise.
    pub fn origin(&self) -> PerAxis<usize> {
        self.axes.origin()
    }

    /// Index of the first point of the compute domain, if it was given apart from the halo.
    pub fn explicit_origin(&self) -> Option<&[usize]> {
        self.axes.explicit_origin.as_deref()
    }

    /// The elements, at addresses of the host where there are any, else at the device's. They need not be current.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The memory, if it is on the host only.
    pub fn host_view(&self) -> Option<&View> {
        matches!(self.place, Place::Host).then_some(&self.view)
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
    #[inline]
    fn with_view(&self, py: Python<'_>, view: View, axes: Axes) -> Self {
        let mut other = Self {
            view,
            dtype: self.dtype.clone_ref(py),
            axes,
            alignment: self.alignment,
            writeable: self.writeable,
            keeper: self.keeper.as_ref().map(|keeper| keeper.clone_ref(py)),
            place: self.place.clone_ref(py),
        };
        if !memory::is_aligned(&other.view, &other.axes.aligned_index, other.alignment) {
            other.alignment = 1;
        }
        other
    }
}

/// Adds the classes and functions of this folder to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Storage>()?;
    module.add_class::<CpuStorage>()?;
    module.add_class::<GpuStorage>()?;
    module.add_class::<SoftwareManagedGpuStorage>()?;
    module.add_class::<CudaManagedGpuStorage>()?;
    module.add_class::<SyncState>()?;
    module.add_class::<SimulatedArray>()?;
    creation::register(module)?;
    field::register(module)?;
    given::register(module)?;
    pickling::register(module)?;
    repr::register(module)
}
