//! Where the code of a variant comes from: the cache, or LLVM.

use std::time::{Instant, SystemTime};

use super::{KernelFunction, Native, Origin, Reuse, Variant};
use crate::cache::Key;
use crate::cache::claim::Claim;
use crate::cache::entry::Facts;
use crate::choices::Choices;
use crate::error::RunError;
use crate::jit::Library;
use crate::llvm::abi::Words;
use crate::llvm::{self, Layout, Module};
use crate::plan::Plan;

impl Native {
    pub(super) fn compile(
        &self,
        layout: &Layout,
        size: Option<u32>,
        choices: &Choices,
    ) -> Result<Variant, RunError> {
        let start = Instant::now();
        self.check_types(&self.jit.target())?;
        let plan = self.plan_with(layout, choices);
        let written = start.elapsed();
        let (library, cached) = self.library(layout, &plan.module)?;
        let origin = Origin {
            cached,
            duration: start.elapsed(),
            written,
        };
        Ok(self.loaded(plan, size, library, origin))
    }

    /// A variant whose code is in memory.
    pub(super) fn loaded(
        &self,
        plan: Plan,
        size: Option<u32>,
        library: Library,
        origin: Origin,
    ) -> Variant {
        let kernels = library.addresses.iter().map(|address| {
            // SAFETY: the JIT gives addresses of functions of the module, which all have this signature.
            unsafe { std::mem::transmute::<usize, KernelFunction>(*address) }
        });
        Variant {
            size,
            words: Words::new(&self.program.stencil, &plan.schedule),
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
        let key = self.key(module);
        let find = || {
            let object = self
                .cache
                .get(&key)
                .filter(|_| self.reuse != Reuse::Rebuild)?;
            self.jit.load(&object, &names).ok()
        };
        if let Some(library) = find() {
            return Ok((library, true));
        }
        if self.reuse == Reuse::Only {
            return Err(self.not_cached(Some(layout)));
        }
        let claim = match self.reuse {
            Reuse::Rebuild => Claim::Unknown,
            _ => self.cache.claim(&key),
        };
        // Somebody else may have stored it since.
        if !matches!(claim, Claim::Unknown)
            && let Some(library) = find()
        {
            return Ok((library, true));
        }
        let object = self.jit.compile(&module.text)?;
        self.cache.put(&key, &self.facts(layout), &object);
        drop(claim);
        Ok((self.jit.load(&object, &names)?, false))
    }

    fn key(&self, module: &Module) -> Key {
        let parts = self.program_parts();
        Key::new(&parts.each_ref().map(String::as_str), &[&module.text])
    }

    /// All that code follows from, except the layouts of the arguments.
    pub(super) fn program_parts(&self) -> [String; 7] {
        let target = self.jit.target();
        [
            env!("CARGO_PKG_VERSION").to_owned(),
            self.jit.version(),
            target.triple,
            target.cpu,
            target.features,
            self.backend.to_owned(),
            fieldstone_stencil::text::print_program(&self.program),
        ]
    }

    pub(super) fn may_be_cached(&self) -> bool {
        let parts = self.program_parts();
        self.cache.has_any(&parts.each_ref().map(String::as_str))
    }

    pub(super) fn not_cached(&self, layout: Option<&Layout>) -> RunError {
        RunError::NotCached {
            stencil: self.program.stencil.name.clone(),
            layout: layout.map(|layout| self.in_words(layout)),
            directory: self
                .cache
                .directory()
                .map(|path| path.display().to_string()),
        }
    }

    /// What an entry of the cache says of itself.
    pub(super) fn facts(&self, layout: &Layout) -> Facts {
        Facts {
            stencil: self.program.stencil.name.clone(),
            backend: self.backend.to_owned(),
            cpu: self.jit.target().cpu,
            layout: self.in_words(layout),
            fieldstone: env!("CARGO_PKG_VERSION").to_owned(),
            llvm: self.jit.version(),
            written: SystemTime::now(),
        }
    }

    /// Which axis each field is contiguous along, such as `phi=I height=K mask=none`.
    pub fn in_words(&self, layout: &Layout) -> String {
        let fields = self.elements.whole.iter().zip(&layout.0);
        let words = fields.map(|(field, axis)| match axis {
            Some(axis) => format!("{}={axis}", field.name),
            None => format!("{}=none", field.name),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Refuses what a processor has no instructions for.
    fn check_types(&self, target: &llvm::Target) -> Result<(), RunError> {
        let stencil = &self.program.stencil;
        let fields = stencil.fields.iter().map(|field| field.dtype);
        let mut dtypes = fields.chain(stencil.temporaries.iter().filter_map(|temp| temp.dtype));
        if target.has_half() || !dtypes.any(|dtype| dtype == fieldstone_stencil::DType::Float16) {
            return Ok(());
        }
        Err(RunError::Unsupported {
            place: format!("stencil '{}'", stencil.name),
            what: format!(
                "this processor ({}) has no instructions for float16; use float32, or the backend 'numpy'",
                target.cpu
            ),
        })
    }
}
