//! The nests of a schedule for blocks of threads: each thread computes point by point.
//!
//! The same kernels are written for accelerators, and for a processor that does what an accelerator would.
//!
//! | module | what lives there |
//! |---|---|
//! | `machine` | numbers of blocks and threads, phases and barriers |
//! | `point` | addresses of what a point reads and writes |
//! | `tile`, `climb` | nests of rows: tiles, their stages in phases, some levels of a point |
//! | `column` | nests of columns: one thread for each |
//! | `window` | levels of a column in registers |
//! | `function` | what a host has in a library, and an accelerator has not |

mod climb;
mod column;
mod function;
mod machine;
mod point;
mod tile;
mod window;

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write;

use fieldstone_stencil::ir::Target as Written;
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{ColumnNest, RowNest, Schedule};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Extent, Offset};

use super::Failure;
use super::abi::Words;
use super::ahead::Fetch;
use super::builder::Needs;
use super::entry::{Context, entry};
use super::loops::Loops;
use crate::gpu::Shape;
use crate::layout::Layout;
use crate::target::Target;
use crate::tile::Scratch;
use column::Windows;
use machine::Machine;

/// The text of a module for blocks of threads, and its kernels in the order in which they run.
#[derive(Clone, Debug)]
pub struct Module {
    /// LLVM IR.
    pub text: String,
    /// What it is compiled for.
    pub target: Target,
    /// One for each nest, several for a nest that runs level by level.
    pub kernels: Vec<Kernel>,
    /// Where the call may fail; kernels number these places from one.
    pub failures: Vec<Failure>,
}

/// Bytes of words that a kernel of every version of PTX may be called with.
const MOST_BYTES: usize = 4096;

/// A target that takes as many words as kernels have: longer parameters need a later version of PTX, and a driver that knows it.
fn taking(target: &Target, words: usize) -> Target {
    let mut target = target.clone();
    if target.is_nvidia() && words * 8 > MOST_BYTES {
        target.features.push_str("+ptx81");
    }
    target
}

/// A function of a module.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Symbol.
    pub name: String,
    /// How a block computes it.
    pub shape: Shape,
    /// Points around the domain that it computes as well.
    pub extent: Extent,
    /// Bytes of shared memory that launches have to ask for: those that are not part of the code.
    pub asked_bytes: usize,
}

/// The loops of a kernel.
#[derive(Clone, Copy)]
pub enum Nest<'a> {
    /// Tiles of points.
    Rows(&'a RowNest),
    /// Columns.
    Columns(&'a ColumnNest),
}

/// How a block of threads computes its points.
pub(super) struct Block<'a> {
    machine: Machine,
    shape: &'a Shape,
    /// Pointer to the shared memory.
    shared: &'a str,
    /// What no kernel of the module writes, not even in the place of another argument.
    constants: &'a HashSet<Written>,
}

impl Block<'_> {
    /// Whether nothing changes a target while a kernel runs.
    pub(super) fn is_constant(&self, target: Written) -> bool {
        self.constants.contains(&target)
    }
}

/// Fields that are never written, and read around a point: their memory is never that of a field that is written.
fn constants(program: &Program) -> HashSet<Written> {
    let (mut around, mut written) = (HashSet::new(), HashSet::new());
    let sections = program.stencil.computations.iter();
    let sections = sections.flat_map(|computation| &computation.sections);
    for accesses in sections.flat_map(|section| &section.body).map(Accesses::of) {
        let others = accesses.reads.iter();
        let others = others.filter(|(_, offset)| *offset != Offset::ZERO);
        around.extend(others.map(|(target, _)| *target));
        written.extend(accesses.written());
    }
    let is_field = |target: &Written| matches!(target, Written::Field(_));
    around.retain(|target| is_field(target) && !written.contains(target));
    around
}

impl<'a> Nest<'a> {
    fn loops(self) -> Loops<'a> {
        match self {
            Nest::Rows(nest) => Loops::Rows(nest),
            Nest::Columns(nest) => Loops::Columns(nest),
        }
    }

    fn extent(self) -> Extent {
        match self {
            Nest::Rows(nest) => nest.extent,
            Nest::Columns(nest) => nest.extent,
        }
    }
}

/// Writes the kernels of a scheduled program, for an accelerator or for a processor in its place.
pub fn emit<'a>(
    program: &Program,
    schedule: &Schedule,
    layout: &Layout,
    target: &Target,
    nests: impl IntoIterator<Item = (Nest<'a>, Shape)>,
) -> Module {
    let mut module = Module {
        text: String::new(),
        target: taking(target, Words::new(&program.stencil, schedule).len()),
        kernels: Vec::new(),
        failures: Vec::new(),
    };
    let mut needs = Needs::default();
    let failures = RefCell::new(Vec::new());
    let scratch = Scratch::default();
    let constants = constants(program);
    for (nest, shape) in nests {
        let name = format!("fieldstone_kernel_{}", module.kernels.len());
        let machine = Machine::of(target);
        let (shared, definition) = machine.shared(&name, &shape);
        let block = Block {
            machine,
            shape: &shape,
            shared: &shared,
            constants: &constants,
        };
        let context = Context {
            program,
            schedule,
            layout,
            target,
            scratch: &scratch,
            fetch: Fetch::NOTHING,
            block: Some(&block),
            failures: &failures,
            own_words: None,
        };
        module.text.push_str(&definition);
        needs.extend(kernel(&mut module.text, &name, &context, &block, nest));
        module.kernels.push(Kernel {
            name,
            asked_bytes: machine.asked(shape.shared_bytes),
            shape,
            extent: nest.extent(),
        });
    }
    module.failures = failures.into_inner();
    super::function::define(&mut module.text, &mut needs, target.permuted_bytes());
    function::define(&mut module.text, &mut needs);
    for declaration in needs.declarations {
        let _ = writeln!(module.text, "{declaration}");
    }
    module
        .text
        .push_str("!0 = !{}\nattributes #0 = { nounwind }\n");
    module
}

/// Adds a kernel to a text; what it refers to.
fn kernel(
    text: &mut String,
    name: &str,
    context: &Context<'_>,
    block: &Block<'_>,
    nest: Nest<'_>,
) -> Needs {
    let mut builder = block.machine.begin();
    let b = &mut builder;
    let windows = match nest {
        Nest::Rows(_) => None,
        Nest::Columns(nest) => Some((nest, Windows::of(context, b, nest))),
    };
    let entry = entry(context, b, nest.loops());
    block
        .machine
        .blocks(b, &entry, |b, numbers| match (nest, &windows) {
            (_, Some((nest, windows))) => {
                column::columns(context, block, &entry, b, (*nest, windows), numbers);
            }
            (Nest::Rows(nest), _) => tile::tile(context, block, &entry, b, nest, numbers),
            (Nest::Columns(_), None) => unreachable!("nests of columns have windows"),
        });
    builder.effect("ret void");
    let (body, needs) = builder.finish();
    let words = Words::new(&context.program.stencil, context.schedule);
    let head = block.machine.head(name, &words, block.shape);
    let _ = writeln!(text, "{head} {{\n{body}}}\n");
    needs
}
