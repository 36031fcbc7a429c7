//! Machine code: compiled for the layouts a stencil is called with, kept, and run on all threads.

mod arguments;
mod array;
mod code;
mod launch;
mod prepared;
mod tuning;

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use fieldstone_device::HostMemory;
use fieldstone_stencil::ir::DataDimension;
use fieldstone_stencil::program::Program;

use self::arguments::Elements;
pub use self::arguments::contiguous_along;
pub(crate) use self::array::{ArrayShape, array_contiguous_along};
pub(crate) use self::launch::extended;
pub use self::prepared::Prepared;
use crate::cache::Cache;
use crate::call::Call;
use crate::choices::Choices;
use crate::error::RunError;
use crate::jit::{Jit, Library};
use crate::llvm::abi::Words;
use crate::llvm::{self, Failure, Layout, Module, Wrong};
use crate::plan::Plan;
use crate::stack::deep;

/// The signature of a kernel; see [`crate::llvm::abi`].
type KernelFunction = unsafe extern "C" fn(*const u64, i64, i64, *mut u8);

/// What is asked of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Code that is there is used, other code is compiled and kept.
    #[default]
    Yes,
    /// Code is compiled and kept whatever is there.
    Rebuild,
    /// Code that is not there is an error.
    Only,
}

/// A stencil as machine code, one variant for each layout it was called with.
pub struct Native {
    program: Program,
    /// Which elements of which arguments the fields of the program are.
    elements: Elements,
    backend: &'static str,
    jit: Arc<dyn Jit>,
    cache: Cache,
    reuse: Reuse,
    choices: Choices,
    /// Whether the other choices are measured.
    tuned: bool,
    variants: RwLock<Vec<Arc<Variant>>>,
    /// Memory of temporaries that are arrays, kept for the next run: a block for each array of those that ran at once.
    spare: Mutex<Vec<Vec<HostMemory>>>,
}

/// A stencil as machine code for arrays of one layout.
pub struct Variant {
    /// How it is computed, for the layout of the arguments.
    pub plan: Plan,
    /// The [size](tuning::size_class) of the domains it is for, where choices for that were measured.
    size: Option<u32>,
    /// Where the code came from and how long that took.
    pub origin: Origin,
    words: Words,
    kernels: Vec<KernelFunction>,
    /// Keeps the code of `kernels` in memory.
    _library: Library,
}

/// Where the code of a variant came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// Whether it was found in the cache.
    pub cached: bool,
    /// From the typed program to code that can be called.
    pub duration: Duration,
    /// The part of it until the text was written that LLVM compiles.
    pub written: Duration,
}

impl Native {
    /// A stencil that is compiled on its first run, for the backend of that name.
    ///
    /// # Errors
    /// If only code of the cache is to be used and it has none of this stencil.
    pub fn new(
        program: &Program,
        backend: &'static str,
        jit: Arc<dyn Jit>,
        cache: Cache,
        reuse: Reuse,
        choices: Choices,
        tuned: bool,
    ) -> Result<Native, RunError> {
        let (scheduled, elements) = deep(|| program.for_schedule());
        let native = Native {
            elements: Elements::new(&program.stencil, elements, &scheduled.stencil),
            program: scheduled,
            backend,
            jit,
            cache,
            reuse,
            choices,
            tuned,
            variants: RwLock::default(),
            spare: Mutex::default(),
        };
        if reuse == Reuse::Only && !native.may_be_cached() {
            return Err(native.not_cached(None));
        }
        Ok(native)
    }

    /// Runs the stencil, after compiling it where the layout of the arguments is new.
    ///
    /// # Errors
    /// If the code cannot be compiled, or memory for temporaries cannot be had.
    ///
    /// # Safety
    /// Every point of `call.domain` extended by the extents of the program's analysis must be valid memory of its field, that
    /// nobody else writes during the call, or reads where it is written.
    pub unsafe fn run(&self, call: &Call<'_>) -> Result<(), RunError> {
        // SAFETY: as the caller says.
        unsafe {
            let prepared = self.prepare(call)?;
            self.run_prepared(
                &prepared,
                |argument| call.fields[argument].pointer,
                call.scalars,
            )
        }
    }

    /// The error of a failure that a kernel found.
    fn failed(&self, variant: &Variant, number: u64) -> RunError {
        let Failure { what, span } = &variant.plan.module.failures[number as usize - 1];
        let stencil = &self.program.stencil;
        let place = |span| crate::interpreter::place(stencil, span);
        let field = |of| {
            // Elements are targets of their own here.
            let name = stencil.source_name(of).split('[').next();
            name.unwrap_or_default().to_owned()
        };
        match what {
            Wrong::Level(of) => RunError::LevelOutside {
                place: place(*span),
                field: field(*of),
            },
            Wrong::Index(DataDimension { of, size }) => RunError::IndexOutside {
                place: place(*span),
                field: field(*of),
                size: *size,
            },
            Wrong::Intervals(intervals) => RunError::intervals(stencil, intervals),
        }
    }

    /// The code for a layout, compiled where there is none yet.
    ///
    /// # Errors
    /// If LLVM fails.
    pub fn variant(&self, layout: &Layout) -> Result<Arc<Variant>, RunError> {
        let known = self.known(layout, None);
        known.map_or_else(|| self.compiled(layout, None, &self.choices), Ok)
    }

    fn known(&self, layout: &Layout, size: Option<u32>) -> Option<Arc<Variant>> {
        let variants = self.variants.read().unwrap_or_else(PoisonError::into_inner);
        variants
            .iter()
            .find(|one| one.is_for(layout, size))
            .cloned()
    }

    fn compiled(
        &self,
        layout: &Layout,
        size: Option<u32>,
        choices: &Choices,
    ) -> Result<Arc<Variant>, RunError> {
        // Two threads may compile the same code at once; the first to finish is kept.
        let fresh = Arc::new(self.compile(layout, size, choices)?);
        let mut variants = self
            .variants
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = variants.iter().find(|one| one.is_for(layout, size)) {
            return Ok(variant.clone());
        }
        variants.push(fresh.clone());
        Ok(fresh)
    }

    /// Every variant compiled so far.
    pub fn variants(&self) -> Vec<Arc<Variant>> {
        let variants = self.variants.read().unwrap_or_else(PoisonError::into_inner);
        variants.clone()
    }

    /// How arrays of a layout are computed with, up to LLVM IR: with the choices measured last, if any were.
    pub fn plan(&self, layout: &Layout) -> Plan {
        let variants = self.variants();
        let latest = variants.iter().rev().find(|one| one.plan.layout == *layout);
        self.plan_with(
            layout,
            latest.map_or(&self.choices, |one| &one.plan.choices),
        )
    }

    fn plan_with(&self, layout: &Layout, choices: &Choices) -> Plan {
        let elements = self.elements.layout(layout);
        let target = self.jit.target();
        let plan = deep(|| Plan::new(&self.program, &elements, &target, choices));
        Plan {
            layout: layout.clone(),
            ..plan
        }
    }

    /// The program as it is scheduled.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The processor that code is made for.
    pub fn target(&self) -> llvm::Target {
        self.jit.target()
    }

    /// The assembly of a module.
    ///
    /// # Errors
    /// If LLVM fails.
    pub fn assembly(&self, module: &Module) -> Result<String, RunError> {
        Ok(self.jit.assembly(&module.text)?)
    }
}

impl Variant {
    fn is_for(&self, layout: &Layout, size: Option<u32>) -> bool {
        self.plan.layout == *layout && self.size == size
    }
}
