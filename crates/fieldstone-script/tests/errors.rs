//! Every rule has a file that breaks it, named by its code, and the rendered errors or warnings of each file are kept as a
//! snapshot.

mod fixture;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fieldstone_script::{compile, compile_with_warnings, mention, rule, silence};
use fieldstone_stencil::types::Precision;
use fieldstone_stencil::{Diagnostics, Program, Severity};

fn files(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut files: Vec<_> = (fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.file_stem().unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_file_gives_the_errors_of_its_snapshot() {
    for (name, text) in files("errors") {
        let definition = fixture::definition(&format!("{name}.py"), &text);
        let Err(diagnostics) = compile(&definition) else {
            panic!("{name} compiles");
        };
        insta::assert_snapshot!(name.clone(), diagnostics.to_string());
        let code = name.split('_').next().unwrap();
        let expected = |found: String| found == code || code == "several";
        assert!(
            diagnostics
                .diagnostics
                .iter()
                .all(|found| expected(found.code.to_string())),
            "{name} has errors of other codes:\n{diagnostics}"
        );
    }
}

#[test]
fn every_file_gives_the_warnings_of_its_snapshot() {
    for (name, text) in files("warnings") {
        let definition = fixture::definition(&format!("{name}.py"), &text);
        let (stencil, mut diagnostics) = compile_with_warnings(&definition).unwrap();
        let program = Program::new(stencil, Precision::default()).unwrap();
        diagnostics.extend(program.analysis.warnings);
        let sources = program.stencil.sources;
        mention::keep_unmentioned(&mut diagnostics, &sources);
        silence::silence(&mut diagnostics, &sources);
        for found in &diagnostics {
            assert_eq!(found.severity, Severity::Warning);
            assert_eq!(
                name.split('_').next(),
                Some(found.code.to_string().as_str())
            );
            assert!(silence::WARNINGS.contains(&found.code));
        }
        let rendered = Diagnostics {
            diagnostics,
            sources,
        }
        .to_string();
        insta::assert_snapshot!(name, rendered);
    }
}

#[test]
fn every_rule_has_a_file() {
    let [errors, warnings] = ["errors", "warnings"].map(files);
    let tested: BTreeSet<&str> = (errors.iter())
        .chain(&warnings)
        .filter_map(|(name, _)| name.split('_').next())
        .collect();
    for (name, rule) in rule::ALL {
        assert!(
            tested.contains(rule.code.to_string().as_str()),
            "no file for {} {name}",
            rule.code
        );
    }
}
