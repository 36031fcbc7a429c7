//! Where the code of a variant comes from: the cache, or LLVM.

use std::time::Instant;

use super::{Domains, KernelFunction, Native, Origin, Variant};
use crate::choices::Choices;
use crate::error::RunError;
use crate::jit::Library;
use crate::layout::Layout;
use crate::llvm::Module;
use crate::llvm::abi::Words;
use crate::plan::Plan;

impl Native {
    pub(super) fn compile(
        &self,
        layout: &Layout,
        domains: Domains,
        choices: &Choices,
    ) -> Result<Variant, RunError> {
        let start = Instant::now();
        (self.compilation).check_types(&self.compilation.jit.target())?;
        let plan = self.plan_with((layout, domains), choices);
        let written = start.elapsed();
        let (library, cached) = self.library(layout, &plan.module)?;
        let origin = Origin {
            cached,
            duration: start.elapsed(),
            written,
        };
        Ok(self.loaded(plan, domains, library, origin))
    }

    /// A variant whose code is in memory.
    pub(super) fn loaded(
        &self,
        plan: Plan,
        domains: Domains,
        library: Library,
        origin: Origin,
    ) -> Variant {
        let kernels = library.addresses.iter().map(|address| {
            // SAFETY: the JIT gives addresses of functions of the module, which all have this signature.
            unsafe { std::mem::transmute::<usize, KernelFunction>(*address) }
        });
        Variant {
            domains,
            words: Words::new(&self.compilation.program.stencil, &plan.schedule),
            kernels: kernels.collect(),
            plan,
            origin,
            _library: library,
        }
    }

    /// The code of a module, and whether it was found in the cache.
    fn library(&self, layout: &Layout, module: &Module) -> Result<(Library, bool), RunError> {
        let kernels = module.kernels.iter().map(|kernel| kernel.name.as_str());
        let names: Vec<&str> = kernels.collect();
        let jit = &self.compilation.jit;
        self.compilation.code(
            (layout, &jit.target(), &self.compilation.cache),
            (&module.text, ""),
            |object| jit.load(object, &names).ok(),
            || {
                let object = jit.compile(&module.text)?;
                let library = jit.load(&object, &names)?;
                Ok((object, library))
            },
        )
    }
}
