//! Operations and traffic of stencils, beside what one counts by hand.

mod support;

use fieldstone_stencil::Program;
use fieldstone_stencil::analysis::operations::{Operation, Operations};
use fieldstone_stencil::analysis::points::LARGE;
use fieldstone_stencil::analysis::traffic::{Moved, moved};
use support::{HORIZONTAL_DIFFUSION, THOMAS, program};

fn operations(program: &Program, domain: [usize; 3]) -> Vec<(&'static str, u128)> {
    let counted = Operations::of(&program.stencil, &program.analysis, domain);
    let kinds = Operation::ALL
        .into_iter()
        .map(|(kind, name)| (name, counted.count(kind)));
    kinds.filter(|(_, count)| *count > 0).collect()
}

/// Elements read and written, per field.
fn elements(program: &Program, domain: [usize; 3]) -> Vec<(u128, u128)> {
    let moved = moved(&program.stencil, &program.analysis, domain);
    let pair = |Moved { read, written }: &Moved| (*read, *written);
    moved.iter().map(pair).collect()
}

#[test]
fn horizontal_diffusion() {
    let program = program(HORIZONTAL_DIFFUSION, &["IJK float64"; 3]);
    let large: u128 = LARGE.iter().map(|n| *n as u128).product();
    // Per point: 4 + 1 for the Laplacian, 2 x (1 + 3) for the fluxes, 4 + 1 for the update.
    let counted = operations(&program, LARGE);
    let per_point = counted
        .iter()
        .map(|(name, count)| (*name, (*count as f64 / large as f64).round() as i64));
    assert_eq!(
        per_point.collect::<Vec<_>>(),
        [("add", 12), ("multiply", 4), ("compare", 2), ("select", 2)]
    );
    // The Laplacian is needed on 6 x 6 points, and reads a cross around them: 2 x 8 x 6 - 6 x 6 = 60 points of each level.
    assert_eq!(elements(&program, [4, 4, 2]), [(120, 0), (32, 0), (0, 32)]);
    // Laplacian on 6 x 6 points, fluxes on 5 x 4 and 4 x 5, update on 4 x 4.
    let adds = 2 * (4 * 36 + 2 * 20 + 2 * 20 + 4 * 16);
    assert_eq!(operations(&program, [4, 4, 2])[0], ("add", adds));
}

#[test]
fn a_vertical_solve() {
    let program = program(THOMAS, &["IJK float64"; 5]);
    // `lower` is not read at the first level, and `x` not before it is written.
    assert_eq!(
        elements(&program, [3, 2, 5]),
        [(24, 0), (30, 0), (30, 0), (30, 0), (0, 30)]
    );
    let above = 3 * 2 * 4;
    assert_eq!(
        operations(&program, [3, 2, 5]),
        [
            ("add", 3 * above),
            ("multiply", 3 * above),
            ("divide", 2 * 30)
        ]
    );
}

/// Bodies over the fields `a`, `b`, `c`; what is read and written of each in a domain of 2 x 3 x 4 points; operations per
/// point.
type Case = (
    &'static str,
    [(u128, u128); 3],
    &'static [(&'static str, u128)],
);

const CASES: &[Case] = &[
    (
        "
    with computation(PARALLEL), interval(...):
        b = 0.5 * (a[-1, 0, 0] + a[1, 0, 0] - 2.0 * a)
",
        [(4 * 3 * 4, 0), (0, 24), (0, 0)],
        &[("add", 2 * 24), ("multiply", 2 * 24)],
    ),
    (
        "
    with computation(PARALLEL), interval(...):
        b = sqrt(a) + exp(a) ** 3 + 1.0 / a ** -2
",
        [(24, 0), (0, 24), (0, 0)],
        &[
            ("add", 2 * 24),
            ("multiply", 3 * 24),
            ("divide", 2 * 24),
            ("square root", 24),
            ("function", 24),
        ],
    ),
    (
        "
    with computation(PARALLEL), interval(...):
        b = a
        c = b * b
",
        [(24, 0), (0, 24), (0, 24)],
        &[("multiply", 24)],
    ),
    (
        "
    with computation(PARALLEL), interval(...):
        if a > 0.0:
            b = a
        c = min(b, -a)
",
        [(24, 0), (24, 24), (0, 24)],
        &[("min max", 2 * 24), ("compare", 24)],
    ),
    (
        "
    with computation(FORWARD):
        with interval(1, None):
            b = b[0, 0, -1] + a
",
        [(18, 0), (6, 18), (0, 0)],
        &[("add", 18)],
    ),
    (
        "
    with computation(PARALLEL), interval(0, 2):
        b = a
    with computation(PARALLEL), interval(...):
        c = b
",
        [(12, 0), (12, 12), (0, 24)],
        &[],
    ),
    (
        "
    with computation(PARALLEL), interval(...):
        b = (2.0 * 3.0 + 1.0) * a
        c = round(a) + float32(a)
",
        [(24, 0), (0, 24), (0, 24)],
        &[
            ("add", 24),
            ("multiply", 24),
            ("round", 24),
            ("convert", 2 * 24),
        ],
    ),
];

#[test]
fn what_is_counted() {
    for (body, moved, counted) in CASES {
        let text = format!("def stencil(a, b, c):{body}");
        let program = program(&text, &["IJK float64"; 3]);
        assert_eq!(elements(&program, [2, 3, 4]), moved, "{body}");
        assert_eq!(operations(&program, [2, 3, 4]), *counted, "{body}");
    }
}

#[test]
fn fields_with_fewer_axes_are_moved_once_for_all_points() {
    let text = "\
def stencil(a, surface, profile):
    with computation(FORWARD), interval(...):
        surface = max(surface, a * profile[1])
";
    let program = program(text, &["IJK float64", "IJ float64", "K float64"]);
    assert_eq!(elements(&program, [2, 3, 4]), [(24, 0), (6, 6), (4, 0)]);
}
