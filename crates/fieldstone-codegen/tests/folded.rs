//! Which rows that follow each other in memory are computed as one.

mod support;

use fieldstone_codegen::call::FieldArgument;
use fieldstone_codegen::folded::Folds;
use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::{self, Neighbours};
use support::program;

const SIZE: isize = 8;

fn folds(body: &str, fields: &[&str], contiguous: Axis) -> Option<Folds> {
    let text = format!("\n    with computation(PARALLEL), interval(...):\n        {body}\n");
    of(&text, fields, contiguous)
}

fn of(text: &str, fields: &[&str], contiguous: Axis) -> Option<Folds> {
    let names = ["a", "b", "c"][..fields.len()].join(", ");
    let program = program(&format!("def stencil({names}):{text}"), fields)
        .for_schedule()
        .0;
    Folds::of(&schedule::build(&program, Neighbours::along(contiguous)))
}

/// An array with these elements from one point to the next.
fn field(strides: [isize; 3]) -> FieldArgument {
    FieldArgument {
        pointer: std::ptr::null_mut(),
        strides: strides.map(|stride| stride * SIZE),
        lower: [0; 3],
        upper: [1; 3],
        padding: 0,
    }
}

const IJK: [&str; 2] = ["IJK float64"; 2];

#[test]
fn columns_without_a_gap_are_one_row() {
    let folds = folds("b = a", &IJK, Axis::K).expect("rows that may be parts of others");
    let packed = [field([40 * 50, 50, 1]); 2];
    assert_eq!(folds.domain([30, 40, 50], &packed), [1, 1, 30 * 40 * 50]);
    // A part of a plane: columns follow each other, planes do not.
    assert_eq!(folds.domain([30, 38, 50], &packed), [30, 1, 38 * 50]);
    let long = [field([400 * 50, 50, 1]); 2];
    assert_eq!(folds.domain([30, 400, 50], &long), [30, 1, 400 * 50]);
}

#[test]
fn rows_with_a_gap_are_not() {
    let folds = folds("b = a", &IJK, Axis::K).expect("rows that may be parts of others");
    let domain = [30, 40, 50];
    let packed = field([40 * 50, 50, 1]);
    for other in [[40 * 56, 56, 1], [1, 30, 1200], [0, 0, 1], [50, 1, 0]] {
        assert_eq!(folds.domain(domain, &[packed, field(other)]), domain);
    }
    assert_eq!(folds.domain([30, 40, 49], &[packed; 2]), [30, 40, 49]);
}

#[test]
fn rows_along_other_axes_are_folded_as_well() {
    let folds = folds(
        "b = a + c",
        &["IJK float64", "IJK float64", "K float64"],
        Axis::I,
    );
    let folds = folds.expect("rows that may be parts of others");
    let packed = field([1, 30, 30 * 40]);
    let column = field([0, 0, 1]);
    let fields = [packed, packed, column];
    assert_eq!(folds.domain([30, 40, 50], &fields), [30 * 40, 1, 50]);
}

#[test]
fn neighbours_on_other_rows_stay_where_they_are() {
    let body = "b = a[1, 0, 0] - a[0, -1, 0]";
    assert!(folds(body, &IJK, Axis::I).is_some());
    assert!(folds("b = a[0, 0, 1]", &IJK, Axis::I).is_some());
}

#[test]
fn levels_that_are_told_apart_stay_an_axis() {
    let sections = "
    with computation(PARALLEL):
        with interval(0, 1):
            b = a
        with interval(1, None):
            b = a + 1.0
";
    assert_eq!(of(sections, &IJK, Axis::K), None);
    let folds = of(sections, &IJK, Axis::I).expect("rows along I may be parts of others");
    let packed = [field([1, 30, 30 * 40]); 2];
    assert_eq!(folds.domain([30, 40, 50], &packed), [30 * 40, 1, 50]);
}

#[test]
fn what_tells_points_apart_is_not_folded() {
    let bodies = [
        "t = a[0, 1, 0] - a\n        b = t[1, 0, 0]",
        "t = a\n        with horizontal(region[I[0], :]):\n            t = 1.0\n        b = t",
        "b = a.at(K=0)",
        "b = a + K",
    ];
    for body in bodies {
        assert_eq!(folds(body, &IJK, Axis::K), None, "{body}");
    }
    let sweep = "
    with computation(FORWARD), interval(1, None):
        b = b[0, 0, -1] + a
";
    assert_eq!(of(sweep, &IJK, Axis::I), None);
}
