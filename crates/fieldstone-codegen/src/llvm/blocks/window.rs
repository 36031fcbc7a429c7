//! Levels of a column that a thread has in registers while it sweeps.
//!
//! What a window has is moved one place back with each level, so that every element is loaded once, and one level before it is
//! needed. Each place is an `alloca`, which LLVM makes registers of for an accelerator.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use fieldstone_stencil::ir::{Order, Target, TempId};
use fieldstone_stencil::schedule::{ColumnNest, Placement, Stage, Sweep};
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axes, Axis, Interval, Offset};

use crate::llvm::body::Known;
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::place::{self, Row, Spacing};
use crate::llvm::preheader::across;
use crate::llvm::types;

/// Bytes of the windows of a section beside those of temporaries, at most: a thread has few registers.
const MOST_BYTES: usize = 256;

/// Levels of a target, counted from the one that is computed in the direction of the sweep.
#[derive(Clone, Debug)]
pub(super) struct Window {
    target: Target,
    /// The column, from that of the thread.
    column: Offset,
    levels: RangeInclusive<i32>,
    kind: Kind,
    /// Of its places.
    name: String,
}

/// What a window is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A temporary that is nowhere else.
    Temporary,
    /// What levels before have written, which is in memory as well.
    Written,
    /// What the sweep reads only; the last level is loaded ahead.
    Read,
}

/// The windows of the temporaries of a nest.
pub(super) fn of_temporaries(context: &Context<'_>, nest: &ColumnNest) -> Vec<Window> {
    let mut found: BTreeMap<TempId, Window> = BTreeMap::new();
    for accesses in nest
        .stages()
        .flat_map(|stage| &stage.statements)
        .map(Accesses::of)
    {
        let read = accesses.reads.iter().map(|(target, _)| *target);
        for target in read.chain(accesses.written()) {
            let Target::Temp(id) = target else { continue };
            let Placement::Column {
                window: Some(window),
                ..
            } = context.schedule.temporaries[id.0 as usize]
            else {
                continue;
            };
            let has_levels = context.program.stencil.temporary(id).axes.contains(Axis::K);
            let levels = if has_levels { window as i32 } else { 1 };
            found.entry(id).or_insert_with(|| Window {
                target,
                column: Offset::ZERO,
                levels: 1 - levels..=0,
                kind: Kind::Temporary,
                name: format!("%window.{}", id.0),
            });
        }
    }
    found.into_values().collect()
}

/// The other windows of a section of a sweep: of arrays that all of its stages access in every column.
pub(super) fn of_section(
    context: &Context<'_>,
    nest: &ColumnNest,
    sweep: &Sweep,
    number: usize,
) -> Vec<Window> {
    let (interval, stages) = &sweep.sections[number];
    let everywhere = |stage: &Stage| stage.extent == nest.extent && stage.area == Area::FULL;
    if is_one_level(*interval) || !stages.iter().all(everywhere) {
        return Vec::new();
    }
    let direction = direction(sweep.order);
    let written = written(sweep.sections.iter().flat_map(|(_, stages)| stages));
    let mut levels: BTreeMap<(Target, [i32; 3]), (i32, i32)> = BTreeMap::new();
    let statements = || stages.iter().flat_map(|stage| &stage.statements);
    let accesses: Vec<Accesses> = statements().map(Accesses::of).collect();
    for (target, offset) in accesses.iter().flat_map(|accesses| &accesses.reads) {
        let level = offset.along(Axis::K) * direction;
        let is_new = !written.contains(target) || level < 0;
        if is_new && is_array(context, *target) && !accesses.iter().any(|a| a.afar.contains(target))
        {
            let column = [offset.0[0], offset.0[1], 0];
            let (first, last) = levels.entry((*target, column)).or_insert((level, level));
            (*first, *last) = ((*first).min(level), (*last).max(level));
        }
    }
    let here = self::written(stages);
    let mut bytes = 0;
    let mut windows = Vec::new();
    for ((target, column), (first, last)) in levels {
        let (kind, levels) = match written.contains(&target) {
            // What another section writes is not what the level before has left.
            true if !here.contains(&target) || column != [0; 3] => continue,
            true => (Kind::Written, first..=0),
            false => (Kind::Read, first..=last + 1),
        };
        let count = levels.clone().count();
        bytes += count * place::dtype(context, target).size();
        windows.push(Window {
            target,
            column: Offset(column),
            levels,
            kind,
            name: format!("%ahead.{}", windows.len()),
        });
    }
    match bytes <= MOST_BYTES {
        true => windows,
        false => Vec::new(),
    }
}

/// Steps of one level, in the direction of a sweep.
pub(super) fn direction(order: Order) -> i32 {
    match order {
        Order::Forward | Order::Parallel => 1,
        Order::Backward => -1,
    }
}

fn is_one_level(interval: Interval) -> bool {
    interval.levels().is_some_and(|levels| levels <= 1)
}

/// What stages write.
fn written<'s>(stages: impl IntoIterator<Item = &'s Stage>) -> Vec<Target> {
    let statements = stages.into_iter().flat_map(|stage| &stage.statements);
    let all = statements.map(Accesses::of);
    all.flat_map(|accesses| accesses.written().collect::<Vec<_>>())
        .collect()
}

/// Whether a target is one number at each point, in memory.
fn is_array(context: &Context<'_>, target: Target) -> bool {
    let stencil = &context.program.stencil;
    let is_shared = || level_bytes(context, target).is_some();
    (context.schedule.is_array(target) || is_shared())
        && stencil.target_axes(target) == Axes::IJK
        && stencil.data_dims(target).is_empty()
}

/// Bytes from one level to the next of a target in shared memory.
fn level_bytes(context: &Context<'_>, target: Target) -> Option<usize> {
    context.block.and_then(|block| block.level_bytes(target))
}

impl Window {
    /// The level of a window that stages may read, and those that are in it before the first level is computed.
    fn known(&self) -> RangeInclusive<i32> {
        let (first, last) = (*self.levels.start(), *self.levels.end());
        match self.kind {
            Kind::Temporary => first..=last,
            Kind::Written | Kind::Read => first..=last - 1,
        }
    }

    fn kind(&self, context: &Context<'_>) -> &'static str {
        types::register(place::dtype(context, self.target))
    }

    /// The place of a level.
    fn place(&self, level: i32) -> String {
        format!("{}.{}", self.name, level - self.levels.start())
    }

    /// Makes its places.
    pub fn make(&self, context: &Context<'_>, b: &mut Builder) {
        for level in self.levels.clone() {
            let kind = self.kind(context);
            b.effect(format_args!("{} = alloca {kind}", self.place(level)));
        }
    }

    /// Whether its target is one of these.
    pub fn is_in(&self, targets: &HashSet<Target>) -> bool {
        targets.contains(&self.target)
    }

    /// A window with places of its own.
    pub fn named(self, section: usize) -> Window {
        Window {
            name: format!("{}.{section}", self.name),
            ..self
        }
    }

    /// Loads what it has before the first level of a section.
    pub fn fill(&self, context: &Context<'_>, entry: &Entry, b: &mut Builder, at: (&Row, i32)) {
        if self.kind == Kind::Temporary {
            return;
        }
        for level in self.known() {
            let address = self.address(context, entry, b, at, level);
            self.keep(context, b, &address, level);
        }
    }

    /// Loads the level that the next one needs; `more` says whether there is a next one.
    pub fn fetch(
        &self,
        context: &Context<'_>,
        entry: &Entry,
        b: &mut Builder,
        at: (&Row, i32),
        more: &str,
    ) {
        if self.kind != Kind::Read {
            return;
        }
        let last = *self.levels.end();
        let address = self.address(context, entry, b, at, last - 1);
        let stride = match level_bytes(context, self.target) {
            Some(bytes) => bytes.to_string(),
            None => entry.arrays[&self.target].strides[2].clone(),
        };
        let step = b.mul(&stride, at.1);
        let step = b.value(format_args!("select i1 {more}, i64 {step}, i64 0"));
        let address = b.offset(&address, step);
        self.keep(context, b, &address, last);
    }

    fn keep(&self, context: &Context<'_>, b: &mut Builder, address: &str, level: i32) {
        let value = place::load_point(context, b, self.target, address);
        let (kind, place) = (self.kind(context), self.place(level));
        b.effect(format_args!("store {kind} {value}, ptr {place}"));
    }

    fn address(
        &self,
        context: &Context<'_>,
        entry: &Entry,
        b: &mut Builder,
        (row, direction): (&Row, i32),
        level: i32,
    ) -> String {
        let mut offset = self.column;
        offset.0[2] = level * direction;
        let there = across(offset, row.vector);
        let pointer = place::row_pointer(context, entry, b, row, self.target, there);
        match (&pointer.spacing, offset.along(row.vector)) {
            (Spacing::Point(stride), ahead) if ahead != 0 => {
                let bytes = b.mul(stride, ahead);
                b.offset(&pointer.pointer, bytes)
            }
            _ => pointer.pointer,
        }
    }

    /// Adds what it has to what a stage knows.
    pub fn tell(&self, context: &Context<'_>, b: &mut Builder, direction: i32, known: &mut Known) {
        for level in self.known() {
            let (kind, place) = (self.kind(context), self.place(level));
            let value = b.value(format_args!("load {kind}, ptr {place}"));
            let mut offset = self.column;
            offset.0[2] = level * direction;
            known.insert((self.target, offset), value);
        }
    }

    /// Takes what a stage has written.
    pub fn note(&self, context: &Context<'_>, b: &mut Builder, stage: &Stage, known: &Known) {
        if self.kind == Kind::Read || !written([stage]).contains(&self.target) {
            return;
        }
        let value = &known[&(self.target, Offset::ZERO)];
        let (kind, place) = (self.kind(context), self.place(0));
        b.effect(format_args!("store {kind} {value}, ptr {place}"));
    }

    /// Moves on to the next level.
    pub fn advance(&self, context: &Context<'_>, b: &mut Builder) {
        let kind = self.kind(context);
        for level in self.levels.clone().skip(1) {
            let (from, to) = (self.place(level), self.place(level - 1));
            let value = b.value(format_args!("load {kind}, ptr {from}"));
            b.effect(format_args!("store {kind} {value}, ptr {to}"));
        }
    }
}
