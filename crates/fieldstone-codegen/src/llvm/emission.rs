//! From a schedule to a module, one kernel after another.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use fieldstone_stencil::Axis;
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{ColumnNest, Nest, Obstacle, RowNest, Schedule};

use super::ahead::Fetch;
use super::builder::Needs;
use super::kernel;
use super::loops::Loops;
use super::module::{Failure, Kernel, Module};
use super::{entry, function, place};
use crate::choices::{Choices, Stores};
use crate::composed::Composition;
use crate::layout::{Layout, contiguous_along};
use crate::outline::Supply;
use crate::target::Target;
use crate::tile::Scratch;
use crate::transposed;

/// Writes the kernels of a scheduled program for arrays of a layout, from where they are.
pub fn emit(
    program: &Program,
    schedule: &Schedule,
    (layout, supply): (&Layout, Supply),
    target: &Target,
    choices: &Choices,
) -> Module {
    let failures = RefCell::default();
    let mut emission = Emission {
        program,
        schedule,
        layout,
        supply,
        target,
        choices,
        shares: shares_kernels(schedule),
        known: HashMap::new(),
        failures: &failures,
        needs: Needs::default(),
        text: String::new(),
        kernels: Vec::new(),
    };
    for (index, nest) in schedule.nests.iter().enumerate() {
        emission.nest(index, nest);
    }
    let (text, kernels) = emission.finished();
    Module {
        text,
        kernels,
        failures: failures.into_inner(),
    }
}

/// A module on its way.
struct Emission<'a> {
    program: &'a Program,
    schedule: &'a Schedule,
    layout: &'a Layout,
    supply: Supply,
    target: &'a Target,
    choices: &'a Choices,
    /// Whether kernels of the same text are one function.
    shares: bool,
    /// The names of such functions by their texts without names.
    known: HashMap<String, String>,
    failures: &'a RefCell<Vec<Failure>>,
    needs: Needs,
    text: String,
    kernels: Vec<Kernel>,
}

impl Emission<'_> {
    fn nest(&mut self, index: usize, nest: &Nest) {
        match nest {
            Nest::Rows(nest) => {
                let scratch = self.scratch_of_rows(index, nest);
                self.kernel(Loops::Rows(nest), scratch, None);
            }
            Nest::Columns(nest) => self.columns(index, nest),
            Nest::Levels(nest) => {
                for nest in nest.sections.iter().flat_map(|(_, nests)| nests) {
                    self.kernel(Loops::Rows(nest), Scratch::default(), None);
                }
            }
        }
    }

    fn scratch_of_rows(&self, index: usize, nest: &RowNest) -> Scratch {
        let stencil = &self.program.stencil;
        Scratch::of_rows(
            stencil,
            self.schedule,
            index,
            nest,
            self.choices,
            self.target,
        )
    }

    fn columns(&mut self, index: usize, nest: &ColumnNest) {
        let stencil = &self.program.stencil;
        let along_levels =
            |target| contiguous_along(stencil, self.schedule, self.layout, target) == Some(Axis::K);
        let transposed = transposed::of(self.program, nest, along_levels);
        let composed = Composition::of((self.program, self.schedule), nest, &transposed);
        let (stencil, schedule, own, transposed) = match &composed {
            None => (stencil, self.schedule, nest, transposed),
            Some(composed) => (
                &composed.program.stencil,
                &composed.schedule,
                &composed.nest,
                composed.transposed.clone(),
            ),
        };
        let scratch = Scratch::of_columns(
            stencil,
            schedule,
            (index, own),
            transposed,
            (self.choices, self.supply),
            self.target,
        );
        self.kernel(Loops::Columns(nest), scratch, composed.as_ref());
    }

    fn kernel(&mut self, nest: Loops<'_>, scratch: Scratch, composed: Option<&Composition>) {
        let stencil = &self.program.stencil;
        // Narrow blocks fetch the next ones.
        let fetch = match scratch.slim && !scratch.is_held() {
            true => Fetch::NOTHING,
            false => Fetch::of(nest, stencil, &scratch, self.target).or_chosen(self.choices.fetch),
        };
        let own_words = self.shares.then(RefCell::default);
        let context = entry::Context {
            program: self.program,
            schedule: self.schedule,
            layout: self.layout,
            target: self.target,
            scratch: &scratch,
            fetch,
            block: None,
            failures: self.failures,
            own_words: own_words.as_ref(),
        };
        let name = format!("fieldstone_kernel_{}", self.kernels.len());
        let (text, needed) = kernel::function(&name, &context, nest, composed);
        let bytes = |targets: HashSet<_>| {
            let sizes = targets
                .iter()
                .map(|target| place::dtype(&context, *target).size());
            sizes.sum()
        };
        let (streamed, moved) = (bytes(nest.streamed()), bytes(nest.volumes(stencil)));
        let stores = stores(nest, &scratch, self.supply, self.target);
        self.needs.extend(needed);
        let name = self.function(name, &text);
        self.kernels.push(Kernel {
            name,
            scratch,
            streamed,
            moved,
            stores: self.choices.stores.or(stores),
            fetch,
            words: own_words.map(RefCell::into_inner),
        });
    }

    /// Adds a function to the text, unless there is one that it is the same as; gives the name of that.
    fn function(&mut self, name: String, text: &str) -> String {
        if self.shares {
            let nameless = text.replace(&name, "");
            if let Some(found) = self.known.get(&nameless) {
                return found.clone();
            }
            self.known.insert(nameless, name.clone());
        }
        self.text.push_str(text);
        name
    }

    /// The text with all that its functions refer to, and the kernels.
    fn finished(mut self) -> (String, Vec<Kernel>) {
        function::define(
            &mut self.text,
            &mut self.needs,
            self.target.permuted_bytes(),
        );
        for declaration in &self.needs.declarations {
            let _ = writeln!(self.text, "{declaration}");
        }
        let _ = writeln!(self.text, "!0 = !{{i32 1}}");
        let bits = self.target.vector_bytes() * 8;
        // Only with a frame pointer does LLVM keep vectors that registers have no room for, as constants of a loop, where lines of
        // the cache begin: elsewhere each takes two lines.
        let _ = writeln!(
            self.text,
            "attributes #0 = {{ nounwind \"frame-pointer\"=\"all\" \"prefer-vector-width\"=\"{bits}\" \"min-legal-vector-width\"=\"{bits}\" }}"
        );
        (self.text, self.kernels)
    }
}

/// Where a nest stores its results, if that is the same in all calls: where the last cache is far, sweeps take longer with stores past the
/// caches, wherever their arrays come from, unless that is from memory, in blocks of long rows, and the core has room for such stores.
fn stores(nest: Loops<'_>, scratch: &Scratch, supply: Supply, target: &Target) -> Option<Stores> {
    let caches = target.caches;
    let has_room = caches.streams_are_late() && scratch.transposed.is_empty();
    let may_stream = supply == Supply::Memory && has_room;
    let sweeps = matches!(nest, Loops::Columns(_));
    (sweeps && caches.shared_is_far && !may_stream).then_some(Stores::Cached)
}

/// Whether kernels that have the same text are one function: where elements of vectors have kernels of their own.
fn shares_kernels(schedule: &Schedule) -> bool {
    let mut apart = schedule.causes.iter().filter_map(|causes| causes.apart);
    apart.any(|apart| apart.rows.obstacle == Obstacle::ManyFields)
}
