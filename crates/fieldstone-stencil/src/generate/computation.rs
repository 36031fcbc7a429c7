//! Random computations and statements.

use std::collections::HashSet;

use super::{Generator, Kind, Place};
use crate::grid::{Area, Axes, Bound, Interval, Level, Range};
use crate::ir::{Computation, FieldId, Order, Section, Stmt, StmtKind, Target, TempId};
use crate::source::Span;
use crate::visit::accesses;

fn statement(kind: StmtKind) -> Stmt {
    Stmt {
        kind,
        span: Span::default(),
    }
}

impl Generator<'_> {
    // -- computations

    /// Intervals that cover the domain, in the order in which they run.
    fn intervals(&mut self, order: Order) -> Vec<Interval> {
        let start = |offset| Bound {
            level: Level::Start,
            offset,
        };
        let end = |offset| Bound {
            level: Level::End,
            offset,
        };
        let cuts = match self.random.below(4) {
            0 => vec![start(0), end(0)],
            1 => vec![start(0), start(1), end(0)],
            2 => vec![start(0), end(-1), end(0)],
            _ => vec![start(0), start(2), end(-1), end(0)],
        };
        let mut intervals: Vec<Interval> = (cuts.windows(2))
            .map(|pair| Interval {
                start: pair[0],
                end: pair[1],
            })
            .collect();
        if order == Order::Backward {
            intervals.reverse();
        }
        intervals
    }

    pub(super) fn computation(&mut self) -> Computation {
        let order = self.random.pick(&[
            Order::Parallel,
            Order::Parallel,
            Order::Forward,
            Order::Backward,
        ]);
        let mut intervals = self.intervals(order);
        // What every level writes first, for later statements, levels and computations to read.
        let first: Vec<TempId> = (0..self.random.below(3))
            .map(|_| self.temporary(order))
            .collect();
        let rest = self.rest(order);
        if first.is_empty() && self.random.chance(30) {
            // Only part of the domain.
            let drop = self.random.below(intervals.len());
            if intervals.len() > 1 {
                intervals.remove(drop);
            }
        }
        let mut written: HashSet<Target> = rest.iter().copied().collect();
        written.extend(first.iter().map(|id| Target::Temp(*id)));
        let carried: HashSet<TempId> = match order {
            Order::Parallel => HashSet::new(),
            _ => first.iter().copied().collect(),
        };
        let moved = self.may_move(order, &rest);
        let sections = (intervals.into_iter())
            .map(|interval| {
                let mut place = Place {
                    carried: carried.clone(),
                    moved: moved.clone(),
                    ..Place::new(order, interval, written.clone())
                };
                let body = self.section(&first, &rest, &mut place);
                Section {
                    interval,
                    body,
                    span: Span::default(),
                }
            })
            .collect();
        self.everywhere.extend(first);
        Computation {
            order,
            sections,
            span: Span::default(),
        }
    }

    /// What a computation may write wherever it likes.
    pub(super) fn rest(&mut self, order: Order) -> Vec<Target> {
        let mut rest: Vec<Target> = (self.outputs())
            .map(|n| Target::Field(FieldId(n)))
            .filter(|target| order != Order::Parallel || self.axes(*target) == Axes::IJK)
            .collect();
        for id in self.sorted(&self.everywhere) {
            let target = Target::Temp(id);
            let allowed = order != Order::Parallel || self.axes(target) == Axes::IJK;
            if allowed && self.random.chance(30) {
                rest.push(target);
            }
        }
        rest
    }

    fn sorted(&self, set: &HashSet<TempId>) -> Vec<TempId> {
        let mut all: Vec<TempId> = set.iter().copied().collect();
        all.sort();
        all
    }

    pub(super) fn section(
        &mut self,
        first: &[TempId],
        rest: &[Target],
        place: &mut Place,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        for id in first {
            body.extend(self.assignments(Target::Temp(*id), place));
            place.here.insert(*id);
        }
        let mut targets = rest.to_vec();
        targets.extend(first.iter().map(|id| Target::Temp(*id)));
        for _ in 0..1 + self.random.below(self.shape.statements.max(1)) {
            if self.random.chance(25) {
                // A temporary of this section only.
                let id = self.temporary(place.order);
                body.extend(self.assignments(Target::Temp(id), place));
                place.here.insert(id);
                targets.push(Target::Temp(id));
                // At other levels, and in other sections, it has no value.
                place.written.insert(Target::Temp(id));
            } else if !targets.is_empty() && self.random.chance(15) {
                body.extend(self.repeat(&targets, place));
            } else if !targets.is_empty() {
                body.extend(self.statement(&targets, place, 2));
            }
        }
        body
    }

    /// Assigns the outputs that nothing assigns yet.
    pub(super) fn missing_outputs(&mut self, computations: &[Computation]) -> Option<Computation> {
        let mut assigned = HashSet::new();
        for section in computations.iter().flat_map(|c| &c.sections) {
            accesses(&section.body, &mut |access| {
                if access.write {
                    assigned.insert(access.target);
                }
            });
        }
        let missing: Vec<Target> = (self.outputs())
            .map(|n| Target::Field(FieldId(n)))
            .filter(|target| !assigned.contains(target))
            .collect();
        if missing.is_empty() {
            return None;
        }
        let written = missing.iter().copied().collect();
        let mut place = Place::new(Order::Forward, Interval::FULL, written);
        let body = (missing.into_iter())
            .flat_map(|target| self.assignments(target, &mut place))
            .collect();
        Some(Computation {
            order: Order::Forward,
            sections: vec![Section {
                interval: Interval::FULL,
                body,
                span: Span::default(),
            }],
            span: Span::default(),
        })
    }

    // -- statements

    /// A statement, or a few that belong together.
    pub(super) fn statement(
        &mut self,
        targets: &[Target],
        place: &mut Place,
        nesting: usize,
    ) -> Vec<Stmt> {
        if nesting == 0 || self.random.chance(70) {
            let target = self.random.pick(targets);
            let whole = !self.data_dims(target).is_empty() && self.random.chance(30);
            if whole {
                return self.assignments(target, place);
            }
            let assignment = self.assignment(target, place);
            return vec![self.moved(assignment, place)];
        }
        let branch = |generator: &mut Self, place: &mut Place, least: usize| -> Vec<Stmt> {
            let mut body = Vec::new();
            for _ in 0..least + generator.random.below(2) {
                if place.counter.is_none() && generator.random.chance(10) {
                    let here = place.here.clone();
                    body.extend(generator.repeat(targets, place));
                    // What counts its rounds has a value in this branch only.
                    place.here = here;
                } else {
                    body.extend(generator.statement(targets, place, nesting - 1));
                }
            }
            body
        };
        if self.random.chance(40) {
            let area = self.area();
            let body = branch(self, place, 1);
            return vec![statement(StmtKind::Region { area, body })];
        }
        place.target = None;
        let condition = self.expr(Kind::Bool, self.shape.depth, place);
        let then = branch(self, place, 1);
        let orelse = branch(self, place, 0);
        vec![statement(StmtKind::If {
            condition,
            then,
            orelse,
        })]
    }

    /// A part of the plane: at an edge, in a corner, inside, or a little outside.
    fn area(&mut self) -> Area {
        Area(std::array::from_fn(|_| {
            let first = Bound {
                level: Level::Start,
                offset: self.random.below(6) as i32 - 2,
            };
            let last = Bound {
                level: Level::End,
                offset: self.random.below(6) as i32 - 3,
            };
            let behind = |bound: Bound, points: usize| Bound {
                offset: bound.offset + points as i32,
                ..bound
            };
            let points = 1 + self.random.below(3);
            let (start, end) = match self.random.below(7) {
                0 | 1 => (None, None),
                2 => (Some(first), Some(behind(first, points))),
                3 => (Some(behind(last, 0)), Some(behind(last, points))),
                4 => (Some(first), Some(last)),
                5 => (Some(last), None),
                _ => (None, Some(first)),
            };
            Range { start, end }
        }))
    }
}
