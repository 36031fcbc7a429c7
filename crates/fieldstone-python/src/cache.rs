//! The cache of compiled code: what a stencil's options say of it, and what is in it.

use std::ffi::CString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fieldstone_codegen::cache::entry::Broken;
use fieldstone_codegen::cache::listing::{self, Entry};
use fieldstone_codegen::cache::removal::{self, Which};
use fieldstone_codegen::cache::{Cache, settings};
use fieldstone_codegen::native::Reuse;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;

/// Where a stencil's code is looked for and kept, and when it is compiled.
pub struct CacheOptions {
    /// The directory.
    pub cache: Cache,
    /// What it is asked.
    pub reuse: Reuse,
}

impl CacheOptions {
    /// What `rebuild`, `raise_if_not_cached` and `cache_settings` of a stencil say; the environment says the rest.
    pub fn of(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<CacheOptions> {
        let given = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            let value = options.map_or(Ok(None), |options| options.get_item(name))?;
            Ok(value.filter(|value| !value.is_none()))
        };
        let is_set = |name| given(name)?.map_or(Ok(false), |value| value.is_truthy());
        let reuse = match (is_set("rebuild")?, is_set("raise_if_not_cached")?) {
            (false, false) => Reuse::Yes,
            (true, false) => Reuse::Rebuild,
            (false, true) => Reuse::Only,
            (true, true) => {
                return Err(raise(
                    py,
                    "ArgumentValueError",
                    "rebuild=True compiles and raise_if_not_cached=True forbids it; give one of them",
                ));
            }
        };
        let directory = match given("cache_settings")? {
            None => settings::directory(),
            Some(chosen) => {
                let part = |name: &str| -> PyResult<Option<PathBuf>> {
                    let value = chosen.get_item(name).ok().filter(|value| !value.is_none());
                    value.map(|value| value.extract()).transpose()
                };
                let (root, name) = (part("root_path")?, part("dir_name")?);
                settings::directory_in(root.as_deref(), name.as_ref().map(|name| name.as_os_str()))
            }
        };
        Ok(CacheOptions {
            cache: match directory {
                None => Cache::none(),
                Some(directory) => Cache::at(directory, limit(py)?),
            },
            reuse,
        })
    }
}

/// Bytes the cache may have.
fn limit(py: Python<'_>) -> PyResult<Option<u64>> {
    settings::size().or_else(|(message, instead)| {
        let text = CString::new(message).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
        Ok(instead)
    })
}

/// The directory of the cache, if there is one.
#[pyfunction]
fn cache_directory() -> Option<PathBuf> {
    settings::directory()
}

/// Every entry of a directory as a dictionary; `whole` verifies checksums.
#[pyfunction]
fn cache_entries<'py>(
    py: Python<'py>,
    directory: PathBuf,
    whole: bool,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let entries = py.detach(|| listing::entries(&directory, whole))?;
    entries.iter().map(|entry| describe(py, entry)).collect()
}

fn describe<'py>(py: Python<'py>, entry: &Entry) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("path", &entry.path)?;
    dict.set_item("size", entry.size)?;
    dict.set_item("used", seconds(entry.used))?;
    match &entry.facts {
        Ok(facts) => {
            dict.set_item("stencil", &facts.stencil)?;
            dict.set_item("backend", &facts.backend)?;
            dict.set_item("cpu", &facts.cpu)?;
            dict.set_item("layout", &facts.layout)?;
            dict.set_item("fieldstone", &facts.fieldstone)?;
            dict.set_item("llvm", &facts.llvm)?;
            dict.set_item("written", seconds(facts.written))?;
        }
        Err(Broken::Format(_)) => {}
        Err(broken) => dict.set_item("broken", broken.to_string())?,
    }
    Ok(dict)
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}

/// Removes entries; returns how many, and the bytes that were freed.
#[pyfunction]
fn cache_clear(
    py: Python<'_>,
    directory: PathBuf,
    unused_for: Option<f64>,
    stencil: Option<String>,
    broken: bool,
) -> PyResult<(usize, u64)> {
    let since = |seconds: f64| {
        let age = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH)
    };
    let which = Which {
        unused_since: unused_for.map(since),
        stencil,
        broken,
    };
    let removed = py.detach(|| removal::clear(&directory, &which))?;
    Ok((removed.entries, removed.bytes))
}

/// Digits that are others for another text; Python's own hashes take milliseconds to import.
#[pyfunction]
fn fingerprint(text: &str) -> String {
    fieldstone_codegen::cache::fingerprint(text)
}

/// Adds what this file binds.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(cache_directory, module)?)?;
    module.add_function(wrap_pyfunction!(cache_entries, module)?)?;
    module.add_function(wrap_pyfunction!(cache_clear, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprint, module)?)
}
