//! Regions among the statements of a stage that shares a loop over a row.
//!
//! Most vectors of a row have no point in any region, so that the loop leaves regions out where it can: what follows is for the
//! others.

use fieldstone_stencil::grid::{Bound, Range};
use fieldstone_stencil::ir::{Stmt, StmtKind, Target};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Area, Axis, Level, Offset};

use super::body::{Body, Regions};
use super::builder::Builder;
use super::entry::Entry;
use super::fused::BEYOND;
use super::memory::mask_of_lanes;
use super::place::{self, Row};
use super::range::{bound, in_area};

/// Of a stage all of whose points are computed, those regions that are not.
pub(super) fn regions(stage: &Stage) -> impl Iterator<Item = Area> {
    let area = |statement: &Stmt| match statement.kind {
        StmtKind::Region { area, .. } if area != stage.area => Some(area),
        _ => None,
    };
    stage.statements.iter().filter_map(area)
}

/// Those of [`regions`] that are not within another one.
pub(super) fn widest_regions(stage: &Stage) -> impl Iterator<Item = Area> {
    let mut widest: Vec<Area> = Vec::new();
    for area in regions(stage) {
        if !widest.iter().any(|other| other.covers(area, Offset::ZERO)) {
            widest.retain(|other| !area.covers(*other, Offset::ZERO));
            widest.push(area);
        }
    }
    widest.into_iter()
}

/// Whether a row has points of an area; `None` where each one has.
pub(super) fn crosses(entry: &Entry, b: &mut Builder, area: Area, row: &Row) -> Option<String> {
    let mut crosses: Option<String> = None;
    for axis in [Axis::I, Axis::J] {
        if axis == row.vector {
            continue;
        }
        let index = &row.index[axis.index()];
        let Some(test) = in_area(entry, b, area, axis, index) else {
            continue;
        };
        crosses = Some(match crosses {
            Some(crosses) => b.value(format_args!("and i1 {crosses}, {test}")),
            None => test,
        });
    }
    crosses
}

/// The range of the first lanes of vectors of a row that have no point in an area, which the row crosses: at or behind the first
/// index, and before the second one. `None` where any vector may have one.
pub(super) fn vectors_without(
    entry: &Entry,
    b: &mut Builder,
    (area, axis): (Area, Axis),
    width: i64,
) -> Option<(String, String)> {
    let Range { start, end } = match axis {
        Axis::K => return None,
        axis => area.along(axis),
    };
    match (start, end) {
        (_, Some(end)) if end.level == Level::Start => {
            Some((bound(entry, b, axis, end), BEYOND.to_string()))
        }
        (Some(start), _) if start.level == Level::End => {
            let start = bound(entry, b, axis, start);
            Some(((-BEYOND).to_string(), b.sub(&start, width - 1)))
        }
        _ => None,
    }
}

/// Which of so many lanes are in a range along the row, where it is known at which point the first one is; bounds that count from the
/// other end of the domain are far away.
pub(super) fn lanes_within(range: Range, first: Bound, width: i64) -> std::ops::Range<i64> {
    let lane = |bound: Bound| match first.level {
        level if bound.level == level => i64::from(bound.offset) - i64::from(first.offset),
        Level::Start => BEYOND,
        Level::End => -BEYOND,
    };
    let start = range.start.map_or(0, lane).clamp(0, width);
    start..range.end.map_or(width, lane).clamp(start, width)
}

impl Body<'_, '_> {
    /// The statements of a region, if it has any lane. Nothing else is read there.
    pub(super) fn region(&mut self, area: Area, statements: &[Stmt]) {
        let lanes = self.known_lanes(area);
        if lanes.as_ref().is_some_and(|lanes| lanes.is_empty()) {
            return;
        }
        let targets = written(statements);
        // What they had before counts at the other lanes.
        let before: Vec<String> = targets
            .iter()
            .map(|target| self.read(*target, Offset::ZERO))
            .collect();
        let has_lanes = match lanes {
            Some(_) => crosses(self.entry, self.b, area, self.row),
            None => self.has_lanes(area),
        };
        let rare = has_lanes.as_ref().map(|some| self.b.begin_rare(some));
        let (known, mask) = (self.values.clone(), self.mask.clone());
        let computed = mask.clone().or_else(|| self.stored.clone());
        let inside = match lanes {
            Some(lanes) if lanes == (0..self.row.points(self.lanes) as i64) => None,
            Some(lanes) => Some(mask_of_lanes(self.b, self.lanes, lanes)),
            None => self.inside(area),
        };
        self.mask = match (computed, &inside) {
            (Some(computed), Some(inside)) => Some(self.arithmetic().and(&computed, inside)),
            (computed, inside) => computed.or_else(|| inside.clone()),
        };
        self.in_region = true;
        self.statements(statements, inside.as_deref());
        self.in_region = false;
        self.mask = mask;
        let after: Vec<String> = targets
            .iter()
            .map(|target| self.values[&(*target, Offset::ZERO)].clone())
            .collect();
        // What was read for some lanes only is not known.
        self.values = known;
        let after = match rare {
            None => after,
            Some(rare) => {
                let both = after.into_iter().zip(before);
                let both = targets.iter().zip(both.map(|(ran, usual)| [ran, usual]));
                let values = both.map(|(target, both)| {
                    let dtype = place::dtype(self.context, *target);
                    (self.lanes.value(dtype), both)
                });
                let values: Vec<(String, [String; 2])> = values.collect();
                self.b.end_rare_of(&rare, &values)
            }
        };
        for (target, value) in targets.into_iter().zip(after) {
            self.values.insert((target, Offset::ZERO), value);
        }
    }

    /// The lanes along the row that are in an area, if it is known where the vector is.
    fn known_lanes(&self, area: Area) -> Option<std::ops::Range<i64>> {
        let Regions::At(first) = self.regions else {
            return None;
        };
        let points = self.row.points(self.lanes) as i64;
        Some(lanes_within(area.along(self.row.vector), first, points))
    }

    /// Whether any lane is in a range along the row.
    fn reaches(&mut self, range: Range, axis: Axis) -> String {
        let (entry, first) = (self.entry, self.first.to_owned());
        let points = self.row.points(self.lanes) as i64;
        let b = &mut *self.b;
        let starts = |b: &mut Builder, start: Bound| {
            let start = bound(entry, b, axis, start);
            let behind = b.add(&first, points);
            b.value(format_args!("icmp sgt i64 {behind}, {start}"))
        };
        let ends = |b: &mut Builder, end: Bound| {
            let end = bound(entry, b, axis, end);
            b.value(format_args!("icmp slt i64 {first}, {end}"))
        };
        match (range.start, range.end) {
            (None, None) => String::from("true"),
            (Some(start), None) => starts(b, start),
            (None, Some(end)) => ends(b, end),
            // One comparison: such ranges have a fixed number of points.
            (Some(start), Some(end)) if start.level == end.level && start.offset < end.offset => {
                let count = i64::from(end.offset - start.offset);
                let start = bound(entry, b, axis, start);
                let before = b.add(&first, points - 1);
                let before = b.sub(&before, &start);
                b.value(format_args!(
                    "icmp ult i64 {before}, {}",
                    points - 1 + count
                ))
            }
            (Some(start), Some(end)) => {
                let (starts, ends) = (starts(b, start), ends(b, end));
                b.value(format_args!("and i1 {starts}, {ends}"))
            }
        }
    }

    /// Whether any lane is in an area; `None` where all are.
    fn has_lanes(&mut self, area: Area) -> Option<String> {
        let crosses = crosses(self.entry, self.b, area, self.row);
        let axis = self.row.vector;
        if axis == Axis::K || area.along(axis) == Area::FULL.along(axis) {
            return crosses;
        }
        let some = self.reaches(area.along(axis), axis);
        Some(match crosses {
            Some(crosses) => self.b.value(format_args!("and i1 {crosses}, {some}")),
            None => some,
        })
    }
}

/// What statements write, each once.
fn written(statements: &[Stmt]) -> Vec<Target> {
    let mut targets = Vec::new();
    for accesses in statements.iter().map(Accesses::of) {
        for target in accesses.written() {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    targets
}
