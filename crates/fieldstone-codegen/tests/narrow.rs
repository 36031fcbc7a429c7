//! Sweeps over columns whose levels follow each other in memory: blocks of few vectors.

mod support;

use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::llvm;
use fieldstone_codegen::outline::Supply;
use fieldstone_codegen::target::Target;
use fieldstone_device::CoreCaches;
use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::{self, Neighbours};
use support::{THOMAS, program};

fn module(text: &str, fields: &[&str], one_vector: bool) -> llvm::Module {
    on(CoreCaches::default(), text, fields, one_vector)
}

fn on(caches: CoreCaches, text: &str, fields: &[&str], one_vector: bool) -> llvm::Module {
    let program = program(text, fields).for_schedule().0;
    let layout = Layout(vec![Some(Axis::K); fields.len()]);
    let choices = Choices::default();
    let neighbours = Neighbours {
        one_vector,
        ..Neighbours::along(Axis::K)
    };
    let schedule = schedule::build(&program, neighbours);
    let target = Target {
        triple: String::from("x86_64-unknown-linux-gnu"),
        cpu: String::from("x86-64"),
        features: String::from("+sse,+avx,+avx2,+avx512f"),
        caches,
    };
    let arrays = (&layout, Supply::default());
    llvm::emit(&program, &schedule, arrays, &target, &choices)
}

fn columns(text: &str, fields: &[&str], one_vector: bool) -> usize {
    let scratch = &module(text, fields, one_vector).kernels[0].scratch;
    scratch.vector.expect("a block of columns")
}

#[test]
fn a_row_of_few_columns_is_a_block_of_one_vector() {
    let (doubles, floats) = (["IJK float64"; 5], ["IJK float32"; 5]);
    assert_eq!(columns(THOMAS, &doubles, true), 8);
    assert_eq!(columns(THOMAS, &floats, true), 16);
    assert!(columns(THOMAS, &doubles, false) > 8);
}

#[test]
fn a_block_is_smaller_where_streams_are_late() {
    let columns = |short_rows_are_late, waits_for_few| {
        let caches = CoreCaches {
            short_rows_are_late,
            waits_for_few,
            ..CoreCaches::default()
        };
        let module = on(caches, THOMAS, &["IJK float64"; 5], false);
        module.kernels[0].scratch.vector
    };
    assert_eq!(columns(false, false), Some(32));
    assert_eq!(columns(true, false), Some(16));
    assert_eq!(columns(true, true), Some(32), "it waits for few lines");
}

#[test]
fn a_block_is_one_vector_where_that_keeps_a_core_busy() {
    let falling = |made: &str, left: &str| {
        format!(
            "\
def falling(a, out):
    with computation(FORWARD):
        with interval(0, 1):
            out = a
        with interval(1, None):
            made = {made}
            out = {left}
"
        )
    };
    let (long, short) = ("exp(a) + log(a) * sin(a) + cos(a)", "a + 1.0");
    let columns =
        |made: &str, left: &str| columns(&falling(made, left), &["IJK float64"; 2], false);
    assert_eq!(columns(long, "0.5 * out[0, 0, -1] + made"), 8);
    let at_once = format!("0.5 * out[0, 0, -1] + {long}");
    assert_eq!(columns(short, &at_once), 8);
    assert!(columns(short, "0.5 * out[0, 0, -1] + made") > 8);
    let after = "exp(log(sin(cos(out[0, 0, -1] + made))))";
    assert!(columns(short, after) > 8, "all waits for the level before");
}

#[test]
fn columns_that_are_not_there_are_copies_of_the_last_one() {
    // What was left in scratch might be numbers that functions take long for.
    let rest = |text: &str, name: &str| {
        let module = module(text, &["IJK float64"; 2], false);
        let head = format!("{name}_rest(ptr");
        let (_, rest) = module.text.split_once(&head).expect("a function");
        let (rest, _) = rest.split_once("\n}").expect("its end");
        rest.contains("masked.store")
    };
    let sums = |value: &str| {
        format!(
            "\
def sums(a, out):
    with computation(FORWARD):
        with interval(0, 1):
            out = {value}
        with interval(1, None):
            out = 0.5 * out[0, 0, -1] + {value}
"
        )
    };
    assert!(!rest(&sums("a"), "_in_8"));
    assert!(
        rest(&sums("a[0, 1, 0] - a[0, -1, 0]"), "_in_8_among"),
        "others lie beside them"
    );
}
