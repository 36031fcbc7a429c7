//! How any object shows its memory and what its axes mean.
//!
//! One order of rules for the arguments of stencils, for data that a storage copies or wraps, and for values that are
//! assigned to one. Storages and exact NumPy arrays tell by themselves; of any other object [`read`] takes the first of
//!
//! 1. the dims of an xarray `DataArray` (`fieldstone.xarray`, which prefers an accessor that the user has registered),
//! 2. `__gt_data_interface__` or `__gt_interface__` ([`data_interface`]),
//! 3. the standard protocols, without a copy ([`protocols`]).
//!
//! What the object says of its axes beside that, [`attributes`] reads. The result is the object's own
//! [`Memory`] and what is known of its axes; [`Description`] is the same as a stencil wants it. [`Refusal`] is why an object
//! cannot be read; how that is worded depends on who asks ([`Request`]).
mod attributes;
mod buffer;
mod bytes;
mod data_interface;
mod description;
mod dims;
mod dlpack;
mod element;
mod memory;
mod protocols;
mod refusal;

use fieldstone_storage::{Dim, Side};
use numpy::PyUntypedArray;
use pyo3::ffi::PyImport_GetModuleDict;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

pub use self::attributes::of_type as says_origin;
pub use self::description::{Description, Known, MAX_RANK, Numbers};
pub use self::dims::{BadLabels, labels, show};
pub use self::memory::{Memory, wait};
pub use self::refusal::{Refusal, describe_value, type_name};

/// What the memory of an object is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A call of a stencil, which computes in it.
    Call,
    /// A storage around it.
    Wrap,
    /// Its values, so that an object without memory, such as a list, may be converted.
    Copy,
}

/// Who wants to know the memory of an object.
#[derive(Clone, Copy)]
pub struct Request<'a, 'py> {
    /// What the user calls the object.
    pub name: &'a str,
    /// What its memory is for.
    pub purpose: Purpose,
    /// What the dims of an xarray object mean, before its metadata is asked.
    pub mapping: Option<&'a Bound<'py, PyAny>>,
    /// Which memory is read of an object that has some on both sides.
    pub prefer: Side,
}

impl Request<'_, '_> {
    /// Whether streams of a device are waited for by others of its streams, so that the host need not wait.
    fn in_streams(&self) -> bool {
        self.purpose == Purpose::Call && self.prefer == Side::Device
    }
}

/// Callables of an object that wants to know of an access to its memory.
pub struct Hooks<'py> {
    /// Called before the access.
    pub acquire: Option<Bound<'py, PyAny>>,
    /// Called after a write.
    pub touch: Option<Bound<'py, PyAny>>,
    /// Called after the access.
    pub release: Option<Bound<'py, PyAny>>,
}

/// An object that has been read.
pub struct Found<'py> {
    /// Its memory.
    pub memory: Memory<'py>,
    /// What each axis means, or why that is not known, where the object says something of it.
    pub dims: Option<Result<Vec<Dim>, PyErr>>,
    /// Points around the domain, where the object says so.
    pub halo: Option<Vec<(usize, usize)>>,
    /// The name and the value of the attribute for the index of the first point of the domain.
    pub origin: Option<(&'static str, Vec<isize>)>,
    /// Whom to tell of an access.
    pub hooks: Option<Box<Hooks<'py>>>,
}

impl<'py> Found<'py> {
    fn of_memory(memory: Memory<'py>) -> Self {
        Found {
            memory,
            dims: None,
            halo: None,
            origin: None,
            hooks: None,
        }
    }
}

/// The memory of an object that is neither a storage nor exactly a NumPy array, by the first rule that fits.
#[cold]
pub fn read<'py>(request: &Request<'_, 'py>, object: &Bound<'py, PyAny>) -> PyResult<Found<'py>> {
    let py = object.py();
    if is_data_array(object)? {
        let mut found = match &plain(request, object)? {
            Some((data, dims)) if let Ok(array) = data.cast::<PyUntypedArray>() => {
                let mut found = Found::of_memory(Memory::of_array(array)?);
                attributes::set_dims(request, &mut found, "'dims'", dims)?;
                found
            }
            _ => {
                let described = ask(request, object, intern!(py, "data_interface"))?;
                data_interface::read(request, object, "__gt_data_interface__", described)?
            }
        };
        // Xarray takes long to find that an object does not have an attribute.
        if attributes::of_type(object)? {
            attributes::complete(request, object, &mut found)?;
        }
        return Ok(found);
    }
    for attribute in ["__gt_data_interface__", "__gt_interface__"] {
        if let Some(value) = object.getattr_opt(attribute)? {
            let mut found = data_interface::read(request, object, attribute, value)?;
            attributes::complete(request, object, &mut found)?;
            return Ok(found);
        }
    }
    let there = match request.prefer {
        Side::Host => None,
        Side::Device => protocols::on_device(request, object)?,
    };
    let mut found = Found::of_memory(match there {
        Some(memory) => memory,
        None => protocols::read(request, object)?,
    });
    attributes::complete(request, object, &mut found)?;
    Ok(found)
}

/// What an xarray `DataArray` wraps, a NumPy array or a storage, and what its axes mean, if that is all there is to know of it.
#[cold]
pub fn wrapped<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Vec<Dim>)>> {
    if !is_data_array(object)? || attributes::of_type(object)? {
        return Ok(None);
    }
    let found = plain(request, object)?;
    Ok(found.and_then(|(data, dims)| Some((data, labels(&dims).ok()?))))
}

/// What a `DataArray` wraps, and what its dims mean, if that is all there is to know of it.
fn plain<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let plain = ask(request, object, intern!(object.py(), "plain"))?;
    match plain.cast::<PyTuple>() {
        Ok(plain) => Ok(Some((plain.get_item(0)?, plain.get_item(1)?))),
        Err(_) => Ok(None),
    }
}

/// Asks a function of `fieldstone.xarray` for what a `DataArray` is.
fn ask<'py>(
    request: &Request<'_, 'py>,
    object: &Bound<'py, PyAny>,
    function: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let name = intern!(py, "fieldstone.xarray");
    let xarray = match imported(name)? {
        Some(module) => module,
        None => py.import(name)?.into_any(),
    };
    let labelled = request.purpose != Purpose::Call;
    xarray.call_method1(function, (object, request.mapping, request.name, labelled))
}

/// Whether an object is an xarray `DataArray`; never imports xarray.
pub fn is_data_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let Some(xarray) = imported(intern!(py, "xarray"))? else {
        return Ok(false);
    };
    match xarray.getattr_opt(intern!(py, "DataArray"))? {
        Some(class) => object.is_instance(&class),
        None => Ok(false),
    }
}

/// A module that has been imported, without the way that an import statement takes.
fn imported<'py>(name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    // SAFETY: the interpreter is attached, and gives the dictionary of its modules, which it keeps.
    let modules = unsafe { Bound::from_borrowed_ptr_or_err(name.py(), PyImport_GetModuleDict())? };
    modules.cast::<PyDict>()?.get_item(name)
}

/// The value, or what it returns if it is a callable.
fn called<'py>(value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_callable() {
        value.call0()
    } else {
        Ok(value)
    }
}
