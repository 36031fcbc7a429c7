//! Rows of which every point is a vector of levels.
//!
//! Where levels follow each other in memory, rows along them are short, and a plane of them is large: what stages need of it does
//! not stay in the nearest cache, and tiles that are small enough compute their edges again and again. Rows along `J` with a
//! vector of levels at each point are long, have their neighbours in registers, and need little of each level. They visit
//! memory in steps, though, so that they pay where stages read what others make at neighbours.

use std::collections::HashSet;

use crate::grid::{Axis, Extent};
use crate::ir::{Stencil, Stmt, StmtKind, Target};
use crate::visit::Accesses;

use super::loops::{is_simple, operations_of};

/// Operations for each field from which on a nest is computed in such rows.
const WORTHWHILE: usize = 10;

/// Whether statements, each with its extent, are faster in rows whose points are vectors.
pub(super) fn is_worthwhile(stencil: &Stencil, statements: Vec<(&Stmt, Extent)>) -> bool {
    let first = statements.first().map(|(_, extent)| *extent);
    // What is computed on one extent only needs no neighbouring rows at hand.
    statements.iter().any(|(_, extent)| Some(*extent) != first)
        && statements
            .iter()
            .all(|(statement, _)| is_plain(stencil, statement))
        && intensity(stencil, statements.iter().map(|(statement, _)| *statement)) >= WORTHWHILE
}

/// Operations for each field with three axes.
fn intensity<'s>(stencil: &Stencil, statements: impl Iterator<Item = &'s Stmt> + Clone) -> usize {
    let mut fields = HashSet::new();
    for accesses in statements.clone().map(Accesses::of) {
        let all = accesses.reads.iter().map(|(target, _)| *target);
        let all = all.chain(accesses.written());
        fields.extend(all.filter(|target| matches!(target, Target::Field(_))));
    }
    fields.retain(|field| stencil.target_axes(*field).len() == Axis::ALL.len());
    operations_of(statements) / fields.len().max(1)
}

/// Whether a statement computes every point, or those of a region, from single elements at known places.
fn is_plain(stencil: &Stencil, statement: &Stmt) -> bool {
    let mut plain = true;
    statement.walk(&mut |inner| {
        let is_region = matches!(inner.kind, StmtKind::Region { .. });
        plain &= is_region || is_simple(stencil, inner);
    });
    plain
}
