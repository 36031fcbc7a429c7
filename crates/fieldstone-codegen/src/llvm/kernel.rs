//! One function for each nest: its loops over tiles, rows and levels.

use std::collections::{BTreeSet, HashMap, HashSet};

use fieldstone_stencil::ir::Order;
use fieldstone_stencil::ir::{Expr, ExprKind, ScalarId, Stmt, StmtKind, Target as Written};
use fieldstone_stencil::program::Program;
use fieldstone_stencil::schedule::{ColumnNest, Placement, Roles, RowNest, Schedule, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Bound, DType, Extent, Interval, Level};

use crate::tile::{Block, Scratch};
use crate::transposed::{SYMBOL, Transposed};

use super::abi::Words;
use super::builder::Builder;
use super::place::{self, Row};
use super::{Layout, Target, contiguous_along, row, types};

/// What a kernel is made from.
pub(super) struct Context<'a> {
    pub program: &'a Program,
    pub schedule: &'a Schedule,
    pub layout: &'a Layout,
    pub target: &'a Target,
    pub scratch: &'a Scratch,
}

impl Context<'_> {
    /// The axis along which a field or array is contiguous.
    pub fn contiguous_along(&self, target: Written) -> Option<Axis> {
        contiguous_along(self.schedule, self.layout, target)
    }
}

/// The loops of a kernel.
#[derive(Clone, Copy)]
pub(super) enum Loops<'a> {
    Rows(&'a RowNest),
    Columns(&'a ColumnNest),
}

/// What a kernel reads from its words on entry.
pub(super) struct Entry {
    /// Roles of the axes in a nest of rows.
    pub roles: Option<Roles>,
    /// The outer axis of a nest of columns.
    pub outer: Option<Axis>,
    pub domain: [String; 3],
    levels: (String, String),
    first_level: String,
    tile: [String; 3],
    count: [String; 3],
    pub arrays: HashMap<Written, Array>,
    /// Names of scalar parameters in registers; a boolean is an `i1`.
    pub scalars: HashMap<ScalarId, String>,
    /// What may be stored past the caches, and the `i1` that says whether it is.
    pub streamed: HashSet<Written>,
    pub stream: String,
}

/// Address of the first point of the domain, and strides in bytes.
pub(super) struct Array {
    pub pointer: String,
    pub strides: [String; 3],
}

impl<'a> Loops<'a> {
    fn statements(self) -> Box<dyn Iterator<Item = &'a Stmt> + 'a> {
        match self {
            Loops::Rows(nest) => Box::new(nest.stages.iter().flat_map(|stage| &stage.statements)),
            Loops::Columns(nest) => Box::new(nest.stages().flat_map(|stage| &stage.statements)),
        }
    }

    /// Fields that a nest writes at every point and never reads.
    pub fn streamed(self) -> HashSet<Written> {
        let (mut written, mut others) = (HashSet::new(), HashSet::new());
        for statement in self.statements() {
            let accesses = Accesses::of(statement);
            others.extend(accesses.reads.iter().map(|(target, _)| *target));
            for (target, conditional) in accesses.writes {
                let to = if conditional {
                    &mut others
                } else {
                    &mut written
                };
                to.insert(target);
            }
        }
        written.retain(|target| matches!(target, Written::Field(_)) && !others.contains(target));
        written
    }
}

/// The text of a kernel and the declarations it needs.
pub(super) fn function(
    name: &str,
    context: &Context<'_>,
    loops: Loops<'_>,
) -> (String, BTreeSet<String>) {
    let mut builder = Builder::new();
    let b = &mut builder;
    let streams = !loops.streamed().is_empty() && context.target.has_fence();
    match loops {
        Loops::Rows(nest) => {
            let entry = entry(context, b, loops);
            rows(context, &entry, b, nest);
        }
        Loops::Columns(nest) => {
            let entry = entry(context, b, loops);
            columns(context, &entry, b, nest);
        }
    }
    if streams {
        // Other threads see what was stored past the caches only behind a fence.
        builder.call_void("llvm.x86.sse.sfence", &[]);
    }
    builder.effect("ret void");
    let (body, declarations) = builder.finish();
    let text = format!(
        "define void @{name}(ptr noalias readonly %words, i64 %begin, i64 %end, ptr noalias %scratch) #0 {{\n{body}}}\n\n"
    );
    (text, declarations)
}

fn entry(context: &Context<'_>, b: &mut Builder, loops: Loops<'_>) -> Entry {
    let (roles, outer) = match loops {
        Loops::Rows(nest) => (Some(nest.roles), None),
        Loops::Columns(nest) => (None, Some(nest.outer())),
    };
    let words = Words::new(&context.program.stencil, context.schedule);
    let mut used = Vec::new();
    let mut scalars = Vec::new();
    for statement in loops.statements() {
        let accesses = Accesses::of(statement);
        used.extend(accesses.reads.iter().map(|(target, _)| *target));
        used.extend(accesses.written());
        scalars_of(statement, &mut scalars);
    }
    let three = |b: &mut Builder, first| std::array::from_fn(|n| word(b, first + n));
    let mut entry = Entry {
        roles,
        outer,
        domain: three(b, Words::DOMAIN),
        levels: (word(b, Words::LEVELS), word(b, Words::LEVELS + 1)),
        first_level: word(b, Words::FIRST_LEVEL),
        tile: three(b, Words::TILE),
        count: three(b, Words::COUNT),
        arrays: HashMap::new(),
        scalars: HashMap::new(),
        streamed: HashSet::new(),
        stream: String::from("false"),
    };
    if context.target.has_fence() {
        let flag = word(b, Words::STREAM);
        entry.stream = b.value(format_args!("icmp ne i64 {flag}, 0"));
        entry.streamed = loops.streamed();
        let in_scratch = |target: &Written| context.scratch.block(*target, 0).is_some();
        entry.streamed.retain(|target| !in_scratch(target));
    }
    let mut seen = HashSet::new();
    for target in used.into_iter().filter(|target| seen.insert(*target)) {
        if let Some(first) = first_word(context, &words, target) {
            let address = word(b, first);
            let array = Array {
                pointer: b.value(format_args!("inttoptr i64 {address} to ptr")),
                strides: three(b, first + 1),
            };
            entry.arrays.insert(target, array);
        }
    }
    for id in scalars {
        entry.scalars.entry(id).or_insert_with(|| {
            let bits = word(b, words.scalar(id.0 as usize));
            scalar(b, &bits, context.program.stencil.scalar(id).dtype)
        });
    }
    entry
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
    match &statement.kind {
        StmtKind::Assign { value, .. } => note(value),
        StmtKind::If {
            condition,
            then,
            orelse,
        } => {
            note(condition);
            for inner in then.iter().chain(orelse) {
                scalars_of(inner, scalars);
            }
        }
    }
}

fn word(b: &mut Builder, index: usize) -> String {
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

/// First point of tile number `number` along `axis` and one past its last, of a domain extended by `extent`.
fn tile_range(
    entry: &Entry,
    b: &mut Builder,
    axis: Axis,
    number: &str,
    extent: (i32, i32),
) -> (String, String) {
    let (first, last) = domain_range(entry, axis);
    let first = b.sub(&first, extent.0);
    let last = b.add(&last, extent.1);
    let shift = b.mul(number, &entry.tile[axis.index()]);
    let begin = b.add(&first, shift);
    let end = b.add(&begin, &entry.tile[axis.index()]);
    let end = b.min(&end, &last);
    (begin, end)
}

fn domain_range(entry: &Entry, axis: Axis) -> (String, String) {
    match axis {
        Axis::K => entry.levels.clone(),
        _ => (String::from("0"), entry.domain[axis.index()].clone()),
    }
}

/// Cuts a range of levels to an interval.
fn clip_levels(
    entry: &Entry,
    b: &mut Builder,
    interval: Interval,
    range: (String, String),
) -> (String, String) {
    if interval == Interval::FULL {
        return range;
    }
    let start = bound(entry, b, interval.start);
    let end = bound(entry, b, interval.end);
    (b.max(&range.0, &start), b.min(&range.1, &end))
}

fn bound(entry: &Entry, b: &mut Builder, bound: Bound) -> String {
    match bound.level {
        Level::Start => b.add(&entry.first_level, bound.offset),
        Level::End => b.add(&entry.domain[2], bound.offset),
    }
}

fn relative(extent: Extent, base: Extent, axis: Axis) -> (i32, i32) {
    let (extent, base) = (extent.along(axis), base.along(axis));
    (extent.0 - base.0, extent.1 - base.1)
}

/// Tiles, the sliding axis inside each, and every stage a few rows ahead of those that read it.
fn rows(context: &Context<'_>, entry: &Entry, b: &mut Builder, nest: &RowNest) {
    let roles = nest.roles;
    let [vector, block, slide] = [roles.vector, roles.block, roles.slide].map(Axis::index);
    b.for_loop("%begin", "%end", "1", |b, task| {
        let count = &entry.count;
        let vector_tile = b.value(format_args!("urem i64 {task}, {}", count[vector]));
        let rest = b.value(format_args!("udiv i64 {task}, {}", count[vector]));
        let block_tile = b.value(format_args!("urem i64 {rest}, {}", count[block]));
        let slide_tile = b.value(format_args!("udiv i64 {rest}, {}", count[block]));
        let range = |b: &mut Builder, axis: Axis, tile: &str| {
            tile_range(entry, b, axis, tile, nest.extent.along(axis))
        };
        let vectors = range(b, roles.vector, &vector_tile);
        let blocks = range(b, roles.block, &block_tile);
        let slides = range(b, roles.slide, &slide_tile);
        let mut tile: [String; 3] = Default::default();
        tile[vector] = vectors.0.clone();
        tile[block] = blocks.0.clone();
        tile[slide] = slides.0.clone();
        let reach = |stage: &Stage, axis| relative(stage.extent, nest.extent, axis);
        let lag = |stage: &Stage| {
            let (before, after) = reach(stage, roles.slide);
            before + after
        };
        let most = nest.stages.iter().map(lag).max().unwrap_or(0);
        let first_step = b.sub(&slides.0, most);
        b.for_loop(&first_step, &slides.1, "1", |b, step| {
            for stage in &nest.stages {
                let (before, after) = reach(stage, roles.slide);
                let at = b.add(step, after);
                let emit = |b: &mut Builder| {
                    let blocks = widen(entry, b, stage, roles.block, &blocks, nest.extent);
                    let vectors = widen(entry, b, stage, roles.vector, &vectors, nest.extent);
                    b.for_loop(&blocks.0, &blocks.1, "1", |b, in_block| {
                        let mut index: [String; 3] = Default::default();
                        index[slide] = at.clone();
                        index[block] = in_block.to_string();
                        let row = Row {
                            vector: roles.vector,
                            index,
                            tile: tile.clone(),
                        };
                        row::stage(context, entry, b, stage, &row, &vectors);
                    });
                };
                if before + after < most {
                    let first = b.sub(&slides.0, before);
                    let ready = b.value(format_args!("icmp sge i64 {at}, {first}"));
                    b.when(&ready, emit);
                } else {
                    emit(b);
                }
            }
        });
    });
}

/// A tile's range along an axis, widened to what a stage computes and cut to its levels.
fn widen(
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    axis: Axis,
    range: &(String, String),
    base: Extent,
) -> (String, String) {
    let (before, after) = relative(stage.extent, base, axis);
    let range = (b.sub(&range.0, before), b.add(&range.1, after));
    match axis {
        Axis::K => clip_levels(entry, b, stage.interval, range),
        _ => range,
    }
}

/// Blocks of columns, the sweeps over each, and the stages of each level.
fn columns(context: &Context<'_>, entry: &Entry, b: &mut Builder, nest: &ColumnNest) {
    let (vector, outer) = (nest.vector, nest.outer());
    b.for_loop("%begin", "%end", "1", |b, task| {
        let count = &entry.count[vector.index()];
        let vector_tile = b.value(format_args!("urem i64 {task}, {count}"));
        let outer_tile = b.value(format_args!("udiv i64 {task}, {count}"));
        let along = |b: &mut Builder, axis: Axis, tile: &str| {
            tile_range(entry, b, axis, tile, nest.extent.along(axis))
        };
        let vectors = along(b, vector, &vector_tile);
        let outers = along(b, outer, &outer_tile);
        b.for_loop(&outers.0, &outers.1, "1", |b, at| {
            let mut row = Row {
                vector,
                index: Default::default(),
                tile: Default::default(),
            };
            row.index[outer.index()] = at.to_string();
            row.tile[outer.index()] = at.to_string();
            row.tile[vector.index()] = vectors.0.clone();
            row.tile[2] = String::from("0");
            for (array, block) in &context.scratch.transposed {
                if array.load {
                    transpose(context, entry, b, nest, array, *block, &row, &vectors, true);
                }
            }
            for sweep in &nest.sweeps {
                self::sweep(context, entry, b, nest, sweep, &row, &vectors);
            }
            for (array, block) in &context.scratch.transposed {
                if array.store.is_some() {
                    transpose(
                        context, entry, b, nest, array, *block, &row, &vectors, false,
                    );
                }
            }
        });
    });
}

fn sweep(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &ColumnNest,
    sweep: &Sweep,
    row: &Row,
    vectors: &(String, String),
) {
    for (interval, stages) in &sweep.sections {
        let levels = clip_levels(entry, b, *interval, entry.levels.clone());
        let level_loop = |b: &mut Builder, count: &str| {
            let mut row = Row {
                vector: row.vector,
                index: row.index.clone(),
                tile: row.tile.clone(),
            };
            row.index[2] = match sweep.order {
                Order::Backward => {
                    let last = b.add(&levels.1, -1);
                    let first = b.sub(&last, count);
                    b.add(&first, levels.0.as_str())
                }
                _ => count.to_string(),
            };
            for stage in stages {
                let range = clip_columns(entry, b, nest, stage.extent, &row, vectors);
                row::stage(context, entry, b, stage, &row, &range);
            }
        };
        b.for_loop(&levels.0, &levels.1, "1", level_loop);
    }
}

/// The columns of a block that belong to the domain with an extent; none where the row is outside.
fn clip_columns(
    entry: &Entry,
    b: &mut Builder,
    nest: &ColumnNest,
    extent: Extent,
    row: &Row,
    vectors: &(String, String),
) -> (String, String) {
    let mut range = vectors.clone();
    let along = |axis: Axis| (extent.along(axis), nest.extent.along(axis));
    let (extent, all) = along(nest.vector);
    if extent != all {
        let last = b.add(&entry.domain[nest.vector.index()], extent.1);
        range.0 = b.max(&range.0, &(-extent.0).to_string());
        range.1 = b.min(&range.1, &last);
    }
    let outer = nest.outer();
    let (extent, all) = along(outer);
    if extent != all {
        let at = &row.index[outer.index()];
        let last = b.add(&entry.domain[outer.index()], extent.1);
        let above = b.value(format_args!("icmp sge i64 {at}, {}", -extent.0));
        let below = b.value(format_args!("icmp slt i64 {at}, {last}"));
        let inside = b.value(format_args!("and i1 {above}, {below}"));
        range.1 = b.value(format_args!(
            "select i1 {inside}, i64 {}, i64 {}",
            range.1, range.0
        ));
    }
    range
}

/// Transposes a block of columns of an array into scratch memory before the sweeps, or its results back behind them.
#[expect(
    clippy::too_many_arguments,
    reason = "where a loop over columns stands"
)]
fn transpose(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &ColumnNest,
    array: &Transposed,
    block: Block,
    row: &Row,
    vectors: &(String, String),
    load: bool,
) {
    let (extent, across, levels) = match array.store {
        // Results lie in the domain; levels that are never accessed were not loaded and need not exist.
        Some(store) if !load => (
            store,
            (0, 0),
            (array.levels.0.min(0), array.levels.1.min(0)),
        ),
        _ => (array.extent, array.across, array.levels),
    };
    let columns = clip_columns(entry, b, nest, extent, row, vectors);
    let count = b.sub(&columns.1, &columns.0);
    let none = b.value(format_args!("icmp sle i64 {count}, 0"));
    let wider = b.add(&count, across.1 - across.0);
    let count = b.value(format_args!("select i1 {none}, i64 0, i64 {wider}"));
    let first_column = b.add(&columns.0, across.0);
    let first_level = b.add(&entry.first_level, -levels.0);
    let last_level = b.add(&entry.domain[2], levels.1);
    let level_count = b.sub(&last_level, &first_level);

    let size = array.dtype.size();
    let memory = &entry.arrays[&array.target];
    let at = b.add(&row.index[nest.outer().index()], array.outer);
    let mut outside = memory.pointer.clone();
    for (axis, index) in [
        (nest.outer(), &at),
        (nest.vector, &first_column),
        (Axis::K, &first_level),
    ] {
        let bytes = b.mul(index, &memory.strides[axis.index()]);
        outside = b.offset(&outside, bytes);
    }
    let tile = &row.tile[nest.vector.index()];
    let inside = place::block_pointer(context, b, block.offset, &first_level, tile, size);
    let bytes = b.mul(&first_column, size);
    let inside = b.offset(&inside, bytes);

    let column = memory.strides[nest.vector.index()].clone();
    let level = context.scratch.level_bytes.to_string();
    let size = size.to_string();
    let (source, target, source_stride, target_stride, a, count_b) = if load {
        (&outside, &inside, &column, &level, &count, &level_count)
    } else {
        (&inside, &outside, &level, &column, &level_count, &count)
    };
    let arguments = [
        ("ptr", source.as_str()),
        ("i64", source_stride),
        ("ptr", target),
        ("i64", target_stride),
        ("i64", a),
        ("i64", count_b),
        ("i64", &size),
    ];
    b.call_void(SYMBOL, &arguments);
}
