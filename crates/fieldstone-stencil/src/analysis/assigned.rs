//! Which temporaries are assigned where they are read.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::conditions::Conditions;
use super::levels::{describe, describe_range, resolve, tall};
use super::written::{ANYWHERE, Ahead, Levels, Written};
use super::{MAYBE_UNINITIALISED, OUTSIDE_LEVEL, READ_BEFORE_WRITE, UNWRITTEN_LEVEL};
use crate::diagnostic::{Category, Diagnostic};
use crate::elements::constant;
use crate::grid::{Area, Axis, Interval, Offset};
use crate::ir::{
    Computation, Expr, ExprKind, LevelIndex, Order, Stencil, Stmt, StmtKind, Subscript, Target,
    TempId,
};
use crate::source::Span;
use crate::visit::{Access, accesses, is_partial};

/// Which temporaries may be read where they were not assigned.
pub struct Uninitialised {
    /// Per [`Stencil::temporaries`].
    pub temporaries: Vec<bool>,
    /// A warning for each, unless the condition of the assignment is also that of the read.
    pub warnings: Vec<Diagnostic>,
}

/// Checks that temporaries are written before they are read, and returns which may be read where they were not.
///
/// # Errors
///
/// Every temporary that is certainly read at a level that was not written.
pub fn check_temporaries(stencil: &Stencil) -> Result<Uninitialised, Vec<Diagnostic>> {
    let levels = tall(stencil);
    let mut check = Check {
        stencil,
        levels,
        before: Written::default(),
        conditions: Conditions::new(stencil),
        warnings: Vec::new(),
        uninitialised: vec![false; stencil.temporaries.len()],
        area: Area::FULL,
        in_areas: Vec::new(),
        reported: HashSet::new(),
        warned: HashSet::new(),
        errors: Vec::new(),
    };
    for computation in &stencil.computations {
        check.computation(computation);
    }
    if check.errors.is_empty() {
        Ok(Uninitialised {
            temporaries: check.uninitialised,
            warnings: check.warnings,
        })
    } else {
        Err(check.errors)
    }
}

struct Check<'a> {
    stencil: &'a Stencil,
    levels: i64,
    /// Written by earlier computations.
    before: Written,
    conditions: Conditions<'a>,
    warnings: Vec<Diagnostic>,
    uninitialised: Vec<bool>,
    /// Where the current statement runs.
    area: Area,
    /// What regions of this section wrote at every point of them.
    in_areas: Vec<(Area, TempId)>,
    reported: HashSet<TempId>,
    warned: HashSet<TempId>,
    errors: Vec<Diagnostic>,
}

/// A place in a section, and what was written up to it.
struct Here<'a> {
    order: Order,
    range: Range<i64>,
    /// Written by the whole computation.
    whole: &'a Written,
    /// Written by this computation so far, conditional or not.
    some: &'a mut Ahead,
    /// Written by the sections of this computation before.
    every: &'a Ahead,
}

/// How far ahead of the level that is computed an offset along K is.
fn ahead(order: Order, up: i64) -> i64 {
    match order {
        Order::Parallel | Order::Forward => up,
        Order::Backward => -up,
    }
}

impl Check<'_> {
    fn computation(&mut self, computation: &Computation) {
        let mut whole = Written::default();
        let mut sections = Vec::new();
        for section in &computation.sections {
            let range = resolve(section.interval, self.levels);
            let mut every = always_written(self.stencil, &section.body);
            if !is_never_empty(section.interval) {
                every.retain(|(id, _)| self.has_levels(*id));
            }
            for (id, up) in &every {
                let (start, end) = (range.start + up, range.end + up);
                (whole.every).add(*id, ahead(computation.order, *up), &(start..end));
            }
            accesses(&section.body, &mut |access| {
                if let (Target::Temp(id), true) = (access.target, access.write) {
                    let (ahead, range) = self.written(computation.order, &range, &access);
                    whole.some.add(id, ahead, &range);
                }
            });
            sections.push((section, range, every));
        }
        if computation.order != Order::Parallel && looks_back(computation) {
            let bodies: Vec<_> = (sections.iter())
                .map(|(section, range, _)| (section.body.as_slice(), range.clone()))
                .collect();
            self.conditions.foresee(&bodies);
        }
        let (mut some, mut every) = (Ahead::default(), Ahead::default());
        for (section, range, written) in sections {
            let mut here = Here {
                order: computation.order,
                range: range.clone(),
                whole: &whole,
                some: &mut some,
                every: &every,
            };
            self.in_areas.clear();
            self.block(&section.body, &mut here, &mut HashSet::new());
            for (id, up) in written {
                let levels = range.start + up..range.end + up;
                every.add(id, ahead(computation.order, up), &levels);
            }
        }
        self.before.add(whole);
    }

    /// How far ahead, and which levels a write reaches from a range of levels.
    fn written(&self, order: Order, range: &Range<i64>, write: &Access) -> (i64, Range<i64>) {
        if write.level != LevelIndex::Constant {
            return (ANYWHERE, 0..self.levels);
        }
        let up = i64::from(write.offset.along(Axis::K));
        (ahead(order, up), range.start + up..range.end + up)
    }

    /// Goes through statements; `sure` are the temporaries that every point has written in this section so far. Returns which
    /// of them are new.
    fn block(
        &mut self,
        body: &[Stmt],
        here: &mut Here,
        sure: &mut HashSet<TempId>,
    ) -> HashSet<TempId> {
        let mut new = HashSet::new();
        let mut elements = Elements::default();
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign {
                    target,
                    target_span,
                    subscript,
                    value,
                    ..
                } => {
                    for expr in stmt.expressions() {
                        self.reads(expr, here, sure);
                    }
                    match is_here(stmt) {
                        true => (self.conditions).assign(*target, *target_span, value, &here.range),
                        false => self.conditions.assign_elsewhere(*target, *target_span),
                    }
                    let Target::Temp(id) = *target else { continue };
                    accesses(std::slice::from_ref(stmt), &mut |access| {
                        if access.write {
                            self.write(id, &access, here);
                        }
                    });
                    let whole =
                        is_here(stmt) && elements.complete(self.stencil, id, subscript.as_deref());
                    if whole && sure.insert(id) {
                        new.insert(id);
                    }
                }
                StmtKind::If {
                    condition,
                    then,
                    orelse,
                } => {
                    self.reads(condition, here, sure);
                    // What a branch writes is sure inside of it only, unless both do.
                    let [then, orelse] = [(then, true), (orelse, false)].map(|(branch, holds)| {
                        let outer = self.conditions.enter(condition, holds);
                        let areas = self.in_areas.len();
                        let inside = self.block(branch, here, sure);
                        self.in_areas.truncate(areas);
                        self.conditions.leave(outer);
                        inside.iter().for_each(|id| {
                            sure.remove(id);
                        });
                        inside
                    });
                    for id in then.intersection(&orelse) {
                        sure.insert(*id);
                        new.insert(*id);
                    }
                }
                StmtKind::Require { .. } => {
                    for expr in stmt.expressions() {
                        self.reads(expr, here, sure);
                    }
                }
                // What it writes is sure inside of it only: perhaps it does not run at a point.
                StmtKind::While { condition, body } => {
                    self.reads(condition, here, sure);
                    let outer = self.conditions.enter(condition, true);
                    let areas = self.in_areas.len();
                    let inside = self.block(body, here, sure);
                    self.in_areas.truncate(areas);
                    self.conditions.leave(outer);
                    for id in inside {
                        sure.remove(&id);
                    }
                }
                // What it writes is sure in the same area of later statements as well.
                StmtKind::Region { area, body } => {
                    let outer = self.conditions.enter_region(stmt);
                    let around = self.area;
                    self.area = area.within(around);
                    let inside = self.block(body, here, sure);
                    self.area = around;
                    self.conditions.leave(outer);
                    for id in inside {
                        sure.remove(&id);
                        if around == Area::FULL {
                            self.in_areas.push((*area, id));
                        }
                    }
                }
            }
        }
        new
    }

    fn reads(&mut self, expr: &Expr, here: &Here, sure: &HashSet<TempId>) {
        expr.walk(|node| {
            if let ExprKind::Access {
                target: Target::Temp(id),
                offset,
                ref subscript,
            } = node.kind
            {
                let in_area = |(area, written): &(Area, TempId)| {
                    *written == id && area.covers(self.area, offset)
                };
                let sure = sure.contains(&id) || self.in_areas.iter().any(in_area);
                let level = (subscript.as_ref()).map_or(LevelIndex::Constant, |s| s.level);
                if !self.has_levels(id) {
                    self.read_without_levels(id, offset, node.span, here, sure);
                } else if level == LevelIndex::Constant {
                    self.read(id, offset, node.span, here, sure);
                } else {
                    self.read_anywhere(id, node.span, here);
                }
            }
        });
    }

    /// Notes a write; one outside of the domain is an error.
    fn write(&mut self, id: TempId, write: &Access, here: &mut Here) {
        let (ahead, range) = self.written(here.order, &here.range, write);
        here.some.add(id, ahead, &range);
        let outside = match () {
            () if range.is_empty() => return,
            () if range.start < 0 => range.start,
            () if range.end > self.levels => self.levels,
            () => return,
        };
        if !self.reported.insert(id) {
            return;
        }
        let name = self.stencil.temporary(id).source_name();
        let place = match outside {
            level if level < 0 => "below the first level".to_string(),
            level => describe(level, self.levels),
        };
        self.errors.push(
            Diagnostic::error(
                OUTSIDE_LEVEL,
                Category::Definition,
                write.span,
                format!("`{name}` is assigned outside of the domain"),
            )
            .with_label(format!("this writes {place}"))
            .with_help("write it in a smaller interval; a temporary has the levels of the domain"),
        );
    }

    /// A read at a level that is computed finds what was written at any.
    fn read_anywhere(&mut self, id: TempId, span: Span, here: &Here) {
        let (mut some, mut every) = (Levels::default(), Levels::default());
        self.before.some.collect(id, |_| true, &mut some);
        self.before.every.collect(id, |_| true, &mut every);
        if here.order != Order::Parallel {
            here.whole.some.collect(id, |_| true, &mut some);
        }
        if some.0.is_empty() {
            if self.reported.insert(id) {
                let error = self.unwritten(id, span, 0, &some);
                self.errors.push(error);
            }
        } else if every.first_missing(0..self.levels).is_some() {
            self.uninitialised[id.0 as usize] = true;
        }
    }

    fn read(&mut self, id: TempId, offset: Offset, span: Span, here: &Here, sure: bool) {
        let up = i64::from(offset.along(Axis::K));
        let wanted = here.range.start + up..here.range.end + up;
        let distance = match here.order {
            Order::Parallel => 0,
            order => ahead(order, up),
        };
        let (mut some, mut every) = (Levels::default(), Levels::default());
        self.before.some.collect(id, |_| true, &mut some);
        self.before.every.collect(id, |_| true, &mut every);
        // From levels that were computed before, and from this one so far.
        here.whole
            .some
            .collect(id, |ahead| ahead > distance, &mut some);
        here.whole
            .every
            .collect(id, |ahead| ahead > distance, &mut every);
        here.some.collect(id, |ahead| ahead == distance, &mut some);
        here.every
            .collect(id, |ahead| ahead == distance, &mut every);
        if sure && distance == 0 {
            every.add(&here.range);
        }
        if let Some(level) = some.first_missing(wanted.clone()) {
            if self.reported.insert(id) {
                let error = self.unwritten(id, span, level, &some);
                self.errors.push(error);
            }
        } else if every.first_missing(wanted.clone()).is_some() {
            self.uninitialised[id.0 as usize] = true;
            // What the loop comes to later is not assigned yet, whatever the conditions.
            if distance <= 0 {
                let levels = self.conditions.levels(id, offset, distance < 0);
                levels.for_each(|range| every.add(range));
            }
            if every.first_missing(wanted).is_some() && self.warned.insert(id) {
                let warning = self.maybe_unwritten(id, span);
                self.warnings.push(warning);
            }
        }
    }

    /// A temporary without levels has the value that was written last, at whatever level.
    fn read_without_levels(
        &mut self,
        id: TempId,
        offset: Offset,
        span: Span,
        here: &Here,
        sure: bool,
    ) {
        let any = |levels: Option<&Levels>| levels.is_some_and(|levels| !levels.0.is_empty());
        let in_order = here.order != Order::Parallel;
        let some = any(self.before.some.get(id))
            || any(here.some.get(id))
            || in_order && any(here.whole.some.get(id));
        let every = any(self.before.every.get(id)) || any(here.every.get(id)) || sure;
        if !some {
            if self.reported.insert(id) {
                let error = self.unwritten(id, span, 0, &Levels::default());
                self.errors.push(error);
            }
        } else if !every {
            self.uninitialised[id.0 as usize] = true;
            let known = self.conditions.levels(id, offset, false).next().is_some();
            if !known && self.warned.insert(id) {
                let warning = self.maybe_unwritten(id, span);
                self.warnings.push(warning);
            }
        }
    }

    fn has_levels(&self, id: TempId) -> bool {
        self.stencil.temporary(id).axes.contains(Axis::K)
    }

    fn maybe_unwritten(&self, id: TempId, span: Span) -> Diagnostic {
        let temporary = self.stencil.temporary(id);
        let name = temporary.source_name();
        let mut warning = Diagnostic::warning(
            MAYBE_UNINITIALISED,
            Category::Definition,
            span,
            format!("`{name}` may be read where it was not assigned"),
        );
        match self.conditions.of_first_assignment(id) {
            Some((assigned, condition)) => {
                warning = warning
                    .with_secondary(assigned, format!("`{name}` is assigned"))
                    .with_secondary(condition.span, condition.words());
            }
            None => warning = warning.with_secondary(temporary.span, "assigned here"),
        }
        warning.with_help(format!(
            "give `{name}` a value in every case, as in `{name} = 0.0` above the condition"
        ))
    }

    fn unwritten(&self, id: TempId, span: Span, level: i64, written: &Levels) -> Diagnostic {
        let temporary = self.stencil.temporary(id);
        let name = temporary.source_name();
        if written.0.is_empty() {
            return Diagnostic::error(
                READ_BEFORE_WRITE,
                Category::Definition,
                span,
                format!("`{name}` is read before it is assigned"),
            )
            .with_label("no statement before this one assigns it")
            .with_secondary(temporary.span, "assigned here")
            .with_help("move the assignment up, or give the temporary a first value");
        }
        let assigned: Vec<String> = (written.0.iter())
            .map(|range| describe_range(range, self.levels))
            .collect();
        Diagnostic::error(
            UNWRITTEN_LEVEL,
            Category::Definition,
            span,
            format!("`{name}` is read at a level at which it is not assigned"),
        )
        .with_label(format!("this reads {}", describe(level, self.levels)))
        .with_secondary(
            temporary.span,
            format!("`{name}` has values at {} by then", assigned.join(", ")),
        )
        .with_help("read it in a smaller interval, or assign it in more intervals")
    }
}

/// Whether a temporary is read at another level.
fn looks_back(computation: &Computation) -> bool {
    let mut found = false;
    for section in &computation.sections {
        accesses(&section.body, &mut |access| {
            let is_temporary = matches!(access.target, Target::Temp(_));
            found |= is_temporary && !access.write && access.offset.along(Axis::K) != 0;
        });
    }
    found
}

/// Whether an interval has a level in every domain that is tall enough for the stencil.
fn is_never_empty(Interval { start, end }: Interval) -> bool {
    start.level == end.level || start.offset <= end.offset
}

/// The elements of data dimensions that were written so far.
#[derive(Default)]
struct Elements(HashMap<TempId, HashSet<Vec<u32>>>);

impl Elements {
    /// Takes note of a write, and says whether all elements are written with it.
    fn complete(&mut self, stencil: &Stencil, id: TempId, subscript: Option<&Subscript>) -> bool {
        if !is_partial(subscript) {
            return true;
        }
        let indices = subscript.map_or(&[][..], Subscript::indices);
        let Some(element) = indices.iter().map(constant).collect() else {
            return false;
        };
        let written = self.0.entry(id).or_default();
        written.insert(element);
        let sizes = stencil.temporary(id).data_dims.iter();
        written.len() as u64 == sizes.map(|size| u64::from(*size)).product::<u64>()
    }
}

/// Whether an assignment is to the point itself.
pub(super) fn is_here(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Assign {
            offset, subscript, ..
        } => {
            let level = (subscript.as_ref()).map_or(LevelIndex::Constant, |s| s.level);
            *offset == Offset::ZERO && level == LevelIndex::Constant
        }
        _ => false,
    }
}

/// The temporaries that statements write whatever the conditions are, with the offset along K.
fn always_written(stencil: &Stencil, body: &[Stmt]) -> HashSet<(TempId, i64)> {
    let mut found = HashSet::new();
    let mut elements = Elements::default();
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign {
                target: Target::Temp(id),
                offset,
                subscript,
                ..
            } => {
                let level = (subscript.as_ref()).map_or(LevelIndex::Constant, |s| s.level);
                let whole = match is_here(stmt) {
                    true => elements.complete(stencil, *id, subscript.as_deref()),
                    false => !is_partial(subscript.as_deref()),
                };
                if level == LevelIndex::Constant && whole {
                    found.insert((*id, i64::from(offset.along(Axis::K))));
                }
            }
            StmtKind::Assign { .. }
            | StmtKind::While { .. }
            | StmtKind::Require { .. }
            | StmtKind::Region { .. } => {}
            StmtKind::If { then, orelse, .. } => {
                let [then, orelse] = [then, orelse].map(|body| always_written(stencil, body));
                found.extend(then.intersection(&orelse));
            }
        }
    }
    found
}
