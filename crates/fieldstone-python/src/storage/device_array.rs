//! The array that stands for a device's memory: CuPy's, or our own for a simulated device.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Kind};
use fieldstone_storage::{Access, Side, View};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Storage;
use super::cupy::cupy_array;
use super::place::Place;
use crate::array::array_of;
use crate::errors::raise;

/// An array in the memory of a simulated device, with what users of CuPy's need most.
///
/// It is what `to_cupy` returns where CuPy cannot reach the memory. Like CuPy's it is never taken for a NumPy array: ``get()``
/// copies it to the host.
#[pyclass(
    frozen,
    weakref,
    name = "SimulatedArray",
    module = "fieldstone.storage"
)]
pub struct SimulatedArray {
    /// The elements, on the device only.
    elements: Py<Storage>,
}

impl SimulatedArray {
    fn storage<'py>(&self, py: Python<'py>) -> &Bound<'py, Storage> {
        self.elements.bind(py)
    }

    /// The storage that the array is an array of.
    pub fn elements(&self) -> &Py<Storage> {
        &self.elements
    }
}

#[pymethods]
impl SimulatedArray {
    /// CuPy's arrays have it too.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    const ARRAY_PRIORITY: u32 = 100;

    /// Number of points along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("shape")
    }

    /// Bytes from one point to the next, along each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("strides")
    }

    /// Type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("dtype")
    }

    /// Number of axes.
    #[getter]
    fn ndim<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("ndim")
    }

    /// Number of elements.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("size")
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("itemsize")
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("nbytes")
    }

    /// Where the memory begins: ``data.ptr``.
    #[getter]
    fn data(&self, py: Python<'_>) -> SimulatedPointer {
        SimulatedPointer {
            address: self.storage(py).borrow().view.pointer().addr(),
        }
    }

    /// A copy in host memory, as a NumPy array.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let storage = self.storage(py);
        let keywords = PyDict::new(py);
        keywords.set_item("device", "cpu")?;
        py.get_type::<Storage>()
            .call((storage,), Some(&keywords))?
            .call_method0("to_numpy")
    }

    /// Copies a NumPy array of the same shape here.
    fn set(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        self.storage(py).set_item(py.Ellipsis(), values)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let part = self.storage(py).get_item(key)?;
        match part.cast::<Storage>() {
            Ok(part) => Ok(Bound::new(
                py,
                Self {
                    elements: part.clone().unbind(),
                },
            )?
            .into_any()),
            Err(_) => Ok(part),
        }
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        match value.cast::<Self>() {
            Ok(value) => self.storage(py).set_item(key, value.get().storage(py)),
            Err(_) => self.storage(py).set_item(key, value),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.storage(py).len()
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(&self, dtype: Option<&Bound<'_, PyAny>>, copy: Option<bool>) -> PyResult<()> {
        let _ = (dtype, copy);
        Err(PyTypeError::new_err(
            "an array on a device is not converted to a NumPy array without a word; use get()",
        ))
    }

    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.storage(py).getattr("__cuda_array_interface__")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let values = self.get(py)?.repr()?;
        Ok(format!("simulated {values}"))
    }
}

/// An address in the memory of a simulated device.
#[pyclass(frozen, name = "SimulatedPointer", module = "fieldstone.storage")]
pub struct SimulatedPointer {
    address: usize,
}

#[pymethods]
impl SimulatedPointer {
    /// The address.
    #[getter]
    fn ptr(&self) -> usize {
        self.address
    }

    fn __int__(&self) -> usize {
        self.address
    }

    fn __repr__(&self) -> String {
        format!("<address {:#x} of a simulated device>", self.address)
    }
}

impl Storage {
    /// The array in which the device's library computes: NumPy's for a simulated device, else CuPy's.
    pub fn kernel_array<'py>(
        slf: &Bound<'py, Self>,
        access: Access,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let view = this.on_device(py, access)?;
        let Some(accelerator) = this.place.accelerator() else {
            return Err(this.no_host_buffer(py));
        };
        let keep = slf.clone().into_any();
        if accelerator.id().kind != Kind::Simulated {
            return cupy_array(&view, this.dtype.bind(py), accelerator.as_ref(), keep);
        }
        let view = for_kernels(py, accelerator.as_ref(), &view)?;
        array_of(&view, this.dtype.bind(py), this.writeable, keep)
    }

    /// The device's memory as an array of its library, to be handed out.
    pub fn exported_on_device<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let lease = Self::leased(slf, Side::Device)?;
        let this = slf.borrow();
        let view = this.on_device(py, Access::Read)?;
        let keep = lease.map_or_else(|| slf.clone().into_any(), Bound::into_any);
        let Some(accelerator) = this.place.accelerator() else {
            return Err(PyTypeError::new_err(
                "the storage has no buffer on a device",
            ));
        };
        if accelerator.id().kind != Kind::Simulated {
            return cupy_array(&view, this.dtype.bind(py), accelerator.as_ref(), keep);
        }
        let elements = Storage {
            view,
            dtype: this.dtype.clone_ref(py),
            axes: this.axes.clone(),
            alignment: this.alignment,
            writeable: this.writeable,
            keeper: Some(keep.unbind()),
            place: match &this.place {
                Place::Managed(accelerator) => Place::Managed(Arc::clone(accelerator)),
                _ => Place::Device(Arc::clone(accelerator)),
            },
        };
        let elements = elements.into_object(py)?.unbind();
        Ok(Bound::new(py, SimulatedArray { elements })?.into_any())
    }
}

/// Elements on a simulated device where its kernels, which are NumPy's, find them.
///
/// Host memory, which NumPy would find as well, is an error: on a real device it would have to be copied first.
pub fn for_kernels(py: Python<'_>, accelerator: &dyn Accelerator, view: &View) -> PyResult<View> {
    let pointer = view.pointer();
    match accelerator.reachable(pointer) {
        Some(here) => Ok(view.at_address(here, None)),
        None if view.is_empty() => Ok(view.clone()),
        None => {
            let message = format!(
                "the elements at {:#x} are not in the memory of {}; copy them there with storage(data, device='gpu')",
                pointer.addr(),
                accelerator.name()
            );
            Err(raise(py, "DeviceError", message))
        }
    }
}
