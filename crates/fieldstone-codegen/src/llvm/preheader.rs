//! What a stage accesses in a row, and what of it is computed once for the row.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::ir::{Expr, ExprKind, LevelIndex, Stmt, StmtKind, Target};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Offset};

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::level;
use super::memory::load_scalar;
use super::place::{self, Row, RowPointer, Spacing};

/// What is computed once for a row.
pub(super) struct Preheader {
    pointers: HashMap<(Target, Offset), RowPointer>,
    /// Rows at the first level of the domain, and bytes from one level to the next, of accesses whose level is computed.
    pub(super) levels: HashMap<(Target, Offset), (RowPointer, String)>,
    /// Values that are the same for the whole row.
    pub(super) uniforms: HashMap<(Target, Offset), String>,
}

/// Addresses of what a stage accesses in a row. What is the same for all points is loaded on request; otherwise where it is
/// used.
pub(super) fn preheader(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    row: &Row,
    load_uniforms: bool,
) -> Preheader {
    let mut needed = Vec::new();
    for statement in &stage.statements {
        let mut written = Vec::new();
        let mut read = |expr: &Expr| {
            if let ExprKind::Access {
                target,
                offset,
                subscript,
            } = &expr.kind
            {
                needed.push((*target, *offset, level::of(subscript.as_deref())));
            }
        };
        visit(statement, &mut read, &mut |target, offset, level| {
            written.push((target, offset, level))
        });
        needed.extend(written);
    }
    let mut preheader = Preheader {
        pointers: HashMap::new(),
        levels: HashMap::new(),
        uniforms: HashMap::new(),
    };
    for (target, offset, level) in needed {
        if level != LevelIndex::Constant {
            let key = (target, level::base(offset, row.vector));
            (preheader.levels.entry(key))
                .or_insert_with(|| place::level_pointer(context, entry, b, row, target, key.1));
            continue;
        }
        let key = (target, across(offset, row.vector));
        if preheader.pointers.contains_key(&key) {
            continue;
        }
        let pointer = place::row_pointer(context, entry, b, row, key.0, key.1);
        let fixed = pointer.pitch.as_ref().is_none_or(|pitch| pitch == "0");
        let uniform = pointer.spacing == Spacing::Uniform && fixed;
        if load_uniforms && uniform && place::is_number(context, key.0) {
            let value = load_scalar(b, place::dtype(context, key.0), &pointer.pointer);
            preheader.uniforms.insert(key, value);
        }
        preheader.pointers.insert(key, pointer);
    }
    preheader
}

impl Preheader {
    /// Of one access.
    pub(super) fn of(
        context: &Context<'_>,
        entry: &Entry,
        b: &mut Builder,
        row: &Row,
        (target, offset): (Target, Offset),
    ) -> Preheader {
        let pointer = place::row_pointer(context, entry, b, row, target, offset);
        Preheader {
            pointers: HashMap::from([((target, offset), pointer)]),
            levels: HashMap::new(),
            uniforms: HashMap::new(),
        }
    }

    pub(super) fn pointer(&self, target: Target, across: Offset) -> RowPointer {
        self.pointers[&(target, across)].clone()
    }

    /// The pointer to a row that is accessed at a level that is not computed; `None` where the stage accesses none.
    pub(super) fn known_pointer(&self, target: Target, across: Offset) -> Option<&RowPointer> {
        self.pointers.get(&(target, across))
    }
}

/// What a stage accesses.
pub(super) fn accessed(stage: &Stage) -> HashSet<Target> {
    let accesses = stage.statements.iter().map(Accesses::of);
    let both = accesses.flat_map(|accesses| {
        let read: Vec<Target> = accesses.reads.iter().map(|(target, _)| *target).collect();
        read.into_iter()
            .chain(accesses.written().collect::<Vec<_>>())
    });
    both.collect()
}

/// An offset without its part along a row.
pub(super) fn across(offset: Offset, vector: Axis) -> Offset {
    let mut across = offset;
    across.0[vector.index()] = 0;
    across
}

/// Calls `expression` on every expression of a statement and `written` on every target.
pub(super) fn visit<'s>(
    statement: &'s Stmt,
    expression: &mut impl FnMut(&'s Expr),
    written: &mut impl FnMut(Target, Offset, LevelIndex),
) {
    statement.walk(&mut |statement| {
        statement
            .expressions()
            .for_each(|expr| expr.walk(&mut *expression));
        if let StmtKind::Assign {
            target,
            offset,
            subscript,
            ..
        } = &statement.kind
        {
            written(*target, *offset, level::of(subscript.as_deref()));
        }
    });
}
