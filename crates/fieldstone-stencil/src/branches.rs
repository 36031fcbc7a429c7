//! Splits `if` statements whose branches read neighbours that the same `if` assigns, assign names that are needed on different
//! extents, or have regions in them; and regions of several statements into one for each.
//!
//! Statements run one after the other over the whole domain, those in a branch like all others; but backends want to run an
//! `if` at one point after the other, on one extent. Where that would make a difference, the condition is kept in a temporary
//! and every group of statements that may run point by point gets an `if` of its own:
//!
//! ```text
//! if c:                        condition@1 = c
//!     a = b          becomes   if condition@1:
//!     d = a[1, 0, 0]               a = b
//!                              if condition@1:
//!                                  d = a[1, 0, 0]
//! ```

use std::collections::HashSet;
use std::slice;

use crate::analysis::access::{conditional_neighbour, is_neighbour};
use crate::dtype::DType;
use crate::grid::{Area, Offset};
use crate::ir::{Expr, ExprKind, Order, Stencil, Stmt, StmtKind, Target, TempId, Temporary};
use crate::source::Span;
use crate::visit::accesses;

/// Which `if` statements are split, and how far.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// Those that read neighbours of what they assign, into groups that do not.
    Neighbours,
    /// Every one, into single assignments.
    Everything,
}

/// Splits `if` statements that read neighbours of what they assign or have regions, and regions. Types must be resolved.
pub fn split(mut stencil: Stencil) -> Stencil {
    for computation in 0..stencil.computations.len() {
        let order = stencil.computations[computation].order;
        for section in 0..stencil.computations[computation].sections.len() {
            let body = &stencil.computations[computation].sections[section].body;
            let needed = |stmt| needs_split(&stencil, order, stmt, Rule::Neighbours);
            if body.iter().any(needed) {
                rewrite(&mut stencil, computation, section, |_| Rule::Neighbours);
            }
        }
    }
    stencil
}

/// Splits the statements at `(computation, section, statement)` into single assignments. Types must be resolved.
pub fn split_at(mut stencil: Stencil, statements: &[(usize, usize, usize)]) -> Stencil {
    for sections in statements.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (computation, section, _) = sections[0];
        let rule = |number| match sections.iter().any(|(_, _, stmt)| *stmt == number) {
            true => Rule::Everything,
            false => Rule::Neighbours,
        };
        rewrite(&mut stencil, computation, section, rule);
    }
    stencil
}

fn rewrite(
    stencil: &mut Stencil,
    computation: usize,
    section: usize,
    rule: impl Fn(usize) -> Rule,
) {
    let order = stencil.computations[computation].order;
    let body = std::mem::take(&mut stencil.computations[computation].sections[section].body);
    let mut out = Vec::with_capacity(body.len());
    for (number, stmt) in body.into_iter().enumerate() {
        place(stencil, order, stmt, rule(number), &[], &mut out);
    }
    stencil.computations[computation].sections[section].body = out;
}

fn needs_split(stencil: &Stencil, order: Order, stmt: &Stmt, rule: Rule) -> bool {
    match &stmt.kind {
        StmtKind::Region { body, .. } => match body.as_slice() {
            [inner] => needs_split(stencil, order, inner, rule),
            _ => true,
        },
        StmtKind::If { .. } => {
            rule == Rule::Everything
                || has_region(stmt)
                || conditional_neighbour(stencil, order, stmt).is_some()
        }
        StmtKind::Assign { .. } | StmtKind::While { .. } => false,
    }
}

/// Whether a condition is around a region.
fn has_region(stmt: &Stmt) -> bool {
    stmt.inner().any(|inner| match &inner.kind {
        StmtKind::Region { .. } => true,
        StmtKind::If { .. } => has_region(inner),
        StmtKind::Assign { .. } | StmtKind::While { .. } => false,
    })
}

/// What a statement is inside of.
#[derive(Clone, Copy)]
enum Guard {
    /// A condition that is kept in a temporary, where it stands, and the branch it stands for.
    Kept(TempId, Span, bool),
    /// A region.
    Region(Area, Span),
}

/// Appends a statement that runs where all guards say so.
fn place(
    stencil: &mut Stencil,
    order: Order,
    stmt: Stmt,
    rule: Rule,
    guards: &[Guard],
    out: &mut Vec<Stmt>,
) {
    let split = needs_split(stencil, order, &stmt, rule);
    let (condition, then, orelse) = match stmt.kind {
        StmtKind::Region { area, body } => {
            let guards = in_region(guards, area, stmt.span);
            for inner in body {
                place(stencil, order, inner, rule, &guards, out);
            }
            return;
        }
        StmtKind::If {
            condition,
            then,
            orelse,
        } if split => (condition, then, orelse),
        _ => {
            out.push(guarded(vec![stmt], guards));
            return;
        }
    };
    let temporary = TempId(stencil.temporaries.len() as u32);
    let kept = Temporary::at_every_point(free_name(stencil), Some(DType::Bool), condition.span);
    stencil.temporaries.push(kept);
    let target = Target::Temp(temporary);
    let span = condition.span;
    let kept = Stmt::assign(target, span, condition, span);
    out.push(guarded(vec![kept], guards));
    for (branch, holds) in [(then, true), (orelse, false)] {
        let guards: Vec<Guard> = guards
            .iter()
            .copied()
            .chain([Guard::Kept(temporary, span, holds)])
            .collect();
        let mut group = Group::default();
        for inner in branch {
            let is_region = matches!(inner.kind, StmtKind::Region { .. });
            if is_region || needs_split(stencil, order, &inner, rule) {
                group.close(&guards, out);
                place(stencil, order, inner, rule, &guards, out);
                continue;
            }
            if rule == Rule::Everything || !group.takes(stencil, order, &inner) {
                group.close(&guards, out);
            }
            group.add(stencil, order, inner);
        }
        group.close(&guards, out);
    }
}

/// The guards of what stands in a region: one region for two inside of each other, where one can say what is in both.
fn in_region(guards: &[Guard], area: Area, span: Span) -> Vec<Guard> {
    let mut guards = guards.to_vec();
    for guard in &mut guards {
        if let Guard::Region(outer, _) = guard
            && let Some(both) = outer.intersection(area)
        {
            *outer = both;
            return guards;
        }
    }
    guards.push(Guard::Region(area, span));
    guards
}

fn free_name(stencil: &Stencil) -> String {
    let taken: HashSet<&str> = stencil
        .temporaries
        .iter()
        .map(|t| t.name.as_str())
        .collect();
    (1..)
        .map(|n| format!("condition@{n}"))
        .find(|name| !taken.contains(name.as_str()))
        .unwrap_or_default()
}

/// Statements in an `if` for each kept condition, and these in the regions.
fn guarded(body: Vec<Stmt>, guards: &[Guard]) -> Stmt {
    let mut body = body;
    for guard in guards.iter().rev() {
        let Guard::Kept(temporary, condition_span, holds) = guard else {
            continue;
        };
        let span = body[0].span;
        let condition = Expr {
            kind: ExprKind::read(Target::Temp(*temporary), Offset::ZERO),
            dtype: Some(DType::Bool),
            span: *condition_span,
        };
        let (then, orelse) = if *holds {
            (body, Vec::new())
        } else {
            (Vec::new(), body)
        };
        body = vec![Stmt {
            kind: StmtKind::If {
                condition,
                then,
                orelse,
            },
            span,
        }];
    }
    for guard in guards.iter().rev() {
        if let Guard::Region(area, span) = *guard {
            body = vec![Stmt {
                kind: StmtKind::Region { area, body },
                span,
            }];
        }
    }
    body.remove(0)
}

/// Statements of one branch that may run point by point.
#[derive(Default)]
struct Group {
    body: Vec<Stmt>,
    written: HashSet<Target>,
    neighbours: HashSet<Target>,
}

impl Group {
    fn takes(&self, stencil: &Stencil, order: Order, stmt: &Stmt) -> bool {
        let mut fits = true;
        accesses(slice::from_ref(stmt), &mut |access| {
            let target = access.target;
            let conflict = if access.write {
                self.neighbours.contains(&target)
            } else {
                is_neighbour(order, stencil.target_axes(target), access.offset)
                    && self.written.contains(&target)
            };
            fits &= !conflict;
        });
        fits
    }

    fn add(&mut self, stencil: &Stencil, order: Order, stmt: Stmt) {
        accesses(slice::from_ref(&stmt), &mut |access| {
            let target = access.target;
            if access.write {
                self.written.insert(target);
            } else if is_neighbour(order, stencil.target_axes(target), access.offset) {
                self.neighbours.insert(target);
            }
        });
        self.body.push(stmt);
    }

    fn close(&mut self, guards: &[Guard], out: &mut Vec<Stmt>) {
        let group = std::mem::take(self);
        if !group.body.is_empty() {
            out.push(guarded(group.body, guards));
        }
    }
}
