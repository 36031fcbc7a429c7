//! What a kernel is made from, and what it reads from its words on entry.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use fieldstone_stencil::ir::{Expr, ExprKind, ScalarId, Stmt, Target as Written};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{Placement, Roles, Schedule};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, DType};

use crate::tile::Scratch;

use super::abi::{OwnWords, Words};
use super::ahead::{Fetch, order_of_rows};
use super::blocks::Block;
use super::builder::Builder;
use super::division::Divisions;
use super::loops::Loops;
use super::prefetch::Purpose;
use super::{Failure, types};
use crate::layout::{Layout, contiguous_along};
use crate::target::Target;

/// What a kernel is made from.
pub(super) struct Context<'a> {
    pub program: &'a Program,
    pub schedule: &'a Schedule,
    pub layout: &'a Layout,
    pub target: &'a Target,
    pub scratch: &'a Scratch,
    pub fetch: Fetch,
    /// How a block of threads computes its points; `None` in kernels for threads of the host's processor.
    pub block: Option<&'a Block<'a>>,
    /// Where the call may fail, in all kernels so far.
    pub failures: &'a RefCell<Vec<Failure>>,
    /// The words of the kernel, where it has some of its own.
    pub own_words: Option<&'a RefCell<OwnWords>>,
}

impl Context<'_> {
    /// The axis along which a field or array is contiguous.
    pub fn contiguous_along(&self, target: Written) -> Option<Axis> {
        contiguous_along(&self.program.stencil, self.schedule, self.layout, target)
    }
}

/// What a kernel reads from its words on entry.
pub(super) struct Entry {
    /// Roles of the axes in a nest of rows.
    pub roles: Option<Roles>,
    /// The outer axis of a nest of columns.
    pub outer: Option<Axis>,
    pub domain: [String; 3],
    pub levels: (String, String),
    /// Zero; see [`Words::FIRST_LEVEL`].
    pub first_level: String,
    pub tile: [String; 3],
    pub count: [String; 3],
    pub arrays: HashMap<Written, Array>,
    /// Names of scalar parameters in registers; a boolean is an `i1`.
    pub scalars: HashMap<ScalarId, String>,
    /// The first level of each array whose levels are computed, and one past the last.
    pub array_levels: HashMap<Written, (String, String)>,
    /// Where to write the number of a failure.
    pub outside: String,
    /// Of all loops.
    pub divisions: Divisions,
    /// What may be stored past the caches, and the `i1` that says whether it is.
    pub streamed: HashSet<Written>,
    pub stream: String,
    /// Bytes behind the last level that may be stored, too: [`Words::PADDING`].
    pub padding: String,
    /// What may be where it is transposed back.
    pub streamed_columns: HashSet<Written>,
    /// What later rows are fetched for.
    pub purpose: Purpose,
    /// Rows ahead that are fetched into the caches, and the `i1` that says whether any are.
    pub ahead: String,
    pub fetches: String,
    /// Whether whole rows are.
    pub fetches_rows: String,
    /// Whether the next level of a sweep is fetched into the first-level cache.
    pub fetches_next: String,
    /// Rows of a tile that are computed for one vector of levels before those for the next one: [`Words::ROWS`].
    pub rows: String,
}

/// Address of the first point of the domain, and strides in bytes.
pub(super) struct Array {
    pub pointer: String,
    pub strides: [String; 3],
    /// Addresses of the first and the last element.
    pub first: String,
    pub last: String,
    /// Of the data dimensions.
    pub data: Vec<String>,
}

impl Array {
    /// Whether its rows that are computed one after the other are apart in memory.
    fn is_out_of_order(&self, b: &mut Builder, roles: Roles) -> String {
        let [near, far] = order_of_rows(roles).map(|axis| &self.strides[axis.index()]);
        b.value(format_args!("icmp sgt i64 {near}, {far}"))
    }
}

pub(super) fn entry(context: &Context<'_>, b: &mut Builder, loops: Loops<'_>) -> Entry {
    let (roles, outer) = match loops {
        Loops::Rows(nest) => (Some(nest.roles), None),
        Loops::Columns(nest) => (None, Some(nest.outer())),
    };
    let words = Words::new(&context.program.stencil, context.schedule);
    let mut used = Vec::new();
    let mut scalars = Vec::new();
    let mut afar = Vec::new();
    let mut may_fail = false;
    for statement in loops.statements() {
        statement.walk(&mut |inner| may_fail |= inner.may_fail());
        let accesses = Accesses::of(statement);
        afar.extend(accesses.afar.iter().copied());
        used.extend(accesses.reads.iter().map(|(target, _)| *target));
        used.extend(accesses.written());
        scalars_of(statement, &mut scalars);
    }
    let three = |b: &mut Builder, first| std::array::from_fn(|n| word(context, b, first + n));
    let mut entry = Entry {
        roles,
        outer,
        domain: three(b, Words::DOMAIN),
        levels: (
            word(context, b, Words::LEVELS),
            word(context, b, Words::LEVELS + 1),
        ),
        first_level: word(context, b, Words::FIRST_LEVEL),
        purpose: match context.scratch.soon {
            true => Purpose::Soon,
            false => Purpose::Later,
        },
        tile: three(b, Words::TILE),
        count: three(b, Words::COUNT),
        arrays: HashMap::new(),
        scalars: HashMap::new(),
        array_levels: HashMap::new(),
        outside: String::new(),
        divisions: Divisions::of(loops.statements()),
        streamed: HashSet::new(),
        stream: String::from("false"),
        padding: String::from("0"),
        streamed_columns: HashSet::new(),
        ahead: word(context, b, Words::AHEAD),
        fetches: String::new(),
        fetches_rows: String::new(),
        fetches_next: String::from("false"),
        rows: String::from("1"),
    };
    entry.fetches = b.value(format_args!("icmp ne i64 {}, 0", entry.ahead));
    if let Loops::Columns(_) = loops {
        let flag = word(context, b, Words::NEXT);
        entry.fetches_next = b.value(format_args!("icmp ne i64 {flag}, 0"));
    }
    if roles.is_some_and(|roles| roles.are_panels()) {
        entry.rows = word(context, b, Words::ROWS);
    }
    if context.target.has_fence() {
        let flag = word(context, b, Words::STREAM);
        entry.stream = b.value(format_args!("icmp ne i64 {flag}, 0"));
        entry.padding = word(context, b, Words::PADDING);
        let in_scratch = |target: &Written| context.scratch.block(*target, 0).is_some();
        (entry.streamed_columns, entry.streamed) =
            loops.streamed().into_iter().partition(in_scratch);
    }
    let mut seen = HashSet::new();
    for target in used.into_iter().filter(|target| seen.insert(*target)) {
        if let Some(first) = first_word(context, &words, target) {
            let address = word(context, b, first);
            let data = context.program.stencil.data_dims(target).len();
            let strides = words.data(target);
            let end = |b: &mut Builder, bytes| {
                let bytes = word(context, b, first + bytes);
                b.add(&address, bytes)
            };
            let array = Array {
                first: end(b, Words::FIRST_ELEMENT),
                last: end(b, Words::LAST_ELEMENT),
                pointer: pointer(context, b, &address),
                strides: three(b, first + 1),
                data: (strides..strides + data)
                    .map(|n| word(context, b, n))
                    .collect(),
            };
            entry.arrays.insert(target, array);
        }
    }
    entry.fetches_rows = fetches_rows(context, b, &entry);
    if may_fail {
        let address = word(context, b, Words::FAILURE);
        entry.outside = pointer(context, b, &address);
    }
    for target in afar {
        let levels = match target {
            Written::Field(id) => {
                let first = words.levels(id.0 as usize);
                (word(context, b, first), word(context, b, first + 1))
            }
            Written::Temp(_) => (entry.first_level.clone(), entry.domain[2].clone()),
        };
        entry.array_levels.insert(target, levels);
    }
    for id in scalars {
        entry.scalars.entry(id).or_insert_with(|| {
            let bits = word(context, b, words.scalar(id.0 as usize));
            scalar(b, &bits, context.program.stencil.scalar(id).dtype)
        });
    }
    entry
}

/// Whether whole rows are fetched: some may only be where those of any array do not follow each other in memory.
fn fetches_rows(context: &Context<'_>, b: &mut Builder, entry: &Entry) -> String {
    let Some(roles) = entry.roles.filter(|_| !context.fetch.in_order) else {
        return entry.fetches.clone();
    };
    let mut volumes: Vec<_> = entry.arrays.iter().collect();
    volumes.retain(|(target, _)| context.program.stencil.target_axes(**target).len() == 3);
    volumes.sort_by_key(|(target, _)| **target);
    let astray: Vec<String> = (volumes.into_iter())
        .map(|(_, array)| array.is_out_of_order(b, roles))
        .collect();
    let either = |one, other| b.value(format_args!("or i1 {one}, {other}"));
    match astray.into_iter().reduce(either) {
        Some(any) => b.value(format_args!("and i1 {}, {any}", entry.fetches)),
        None => String::from("false"),
    }
}

/// A pointer to global memory, which accelerators have an address space for.
fn pointer(context: &Context<'_>, b: &mut Builder, address: &str) -> String {
    if !context.target.is_accelerator() {
        return b.value(format_args!("inttoptr i64 {address} to ptr"));
    }
    let global = b.value(format_args!("inttoptr i64 {address} to ptr addrspace(1)"));
    b.value(format_args!(
        "addrspacecast ptr addrspace(1) {global} to ptr"
    ))
}

fn first_word(context: &Context<'_>, words: &Words, target: Written) -> Option<usize> {
    match target {
        Written::Field(id) => Some(words.field(id.0 as usize)),
        Written::Temp(id) => match context.schedule.temporaries[id.0 as usize] {
            Placement::Array { .. } => words.array(id.0 as usize),
            _ => None,
        },
    }
}

fn scalars_of(statement: &Stmt, scalars: &mut Vec<ScalarId>) {
    let mut note = |expr: &Expr| {
        expr.walk(|node| {
            if let ExprKind::Scalar(id) = node.kind {
                scalars.push(id);
            }
        });
    };
    statement.walk(&mut |statement| statement.expressions().for_each(&mut note));
}

fn word(context: &Context<'_>, b: &mut Builder, index: usize) -> String {
    let index = match context.own_words {
        Some(own) => own.borrow_mut().position(index),
        None => index,
    };
    let address = b.offset("%words", index * 8);
    b.value(format_args!("load i64, ptr {address}, align 8"))
}

fn scalar(b: &mut Builder, bits: &str, dtype: DType) -> String {
    let register = types::register(dtype);
    match dtype {
        DType::Bool => b.value(format_args!("icmp ne i64 {bits}, 0")),
        DType::Float64 => b.value(format_args!("bitcast i64 {bits} to double")),
        DType::Float32 => {
            let half = b.value(format_args!("trunc i64 {bits} to i32"));
            b.value(format_args!("bitcast i32 {half} to float"))
        }
        DType::Int64 | DType::UInt64 => bits.to_string(),
        _ => b.value(format_args!("trunc i64 {bits} to {register}")),
    }
}
