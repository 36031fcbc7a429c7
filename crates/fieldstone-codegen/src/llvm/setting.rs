//! What the loops of a nest of rows are written with.

use std::collections::HashSet;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::RowNest;

use super::entry::{Context, Entry};

/// A nest of rows, and what is known where its loops are written.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub context: &'a Context<'a>,
    pub entry: &'a Entry,
    pub nest: &'a RowNest,
    /// Temporaries that several stages of the nest write, each at some of the points.
    pub shared: &'a HashSet<Target>,
}
