//! Diagnostics of a stencil as Python has them: exceptions, and dictionaries of their facts.

use fieldstone_stencil::diagnostic::{Category, Diagnostic, Diagnostics, Style};
use fieldstone_stencil::{Severity, SourceMap, Span};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::raise;

/// The exception of a family of errors.
pub fn exception(py: Python<'_>, diagnostics: &Diagnostics) -> PyErr {
    let category = diagnostics
        .diagnostics
        .first()
        .map(|diagnostic| diagnostic.category);
    let class = match category {
        Some(Category::Syntax) => "GTScriptSyntaxError",
        Some(Category::Symbol) => "GTScriptSymbolError",
        Some(Category::DataType) => "GTScriptDataTypeError",
        Some(Category::Value) => "GTScriptValueError",
        Some(Category::Assertion) => "GTScriptAssertionError",
        Some(Category::Unsupported) => "GTScriptUnsupportedError",
        Some(Category::Definition | Category::Run) | None => "GTScriptDefinitionError",
    };
    diagnostics_error(py, class, diagnostics)
}

/// An exception of a class of `fieldstone.errors`, with the rendered text as its message and the facts in `.diagnostics`.
pub fn diagnostics_error(py: Python<'_>, class: &str, diagnostics: &Diagnostics) -> PyErr {
    let error = raise(py, class, diagnostics.to_string());
    let told = describe(py, &diagnostics.diagnostics, &diagnostics.sources)
        .and_then(|list| error.value(py).setattr("diagnostics", list))
        .and_then(|()| {
            let style = Style {
                color: true,
                width: terminal_width(py),
            };
            error
                .value(py)
                .setattr("_colored", diagnostics.render_in(style))
        });
    match told {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Columns of the terminal, as far as one is known.
fn terminal_width(py: Python<'_>) -> usize {
    py.import("shutil")
        .and_then(|module| {
            module.call_method1("get_terminal_size", ((Style::default().width, 24),))
        })
        .and_then(|size| size.getattr("columns")?.extract())
        .unwrap_or(Style::default().width)
        .clamp(60, 200)
}

/// Diagnostics as dictionaries.
pub fn describe<'py>(
    py: Python<'py>,
    diagnostics: &[Diagnostic],
    sources: &SourceMap,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for diagnostic in diagnostics {
        let dict = place(py, diagnostic.primary.span, sources)?;
        dict.set_item("code", diagnostic.code.to_string())?;
        dict.set_item(
            "severity",
            match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
        )?;
        dict.set_item("message", &diagnostic.message)?;
        dict.set_item("label", &diagnostic.primary.text)?;
        dict.set_item("help", &diagnostic.help)?;
        let related = PyList::empty(py);
        let labels = diagnostic
            .secondary
            .iter()
            .map(|label| (label.span, label.text.clone()));
        let calls = sources.calls(diagnostic.primary.span);
        let calls = calls.map(|call| (call.span, format!("in this call of `{}`", call.function)));
        for (span, text) in labels.chain(calls) {
            let dict = place(py, span, sources)?;
            dict.set_item("message", text)?;
            related.append(dict)?;
        }
        dict.set_item("related", related)?;
        dict.set_item("rendered", diagnostic.render(sources))?;
        list.append(dict)?;
    }
    Ok(list)
}

fn place<'py>(py: Python<'py>, span: Span, sources: &SourceMap) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let (Some(source), Some((file, start))) = (sources.get(span.source), sources.locate(span)) {
        let end = source.location(span.end);
        dict.set_item("file", file)?;
        dict.set_item("line", start.line)?;
        dict.set_item("column", start.column)?;
        dict.set_item("end_line", end.line)?;
        dict.set_item("end_column", end.column)?;
    }
    Ok(dict)
}
