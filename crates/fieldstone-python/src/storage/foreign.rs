//! Arrays of other libraries: the first of the protocols they speak that gives their memory without a copy.

use fieldstone_storage::{Dim, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::axes::{self, Axes};
use super::parameters::{self, check_dtype, shown};
use super::{Storage, memory};
use crate::errors::raise;
use crate::interface::is_data_array;

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
    /// Labels that are not among I, J, K and data dimensions, and the error that says so.
    unknown_dims: Option<PyErr>,
}

/// Whether an object without a buffer, such as a list, may be converted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    Allowed,
    Refused,
}

impl<'py> Foreign<'py> {
    /// The memory of `object`, which the caller knows as `name` and whose axes are `dims`, where that is known.
    pub fn of(
        object: &Bound<'py, PyAny>,
        name: &str,
        dims: Option<&[Dim]>,
        conversion: Conversion,
    ) -> PyResult<Self> {
        if let Ok(storage) = object.cast::<Storage>() {
            return Ok(Self::of_storage(storage));
        }
        if let Ok(array) = object.cast_exact::<numpy::PyUntypedArray>() {
            return Self::of_array(array, name, conversion);
        }
        match interface_of(object, name, dims)? {
            Some(interface) => Self::of_interface(object, &interface, name, conversion),
            None => {
                let array = as_array(object, name, conversion)?;
                let mut foreign = Self::of_array(&array, name, conversion)?;
                foreign.read_labels(object)?;
                foreign.read_origin(object)?;
                Ok(foreign)
            }
        }
    }

    /// The labels of the axes, if the object has any; an error if they are not those of a field.
    pub fn labels(&self, py: Python<'_>) -> PyResult<Option<&[Dim]>> {
        match &self.unknown_dims {
            Some(error) => Err(error.clone_ref(py)),
            None => Ok(self.axes.dims.as_deref()),
        }
    }

    fn of_storage(storage: &Bound<'py, Storage>) -> Self {
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
            unknown_dims: None,
        }
    }

    fn of_array(
        array: &Bound<'py, PyUntypedArray>,
        name: &str,
        conversion: Conversion,
    ) -> PyResult<Self> {
        // What comes from a file may have the bytes of each element the other way round.
        if conversion == Conversion::Allowed && array.dtype().is_native_byteorder() == Some(false) {
            let native = array.dtype().call_method1("newbyteorder", ("=",))?;
            let array = array.call_method1("astype", (native,))?;
            return Self::of_array(&array.cast_into()?, name, Conversion::Refused);
        }
        let dtype = array.dtype();
        check_dtype(&dtype, name)?;
        let ndim = array.ndim();
        let view = memory::view_of(array)?;
        Ok(Self {
            dtype,
            writeable: memory::is_writeable(array),
            keeper: Some(array.clone().into_any()),
            axes: Axes {
                dims: None,
                halo: vec![(0, 0); ndim],
                explicit_origin: None,
                aligned_index: vec![0; ndim],
                layout: view.layout(),
            },
            view,
            alignment: 1,
            unknown_dims: None,
        })
    }

    /// The host entry of a data interface.
    fn of_interface(
        object: &Bound<'py, PyAny>,
        interface: &Bound<'py, PyDict>,
        name: &str,
        conversion: Conversion,
    ) -> PyResult<Self> {
        let py = object.py();
        let host = match interface.get_item(py.None())? {
            Some(host) => Some(host),
            None => interface.get_item("cpu")?,
        };
        let Some(host) = host else {
            let message = format!(
                "{name}: the data interface of the {} has no buffer in host memory, and this version of fieldstone \
                 supports no device; its keys are {}",
                object.get_type().name()?,
                shown(interface.keys().as_any())
            );
            return Err(raise(py, "DeviceError", message));
        };
        let host = if host.is_callable() {
            host.call0()?
        } else {
            host
        };
        let host = host.cast_into::<PyDict>().map_err(|_| {
            let message = format!(
                "{name}: the data interface of the object has no dictionary for host memory"
            );
            raise(py, "ArgumentTypeError", message)
        })?;
        if let Some(acquire) = host
            .get_item("acquire")?
            .filter(|acquire| !acquire.is_none())
        {
            acquire.call0()?;
        }
        let array = array_of_interface(object, &host, name)?;
        let mut foreign = Self::of_array(&array, name, conversion)?;
        foreign.read_origin(object)?;
        match host.get_item("dims")?.filter(|dims| !dims.is_none()) {
            Some(dims) => foreign.set_labels(&dims)?,
            None => foreign.read_labels(object)?,
        }
        if let Some(halo) = host.get_item("halo")?.filter(|halo| !halo.is_none()) {
            let halo = parameters::halo(&halo)?;
            if halo.len() == foreign.axes.halo.len() {
                foreign.axes.aligned_index = halo.iter().map(|&(lower, _)| lower).collect();
                foreign.axes.halo = halo;
            } else {
                let message = format!(
                    "{name}: the halo of its data interface has {} entries for {} axes",
                    halo.len(),
                    foreign.axes.halo.len()
                );
                return Err(raise(py, "ArgumentValueError", message));
            }
        }
        Ok(foreign)
    }

    /// Labels that the object itself carries.
    fn read_labels(&mut self, object: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Some(dims) = labels_of(object)? {
            self.set_labels(&dims)?;
        }
        Ok(())
    }

    /// The origin that the object itself carries.
    fn read_origin(&mut self, object: &Bound<'py, PyAny>) -> PyResult<()> {
        for name in ["default_origin", "__gt_origin__"] {
            let Some(origin) = object.getattr_opt(name)? else {
                continue;
            };
            let origin = if origin.is_callable() {
                origin.call0()?
            } else {
                origin
            };
            if origin.is_none() {
                continue;
            }
            let origin = parameters::entries(&origin, name, "index")?;
            let inside = |(&index, &size): (&usize, &usize)| index <= size;
            if origin.len() != self.view.ndim() || !origin.iter().zip(self.view.shape()).all(inside)
            {
                let message = format!(
                    "data: its {name} is {}, which is no index into its shape {}",
                    axes::numbers(&origin),
                    axes::numbers(self.view.shape())
                );
                return Err(raise(object.py(), "OriginError", message));
            }
            self.axes.explicit_origin = Some(origin);
            break;
        }
        Ok(())
    }

    fn set_labels(&mut self, dims: &Bound<'py, PyAny>) -> PyResult<()> {
        match parameters::dims(dims, "dims") {
            Ok(dims) if dims.len() == self.view.shape().len() => self.axes.dims = Some(dims),
            Ok(dims) => {
                let message = format!(
                    "dims: the data says that its axes are {}, but it has {} axes",
                    axes::show(&dims),
                    self.view.shape().len()
                );
                return Err(raise(self.dtype.py(), "DimensionsError", message));
            }
            Err(error) => self.unknown_dims = Some(error),
        }
        Ok(())
    }
}

/// `__gt_data_interface__`, or the same under its older name, as a dictionary.
fn interface_of<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    dims: Option<&[Dim]>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    if is_data_array(object)? {
        let py = object.py();
        let mapping = dims.map(|dims| meanings(object, dims)).transpose()?;
        let module = py.import("fieldstone.xarray")?;
        let interface = module
            .getattr("data_interface")?
            .call1((object, mapping, name))?;
        return Ok(Some(interface.cast_into::<PyDict>()?));
    }
    for name in ["__gt_data_interface__", "__gt_interface__"] {
        if let Some(interface) = object.getattr_opt(name)? {
            let interface = if interface.is_callable() {
                interface.call0()?
            } else {
                interface
            };
            let message = || {
                format!(
                    "{name}: expected a dictionary of devices, got {}",
                    shown(&interface)
                )
            };
            let interface = interface
                .cast::<PyDict>()
                .map_err(|_| raise(object.py(), "ArgumentTypeError", message()))?
                .clone();
            return Ok(Some(interface));
        }
    }
    Ok(None)
}

/// What the dims of an xarray object mean, if its axes are `dims`.
fn meanings<'py>(object: &Bound<'py, PyAny>, dims: &[Dim]) -> PyResult<Bound<'py, PyDict>> {
    let mapping = PyDict::new(object.py());
    for (name, dim) in object.getattr("dims")?.try_iter()?.zip(dims) {
        mapping.set_item(name?, dim.to_string())?;
    }
    Ok(mapping)
}

/// The labels an object carries: `__gt_dims__`, a method or an attribute, else `dims`.
pub fn labels_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let labels = match object.getattr_opt("__gt_dims__")? {
        Some(labels) if labels.is_callable() => labels.call0()?,
        Some(labels) => labels,
        None => match object.getattr_opt("dims")? {
            Some(labels) if !labels.is_callable() => labels,
            _ => return Ok(None),
        },
    };
    Ok(Some(labels).filter(|labels| !labels.is_none()))
}

/// A NumPy array of the memory an interface's dictionary describes; NumPy checks the description.
fn array_of_interface<'py>(
    object: &Bound<'py, PyAny>,
    description: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let standard = PyDict::new(py);
    for key in ["shape", "typestr", "data"] {
        let Some(value) = description.get_item(key)? else {
            let message = format!(
                "{name}: the data interface of the {} has no '{key}'",
                object.get_type().name()?
            );
            return Err(raise(py, "ArgumentTypeError", message));
        };
        let is_sequence = key == "shape" && value.try_iter().is_ok();
        standard.set_item(
            key,
            if is_sequence {
                tuple_of(&value)?.into_any()
            } else {
                value
            },
        )?;
    }
    if let Some(strides) = description
        .get_item("strides")?
        .filter(|strides| !strides.is_none())
    {
        standard.set_item("strides", tuple_of(&strides)?)?;
    }
    standard.set_item("version", 3)?;
    let attributes = PyDict::new(py);
    attributes.set_item("__array_interface__", standard)?;
    attributes.set_item("owner", (object, description))?;
    let carrier = py
        .import("types")?
        .getattr("SimpleNamespace")?
        .call((), Some(&attributes))?;
    let array = memory::numpy(py)?
        .getattr("asarray")?
        .call1((carrier,))
        .map_err(|error| {
            let message = format!(
                "{name}: its data interface does not describe an array: {}",
                error.value(py)
            );
            raise(py, "ArgumentValueError", message)
        })?;
    Ok(array.cast_into::<PyUntypedArray>()?)
}

fn tuple_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(value.py(), value.try_iter()?.collect::<PyResult<Vec<_>>>()?)
}

/// Whatever NumPy takes as an array.
fn as_array<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    conversion: Conversion,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let numpy = memory::numpy(py)?;
    let speaks = |protocols: &[&str]| {
        protocols
            .iter()
            .any(|protocol| object.hasattr(*protocol).unwrap_or(false))
    };
    if speaks(&["__dlpack__"]) && !speaks(&["__array_interface__", "__array_struct__", "__array__"])
    {
        let array = numpy
            .getattr("from_dlpack")?
            .call1((object,))
            .map_err(|error| {
                let message = format!("{name}: its DLPack exchange failed: {}", error.value(py));
                raise(py, "ArgumentValueError", message)
            })?;
        return Ok(array.cast_into::<PyUntypedArray>()?);
    }
    if speaks(&["__cuda_array_interface__"]) && !speaks(&["__array_interface__", "__array__"]) {
        let message = format!(
            "{name}: it is in device memory, and this version of fieldstone supports no device"
        );
        return Err(raise(py, "DeviceError", message));
    }
    let keywords = PyDict::new(py);
    if conversion == Conversion::Refused {
        keywords.set_item("copy", false)?;
    }
    let kind = object.get_type().name()?;
    let array = numpy.getattr("asarray")?.call((object,), Some(&keywords)).map_err(|error| {
        let message = match conversion {
            Conversion::Allowed => format!("{name}: an object of type {kind} is no array: {}", error.value(py)),
            Conversion::Refused => format!(
                "{name}: an object of type {kind} has no memory that can be used as it is; copy it with storage(data), or convert it \
                 to an array first"
            ),
        };
        raise(py, "ArgumentTypeError", message)
    })?;
    let array = array.cast_into::<PyUntypedArray>()?;
    if array.dtype().kind() == b'O' {
        let message =
            format!("{name}: an object of type {kind} is no array of numbers; expected an array");
        return Err(raise(py, "ArgumentTypeError", message));
    }
    Ok(array)
}
