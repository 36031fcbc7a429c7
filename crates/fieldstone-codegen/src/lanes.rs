//! How wide the numbers are that a stage computes with.

use std::cell::Cell;

use fieldstone_stencil::DType;
use fieldstone_stencil::ir::{Stencil, StmtKind};
use fieldstone_stencil::schedule::Stage;

/// Bytes of the widest type that a stage computes with.
pub fn widest(stencil: &Stencil, stage: &Stage) -> usize {
    let size = Cell::new(1);
    let note = |dtype: DType| size.set(size.get().max(dtype.size()));
    for statement in &stage.statements {
        statement.walk(&mut |statement| {
            for expression in statement.expressions() {
                expression.walk(|part| note(part.dtype()));
            }
            if let StmtKind::Assign { target, .. } = &statement.kind {
                note(stencil.target_dtype(*target));
            }
        });
    }
    size.get()
}
