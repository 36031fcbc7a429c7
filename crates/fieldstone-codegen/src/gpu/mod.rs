//! Stencils for blocks of threads: on accelerators, and on a processor that does what an accelerator would.
//!
//! | module | what lives there |
//! |---|---|
//! | [`plan`] | how arrays of one layout are computed with, up to LLVM IR |
//! | `shape` | threads and points of a block, temporaries in shared memory |
//! | `place` | where temporaries live |
//! | [`phases`] | what a block computes between two barriers |

pub mod phases;
mod place;
pub mod plan;
mod shape;

pub use shape::{Shape, Shared, order};
