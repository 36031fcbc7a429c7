//! Keys with arrays: NumPy's advanced indexing, or that of the device's library.
//!
//! Wherever NumPy takes an array of indices or a mask, a storage takes any object that can be one.

use fieldstone_device::Kind;
use fieldstone_storage::{Access, Side};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::cupy::cupy;
use super::device_array::{SimulatedArray, for_kernels};
use super::foreign::Foreign;
use super::indexing::is_scalar;
use super::place::Place;
use super::resolve::{Location, Resolved};
use super::{Storage, memory};
use crate::array::array_of;
use crate::interface::{Purpose, is_data_array};

impl Storage {
    /// The values at the elements that a key selects, as an array of the library for where they are.
    pub(super) fn gather<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.borrow();
        let side = match this.place.has(Side::Host) {
            true => Side::Host,
            false => Side::Device,
        };
        let key = this.with_arrays(key, side)?;
        let values = Self::operated(slf, side, Access::Read)?.get_item(key)?;
        match values.cast::<PyUntypedArray>() {
            Ok(values) if side == Side::Device => this.shown_there(values),
            _ => Ok(values),
        }
    }

    /// Writes to the elements that a key selects, on the device if they are nowhere else or if the value is there.
    pub(super) fn scatter<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        let this = slf.borrow();
        let source = match is_scalar(value)? {
            true => None,
            false => Some(Foreign::value(value, &this.place, false)?),
        };
        let side = match (&this.place, &source) {
            (Place::Device(_), _) => Side::Device,
            (Place::Pair { .. }, Some(source)) if source.place.is_on_device() => Side::Device,
            _ => Side::Host,
        };
        let value = match source {
            Some(source) => source.operand(value, this.location_on(side))?,
            None => value.clone(),
        };
        let key = this.with_arrays(key, side)?;
        let written = Self::operated(slf, side, Access::ReadWrite)?.set_item(key, value);
        this.settled(py, side, written)
    }

    /// The array on one side that the library for it indexes.
    fn operated<'py>(
        slf: &Bound<'py, Self>,
        side: Side,
        access: Access,
    ) -> PyResult<Bound<'py, PyAny>> {
        match side {
            Side::Host => Self::array(slf, access),
            Side::Device => Self::kernel_array(slf, access),
        }
    }

    /// Where new memory is beside that of one side.
    fn location_on(&self, side: Side) -> Location {
        match (side, self.place.accelerator()) {
            (Side::Device, Some(accelerator)) => Location::Device(accelerator.clone()),
            _ => Location::Host,
        }
    }

    /// A key with the arrays that the library of a side indexes with.
    fn with_arrays<'py>(&self, key: &Bound<'py, PyAny>, side: Side) -> PyResult<Bound<'py, PyAny>> {
        let Ok(entries) = key.cast::<PyTuple>() else {
            return self.with_array(key, side);
        };
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| self.with_array(&entry, side))
            .collect::<PyResult<_>>()?;
        Ok(PyTuple::new(key.py(), entries)?.into_any())
    }

    /// An entry of a key: what the library does not know for an array, as one.
    fn with_array<'py>(
        &self,
        entry: &Bound<'py, PyAny>,
        side: Side,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = entry.py();
        let array = match speaks_for_itself(entry)? {
            true => {
                Foreign::of(entry, "key", None, Purpose::Copy)?.operand(entry, Location::Host)?
            }
            false => entry.clone(),
        };
        let on_gpu = side == Side::Device
            && self
                .place
                .accelerator()
                .is_some_and(|accelerator| accelerator.id().kind != Kind::Simulated);
        match on_gpu && array.is_instance_of::<PyUntypedArray>() {
            true => cupy(py)?.call_method1("asarray", (array,)),
            false => Ok(array),
        }
    }

    /// What the kernels of this storage's device computed, as an array there.
    fn shown_there<'py>(&self, values: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
        let py = values.py();
        let values = Foreign::of(values.as_any(), "values", None, Purpose::Copy)?;
        let storage = Resolved {
            shape: values.view.shape().into(),
            dtype: values.dtype.clone(),
            axes: values.axes.clone(),
            alignment: 1,
            location: self.location_on(Side::Device),
        }
        .allocated(py)?;
        if let Some(accelerator) = self.place.accelerator() {
            let target = for_kernels(py, accelerator.as_ref(), &storage.view)?;
            memory::assign(&values.view, &values.dtype, &target, &values.dtype)?;
        }
        Self::exported_on_device(&storage.into_object(py)?)
    }
}

impl<'py> Foreign<'py> {
    /// The elements of `object` as an array that a library computes with at `location`: a copy if they are elsewhere.
    fn operand(
        self,
        object: &Bound<'py, PyAny>,
        location: Location,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        if matches!(location, Location::Host) && !matches!(self.place, Place::Device(_)) {
            let view = self.on_host(py)?;
            let owner = (object, self.keeper).into_pyobject(py)?.into_any();
            return array_of(&view, &self.dtype, false, owner);
        }
        let on_device = !matches!(location, Location::Host);
        let copy = Resolved {
            shape: self.view.shape().into(),
            dtype: self.dtype.clone(),
            axes: self.axes.clone(),
            alignment: 1,
            location,
        };
        let copy = copy.holding(py, &self.elements())?.into_object(py)?;
        match on_device {
            true => Storage::kernel_array(&copy, Access::Read),
            false => Storage::array(&copy, Access::Read),
        }
    }
}

/// Whether an entry of a key has memory in a way that the libraries' indexing does not know.
fn speaks_for_itself(entry: &Bound<'_, PyAny>) -> PyResult<bool> {
    if entry.is_instance_of::<Storage>() || entry.is_instance_of::<SimulatedArray>() {
        return Ok(true);
    }
    // What the dims of an xarray object mean does not matter here.
    if entry.is_instance_of::<PyUntypedArray>() || is_data_array(entry)? {
        return Ok(false);
    }
    for attribute in ["__gt_data_interface__", "__gt_interface__"] {
        if entry.hasattr(attribute)? {
            return Ok(true);
        }
    }
    Ok(entry.hasattr("__dlpack__")? && !entry.hasattr("__array__")?)
}
