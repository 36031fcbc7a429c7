//! Random computations and statements.

use std::collections::HashSet;

use super::{Generator, Kind, Place};
use crate::grid::{Area, Axes, Bound, Interval, Level, Range};
use crate::ir::{Computation, Expr, FieldId, Order, Section, Stmt, StmtKind, Target, TempId};
use crate::source::Span;
use crate::visit::accesses;

fn statement(kind: StmtKind) -> Stmt {
    Stmt {
        kind,
        span: Span::default(),
    }
}

fn assign(target: Target, value: Expr) -> Stmt {
    Stmt::assign(target, Span::default(), value, Span::default())
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
        // What may be written, wherever.
        let mut rest: Vec<Target> = (self.outputs())
            .map(|n| Target::Field(FieldId(n)))
            .filter(|target| order != Order::Parallel || self.axes(*target) == Axes::IJK)
            .collect();
        let everywhere: Vec<TempId> = self.sorted(&self.everywhere);
        for id in everywhere {
            let target = Target::Temp(id);
            let allowed = order != Order::Parallel || self.axes(target) == Axes::IJK;
            if allowed && self.random.chance(30) {
                rest.push(target);
            }
        }
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
                    order,
                    interval,
                    written: written.clone(),
                    here: HashSet::new(),
                    carried: carried.clone(),
                    moved: moved.clone(),
                    looped: HashSet::new(),
                    target: None,
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

    fn sorted(&self, set: &HashSet<TempId>) -> Vec<TempId> {
        let mut all: Vec<TempId> = set.iter().copied().collect();
        all.sort();
        all
    }

    fn section(&mut self, first: &[TempId], rest: &[Target], place: &mut Place) -> Vec<Stmt> {
        let mut body = Vec::new();
        for id in first {
            body.push(self.assignment(Target::Temp(*id), place));
            place.here.insert(*id);
        }
        let mut targets = rest.to_vec();
        targets.extend(first.iter().map(|id| Target::Temp(*id)));
        for _ in 0..1 + self.random.below(self.shape.statements.max(1)) {
            if self.random.chance(25) {
                // A temporary of this section only.
                let id = self.temporary(place.order);
                body.push(self.assignment(Target::Temp(id), place));
                place.here.insert(id);
                targets.push(Target::Temp(id));
                // At other levels, and in other sections, it has no value.
                place.written.insert(Target::Temp(id));
            } else if !targets.is_empty() && self.random.chance(15) {
                body.extend(self.repeat(&targets, place));
            } else if !targets.is_empty() {
                body.push(self.statement(&targets, place, 2));
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
        let mut place = Place {
            order: Order::Forward,
            interval: Interval::FULL,
            written: missing.iter().copied().collect(),
            here: HashSet::new(),
            carried: HashSet::new(),
            moved: HashSet::new(),
            looped: HashSet::new(),
            target: None,
        };
        let body = (missing.into_iter())
            .map(|target| self.assignment(target, &mut place))
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

    pub(super) fn statement(
        &mut self,
        targets: &[Target],
        place: &mut Place,
        nesting: usize,
    ) -> Stmt {
        if nesting == 0 || self.random.chance(70) {
            let target = self.random.pick(targets);
            let assignment = self.assignment(target, place);
            return self.moved(assignment, place);
        }
        if self.random.chance(40) {
            let area = self.area();
            let body = (0..1 + self.random.below(2))
                .map(|_| self.statement(targets, place, nesting - 1))
                .collect();
            return statement(StmtKind::Region { area, body });
        }
        place.target = None;
        let condition = self.expr(Kind::Bool, self.shape.depth, place);
        let mut branch = |generator: &mut Self, least: usize| -> Vec<Stmt> {
            (0..least + generator.random.below(2))
                .map(|_| generator.statement(targets, place, nesting - 1))
                .collect()
        };
        let then = branch(self, 1);
        let orelse = branch(self, 0);
        statement(StmtKind::If {
            condition,
            then,
            orelse,
        })
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

    fn assignment(&mut self, target: Target, place: &mut Place) -> Stmt {
        place.target = Some(target);
        let kind = self.kind(target);
        // What is assigned may be of a lesser kind.
        let kind = match kind {
            Kind::Real if self.random.chance(10) => Kind::Int,
            kind => kind,
        };
        let value = self.expr(kind, self.shape.depth, place);
        place.target = None;
        assign(target, value)
    }
}
