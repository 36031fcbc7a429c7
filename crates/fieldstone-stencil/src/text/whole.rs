//! Assignments of all elements of a target, one after the other, as one of the whole target.

use crate::elements::{constant, every_index};
use crate::ir::{Expr, ExprKind, LevelIndex, Stencil, Stmt, StmtKind, Subscript, Target};

/// The assignment that the first statements together are, and how many these are: `v = 2.0 * w` for `v[0] = 2.0 * w[0]` and
/// so on. What it reads of all elements has a subscript without indices.
pub(super) fn assignment(stencil: &Stencil, body: &[Stmt]) -> Option<(Stmt, usize)> {
    let StmtKind::Assign { target, .. } = body.first()?.kind else {
        return None;
    };
    let sizes = stencil.data_dims(target);
    if sizes.is_empty() {
        return None;
    }
    let indices = every_index(sizes);
    let copies: Vec<&Expr> = (indices.iter().zip(body))
        .map_while(|(index, stmt)| match &stmt.kind {
            StmtKind::Assign {
                target: of,
                offset,
                subscript: Some(subscript),
                value,
                ..
            } if *of == target
                && *offset == crate::Offset::ZERO
                && subscript.level == LevelIndex::Constant
                && known(subscript).as_ref() == Some(index) =>
            {
                Some(value)
            }
            _ => None,
        })
        .collect();
    if copies.len() < indices.len() {
        return None;
    }
    let whole = Whole {
        stencil,
        target,
        indices: &indices,
    };
    let mut stmt = body[0].clone();
    let StmtKind::Assign {
        subscript, value, ..
    } = &mut stmt.kind
    else {
        return None;
    };
    *subscript = None;
    whole.of(value, &copies).then_some((stmt, indices.len()))
}

fn known(subscript: &Subscript) -> Option<Vec<u32>> {
    subscript.indices().iter().map(constant).collect()
}

struct Whole<'a> {
    stencil: &'a Stencil,
    target: Target,
    indices: &'a [Vec<u32>],
}

impl<'a> Whole<'a> {
    /// Makes a value that of all elements, if the copies are its elements.
    fn of(&self, value: &mut Expr, copies: &[&'a Expr]) -> bool {
        let mut todo = vec![(value, copies.to_vec())];
        while let Some((value, copies)) = todo.pop() {
            if !copies.iter().all(|copy| is_same_operation(value, copy)) {
                return false;
            }
            if let ExprKind::Access { .. } = value.kind {
                if !self.access(value, &copies) {
                    return false;
                }
                continue;
            }
            let mut operands: Vec<_> = copies.iter().map(|copy| copy.operands()).collect();
            for operand in value.operands_mut() {
                let copies = operands.iter_mut().flat_map(Iterator::next).collect();
                todo.push((operand, copies));
            }
        }
        true
    }

    /// Makes an access one to all elements, if each copy accesses its own. Others must be the same in every copy, and of other
    /// targets: what is assigned is read before.
    fn access(&self, value: &mut Expr, copies: &[&Expr]) -> bool {
        let ExprKind::Access {
            target, subscript, ..
        } = &mut value.kind
        else {
            return false;
        };
        let Some(mine) = subscript.as_deref_mut().filter(|s| !s.indices().is_empty()) else {
            return copies
                .iter()
                .all(|copy| subscript_of(copy) == subscript.as_deref());
        };
        let levels = (copies.iter()).all(|copy| {
            subscript_of(copy).is_some_and(|s| (s.level, s.level()) == (mine.level, mine.level()))
        });
        let own = self.stencil.data_dims(*target) == self.stencil.data_dims(self.target)
            && (copies.iter().zip(self.indices))
                .all(|(copy, index)| subscript_of(copy).and_then(known).as_ref() == Some(index));
        if levels && own {
            let level = mine.level().cloned();
            *subscript = level.map(|level| {
                Box::new(Subscript {
                    level: mine.level,
                    operands: vec![level],
                })
            });
            return true;
        }
        *target != self.target && copies.iter().all(|copy| subscript_of(copy) == Some(&*mine))
    }
}

fn subscript_of(access: &Expr) -> Option<&Subscript> {
    match &access.kind {
        ExprKind::Access { subscript, .. } => subscript.as_deref(),
        _ => None,
    }
}

/// Whether two expressions are the same, save for their operands.
fn is_same_operation(a: &Expr, b: &Expr) -> bool {
    use ExprKind::{Access, Binary, Call, Cast, Compare, Select, Unary};
    a.dtype == b.dtype
        && match (&a.kind, &b.kind) {
            (
                Access { target, offset, .. },
                Access {
                    target: other,
                    offset: away,
                    ..
                },
            ) => target == other && offset == away,
            (Unary(a, _), Unary(b, _)) => a == b,
            (Binary(a, ..), Binary(b, ..)) => a == b,
            (Compare(a, ..), Compare(b, ..)) => a == b,
            (Select(..), Select(..)) | (Cast(_), Cast(_)) => true,
            (Call(a, operands), Call(b, others)) => a == b && operands.len() == others.len(),
            (a, b) => a == b,
        }
}
