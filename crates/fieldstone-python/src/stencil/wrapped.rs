//! xarray objects around NumPy's arrays and storages, recognised without asking again what their dims mean.
//!
//! `fieldstone.xarray` says what dims mean by their names and, where these say nothing, by the metadata of coordinates; that
//! takes microseconds, with metadata ten times as many. All it looks at is compared here instead: the class, what
//! `set_dims` has set, the dims, and dims and attributes of coordinates.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::interface::says_origin;

/// What was seen of a `DataArray` whose dims mean something.
pub(super) struct Wrapped {
    class: Py<PyType>,
    version: u32,
    /// The variables of the module `fieldstone.xarray`, and of them what `set_dims` replaces.
    module: Py<PyDict>,
    mapping: Py<PyAny>,
    dims: Py<PyTuple>,
    /// None if the names of dims say all.
    coordinates: Option<Vec<Coordinate>>,
}

/// What was seen of a coordinate.
struct Coordinate {
    name: Py<PyAny>,
    dims: Py<PyTuple>,
    /// A copy.
    attributes: Option<Py<PyDict>>,
}

impl Wrapped {
    /// What there is to see of a `DataArray`; none if that is not all there is to know of it.
    #[cold]
    pub fn of(object: &Bound<'_, PyAny>, mapping: Option<&Bound<'_, PyAny>>) -> Option<Wrapped> {
        let module = object.py().import("fieldstone.xarray").ok()?;
        // This looks attributes of the class up, so that it has a version afterwards.
        let plain = module.call_method1("plain", (object, mapping, "", false));
        if plain.ok()?.is_none() || says_origin(object).ok()? {
            return None;
        }
        let class = object.get_type();
        let version = version_of(&class)?;
        let dims = dims_of(&variable_of(object)?)?;
        let named = module.call_method1("are_named", (&dims, mapping)).ok()?;
        let coordinates = match named.is_truthy().ok()? {
            true => None,
            false => Some(Coordinate::all(object)?),
        };
        Some(Wrapped {
            class: class.unbind(),
            version,
            mapping: module.getattr("_mapping").ok()?.unbind(),
            module: module.dict().unbind(),
            dims: dims.unbind(),
            coordinates,
        })
    }

    /// What an object wraps, if the object is as this one was.
    pub fn data<'py>(&self, object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let py = object.py();
        let class = object.get_type();
        if !class.is(&self.class) || version_of(&class) != Some(self.version) {
            return None;
        }
        let module = self.module.bind(py);
        let mapping = module.get_item(intern!(py, "_mapping")).ok()??;
        if !mapping.is(&self.mapping) {
            return None;
        }
        let variable = variable_of(object)?;
        if !are_equal(dims_of(&variable)?.as_any(), self.dims.bind(py).as_any()) {
            return None;
        }
        if let Some(seen) = &self.coordinates {
            let coordinates = coordinates_of(object)?;
            let mut all = seen.iter();
            if coordinates.len() != seen.len() || !all.all(|one| one.is_among(&coordinates)) {
                return None;
            }
        }
        variable.getattr(intern!(py, "_data")).ok()
    }
}

impl Coordinate {
    fn all(object: &Bound<'_, PyAny>) -> Option<Vec<Coordinate>> {
        let coordinates = coordinates_of(object)?;
        let of = |(name, variable): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Some(Coordinate {
                name: name.unbind(),
                dims: dims_of(&variable)?.unbind(),
                attributes: match attributes_of(&variable)? {
                    Some(attributes) => Some(attributes.copy().ok()?.unbind()),
                    None => None,
                },
            })
        };
        coordinates.iter().map(of).collect()
    }

    fn is_among(&self, coordinates: &Bound<'_, PyDict>) -> bool {
        let py = coordinates.py();
        let Ok(Some(variable)) = coordinates.get_item(&self.name) else {
            return false;
        };
        let has_dims = dims_of(&variable)
            .is_some_and(|dims| are_equal(dims.as_any(), self.dims.bind(py).as_any()));
        has_dims
            && match (attributes_of(&variable), &self.attributes) {
                (Some(None), None) => true,
                (Some(Some(now)), Some(seen)) => are_equal(now.as_any(), seen.bind(py).as_any()),
                _ => false,
            }
    }
}

/// The number of a class that it has until somebody changes its attributes; no class has had it before.
fn version_of(class: &Bound<'_, PyType>) -> Option<u32> {
    // SAFETY: the class is alive, its fields may be read.
    let version = unsafe { (&raw const (*class.as_type_ptr()).tp_version_tag).read_volatile() };
    (version != 0).then_some(version)
}

fn variable_of<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    object.getattr(intern!(object.py(), "_variable")).ok()
}

fn coordinates_of<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let coordinates = object.getattr(intern!(object.py(), "_coords")).ok()?;
    coordinates.cast_into().ok()
}

fn dims_of<'py>(variable: &Bound<'py, PyAny>) -> Option<Bound<'py, PyTuple>> {
    let dims = variable.getattr(intern!(variable.py(), "_dims")).ok()?;
    dims.cast_into_exact().ok()
}

/// The attributes of a variable, which may have none; the outer one is none if they are something else.
fn attributes_of<'py>(variable: &Bound<'py, PyAny>) -> Option<Option<Bound<'py, PyDict>>> {
    let attributes = variable.getattr(intern!(variable.py(), "_attrs")).ok()?;
    match attributes.is_none() {
        true => Some(None),
        false => Some(Some(attributes.cast_into().ok()?)),
    }
}

/// Objects that cannot be compared are not equal.
fn are_equal(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    one.is(other) || one.eq(other).unwrap_or(false)
}
