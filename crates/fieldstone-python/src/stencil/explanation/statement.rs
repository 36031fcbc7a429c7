//! A statement as the source has it.

use fieldstone_stencil::Span;
use fieldstone_stencil::ir::{Stencil, Stmt, StmtKind};
use fieldstone_stencil::schedule::Reason;
use pyo3::prelude::*;

/// Longer texts are cut.
const MOST_CHARACTERS: usize = 72;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, IntoPyObject)]
pub struct Place {
    pub file: String,
    pub line: u32,
}

/// A statement, abbreviated.
#[derive(Clone, Debug, PartialEq, IntoPyObject)]
pub struct StatementFacts {
    pub text: String,
    pub place: Option<Place>,
    /// The function it came from, if that was called.
    pub function: Option<String>,
}

/// Why a statement stands apart.
#[derive(IntoPyObject)]
pub struct ReasonFacts {
    /// A word for it.
    pub kind: &'static str,
    /// A clause whose subject is the statement.
    pub text: String,
    pub statement: StatementFacts,
}

/// Where a span starts, if it is known.
pub fn place(stencil: &Stencil, span: Span) -> Option<Place> {
    let (file, location) = stencil.sources.locate(span)?;
    Some(Place {
        file: file.to_owned(),
        line: location.line,
    })
}

/// The statements of a loop, each as the source has it, with those inside of it; what became of one is shown once.
pub fn statements(stencil: &Stencil, statements: &[Stmt]) -> Vec<StatementFacts> {
    let mut found = Vec::new();
    for statement in statements {
        add(stencil, statement, 0, &mut found);
    }
    found.dedup();
    found
}

fn add(stencil: &Stencil, statement: &Stmt, depth: usize, found: &mut Vec<StatementFacts>) {
    let compound = !matches!(statement.kind, StmtKind::Assign { .. });
    let mut own = facts(stencil, statement.span, compound);
    own.text.insert_str(0, &"  ".repeat(depth));
    found.push(own);
    let (first, second): (&[Stmt], &[Stmt]) = match &statement.kind {
        StmtKind::Assign { .. } | StmtKind::Require { .. } => (&[], &[]),
        StmtKind::If { then, orelse, .. } => (then, orelse),
        StmtKind::While { body, .. } | StmtKind::Region { body, .. } => (body, &[]),
    };
    for inner in first {
        add(stencil, inner, depth + 1, found);
    }
    if !second.is_empty() {
        found.push(StatementFacts {
            text: format!("{}else:", "  ".repeat(depth)),
            place: None,
            function: None,
        });
    }
    for inner in second {
        add(stencil, inner, depth + 1, found);
    }
}

fn facts(stencil: &Stencil, span: Span, compound: bool) -> StatementFacts {
    let text = stencil.sources.get(span.source).and_then(|source| {
        let range = span.start as usize..span.end as usize;
        source.text.get(range)
    });
    let text = text.unwrap_or_default();
    // Of what has statements inside, the first line says most.
    let text = if compound {
        text.lines().next().unwrap_or_default()
    } else {
        text
    };
    StatementFacts {
        text: abbreviated(text),
        place: place(stencil, span),
        function: stencil
            .sources
            .calls(span)
            .next()
            .map(|call| call.function.clone()),
    }
}

fn abbreviated(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.chars().count() <= MOST_CHARACTERS {
        return text;
    }
    let start: String = text.chars().take(MOST_CHARACTERS - 1).collect();
    format!("{}…", start.trim_end())
}

impl ReasonFacts {
    pub fn of(stencil: &Stencil, reason: &Reason) -> ReasonFacts {
        ReasonFacts {
            kind: reason.obstacle.name(),
            text: reason.display(stencil).to_string(),
            statement: facts(stencil, reason.span, true),
        }
    }
}
