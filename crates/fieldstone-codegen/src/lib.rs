//! From a scheduled stencil to something that runs.
//!
//! | module | what lives there |
//! |---|---|
//! | [`call`] | what a compiled stencil is called with |
//! | [`domain`], [`alias`] | whether a call's arrays hold its domain, and whether they overlap |
//! | [`uses`] | where the parameters are used, and whether one may be left out |
//! | [`error`] | what can go wrong in a call |
//! | [`target`], [`layout`] | the processor that code is made for, and the axes that arrays are contiguous along |
//! | [`lanes`] | how wide the numbers of a stage are |
//! | [`llvm`] | LLVM IR text of a scheduled stencil, [`tile`] sizes and scratch memory, [`transposed`] columns |
//! | [`direct`] | sweeps that need hardly any of them |
//! | [`choices`], `tuning` | what may be chosen about all that, not by the cost model; what is fastest, by measurement |
//! | [`cost`] | roughly how long a kernel takes, and how many threads are worth it |
//! | [`outline`] | what of a call matters to how its code is made |
//! | [`folded`] | rows that follow each other without a gap, computed as one |
//! | [`plan`] | how arrays of a layout are computed with, up to LLVM IR |
//! | [`jit`], [`parts`], [`loader`], [`cache`], [`compilation`] | from LLVM IR to machine code, kept on disk |
//! | [`native`] | machine code, run on all threads |
//! | [`gpu`] | kernels for blocks of threads, on accelerators |
//! | [`stack`] | stack for work that recurses into expressions |
//! | [`math`], [`power`], [`transcendental`] | the rules of arithmetic and the functions of the language |
//! | [`interpreter`] | the `debug` backend: step by step, with checks |
//! | [`numpy`] | the `numpy` backend: NumPy text |
pub mod alias;
mod arguments;
mod array;
pub mod cache;
pub mod call;
pub mod choices;
pub mod compilation;
pub mod composed;
pub mod cost;
pub mod direct;
pub mod domain;
pub mod error;
pub mod folded;
pub mod gpu;
pub mod interpreter;
pub mod jit;
pub mod lanes;
pub mod layout;
pub mod llvm;
pub mod loader;
pub mod math;
pub mod native;
pub mod numpy;
pub mod outline;
pub mod parts;
pub mod plan;
pub mod stack;
pub mod target;
mod template;
pub mod tile;
pub mod transcendental;
pub mod transposed;
mod tuning;
pub mod uses;
mod variants;

pub use error::{CallError, RunError};
pub use fieldstone_stencil::power;
