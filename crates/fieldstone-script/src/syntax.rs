//! Text to syntax tree.

use std::collections::HashSet;

use fieldstone_stencil::{Diagnostic, SourceId, Span};
use ruff_python_ast::{PySourceType, Stmt, StmtFunctionDef};
use ruff_python_parser::parse_unchecked_source;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::rule;

/// A place in a syntax tree as a place in a source.
pub fn span(source: SourceId, range: TextRange) -> Span {
    Span {
        source,
        start: range.start().into(),
        end: range.end().into(),
    }
}

/// The one `def` of a text, or everything that is wrong with its syntax.
pub fn parse(text: &str, source: SourceId) -> Result<StmtFunctionDef, Vec<Diagnostic>> {
    let error = |range, rule: rule::Rule, message: String| {
        Diagnostic::error(rule.code, rule.category, span(source, range), message)
    };
    let module = parse_unchecked_source(text, PySourceType::Python);
    if !module.has_valid_syntax() {
        let mut lines = HashSet::new();
        let problems = module.errors().iter().map(|problem| {
            let range = visible(text, problem.location);
            let message = format!("invalid syntax: {}", sentence(&problem.error.to_string()));
            let found = error(range, rule::PYTHON_SYNTAX, message);
            if &text[range] == "=" {
                return found.with_help("`=` assigns; `==` compares");
            }
            found
        });
        // What follows on a line is often a consequence.
        return Err(problems
            .filter(|found| {
                let start = text.floor_char_boundary(found.primary.span.start as usize);
                lines.insert(text[..start].matches('\n').count())
            })
            .collect());
    }
    let mut body = module.into_suite().into_iter();
    match (body.next(), body.next()) {
        (Some(Stmt::FunctionDef(function)), None) if !function.is_async => Ok(function),
        (first, second) => {
            let mut range = second
                .or(first)
                .map_or(TextRange::default(), |statement| statement.range());
            // The first word is enough.
            let word = text[range]
                .find(|character: char| !character.is_alphanumeric())
                .unwrap_or(range.len().to_usize());
            let start = range.start().to_usize();
            let first = text[start..].chars().next().map_or(0, char::len_utf8);
            range = TextRange::at(range.start(), TextSize::new(word.max(first) as u32));
            let diagnostic = error(
                range,
                rule::DEFINITION,
                "a stencil is defined by one `def`".into(),
            );
            Err(vec![diagnostic.with_help(
                "write `def name(field: Field[float], …):` and decorate it",
            )])
        }
    }
}

/// A place the reader can see: an error at the end of a line is marked on its last character.
fn visible(text: &str, range: TextRange) -> TextRange {
    let covered = &text[range.start().to_usize()..range.end().to_usize()];
    if !covered.trim().is_empty() {
        return range;
    }
    let before = text[..range.start().to_usize()].trim_end();
    match before.char_indices().next_back() {
        Some((start, _)) => TextRange::new((start as u32).into(), (before.len() as u32).into()),
        None => range,
    }
}

/// A message of the parser in our style: a clause that starts with a small letter and has no final stop.
fn sentence(message: &str) -> String {
    let message = message.trim_end_matches('.');
    let mut characters = message.chars();
    match characters.next() {
        Some(first) if !characters.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().collect::<String>() + characters.as_str()
        }
        _ => message.to_string(),
    }
}
