//! From a schedule to LLVM IR text.
//!
//! | module | what lives there |
//! |---|---|
//! | [`abi`] | the words a kernel is called with |
//! | `ahead` | what a kernel fetches into the caches before it needs it |
//! | `builder` | blocks, loops and fresh names |
//! | `numbering` | what is known already, and not written again |
//! | `types` | LLVM's names of types and constants |
//! | `kernel` | one function for each nest |
//! | `entry` | what a kernel is made from, and what it reads on entry |
//! | `rows`, `columns` | the loops of the two kinds of nests, over `range`s of points |
//! | `transposition` | functions that transpose columns of an array in registers |
//! | `value` | values that are composed of several arrays on their way there |
//! | `place` | addresses of what a row reads and writes |
//! | `row` | the vector loop of one stage over one row |
//! | `past` | rows that are stored past the caches wherever they begin |
//! | `width` | how many points of a row a stage computes at once |
//! | `preheader` | what a stage accesses in a row, and what of it is computed once for the row |
//! | `body` | the statements of a stage on one vector of points |
//! | `fused` | the vector loop of several stages over one row, also one whose points are vectors of levels |
//! | `region` | regions among the statements of such stages |
//! | `level` | accesses at levels that are computed |
//! | `element` | accesses to elements of data dimensions that are not taken apart |
//! | [`blocks`] | the same nests for blocks of threads, which compute point by point |
//! | `arithmetic` | one operation on vectors |
//! | `remainder` | `%` and `//` of reals on vectors |
//! | `function` | the functions of the language on vectors |

pub mod abi;
mod ahead;
mod arithmetic;
pub mod blocks;
mod body;
mod builder;
mod columns;
mod element;
mod entry;
mod function;
mod fused;
mod kernel;
mod level;
mod memory;
mod numbering;
mod past;
mod place;
mod preheader;
mod range;
mod region;
mod remainder;
mod row;
mod rows;
mod transposition;
mod types;
mod value;
mod width;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use fieldstone_device::CoreCaches;
use fieldstone_stencil::ir::{DataDimension, Stencil};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{Nest, Obstacle, Placement, RowNest, Schedule};
use fieldstone_stencil::{Axis, Span};

pub use ahead::Fetch;
pub use width::widest;

use crate::array::array_contiguous_along;
use crate::choices::{Choices, Stores};
use crate::composed::Composition;
use crate::tile::Scratch;
use crate::transposed;
use abi::OwnWords;
use ahead::MOST;

/// The processor that code is made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// LLVM's triple.
    pub triple: String,
    /// LLVM's name of the processor.
    pub cpu: String,
    /// LLVM's list of features, such as `+avx2,-avx512f`.
    pub features: String,
    /// The caches of a core, which say how much scratch memory a tile may have.
    pub caches: CoreCaches,
}

impl Target {
    fn has(&self, feature: &str) -> bool {
        self.features
            .split(',')
            .any(|word| word.strip_prefix('+') == Some(feature))
    }

    /// Whether it runs blocks of threads, and is no processor of a host.
    pub fn is_accelerator(&self) -> bool {
        self.is_nvidia() || self.is_amd()
    }

    /// Whether it is a GPU of NVIDIA.
    pub fn is_nvidia(&self) -> bool {
        self.triple.starts_with("nvptx")
    }

    /// Whether it is a GPU of AMD.
    pub fn is_amd(&self) -> bool {
        self.triple.starts_with("amdgcn")
    }

    /// Bytes of a vector register.
    pub fn vector_bytes(&self) -> usize {
        match () {
            () if self.has("avx512f") => 64,
            () if self.has("avx") => 32,
            () => 16,
        }
    }

    /// Whether it converts from and to `float16`.
    pub fn has_half(&self) -> bool {
        !self.triple.starts_with("x86_64") || self.has("f16c")
    }

    /// Whether stores past the caches are ordered by the fence of SSE.
    fn has_fence(&self) -> bool {
        self.has("sse")
    }

    /// Whether loads and stores of some lanes are single instructions.
    fn has_masked_access(&self) -> bool {
        self.has("avx2")
    }
}

/// Which axis each array is contiguous along, in the order of the stencil's fields; `None` along none.
///
/// Code is made for one layout and runs with any strides that fit it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout(pub Vec<Option<Axis>>);

impl Layout {
    /// The axis along which most fields are contiguous; `I` where none is.
    pub fn contiguous(&self) -> Axis {
        let fields = |axis: Axis| self.0.iter().filter(|unit| **unit == Some(axis)).count();
        let best = Axis::ALL.into_iter().rev().max_by_key(|axis| fields(*axis));
        best.unwrap_or(Axis::I)
    }
}

/// The text of a module and its kernels, in the order in which they run.
#[derive(Clone, Debug)]
pub struct Module {
    /// LLVM IR.
    pub text: String,
    /// One for each nest, several for a nest that runs level by level.
    pub kernels: Vec<Kernel>,
    /// Where the call may fail; kernels number these places from one.
    pub failures: Vec<Failure>,
}

/// A place where a kernel may find that the call fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong there.
    pub what: Wrong,
    /// Where it stands in the source.
    pub span: Span,
}

/// What a kernel may find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// An access at a level that the array of a target does not have.
    Level(fieldstone_stencil::ir::Target),
    /// An access at an index that a data dimension does not have.
    Index(DataDimension),
    /// Bounds of these intervals that are not what they have to be.
    Intervals(Vec<Span>),
}

/// A function of a module.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Symbol.
    pub name: String,
    /// Scratch memory of each thread, and the largest tile.
    pub scratch: Scratch,
    /// Bytes for each point that the kernel can store past the caches.
    pub streamed: usize,
    /// Bytes for each point of all fields that it reads or writes there.
    pub moved: usize,
    /// Whether it does, where that was chosen.
    pub stores: Option<Stores>,
    /// What it fetches into the caches.
    pub fetch: Fetch,
    /// Its own words, where it does not have those of all kernels.
    pub words: Option<OwnWords>,
}

impl Kernel {
    /// Whether it stores past the caches what it can, for so many points, with caches of so many bytes.
    ///
    /// What nearly fills the caches does not stay there, since other work needs some of them too.
    pub fn streams(&self, points: usize, caches: usize) -> bool {
        match self.stores {
            Some(stores) => stores == Stores::Streamed && self.streamed > 0,
            None => self.streamed > 0 && self.fills(points, caches),
        }
    }

    /// Whether it moves more than caches of so many bytes keep of it, for so many points.
    fn fills(&self, points: usize, caches: usize) -> bool {
        points.saturating_mul(self.moved) > caches / 8 * MOST
    }

    /// Whether a sweep's next level is fetched into the first-level cache, for so many points.
    pub fn fetches_next(&self, points: usize, caches: usize) -> bool {
        self.fetch.ahead > 1 && self.fills(points, caches)
    }

    /// Whether it stores past the caches where that is better for others, though it would not for itself.
    pub fn may_stream(&self) -> bool {
        self.streamed > 0 && self.stores.is_none()
    }

    /// Rows, or levels of a sweep, ahead that are fetched into the caches, for so many points of so many levels.
    pub fn fetched_ahead(&self, points: usize, levels: usize, caches: usize) -> usize {
        let ahead = (self.fetch).with(levels, points.saturating_mul(self.moved), caches);
        // What follows the next tile is needed too late.
        match (self.scratch).near_rows(levels, self.streams(points, caches)) {
            Some(rows) if self.fetch.level.is_some() => ahead.min(rows),
            _ => ahead,
        }
    }
}

/// The axis along which a field or an array is contiguous.
fn contiguous_along(
    stencil: &Stencil,
    schedule: &Schedule,
    layout: &Layout,
    target: fieldstone_stencil::ir::Target,
) -> Option<Axis> {
    match target {
        fieldstone_stencil::ir::Target::Field(id) => layout.0[id.0 as usize],
        fieldstone_stencil::ir::Target::Temp(id) => {
            let is_array = matches!(schedule.temporaries[id.0 as usize], Placement::Array { .. });
            let axes = stencil.temporary(id).axes;
            array_contiguous_along(schedule.contiguous, axes).filter(|_| is_array)
        }
    }
}

/// Whether kernels that have the same text are one function: where elements of vectors have kernels of their own.
fn shares_kernels(schedule: &Schedule) -> bool {
    let mut apart = schedule.causes.iter().filter_map(|causes| causes.apart);
    apart.any(|apart| apart.rows.obstacle == Obstacle::ManyFields)
}

/// Writes the kernels of a scheduled program.
pub fn emit(
    program: &Program,
    schedule: &Schedule,
    layout: &Layout,
    target: &Target,
    choices: &Choices,
) -> Module {
    let mut module = Module {
        text: String::new(),
        kernels: Vec::new(),
        failures: Vec::new(),
    };
    let mut needs = builder::Needs::default();
    let failures = RefCell::new(Vec::new());
    let shares = shares_kernels(schedule);
    let mut known = HashMap::new();
    let mut add = |nest: kernel::Loops<'_>, scratch: Scratch, composed: Option<&Composition>| {
        let mut name = format!("fieldstone_kernel_{}", module.kernels.len());
        let fetch = match choices.fetch {
            // Narrow blocks fetch the next ones.
            _ if scratch.slim => Fetch::NOTHING,
            Some(ahead) => Fetch::always(ahead),
            None => Fetch::of(nest, &program.stencil, &scratch),
        };
        let own_words = shares.then(RefCell::default);
        let context = entry::Context {
            program,
            schedule,
            layout,
            target,
            scratch: &scratch,
            fetch,
            block: None,
            failures: &failures,
            own_words: own_words.as_ref(),
        };
        let (text, needed) = kernel::function(&name, &context, nest, composed);
        let is_new = match shares {
            true => {
                let found = known.entry(text.replace(&name, "")).or_insert(name.clone());
                std::mem::replace(&mut name, found.clone()) == *found
            }
            false => true,
        };
        if is_new {
            module.text.push_str(&text);
        }
        needs.extend(needed);
        let bytes = |targets: HashSet<_>| {
            let sizes = targets
                .iter()
                .map(|target| place::dtype(&context, *target).size());
            sizes.sum()
        };
        let (streamed, moved) = (
            bytes(nest.streamed()),
            bytes(nest.volumes(&program.stencil)),
        );
        module.kernels.push(Kernel {
            name,
            scratch,
            streamed,
            moved,
            stores: choices.stores,
            fetch,
            words: own_words.map(RefCell::into_inner),
        });
    };
    for (index, nest) in schedule.nests.iter().enumerate() {
        let stencil = &program.stencil;
        let rows =
            |nest: &RowNest| Scratch::of_rows(stencil, schedule, index, nest, choices, target);
        match nest {
            Nest::Rows(nest) => add(kernel::Loops::Rows(nest), rows(nest), None),
            Nest::Columns(nest) => {
                let along_levels =
                    |target| contiguous_along(stencil, schedule, layout, target) == Some(Axis::K);
                let transposed = transposed::of(program, nest, along_levels);
                let composed = Composition::of((program, schedule), nest, &transposed);
                let scratch = match &composed {
                    None => Scratch::of_columns(
                        stencil,
                        schedule,
                        (index, nest),
                        transposed,
                        choices,
                        target,
                    ),
                    Some(composed) => Scratch::of_columns(
                        &composed.program.stencil,
                        &composed.schedule,
                        (index, &composed.nest),
                        composed.transposed.clone(),
                        choices,
                        target,
                    ),
                };
                add(kernel::Loops::Columns(nest), scratch, composed.as_ref());
            }
            Nest::Levels(nest) => {
                for nest in nest.sections.iter().flat_map(|(_, nests)| nests) {
                    add(kernel::Loops::Rows(nest), Scratch::default(), None);
                }
            }
        }
    }
    module.failures = failures.into_inner();
    function::define(&mut module.text, &mut needs);
    for declaration in needs.declarations {
        let _ = writeln!(module.text, "{declaration}");
    }
    let _ = writeln!(module.text, "!0 = !{{i32 1}}");
    let bits = target.vector_bytes() * 8;
    // Only with a frame pointer does LLVM keep vectors that registers have no room for, as constants of a loop, where lines of the
    // cache begin: elsewhere each takes two lines.
    let _ = writeln!(
        module.text,
        "attributes #0 = {{ nounwind \"frame-pointer\"=\"all\" \"prefer-vector-width\"=\"{bits}\" \"min-legal-vector-width\"=\"{bits}\" }}"
    );
    module
}
