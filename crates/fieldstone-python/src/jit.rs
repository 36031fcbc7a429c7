//! The JIT of the extension module: LLVM from the `llvmlite` wheel, driven through `fieldstone._jit`.

use fieldstone_codegen::jit::{self, Jit, JitError, Library};
use fieldstone_codegen::llvm::Target;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// LLVM as `llvmlite` has it. Nothing is imported before something is compiled.
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
        let host = module(py)?.call_method0("host")?;
        let (triple, cpu, features, version) = host.extract()?;
        Ok(Self {
            target: Target {
                triple,
                cpu,
                features,
            },
            version,
        })
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
        Python::attach(|py| module(py)?.call_method1("compile", (text,))?.extract())
            .map_err(failed("compile a stencil"))
    }

    fn assembly(&self, text: &str) -> Result<String, JitError> {
        Python::attach(|py| module(py)?.call_method1("assembly", (text,))?.extract())
            .map_err(failed("print the assembly of a stencil"))
    }

    fn load(&self, object: &[u8], names: &[&str]) -> Result<Library, JitError> {
        Python::attach(|py| {
            let symbols: Vec<(&str, usize)> = jit::symbols().collect();
            let arguments = (PyBytes::new(py, object), names.to_vec(), symbols);
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
