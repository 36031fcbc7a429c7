//! A diagnostic is a value: a code, a message, the spans it points at and a help line.
//!
//! Rendering to text is apart, in [`Diagnostic::render`].

mod render;

use crate::source::{SourceMap, Span};

/// What a diagnostic is about; each code has one meaning for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FS{:04}", self.0)
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The stencil cannot be compiled.
    Error,
    /// The stencil compiles but is probably not what was meant.
    Warning,
}

/// A family of errors; the Python face has one exception class for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Not valid gtscript syntax.
    Syntax,
    /// A name that is unknown or used as something it is not.
    Symbol,
    /// Well-formed, but without a meaning (self-assignment with an offset, overlapping intervals, …).
    Definition,
    /// Types that do not fit.
    DataType,
    /// An annotation or a default value of a parameter that cannot be one.
    Value,
    /// A condition that the definition itself states, with `compile_assert`, does not hold.
    Assertion,
    /// A part of the language that fieldstone does not have yet.
    Unsupported,
    /// Found by a run, not by the compiler.
    Run,
}

/// A place in a source and what to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What stands there; may be empty for the primary place.
    pub text: String,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// Family, which decides the exception class.
    pub category: Category,
    /// One sentence without a final stop: what is wrong.
    pub message: String,
    /// The offending place.
    pub primary: Label,
    /// Places it conflicts with, or the calls it was reached through.
    pub secondary: Vec<Label>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: Code, category: Category, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            category,
            message: message.into(),
            primary: Label {
                span,
                text: String::new(),
            },
            secondary: Vec::new(),
            help: None,
        }
    }

    /// A warning about a place.
    pub fn warning(code: Code, category: Category, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, category, span, message)
        }
    }

    /// Sets the words under the carets.
    pub fn with_label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds a second place.
    pub fn with_secondary(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Sets the help line.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The diagnostic as text: code, message, file, line and column, the source lines with marks under every place, and help.
    ///
    /// ```text
    /// error[FS0101]: name `lpa` is not defined
    ///   --> diffusion.py:12:15
    ///    |
    /// 12 |         out = lpa[1, 0, 0] + inp
    ///    |               ^^^
    ///    = help: did you mean `lap`?
    /// ```
    pub fn render(&self, sources: &SourceMap) -> String {
        self.render_in(sources, Style::default())
    }

    /// The diagnostic as text in a style.
    pub fn render_in(&self, sources: &SourceMap, style: Style) -> String {
        render::render(self, sources, style)
    }
}

/// How diagnostics are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether parts are coloured as terminals understand it.
    pub color: bool,
    /// Columns. Longer source lines are cut around what is marked.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            color: false,
            width: 130,
        }
    }
}

/// Diagnostics of which the text is shown; of more, only their number.
const SHOWN: usize = 20;

/// Everything that is wrong with one stencil, and the texts it points into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// The errors, in the order in which they were found.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that spans point into.
    pub sources: SourceMap,
}

impl Diagnostics {
    /// All of them as text; of very many, the first.
    pub fn render_in(&self, style: Style) -> String {
        let shown = self.diagnostics.iter().take(SHOWN);
        let mut texts: Vec<String> = shown
            .map(|diagnostic| diagnostic.render_in(&self.sources, style))
            .collect();
        let more = self.diagnostics.len().saturating_sub(SHOWN);
        if more > 0 {
            let plural = if more == 1 { "" } else { "s" };
            texts.push(format!(
                "and {more} more error{plural}; correct these first"
            ));
        }
        texts.join("\n\n")
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render_in(Style::default()))
    }
}

impl std::error::Error for Diagnostics {}
