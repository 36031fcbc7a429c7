//! The extension module `fieldstone._core`: one file per concept it binds.
mod arguments;
mod array;
mod backend;
mod cache;
mod choices;
mod definition;
pub mod device;
mod diagnostics;
mod dlpack;
mod ending;
mod errors;
mod fast_math;
mod interface;
mod jit;
mod numpy_backend;
mod stencil;
pub mod storage;
mod stream;
mod threads;

use pyo3::prelude::*;

/// Private extension module; the public face is the package `fieldstone`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    cache::register(module)?;
    definition::register(module)?;
    device::register(module)?;
    ending::register(module)?;
    stencil::register(module)?;
    storage::register(module)?;
    stream::register(module)?;
    threads::register(module)
}
