//! Which targets are taken apart: those whose elements are told apart sooner than they are found in memory.

use std::collections::{HashMap, HashSet};

use super::{Indices, constant};
use crate::ir::{ExprKind, FieldId, Stencil, StmtKind, Subscript, Target, TempId};

/// Elements of a field at indices that are computed that are read faster by comparing the index with all of them than from
/// where they lie, and elements that are written so; measured within caches and beyond.
const READ: u64 = 8;
const WRITTEN: u64 = 4;

/// Elements of any target that are told apart at most.
const MANY: u64 = 256;

/// The targets whose elements are taken apart.
#[derive(Default)]
pub(super) struct Targets {
    pub apart: HashSet<Target>,
    /// Those of them that stay whole beside their elements, for accesses at indices that are computed.
    pub whole: HashSet<Target>,
}

/// How a target is accessed.
#[derive(Clone, Copy, Default)]
struct Uses {
    written: bool,
    /// At indices that are computed, and at such that differ from point to point.
    computed: bool,
    varies: bool,
}

pub(super) fn targets(
    stencil: &Stencil,
    indices: Indices,
    wanted: impl Fn(Target) -> bool,
) -> Targets {
    let fields = (0..stencil.fields.len() as u32).map(|id| Target::Field(FieldId(id)));
    let temporaries = (0..stencil.temporaries.len() as u32).map(|id| Target::Temp(TempId(id)));
    let mut found = Targets::default();
    let with_data = |target: &Target| !stencil.data_dims(*target).is_empty() && wanted(*target);
    let targets: Vec<Target> = fields.chain(temporaries).filter(with_data).collect();
    if targets.is_empty() {
        return found;
    }
    let uses = uses(stencil);
    for target in targets {
        let uses = uses.get(&target).copied().unwrap_or_default();
        let sizes = stencil.data_dims(target).iter();
        let elements: u64 = sizes.map(|size| u64::from(*size)).product();
        let most = match (indices, target) {
            (Indices::Constant, _) => 0,
            (Indices::Any, _) | (Indices::Near, Target::Temp(_)) => MANY,
            // Where it lies is the same for all points.
            (Indices::Near, Target::Field(_)) if !uses.varies => 0,
            (Indices::Near, Target::Field(_)) if uses.written => WRITTEN,
            (Indices::Near, Target::Field(_)) => READ,
        };
        if !uses.computed || elements <= most {
            found.apart.insert(target);
        } else if indices == Indices::Near && !uses.written {
            found.apart.insert(target);
            found.whole.insert(target);
        }
    }
    found
}

fn uses(stencil: &Stencil) -> HashMap<Target, Uses> {
    let mut found: HashMap<Target, Uses> = HashMap::new();
    let mut note = |target: Target, subscript: Option<&Subscript>, written: bool| {
        let uses = found.entry(target).or_default();
        uses.written |= written;
        for index in subscript.map_or(&[][..], Subscript::indices) {
            uses.computed |= constant(index).is_none();
            index.walk(|node| uses.varies |= matches!(node.kind, ExprKind::Access { .. }));
        }
    };
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    for stmt in sections.flat_map(|section| &section.body) {
        stmt.walk(&mut |stmt| {
            if let StmtKind::Assign {
                target, subscript, ..
            } = &stmt.kind
            {
                note(*target, subscript.as_deref(), true);
            }
            for expr in stmt.expressions() {
                expr.walk(|node| {
                    if let ExprKind::Access {
                        target, subscript, ..
                    } = &node.kind
                    {
                        note(*target, subscript.as_deref(), false);
                    }
                });
            }
        });
    }
    found
}
