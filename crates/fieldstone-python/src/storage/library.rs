//! The library that computes with storages: NumPy in host memory, the device's on a device.
//!
//! A simulated device computes with NumPy as well, in its own memory.

use std::sync::Arc;

use fieldstone_device::{Accelerator, Kind};
use fieldstone_storage::{Access, PerAxis, Side, View};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};

use super::axes::Axes;
use super::cupy::{cupy, cupy_array, has_library};
use super::device_array::for_kernels;
use super::foreign::Foreign;
use super::memory;
use super::place::Place;
use super::resolve::{Location, Resolved};
use super::ufunc::operand::Operand;
use super::{Storage, creation};
use crate::array;
use crate::errors::raise;

/// Where a function computes.
pub enum Library {
    /// NumPy, in host memory.
    Host,
    /// CuPy, or NumPy for a simulated device.
    Device(Arc<dyn Accelerator>),
}

/// Where a function computes, and where its result is to be.
pub struct Chosen {
    pub library: Library,
    pub location: Location,
}

impl Chosen {
    /// Everything in host memory.
    pub const HOST: Self = Self {
        library: Library::Host,
        location: Location::Host,
    };

    /// The parameters of the storage of a result.
    pub fn resolved<'py>(
        &self,
        computed: &Computed<'py>,
        axes: Axes,
        alignment: usize,
    ) -> Resolved<'py> {
        Resolved {
            shape: computed.shape.clone(),
            dtype: computed.dtype.clone(),
            axes,
            alignment,
            location: self.location.clone(),
        }
    }

    /// Chooses by where the operands are.
    ///
    /// With storages on a device only, all must be there. Storages with two copies compute on the device unless nothing is
    /// current there; storages that the driver manages do if all operands can be read there. Nothing computes on the device
    /// that is to be written on the host only, nor, with a copy on the host, where the device has no library.
    pub fn among(
        py: Python<'_>,
        function: &str,
        inputs: &[&Operand<'_>],
        outputs: &[&Operand<'_>],
    ) -> PyResult<Self> {
        let arrays = || {
            inputs
                .iter()
                .chain(outputs)
                .filter_map(|operand| operand.array.as_ref().map(|array| (*operand, array)))
        };
        if arrays().all(|(_, array)| matches!(array.place, Place::Host)) {
            return Ok(Self::HOST);
        }
        let handler = handler(arrays().map(|(_, array)| &array.place));
        let Some((place, accelerator)) =
            handler.and_then(|place| Some((place, place.accelerator()?)))
        else {
            return Ok(Self::HOST);
        };
        let location = Location::of(place);
        if let Some((other, _)) = arrays().find(|(_, array)| {
            let own = array.place.accelerator();
            own.is_some_and(|own| own.id() != accelerator.id())
        }) {
            let first = arrays().find(|(_, array)| std::ptr::eq(&array.place, place));
            let first = first.map_or_else(String::new, |(operand, _)| described(operand));
            let message = format!(
                "{function}: {first} and {} are on different devices; copy one to the other's with storage(data, device=...)",
                described(other)
            );
            return Err(raise(py, "DeviceError", message));
        }
        let on_device_only = arrays().find(|(_, array)| matches!(array.place, Place::Device(_)));
        let on_host_only =
            arrays().find(|(_, array)| matches!(array.place, Place::Host) && array.view.ndim() > 0);
        if let (Some((device, _)), Some((host, _))) = (on_device_only, on_host_only) {
            let message = format!(
                "{function}: {} and {} have no memory in common; copy one to the other's side with storage(data, \
                 device='gpu') or storage(data, device='cpu')",
                described(device),
                described(host)
            );
            return Err(raise(py, "DeviceError", message));
        }
        let mut inputs = inputs.iter().filter_map(|input| input.array.as_ref());
        let outputs = outputs.iter().filter_map(|output| output.array.as_ref());
        let on_device = on_device_only.is_some()
            || outputs
                .into_iter()
                .all(|output| output.place.has(Side::Device))
                && match place {
                    Place::Managed(_) => inputs.all(|input| input.place.has(Side::Device)),
                    _ => inputs.any(|input| input.place.is_on_device()),
                }
                && has_library(py, accelerator.as_ref());
        let library = match on_device {
            true => Library::Device(Arc::clone(accelerator)),
            false => Library::Host,
        };
        Ok(Self { library, location })
    }
}

/// Whose rules hold: those of the first storage that is managed, else of the first on a device.
fn handler<'a>(places: impl Iterator<Item = &'a Place> + Clone) -> Option<&'a Place> {
    let is_managed = |place: &&Place| matches!(place, Place::Pair { .. } | Place::Managed(_));
    let mut first = places.clone();
    first
        .find(is_managed)
        .or_else(|| places.clone().find(|place| place.accelerator().is_some()))
}

/// What an operand is and where, for messages.
fn described(operand: &Operand<'_>) -> String {
    let class = operand
        .object
        .get_type()
        .name()
        .map_or_else(|_| "operand".to_owned(), |name| name.to_string());
    match operand.array.as_ref().map(|array| &array.place) {
        Some(Place::Device(accelerator)) => {
            format!("a {class} on {} only", accelerator.name())
        }
        Some(Place::Pair { .. } | Place::Managed(_)) => format!("a {class}"),
        _ => format!("a {class} in host memory"),
    }
}

impl Library {
    pub fn side(&self) -> Side {
        match self {
            Self::Host => Side::Host,
            Self::Device(_) => Side::Device,
        }
    }

    /// The library's function of the name of one of NumPy's.
    pub fn function<'py>(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        match self {
            Self::Device(accelerator) if accelerator.id().kind != Kind::Simulated => {
                let name = function
                    .getattr(intern!(py, "__name__"))?
                    .cast_into::<PyString>()?;
                cupy(py)?.getattr(name)
            }
            _ => Ok(function.clone()),
        }
    }

    /// An array of elements where the library computes.
    fn array_of<'py>(
        &self,
        view: &View,
        dtype: &Bound<'py, PyArrayDescr>,
        writeable: bool,
        keep: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Host => array::array_of(view, dtype, writeable, keep),
            Self::Device(accelerator) if accelerator.id().kind == Kind::Simulated => {
                let view = for_kernels(dtype.py(), accelerator.as_ref(), view)?;
                array::array_of(&view, dtype, writeable, keep)
            }
            Self::Device(accelerator) => cupy_array(view, dtype, accelerator.as_ref(), keep),
        }
    }

    /// The elements of an operand, in the shape that they have in `placed`.
    pub fn operand<'py>(
        &self,
        operand: &Operand<'py>,
        placed: &View,
        access: Access,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(foreign) = &operand.array else {
            return Ok(operand.object.clone());
        };
        match operand.object.cast::<Storage>() {
            Ok(storage) => self.storage(storage, placed, access),
            Err(_) => {
                let keep = foreign.keeper.clone();
                let keep = keep.unwrap_or_else(|| operand.object.clone());
                self.array_of(placed, &foreign.dtype, foreign.writeable, keep)
            }
        }
    }

    /// Copies an operand that is in host memory only to the device, if the library computes there; one element goes as a
    /// number.
    pub fn reach<'py>(&self, py: Python<'py>, operand: &mut Operand<'py>) -> PyResult<()> {
        let (Self::Device(accelerator), Some(foreign)) = (self, &operand.array) else {
            return Ok(());
        };
        if foreign.place.has(Side::Device) {
            return Ok(());
        }
        if foreign.view.ndim() == 0 {
            // SAFETY: the address of the only element, in host memory that the operand keeps alive.
            operand.object = unsafe { memory::scalar_at(foreign.view.pointer(), &foreign.dtype)? };
            operand.array = None;
            return Ok(());
        }
        let resolved = Resolved {
            shape: foreign.view.shape().into(),
            dtype: foreign.dtype.clone(),
            axes: foreign.axes.clone(),
            alignment: 1,
            location: Location::Device(Arc::clone(accelerator)),
        };
        let copy = resolved.holding(py, &foreign.elements())?.into_object(py)?;
        operand.array = Some(Foreign::of_storage(&copy));
        operand.object = copy.into_any();
        Ok(())
    }

    /// The elements of a storage that has memory where the library computes, in the shape that they have in `placed`.
    pub fn storage<'py>(
        &self,
        storage: &Bound<'py, Storage>,
        placed: &View,
        access: Access,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = storage.py();
        let this = storage.borrow();
        let keep = storage.clone().into_any();
        let dtype = this.dtype.bind(py);
        match self {
            Self::Host => {
                this.host(py, access)?;
                self.array_of(placed, dtype, this.writeable, keep)
            }
            Self::Device(_) => {
                let here = this.on_device(py, access)?;
                let view = placed.at_address(here.pointer(), None);
                self.array_of(&view, dtype, this.writeable, keep)
            }
        }
    }

    /// What the library has computed, if it has no axes and leaves the device: a number, downloaded as every element is.
    ///
    /// Everything else, and all that was computed on the host, is given back as it is.
    pub fn number<'py>(&self, result: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = result.py();
        let Self::Device(accelerator) = self else {
            return Ok(result);
        };
        let Some(dtype) = dtype_without_axes(&result)? else {
            return Ok(result);
        };
        let computed = Computed {
            array: result.clone(),
            shape: PerAxis::new(),
            dtype: dtype.clone(),
        };
        let resolved = Resolved {
            shape: PerAxis::new(),
            dtype,
            axes: Axes::plain(0),
            alignment: 1,
            location: Location::Device(Arc::clone(accelerator)),
        };
        let number = self
            .result(&computed, resolved)?
            .get_item(PyTuple::empty(py))?;
        match result.is_instance_of::<PyBool>() {
            true => Ok(result),
            false => Ok(number),
        }
    }

    /// A storage of an array that the library has computed and nobody else has.
    pub fn result<'py>(
        &self,
        computed: &Computed<'py>,
        resolved: Resolved<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = computed.array.py();
        if let (Self::Host, Ok(array)) = (self, computed.array.cast::<PyUntypedArray>()) {
            return creation::of_computed(array, resolved);
        }
        let storage = resolved.allocated(py)?.into_object(py)?;
        let placed = storage.borrow().view.clone();
        let target = self.storage(&storage, &placed, Access::Write)?;
        target.set_item(py.Ellipsis(), &computed.array)?;
        storage.borrow().settle(py, self.side())?;
        Ok(storage.into_any())
    }
}

/// The type of a number, or of an array without axes that a storage could have; `None` for everything else.
fn dtype_without_axes<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyArrayDescr>>> {
    let py = object.py();
    if let Some(computed) = Computed::of(object)? {
        return Ok((computed.ndim() == 0).then_some(computed.dtype));
    }
    if !array::is_scalar(object)? && !object.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    let dtype = PyArrayDescr::new(py, object.get_type())?;
    let storable = super::parameters::check_dtype(&dtype, "result").is_ok();
    Ok(storable.then_some(dtype))
}

/// An array that a library has computed.
pub struct Computed<'py> {
    pub array: Bound<'py, PyAny>,
    pub shape: PerAxis<usize>,
    pub dtype: Bound<'py, PyArrayDescr>,
}

impl<'py> Computed<'py> {
    /// `None` for what is no array, or one whose elements no storage can have.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let (shape, dtype) = if let Ok(array) = object.cast::<PyUntypedArray>() {
            (PerAxis::from_slice(array.shape()), array.dtype())
        } else if object.hasattr(intern!(py, "__cuda_array_interface__"))? {
            let shape: Vec<usize> = object.getattr(intern!(py, "shape"))?.extract()?;
            (
                shape.into(),
                object.getattr(intern!(py, "dtype"))?.cast_into()?,
            )
        } else {
            return Ok(None);
        };
        if super::parameters::check_dtype(&dtype, "result").is_err() {
            return Ok(None);
        }
        Ok(Some(Self {
            array: object.clone(),
            shape,
            dtype,
        }))
    }

    pub fn ndim(&self) -> usize {
        self.shape.len()
    }
}
