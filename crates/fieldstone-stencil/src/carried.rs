//! Fields that a vertical sweep writes and reads back at levels it has visited.
//!
//! ```text
//! backward {                        backward {
//!   interval end-1..end {             interval end-1..end {
//!     x = d                             x@ = d
//!   }                                   x = x@
//!   interval 0..end-1 {     becomes   }
//!     x = d - c * x[0, 0, 1]          interval 0..end-1 {
//!   }                                   x@ = d - c * x@[0, 0, 1]
//! }                                     x = x@
//!                                     }
//!                                   }
//! ```
//!
//! The temporary needs no more than the levels that are read back, and the field is only written, which can be done past the
//! caches.

use std::collections::{HashMap, HashSet};

use crate::analysis::Analysis;
use crate::grid::{Axes, Axis, Bound, Interval, Offset};
use crate::ir::{
    Computation, Expr, ExprKind, FieldId, Order, Section, Stencil, Stmt, StmtKind, Target, TempId,
    Temporary,
};
use crate::visit::Accesses;

/// Carries from level to level in temporaries what is carried in fields, where that changes nothing.
pub fn in_temporaries(mut stencil: Stencil, analysis: &Analysis) -> Stencil {
    for number in 0..stencil.fields.len() {
        let id = FieldId(number as u32);
        let extent = analysis.fields[number].extent;
        let (before, after) = extent.along(Axis::K);
        let inside = extent.is_vertical() && before <= 0 && after <= 0;
        let home = home(&stencil, id).filter(|_| inside);
        let Some(home) = home.filter(|home| is_carried(&stencil, *home, id)) else {
            continue;
        };
        let temporary = TempId(stencil.temporaries.len() as u32);
        let field = stencil.field(id);
        let name = format!("{}@", field.name);
        let fresh = Temporary::at_every_point(name, Some(field.dtype), field.span);
        stencil.temporaries.push(fresh);
        for section in &mut stencil.computations[home].sections {
            carry(section, id, temporary);
        }
    }
    stencil
}

/// The one computation that accesses a field along all three axes.
fn home(stencil: &Stencil, id: FieldId) -> Option<usize> {
    let accesses = |computation: &Computation| {
        let mut statements = computation
            .sections
            .iter()
            .flat_map(|section| &section.body);
        statements.any(|statement| touches(&Accesses::of(statement), Target::Field(id)))
    };
    let mut homes = (0..stencil.computations.len()).filter(|n| accesses(&stencil.computations[*n]));
    let home = homes.next()?;
    let only = homes.next().is_none() && stencil.field(id).axes == Axes::IJK;
    only.then_some(home)
}

fn touches(accesses: &Accesses, target: Target) -> bool {
    accesses.reads.iter().any(|(read, _)| *read == target)
        || accesses
            .writes
            .iter()
            .any(|(written, _)| *written == target)
}

/// Whether a sweep writes every level of a field, always, and reads it only where it was written before.
fn is_carried(stencil: &Stencil, home: usize, id: FieldId) -> bool {
    let computation = &stencil.computations[home];
    let visited = |offset: Offset| match computation.order {
        Order::Forward => offset.along(Axis::K) < 0,
        Order::Backward => offset.along(Axis::K) > 0,
        Order::Parallel => false,
    };
    let mut carries = false;
    for section in &computation.sections {
        let mut written = false;
        for statement in &section.body {
            let accesses = Accesses::of(statement);
            if accesses.afar.contains(&Target::Field(id)) {
                return false;
            }
            for (target, offset) in &accesses.reads {
                if *target != Target::Field(id) {
                    continue;
                }
                let before = visited(*offset) || (*offset == Offset::ZERO && written);
                if !offset.is_vertical() || !before {
                    return false;
                }
                carries = true;
            }
            for (target, conditional) in &accesses.writes {
                if *target == Target::Field(id) {
                    if *conditional {
                        return false;
                    }
                    written = true;
                }
            }
        }
        if !written {
            return false;
        }
    }
    carries && cover(computation.sections.iter().map(|section| section.interval))
}

/// Whether intervals, in any order, cover every level of every domain.
pub fn cover(intervals: impl IntoIterator<Item = Interval>) -> bool {
    let next: HashMap<Bound, Bound> = intervals
        .into_iter()
        .map(|interval| (interval.start, interval.end))
        .collect();
    let (mut reached, mut seen) = (Bound::START, HashSet::new());
    while reached != Bound::END && seen.insert(reached) {
        let Some(end) = next.get(&reached) else {
            return false;
        };
        reached = *end;
    }
    reached == Bound::END
}

fn carry(section: &mut Section, id: FieldId, temporary: TempId) {
    let mut body = Vec::with_capacity(section.body.len() + 1);
    for mut statement in std::mem::take(&mut section.body) {
        rename(&mut statement, id, temporary);
        let copy = match &mut statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                value,
                ..
            } if *target == Target::Field(id) => {
                *target = Target::Temp(temporary);
                let copied = Expr {
                    kind: ExprKind::read(Target::Temp(temporary), Offset::ZERO),
                    dtype: value.dtype,
                    span: value.span,
                };
                let (field, span) = (Target::Field(id), statement.span);
                Some(Stmt::assign(field, *target_span, copied, span))
            }
            _ => None,
        };
        body.push(statement);
        body.extend(copy);
    }
    section.body = body;
}

fn rename(statement: &mut Stmt, id: FieldId, temporary: TempId) {
    statement.walk_mut(&mut |statement| {
        for expr in statement.expressions_mut() {
            rename_reads(expr, id, temporary);
        }
    });
}

fn rename_reads(expr: &mut Expr, id: FieldId, temporary: TempId) {
    expr.each_target(&mut |target| {
        if *target == Target::Field(id) {
            *target = Target::Temp(temporary);
        }
    });
}
