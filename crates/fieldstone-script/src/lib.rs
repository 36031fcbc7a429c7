//! gtscript text to checked stencil IR.
//!
//! Data flows downwards:
//!
//! | module | what lives there |
//! |---|---|
//! | [`definition`] | what a stencil is made from: text, parameters, values of free names |
//! | [`names`] | which free names a text has, so that the host language can look them up |
//! | [`rule`] | every error this crate reports, with its code and family |
//! | `syntax` | text to syntax tree |
//! | `lower` | syntax tree to IR: names resolved, functions inlined, compile-time conditions decided |
//! | `prune` | stored arguments that nothing reads are left out |
//! | [`mention`] | warnings of names that only other externals use are left out |
//! | [`silence`] | comments that silence warnings |
//! | `further` | errors of the statements that have none of their own |
//! | `check` | what the IR must not do: races, overlapping intervals |
//!
//! The crate knows Python's syntax but no Python object; [`compile`] is the whole of it.
mod check;
mod constant;
pub mod definition;
mod further;
mod keyword;
mod lower;
pub mod mention;
pub mod names;
mod prune;
pub mod rule;
pub mod silence;
mod syntax;

use fieldstone_stencil::suggest;

pub use definition::{
    Definition, Environment, Function, FunctionId, Parameter, ParameterKind, Value,
};
pub use keyword::Keyword;
pub use lower::{PYTHON_FUNCTION, compile, compile_with_warnings};
