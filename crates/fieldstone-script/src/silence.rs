//! Comments that silence warnings.
//!
//! `# fieldstone: ignore[FS0421]` silences warnings of that code on its line, `# fieldstone: ignore` all of its line. A comment
//! that stands alone is about the next line.

use fieldstone_stencil::diagnostic::Code;
use fieldstone_stencil::{Diagnostic, SourceId, SourceMap, Span};
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::parse_module;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::{rule, suggest, syntax};

/// Every code that can be silenced.
pub const WARNINGS: [Code; 7] = [
    fieldstone_stencil::analysis::UNUSED_PARAMETER,
    fieldstone_stencil::analysis::UNREAD_TEMPORARY,
    fieldstone_stencil::analysis::NO_OUTPUT,
    fieldstone_stencil::analysis::MAYBE_UNINITIALISED,
    rule::CONSTANT_CONDITION.code,
    rule::SILENCER.code,
    fieldstone_stencil::analysis::NEVER_REACHED,
];

const FORM: &str = "write `# fieldstone: ignore[FS0421]`, with the code of the warning";

/// What a comment silences.
struct Silencer {
    /// The text, and the line in it that it is about; counts from 0.
    line: (SourceId, usize),
    /// `None` for all.
    codes: Option<Vec<Code>>,
}

/// Leaves out the warnings that comments silence, and adds those about comments that silence none there is.
pub fn silence(warnings: &mut Vec<Diagnostic>, sources: &SourceMap) {
    let mut silencers = Vec::new();
    for (id, source) in sources.texts() {
        if source.text.contains("fieldstone:") {
            comments(&source.text, id, &mut silencers, warnings);
        }
    }
    let line = |span: Span, byte: u32| {
        let source = sources.get(span.source)?;
        let before = &source.text[..source.text.floor_char_boundary(byte as usize)];
        Some((sources.place(span).source, before.matches('\n').count()))
    };
    warnings.retain(|warning| {
        let span = warning.primary.span;
        let lines = [line(span, span.start), line(span, span.end)];
        !silencers.iter().any(|silencer: &Silencer| {
            lines.contains(&Some(silencer.line))
                && silencer
                    .codes
                    .as_ref()
                    .is_none_or(|codes| codes.contains(&warning.code))
        })
    });
}

/// The silencers of a text, and what is wrong with them.
fn comments(
    text: &str,
    source: SourceId,
    silencers: &mut Vec<Silencer>,
    warnings: &mut Vec<Diagnostic>,
) {
    let Ok(parsed) = parse_module(text) else {
        return;
    };
    for token in parsed.tokens().iter() {
        if token.kind() != TokenKind::Comment {
            continue;
        }
        let comment = &text[token.range()];
        let Some(start) = comment.find("fieldstone:") else {
            continue;
        };
        let rest = &comment[start + "fieldstone:".len()..];
        let place = token.range().add_start(TextSize::of(&comment[..start]));
        let before = &text[..token.start().to_usize()];
        let alone = before
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.trim().is_empty());
        let line = before.matches('\n').count() + usize::from(alone);
        let codes = match words(rest) {
            Some(Words::All) => None,
            Some(Words::Codes(words)) => {
                let within = |word: &str| {
                    let offset = word.as_ptr() as usize - comment.as_ptr() as usize;
                    TextRange::at(
                        token.start() + TextSize::new(offset as u32),
                        TextSize::of(word),
                    )
                };
                let known = words.iter().filter_map(|word| match code(word) {
                    Ok(code) => Some(code),
                    Err(unknown) => {
                        warnings.push(unknown.at(syntax::span(source, within(word))));
                        None
                    }
                });
                Some(known.collect())
            }
            None => {
                warnings.push(
                    rule::SILENCER
                        .warning_at(syntax::span(source, place), "this comment silences nothing")
                        .with_help(FORM),
                );
                continue;
            }
        };
        silencers.push(Silencer {
            line: (source, line),
            codes,
        });
    }
}

enum Words<'a> {
    All,
    Codes(Vec<&'a str>),
}

/// What stands behind `fieldstone:`; `None` where that is not the word `ignore`.
fn words(rest: &str) -> Option<Words<'_>> {
    let rest = rest.trim_start().strip_prefix("ignore")?.trim_start();
    if let Some(list) = rest.strip_prefix('[') {
        let (list, _) = list.split_once(']')?;
        return Some(Words::Codes(list.split(',').map(str::trim).collect()));
    }
    let ends = rest
        .chars()
        .next()
        .is_none_or(|next| !next.is_alphanumeric());
    ends.then_some(Words::All)
}

/// Why a word is no code of a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoWarning {
    /// What is wrong, as a sentence without a final stop.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl NoWarning {
    fn at(self, span: Span) -> Diagnostic {
        rule::SILENCER
            .warning_at(span, self.message)
            .with_help(self.help)
    }
}

/// The warning a word names.
///
/// # Errors
///
/// What is wrong with the word.
pub fn code(word: &str) -> Result<Code, NoWarning> {
    if let Some(code) = WARNINGS.iter().find(|code| code.to_string() == word) {
        return Ok(*code);
    }
    let all: Vec<String> = WARNINGS.iter().map(Code::to_string).collect();
    let names = all.iter().map(String::as_str);
    let help = match suggest::closest(word, names) {
        Some(close) => format!(
            "did you mean `{close}`? The warnings are {}",
            all.join(", ")
        ),
        None => format!("the warnings are {}", all.join(", ")),
    };
    let is_code = word.len() == 6
        && word.starts_with("FS")
        && word[2..].bytes().all(|byte| byte.is_ascii_digit());
    let message = if is_code {
        format!("`{word}` is no warning, and errors cannot be silenced")
    } else {
        format!("`{word}` is no code of a warning")
    };
    Err(NoWarning { message, help })
}
