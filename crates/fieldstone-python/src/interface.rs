//! How any object becomes a field: where its elements lie, what its axes mean, and whom to tell of the access.
//!
//! [`describe`] takes the first that an object has: the memory of a NumPy array or a storage, `__gt_data_interface__` or
//! `__gt_interface__`, the dims of an xarray `DataArray`, then the protocols that `numpy.asarray` and `numpy.from_dlpack`
//! take without a copy.

use fieldstone_stencil::{Axis, DType};
use fieldstone_storage::Dim;
use numpy::npyffi::{NPY_ARRAY_WRITEABLE, NPY_TYPES};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple};

use crate::errors::raise;
use crate::storage::Storage;

/// Most dimensions an argument may have: three of the grid and the data dimensions.
pub const MAX_RANK: usize = 8;

/// What one axis of an array means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// An axis of the grid.
    Axis(Axis),
    /// A data dimension.
    Data(u32),
}

impl Label {
    /// The label of `"I"`, `"J"`, `"K"` or a decimal number.
    pub fn parse(text: &str) -> Option<Label> {
        match text {
            "I" => Some(Label::Axis(Axis::I)),
            "J" => Some(Label::Axis(Axis::J)),
            "K" => Some(Label::Axis(Axis::K)),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().ok().map(Label::Data)
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Axis(axis) => axis.fmt(f),
            Label::Data(number) => number.fmt(f),
        }
    }
}

/// Integers an object gives for its axes.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    values: [isize; MAX_RANK],
    len: usize,
}

impl Numbers {
    /// The integers.
    pub fn as_slice(&self) -> &[isize] {
        &self.values[..self.len]
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

/// An object as a field. Arrays are in the order of the object's own axes; entries from `rank` on mean nothing.
pub struct Interface<'py> {
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
    pub dims: Option<[Label; MAX_RANK]>,
    /// Points around the domain, where the object says so.
    pub halo: Option<[(usize, usize); MAX_RANK]>,
    /// Index of the first point of the domain, where the object says so.
    pub origin: Option<Numbers>,
    /// Whom to tell of the access.
    pub hooks: Option<Box<Hooks<'py>>>,
    /// Objects made on the way that own the memory or the callables.
    pub keep: Option<Bound<'py, PyAny>>,
}

impl Interface<'_> {
    /// The shape as an array has it.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// The strides as an array has them.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// The meaning of each axis, where the object says so.
    pub fn dims(&self) -> Option<&[Label]> {
        self.dims.as_ref().map(|dims| &dims[..self.rank])
    }
}

/// Describes the memory of an argument called `name`, without a copy.
///
/// `mapping` says what an xarray object's dims mean, before its metadata is asked.
pub fn describe<'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    mapping: Option<&Bound<'py, PyAny>>,
) -> PyResult<Interface<'py>> {
    if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
        return of_array(name, array);
    }
    match object.cast::<Storage>() {
        Ok(storage) => of_storage(name, storage),
        Err(_) => of_object(name, object, mapping),
    }
}

fn of_storage<'py>(name: &str, storage: &Bound<'py, Storage>) -> PyResult<Interface<'py>> {
    let py = storage.py();
    let storage = storage.borrow();
    let view = storage.view();
    let rank = view.shape().len();
    if rank > MAX_RANK {
        return Err(too_many_axes(py, name, rank));
    }
    let mut interface = Interface {
        pointer: view.pointer(),
        rank,
        shape: [1; MAX_RANK],
        strides: [0; MAX_RANK],
        dtype: data_type(storage.dtype().bind(py))?,
        readonly: !storage.writeable(),
        dims: None,
        halo: None,
        origin: None,
        hooks: None,
        keep: None,
    };
    interface.shape[..rank].copy_from_slice(view.shape());
    interface.strides[..rank].copy_from_slice(view.strides());
    if let Some(dims) = storage.dims() {
        let mut labels = [Label::Data(u32::MAX); MAX_RANK];
        for (label, dim) in labels.iter_mut().zip(dims) {
            *label = match dim {
                Dim::I => Label::Axis(Axis::I),
                Dim::J => Label::Axis(Axis::J),
                Dim::K => Label::Axis(Axis::K),
                Dim::Data(number) => Label::Data(*number),
            };
        }
        interface.dims = Some(labels);
    }
    let mut halo = [(0, 0); MAX_RANK];
    halo[..rank].copy_from_slice(storage.halo());
    interface.halo = Some(halo);
    if let Some(origin) = storage.explicit_origin() {
        let mut values = [0; MAX_RANK];
        for (value, &index) in values.iter_mut().zip(origin) {
            *value = index as isize;
        }
        interface.origin = Some(Numbers { values, len: rank });
    }
    Ok(interface)
}

fn data_type(descr: &Bound<'_, PyArrayDescr>) -> PyResult<Result<DType, String>> {
    Ok(match element(descr.num()) {
        Some(dtype) if descr.is_native_byteorder() != Some(false) => Ok(dtype),
        _ => Err(descr.str()?.to_string()),
    })
}

fn of_array<'py>(name: &str, array: &Bound<'py, PyUntypedArray>) -> PyResult<Interface<'py>> {
    let rank = array.ndim();
    if rank > MAX_RANK {
        return Err(too_many_axes(array.py(), name, rank));
    }
    let mut shape = [1; MAX_RANK];
    let mut strides = [0; MAX_RANK];
    shape[..rank].copy_from_slice(array.shape());
    strides[..rank].copy_from_slice(array.strides());
    // SAFETY: the array is alive and the interpreter attached, so its header can be read.
    let (pointer, flags) = unsafe {
        let array = &*array.as_array_ptr();
        (array.fields.data.cast::<u8>(), array.fields.flags)
    };
    let dtype = data_type(&array.dtype())?;
    Ok(Interface {
        pointer,
        rank,
        shape,
        strides,
        dtype,
        readonly: flags & NPY_ARRAY_WRITEABLE == 0,
        dims: None,
        halo: None,
        origin: None,
        hooks: None,
        keep: None,
    })
}

/// The element type of NumPy's type number. C's `long` and `long long` have numbers of their own.
fn element(number: std::ffi::c_int) -> Option<DType> {
    const fn sized(size: usize, signed: bool) -> DType {
        match (size, signed) {
            (4, true) => DType::Int32,
            (4, false) => DType::UInt32,
            (_, true) => DType::Int64,
            (_, false) => DType::UInt64,
        }
    }
    let long = size_of::<std::ffi::c_long>();
    const TYPES: [NPY_TYPES; 13] = [
        NPY_TYPES::NPY_BOOL,
        NPY_TYPES::NPY_BYTE,
        NPY_TYPES::NPY_UBYTE,
        NPY_TYPES::NPY_SHORT,
        NPY_TYPES::NPY_USHORT,
        NPY_TYPES::NPY_INT,
        NPY_TYPES::NPY_UINT,
        NPY_TYPES::NPY_LONG,
        NPY_TYPES::NPY_ULONG,
        NPY_TYPES::NPY_LONGLONG,
        NPY_TYPES::NPY_ULONGLONG,
        NPY_TYPES::NPY_FLOAT,
        NPY_TYPES::NPY_DOUBLE,
    ];
    let dtypes = [
        DType::Bool,
        DType::Int8,
        DType::UInt8,
        DType::Int16,
        DType::UInt16,
        DType::Int32,
        DType::UInt32,
        sized(long, true),
        sized(long, false),
        DType::Int64,
        DType::UInt64,
        DType::Float32,
        DType::Float64,
    ];
    let index = usize::try_from(number)
        .ok()
        .filter(|index| *index < TYPES.len())?;
    debug_assert_eq!(TYPES[index] as std::ffi::c_int, number);
    Some(dtypes[index])
}

/// The element type of an array interface's type string, such as `<f8`.
fn typestr(text: &str) -> Option<DType> {
    let (order, rest) = text.split_at_checked(1)?;
    let swapped = if cfg!(target_endian = "little") {
        ">"
    } else {
        "<"
    };
    let dtype = match rest {
        "b1" => DType::Bool,
        "i1" => DType::Int8,
        "i2" => DType::Int16,
        "i4" => DType::Int32,
        "i8" => DType::Int64,
        "u1" => DType::UInt8,
        "u2" => DType::UInt16,
        "u4" => DType::UInt32,
        "u8" => DType::UInt64,
        "f4" => DType::Float32,
        "f8" => DType::Float64,
        _ => return None,
    };
    (order != swapped || dtype.size() == 1).then_some(dtype)
}

#[cold]
fn of_object<'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    mapping: Option<&Bound<'py, PyAny>>,
) -> PyResult<Interface<'py>> {
    let py = object.py();
    if is_data_array(object)? {
        let described = py
            .import(intern!(py, "fieldstone.xarray"))?
            .call_method1(intern!(py, "data_interface"), (object, mapping, name))?;
        let interface = of_gt_interface(name, "__gt_data_interface__", described)?;
        // Xarray takes long to find that an object does not have an attribute.
        let kind = object.get_type();
        return match ORIGINS.iter().try_fold(false, |any, name| {
            Ok::<_, PyErr>(any || kind.hasattr(name)?)
        })? {
            true => complete(name, object, interface),
            false => Ok(interface),
        };
    }
    for attribute in ["__gt_data_interface__", "__gt_interface__"] {
        if let Some(value) = object.getattr_opt(attribute)? {
            return complete(name, object, of_gt_interface(name, attribute, value)?);
        }
    }
    let array = as_array(name, object)?;
    let mut interface = of_array(name, &array)?;
    interface.keep = Some(array.into_any());
    complete(name, object, interface)
}

/// Whether an object is an xarray `DataArray`; never imports xarray.
pub(crate) fn is_data_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let modules = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?;
    let Some(xarray) = modules.cast::<PyDict>()?.get_item(intern!(py, "xarray"))? else {
        return Ok(false);
    };
    match xarray.getattr_opt(intern!(py, "DataArray"))? {
        Some(class) => object.is_instance(&class),
        None => Ok(false),
    }
}

/// The array of one of the standard protocols, sharing the object's memory.
fn as_array<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let has = |attribute: &str| object.hasattr(attribute);
    // SAFETY: the object is alive and the interpreter attached.
    let buffer = unsafe { pyo3::ffi::PyObject_CheckBuffer(object.as_ptr()) } != 0;
    if has("__cuda_array_interface__")? && !has("__array_interface__")? {
        return Err(on_device(py, name));
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    let array = if buffer
        || has("__array_interface__")?
        || has("__array_struct__")?
        || has("__array__")?
    {
        let keywords = PyDict::new(py);
        keywords.set_item("copy", false)?;
        numpy.call_method("asarray", (object,), Some(&keywords))
    } else if has("__dlpack__")? {
        let device: (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
        const HOST: i32 = 1;
        if device.0 != HOST {
            return Err(on_device(py, name));
        }
        numpy.call_method1("from_dlpack", (object,))
    } else {
        return Err(raise(
            py,
            "ArgumentTypeError",
            format!(
                "argument '{name}' is {}, expected an array: a storage, a NumPy array, an xarray DataArray, or an object with \
                 __gt_data_interface__, __array_interface__, the buffer protocol or DLPack",
                describe_value(object)
            ),
        ));
    };
    match array {
        Ok(array) => Ok(array.cast_into::<PyUntypedArray>()?),
        Err(cause) => {
            let error = raise(
                py,
                "ArgumentTypeError",
                format!(
                    "argument '{name}' ({}) cannot be used as an array without a copy: {}",
                    type_name(object),
                    cause.value(py)
                ),
            );
            error.set_cause(py, Some(cause));
            Err(error)
        }
    }
}

/// A value for a message: its type, and the value itself when it is short.
pub fn describe_value(object: &Bound<'_, PyAny>) -> String {
    if object.is_none() {
        return "None".into();
    }
    let kind = type_name(object);
    match object.repr() {
        Ok(text) if text.to_string().len() <= 40 => format!("{text} (of type {kind})"),
        _ => format!("of type {kind}"),
    }
}

/// The name of an object's type.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .qualname()
        .map_or_else(|_| "?".into(), |name| name.to_string())
}

fn on_device(py: Python<'_>, name: &str) -> PyErr {
    raise(
        py,
        "DeviceError",
        format!(
            "argument '{name}' has its data on a GPU only, and this version of fieldstone computes in host memory; pass a host \
             array, such as the one that .get(), .cpu() or cupy.asnumpy() gives"
        ),
    )
}

fn too_many_axes(py: Python<'_>, name: &str, rank: usize) -> PyErr {
    raise(
        py,
        "ShapeError",
        format!("argument '{name}' has {rank} dimensions, expected at most {MAX_RANK}"),
    )
}

/// Attributes by which an object says where its domain starts; the first wins.
const ORIGINS: [&str; 2] = ["default_origin", "__gt_origin__"];

/// Adds what the object says of its dims and origin by attributes.
fn complete<'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    mut interface: Interface<'py>,
) -> PyResult<Interface<'py>> {
    if interface.dims.is_none() {
        interface.dims = labels(name, object, interface.rank)?;
    }
    for attribute in ORIGINS {
        if let Some(value) = object.getattr_opt(attribute)? {
            let value = called(value)?;
            if !value.is_none() {
                interface.origin = Some(numbers(name, attribute, &value)?);
                break;
            }
        }
    }
    Ok(interface)
}

fn labels(
    name: &str,
    object: &Bound<'_, PyAny>,
    rank: usize,
) -> PyResult<Option<[Label; MAX_RANK]>> {
    if let Some(dims) = object.getattr_opt("__gt_dims__")? {
        let dims = called(dims)?;
        if !dims.is_none() {
            return parse_labels(name, "__gt_dims__", &dims, rank).map(Some);
        }
    }
    match object.getattr_opt("dims")? {
        // Other libraries have an attribute of this name that is a method or a number.
        Some(dims)
            if dims.is_instance_of::<PyString>() || dims.extract::<Vec<String>>().is_ok() =>
        {
            parse_labels(name, "dims", &dims, rank).map(Some)
        }
        _ => Ok(None),
    }
}

fn parse_labels(
    name: &str,
    source: &str,
    dims: &Bound<'_, PyAny>,
    rank: usize,
) -> PyResult<[Label; MAX_RANK]> {
    let py = dims.py();
    let wrong = |problem: &str| {
        raise(
            py,
            "DimensionsError",
            format!(
                "argument '{name}': its {source} {} {problem}",
                dims.repr()
                    .map_or_else(|_| "?".into(), |text| text.to_string())
            ),
        )
    };
    let mut labels = [Label::Data(u32::MAX); MAX_RANK];
    let mut count = 0;
    for dim in dims.try_iter().map_err(|_| {
        wrong("is no sequence; expected one label for each axis, such as ('I', 'J', 'K')")
    })? {
        let label = dim?
            .cast::<PyString>()
            .ok()
            .and_then(|text| Label::parse(&text.to_string_lossy()))
            .ok_or_else(|| wrong("has an unknown label; expected 'I', 'J', 'K', or a number for a data dimension"))?;
        if count >= rank {
            return Err(wrong(&format!(
                "has more labels than the {rank} axes of the array"
            )));
        }
        if labels[..count].contains(&label) {
            return Err(wrong(&format!("repeats '{label}'")));
        }
        labels[count] = label;
        count += 1;
    }
    if count < rank {
        return Err(wrong(&format!(
            "has {count} labels for the {rank} axes of the array"
        )));
    }
    Ok(labels)
}

fn numbers(name: &str, source: &str, value: &Bound<'_, PyAny>) -> PyResult<Numbers> {
    let py = value.py();
    let wrong = || {
        raise(
            py,
            "OriginError",
            format!(
                "argument '{name}': its {source} is {}, expected one integer for each axis",
                describe_value(value)
            ),
        )
    };
    let values: Vec<isize> = value
        .try_iter()
        .map_err(|_| wrong())?
        .map(|entry| entry?.extract::<isize>().map_err(|_| wrong()))
        .collect::<PyResult<_>>()?;
    if values.len() > MAX_RANK {
        return Err(wrong());
    }
    let mut numbers = Numbers {
        values: [0; MAX_RANK],
        len: values.len(),
    };
    numbers.values[..values.len()].copy_from_slice(&values);
    Ok(numbers)
}

/// The value, or what it returns if it is a callable.
fn called<'py>(value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_callable() {
        value.call0()
    } else {
        Ok(value)
    }
}

fn of_gt_interface<'py>(
    name: &str,
    attribute: &str,
    devices: Bound<'py, PyAny>,
) -> PyResult<Interface<'py>> {
    let py = devices.py();
    let devices = called(devices)?;
    let devices = devices.cast::<PyMapping>().map_err(|_| {
        raise(
            py,
            "ArgumentTypeError",
            format!(
                "argument '{name}': its {attribute} is {}, expected a dictionary from device to buffer, such as {{None: {{...}}}}",
                describe_value(&devices)
            ),
        )
    })?;
    let host = [
        py.None().into_bound(py),
        intern!(py, "cpu").clone().into_any(),
    ];
    for key in host {
        if devices.contains(&key)? {
            let buffer = called(devices.get_item(&key)?)?;
            return of_buffer(name, attribute, &buffer);
        }
    }
    let keys = devices.keys()?;
    let on_gpu = keys.iter().any(|key| match key.cast::<PyTuple>() {
        Ok(pair) => pair
            .get_item(0)
            .is_ok_and(|kind| kind.eq("gpu").unwrap_or(false)),
        Err(_) => key.eq("gpu").unwrap_or(false),
    });
    if on_gpu {
        return Err(on_device(py, name));
    }
    Err(raise(
        py,
        "ArgumentValueError",
        format!(
            "argument '{name}': its {attribute} has buffers for {}, expected one for None or 'cpu'",
            keys.repr()?
        ),
    ))
}

fn of_buffer<'py>(
    name: &str,
    attribute: &str,
    buffer: &Bound<'py, PyAny>,
) -> PyResult<Interface<'py>> {
    let py = buffer.py();
    let wrong = |problem: String| {
        raise(
            py,
            "ArgumentValueError",
            format!("argument '{name}': its {attribute} {problem}"),
        )
    };
    let entries = buffer.cast::<PyMapping>().map_err(|_| {
        wrong(format!(
            "maps to {}, expected a dictionary",
            describe_value(buffer)
        ))
    })?;
    let entry = |key: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
        if !entries.contains(key)? {
            return Ok(None);
        }
        Ok(Some(entries.get_item(key)?).filter(|value| !value.is_none()))
    };
    let needed = |key: &str| entry(key)?.ok_or_else(|| wrong(format!("has no '{key}'")));

    let shape = needed("shape")?;
    let lengths: Vec<usize> = shape.extract().map_err(|_| {
        wrong(format!(
            "has the shape {}, expected integers that are not negative",
            describe_value(&shape)
        ))
    })?;
    let rank = lengths.len();
    if rank > MAX_RANK {
        return Err(too_many_axes(py, name, rank));
    }
    let text: String = needed("typestr")?.extract().map_err(|_| {
        wrong("has a 'typestr' that is no string, expected one such as '<f8'".into())
    })?;
    let dtype = typestr(&text).ok_or(text);
    let data = needed("data")?;
    let (address, readonly): (usize, bool) = data.extract().map_err(|_| {
        wrong(format!(
            "has the data {}, expected a tuple (address, read-only)",
            describe_value(&data)
        ))
    })?;
    if address == 0 && !lengths.contains(&0) {
        return Err(wrong("has the address 0".into()));
    }
    let mut interface = Interface {
        pointer: std::ptr::with_exposed_provenance_mut(address),
        rank,
        shape: [1; MAX_RANK],
        strides: [0; MAX_RANK],
        dtype,
        readonly,
        dims: None,
        halo: None,
        origin: None,
        hooks: None,
        keep: Some(buffer.clone()),
    };
    interface.shape[..rank].copy_from_slice(&lengths);
    match entry("strides")? {
        Some(strides) => {
            let bytes: Vec<isize> = strides
                .extract()
                .ok()
                .filter(|bytes: &Vec<isize>| bytes.len() == rank)
                .ok_or_else(|| {
                    wrong(format!(
                        "has the strides {}, expected {rank} integers, in bytes",
                        describe_value(&strides)
                    ))
                })?;
            interface.strides[..rank].copy_from_slice(&bytes);
        }
        None => {
            let mut stride = interface.dtype.as_ref().map_or(0, |dtype| dtype.size());
            for axis in (0..rank).rev() {
                interface.strides[axis] = stride as isize;
                stride = stride.saturating_mul(lengths[axis].max(1));
            }
        }
    }
    if let Some(dims) = entry("dims")? {
        interface.dims = Some(parse_labels(name, "'dims'", &dims, rank)?);
    }
    if let Some(halo) = entry("halo")? {
        interface.halo = Some(parse_halo(&halo, rank).ok_or_else(|| {
            wrong(format!(
                "has the halo {}, expected for each of {rank} axes a pair of integers that are not negative",
                describe_value(&halo)
            ))
        })?);
    }
    let hooks = Hooks {
        acquire: entry("acquire")?,
        touch: entry("touch")?,
        release: entry("release")?,
    };
    for (key, hook) in [
        ("acquire", &hooks.acquire),
        ("touch", &hooks.touch),
        ("release", &hooks.release),
    ] {
        if hook.as_ref().is_some_and(|hook| !hook.is_callable()) {
            return Err(wrong(format!("has an '{key}' that cannot be called")));
        }
    }
    if hooks.acquire.is_some() || hooks.touch.is_some() || hooks.release.is_some() {
        interface.hooks = Some(Box::new(hooks));
    }
    Ok(interface)
}

fn parse_halo(halo: &Bound<'_, PyAny>, rank: usize) -> Option<[(usize, usize); MAX_RANK]> {
    let mut pairs = [(0, 0); MAX_RANK];
    let mut count = 0;
    for entry in halo.try_iter().ok()? {
        let entry = entry.ok()?;
        let pair = match entry.extract::<usize>() {
            Ok(both) => (both, both),
            Err(_) => entry
                .extract::<(usize, usize)>()
                .or_else(|_| {
                    // A list of two is as good as a tuple.
                    entry
                        .extract::<[usize; 2]>()
                        .map(|[lower, upper]| (lower, upper))
                })
                .ok()?,
        };
        *pairs.get_mut(count)? = pair;
        count += 1;
    }
    (count == rank).then_some(pairs)
}

/// The field that an object is, as a dictionary: ``address, shape, strides, dtype, readonly, dims, halo, origin``.
#[pyfunction]
#[pyo3(signature = (object, mapping = None, name = "object"))]
fn describe_field<'py>(
    object: &Bound<'py, PyAny>,
    mapping: Option<&Bound<'py, PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let py = object.py();
    let field = describe(name, object, mapping)?;
    let dict = PyDict::new(py);
    dict.set_item("address", field.pointer.addr())?;
    dict.set_item("shape", PyTuple::new(py, field.shape())?)?;
    dict.set_item("strides", PyTuple::new(py, field.strides())?)?;
    dict.set_item(
        "dtype",
        field
            .dtype
            .as_ref()
            .map_or_else(String::clone, |dtype| dtype.to_string()),
    )?;
    dict.set_item("readonly", field.readonly)?;
    let dims = field
        .dims()
        .map(|dims| PyTuple::new(py, dims.iter().map(Label::to_string)));
    dict.set_item("dims", dims.transpose()?)?;
    let halo = field.halo.map(|halo| PyTuple::new(py, &halo[..field.rank]));
    dict.set_item("halo", halo.transpose()?)?;
    let origin = field
        .origin
        .map(|origin| PyTuple::new(py, origin.as_slice()));
    dict.set_item("origin", origin.transpose()?)?;
    Ok(dict)
}

/// Adds what this file binds.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(describe_field, module)?)
}
