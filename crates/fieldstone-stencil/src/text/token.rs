//! From text to words: names, numbers and symbols.

use crate::diagnostic::{Category, Code, Diagnostic};
use crate::source::{SourceId, Span};

/// Text that is not the text form of a stencil.
pub const SYNTAX: Code = Code(460);

/// What was read, or the first place that is wrong.
pub(super) type Parsed<T> = Result<T, Box<Diagnostic>>;

pub(super) fn fail<T>(span: Span, message: impl Into<String>) -> Parsed<T> {
    Err(Box::new(Diagnostic::error(
        SYNTAX,
        Category::Syntax,
        span,
        message,
    )))
}

/// One word of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// In quotes: never a keyword.
    Quoted(String),
    /// Digits, perhaps with a point and an exponent.
    Number(String),
    Symbol(&'static str),
}

/// Longer ones first.
const SYMBOLS: [&str; 34] = [
    "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "..", "+", "-", "*", "/", "%", "&", "|", "^",
    "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ":", "?", "!", ";", "@", ".",
];

/// The words of a text and where they stand.
pub(super) fn lex(text: &str, source: SourceId) -> Parsed<Vec<(Token, Span)>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if first == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let span = |length: usize| Span {
            source,
            start: at as u32,
            end: (at + length) as u32,
        };
        let (token, length) = if first.is_alphabetic() || first == '_' {
            let length = rest
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '.')))
                .unwrap_or(rest.len());
            // `end..` is a level and a symbol.
            let length = rest[..length].find("..").unwrap_or(length);
            (Token::Name(rest[..length].to_string()), length)
        } else if first.is_ascii_digit() {
            let length = number_length(rest);
            (Token::Number(rest[..length].to_string()), length)
        } else if first == '"' {
            match quoted(rest) {
                Some((name, length)) => (Token::Quoted(name), length),
                None => {
                    return fail(
                        span(1),
                        "A name in quotes is not closed, or has an escape that is not known",
                    );
                }
            }
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|s| rest.starts_with(s)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            return fail(
                span(first.len_utf8()),
                format!("Unexpected character `{first}`"),
            );
        };
        tokens.push((token, span(length)));
        at += length;
    }
    Ok(tokens)
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        from + bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    // A point, but not the two of an interval.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// A name in quotes, written as Rust's `{:?}` writes it, and how long it is in the text.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((name, at + 1)),
            '\n' => return None,
            '\\' => match chars.next()?.1 {
                'n' => name.push('\n'),
                't' => name.push('\t'),
                'r' => name.push('\r'),
                '0' => name.push('\0'),
                c @ ('"' | '\'' | '\\') => name.push(c),
                'u' => {
                    let mut code = 0u32;
                    if chars.next()?.1 != '{' {
                        return None;
                    }
                    loop {
                        match chars.next()?.1 {
                            '}' => break,
                            c => code = code.checked_mul(16)?.checked_add(c.to_digit(16)?)?,
                        }
                    }
                    name.push(char::from_u32(code)?);
                }
                _ => return None,
            },
            c => name.push(c),
        }
    }
    None
}
