//! What a statement reads or writes, by its name in the source.

use fieldstone_stencil::ir::{Stencil, Target};
use fieldstone_stencil::{Axes, Span};

/// What is accessed, and how to name it in an error.
pub(super) struct Access {
    pub(super) target: Target,
    pub(super) name: String,
    pub(super) axes: Axes,
    pub(super) span: Span,
    /// Where the target is declared or first assigned.
    pub(super) declared: Span,
}

impl Access {
    pub(super) fn new(stencil: &Stencil, target: Target, span: Span) -> Access {
        Access {
            target,
            name: stencil.source_name(target).to_owned(),
            axes: stencil.target_axes(target),
            span,
            declared: match target {
                Target::Field(id) => stencil.field(id).span,
                Target::Temp(id) => stencil.temporary(id).span,
            },
        }
    }
}
