//! How many points of a row a stage computes at once.

use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::Stage;

use super::entry::Context;
use super::types::Lanes;
use crate::lanes::widest;

/// Lanes in which a stage is computed for so many points, which are a multiple of them.
pub(super) fn lanes(context: &Context<'_>, stage: &Stage, points: usize) -> Lanes {
    Lanes {
        width: register_width(context, stage).min(points),
    }
}

/// Lanes of the widest type of a stage that fill a register; one where it never has as many points.
pub(super) fn width(context: &Context<'_>, stage: &Stage, vector: Axis) -> usize {
    at_most(stage, vector, register_width(context, stage))
}

/// The same of a row whose results may go past the caches, which they do line by line.
pub(super) fn line_of_points(context: &Context<'_>, stage: &Stage, vector: Axis) -> usize {
    let lanes = context.target.row_bytes() / widest(&context.program.stencil, stage);
    at_most(stage, vector, lanes)
}

fn at_most(stage: &Stage, vector: Axis, lanes: usize) -> usize {
    match stage.area.along(vector).points() {
        Some(points) if points < lanes => 1,
        _ => lanes,
    }
}

fn register_width(context: &Context<'_>, stage: &Stage) -> usize {
    context.target.vector_bytes() / widest(&context.program.stencil, stage)
}
