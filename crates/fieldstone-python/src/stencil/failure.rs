//! What a call raises that its checks refuse.

use fieldstone_codegen::error::{CallError, RACE};
use fieldstone_stencil::diagnostic::{Category, Diagnostic, Diagnostics};
use pyo3::prelude::*;

use super::Stencil;
use crate::diagnostics::diagnostics_error;
use crate::errors::raise;

/// The exception for a call that is refused.
pub(super) fn call_error(py: Python<'_>, error: &CallError) -> PyErr {
    let class = match error {
        CallError::OriginInsideExtent { .. } | CallError::OriginOutside { .. } => "OriginError",
        CallError::ShapeTooSmall { .. } => "ShapeError",
        CallError::DomainTooLarge { .. }
        | CallError::TooFewLevels { .. }
        | CallError::TooFewPoints { .. } => "DomainError",
        CallError::Overlap { .. } | CallError::SharedPoints { .. } => "AliasError",
    };
    raise(py, class, error.to_string())
}

impl Stencil {
    /// What the backend `debug` says of arguments that share memory, where the checks of the call were left out.
    pub(super) fn race(&self, py: Python<'_>, error: &CallError) -> PyErr {
        let stencil = &self.program.stencil;
        let declared = |name: &str| {
            let field = stencil.fields.iter().find(|field| field.name == name);
            field.map_or_else(Default::default, |field| field.span)
        };
        let at = |name: &str| {
            let (message, help) = error.to_string().split_once("; ").map_or_else(
                || (error.to_string(), String::new()),
                |(message, help)| (message.to_string(), help.to_string()),
            );
            Diagnostic::error(RACE, Category::Run, declared(name), message).with_help(help)
        };
        let diagnostic = match error {
            CallError::Overlap { written, other, .. } => at(written)
                .with_label("written")
                .with_secondary(declared(other), "in the same memory"),
            CallError::SharedPoints { argument, .. } => at(argument).with_label("written"),
            _ => return call_error(py, error),
        };
        let report = Diagnostics {
            diagnostics: vec![diagnostic],
            sources: stencil.sources.clone(),
        };
        diagnostics_error(py, "RaceError", &report)
    }
}
