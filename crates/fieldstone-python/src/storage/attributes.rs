//! Attributes and methods of a storage.

use numpy::PyArrayDescr;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use fieldstone_device::Stream;
use fieldstone_storage::{Dim, PerAxis, Side};

use super::access::{no_buffer, transferred};
use super::axes::Points;
use super::place::Place;
use super::{Storage, SyncState, memory, parameters, resolve};
use crate::array;
use crate::errors::raise;

#[pymethods]
impl Storage {
    /// Number of points along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.view.shape())
    }

    /// Bytes from one point to the next, along each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.view.strides())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.view.shape().len()
    }

    /// Number of axes.
    #[getter]
    fn ndims(&self) -> usize {
        self.view.shape().len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.view.len()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.view.itemsize()
    }

    /// Bytes of all elements, without padding.
    #[getter]
    fn nbytes(&self) -> usize {
        self.size() * self.view.itemsize()
    }

    /// Type of the elements.
    #[getter(dtype)]
    fn dtype_of_elements<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        self.dtype.bind(py).clone()
    }

    /// Labels of the axes in index order; ``None`` if they are known by position only.
    #[getter(dims)]
    fn dims_as_tuple<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.dims()
            .map(|dims| parameters::dims_tuple(py, dims))
            .transpose()
    }

    /// Labels of the spatial axes in index order, as one string; ``None`` if they are known by position only.
    #[getter(axes)]
    fn axes_as_text(&self) -> Option<String> {
        let spatial = |dim: &&Dim| !matches!(dim, Dim::Data(_));
        self.dims()
            .map(|dims| dims.iter().filter(spatial).map(Dim::to_string).collect())
    }

    /// Whether the storage extends along I, J and K; ``None`` if its axes are known by position only.
    #[getter]
    fn mask(&self) -> Option<(bool, bool, bool)> {
        self.dims().map(|dims| {
            (
                dims.contains(&Dim::I),
                dims.contains(&Dim::J),
                dims.contains(&Dim::K),
            )
        })
    }

    /// Points below and above the compute domain, along each axis.
    #[getter(halo)]
    fn halo_as_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.axes.halo)
    }

    #[setter(halo)]
    fn set_halo(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        // Reading it may run code of the user's, which may use the storage.
        let halo = parameters::halo(value)?;
        let mut this = slf.try_borrow_mut().map_err(|_| {
            PyRuntimeError::new_err(
                "halo: the storage is in use, by another thread or by the operation that runs this code; set the halo before \
                 or after",
            )
        })?;
        if halo.len() != this.view.shape().len() {
            let message = format!(
                "halo: {} entries were given for {} axes; give one per axis",
                halo.len(),
                this.view.shape().len()
            );
            return Err(raise(py, "ArgumentValueError", message));
        }
        resolve::check_halo(py, &halo, this.view.shape(), "halo")?;
        this.axes.halo = halo;
        this.axes.explicit_origin = None;
        Ok(())
    }

    /// Order of the strides: 0 is the axis with the largest one.
    #[getter(layout)]
    fn layout_as_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.layout().ranks())
    }

    /// Bytes that the address of the aligned index is a multiple of.
    #[getter]
    fn alignment_size(&self) -> usize {
        self.alignment
    }

    /// Elements that the address of the aligned index is a multiple of.
    #[getter]
    fn alignment(&self) -> usize {
        (self.alignment / self.view.itemsize()).max(1)
    }

    /// Index of the point whose address is aligned.
    #[getter]
    fn aligned_index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.axes.aligned_index)
    }

    /// Index of the first point of the compute domain where a call does not say otherwise.
    #[getter]
    fn default_origin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.origin())
    }

    /// Identifier of the device that holds a device copy: ``"gpu"``, or ``("gpu", n)`` for another than the first; ``None``
    /// without one.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(accelerator) = self.place.accelerator() else {
            return Ok(None);
        };
        let device = match accelerator.id().index {
            0 => PyString::new(py, "gpu").into_any(),
            index => ("gpu", index).into_pyobject(py)?.into_any(),
        };
        Ok(Some(device))
    }

    /// Whether there is a device copy.
    #[getter]
    fn gpu(&self) -> bool {
        self.place.has(Side::Device)
    }

    /// The host memory, as ``numpy.ndarray.data`` is; ``None`` without any.
    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !slf.borrow().place.has(Side::Host) {
            return Ok(None);
        }
        Storage::exported(slf)?.getattr("data").map(Some)
    }

    /// The device memory, as ``cupy.ndarray.data`` is; ``None`` without any.
    #[getter]
    fn device_data<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !slf.borrow().place.has(Side::Device) {
            return Ok(None);
        }
        Storage::exported_on_device(slf)?.getattr("data").map(Some)
    }

    /// Which of the two copies is current, shared by all views.
    #[getter(sync_state)]
    fn shared_state(&self, py: Python<'_>) -> PyResult<Py<SyncState>> {
        match &self.place {
            Place::Pair { state, .. } => Ok(state.clone_ref(py)),
            _ => Err(PyAttributeError::new_err(
                "only a storage with two copies (SoftwareManagedGPUStorage) has a sync_state",
            )),
        }
    }

    /// The compute domain: a view without the halo.
    #[getter]
    fn domain_view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Storage>> {
        let mut offset = 0;
        let mut parts: PerAxis<_> = PerAxis::with_capacity(self.view.ndim());
        for (axis, &(lower, upper)) in self.axes.halo.iter().enumerate() {
            let size = self.view.shape()[axis];
            let len = size - lower - upper;
            offset += lower as isize * self.view.strides()[axis];
            parts.push(Some((
                axis,
                Points {
                    size,
                    start: lower,
                    step: 1,
                    len,
                },
            )));
        }
        let view = self.part(&parts, offset);
        self.with_view(py, view, self.axes.select(&parts))
            .into_object(py)
    }

    /// The storage with its axes reversed.
    #[getter(T)]
    fn reversed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Storage>> {
        self.transposed(py, (0..self.view.shape().len()).rev().collect())
    }

    /// A view with the axes in another order, reversed if none is given.
    #[pyo3(signature = (*axes))]
    fn transpose<'py>(
        &self,
        py: Python<'py>,
        axes: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, Storage>> {
        let order = match axes.len() {
            0 => None,
            1 => {
                let only = axes.get_item(0)?;
                if only.is_none() {
                    None
                } else if memory::index(&only)?.is_some() {
                    Some(axes.clone().into_any())
                } else {
                    Some(only)
                }
            }
            _ => Some(axes.clone().into_any()),
        };
        match order {
            None => self.reversed(py),
            Some(order) => self.transposed(py, self.permutation(&order)?),
        }
    }

    /// A new storage with the same parameters and a copy of the values.
    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Storage>> {
        self.duplicate(py)?.into_object(py)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Storage>> {
        self.copy(py)
    }

    #[pyo3(signature = (memo=None))]
    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Storage>> {
        let copy = slf.borrow().copy(slf.py())?;
        if let Some(memo) = memo {
            memo.set_item(slf.as_ptr().addr(), &copy)?;
        }
        Ok(copy)
    }

    /// The host memory as a NumPy array, without a copy.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::exported(slf)
    }

    /// The device memory as an array of its library if there is any, else the host memory as a NumPy array; without a copy.
    fn to_ndarray<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.borrow().place.has(Side::Device) {
            return Self::exported_on_device(slf);
        }
        Self::exported(slf)
    }

    /// The device memory as a CuPy array, without a copy; that of a simulated device as a `SimulatedArray`.
    fn to_cupy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.borrow().place.has(Side::Device) {
            return Self::exported_on_device(slf);
        }
        let message = "the storage has no buffer on a device; to_numpy() gives its host memory";
        Err(no_buffer(slf.py(), message.to_owned()))
    }

    /// Copies the host memory to the device if it is newer; does nothing where there is one copy only.
    #[pyo3(signature = (*, force=None), text_signature = "($self, *, force=False)")]
    fn host_to_device(&self, py: Python<'_>, force: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.bring_to(py, Side::Device, forced(force)?)
    }

    /// Copies the device memory to the host if it is newer; does nothing where there is one copy only.
    #[pyo3(signature = (*, force=None), text_signature = "($self, *, force=False)")]
    fn device_to_host(&self, py: Python<'_>, force: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.bring_to(py, Side::Host, forced(force)?)
    }

    /// Makes host and device memory equal; where there is one copy only, waits for the device.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let waited = py.detach(|| match &self.place {
            Place::Pair { pair, .. } => pair.synchronize(),
            Place::Device(accelerator) | Place::Managed(accelerator) => {
                Ok(accelerator.synchronize(Stream::DEFAULT)?)
            }
            Place::Host => Ok(()),
        });
        transferred(py, waited)
    }

    /// Marks the device memory as newer; does nothing where there is one copy only.
    fn set_device_modified(&self, py: Python<'_>) -> PyResult<()> {
        self.modified(py, Side::Device)
    }

    /// Marks the host memory as newer; does nothing where there is one copy only.
    fn set_host_modified(&self, py: Python<'_>) -> PyResult<()> {
        self.modified(py, Side::Host)
    }

    /// Marks host and device memory as equal; does nothing where there is one copy only.
    fn set_synchronized(&self) {
        self.declare(None);
    }

    /// Marks host and device memory as equal; does nothing where there is one copy only.
    fn set_device_synchronized(&self) {
        self.declare(None);
    }
}

impl Storage {
    fn bring_to(&self, py: Python<'_>, side: Side, force: bool) -> PyResult<()> {
        match &self.place {
            Place::Pair { pair, .. } => transferred(py, py.detach(|| pair.bring_to(side, force))),
            _ => Ok(()),
        }
    }

    /// Declares one copy to be ahead, and brings up to date what is out of the other only; with arrays out on both sides, their
    /// holders say what is to move.
    fn modified(&self, py: Python<'_>, side: Side) -> PyResult<()> {
        self.declare(Some(side));
        match &self.place {
            Place::Pair { pair, .. } if pair.is_out(side) => Ok(()),
            _ => self.settle(py, side),
        }
    }

    fn declare(&self, ahead: Option<Side>) {
        if let Place::Pair { pair, .. } = &self.place {
            pair.sync().declare(ahead);
        }
    }
}

impl Storage {
    fn transposed<'py>(
        &self,
        py: Python<'py>,
        order: PerAxis<usize>,
    ) -> PyResult<Bound<'py, Storage>> {
        let view = self
            .view
            .transpose(&order)
            .map_err(|error| array::exception(py, &error))?;
        self.with_view(py, view, self.axes.transpose(&order))
            .into_object(py)
    }

    /// Reads an order of axes: numbers, negative ones from the end, or labels.
    fn permutation(&self, order: &Bound<'_, PyAny>) -> PyResult<PerAxis<usize>> {
        let ndim = self.view.shape().len();
        let wrong = || {
            let own = self.dims().map_or(String::new(), |dims| {
                format!(", or of the labels {}", super::axes::show(dims))
            });
            let message = format!(
                "axes: expected a permutation of 0..{}{own}, got {}",
                ndim.saturating_sub(1),
                parameters::shown(order)
            );
            raise(order.py(), "ArgumentValueError", message)
        };
        let mut permutation = PerAxis::with_capacity(ndim);
        for entry in order.try_iter().map_err(|_| wrong())? {
            let entry = entry?;
            let axis = if entry.is_instance_of::<PyString>() {
                let label = entry
                    .extract::<&str>()?
                    .parse::<Dim>()
                    .map_err(|_| wrong())?;
                self.dims()
                    .and_then(|dims| dims.iter().position(|&dim| dim == label))
            } else if entry.is_instance_of::<PyBool>() {
                None
            } else {
                let axis = memory::index(&entry)?.and_then(|index| index.extract::<isize>().ok());
                axis.map(|axis| if axis < 0 { axis + ndim as isize } else { axis })
                    .and_then(|axis| usize::try_from(axis).ok())
                    .filter(|&axis| axis < ndim)
            };
            match axis.filter(|axis| !permutation.contains(axis)) {
                Some(axis) => permutation.push(axis),
                None => return Err(wrong()),
            }
        }
        if permutation.len() != ndim {
            return Err(wrong());
        }
        Ok(permutation)
    }
}

/// Whether a copy is to be made in any case.
fn forced(force: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    force.map_or(Ok(false), |force| parameters::flag(force, "force"))
}
