//! The IR of whole files, as snapshots of its text form.

mod fixture;

use std::fs;
use std::path::Path;

use fieldstone_script::compile;
use fieldstone_stencil::Program;
use fieldstone_stencil::text::print;
use fieldstone_stencil::types::Precision;

fn compiled(name: &str) -> fieldstone_stencil::ir::Stencil {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stencils/{name}.py"));
    let text = fs::read_to_string(path).unwrap();
    compile(&fixture::definition(&format!("{name}.py"), &text))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn stencils_become_ir() {
    for name in ["diffusion", "functions", "language", "thomas"] {
        let stencil = compiled(name);
        insta::assert_snapshot!(name, print(&stencil));
        Program::new(stencil, Precision::default())
            .unwrap_or_else(|errors| panic!("{name}:\n{errors}"));
    }
}

/// A stencil of `n` statements with calls three deep.
fn long(n: usize) -> String {
    let mut text = String::from(
        "def one(f):\n    return f[1, 0, 0] - f\n\n\ndef two(f):\n    return one(one(f)) + f\n\n\n\
         def three(f):\n    g = two(2.0 * f)\n    return g[0, 1, 0] + f\n\n\n\
         def long(inp: Field[float], out: Field[float]):\n    with computation(PARALLEL), interval(...):\n        t0 = inp\n",
    );
    for i in 1..n {
        text += &format!(
            "        t{i} = three(t{} + inp) * {i}.5 if inp > 0.0 else t{}\n",
            i - 1,
            i - 1
        );
    }
    text + &format!("        out = t{}\n", n - 1)
}

#[test]
fn time_is_linear_in_the_number_of_statements() {
    // A generous bound: quadratic work on 4000 statements would take minutes here.
    let started = std::time::Instant::now();
    let stencil = compile(&fixture::definition("long.py", &long(4000)))
        .unwrap_or_else(|errors| panic!("{errors}"));
    assert!(stencil.computations[0].sections[0].body.len() > 4000);
    assert!(started.elapsed().as_secs() < 30);
}
