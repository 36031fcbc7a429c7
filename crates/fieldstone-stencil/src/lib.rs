//! Stencil IR of fieldstone: what a stencil computes, and the decisions on how it is computed.
//!
//! Data flows downwards:
//!
//! | module | what lives there |
//! |---|---|
//! | [`source`] | source files and the spans that point into them |
//! | [`diagnostic`] | a diagnostic as a value, and its rendering |
//! | [`dtype`], [`grid`] | element types; axes, offsets, intervals, extents |
//! | [`ir`] | the stencil itself |
pub mod diagnostic;
pub mod dtype;
pub mod grid;
pub mod ir;
pub mod source;

pub use diagnostic::{Code, Diagnostic, Label, Severity};
pub use dtype::DType;
pub use grid::{Axes, Axis, Bound, Extent, Interval, Level, Offset};
pub use source::{Source, SourceId, SourceMap, Span};
