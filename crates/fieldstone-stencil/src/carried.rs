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
    Expr, ExprKind, FieldId, Order, Section, Stencil, Stmt, StmtKind, Target, TempId, Temporary,
};
use crate::visit::Accesses;

/// Carries from level to level in temporaries what is carried in fields, where that changes nothing.
pub fn in_temporaries(mut stencil: Stencil, analysis: &Analysis) -> Stencil {
    let mut carried = HashMap::new();
    for id in carried_fields(&stencil, analysis) {
        let temporary = TempId(stencil.temporaries.len() as u32);
        let field = stencil.field(id);
        let name = format!("{}@", field.name);
        let fresh = Temporary::at_every_point(name, Some(field.dtype), field.span);
        stencil.temporaries.push(fresh);
        carried.insert(Target::Field(id), Target::Temp(temporary));
    }
    if carried.is_empty() {
        return stencil;
    }
    let sections = stencil.computations.iter_mut();
    for section in sections.flat_map(|computation| &mut computation.sections) {
        carry(section, &carried);
    }
    stencil
}

/// How a field is used by the first computation that accesses it.
struct Uses {
    /// The computation.
    home: usize,
    /// Sections of it that write the field at every point, and the last one of them.
    sections: usize,
    written: Option<usize>,
    /// Whether it is read.
    carries: bool,
    /// Whether something else is done with it.
    fails: bool,
}

/// The fields along all three axes that one sweep accesses and no other: it writes every level, always, and reads only where it
/// wrote before.
fn carried_fields(stencil: &Stencil, analysis: &Analysis) -> Vec<FieldId> {
    let mut found: HashMap<Target, Uses> = HashMap::new();
    for (number, computation) in stencil.computations.iter().enumerate() {
        for (section, body) in computation.sections.iter().map(|s| &s.body).enumerate() {
            for statement in body {
                note(statement, (number, section, computation.order), &mut found);
            }
        }
    }
    let whole: Vec<bool> = (stencil.computations.iter())
        .map(|computation| cover(computation.sections.iter().map(|section| section.interval)))
        .collect();
    let is_carried = |id: &FieldId| {
        let extent = analysis.fields[id.0 as usize].extent;
        let (before, after) = extent.along(Axis::K);
        let inside = extent.is_vertical() && before <= 0 && after <= 0;
        let uses = found.get(&Target::Field(*id));
        uses.is_some_and(|uses| {
            let all = uses.sections == stencil.computations[uses.home].sections.len();
            let always = all && whole[uses.home] && stencil.field(*id).axes == Axes::IJK;
            inside && always && uses.carries && !uses.fails
        })
    };
    let fields = (0..stencil.fields.len() as u32).map(FieldId);
    fields.filter(is_carried).collect()
}

/// Notes what a statement of a section does with fields.
fn note(
    statement: &Stmt,
    (home, section, order): (usize, usize, Order),
    found: &mut HashMap<Target, Uses>,
) {
    let mut uses = |target: Target, note: &dyn Fn(&mut Uses)| {
        let uses = found.entry(target).or_insert(Uses {
            home,
            sections: 0,
            written: None,
            carries: false,
            fails: false,
        });
        uses.fails |= uses.home != home;
        note(uses);
    };
    let visited = |offset: Offset| match order {
        Order::Forward => offset.along(Axis::K) < 0,
        Order::Backward => offset.along(Axis::K) > 0,
        Order::Parallel => false,
    };
    let accesses = Accesses::of(statement);
    for target in &accesses.afar {
        uses(*target, &|uses| uses.fails = true);
    }
    for (target, offset) in &accesses.reads {
        uses(*target, &|uses| {
            let written = uses.written == Some(section);
            let before = visited(*offset) || (*offset == Offset::ZERO && written);
            uses.fails |= !offset.is_vertical() || !before;
            uses.carries = true;
        });
    }
    for (target, conditional) in &accesses.writes {
        uses(*target, &|uses| {
            uses.fails |= *conditional;
            if uses.written != Some(section) {
                uses.sections += 1;
            }
            uses.written = Some(section);
        });
    }
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

fn carry(section: &mut Section, carried: &HashMap<Target, Target>) {
    let mut body = Vec::with_capacity(section.body.len() + 1);
    for mut statement in std::mem::take(&mut section.body) {
        rename_reads(&mut statement, carried);
        let copy = match &mut statement.kind {
            StmtKind::Assign {
                target,
                target_span,
                value,
                ..
            } => carried.get(target).map(|temporary| {
                let copied = Expr {
                    kind: ExprKind::read(*temporary, Offset::ZERO),
                    dtype: value.dtype,
                    span: value.span,
                };
                let field = std::mem::replace(target, *temporary);
                Stmt::assign(field, *target_span, copied, statement.span)
            }),
            _ => None,
        };
        body.push(statement);
        body.extend(copy);
    }
    section.body = body;
}

fn rename_reads(statement: &mut Stmt, carried: &HashMap<Target, Target>) {
    statement.walk_mut(&mut |statement| {
        for expr in statement.expressions_mut() {
            expr.each_target(&mut |target| {
                if let Some(temporary) = carried.get(target) {
                    *target = *temporary;
                }
            });
        }
    });
}
