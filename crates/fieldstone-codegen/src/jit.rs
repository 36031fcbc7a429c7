//! What turns LLVM IR text into machine code.

use std::any::Any;

use crate::target::Target;

/// A compiler for LLVM IR text, and a loader of what it makes.
pub trait Jit: Send + Sync {
    /// The processor it compiles for.
    fn target(&self) -> Target;

    /// Names the compiler and its version; code of another one is not reused.
    fn version(&self) -> String;

    /// Compiles a module to an object file.
    ///
    /// # Errors
    /// If the text is not valid LLVM IR, or the compiler fails.
    fn compile(&self, module: &str) -> Result<Vec<u8>, JitError>;

    /// The assembly of a module as text.
    ///
    /// # Errors
    /// As [`Jit::compile`].
    fn assembly(&self, module: &str) -> Result<String, JitError>;

    /// Compiles a module for an accelerator: to PTX for one of NVIDIA, to an object file for one of AMD.
    ///
    /// # Errors
    /// As [`Jit::compile`], or if LLVM does not know the accelerator.
    fn compile_for(&self, accelerator: &Target, module: &str) -> Result<Vec<u8>, JitError>;

    /// Loads an object file that [`Jit::compile`] made, with the functions of [`symbols`] bound.
    ///
    /// # Errors
    /// If the bytes are no object file of this processor, or one of `names` is not in it.
    fn load(&self, object: &[u8], names: &[&str]) -> Result<Library, JitError>;
}

/// Name and address of every function that kernels call.
pub fn symbols() -> impl Iterator<Item = (&'static str, usize)> {
    crate::math::symbols()
}

/// Machine code in memory.
pub struct Library {
    /// Address of each function that was asked for.
    pub addresses: Vec<usize>,
    /// Keeps the code in memory.
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Why no machine code could be made. A defect of fieldstone or of the machine it runs on, never of a stencil.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("LLVM could not {what}: {reason}")]
pub struct JitError {
    /// What was tried, such as `compile the module`.
    pub what: String,
    /// What LLVM said.
    pub reason: String,
}
