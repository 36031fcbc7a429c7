//! Stencils for blocks of threads: on accelerators, and on a processor that does what an accelerator would.
//!
//! | module | what lives there |
//! |---|---|
//! | [`stencil`] | a stencil on accelerators, its variants |
//! | `code` | where kernels come from: the cache, LLVM, the driver |
//! | `prepared`, `memory` | calls, launches, and memory for temporaries |
//! | `tuning` | which choices are fastest, by measurement |
//! | `graph` | calls that are repeated as one piece of work |
//! | [`plan`], `draft` | how arrays of one layout are computed with, up to LLVM IR |
//! | `room` | what a device has room for |
//! | `shape`, `candidates` | threads and points of a block, temporaries in shared memory; which are fastest |
//! | `recomputation` | what is computed again rather than shared |
//! | `place` | where temporaries live |
//! | [`phases`] | what a block computes between two barriers |

mod candidates;
mod code;
mod draft;
mod graph;
mod memory;
pub mod phases;
mod place;
pub mod plan;
mod prepared;
mod recomputation;
mod room;
mod shape;
pub mod stencil;
mod tuning;

pub use candidates::Need;
pub use draft::Draft;
pub use graph::{Graph, Recorded};
pub use prepared::Prepared;
pub use room::Room;
pub use shape::{Shape, Shared, order};
pub use stencil::{Gpu, Variant, nvidia};
