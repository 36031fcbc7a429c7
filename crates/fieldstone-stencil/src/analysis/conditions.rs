//! Conditions under which temporaries are assigned: a read under the same conditions finds what was assigned.
//!
//! Two conditions are the same if they are the same expression of the same values. Each write gives its target a new version,
//! which counts as part of every condition that reads it; so nothing has to be forgotten.

use std::collections::HashMap;
use std::ops::Range;

use super::assigned::is_here;
use crate::grid::{Axes, Axis, Offset};
use crate::ir::{BinaryOp, Expr, ExprKind, Stencil, Stmt, StmtKind, Target, TempId, UnaryOp};
use crate::source::Span;

/// A condition, and whether it holds.
type Fact = (usize, bool);

/// What is known to hold at a point that was assigned.
#[derive(Clone)]
struct Assigned {
    facts: Vec<Fact>,
    levels: Range<i64>,
}

/// A condition in the source.
#[derive(Clone, Copy)]
pub(super) struct Condition {
    pub span: Span,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Holds,
    DoesNotHold,
    Region,
}

impl Condition {
    /// What to say of a condition that an assignment is under.
    pub fn words(self) -> &'static str {
        match self.kind {
            Kind::Holds => "only where this holds",
            Kind::DoesNotHold => "only where this does not hold",
            Kind::Region => "only in this region",
        }
    }
}

pub(super) struct Conditions<'a> {
    stencil: &'a Stencil,
    /// Numbers of conditions by what they compute.
    known: HashMap<String, usize>,
    /// Per number, the axes along which the condition may change.
    axes: Vec<Axes>,
    versions: HashMap<Target, usize>,
    /// What follows from the temporaries that keep conditions: where they hold, and where not.
    kept: HashMap<TempId, [Vec<Fact>; 2]>,
    /// What holds here.
    facts: Vec<Fact>,
    /// The conditions around this place, the innermost last.
    around: Vec<Condition>,
    assigned: HashMap<TempId, Vec<Assigned>>,
    /// Assigned by the whole vertical loop, for those who look back to other levels.
    whole: HashMap<TempId, Vec<Assigned>>,
    first: HashMap<TempId, (Span, Condition)>,
}

impl<'a> Conditions<'a> {
    pub fn new(stencil: &'a Stencil) -> Conditions<'a> {
        Conditions {
            stencil,
            known: HashMap::new(),
            axes: Vec::new(),
            versions: HashMap::new(),
            kept: HashMap::new(),
            facts: Vec::new(),
            around: Vec::new(),
            assigned: HashMap::new(),
            whole: HashMap::new(),
            first: HashMap::new(),
        }
    }

    /// Goes into the branch of a condition; what it returns leads out of it.
    pub fn enter(&mut self, condition: &Expr, holds: bool) -> usize {
        let outer = self.facts.len();
        self.around.push(Condition {
            span: condition.span,
            kind: if holds {
                Kind::Holds
            } else {
                Kind::DoesNotHold
            },
        });
        let learned = self.learn(condition, holds);
        self.facts.extend(learned);
        outer
    }

    /// Goes into a region.
    pub fn enter_region(&mut self, region: &Stmt) -> usize {
        let outer = self.facts.len();
        self.around.push(Condition {
            span: region.span,
            kind: Kind::Region,
        });
        if let StmtKind::Region { area, .. } = &region.kind {
            let number = self.number(format!("{area:?}"), Axes([true, true, false]));
            self.facts.push((number, true));
        }
        outer
    }

    /// Goes out again.
    pub fn leave(&mut self, outer: usize) {
        self.facts.truncate(outer);
        self.around.pop();
    }

    /// Takes note of an assignment on some levels.
    pub fn assign(&mut self, target: Target, target_span: Span, value: &Expr, levels: &Range<i64>) {
        *self.versions.entry(target).or_default() += 1;
        let Target::Temp(id) = target else { return };
        if self.stencil.temporary(id).name.starts_with("condition@") {
            let learned = [true, false].map(|holds| self.learn(value, holds));
            self.kept.insert(id, learned);
        }
        if !self.stencil.temporary(id).data_dims.is_empty() {
            // One element is assigned; others may be read.
            return;
        }
        let Some(condition) = self.around.last() else {
            return;
        };
        self.first.entry(id).or_insert((target_span, *condition));
        let mut facts = self.facts.clone();
        facts.sort_unstable();
        facts.dedup();
        self.note(id, facts, levels.clone());
    }

    /// Takes note of an assignment to another level than the one at which the conditions hold.
    pub fn assign_elsewhere(&mut self, target: Target, target_span: Span) {
        *self.versions.entry(target).or_default() += 1;
        if let (Target::Temp(id), Some(condition)) = (target, self.around.last()) {
            self.first.entry(id).or_insert((target_span, *condition));
        }
    }

    /// Takes note of what a vertical loop assigns on all levels, before the loop is gone through.
    pub fn foresee(&mut self, sections: &[(&[Stmt], Range<i64>)]) {
        let versions = self.versions.clone();
        let assigned = std::mem::take(&mut self.assigned);
        for (body, levels) in sections {
            self.block(body, levels);
        }
        self.whole = std::mem::replace(&mut self.assigned, assigned);
        self.versions = versions;
    }

    fn block(&mut self, body: &[Stmt], levels: &Range<i64>) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign {
                    target,
                    target_span,
                    value,
                    ..
                } => match is_here(stmt) {
                    true => self.assign(*target, *target_span, value, levels),
                    false => self.assign_elsewhere(*target, *target_span),
                },
                StmtKind::If {
                    condition,
                    then,
                    orelse,
                } => {
                    for (branch, holds) in [(then, true), (orelse, false)] {
                        let outer = self.enter(condition, holds);
                        self.block(branch, levels);
                        self.leave(outer);
                    }
                }
                StmtKind::While { condition, body } => {
                    let outer = self.enter(condition, true);
                    self.block(body, levels);
                    self.leave(outer);
                }
                StmtKind::Require { .. } => {}
                StmtKind::Region { body, .. } => {
                    let outer = self.enter_region(stmt);
                    self.block(body, levels);
                    self.leave(outer);
                }
            }
        }
    }

    /// The levels at which a temporary was assigned, at an offset, wherever what holds here holds. `back` says that the
    /// offset leads to levels that the loop has left behind.
    pub fn levels(
        &self,
        id: TempId,
        offset: Offset,
        back: bool,
    ) -> impl Iterator<Item = &Range<i64>> {
        let same_there = move |number: usize| {
            Axis::ALL
                .into_iter()
                .all(|axis| offset.along(axis) == 0 || !self.axes[number].contains(axis))
        };
        let holds = move |fact: &Fact| same_there(fact.0) && self.facts.contains(fact);
        let whole = self.whole.get(&id).filter(|_| back);
        let known = self.assigned.get(&id).into_iter().chain(whole);
        known
            .flatten()
            .filter(move |assigned| assigned.facts.iter().all(holds))
            .map(|assigned| &assigned.levels)
    }

    /// The first conditional assignment of a temporary, and its innermost condition.
    pub fn of_first_assignment(&self, id: TempId) -> Option<(Span, Condition)> {
        self.first.get(&id).copied()
    }

    /// Adds an assignment. One where a condition holds and one where it does not are one where nothing is asked of it.
    fn note(&mut self, id: TempId, facts: Vec<Fact>, levels: Range<i64>) {
        let known = self.assigned.entry(id).or_default();
        let mut todo = vec![facts];
        while let Some(facts) = todo.pop() {
            let is_known = |known: &Assigned| known.facts == facts && known.levels == levels;
            if known.iter().any(is_known) {
                continue;
            }
            for (n, (number, holds)) in facts.iter().enumerate() {
                let mut opposite = facts.clone();
                opposite[n] = (*number, !holds);
                let found = |known: &Assigned| known.facts == opposite && known.levels == levels;
                if known.iter().any(found) {
                    let mut rest = facts.clone();
                    rest.remove(n);
                    todo.push(rest);
                }
            }
            known.push(Assigned {
                facts,
                levels: levels.clone(),
            });
        }
    }

    /// What follows from a condition that holds, or does not.
    fn learn(&mut self, condition: &Expr, holds: bool) -> Vec<Fact> {
        match &condition.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.learn(operand, !holds),
            ExprKind::Binary(BinaryOp::And, left, right) if holds => self.both(left, right, true),
            ExprKind::Binary(BinaryOp::Or, left, right) if !holds => self.both(left, right, false),
            ExprKind::Access {
                target: Target::Temp(id),
                offset: Offset::ZERO,
                ..
            } if self.kept.contains_key(id) => self.kept[id][usize::from(!holds)].clone(),
            _ => {
                let (key, axes) = self.key(condition.clone());
                vec![(self.number(key, axes), holds)]
            }
        }
    }

    fn both(&mut self, left: &Expr, right: &Expr, hold: bool) -> Vec<Fact> {
        let mut facts = self.learn(left, hold);
        facts.extend(self.learn(right, hold));
        facts
    }

    /// What an expression computes, equal for expressions that have the same value; and along which axes it may change.
    fn key(&self, mut expr: Expr) -> (String, Axes) {
        let mut versions = Vec::new();
        let mut axes = [false; 3];
        expr.walk_mut(|node| {
            node.span = Span::default();
            match node.kind {
                ExprKind::Access { target, .. } => {
                    versions.push(self.versions.get(&target).copied().unwrap_or_default());
                    for axis in self.stencil.target_axes(target).iter() {
                        axes[axis.index()] = true;
                    }
                }
                ExprKind::Position(axis) => axes[axis.index()] = true,
                _ => {}
            }
        });
        (format!("{:?} {versions:?}", expr.kind), Axes(axes))
    }

    fn number(&mut self, key: String, axes: Axes) -> usize {
        let next = self.known.len();
        let number = *self.known.entry(key).or_insert(next);
        if number == next {
            self.axes.push(axes);
        }
        number
    }
}
