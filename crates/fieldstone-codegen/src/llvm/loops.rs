//! The loops of a kernel, and the fields that they visit.

use std::collections::HashSet;

use fieldstone_stencil::ir::{FieldId, Stencil, Stmt, Target as Written};
use fieldstone_stencil::schedule::{ColumnNest, RowNest, Stage};
use fieldstone_stencil::visit::Accesses;

/// The loops of a kernel.
#[derive(Clone, Copy)]
pub(super) enum Loops<'a> {
    Rows(&'a RowNest),
    Columns(&'a ColumnNest),
}

impl<'a> Loops<'a> {
    fn stages(self) -> Box<dyn Iterator<Item = &'a Stage> + 'a> {
        match self {
            Loops::Rows(nest) => Box::new(nest.stages.iter()),
            Loops::Columns(nest) => Box::new(nest.stages()),
        }
    }

    pub fn statements(self) -> impl Iterator<Item = &'a Stmt> {
        self.stages().flat_map(|stage| &stage.statements)
    }

    /// Fields along all three axes that a nest reads or writes.
    pub fn volumes(self, stencil: &Stencil) -> HashSet<Written> {
        volumes(stencil, self.statements())
    }

    /// Fields that a nest writes at every point and never reads.
    pub fn streamed(self) -> HashSet<Written> {
        let (mut written, mut others) = (HashSet::new(), HashSet::new());
        for stage in self.stages() {
            // A stage stores a value once, whatever conditions change it before.
            let mut whole = HashSet::new();
            for accesses in stage.statements.iter().map(Accesses::of) {
                others.extend(accesses.reads.iter().map(|(target, _)| *target));
                others.extend(accesses.afar.iter().copied());
                for (target, conditional) in accesses.writes {
                    match conditional && !whole.contains(&target) {
                        true => others.insert(target),
                        false => whole.insert(target),
                    };
                }
            }
            written.extend(whole);
        }
        written.retain(|target| matches!(target, Written::Field(_)) && !others.contains(target));
        written
    }
}

/// Fields along all three axes that statements read or write.
pub(super) fn volumes<'a>(
    stencil: &Stencil,
    statements: impl Iterator<Item = &'a Stmt>,
) -> HashSet<Written> {
    let mut found = HashSet::new();
    for accesses in statements.map(Accesses::of) {
        found.extend(accesses.reads.iter().map(|(target, _)| *target));
        found.extend(accesses.written());
        found.extend(accesses.afar.iter().copied());
    }
    let whole = |id: FieldId| stencil.field(id).axes.len() == 3;
    found.retain(|target| matches!(target, Written::Field(id) if whole(*id)));
    found
}
