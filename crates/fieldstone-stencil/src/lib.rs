//! Stencil IR of fieldstone: what a stencil computes, and the decisions on how it is computed.
//!
//! Data flows downwards:
//!
//! | module | what lives there |
//! |---|---|
//! | [`source`] | source files and the spans that point into them |
//! | [`diagnostic`] | a diagnostic as a value, and its rendering |
//! | [`suggest`] | the known name that an unknown one is probably meant to be |
//! | [`dtype`], [`grid`] | element types; axes, offsets, intervals, extents |
//! | [`ir`], [`visit`] | the stencil itself, and walks over it |
//! | [`fast_math`] | what arithmetic may do to results, for speed |
//! | [`types`] | types of every expression |
//! | [`elements`] | elements of data dimensions as fields and temporaries of their own |
//! | [`bounds`] | intervals whose bounds are known at run time |
//! | [`branches`] | `if` statements that can run point by point |
//! | [`verify`] | the rules that typed IR keeps |
//! | [`analysis`] | access kinds, extents and levels |
//! | [`text`] | the text form of the IR: printer and parser |
//! | [`power`] | powers with small exponents as multiplications |
//! | [`program`] | all of the above in one value, which backends start from |
//! | [`values`], [`carried`] | one temporary for each value, also for those carried in fields |
//! | `generate` | random stencils, for tests; behind the feature of that name |
//! | [`schedule`] | how a program is computed |
pub mod analysis;
pub mod bounds;
pub mod branches;
pub mod carried;
pub mod diagnostic;
pub mod dtype;
pub mod elements;
pub mod fast_math;
#[cfg(feature = "generate")]
pub mod generate;
pub mod grid;
pub mod ir;
pub mod power;
pub mod program;
pub mod schedule;
pub mod source;
pub mod suggest;
pub mod text;
pub mod types;
pub mod values;
pub mod verify;
pub mod visit;

pub use analysis::Analysis;
pub use diagnostic::{Code, Diagnostic, Diagnostics, Label, Severity};
pub use dtype::DType;
pub use grid::{Area, Axes, Axis, Bound, Extent, Interval, Level, Offset};
pub use program::Program;
pub use source::{Call, Source, SourceId, SourceMap, Span};
