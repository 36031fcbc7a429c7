//! Machine code: compiled for the layouts a stencil is called with, kept, and run on all threads.

mod code;
mod launch;
mod ledger;
mod memory;
mod prepared;
mod results;
mod traffic;
mod tuning;

use std::sync::{Arc, Mutex};

use fieldstone_device::HostMemory;
use fieldstone_stencil::Axis;
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::Neighbours;

pub(crate) use self::launch::{extended, levels_of};
pub use self::ledger::note_move;
pub use self::prepared::Prepared;
pub use crate::arguments::{contiguous_along, near_along};
use crate::cache::Cache;
use crate::call::Call;
use crate::choices::Choices;
pub use crate::compilation::{Compilation, Origin, Reuse};
use crate::error::RunError;
use crate::jit::{Jit, Library};
use crate::layout::Layout;
use crate::llvm::Module;
use crate::llvm::abi::Words;
use crate::outline::{Outline, Supply};
use crate::plan::{Plan, contiguous};
use crate::stack::deep;
use crate::target::Target;
use crate::tile::lanes_of_sweeps;
use crate::variants::Variants;

/// The signature of a kernel; see [`crate::llvm::abi`].
type KernelFunction = unsafe extern "C" fn(*const u64, i64, i64, *mut u8);

/// A stencil as machine code, one variant for each layout it was called with, and each kind of domain.
pub struct Native {
    compilation: Compilation,
    choices: Choices,
    /// Whether the other choices are measured.
    tuned: bool,
    variants: Variants<Variant>,
    /// Memory of temporaries that are arrays, kept for the next run: a block for each array of those that ran at once.
    spare: Mutex<Vec<Vec<HostMemory>>>,
}

/// A stencil as machine code for arrays of one layout.
pub struct Variant {
    /// How it is computed, for the layout of the arguments.
    pub plan: Plan,
    /// Which domains it is for.
    domains: Domains,
    /// Where the code came from and how long that took.
    pub origin: Origin,
    words: Words,
    kernels: Vec<KernelFunction>,
    /// Keeps the code of `kernels` in memory.
    _library: Library,
}

/// Domains that code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Domains {
    /// Points on which of them are neighbours.
    neighbours: Neighbours,
    /// Where arrays are.
    supply: Supply,
    /// Their [size](crate::tuning::size_class), where choices for that were measured.
    size: Option<u32>,
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
        let native = Native {
            compilation: Compilation::new(program, backend, jit, cache, reuse),
            choices,
            tuned,
            variants: Variants::default(),
            spare: Mutex::default(),
        };
        let compilation = &native.compilation;
        if reuse == Reuse::Only && !compilation.may_be_cached(&compilation.jit.target()) {
            return Err(compilation.not_cached(None, None));
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

    /// The code for a layout and such calls, compiled where there is none yet.
    ///
    /// # Errors
    /// If LLVM fails.
    pub fn variant(&self, layout: &Layout, outline: Outline) -> Result<Arc<Variant>, RunError> {
        let variant = |domains| {
            let known = self.known(layout, domains);
            known.map_or_else(|| self.compiled(layout, domains, &self.choices), Ok)
        };
        let wanted = self.domains(layout, outline);
        let not_cached = match variant(wanted) {
            Err(error @ RunError::NotCached { .. }) => error,
            found => return found,
        };
        // Code for other calls is as right, if slower.
        let mut others = wanted.others().filter_map(|others| variant(others).ok());
        others.next().ok_or(not_cached)
    }

    /// Which domains code for a layout and such calls is for.
    fn domains(&self, layout: &Layout, outline: Outline) -> Domains {
        let (program, choices) = (&self.compilation.program, &self.choices);
        let elements = self.compilation.elements.layout(layout);
        let axis = (choices.vector).unwrap_or_else(|| contiguous(program, &elements));
        let target = self.target();
        let neighbours = choices.neighbours(Neighbours::on(program, axis, outline.plane));
        let lanes = (axis == Axis::K).then(|| lanes_of_sweeps(&program.stencil, &target));
        let in_vectors = |lanes| neighbours.in_vectors_of(lanes, outline.plane);
        Domains {
            neighbours: lanes.flatten().map_or(neighbours, in_vectors),
            supply: (outline.supply).of_code(&program.stencil, axis, target.caches),
            size: None,
        }
    }

    fn known(&self, layout: &Layout, domains: Domains) -> Option<Arc<Variant>> {
        self.variants.find(|one| one.is_for(layout, domains))
    }

    fn compiled(
        &self,
        layout: &Layout,
        domains: Domains,
        choices: &Choices,
    ) -> Result<Arc<Variant>, RunError> {
        let fresh = self.compile(layout, domains, choices)?;
        let is_wanted = |one: &Variant| one.is_for(layout, domains);
        Ok(self.variants.add(fresh, is_wanted))
    }

    /// Every variant compiled so far.
    pub fn variants(&self) -> Vec<Arc<Variant>> {
        self.variants.all()
    }

    /// How arrays of a layout are computed with in such calls, up to LLVM IR: with the choices measured last, if any were.
    /// If nothing is known of the call, as the latest code for the layout does it, if there is any.
    pub fn plan(&self, layout: &Layout, outline: Option<Outline>) -> Plan {
        let domains = self.domains(layout, outline.unwrap_or_default());
        let is_wanted = |one: &&Arc<Variant>| {
            let is_like_it = outline.is_none() || one.domains.alike(domains);
            one.plan.layout == *layout && is_like_it
        };
        let variants = self.variants();
        match variants.iter().rev().find(is_wanted) {
            Some(latest) => latest.plan.clone(),
            None => self.plan_with((layout, domains), &self.choices),
        }
    }

    fn plan_with(&self, (layout, domains): (&Layout, Domains), choices: &Choices) -> Plan {
        let elements = self.compilation.elements.layout(layout);
        let elements = (&elements, domains.neighbours, domains.supply);
        let target = self.compilation.jit.target();
        let plan = deep(|| Plan::new(&self.compilation.program, elements, &target, choices));
        Plan {
            layout: layout.clone(),
            ..plan
        }
    }

    /// The program as it is scheduled.
    pub fn program(&self) -> &Program {
        &self.compilation.program
    }

    /// Which axis each field is contiguous along, such as `phi=I height=K mask=none`.
    pub fn in_words(&self, layout: &Layout) -> String {
        self.compilation.in_words(layout)
    }

    /// The processor that code is made for.
    pub fn target(&self) -> Target {
        self.compilation.jit.target()
    }

    /// The assembly of a module.
    ///
    /// # Errors
    /// If LLVM fails.
    pub fn assembly(&self, module: &Module) -> Result<String, RunError> {
        Ok(self.compilation.jit.assembly(&module.text)?)
    }
}

impl Domains {
    /// Whether code for these would be the same as for others of any size.
    fn alike(self, others: Domains) -> bool {
        (self.neighbours, self.supply) == (others.neighbours, others.supply)
    }

    /// Those that code may be for instead.
    fn others(self) -> impl Iterator<Item = Domains> {
        let Neighbours {
            across, one_vector, ..
        } = self.neighbours;
        let across = match self.neighbours.contiguous {
            Axis::K => vec![
                (across, one_vector),
                (across, !one_vector),
                (self.neighbours.other(), false),
                (self.neighbours.other(), true),
            ],
            _ => vec![(across, one_vector)],
        };
        let all = across.into_iter().flat_map(move |(across, one_vector)| {
            Supply::ALL.map(|supply| Domains {
                neighbours: Neighbours {
                    across,
                    one_vector,
                    ..self.neighbours
                },
                supply,
                ..self
            })
        });
        all.filter(move |others| *others != self)
    }
}

impl Variant {
    fn is_for(&self, layout: &Layout, domains: Domains) -> bool {
        self.plan.layout == *layout && self.domains == domains
    }
}
