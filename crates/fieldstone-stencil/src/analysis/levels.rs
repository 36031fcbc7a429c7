//! Levels: how far accesses reach beyond the domain's ends along K, and which levels of a temporary are assigned.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::access::Place;
use super::conditions::Conditions;
use super::{
    MAYBE_UNINITIALISED, OUTSIDE_LEVEL, OVERLAP, READ_BEFORE_WRITE, TOO_FAR, UNWRITTEN_LEVEL,
};
use crate::diagnostic::{Category, Diagnostic};
use crate::elements::constant;
use crate::grid::{Area, Axis, Interval, Level, Offset};
use crate::ir::{
    Computation, Expr, ExprKind, LevelIndex, Order, Section, Stencil, Stmt, StmtKind, Subscript,
    Target, TempId,
};
use crate::source::Span;
use crate::visit::{Access, accesses, is_partial};

/// How far an access from the levels of `interval` reaches beyond the domain's ends, as in
/// [`FieldInfo::extent`](super::FieldInfo::extent).
pub fn reach(interval: Interval, offset: Offset) -> (i32, i32) {
    let up = offset.along(Axis::K);
    let lower = match interval.start.level {
        Level::Start => -(interval.start.offset + up),
        Level::End => 0,
    };
    let upper = match interval.end.level {
        Level::Start => 0,
        Level::End => interval.end.offset + up,
    };
    (lower, upper)
}

/// Levels a domain must have, see [`Analysis::min_levels`](super::Analysis::min_levels).
pub fn min_levels(stencil: &Stencil, places: &[Place]) -> usize {
    let intervals = stencil.computations.iter().map(for_intervals).max();
    let constant = |place: &&Place| place.level == LevelIndex::Constant;
    let accesses = (places.iter().filter(constant))
        .map(|place| {
            let section = &stencil.computations[place.computation].sections[place.section];
            for_access(section.interval, place.offset)
        })
        .max();
    intervals.max(accesses).unwrap_or(0).max(0) as usize
}

/// Levels for which no two intervals of a computation contradict each other.
fn for_intervals(computation: &Computation) -> i32 {
    let mut least = 0;
    let (mut from_start, mut from_end) = (0, 0);
    for Section { interval, .. } in &computation.sections {
        let (start, end) = (interval.start, interval.end);
        least = least.max(match (start.level, end.level) {
            (Level::Start, Level::Start) => end.offset,
            (Level::End, Level::End) => -start.offset,
            (Level::Start, Level::End) => start.offset - end.offset,
            (Level::End, Level::Start) => end.offset.max(-start.offset),
        });
        if end.level == Level::Start {
            from_start = from_start.max(end.offset);
        }
        if start.level == Level::End {
            from_end = from_end.max(-start.offset);
        }
    }
    least.max(from_start + from_end)
}

/// Levels for which an access from one end of the domain does not leave it at the other.
fn for_access(interval: Interval, offset: Offset) -> i32 {
    let up = offset.along(Axis::K);
    let mut least = 0;
    if interval.start.level == Level::End && up < 0 {
        least = least.max(-(interval.start.offset + up));
    }
    if interval.end.level == Level::Start && up > 0 {
        least = least.max(interval.end.offset + up);
    }
    least
}

/// The largest offset and interval bound. No grid comes near it, and sums of many stay far from overflow.
const FARTHEST: u32 = 1 << 16;

/// Finds offsets and bounds that are too large to compute with.
pub fn check_distances(stencil: &Stencil, places: &[Place]) -> Vec<Diagnostic> {
    let too_far = |span, what| {
        Diagnostic::error(TOO_FAR, Category::Unsupported, span, what)
            .with_label(format!("at most {FARTHEST} points are supported"))
    };
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    let bounds = sections
        .filter(|section| {
            let Interval { start, end } = section.interval;
            start.offset.unsigned_abs().max(end.offset.unsigned_abs()) > FARTHEST
        })
        .map(|section| too_far(section.span, "this interval's bounds are too large"));
    let offsets = (places.iter())
        .filter(|place| place.offset.0.iter().any(|n| n.unsigned_abs() > FARTHEST))
        .map(|place| too_far(place.span, "this offset is too large"));
    let areas = (places.iter())
        .filter(|place| {
            let bounds = (place.area.0.iter()).flat_map(|range| [range.start, range.end]);
            let mut far = bounds.flatten().map(|bound| bound.offset.unsigned_abs());
            far.any(|offset| offset > FARTHEST)
        })
        .map(|place| too_far(place.span, "this region's bounds are too large"));
    bounds.chain(offsets).chain(areas).collect()
}

/// A height at which both ends of the domain are far from each other, so that intervals relate as they do in every domain
/// that is tall enough.
fn tall(stencil: &Stencil) -> i64 {
    let mut largest = 1;
    for computation in &stencil.computations {
        for section in &computation.sections {
            let Interval { start, end } = section.interval;
            largest = largest.max(i64::from(
                start.offset.unsigned_abs().max(end.offset.unsigned_abs()),
            ));
            accesses(&section.body, &mut |access| {
                largest = largest.max(i64::from(access.offset.along(Axis::K).unsigned_abs()));
            });
        }
    }
    4 * largest + 4
}

fn resolve(interval: Interval, levels: i64) -> Range<i64> {
    let range = interval.resolve(levels as usize);
    range.start as i64..range.end as i64
}

/// Finds intervals of one computation that overlap.
pub fn check_overlap(stencil: &Stencil) -> Vec<Diagnostic> {
    let levels = tall(stencil);
    let mut errors = Vec::new();
    for computation in &stencil.computations {
        let mut ranges: Vec<(Range<i64>, &Section)> = (computation.sections.iter())
            .map(|section| (resolve(section.interval, levels), section))
            .filter(|(range, _)| !range.is_empty())
            .collect();
        ranges.sort_by_key(|(range, _)| range.start);
        for pair in ranges.windows(2) {
            let [(a, first), (b, second)] = pair else {
                continue;
            };
            if a.end > b.start {
                errors.push(
                    Diagnostic::error(
                        OVERLAP,
                        Category::Definition,
                        second.span,
                        "intervals of one computation overlap",
                    )
                    .with_label(format!("this covers {}", describe_range(b, levels)))
                    .with_secondary(
                        first.span,
                        format!("and this {}", describe_range(a, levels)),
                    )
                    .with_help("make the intervals disjoint, or open a second `computation`"),
                );
            }
        }
    }
    errors
}

/// A level in words, from the end of the domain that is nearer.
fn describe(level: i64, levels: i64) -> String {
    match level {
        -1 => "the level below the first".to_string(),
        _ if level < 0 => format!("level {} below the first", -level),
        _ if level < levels / 2 => format!("level {level}"),
        _ if level == levels - 1 => "the last level".to_string(),
        _ if level == levels => "the level above the last".to_string(),
        _ if level > levels => format!("level {} above the last", level - levels + 1),
        _ => format!("level {}", level - levels),
    }
}

fn describe_range(range: &Range<i64>, levels: i64) -> String {
    if range.end - range.start == 1 {
        return describe(range.start, levels);
    }
    format!(
        "{} to {}",
        describe(range.start, levels),
        describe(range.end - 1, levels)
    )
}

/// Disjoint ranges of levels, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Levels(Vec<Range<i64>>);

impl Levels {
    fn add(&mut self, range: &Range<i64>) {
        if range.is_empty() || self.first_missing(range.clone()).is_none() {
            return;
        }
        let mut all = std::mem::take(&mut self.0);
        all.push(range.clone());
        all.sort_by_key(|range| range.start);
        for range in all {
            match self.0.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => self.0.push(range),
            }
        }
    }

    /// The first level of `range` that is not in the set.
    fn first_missing(&self, range: Range<i64>) -> Option<i64> {
        let mut level = range.start;
        for known in &self.0 {
            if known.contains(&level) {
                level = known.end;
            }
        }
        (level < range.end).then_some(level)
    }
}

/// Levels of temporaries, by how far ahead of the level that is computed they are written.
#[derive(Clone, Debug, Default)]
struct Ahead(HashMap<TempId, BTreeMap<i64, Levels>>);

/// Further ahead than every read: what is written at a level that is computed may be any.
const ANYWHERE: i64 = i64::MAX;

impl Ahead {
    fn add(&mut self, id: TempId, ahead: i64, range: &Range<i64>) {
        let written = self.0.entry(id).or_default();
        written.entry(ahead).or_default().add(range);
    }

    /// What is written of a temporary at the level that is computed.
    fn get(&self, id: TempId) -> Option<&Levels> {
        self.0.get(&id)?.get(&0)
    }

    /// What is written of a temporary at distances that `wanted` says.
    fn collect(&self, id: TempId, wanted: impl Fn(i64) -> bool, into: &mut Levels) {
        for (ahead, levels) in self.0.get(&id).into_iter().flatten() {
            if wanted(*ahead) {
                levels.0.iter().for_each(|range| into.add(range));
            }
        }
    }
}

/// Levels of temporaries that were written.
#[derive(Clone, Debug, Default)]
struct Written {
    /// By any statement.
    some: Ahead,
    /// By statements that write every point.
    every: Ahead,
}

impl Written {
    /// Adds what a computation wrote that is over.
    fn add(&mut self, other: Written) {
        for (mine, theirs) in [(&mut self.some, other.some), (&mut self.every, other.every)] {
            for (id, levels) in theirs.0 {
                for range in levels.values().flat_map(|levels| &levels.0) {
                    mine.add(id, 0, range);
                }
            }
        }
    }
}

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
