//! The keyword arguments of the creation functions: their two sets of names, and what values they take.

use std::sync::Arc;

use fieldstone_device::Accelerator;
use std::fmt;

use fieldstone_storage::{Dim, PerAxis, Preset, StrideOrder};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFrozenSet, PyInt, PySet, PyString, PyTuple};
use smallvec::SmallVec;

use super::{axes, memory};
use crate::arguments::closest;
use crate::array;
use crate::errors::raise;
use crate::interface::{BadLabels, labels};

/// What the user gave, normalised; `None` is "not given".
#[derive(Default)]
pub struct Parameters<'py> {
    pub aligned_index: Option<Entries>,
    pub alignment: Option<Alignment>,
    pub default_origin: Option<Entries>,
    pub defaults: Option<Preset>,
    pub device: Option<Device>,
    pub dims: Option<PerAxis<Dim>>,
    /// The name that the labels were given by.
    pub dims_name: &'static str,
    pub halo: Option<PerAxis<(usize, usize)>>,
    pub layout: Option<LayoutChoice<'py>>,
    /// The name that the order of strides was given by.
    pub layout_name: &'static str,
    pub managed: Option<Managed>,
    pub shape: Option<PerAxis<usize>>,
}

/// One number per axis, with the name it was given by.
pub type Entries = PerAxis<usize>;

/// A boundary to align to.
#[derive(Clone, Copy)]
pub enum Alignment {
    Bytes(usize),
    Elements(usize),
}

/// Where a storage keeps its data.
#[derive(Clone)]
pub enum Device {
    Host,
    /// On an accelerator.
    Gpu(Arc<dyn Accelerator>),
}

/// Who keeps the copies on host and device equal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Managed {
    /// Nobody: there is one on the device only.
    No,
    /// fieldstone, which keeps two.
    Software,
    /// The driver, which moves one.
    Driver,
}

/// How the order of strides was given.
pub enum LayoutChoice<'py> {
    Permutation(PerAxis<usize>),
    /// Called with the labels.
    OfDims(Bound<'py, PyAny>),
    /// Called with the number of axes.
    OfCount(Bound<'py, PyAny>),
}

/// Which keywords a function takes.
pub struct Accepted<'a> {
    pub function: &'a str,
    /// This function's name of `defaults`.
    preset: &'static str,
    names: &'static [(&'static str, Option<&'static str>)],
}

impl<'a> Accepted<'a> {
    /// Those of a function that makes storages.
    pub fn storages(function: &'a str) -> Self {
        Self {
            function,
            preset: "defaults",
            names: STORAGE_NAMES,
        }
    }

    /// Those of a function that makes NumPy arrays.
    pub fn arrays(function: &'a str) -> Self {
        Self {
            function,
            preset: "backend",
            names: ARRAY_NAMES,
        }
    }
}

/// Keywords of a function that makes NumPy arrays, which have no place for a halo.
const ARRAY_NAMES: &[(&str, Option<&str>)] = &[
    ("aligned_index", None),
    ("alignment_size", None),
    ("backend", None),
    ("device", None),
    ("dims", None),
    ("layout", None),
];

/// Keywords of a function that makes storages, each with the first draft's name for the same thing.
const STORAGE_NAMES: &[(&str, Option<&str>)] = &[
    ("aligned_index", None),
    ("alignment_size", Some("alignment")),
    ("default_origin", None),
    ("defaults", Some("default_parameters")),
    ("device", Some("gpu")),
    ("dims", Some("axes")),
    ("halo", None),
    ("layout", Some("layout_map")),
    ("managed", None),
    ("shape", None),
];

impl<'py> Parameters<'py> {
    /// Reads the keywords of a call.
    pub fn read(
        py: Python<'py>,
        accepted: &Accepted<'_>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Self> {
        let mut parameters = Self::default();
        let mut given: SmallVec<[(usize, &str); 8]> = SmallVec::new();
        for (key, value) in keywords.iter() {
            let key = key.cast::<PyString>()?.to_str()?;
            let known = |&(name, alias): &(&str, Option<&str>)| name == key || alias == Some(key);
            let Some(index) = accepted.names.iter().position(known) else {
                return Err(unknown_keyword(py, accepted, key));
            };
            // The names live as long as the program does, the dictionary's keys do not.
            let (name, alias) = accepted.names[index];
            let key = if name == key {
                name
            } else {
                alias.unwrap_or(name)
            };
            // Of `managed` alone, None is a value: nobody keeps copies equal.
            if value.is_none() && key != "managed" {
                continue;
            }
            if let Some((_, other)) = given.iter().find(|(seen, _)| *seen == index) {
                let message = format!(
                    "{}(): '{other}' and '{key}' are two names of one parameter; give one of them",
                    accepted.function
                );
                return Err(raise(py, "ArgumentTypeError", message));
            }
            parameters.set(py, accepted.preset, key, value)?;
            given.push((index, key));
        }
        if accepted.preset == "backend" && parameters.defaults.is_some() {
            exclusive(py, &given)?;
        }
        Ok(parameters)
    }

    /// Where the preset allocates, if it says so.
    pub fn device_of_preset(&self) -> Option<&'static str> {
        // The orders of NumPy say nothing of a device.
        let preset = self
            .defaults
            .as_ref()
            .filter(|preset| !matches!(preset.name.as_str(), "C" | "F"));
        preset.map(|preset| preset.device)
    }

    fn set(
        &mut self,
        py: Python<'py>,
        preset: &str,
        key: &str,
        value: Bound<'py, PyAny>,
    ) -> PyResult<()> {
        match key {
            "aligned_index" => self.aligned_index = Some(entries(&value, key, "index")?),
            "alignment_size" => {
                self.alignment = Some(Alignment::Bytes(boundary(&value, key, "bytes")?))
            }
            "alignment" => {
                self.alignment = Some(Alignment::Elements(boundary(&value, key, "elements")?))
            }
            "default_origin" => self.default_origin = Some(entries(&value, key, "index")?),
            "defaults" | "default_parameters" | "backend" => {
                self.defaults = Some(preset_of(&value, key)?)
            }
            "device" => self.device = Some(device(&value, key)?),
            "gpu" => self.device = Some(gpu(&value)?),
            "dims" | "axes" => {
                self.dims = Some(dims(&value, key)?);
                self.dims_name = if key == "axes" { "axes" } else { "dims" };
            }
            "halo" => self.halo = Some(halo(&value)?),
            "layout" | "layout_map" => {
                self.layout = Some(layout(value, key, preset)?);
                self.layout_name = if key == "layout" {
                    "layout"
                } else {
                    "layout_map"
                };
            }
            "managed" => self.managed = Some(managed(&value)?),
            "shape" => self.shape = Some(shape(&value)?),
            _ => {
                return Err(raise(
                    py,
                    "ArgumentTypeError",
                    format!("'{key}' is not a parameter of storages"),
                ));
            }
        }
        Ok(())
    }
}

fn unknown_keyword(py: Python<'_>, accepted: &Accepted<'_>, key: &str) -> PyErr {
    let names: Vec<&str> = accepted
        .names
        .iter()
        .flat_map(|&(name, alias)| [Some(name), alias])
        .flatten()
        .collect();
    let function = accepted.function;
    let preset = accepted.preset;
    let hint = match (key, closest(key, names.iter().copied())) {
        ("backend" | "defaults", _) => format!("; the preset of a backend is given as {preset}"),
        ("order", _) => format!("; an order is given as {preset}='C' or {preset}='F'"),
        (_, Some(name)) => format!(" (did you mean '{name}'?)"),
        (_, None) => String::new(),
    };
    let message = format!(
        "{function}() has no parameter '{key}'{hint}; beside its own it takes {}",
        names.join(", ")
    );
    raise(py, "ArgumentTypeError", message)
}

/// `backend=` stands for what a preset says, and nothing of that may be given beside it.
fn exclusive(py: Python<'_>, given: &[(usize, &str)]) -> PyResult<()> {
    let beside = given
        .iter()
        .find(|(_, key)| matches!(*key, "alignment_size" | "device" | "layout"));
    match beside {
        None => Ok(()),
        Some((_, key)) => {
            let message =
                format!("{key}: 'backend' already says which; give one of '{key}' and 'backend'");
            Err(raise(py, "ArgumentValueError", message))
        }
    }
}

/// The repr of an object, cut to what fits in a message.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(
        |_| "?".to_owned(),
        |text| text.to_string_lossy().into_owned(),
    );
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(
        |_| "?".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Whether an object can be iterated but is no sequence of items: their order means nothing, or they are no items.
fn unordered(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>()
}

/// The items of a sequence that is no string.
fn items<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<PerAxis<Bound<'py, PyAny>>> {
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    if unordered(value) {
        return Err(wrong_items(value, name, expected));
    }
    value
        .try_iter()
        .map_err(|_| wrong_items(value, name, expected))?
        .collect()
}

fn wrong_items(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let message = format!(
        "{name}: expected {expected}, got {} ({})",
        shown(value),
        type_name(value)
    );
    raise(value.py(), "ArgumentTypeError", message)
}

/// An integer of 0 or more. NumPy integers are integers, floats and booleans are not.
fn count(
    value: &Bound<'_, PyAny>,
    name: &str,
    class: &str,
    what: fmt::Arguments<'_>,
) -> PyResult<usize> {
    let py = value.py();
    if let Ok(number) = value.cast_exact::<PyInt>()
        && let Ok(number) = number.extract::<usize>()
    {
        return Ok(number);
    }
    let index = if value.is_instance_of::<PyBool>() {
        None
    } else {
        memory::index(value)?
    };
    match index {
        None => {
            let message = format!(
                "{name}: expected an integer for {what}, got {} ({})",
                shown(value),
                type_name(value)
            );
            Err(raise(py, "ArgumentTypeError", message))
        }
        Some(number) => number.extract::<usize>().map_err(|_| {
            let negative = number.lt(0).unwrap_or(false);
            let reason = if negative {
                "it must be 0 or more"
            } else {
                "it is too large"
            };
            raise(
                py,
                class,
                format!("{name}: {what} is {}; {reason}", shown(value)),
            )
        }),
    }
}

/// The shape of an array; one integer is the shape of an array of one axis.
pub fn shape(value: &Bound<'_, PyAny>) -> PyResult<PerAxis<usize>> {
    if memory::index(value)?.is_some() {
        return Ok(std::iter::once(count(
            value,
            "shape",
            "ShapeError",
            format_args!("its size"),
        )?)
        .collect());
    }
    items(value, "shape", "a sequence of integers, one size per axis")?
        .iter()
        .enumerate()
        .map(|(axis, size)| {
            count(
                size,
                "shape",
                "ShapeError",
                format_args!("the size of axis {axis}"),
            )
        })
        .collect()
}

/// An index into an array, one entry per axis.
pub fn entries(value: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<Entries> {
    items(value, name, "a sequence of integers, one index per axis")?
        .iter()
        .enumerate()
        .map(|(axis, entry)| {
            count(
                entry,
                name,
                "ArgumentValueError",
                format_args!("the {what} along axis {axis}"),
            )
        })
        .collect()
}

fn boundary(value: &Bound<'_, PyAny>, name: &str, unit: &str) -> PyResult<usize> {
    let boundary = count(
        value,
        name,
        "ArgumentValueError",
        format_args!("the number of {unit}"),
    )?;
    if boundary == 0 {
        let message =
            format!("{name}: the number of {unit} is 0; it must be 1 (no alignment) or more");
        return Err(raise(value.py(), "ArgumentValueError", message));
    }
    Ok(boundary)
}

/// Points around the compute domain: per axis one integer for both sides or a pair.
pub fn halo(value: &Bound<'_, PyAny>) -> PyResult<PerAxis<(usize, usize)>> {
    const EXPECTED: &str = "a sequence with an integer or a pair of integers per axis";
    let points = |entry: &Bound<'_, PyAny>, axis: usize| {
        count(
            entry,
            "halo",
            "ArgumentValueError",
            format_args!("the number of points along axis {axis}"),
        )
    };
    items(value, "halo", EXPECTED)?
        .iter()
        .enumerate()
        .map(|(axis, entry)| {
            if entry.is_instance_of::<PyBool>() || memory::index(entry)?.is_some() {
                let both = points(entry, axis)?;
                return Ok((both, both));
            }
            match items(entry, "halo", EXPECTED)?.as_slice() {
                [lower, upper] => Ok((points(lower, axis)?, points(upper, axis)?)),
                pair => {
                    let message = format!(
                        "halo: axis {axis} has {} entries, {}; expected an integer or a pair (lower, upper)",
                        pair.len(),
                        shown(entry)
                    );
                    Err(raise(value.py(), "ArgumentValueError", message))
                }
            }
        })
        .collect()
}

/// Labels of axes: a sequence of them, or a string of labels of one character.
pub fn dims(value: &Bound<'_, PyAny>, name: &str) -> PyResult<PerAxis<Dim>> {
    let py = value.py();
    let read = match unordered(value) && !value.is_instance_of::<PyString>() {
        true => Err(BadLabels::NoSequence),
        false => labels(value),
    };
    let message = match read {
        Ok(dims) => return Ok(dims.into()),
        Err(BadLabels::Raised(error)) => return Err(error),
        Err(BadLabels::NoSequence) => {
            return Err(wrong_items(
                value,
                name,
                "labels such as ('I', 'J', 'K') or \"IJK\"",
            ));
        }
        Err(BadLabels::Unknown(label)) => format!(
            "{name}: '{label}' is no label of an axis; expected 'I', 'J', 'K', or '0', '1', ... for data dimensions"
        ),
        Err(BadLabels::Repeated(dim)) => {
            format!("{name}: '{dim}' is given twice in {}", shown(value))
        }
    };
    Err(raise(py, "DimensionsError", message))
}

fn layout<'py>(value: Bound<'py, PyAny>, key: &str, preset: &str) -> PyResult<LayoutChoice<'py>> {
    if value.is_callable() {
        return Ok(if key == "layout" {
            LayoutChoice::OfDims(value)
        } else {
            LayoutChoice::OfCount(value)
        });
    }
    if let Ok(name @ ("C" | "F")) = value.extract::<&str>() {
        let message = format!(
            "{key}: '{name}' is the name of a preset; give it as {preset}='{name}', or a permutation of the axes such as \
             (2, 1, 0)"
        );
        return Err(raise(value.py(), "ArgumentTypeError", message));
    }
    permutation(&value, key).map(LayoutChoice::Permutation)
}

/// The entries of a layout; whether they are a permutation is not known here.
pub fn permutation(value: &Bound<'_, PyAny>, name: &str) -> PyResult<PerAxis<usize>> {
    items(
        value,
        name,
        "a permutation of the axes such as (2, 1, 0), or a callable that returns one",
    )?
    .iter()
    .enumerate()
    .map(|(axis, entry)| count(entry, name, "LayoutError", format_args!("entry {axis}")))
    .collect()
}

fn preset_of(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Preset> {
    let Ok(text) = value.cast::<PyString>() else {
        let message = format!(
            "{name}: expected the name of a preset, got {} ({})",
            shown(value),
            type_name(value)
        );
        return Err(raise(value.py(), "ArgumentTypeError", message));
    };
    Preset::find(text.to_str()?)
        .map_err(|error| raise(value.py(), "PresetError", format!("{name}: {error}")))
}

/// Where to allocate: on the host, or on an accelerator that there is.
fn device(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Device> {
    Ok(crate::device::accelerator(name, value)?.map_or(Device::Host, Device::Gpu))
}

/// The first accelerator.
pub fn first_device(py: Python<'_>, asked_by: &str) -> PyResult<Device> {
    device(PyString::new(py, "gpu").as_any(), asked_by)
}

fn gpu(value: &Bound<'_, PyAny>) -> PyResult<Device> {
    match flag(value, "gpu")? {
        true => first_device(value.py(), "gpu"),
        false => Ok(Device::Host),
    }
}

/// True or False, Python's or NumPy's.
pub fn flag(value: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    value.extract::<bool>().map_err(|_| {
        let message = format!(
            "{name}: expected True or False, got {} ({})",
            shown(value),
            type_name(value)
        );
        raise(value.py(), "ArgumentTypeError", message)
    })
}

/// `managed` says who keeps a host and a device copy equal; host memory alone has nothing to keep equal.
fn managed(value: &Bound<'_, PyAny>) -> PyResult<Managed> {
    let is_false = value.cast::<PyBool>().is_ok_and(|flag| !flag.is_true());
    match value.extract::<&str>() {
        Ok("gt4py") => return Ok(Managed::Software),
        Ok("cuda") => return Ok(Managed::Driver),
        _ if is_false || value.is_none() => return Ok(Managed::No),
        _ => {}
    }
    let message = format!(
        "managed: expected None, False, 'gt4py' or 'cuda', got {}",
        shown(value)
    );
    Err(raise(value.py(), "ArgumentValueError", message))
}

/// An element type with the data dimensions it carries, as `(float, (3,))` does.
pub struct Element<'py> {
    pub dtype: Bound<'py, PyArrayDescr>,
    pub data_shape: PerAxis<usize>,
}

/// Reads a dtype: anything `numpy.dtype` takes that is a number or a boolean in the machine's byte order.
pub fn element<'py>(value: &Bound<'py, PyAny>) -> PyResult<Element<'py>> {
    let py = value.py();
    let dtype = PyArrayDescr::new(py, value).map_err(|error| {
        let message = format!(
            "dtype: {} is no element type; {}",
            shown(value),
            error.value(py)
        );
        raise(py, "DTypeError", message)
    })?;
    let element = Element {
        data_shape: dtype.shape().into(),
        dtype: dtype.base(),
    };
    check_dtype(&element.dtype, "dtype")?;
    Ok(element)
}

/// Refuses elements that are no plain numbers.
pub fn check_dtype(dtype: &Bound<'_, PyArrayDescr>, name: &str) -> PyResult<()> {
    let supported = match dtype.kind() {
        b'b' => true,
        b'i' | b'u' => dtype.itemsize() <= 8,
        b'f' => dtype.itemsize() <= 8,
        b'c' => dtype.itemsize() <= 16,
        _ => false,
    };
    let reason = if !supported {
        "storages hold booleans, integers, and floats and complex numbers of up to 64 bits per part"
    } else if dtype.is_native_byteorder() == Some(false) {
        "its bytes are swapped; convert it with .astype(dtype.newbyteorder('='))"
    } else {
        return Ok(());
    };
    let message = format!(
        "{name}: elements of type {} are not supported: {reason}",
        shown(dtype)
    );
    Err(raise(dtype.py(), "DTypeError", message))
}

/// A label as a Python object.
fn label(py: Python<'_>, dim: Dim) -> Bound<'_, PyString> {
    match dim {
        Dim::I => intern!(py, "I").clone(),
        Dim::J => intern!(py, "J").clone(),
        Dim::K => intern!(py, "K").clone(),
        Dim::Data(_) => PyString::new(py, &dim.to_string()),
    }
}

/// The labels as Python objects.
pub fn dims_tuple<'py>(py: Python<'py>, dims: &[Dim]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, dims.iter().map(|&dim| label(py, dim)))
}

/// Adds a preset to those that `defaults` can name.
#[pyfunction]
pub fn register_preset(
    name: &Bound<'_, PyAny>,
    order: &Bound<'_, PyAny>,
    alignment_size: &Bound<'_, PyAny>,
    preset_device: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = order.py();
    let Ok(name) = name.extract::<&str>() else {
        let message = format!("name: expected the name of the preset, got {}", shown(name));
        return Err(raise(py, "ArgumentTypeError", message));
    };
    let order = match order.extract::<&str>().ok() {
        Some("C") => StrideOrder::C,
        Some("F") => StrideOrder::F,
        _ => {
            let labels = dims(order, "order")?;
            let labels: [Dim; 3] = labels[..].try_into().map_err(|_| {
                let message = format!(
                    "order: expected 'C', 'F', or I, J and K from the largest stride to the smallest, got {}",
                    axes::show(&labels)
                );
                raise(py, "ArgumentValueError", message)
            })?;
            StrideOrder::Dims(labels)
        }
    };
    let number = preset_device.map_or(Ok(None), |value| crate::device::number("device", value))?;
    let preset = Preset {
        name: name.to_owned(),
        order,
        alignment: boundary(alignment_size, "alignment_size", "bytes")?,
        device: if number.is_none() { "cpu" } else { "gpu" },
    };
    preset
        .register()
        .map_err(|error| array::exception(py, &error))
}
