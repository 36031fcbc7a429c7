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

use crate::analysis::access::{conditional_neighbour, is_moved, is_neighbour};
use crate::dtype::DType;
use crate::grid::{Area, Offset};
use crate::ir::{
    Expr, ExprKind, FieldId, Literal, Order, Stencil, Stmt, StmtKind, Subscript, Target, TempId,
    Temporary,
};
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
        StmtKind::While { .. } => {
            rule == Rule::Everything && !loop_fields(stencil, stmt).is_empty()
        }
        StmtKind::Assign { .. } | StmtKind::Require { .. } => false,
    }
}

/// Fields that a `while` assigns at the point itself only, beside other targets.
fn loop_fields(stencil: &Stencil, stmt: &Stmt) -> Vec<FieldId> {
    let (mut fields, mut targets) = (Vec::new(), HashSet::new());
    let mut moved = HashSet::new();
    accesses(slice::from_ref(stmt), &mut |access| {
        if access.write {
            targets.insert(access.target);
            if is_moved(&access) {
                moved.insert(access.target);
            }
            if let Target::Field(id) = access.target
                && stencil.field(id).data_dims.is_empty()
                && !fields.contains(&id)
            {
                fields.push(id);
            }
        }
    });
    // Which level is assigned may be this one: a temporary would hide it from the reads behind the loop.
    fields.retain(|id| !moved.contains(&Target::Field(*id)));
    if targets.len() > 1 {
        fields
    } else {
        Vec::new()
    }
}

/// Whether a condition is around a region.
fn has_region(stmt: &Stmt) -> bool {
    stmt.inner().any(|inner| match &inner.kind {
        StmtKind::Region { .. } => true,
        StmtKind::If { .. } => has_region(inner),
        StmtKind::Assign { .. } | StmtKind::While { .. } | StmtKind::Require { .. } => false,
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
        StmtKind::While { .. } if split => return in_temporaries(stencil, stmt, guards, out),
        _ => {
            out.push(guarded(vec![stmt], guards));
            return;
        }
    };
    let temporary = TempId(stencil.temporaries.len() as u32);
    let name = free_name(stencil, "condition");
    let kept = Temporary::at_every_point(name, Some(DType::Bool), condition.span);
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

/// Appends a `while` whose fields are temporaries, and behind it what assigns the fields where there was a round.
fn in_temporaries(stencil: &mut Stencil, mut stmt: Stmt, guards: &[Guard], out: &mut Vec<Stmt>) {
    let fields = loop_fields(stencil, &stmt);
    let span = stmt.span;
    let temporary = |stencil: &mut Stencil, name: &str, dtype: DType| {
        let id = TempId(stencil.temporaries.len() as u32);
        let name = free_name(stencil, name);
        let fresh = Temporary::at_every_point(name, Some(dtype), span);
        stencil.temporaries.push(fresh);
        id
    };
    let ran = temporary(stencil, "round", DType::Bool);
    let kept: Vec<(FieldId, TempId)> = (fields.into_iter())
        .map(|field| {
            let dtype = stencil.field(field).dtype;
            (field, temporary(stencil, "loop", dtype))
        })
        .collect();
    let value = |kind: ExprKind, dtype: DType| Expr {
        kind,
        dtype: Some(dtype),
        span,
    };
    let truth = |holds| value(ExprKind::Literal(Literal::Bool(holds)), DType::Bool);
    let assign = |target, value| Stmt::assign(target, span, value, span);
    out.push(guarded(
        vec![assign(Target::Temp(ran), truth(false))],
        guards,
    ));
    for (field, temp) in &kept {
        let dtype = stencil.field(*field).dtype;
        // What a round may leave as it is comes from before the loop.
        let mut read = !stmt.inner().any(|inner| {
            matches!(&inner.kind, StmtKind::Assign { target, offset, subscript: None, .. }
                if *target == Target::Field(*field) && *offset == Offset::ZERO)
        });
        accesses(slice::from_ref(&stmt), &mut |access| {
            read |= !access.write && access.target == Target::Field(*field);
        });
        let first = match (read, dtype) {
            (true, _) => ExprKind::read(Target::Field(*field), Offset::ZERO),
            (false, DType::Bool) => ExprKind::Literal(Literal::Bool(false)),
            (false, _) => ExprKind::Literal(Literal::Int(0)),
        };
        let first = assign(Target::Temp(*temp), value(first, dtype));
        out.push(guarded(vec![first], guards));
    }
    let renamed = |target: Target, offset: Offset, subscript: &Option<Box<Subscript>>| {
        let here = offset == Offset::ZERO && subscript.is_none();
        let found = kept
            .iter()
            .find(|(field, _)| target == Target::Field(*field));
        found
            .filter(|_| here)
            .map_or(target, |(_, temp)| Target::Temp(*temp))
    };
    stmt.walk_mut(&mut |stmt| {
        for expr in stmt.expressions_mut() {
            expr.walk_mut(|node| {
                if let ExprKind::Access {
                    target,
                    offset,
                    subscript,
                } = &mut node.kind
                {
                    *target = renamed(*target, *offset, subscript);
                }
            });
        }
        if let StmtKind::Assign {
            target,
            offset,
            subscript,
            ..
        } = &mut stmt.kind
        {
            *target = renamed(*target, *offset, subscript);
        }
    });
    if let StmtKind::While { body, .. } = &mut stmt.kind {
        body.insert(0, assign(Target::Temp(ran), truth(true)));
    }
    out.push(guarded(vec![stmt], guards));
    let guards: Vec<Guard> = guards
        .iter()
        .copied()
        .chain([Guard::Kept(ran, span, true)])
        .collect();
    for (field, temp) in kept {
        let dtype = stencil.field(field).dtype;
        let result = value(ExprKind::read(Target::Temp(temp), Offset::ZERO), dtype);
        let result = assign(Target::Field(field), result);
        out.push(guarded(vec![result], &guards));
    }
}

fn free_name(stencil: &Stencil, stem: &str) -> String {
    let taken: HashSet<&str> = stencil
        .temporaries
        .iter()
        .map(|t| t.name.as_str())
        .collect();
    (1..)
        .map(|n| format!("{stem}@{n}"))
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
    /// What is written at other levels.
    moved: HashSet<Target>,
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
                let moved = self.moved.contains(&target);
                let axes = stencil.target_axes(target);
                is_neighbour(order, axes, access.offset, access.level, moved)
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
                if is_moved(&access) {
                    self.moved.insert(target);
                }
            } else if !access.offset.is_vertical() || order == Order::Parallel {
                let axes = stencil.target_axes(target);
                if is_neighbour(order, axes, access.offset, access.level, true) {
                    self.neighbours.insert(target);
                }
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
