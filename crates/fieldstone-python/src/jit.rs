//! The JIT of the extension module: LLVM from the `llvmlite` wheel, driven through `fieldstone._jit`.

use std::sync::Arc;
use std::time::SystemTime;

use fieldstone_codegen::cache::entry::Facts;
use fieldstone_codegen::cache::{Cache, Key, settings};
use fieldstone_codegen::jit::{self, Jit, JitError, Library};
use fieldstone_codegen::target::Target;
use fieldstone_codegen::{loader, parts};
use fieldstone_device::{Pool, core_caches};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

/// LLVM as `llvmlite` has it. It is imported when something is compiled, and once for each processor to learn its name: the
/// cache keeps that, and code is loaded without LLVM.
pub struct Llvmlite {
    target: Target,
    version: String,
}

impl Llvmlite {
    /// The one JIT of the process.
    ///
    /// # Errors
    /// If `llvmlite` cannot be imported or does not know this processor.
    pub fn shared(py: Python<'_>) -> PyResult<Arc<dyn Jit>> {
        static SHARED: PyOnceLock<Arc<Llvmlite>> = PyOnceLock::new();
        let shared = SHARED.get_or_try_init(py, || Self::new(py).map(Arc::new))?;
        Ok(shared.clone())
    }

    fn new(py: Python<'_>) -> PyResult<Self> {
        let identity: Option<String> = py
            .import("fieldstone._processor")?
            .call_method0("identity")?
            .extract()?;
        let cache = settings::directory().map(|directory| Cache::at(directory, None));
        let (Some(identity), Some(cache)) = (identity, cache) else {
            return Self::ask(py);
        };
        let key = Key::new(
            &["processor and code model", env!("CARGO_PKG_VERSION")],
            &[&identity],
        );
        if let Some(known) = cache.noted(&key).and_then(|text| Self::from_text(&text)) {
            return Ok(known);
        }
        let host = Self::ask(py)?;
        cache.note(&key, &host.facts(), &host.to_text());
        Ok(host)
    }

    /// What LLVM says of this machine, which takes importing it.
    fn ask(py: Python<'_>) -> PyResult<Self> {
        let host = module(py)?.call_method0("host")?;
        let (triple, cpu, features, version) = host.extract()?;
        let target = Target {
            triple,
            cpu,
            features,
            caches: core_caches(),
        };
        Ok(Self { target, version })
    }

    fn to_text(&self) -> String {
        let Target {
            triple,
            cpu,
            features,
            ..
        } = &self.target;
        [triple, cpu, features, &self.version]
            .map(String::as_str)
            .join("\n")
    }

    fn from_text(text: &str) -> Option<Self> {
        let parts: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let [triple, cpu, features, version] = parts.try_into().ok()?;
        let target = Target {
            triple,
            cpu,
            features,
            caches: core_caches(),
        };
        Some(Self { target, version })
    }

    /// What the note on this machine says of itself.
    fn facts(&self) -> Facts {
        Facts {
            stencil: String::new(),
            backend: String::new(),
            cpu: self.target.cpu.clone(),
            layout: String::new(),
            fieldstone: env!("CARGO_PKG_VERSION").to_owned(),
            llvm: self.version.clone(),
            written: SystemTime::now(),
        }
    }
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("fieldstone._jit")
}

fn failed(what: &str) -> impl FnOnce(PyErr) -> JitError {
    let what = what.to_owned();
    move |error| JitError {
        what,
        reason: error.to_string(),
    }
}

impl Jit for Llvmlite {
    fn target(&self) -> Target {
        self.target.clone()
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn compile(&self, text: &str) -> Result<Vec<u8>, JitError> {
        let parts = parts::split(text, Pool::global().threads());
        let compiled: PyResult<Vec<Vec<u8>>> =
            Python::attach(|py| module(py)?.call_method1("compile", (parts,))?.extract());
        let objects = compiled.map_err(failed("compile a stencil"))?;
        Ok(loader::bundle(&objects))
    }

    fn assembly(&self, text: &str) -> Result<String, JitError> {
        Python::attach(|py| module(py)?.call_method1("assembly", (text,))?.extract())
            .map_err(failed("print the assembly of a stencil"))
    }

    fn compile_for(&self, accelerator: &Target, text: &str) -> Result<Vec<u8>, JitError> {
        let Target {
            triple,
            cpu,
            features,
            ..
        } = accelerator;
        Python::attach(|py| {
            let arguments = (text, triple, cpu, features);
            module(py)?
                .call_method1("compile_for", arguments)?
                .extract()
        })
        .map_err(failed("compile a stencil for an accelerator"))
    }

    fn load(&self, object: &[u8], names: &[&str]) -> Result<Library, JitError> {
        if let Ok(library) = loader::load(object, names) {
            return Ok(library);
        }
        Python::attach(|py| {
            let symbols: Vec<(&str, usize)> = jit::symbols().collect();
            let objects = loader::objects(object).unwrap_or_default();
            let objects = objects.into_iter().map(|object| PyBytes::new(py, object));
            let arguments = (objects.collect::<Vec<_>>(), names.to_vec(), symbols);
            let loaded = module(py)?.call_method1("load", arguments)?;
            let (addresses, keep): (Vec<usize>, Py<PyAny>) = loaded.extract()?;
            Ok(Library {
                addresses,
                keep: Box::new(keep),
            })
        })
        .map_err(failed("load the code of a stencil"))
    }
}
