//! The vector loop of one stage over one row.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use fieldstone_stencil::grid::Range;
use fieldstone_stencil::ir::{
    BinaryOp, Builtin, Expr, ExprKind, LevelIndex, Literal, ScalarId, Stencil, Stmt, StmtKind,
    Target,
};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axis, DType, Offset};

use crate::power;

use super::arithmetic::Arithmetic;
use super::builder::Builder;
use super::entry::{Context, Entry};
use super::level;
use super::memory::{lane_indices, load_scalar, splat};
use super::place::{self, Panel, Row, RowPointer, Spacing};
use super::range::{bound, in_area};
use super::types::{self, Lanes};
use super::{Failure, Wrong};

/// What is computed once for a row.
pub(super) struct Preheader {
    pointers: HashMap<(Target, Offset), RowPointer>,
    /// Rows at the first level of the domain, and bytes from one level to the next, of accesses whose level is computed.
    pub(super) levels: HashMap<(Target, Offset), (RowPointer, String)>,
    /// Values that are the same for the whole row.
    uniforms: HashMap<(Target, Offset), String>,
}

/// Computes a stage for the points `range.0..range.1` of a row. `ahead` fetches what is needed later, from the index of a vector's
/// first point.
pub(super) fn stage(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    row: &Row,
    range: &(String, String),
    ahead: &dyn Fn(&mut Builder, &Preheader, &str),
) {
    if let Some(panel) = &row.panel {
        return panels(context, entry, b, stage, (row, panel), range);
    }
    let width = width(context, stage, row.vector);
    let preheader = preheader(context, entry, b, stage, row, true);
    let length = b.sub(&range.1, &range.0);
    let length = b.max(&length, "0");
    let whole = b.value(format_args!("and i64 {length}, -{width}"));
    let main_end = b.add(&range.0, &whole);
    let body = |b: &mut Builder, lanes: Lanes, first: &str, mask: Option<String>, stream: bool| {
        let mut body = Body::new((context, entry, b), lanes, (row, &preheader), first, mask);
        if stream {
            body.streaming = Streaming::Always;
        }
        body.stage(stage);
    };
    let main_loop = |b: &mut Builder, stream: bool| {
        b.for_loop(&range.0, &main_end, &width.to_string(), |b, first| {
            ahead(b, &preheader, first);
            body(b, Lanes { width }, first, None, stream);
        });
    };
    match streaming(context, entry, b, stage, &preheader, &range.0, width) {
        None => main_loop(b, false),
        Some(stream) => {
            b.when(&stream, |b| main_loop(b, true));
            let cached = b.value(format_args!("xor i1 {stream}, true"));
            b.when(&cached, |b| main_loop(b, false));
        }
    }
    if width == 1 {
        return;
    }
    if !context.target.has_masked_access() {
        b.for_loop(&main_end, &range.1, "1", |b, first| {
            body(b, Lanes { width: 1 }, first, None, false);
        });
        return;
    }
    let rest = b.value(format_args!("icmp slt i64 {main_end}, {}", range.1));
    b.when(&rest, |b| {
        let lanes = Lanes { width };
        let indices = lane_indices(b, lanes, &main_end);
        let end = splat(b, lanes, "i64", &range.1);
        let kind = lanes.of("i64");
        let mask = b.value(format_args!("icmp slt {kind} {indices}, {end}"));
        body(b, lanes, &main_end, Some(mask), false);
    });
}

/// Computes a stage for the points `range.0..range.1` of a row whose points are vectors.
fn panels(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    (row, panel): (&Row, &Panel),
    range: &(String, String),
) {
    let preheader = preheader(context, entry, b, stage, row, true);
    let all = |b: &mut Builder, mask: Option<&String>| {
        b.for_loop(&range.0, &range.1, "1", |b, point| {
            let (from, mask) = ((context, entry, b), mask.cloned());
            Body::new(from, panel.lanes, (row, &preheader), point, mask).stage(stage);
        });
    };
    let name = b.begin_when(&panel.whole);
    all(b, None);
    b.otherwise(&name);
    let mask = row.level_mask(b, panel);
    all(b, Some(&mask));
    b.end_when(&name);
}

/// What is known of targets at offsets.
pub(super) type Known = HashMap<(Target, Offset), String>;

/// Neighbouring vectors of a row.
pub(super) struct Vectors<'a> {
    /// Index of the first point.
    pub first: &'a str,
    pub lanes: Lanes,
    /// Per vector the lanes that are computed; `None` where all are.
    pub masks: Option<Vec<String>>,
    /// What is read and stored at all lanes, whatever the masks say.
    pub loose: HashSet<Target>,
    /// What is known afterwards and not stored.
    pub kept: HashSet<Target>,
}

/// Computes a stage for some vectors of a row. What is known of each of them is added to.
pub(super) fn vectors(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    row: &Row,
    vectors: &Vectors<'_>,
    known: &mut [Known],
) {
    let lanes = vectors.lanes;
    let preheader = preheader(context, entry, b, stage, row, true);
    let through = level::written_through(&stage.statements);
    for (number, known) in known.iter_mut().enumerate() {
        let first = b.add(vectors.first, number * lanes.width);
        let mask = vectors.masks.as_ref().map(|masks| masks[number].clone());
        let mut body = Body::new((context, entry, b), lanes, (row, &preheader), &first, mask);
        body.rest = false;
        body.loose.clone_from(&vectors.loose);
        body.kept.clone_from(&vectors.kept);
        body.values = known.clone();
        body.stage(stage);
        let values = std::mem::take(&mut body.values);
        let written = stage.statements.iter().map(Accesses::of);
        for target in written.flat_map(|accesses| accesses.written().collect::<Vec<_>>()) {
            let key = (target, Offset::ZERO);
            let everywhere = vectors.masks.is_none() || vectors.loose.contains(&target);
            match values
                .get(&key)
                .filter(|_| everywhere && !through.contains(&target))
            {
                Some(value) => known.insert(key, value.clone()),
                None => known.remove(&key),
            };
        }
    }
}

/// The value of a target at a vector of points.
pub(super) fn value(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    (target, offset): (Target, Offset),
    first: &str,
    lanes: Lanes,
) -> String {
    let preheader = Preheader::of(context, entry, b, row, (target, offset));
    Body::new((context, entry, b), lanes, (row, &preheader), first, None).read(target, offset)
}

/// Stores the value of a target at a vector of points.
pub(super) fn store(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    (target, value): (Target, String),
    first: &str,
    lanes: Lanes,
) {
    let preheader = Preheader::of(context, entry, b, row, (target, Offset::ZERO));
    let mut body = Body::new((context, entry, b), lanes, (row, &preheader), first, None);
    body.store_value(target, Offset::ZERO, value);
}

/// Lanes in which a stage is computed for so many points, which are a multiple of them.
pub(super) fn lanes(context: &Context<'_>, stage: &Stage, points: usize) -> Lanes {
    Lanes {
        width: register_width(context, stage).min(points),
    }
}

/// Whether the row is stored past the caches: the caller wants it, and every vector to be stored is aligned. `None` where it
/// never is.
fn streaming(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    preheader: &Preheader,
    first: &str,
    width: usize,
) -> Option<String> {
    let mut stream = None;
    for statement in &stage.statements {
        for target in Accesses::of(statement).written() {
            if !entry.streamed.contains(&target) {
                continue;
            }
            let pointer = &preheader.pointers[&(target, Offset::ZERO)];
            if pointer.spacing != Spacing::Contiguous {
                continue;
            }
            let size = place::dtype(context, target).size();
            let bytes = b.mul(first, size);
            let address = b.offset(&pointer.pointer, bytes);
            let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
            let rest = b.value(format_args!("and i64 {address}, {}", width * size - 1));
            let aligned = b.value(format_args!("icmp eq i64 {rest}, 0"));
            let so_far = stream.as_ref().unwrap_or(&entry.stream);
            stream = Some(b.value(format_args!("and i1 {so_far}, {aligned}")));
        }
    }
    stream
}

/// Lanes of the widest type of a stage that fill a register; one where it never has as many points.
fn width(context: &Context<'_>, stage: &Stage, vector: Axis) -> usize {
    let lanes = register_width(context, stage);
    match points(stage.area.along(vector)) {
        Some(points) if points < lanes => 1,
        _ => lanes,
    }
}

/// Points of a range, at most, where the domain has no say in it.
fn points(range: Range) -> Option<usize> {
    let (start, end) = (range.start?, range.end?);
    let points = (start.level == end.level).then_some(end.offset - start.offset)?;
    usize::try_from(points).ok()
}

fn register_width(context: &Context<'_>, stage: &Stage) -> usize {
    context.target.vector_bytes() / widest(&context.program.stencil, stage)
}

/// Bytes of the widest type that a stage computes with.
pub fn widest(stencil: &Stencil, stage: &Stage) -> usize {
    let size = Cell::new(1);
    let note = |dtype: DType| size.set(size.get().max(dtype.size()));
    for statement in &stage.statements {
        visit(
            statement,
            &mut |expr| note(expr.dtype()),
            &mut |target, _, _| note(stencil.target_dtype(target)),
        );
    }
    size.get()
}

/// Calls `expression` on every expression of a statement and `written` on every target.
fn visit<'s>(
    statement: &'s Stmt,
    expression: &mut impl FnMut(&'s Expr),
    written: &mut impl FnMut(Target, Offset, LevelIndex),
) {
    statement.walk(&mut |statement| {
        statement
            .expressions()
            .for_each(|expr| expr.walk(&mut *expression));
        if let StmtKind::Assign {
            target,
            offset,
            subscript,
            ..
        } = &statement.kind
        {
            written(*target, *offset, level::of(subscript.as_deref()));
        }
    });
}

/// An offset without its part along a row.
pub(super) fn across(offset: Offset, vector: Axis) -> Offset {
    let mut across = offset;
    across.0[vector.index()] = 0;
    across
}

/// Addresses of what a stage accesses in a row. What is the same for all points is loaded on request; otherwise where it is
/// used.
pub(super) fn preheader(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    row: &Row,
    load_uniforms: bool,
) -> Preheader {
    let mut needed = Vec::new();
    for statement in &stage.statements {
        let mut written = Vec::new();
        let mut read = |expr: &Expr| {
            if let ExprKind::Access {
                target,
                offset,
                subscript,
            } = &expr.kind
            {
                needed.push((*target, *offset, level::of(subscript.as_deref())));
            }
        };
        visit(statement, &mut read, &mut |target, offset, level| {
            written.push((target, offset, level))
        });
        needed.extend(written);
    }
    let mut preheader = Preheader {
        pointers: HashMap::new(),
        levels: HashMap::new(),
        uniforms: HashMap::new(),
    };
    for (target, offset, level) in needed {
        if level != LevelIndex::Constant {
            let key = (target, level::base(offset, row.vector));
            (preheader.levels.entry(key))
                .or_insert_with(|| place::level_pointer(context, entry, b, row, target, key.1));
            continue;
        }
        let key = (target, across(offset, row.vector));
        if preheader.pointers.contains_key(&key) {
            continue;
        }
        let pointer = place::row_pointer(context, entry, b, row, key.0, key.1);
        let fixed = pointer.pitch.as_ref().is_none_or(|pitch| pitch == "0");
        let uniform = pointer.spacing == Spacing::Uniform && fixed;
        if load_uniforms && uniform && is_number(context, key.0) {
            let value = load_scalar(b, place::dtype(context, key.0), &pointer.pointer);
            preheader.uniforms.insert(key, value);
        }
        preheader.pointers.insert(key, pointer);
    }
    preheader
}

/// What a stage accesses.
pub(super) fn accessed(stage: &Stage) -> HashSet<Target> {
    let accesses = stage.statements.iter().map(Accesses::of);
    let both = accesses.flat_map(|accesses| {
        let read: Vec<Target> = accesses.reads.iter().map(|(target, _)| *target).collect();
        read.into_iter()
            .chain(accesses.written().collect::<Vec<_>>())
    });
    both.collect()
}

/// Whether it is a literal other than zero.
fn is_number_but_zero(expr: &Expr) -> bool {
    match expr.kind {
        ExprKind::Literal(Literal::Int(value)) => value != 0,
        ExprKind::Literal(Literal::Float(value)) => value != 0.0,
        _ => false,
    }
}

/// Whether a target has one element at each point.
fn is_number(context: &Context<'_>, target: Target) -> bool {
    context.program.stencil.data_dims(target).is_empty()
}

impl Preheader {
    /// Of one access.
    fn of(
        context: &Context<'_>,
        entry: &Entry,
        b: &mut Builder,
        row: &Row,
        (target, offset): (Target, Offset),
    ) -> Preheader {
        let pointer = place::row_pointer(context, entry, b, row, target, offset);
        Preheader {
            pointers: HashMap::from([((target, offset), pointer)]),
            levels: HashMap::new(),
            uniforms: HashMap::new(),
        }
    }

    pub(super) fn pointer(&self, target: Target, across: Offset) -> RowPointer {
        self.pointers[&(target, across)].clone()
    }

    /// The pointer to a row that is accessed at a level that is not computed; `None` where the stage accesses none.
    pub(super) fn known_pointer(&self, target: Target, across: Offset) -> Option<&RowPointer> {
        self.pointers.get(&(target, across))
    }
}

/// Neighbouring vectors of a row that are in registers.
#[derive(Clone)]
pub(super) struct Blocks {
    /// Whether a stage made them, so that they have all points that any region reads.
    pub made: bool,
    /// How many vectors the first is ahead of the one that is computed.
    pub ahead: i64,
    /// Each one behind the one before it.
    pub vectors: Vec<String>,
}

/// How the regions among the statements of a stage are computed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Regions {
    /// At all points, like what a condition holds for.
    Inside,
    /// Only in vectors that have points of theirs.
    Apart,
    /// There is none in these vectors.
    Absent,
}

/// Which results are stored past the caches, of those that may be.
#[derive(Clone, Copy)]
pub(super) enum Streaming<'a> {
    Never,
    Always,
    /// All, where a condition holds.
    Where(&'a str),
}

/// The statements of a stage on one vector of points.
pub(super) struct Body<'a, 'b> {
    pub(super) context: &'a Context<'a>,
    pub(super) entry: &'a Entry,
    pub(super) b: &'b mut Builder,
    pub(super) lanes: Lanes,
    pub(super) row: &'a Row,
    pub(super) preheader: &'a Preheader,
    /// Targets that are read from and written to memory at once.
    through: HashSet<Target>,
    /// Index of the first lane along the row.
    pub(super) first: &'a str,
    /// The same as an index and points behind it, where others share that index.
    pub(super) anchor: Option<(&'a str, i64)>,
    /// Lanes inside the row, `None` where all are.
    pub(super) mask: Option<String>,
    /// Lanes at which the value counts that is computed, `None` where all do.
    pub(super) guard: Option<String>,
    /// Whether this is what is left of a row, which takes little of the time.
    pub(super) rest: bool,
    pub(super) streaming: Streaming<'a>,
    /// Lanes that are stored where the mask has all, `None` where all are.
    pub(super) stored: Option<String>,
    /// What is read and stored at all lanes, whatever the masks say.
    pub(super) loose: HashSet<Target>,
    /// What is not stored.
    kept: HashSet<Target>,
    pub(super) regions: Regions,
    /// Whether a region is being computed that is apart.
    pub(super) in_region: bool,
    /// Rows of which vectors are in registers, by target and offset across the row.
    pub(super) blocks: HashMap<(Target, Offset), Blocks>,
    pub(super) values: Known,
    /// Targets whose value must be stored, with the offset at which.
    changed: Vec<(Target, Offset)>,
}

impl<'a, 'b> Body<'a, 'b> {
    pub(super) fn new(
        (context, entry, b): (&'a Context<'a>, &'a Entry, &'b mut Builder),
        lanes: Lanes,
        (row, preheader): (&'a Row, &'a Preheader),
        first: &'a str,
        mask: Option<String>,
    ) -> Body<'a, 'b> {
        Body {
            context,
            entry,
            b,
            lanes,
            row,
            preheader,
            through: HashSet::new(),
            first,
            anchor: None,
            rest: mask.is_some(),
            mask,
            guard: None,
            streaming: Streaming::Never,
            stored: None,
            loose: HashSet::new(),
            kept: HashSet::new(),
            regions: Regions::Inside,
            in_region: false,
            blocks: HashMap::new(),
            values: HashMap::new(),
            changed: Vec::new(),
        }
    }

    /// Computes a stage and stores what it changed.
    pub(super) fn stage(&mut self, stage: &Stage) {
        self.through = level::written_through(&stage.statements);
        for statement in &stage.statements {
            match &statement.kind {
                // The loops around are cut to the area of the stage.
                StmtKind::Region { area, body } if *area == stage.area => {
                    self.statements(body, None);
                }
                StmtKind::Region { .. } if self.regions == Regions::Absent => {}
                StmtKind::Region { area, body } if self.regions == Regions::Apart => {
                    self.region(*area, body);
                }
                _ => self.statement(statement, None),
            }
        }
        self.store_changes();
    }
}

impl Body<'_, '_> {
    pub(super) fn arithmetic(&mut self) -> Arithmetic<'_> {
        Arithmetic {
            b: self.b,
            lanes: self.lanes,
            rest: self.rest,
            fast_math: self.context.program.stencil.fast_math,
        }
    }

    pub(super) fn statements(&mut self, statements: &[Stmt], condition: Option<&str>) {
        for statement in statements {
            self.statement(statement, condition);
        }
    }

    fn statement(&mut self, statement: &Stmt, condition: Option<&str>) {
        self.guard = condition.map(str::to_owned);
        match &statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                offset,
                subscript,
                value,
            } => {
                let value = self.expression(value);
                match subscript.as_deref() {
                    Some(subscript) => {
                        let place = (*target, *target_span);
                        self.write_at(place, *offset, subscript, value, condition);
                    }
                    None => self.assign(*target, *offset, value, condition),
                }
            }
            StmtKind::While {
                condition: test,
                body,
            } => self.repeat(test, body, condition),
            StmtKind::Require {
                condition: test,
                intervals,
                ..
            } => {
                let holds = self.expression(test);
                let fails = self.arithmetic().not(&holds);
                let failure = Failure {
                    what: Wrong::Intervals(intervals.clone()),
                    span: statement.span,
                };
                self.note(&fails, failure, self.lanes);
            }
            StmtKind::Region { area, body } => {
                let inside = self.inside(*area);
                let condition = match inside {
                    Some(inside) => Some(self.both(condition, &inside)),
                    None => condition.map(str::to_owned),
                };
                self.statements(body, condition.as_deref());
            }
            StmtKind::If {
                condition: test,
                then,
                orelse,
            } => {
                let test = self.expression(test);
                let holds = self.both(condition, &test);
                self.statements(then, Some(&holds));
                if !orelse.is_empty() {
                    let otherwise = self.arithmetic().not(&test);
                    let fails = self.both(condition, &otherwise);
                    self.statements(orelse, Some(&fails));
                }
            }
        }
    }

    /// Which lanes are in a part of the plane; `None` where all of every row are.
    pub(super) fn inside(&mut self, area: Area) -> Option<String> {
        let mut inside: Option<String> = None;
        for axis in [Axis::I, Axis::J] {
            let test = if axis == self.row.lanes() {
                self.lanes_in_area(area, axis)
            } else {
                let index = match axis == self.row.vector {
                    true => self.first,
                    false => &self.row.index[axis.index()],
                };
                let test = in_area(self.entry, self.b, area, axis, index);
                test.map(|test| splat(self.b, self.lanes, "i1", &test))
            };
            inside = match (inside, test) {
                (Some(inside), Some(test)) => Some(self.arithmetic().and(&inside, &test)),
                (inside, test) => inside.or(test),
            };
        }
        inside
    }

    fn lanes_in_area(&mut self, area: Area, axis: Axis) -> Option<String> {
        let part = area.along(axis);
        let indices = lane_indices(self.b, self.lanes, self.first);
        let kind = self.lanes.of("i64");
        let mut inside: Option<String> = None;
        for (comparison, limit) in [("sge", part.start), ("slt", part.end)] {
            let Some(limit) = limit else { continue };
            let limit = bound(self.entry, self.b, axis, limit);
            let limit = splat(self.b, self.lanes, "i64", &limit);
            let test = (self.b).value(format_args!("icmp {comparison} {kind} {indices}, {limit}"));
            inside = match inside {
                Some(inside) => Some(self.arithmetic().and(&inside, &test)),
                None => Some(test),
            };
        }
        inside
    }

    /// Rounds over the lanes that are still active, until none is.
    fn repeat(&mut self, test: &Expr, body: &[Stmt], condition: Option<&str>) {
        let mut written = Vec::new();
        for statement in body {
            visit(statement, &mut |_| {}, &mut |target, offset, level| {
                let key = (target, offset);
                let in_memory = self.through.contains(&target)
                    || level != LevelIndex::Constant
                    || !is_number(self.context, target);
                if !in_memory && !written.contains(&key) {
                    written.push(key);
                }
            });
        }
        let active = match (condition.map(str::to_owned), self.mask.clone()) {
            (Some(condition), Some(mask)) => self.arithmetic().and(&condition, &mask),
            (condition, mask) => condition
                .or(mask)
                .unwrap_or_else(|| self.lanes.constant(DType::Bool, "true")),
        };
        let mut values = vec![(self.lanes.of("i1"), active)];
        for (target, offset) in &written {
            let kind = self.lanes.value(place::dtype(self.context, *target));
            values.push((kind, self.read(*target, *offset)));
        }
        let (name, names) = self.b.begin_repeat(&values);
        for (key, name) in written.iter().zip(&names[1..]) {
            self.values.insert(*key, name.clone());
        }
        let known = self.values.clone();
        self.guard = Some(names[0].clone());
        let holds = self.expression(test);
        let active = self.arithmetic().and(&names[0], &holds);
        let any = self.b.any(self.lanes, &active);
        self.b.repeat_while(&name, &any);
        self.statements(body, Some(&active));
        values[0].1 = active;
        for ((_, value), key) in values[1..].iter_mut().zip(&written) {
            value.clone_from(&self.values[key]);
        }
        self.b.end_repeat(&name, &values);
        // What was loaded inside of the loop is not known behind it.
        self.values = known;
        for key in written {
            if !self.changed.contains(&key) {
                self.changed.push(key);
            }
        }
    }

    fn both(&mut self, condition: Option<&str>, test: &str) -> String {
        match condition {
            None => test.to_string(),
            Some(condition) => self.arithmetic().and(condition, test),
        }
    }

    fn assign(&mut self, target: Target, offset: Offset, value: String, condition: Option<&str>) {
        if self.through.contains(&target) {
            self.masked(condition, |body| body.store_value(target, offset, value));
            return;
        }
        let value = match condition {
            None => value,
            Some(condition) => {
                let old = self.read(target, offset);
                let dtype = place::dtype(self.context, target);
                self.arithmetic().select(condition, dtype, &value, &old)
            }
        };
        let key = (target, offset);
        self.values.insert(key, value);
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// Stores what `store` does only where a condition holds.
    pub(super) fn masked(&mut self, condition: Option<&str>, store: impl FnOnce(&mut Self)) {
        let mask = self.mask.clone();
        if let Some(condition) = condition {
            self.mask = Some(match &mask {
                None => condition.to_owned(),
                Some(mask) => self.arithmetic().and(mask, condition),
            });
        }
        store(self);
        self.mask = mask;
    }

    /// Evaluates where a condition holds, too.
    fn where_also(&mut self, condition: &str, expr: &Expr) -> String {
        let outer = self.guard.clone();
        let holds = self.both(outer.as_deref(), condition);
        self.guard = Some(holds);
        let value = self.expression(expr);
        self.guard = outer;
        value
    }

    pub(super) fn expression(&mut self, expr: &Expr) -> String {
        let dtype = expr.dtype();
        match &expr.kind {
            ExprKind::Literal(literal) => self.arithmetic().literal(*literal, dtype),
            ExprKind::Scalar(id) => self.scalar(*id, dtype),
            ExprKind::Access {
                target,
                offset,
                subscript: Some(subscript),
            } => self.read_at(*target, *offset, subscript, expr.span),
            ExprKind::Access { target, offset, .. } => self.read(*target, *offset),
            ExprKind::Position(axis) if *axis == self.row.lanes() => {
                let first = match self.row.panel {
                    Some(_) => &self.row.index[2],
                    None => self.first,
                };
                lane_indices(self.b, self.lanes, first)
            }
            ExprKind::Position(axis) if *axis == self.row.vector => {
                splat(self.b, self.lanes, "i64", self.first)
            }
            ExprKind::Position(axis) => {
                let index = &self.row.index[axis.index()];
                splat(self.b, self.lanes, "i64", index)
            }
            ExprKind::Size(axis) => {
                let points = &self.entry.domain[axis.index()];
                splat(self.b, self.lanes, "i64", points)
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right)
                if right.may_miss() =>
            {
                let left = self.expression(left);
                let open = match op {
                    BinaryOp::And => left.clone(),
                    _ => self.arithmetic().not(&left),
                };
                let right = self.where_also(&open, right);
                self.arithmetic().binary(*op, dtype, &left, &right)
            }
            ExprKind::Select(condition, left, right) if left.may_miss() || right.may_miss() => {
                let condition = self.expression(condition);
                let a = self.where_also(&condition, left);
                let fails = self.arithmetic().not(&condition);
                let b = self.where_also(&fails, right);
                self.arithmetic().select(&condition, dtype, &a, &b)
            }
            ExprKind::Checked(index, dimension) => {
                let index = self.expression(index);
                self.checked_index(index, *dimension, expr.span)
            }
            ExprKind::Cast(operand) => {
                let value = self.expression(operand);
                self.arithmetic().cast(operand.dtype(), dtype, &value)
            }
            ExprKind::Unary(op, operand) => {
                let value = self.expression(operand);
                self.arithmetic().unary(*op, operand.dtype(), &value)
            }
            ExprKind::Binary(BinaryOp::Pow, base, exponent) => self.power(base, exponent),
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.expression(left), self.expression(right));
                self.arithmetic().binary(*op, left.dtype(), &a, &b)
            }
            ExprKind::Compare(op, left, right) => {
                let (a, b) = (self.expression(left), self.expression(right));
                self.arithmetic().compare(*op, left.dtype(), &a, &b)
            }
            ExprKind::Select(condition, left, right) => {
                let condition = self.expression(condition);
                let (a, b) = (self.expression(left), self.expression(right));
                self.arithmetic().select(&condition, dtype, &a, &b)
            }
            ExprKind::Call(builtin, arguments) => {
                if let (Builtin::Pow, [base, exponent]) = (builtin, arguments.as_slice()) {
                    return self.power(base, exponent);
                }
                let values: Vec<String> = arguments.iter().map(|a| self.expression(a)).collect();
                let mut values: Vec<&str> = values.iter().map(String::as_str).collect();
                if matches!(builtin, Builtin::Min | Builtin::Max)
                    && is_number_but_zero(&arguments[0])
                {
                    // Then their order is all the same, and that the second is no NaN is known.
                    values.reverse();
                }
                self.arithmetic()
                    .call(*builtin, arguments[0].dtype(), &values)
            }
        }
    }

    fn power(&mut self, base: &Expr, exponent: &Expr) -> String {
        let value = self.expression(base);
        if let Some(plan) = power::plan_of(exponent) {
            return self.arithmetic().power(&plan, base.dtype(), &value);
        }
        let exponent = self.expression(exponent);
        self.arithmetic()
            .binary(BinaryOp::Pow, base.dtype(), &value, &exponent)
    }

    fn scalar(&mut self, id: ScalarId, dtype: DType) -> String {
        let value = &self.entry.scalars[&id];
        splat(self.b, self.lanes, types::register(dtype), value)
    }

    pub(super) fn pointer(&self, target: Target, offset: Offset) -> RowPointer {
        self.preheader.pointers[&(target, across(offset, self.row.vector))].clone()
    }

    pub(super) fn read(&mut self, target: Target, offset: Offset) -> String {
        if let Some(value) = self.values.get(&(target, offset))
            && !self.through.contains(&target)
        {
            return value.clone();
        }
        let dtype = place::dtype(self.context, target);
        let pointer = self.pointer(target, offset);
        let ahead = offset.along(self.row.vector);
        let row = (target, across(offset, self.row.vector));
        let in_region = self.in_region;
        if let Some(blocks) = (self.blocks).get(&row).filter(|row| row.made || !in_region) {
            let blocks = blocks.clone();
            let value = self.shuffled(&blocks, dtype, i64::from(ahead));
            self.values.insert((target, offset), value.clone());
            return value;
        }
        let value = match &pointer.spacing {
            // Written nowhere before: a temporary that was not written holds zero.
            Spacing::Register => self.arithmetic().zero(dtype),
            Spacing::Uniform => {
                let key = (target, across(offset, self.row.vector));
                let value = match self.preheader.uniforms.get(&key) {
                    Some(value) => value.clone(),
                    None => {
                        let address = match &pointer.pitch {
                            Some(_) => self.address_in(&pointer, dtype.size(), ahead),
                            None => pointer.pointer.clone(),
                        };
                        load_scalar(self.b, dtype, &address)
                    }
                };
                splat(self.b, self.lanes, types::register(dtype), &value)
            }
            Spacing::Contiguous => {
                let address = self.address_in(&pointer, dtype.size(), ahead);
                self.load_of(target, dtype, &address)
            }
            Spacing::Strided(stride) => {
                let addresses = self.addresses_in(&pointer, stride, ahead);
                self.gather(dtype, &addresses)
            }
            Spacing::Point(stride) => {
                let address = self.neighbour(&pointer.pointer, stride, ahead);
                place::load_point(self.context, self.b, target, &address)
            }
        };
        self.values.insert((target, offset), value.clone());
        value
    }

    /// Loads a vector, of a target that has levels only just what is stored: its memory ends with the last one.
    fn load_of(&mut self, target: Target, dtype: DType, address: &str) -> String {
        let mask = self.mask.clone();
        if place::has_levels_only(self.context, target) {
            self.mask = mask.clone().or_else(|| self.stored.clone());
        }
        let value = self.at_lanes_of(target, |body| body.load(dtype, address));
        self.mask = mask;
        value
    }

    /// The vector `ahead` points further on, of those in registers.
    fn shuffled(&mut self, blocks: &Blocks, dtype: DType, ahead: i64) -> String {
        let width = self.row.points(self.lanes) as i64;
        let first = (blocks.ahead - ahead.div_euclid(width)) as usize;
        let lane = ahead.rem_euclid(width);
        if lane == 0 {
            return blocks.vectors[first].clone();
        }
        let kind = self.lanes.value(dtype);
        let lanes: Vec<String> = (lane..lane + width).map(|n| format!("i32 {n}")).collect();
        let (low, high) = (&blocks.vectors[first], &blocks.vectors[first - 1]);
        // LLVM has the instruction that shifts two registers as one for integers only.
        let bits = match dtype {
            DType::Bool => kind.clone(),
            _ => self.lanes.of(&format!("i{}", dtype.size() * 8)),
        };
        let [low, high] = [low, high].map(|vector| {
            self.b
                .value(format_args!("bitcast {kind} {vector} to {bits}"))
        });
        let shifted = self.b.value(format_args!(
            "shufflevector {bits} {low}, {bits} {high}, <{width} x i32> <{}>",
            lanes.join(", ")
        ));
        self.b
            .value(format_args!("bitcast {bits} {shifted} to {kind}"))
    }

    fn store_changes(&mut self) {
        for (target, offset) in std::mem::take(&mut self.changed) {
            if self.kept.contains(&target) {
                continue;
            }
            let value = self.values[&(target, offset)].clone();
            let mask = self.mask.clone();
            self.mask = mask.clone().or_else(|| self.stored.clone());
            self.at_lanes_of(target, |body| body.store_value(target, offset, value));
            self.mask = mask;
        }
    }

    /// Accesses a target at all lanes if it is loose, else at those of the mask.
    fn at_lanes_of<R>(&mut self, target: Target, access: impl FnOnce(&mut Self) -> R) -> R {
        let mask = self.mask.clone();
        if self.loose.contains(&target) {
            self.mask = None;
        }
        let result = access(self);
        self.mask = mask;
        result
    }

    fn store_value(&mut self, target: Target, offset: Offset, value: String) {
        let pointer = self.pointer(target, offset);
        let dtype = place::dtype(self.context, target);
        match &pointer.spacing {
            Spacing::Register => {}
            Spacing::Uniform => unreachable!("rows run along an axis of what they write"),
            Spacing::Contiguous => {
                let value = self.in_memory(dtype, value);
                let address = self.address_in(&pointer, dtype.size(), 0);
                self.store_in_branches(target, |body, past_caches| match past_caches {
                    Some(true) => body.store_past_caches(dtype, &value, &address),
                    Some(false) => body.store_apart(dtype, &value, &address),
                    None => body.store(dtype, &value, &address),
                });
            }
            Spacing::Strided(stride) => {
                let value = self.in_memory(dtype, value);
                let addresses = self.addresses_in(&pointer, stride, 0);
                self.store_in_branches(target, |body, _| body.scatter(dtype, &value, &addresses));
            }
            Spacing::Point(_) => {
                let value = self.in_memory(dtype, value);
                self.store(dtype, &value, &pointer.pointer);
            }
        }
    }

    /// Stores to a target, past the caches or not. `store` is told whether to go past the caches where only the run knows, and
    /// both are possible.
    fn store_in_branches(
        &mut self,
        target: Target,
        mut store: impl FnMut(&mut Self, Option<bool>),
    ) {
        let streamed = self.entry.streamed.contains(&target);
        match self.streaming {
            Streaming::Always if streamed => store(self, Some(true)),
            Streaming::Where(condition) if streamed => {
                let name = self.b.begin_when(condition);
                store(self, Some(true));
                self.b.otherwise(&name);
                store(self, Some(false));
                self.b.end_when(&name);
            }
            _ => store(self, None),
        }
    }
}
