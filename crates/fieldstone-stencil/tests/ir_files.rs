//! Stencils in files under `tests/ir`, and what becomes of them.
//!
//! A file holds several stencils in the text form, each from its first line to a `}` in the first column. Comments say what is
//! expected where: `# error FS0300: message` and `# warning FS0420: message` at the end of the offending line, without a code
//! in `verify`. A snapshot has the rest: the program that comes out, or the diagnostics with labels and help.
//!
//! | folder | pass |
//! |---|---|
//! | `types` | type resolution |
//! | `analysis` | `Program::new` |
//! | `verify` | the verifier, on typed IR that breaks a rule |

use std::fmt::Write;
use std::path::Path;

use fieldstone_stencil::text::{parse, print, print_program};
use fieldstone_stencil::types::{Precision, resolve};
use fieldstone_stencil::verify::verify;
use fieldstone_stencil::{Diagnostic, Program, Severity, SourceMap, Span};

/// What a pass says of one stencil: what it makes of it, and what it complains about as `(line, text)`.
struct Outcome {
    output: String,
    complaints: Vec<(u32, String)>,
}

fn line(sources: &SourceMap, span: Span) -> u32 {
    sources.locate(span).map_or(0, |(_, at)| at.line)
}

fn complaint(sources: &SourceMap, diagnostic: &Diagnostic) -> (u32, String) {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let text = format!("{severity} {}: {}", diagnostic.code, diagnostic.message);
    (line(sources, diagnostic.primary.span), text)
}

/// A diagnostic with all it says, each place with the source that stands there.
fn describe(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let (at, text) = complaint(sources, diagnostic);
    let quote = |span: Span| {
        let text = sources.get(span.source).map_or("", |source| &source.text);
        let text = text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("?");
        text.lines().next().unwrap_or("").to_string()
    };
    let mut out = format!("{at}: {text}\n");
    let primary = &diagnostic.primary;
    let _ = writeln!(out, "   `{}` {}", quote(primary.span), primary.text);
    for label in &diagnostic.secondary {
        let at = line(sources, label.span);
        let _ = writeln!(out, "   {at}: `{}` {}", quote(label.span), label.text);
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "   help: {help}");
    }
    out
}

fn outcome(
    sources: &SourceMap,
    result: Result<String, Vec<Diagnostic>>,
    warnings: &[Diagnostic],
) -> Outcome {
    let (output, errors) = match result {
        Ok(output) => (output, Vec::new()),
        Err(errors) => (String::new(), errors),
    };
    let diagnostics: Vec<&Diagnostic> = errors.iter().chain(warnings).collect();
    let details: String = (diagnostics.iter())
        .map(|diagnostic| describe(sources, diagnostic))
        .collect();
    Outcome {
        output: output + &details,
        complaints: (diagnostics.iter())
            .map(|diagnostic| complaint(sources, diagnostic))
            .collect(),
    }
}

fn run(pass: &str, file: &str, text: &str) -> Outcome {
    let stencil = parse(file, text).unwrap_or_else(|errors| {
        panic!("{}", describe(&errors.sources, &errors.diagnostics[0]));
    });
    let sources = stencil.sources.clone();
    match pass {
        "types" => {
            let resolved = resolve(stencil, Precision::default()).map(|resolved| {
                verify(&resolved).unwrap();
                print(&resolved)
            });
            outcome(&sources, resolved, &[])
        }
        "analysis" => match Program::new(stencil, Precision::default()) {
            Ok(program) => outcome(
                &sources,
                Ok(print_program(&program)),
                &program.analysis.warnings,
            ),
            Err(errors) => outcome(&sources, Err(errors.diagnostics), &[]),
        },
        "verify" => match verify(&stencil) {
            Ok(()) => outcome(&sources, Ok("fine\n".to_string()), &[]),
            Err(error) => {
                let at = error.span.map_or(0, |span| line(&sources, span));
                Outcome {
                    output: format!("{at}: {error}\n"),
                    complaints: vec![(at, format!("error: {error}"))],
                }
            }
        },
        _ => panic!("no pass is called {pass}"),
    }
}

fn expected(text: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for (n, line) in (1..).zip(text.lines()) {
        let comments = line.split('#').skip(1).map(str::trim);
        found.extend(
            comments
                .filter(|text| text.starts_with("error") || text.starts_with("warning"))
                .map(|text| (n, text.to_string())),
        );
    }
    found
}

fn files(pass: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/ir")
        .join(pass);
    let mut paths: Vec<_> = (folder.read_dir().unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut outputs = Vec::new();
        for case in text
            .split_inclusive("\n}\n")
            .filter(|case| case.contains('{'))
        {
            let outcome = run(pass, &name, case);
            let mut complaints = outcome.complaints;
            complaints.sort();
            assert_eq!(complaints, expected(case), "in {pass}/{name}:\n{case}");
            outputs.push(outcome.output);
        }
        insta::assert_snapshot!(format!("{pass}_{name}"), outputs.join("\n"));
    }
}

#[test]
fn types() {
    files("types");
}

#[test]
fn analysis() {
    files("analysis");
}

#[test]
fn verifier() {
    files("verify");
}
