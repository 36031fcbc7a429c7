//! From a scheduled stencil to something that runs.
pub mod call;
