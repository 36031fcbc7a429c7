//! Leaves out arguments of functions that were stored in a temporary and are not read from it.

use std::collections::HashSet;

use fieldstone_stencil::ir::{Stencil, Stmt, StmtKind, Target, TempId};
use fieldstone_stencil::visit::{accesses, reads};

/// Removes what is assigned to those of `stored` that nothing reads.
pub fn prune(stencil: &mut Stencil, stored: &HashSet<TempId>) {
    if stored.is_empty() {
        return;
    }
    let mut read: HashSet<Target> = HashSet::new();
    // Backwards: a stored argument is read behind its one assignment, and may have been the only reader of another.
    for computation in stencil.computations.iter_mut().rev() {
        for section in computation.sections.iter_mut().rev() {
            statements(&mut section.body, stored, &mut read);
        }
    }
    let mut kept = 0;
    let new: Vec<Option<TempId>> = (0..stencil.temporaries.len() as u32)
        .map(|id| {
            let unread = stored.contains(&TempId(id)) && !read.contains(&Target::Temp(TempId(id)));
            (!unread).then(|| {
                kept += 1;
                TempId(kept - 1)
            })
        })
        .collect();
    if kept as usize == new.len() {
        return;
    }
    let mut number = 0;
    stencil.temporaries.retain(|_| {
        number += 1;
        new[number - 1].is_some()
    });
    for computation in &mut stencil.computations {
        for section in &mut computation.sections {
            section
                .body
                .iter_mut()
                .for_each(|statement| renumber(statement, &new));
        }
    }
}

fn statements(body: &mut Vec<Stmt>, stored: &HashSet<TempId>, read: &mut HashSet<Target>) {
    let mut kept = Vec::with_capacity(body.len());
    for mut statement in std::mem::take(body).into_iter().rev() {
        match &mut statement.kind {
            StmtKind::Assign { target, .. } => {
                if matches!(target, Target::Temp(id) if stored.contains(id))
                    && !read.contains(target)
                {
                    continue;
                }
            }
            StmtKind::If { then, orelse, .. } => {
                statements(orelse, stored, read);
                statements(then, stored, read);
            }
            StmtKind::Require { .. } => {}
            StmtKind::Region { body, .. } => statements(body, stored, read),
            StmtKind::While { body, .. } => {
                // A round may read what the round before wrote.
                accesses(body, &mut |access| {
                    if !access.write {
                        read.insert(access.target);
                    }
                });
                statements(body, stored, read);
            }
        }
        for expr in statement.expressions() {
            reads(expr, &mut |access| {
                read.insert(access.target);
            });
        }
        kept.push(statement);
    }
    kept.reverse();
    *body = kept;
}

fn renumber(statement: &mut Stmt, new: &[Option<TempId>]) {
    statement.walk_mut(&mut |statement| {
        for expr in statement.expressions_mut() {
            expr.each_target(&mut |target| rename(target, new));
        }
        if let StmtKind::Assign { target, .. } = &mut statement.kind {
            rename(target, new);
        }
    });
}

fn rename(target: &mut Target, new: &[Option<TempId>]) {
    if let Target::Temp(id) = target
        && let Some(new) = new[id.0 as usize]
    {
        *id = new;
    }
}
