//! How stencils are cut into nests, and where their temporaries live.

mod support;

use fieldstone_stencil::schedule::{self, Neighbours, Placement, Schedule};
use fieldstone_stencil::{Axis, Program};
use support::{HORIZONTAL_DIFFUSION, THOMAS, program};

fn scheduled(text: &str, fields: &[&str], contiguous: Axis) -> (Program, Schedule) {
    let program = program(text, fields).for_schedule().0;
    let schedule = schedule::build(&program, Neighbours::along(contiguous));
    (program, schedule)
}

fn printed(text: &str, fields: &[&str], contiguous: Axis) -> String {
    let (program, schedule) = scheduled(text, fields, contiguous);
    schedule.display(&program.stencil).to_string()
}

#[test]
fn diffusion_is_one_nest_with_rings_of_rows() {
    insta::assert_snapshot!(printed(HORIZONTAL_DIFFUSION, &["IJK float64"; 3], Axis::I));
}

#[test]
fn diffusion_with_rows_along_k() {
    insta::assert_snapshot!(printed(HORIZONTAL_DIFFUSION, &["IJK float64"; 3], Axis::K));
}

#[test]
fn a_vertical_solve_is_one_nest_with_blocks_of_columns() {
    insta::assert_snapshot!(printed(THOMAS, &["IJK float64"; 5], Axis::I));
}

/// Statements, and the number of nests they become.
const CUTS: &[(&str, &str, usize)] = &[
    (
        "temporaries at offsets stay inside a nest",
        "
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0] - a
        u = t - t[-1, 0, 0]
        b = u[0, 1, 0] - u
",
        1,
    ),
    (
        "a field that is read at an offset after it was written is complete first",
        "
    with computation(PARALLEL), interval(...):
        b = a
        c = b[1, 0, 0]
",
        2,
    ),
    (
        "a field is not written while neighbours still read it",
        "
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0]
        a = t
",
        2,
    ),
    (
        "nor where a temporary at an offset stands between",
        "
    with computation(PARALLEL), interval(...):
        t = a + 1
        u = t[1, 0, 0]
        a = u
",
        2,
    ),
    (
        "what is read in place may be written in place",
        "
    with computation(PARALLEL), interval(...):
        a = a + 1
        b = a * 2
",
        1,
    ),
    (
        "a sweep takes in the statements before and after that stay in their column",
        "
    with computation(PARALLEL), interval(...):
        t = a * 2
    with computation(FORWARD):
        with interval(0, 1):
            b = t
        with interval(1, None):
            b = t + b[0, 0, -1]
    with computation(PARALLEL), interval(...):
        c = b + 1
",
        1,
    ),
    (
        "a sweep waits for neighbours",
        "
    with computation(PARALLEL), interval(...):
        t = a * 2
        b = t[1, 0, 0]
    with computation(FORWARD), interval(1, None):
        c = b + c[0, 0, -1]
",
        2,
    ),
    (
        "a name that is used for many values is many temporaries",
        "
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0]
        b = t[-1, 0, 0] + t
        t = a[0, 1, 0]
        c = t[0, -1, 0] + t
",
        1,
    ),
];

#[test]
fn programs_are_cut_where_points_depend_on_others() {
    for (rule, body, nests) in CUTS {
        let text = format!("def stencil(a, b, c):{body}");
        let (program, schedule) = scheduled(&text, &["IJK float64"; 3], Axis::I);
        let printed = schedule.display(&program.stencil).to_string();
        assert_eq!(schedule.nests.len(), *nests, "{rule}\n{printed}");
    }
}

#[test]
fn a_value_that_a_later_nest_reads_is_an_array() {
    let text = "\
def stencil(a, b):
    with computation(PARALLEL), interval(...):
        t = a * 2
        b = t[1, 0, 0]
    with computation(FORWARD), interval(1, None):
        b = t + b[0, 0, -1]
";
    let (_, schedule) = scheduled(text, &["IJK float64"; 2], Axis::I);
    let placement = schedule.temporaries[0];
    assert!(
        matches!(placement, Placement::Array { zeroed: false, .. }),
        "{placement}"
    );
}

#[test]
fn a_sweep_that_reads_neighbours_of_its_own_result_goes_level_by_level() {
    let text = "\
def stencil(a, b):
    with computation(FORWARD):
        with interval(0, 1):
            t = a
            b = t[1, 0, 0]
        with interval(1, None):
            t = a * 2
            b = t[1, 0, 0] + b[0, 0, -1]
";
    insta::assert_snapshot!(printed(text, &["IJK float64"; 2], Axis::I));
}

/// Statements that become several nests or loops, and the reasons why the later ones stand apart.
const REASONS: &[(&str, &[&str])] = &[
    (
        "
    with computation(PARALLEL), interval(...):
        b = a
        c = b[1, 0, 0]
",
        &[
            "it writes `c` on other points around the domain than what the nest writes",
            "it reads `b[1, 0, 0]`, another column of what the nest writes",
        ],
    ),
    (
        "
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0]
        a = t
",
        &[
            "`a` is read around the points that a tile writes, which another tile may be writing",
            "it writes `a`, which the nest reads in other columns",
        ],
    ),
    (
        "
    with computation(PARALLEL), interval(...):
        t = a * 2
        b = t[1, 0, 0]
    with computation(FORWARD), interval(1, None):
        c = b + c[0, 0, -1]
",
        &[
            "it would be in a vertical sweep, and rows have no order of levels",
            "it reads `t[1, 0, 0]`, another column of what the nest writes",
        ],
    ),
    (
        "
    with computation(PARALLEL), interval(...):
        b = a[1, 0, 0]
    with computation(PARALLEL), interval(1, None):
        a = b[0, 0, -1]
",
        &[
            "it reads `b[0, 0, -1]`, another level of what the nest writes",
            "it writes `a`, which the nest reads in other columns",
        ],
    ),
];

#[test]
fn the_reasons_for_a_cut_are_known() {
    for (body, reasons) in REASONS {
        let text = format!("def stencil(a, b, c):{body}");
        let (program, schedule) = scheduled(&text, &["IJK float64"; 3], Axis::I);
        let apart = schedule.causes[1].apart.expect("a second nest");
        let said = [apart.rows, apart.columns];
        let said = said.map(|reason| reason.display(&program.stencil).to_string());
        assert_eq!(said.as_slice(), *reasons, "{body}");
        assert_eq!(schedule.causes[0].apart, None, "{body}");
    }
}

#[test]
fn the_reasons_for_a_loop_of_its_own_are_known() {
    for (body, reason) in [
        (
            "t = a + 1\n        b = t[1, 0, 0]",
            "it is computed on other points around the domain",
        ),
        (
            "b = a\n    with computation(PARALLEL), interval(1, None):\n        c = a",
            "it is computed on other levels",
        ),
        (
            "t = a + 1\n        s = t[1, 0, 0]\n        b = t[2, 0, 0] + s[-1, 0, 0]\n        c = s[1, 0, 0]",
            "it is computed on other points around the domain",
        ),
    ] {
        let text = format!(
            "def stencil(a, b, c):\n    with computation(PARALLEL), interval(...):\n        {body}\n"
        );
        let (program, schedule) = scheduled(&text, &["IJK float64"; 3], Axis::I);
        let schedule::Nest::Rows(nest) = &schedule.nests[0] else {
            panic!("rows\n{}", schedule.display(&program.stencil));
        };
        assert_eq!(nest.stages[0].apart, None);
        let said = nest.stages[1].apart.expect("a second loop");
        assert_eq!(said.display(&program.stencil).to_string(), reason, "{body}");
    }
}

/// Sweeps over `a` and `b`, and whether what is carried in `b` is carried in a temporary.
const CARRIED: &[(&str, &str, bool)] = &[
    (
        "a running sum",
        "
    with computation(FORWARD):
        with interval(0, 1):
            b = a
        with interval(1, None):
            b = b[0, 0, -1] + a
",
        true,
    ),
    (
        "not where a level is never written: the caller's values are read there",
        "
    with computation(FORWARD), interval(1, None):
        b = b[0, 0, -1] + a
",
        false,
    ),
    (
        "not where it is written under a condition",
        "
    with computation(FORWARD):
        with interval(0, 1):
            b = a
        with interval(1, None):
            if a > 0:
                b = b[0, 0, -1] + a
",
        false,
    ),
    (
        "not where levels ahead are read, which hold the caller's values",
        "
    with computation(BACKWARD):
        with interval(1, None):
            b = b[0, 0, -1] + a
        with interval(0, 1):
            b = a
",
        false,
    ),
    (
        "not where another computation needs the field",
        "
    with computation(FORWARD):
        with interval(0, 1):
            b = a
        with interval(1, None):
            b = b[0, 0, -1] + a
    with computation(PARALLEL), interval(...):
        c = b
",
        false,
    ),
    (
        "not where neighbours need it: it is written around the domain, as is",
        "
    with computation(FORWARD):
        with interval(0, 1):
            b = a
        with interval(1, None):
            t = b[0, 0, -1] + a
            b = t
    with computation(PARALLEL), interval(...):
        c = b[1, 0, 0]
",
        false,
    ),
];

#[test]
fn what_a_sweep_carries_in_a_field_is_carried_in_a_temporary() {
    for (rule, body, carried) in CARRIED {
        let text = format!("def stencil(a, b, c):{body}");
        let (program, schedule) = scheduled(&text, &["IJK float64"; 3], Axis::I);
        let names = program.stencil.temporaries.iter().map(|t| t.name.as_str());
        let number = names.clone().position(|name| name == "b@");
        assert_eq!(
            number.is_some(),
            *carried,
            "{rule}: {:?}",
            names.collect::<Vec<_>>()
        );
        if let Some(number) = number {
            let window = Placement::Column {
                nest: 0,
                window: Some(2),
            };
            assert_eq!(schedule.temporaries[number], window, "{rule}");
        }
    }
}
