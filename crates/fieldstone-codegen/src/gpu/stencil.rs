//! A stencil on accelerators: compiled for the layouts it is called with and the devices it runs on, kept, and launched.

use std::sync::Arc;

use fieldstone_device::{Accelerator, CoreCaches, Kind, Module, Properties, Resources};
use fieldstone_stencil::program::Program;

use super::candidates::Need;
use super::draft::Draft;
use super::memory::Spares;
use super::plan::Plan;
use super::room::Room;
use super::shape::Shape;
use super::tuning::Tuned;
use crate::cache::Cache;
use crate::choices::{Choices, Columns};
use crate::compilation::{Compilation, Origin, Reuse};
use crate::error::RunError;
use crate::jit::Jit;
use crate::layout::Layout;
use crate::llvm::abi::Words;
use crate::stack::deep;
use crate::target::Target;
use crate::variants::Variants;

/// A stencil as kernels, one variant for each layout and device it was called with.
pub struct Gpu {
    pub(super) compilation: Compilation,
    pub(super) choices: Choices,
    /// Whether the other choices are measured, and what was found.
    pub(super) tuned: bool,
    pub(super) found: Variants<Tuned>,
    /// By layout.
    drafts: Variants<(Layout, Draft)>,
    variants: Variants<Variant>,
    /// Memory of temporaries that are arrays, kept for the next run.
    pub(super) spares: Spares,
}

/// A stencil as kernels for arrays of one layout on one device.
pub struct Variant {
    /// How it is computed, for the layout of the arguments.
    pub plan: Plan,
    /// Where the code came from and how long that took.
    pub origin: Origin,
    /// Where it runs.
    pub accelerator: Arc<dyn Accelerator>,
    /// The kernels in the device's memory.
    pub module: Box<dyn Module>,
    /// The shapes of blocks that each kernel would have if threads had as many registers as they want.
    pub wanted: Vec<Shape>,
    /// What each kernel takes of the device, if that is a GPU.
    pub resources: Vec<Resources>,
    pub(super) words: Words,
}

/// Architectures of NVIDIA's GPUs that LLVM writes code for; newer ones run that of older ones.
const ARCHITECTURES: [(u32, u32); 12] = [
    (7, 0),
    (7, 2),
    (7, 5),
    (8, 0),
    (8, 6),
    (8, 7),
    (8, 9),
    (9, 0),
    (10, 0),
    (10, 1),
    (12, 0),
    (12, 1),
];

/// What code is made for, for GPUs of NVIDIA of an architecture and newer ones.
pub fn nvidia((major, minor): (u32, u32)) -> Target {
    Target {
        triple: "nvptx64-nvidia-cuda".to_owned(),
        cpu: format!("sm_{major}{minor}"),
        features: String::new(),
        caches: CoreCaches::default(),
    }
}

/// What code is made for, for a GPU of NVIDIA.
fn newest_for(properties: &Properties) -> Result<Target, RunError> {
    let own = properties.compute_capability.unwrap_or_default();
    let mut known = ARCHITECTURES.into_iter().rev();
    let found = known.find(|version| *version <= own);
    found.map(nvidia).ok_or_else(|| RunError::Unsupported {
        place: "backend 'gpu'".to_owned(),
        what: format!(
            "a GPU of compute capability {}.{} is too old, expected 7.0 or newer",
            own.0, own.1
        ),
    })
}

impl Gpu {
    /// A stencil that is compiled on its first run.
    pub fn new(
        program: &Program,
        jit: Arc<dyn Jit>,
        cache: Cache,
        reuse: Reuse,
        choices: Choices,
        tuned: bool,
    ) -> Gpu {
        Gpu {
            compilation: Compilation::new(program, "gpu", jit, cache, reuse),
            choices,
            tuned,
            found: Variants::default(),
            drafts: Variants::default(),
            variants: Variants::default(),
            spares: Spares::default(),
        }
    }

    /// What code is made for, for a device.
    ///
    /// # Errors
    /// If the device is too old.
    pub fn target(&self, accelerator: &dyn Accelerator) -> Result<Target, RunError> {
        match accelerator.id().kind {
            Kind::Cuda => newest_for(&accelerator.properties()),
            Kind::Simulated | Kind::Host => Ok(self.compilation.jit.target()),
        }
    }

    /// Refuses a stencil of which the cache has no code for a device, if only code of the cache is to be used.
    ///
    /// # Errors
    /// If it has none, or the device is too old.
    pub fn check_cached(&self, accelerator: &dyn Accelerator) -> Result<(), RunError> {
        let target = self.target(accelerator)?;
        match self.compilation.reuse == Reuse::Only && !self.compilation.may_be_cached(&target) {
            true => Err(self.compilation.not_cached(None, None)),
            false => Ok(()),
        }
    }

    /// The code for a layout and a domain, or a large one, on a device, compiled where there is none yet.
    ///
    /// # Errors
    /// If LLVM or the device's driver fails.
    pub fn variant(
        &self,
        layout: &Layout,
        domain: Option<[usize; 3]>,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Arc<Variant>, RunError> {
        self.variant_with(layout, &self.choices, domain, accelerator)
    }

    pub(super) fn variant_with(
        &self,
        layout: &Layout,
        choices: &Choices,
        domain: Option<[usize; 3]>,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Arc<Variant>, RunError> {
        let room = Room::of(&accelerator.properties());
        let (draft, wanted) = self.drafted(layout, choices, &room, domain);
        let is_wanted =
            |one: &Variant| one.is_for(&draft, &wanted, accelerator) && one.fits(domain);
        if let Some(known) = self.variants.find(is_wanted) {
            return Ok(known);
        }
        let cache = &self.compilation.cache;
        match self.compile(&draft, &wanted, domain, (accelerator, cache)) {
            Ok(fresh) => Ok(self.variants.add(fresh, is_wanted)),
            Err(RunError::NotCached { .. }) if domain.is_some() => {
                self.large_variant(layout, choices, domain, accelerator)
            }
            Err(error) => Err(error),
        }
    }

    /// The code for large domains, which is right for all whose levels it has room for.
    fn large_variant(
        &self,
        layout: &Layout,
        choices: &Choices,
        domain: Option<[usize; 3]>,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Arc<Variant>, RunError> {
        let large = self.variant_with(layout, choices, None, accelerator)?;
        match large.fits(domain) {
            true => Ok(large),
            false => {
                let levels = domain.map(|[.., levels]| levels);
                Err(self.compilation.not_cached(Some(layout), levels))
            }
        }
    }

    /// The code for some choices, which nobody keeps.
    pub(super) fn fleeting(
        &self,
        layout: &Layout,
        choices: &Choices,
        domain: [usize; 3],
        accelerator: &Arc<dyn Accelerator>,
    ) -> Result<Variant, RunError> {
        let domain = Some(domain);
        let room = Room::of(&accelerator.properties());
        let (draft, wanted) = self.drafted(layout, choices, &room, domain);
        self.compile(&draft, &wanted, domain, (accelerator, &Cache::none()))
    }

    /// The draft for a domain, or for a large one, and the shapes of blocks that its kernels are to have there.
    fn drafted(
        &self,
        layout: &Layout,
        choices: &Choices,
        room: &Room,
        domain: Option<[usize; 3]>,
    ) -> (Arc<(Layout, Draft)>, Vec<Shape>) {
        let draft = self.draft(layout, choices, room, domain);
        let shapes = draft.1.shapes(domain, &[]);
        (draft, shapes)
    }

    /// The draft for a domain, or for a large one of which nobody knows how many levels it has.
    fn draft(
        &self,
        layout: &Layout,
        choices: &Choices,
        room: &Room,
        domain: Option<[usize; 3]>,
    ) -> Arc<(Layout, Draft)> {
        let Some(domain) = domain else {
            let columns = choices.columns.unwrap_or(Columns::Arrays);
            return self.draft_with(layout, choices, room, columns);
        };
        let arrays = self.draft_with(layout, choices, room, Columns::Arrays);
        // On a device that nobody knows the size of there is nothing to compare.
        let chosen = choices.columns.or(match room.multiprocessors {
            Some(_) => None,
            None => Some(Columns::Arrays),
        });
        if chosen == Some(Columns::Arrays) || !arrays.1.has_columns() {
            return arrays;
        }
        let shared = self.draft_with(layout, choices, room, Columns::Shared);
        match shared.1.is_better(&arrays.1, domain, chosen.is_some()) {
            true => shared,
            false => arrays,
        }
    }

    fn draft_with(
        &self,
        layout: &Layout,
        choices: &Choices,
        room: &Room,
        columns: Columns,
    ) -> Arc<(Layout, Draft)> {
        let is_wanted = |(known, draft): &(Layout, Draft)| {
            known == layout
                && draft.room == *room
                && draft.choices == *choices
                && draft.columns == columns
        };
        let fresh = || {
            let elements = self.compilation.elements.layout(layout);
            let program = &self.compilation.program;
            let draft = deep(|| Draft::new(program, &elements, room, choices, columns));
            (layout.clone(), draft)
        };
        let known = self.drafts.find(is_wanted);
        known.unwrap_or_else(|| self.drafts.add(fresh(), is_wanted))
    }

    /// Every variant compiled so far.
    pub fn variants(&self) -> Vec<Arc<Variant>> {
        self.variants.all()
    }

    /// The code for a layout and a domain, or a large one, on a device, if there is any.
    pub fn known(
        &self,
        layout: &Layout,
        domain: Option<[usize; 3]>,
        accelerator: &Arc<dyn Accelerator>,
    ) -> Option<Arc<Variant>> {
        let choices = self.latest(layout, accelerator);
        let room = Room::of(&accelerator.properties());
        let (draft, wanted) = self.drafted(layout, &choices, &room, domain);
        self.variants
            .find(|one| one.is_for(&draft, &wanted, accelerator) && one.fits(domain))
    }

    /// How arrays of a layout are computed with on a domain, or a large one, up to LLVM IR: on a device, or on any GPU.
    ///
    /// # Errors
    /// If the device is too old.
    pub fn plan(
        &self,
        layout: &Layout,
        domain: Option<[usize; 3]>,
        accelerator: Option<&Arc<dyn Accelerator>>,
    ) -> Result<Plan, RunError> {
        let choices = accelerator.map(|found| self.latest(layout, found));
        let choices = choices.unwrap_or_else(|| self.choices.clone());
        let (target, room) = match accelerator {
            None => (nvidia(ARCHITECTURES[0]), Room::LEAST),
            Some(found) => match self.known(layout, domain, found) {
                Some(known) => return Ok(known.plan.clone()),
                None => (self.target(found.as_ref())?, Room::of(&found.properties())),
            },
        };
        let (draft, shapes) = self.drafted(layout, &choices, &room, domain);
        Ok(self.plan_of(layout, &draft.1, &shapes, &target))
    }

    /// As [`Self::plan`] for large domains, for what any device runs that a target is made for.
    pub fn plan_for(&self, layout: &Layout, target: &Target) -> Plan {
        let (draft, shapes) = self.drafted(layout, &self.choices, &Room::LEAST, None);
        self.plan_of(layout, &draft.1, &shapes, target)
    }

    pub(super) fn plan_of(
        &self,
        layout: &Layout,
        draft: &Draft,
        shapes: &[Shape],
        target: &Target,
    ) -> Plan {
        let plan = deep(|| Plan::new(&self.compilation.program, draft, shapes, target));
        Plan {
            layout: layout.clone(),
            ..plan
        }
    }

    /// The assembly of a plan: PTX for a GPU of NVIDIA.
    ///
    /// # Errors
    /// If LLVM fails.
    pub fn assembly(&self, plan: &Plan) -> Result<String, RunError> {
        let (jit, text) = (&self.compilation.jit, &plan.module.text);
        match plan.module.target.is_nvidia() {
            true => {
                let ptx = jit.compile_for(&plan.module.target, text)?;
                Ok(String::from_utf8_lossy(&ptx).into_owned())
            }
            false => Ok(jit.assembly(text)?),
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

    /// What errors of a device call the stencil.
    pub(super) fn label(&self) -> String {
        format!("stencil '{}'", self.compilation.program.stencil.name)
    }
}

impl Variant {
    fn is_for(
        &self,
        (layout, draft): &(Layout, Draft),
        wanted: &[Shape],
        accelerator: &Arc<dyn Accelerator>,
    ) -> bool {
        self.plan.layout == *layout
            && self.plan.choices == draft.choices
            && self.wanted == wanted
            && Arc::ptr_eq(&self.accelerator, accelerator)
    }

    /// Whether blocks have room for what they share on a domain.
    fn fits(&self, domain: Option<[usize; 3]>) -> bool {
        let room = Room::of(&self.accelerator.properties());
        let mut kernels = self.plan.module.kernels.iter();
        kernels.all(|kernel| room.holds(&kernel.shape, domain))
    }

    /// What threads of each kernel need, where that is known.
    pub(super) fn needs(&self, room: &Room) -> Vec<Need> {
        let both = self.resources.iter().zip(&self.plan.module.kernels);
        both.map(|(resources, kernel)| Need::of(resources, &kernel.shape, room))
            .collect()
    }
}
