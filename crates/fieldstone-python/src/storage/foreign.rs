//! The memory of any object as data of a storage: wrapped, or converted where its values are all that counts.

use fieldstone_storage::{Dim, PerAxis, Side, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::assign::Elements;
use super::axes::{self, Axes};
use super::device_array::SimulatedArray;
use super::parameters::check_dtype;
use super::place::Place;
use super::{Storage, memory};
use crate::errors::raise;
use crate::interface::{self, Found, Memory, Purpose, Request, is_data_array, type_name};

/// Memory that belongs to somebody else, or to another storage.
pub struct Foreign<'py> {
    pub view: View,
    pub dtype: Bound<'py, PyArrayDescr>,
    pub writeable: bool,
    /// What keeps the memory alive; `None` if the view itself does.
    pub keeper: Option<Bound<'py, PyAny>>,
    pub axes: Axes,
    /// In bytes, as far as the object says.
    pub alignment: usize,
    /// Where the memory is.
    pub place: Place,
    /// Labels that are not among I, J, K and data dimensions, and the error that says so.
    unknown_dims: Option<PyErr>,
}

impl<'py> Foreign<'py> {
    /// The memory of `object`, which the caller knows as `name` and whose axes are `dims`, where that is known.
    pub fn of(
        object: &Bound<'py, PyAny>,
        name: &str,
        dims: Option<&[Dim]>,
        purpose: Purpose,
    ) -> PyResult<Self> {
        Self::near(Side::Host, object, name, dims, purpose)
    }

    /// The memory of `object` on one side, or on the other if it has none there.
    pub fn near(
        prefer: Side,
        object: &Bound<'py, PyAny>,
        name: &str,
        dims: Option<&[Dim]>,
        purpose: Purpose,
    ) -> PyResult<Self> {
        if let Ok(storage) = object.cast::<Storage>() {
            return Ok(Self::of_storage(storage));
        }
        if let Ok(array) = object.cast::<SimulatedArray>() {
            return Ok(Self::of_storage(array.get().elements().bind(object.py())));
        }
        if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
            return Self::of_memory(Memory::of_array(array)?, name, purpose);
        }
        let mapping = match dims {
            Some(dims) if is_data_array(object)? => Some(meanings(object, dims)?.into_any()),
            _ => None,
        };
        let request = Request {
            name,
            purpose,
            mapping: mapping.as_ref(),
            prefer,
        };
        Self::of_found(object, interface::read(&request, object)?, &request)
    }

    /// What is assigned to elements at `place`: on the device, if both are there.
    ///
    /// Where axes are known by position only, the dims of an xarray object need not mean anything.
    pub fn value(object: &Bound<'py, PyAny>, place: &Place, labelled: bool) -> PyResult<Self> {
        let prefer = match place.has(Side::Device) {
            true => Side::Device,
            false => Side::Host,
        };
        let data = match !labelled && is_data_array(object)? {
            true => object.getattr("data")?,
            false => object.clone(),
        };
        Self::near(prefer, &data, "value", None, Purpose::Copy)
    }

    /// The labels of the axes, if the object has any; an error if they are not those of a field.
    pub fn labels(&self, py: Python<'_>) -> PyResult<Option<&[Dim]>> {
        match &self.unknown_dims {
            Some(error) => Err(error.clone_ref(py)),
            None => Ok(self.axes.dims.as_deref()),
        }
    }

    /// The storage around this memory, of which nothing else is said.
    pub fn wrapped(self) -> Storage {
        let aligned = memory::is_aligned(&self.view, &self.axes.aligned_index, self.alignment);
        Storage {
            view: self.view,
            dtype: self.dtype.unbind(),
            axes: self.axes,
            alignment: if aligned { self.alignment } else { 1 },
            writeable: self.writeable,
            keeper: self.keeper.map(Bound::unbind),
            place: self.place,
        }
    }

    /// The elements, to be read.
    pub fn elements(&self) -> Elements<'_, 'py> {
        Elements {
            view: &self.view,
            dtype: &self.dtype,
            place: &self.place,
        }
    }

    /// The elements in host memory, current: a copy of those that are on a device only.
    pub fn on_host(&self, py: Python<'py>) -> PyResult<View> {
        self.elements().on_host(py)
    }

    pub fn of_storage(storage: &Bound<'py, Storage>) -> Self {
        let py = storage.py();
        let storage = storage.borrow();
        Self {
            view: storage.view.clone(),
            dtype: storage.dtype.bind(py).clone(),
            writeable: storage.writeable,
            keeper: storage
                .keeper
                .as_ref()
                .map(|keeper| keeper.bind(py).clone()),
            axes: storage.axes.clone(),
            alignment: storage.alignment,
            place: storage.place.clone_ref(py),
            unknown_dims: None,
        }
    }

    fn of_memory(memory: Memory<'py>, name: &str, purpose: Purpose) -> PyResult<Self> {
        // What comes from a file may have the bytes of each element the other way round.
        if purpose == Purpose::Copy
            && memory.accelerator.is_none()
            && memory.dtype.is_native_byteorder() == Some(false)
        {
            let native = memory.dtype.call_method1("newbyteorder", ("=",))?;
            let array = memory.array()?.call_method1("astype", (native,))?;
            return Self::of_memory(Memory::of_array(array.cast()?)?, name, Purpose::Wrap);
        }
        check_dtype(&memory.dtype, name)?;
        let ndim = memory.view.ndim();
        Ok(Self {
            dtype: memory.dtype,
            writeable: memory.writeable,
            keeper: Some(memory.keeper),
            axes: Axes {
                dims: None,
                halo: PerAxis::from_elem((0, 0), ndim),
                explicit_origin: None,
                aligned_index: PerAxis::from_elem(0, ndim),
                layout: memory.view.layout(),
            },
            view: memory.view,
            alignment: 1,
            place: memory.accelerator.map_or(Place::Host, Place::Device),
            unknown_dims: None,
        })
    }

    /// The memory of an object that has been read, and what it says of its axes.
    fn of_found(
        object: &Bound<'py, PyAny>,
        found: Found<'py>,
        request: &Request<'_, 'py>,
    ) -> PyResult<Self> {
        let py = object.py();
        let name = request.name;
        if let Some(acquire) = found.hooks.and_then(|hooks| hooks.acquire) {
            acquire.call0()?;
        }
        if found.memory.dtype.kind() == b'O' {
            let message = format!(
                "{name}: an object of type {} is no array of numbers; expected an array",
                type_name(object)
            );
            return Err(raise(py, "ArgumentTypeError", message));
        }
        let mut foreign = Self::of_memory(found.memory, name, request.purpose)?;
        match found.dims {
            Some(Ok(dims)) => foreign.axes.dims = Some(dims.into()),
            Some(Err(error)) => foreign.unknown_dims = Some(error),
            None => {}
        }
        if let Some(halo) = found.halo {
            foreign.axes.aligned_index = halo.iter().map(|&(lower, _)| lower).collect();
            foreign.axes.halo = halo.into();
        }
        if let Some((attribute, origin)) = found.origin {
            foreign.set_origin(py, attribute, &origin)?;
        }
        Ok(foreign)
    }

    fn set_origin(&mut self, py: Python<'_>, attribute: &str, origin: &[isize]) -> PyResult<()> {
        let inside: Option<PerAxis<usize>> = origin
            .iter()
            .zip(self.view.shape())
            .map(|(&index, &size)| usize::try_from(index).ok().filter(|index| *index <= size))
            .collect();
        match inside {
            Some(inside) if origin.len() == self.view.ndim() => {
                self.axes.explicit_origin = Some(inside);
                Ok(())
            }
            _ => {
                let message = format!(
                    "data: its {attribute} is {}, which is no index into its shape {}",
                    axes::numbers(origin),
                    axes::numbers(self.view.shape())
                );
                Err(raise(py, "OriginError", message))
            }
        }
    }
}

/// What the dims of an xarray object mean, if its axes are `dims`.
fn meanings<'py>(object: &Bound<'py, PyAny>, dims: &[Dim]) -> PyResult<Bound<'py, PyDict>> {
    let mapping = PyDict::new(object.py());
    for (name, dim) in object.getattr("dims")?.try_iter()?.zip(dims) {
        mapping.set_item(name?, dim.to_string())?;
    }
    Ok(mapping)
}
