//! The keyword arguments of the creation functions: their two sets of names, and what values they take.
mod element;
mod preset;
mod value;

use std::sync::Arc;

use fieldstone_device::Accelerator;
use fieldstone_stencil::suggest::closest;
use fieldstone_storage::{Dim, PerAxis, Preset};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

pub use self::element::{Element, check_dtype, element};
use self::preset::preset_of;
pub use self::preset::{preset_memory, register_preset};
use self::value::{boundary, device, gpu, layout, managed};
pub use self::value::{dims, entries, first_device, flag, halo, permutation, shape, shown};
use crate::errors::raise;

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
