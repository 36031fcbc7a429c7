//! Diagnostics as text: every way in which marks can lie on lines.

use fieldstone_stencil::diagnostic::{Category, Code, Diagnostic, Severity};
use fieldstone_stencil::{Source, SourceId, SourceMap, Span};

/// Marks the nth occurrence of `part` in a source.
fn find(sources: &SourceMap, source: SourceId, part: &str, nth: usize) -> Span {
    let text = &sources.get(source).unwrap().text;
    let (start, _) = text
        .match_indices(part)
        .nth(nth)
        .expect("the part is there");
    Span {
        source,
        start: start as u32,
        end: (start + part.len()) as u32,
    }
}

fn source(file: &str, first_line: u32, indent: u32, text: &str) -> Source {
    Source {
        file: file.to_string(),
        first_line,
        indent,
        text: text.to_string(),
    }
}

fn error(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error(Code(1), Category::Definition, span, message)
}

#[test]
fn places_are_shown_with_their_lines() {
    let mut sources = SourceMap::default();
    let main = sources.add(source(
        "model/main.py",
        98,
        4,
        "def main(a, b):\n    with computation(PARALLEL), interval(...):\n        b = f(a) + g(a,\n              a,\n              b,\n              b,\n              a)\n\n        a = b\n",
    ));
    let other = sources.add(source(
        "model/λ/other.py",
        7,
        0,
        "def f(温度):\n\treturn 温度[1]\t+ ä̈ + x\n",
    ));
    let at = |part: &str, nth| find(&sources, main, part, nth);
    let there = |part: &str, nth| find(&sources, other, part, nth);
    let end = sources.get(other).unwrap().text.len() as u32;
    let cases = [
        error(at("f(a)", 0), "one place"),
        error(at("f(a)", 0), "words and help")
            .with_label("here")
            .with_help("first line\nsecond line"),
        error(at("b =", 0), "places on one line")
            .with_label("written")
            .with_secondary(at("f(a)", 0), "called")
            .with_secondary(at("g(a", 0), "called, too"),
        error(at("b =", 0), "places without words share a row").with_secondary(at("f(a)", 0), ""),
        error(at("a = b", 0), "places far apart").with_secondary(at("main", 0), "here it starts"),
        error(
            at(
                "g(a,\n              a,\n              b,\n              b,\n              a)",
                0,
            ),
            "a place of many lines",
        )
        .with_label("all of it"),
        error(at("g(a,\n              a,", 0), "a place of two lines"),
        error(there("x", 0), "tabs and wide letters")
            .with_secondary(there("温度", 1), "two columns each"),
        error(there("[1]", 0), "several files")
            .with_secondary(at("f(a)", 0), "in this call of `f`")
            .with_secondary(there("温度", 0), "declared"),
        error(
            Span {
                source: other,
                start: end,
                end,
            },
            "the end of the text",
        ),
        error(
            Span {
                source: other,
                start: end + 9,
                end: end + 99,
            },
            "beyond the end of the text",
        ),
        error(
            Span {
                source: SourceId(9),
                start: 0,
                end: 1,
            },
            "a source that nobody knows",
        )
        .with_help("still readable"),
        Diagnostic {
            severity: Severity::Warning,
            ..error(at("a", 1), "a warning")
        },
    ];
    let rendered: Vec<String> = cases.iter().map(|case| case.render(&sources)).collect();
    insta::assert_snapshot!(rendered.join("\n\n"));
}
