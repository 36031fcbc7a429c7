//! Sweeps whose blocks are a few vectors wide, so that a level finds in registers what the one before it has left.

mod support;

use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::llvm::{self, Cached};
use fieldstone_codegen::outline::Supply;
use fieldstone_codegen::target::Target;
use fieldstone_device::CoreCaches;
use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::{self, Neighbours};
use support::{THOMAS, program};

const AVX512: &str = "+sse,+avx,+avx2,+avx512f";

/// The module of a stencil whose fields are contiguous along `I`, with choices.
fn module(text: &str, fields: &[&str], features: &str, choices: &str) -> llvm::Module {
    supplied(text, fields, features, choices, Supply::default())
}

/// The same for arrays that are there.
fn supplied(
    text: &str,
    fields: &[&str],
    features: &str,
    choices: &str,
    supply: Supply,
) -> llvm::Module {
    on(
        CoreCaches::default(),
        text,
        fields,
        features,
        choices,
        supply,
    )
}

/// The same with other caches.
fn on(
    caches: CoreCaches,
    text: &str,
    fields: &[&str],
    features: &str,
    choices: &str,
    supply: Supply,
) -> llvm::Module {
    let program = program(text, fields).for_schedule().0;
    let layout = Layout(vec![Some(Axis::I); fields.len()]);
    let schedule = schedule::build(&program, Neighbours::along(layout.contiguous()));
    let target = Target {
        triple: String::from("x86_64-unknown-linux-gnu"),
        cpu: String::from("x86-64"),
        features: features.to_owned(),
        caches,
    };
    let choices = Choices::parse(choices).expect("choices");
    llvm::emit(&program, &schedule, (&layout, supply), &target, &choices)
}

fn columns(text: &str, fields: &[&str], features: &str, choices: &str) -> usize {
    let scratch = &module(text, fields, features, choices).kernels[0].scratch;
    scratch.vector.expect("a block of columns")
}

#[test]
fn blocks_are_four_vectors_wide_where_registers_hold_what_a_level_leaves() {
    let doubles = ["IJK float64"; 5];
    assert_eq!(columns(THOMAS, &doubles, AVX512, ""), 32);
    assert_eq!(columns(THOMAS, &["IJK float32"; 5], AVX512, ""), 64);
    assert!(
        columns(THOMAS, &doubles, "+sse,+avx,+avx2", "") > 32,
        "too few registers"
    );
    assert_eq!(
        columns(THOMAS, &doubles, AVX512, "tile.I=256"),
        256,
        "chosen"
    );
    let long = THOMAS.replace("upper / pivot", "exp(upper) / log(pivot)");
    assert!(
        columns(&long, &doubles, AVX512, "") > 32,
        "it takes long anyway"
    );
}

#[test]
fn blocks_are_wide_where_rows_from_memory_begin_within_lines() {
    let columns = |supply| {
        let module = supplied(THOMAS, &["IJK float64"; 5], AVX512, "", supply);
        module.kernels[0].scratch.vector
    };
    assert_eq!(columns(Supply::Memory), Some(32));
    assert!(columns(Supply::Ragged) > Some(32));
}

#[test]
fn blocks_from_memory_are_wide_where_short_rows_are_late() {
    let caches = CoreCaches {
        waits_for_few: true,
        short_rows_are_late: true,
        ..CoreCaches::default()
    };
    let module = |supply| on(caches, THOMAS, &["IJK float64"; 5], AVX512, "", supply);
    let columns = |supply| module(supply).kernels[0].scratch.vector;
    assert_eq!(columns(Supply::Caches), Some(32));
    assert!(columns(Supply::Memory) > Some(32));
    // Into whichever cache lines are fetched, a core waits for them at its first one.
    assert!(!module(Supply::Caches).text.contains("i32 0, i32 2, i32 1)"));
}

#[test]
fn blocks_are_wide_where_levels_leave_more() {
    let sums = |count: usize| {
        let sums = 0..count;
        let first: String = sums
            .clone()
            .map(|n| format!("            t{n} = a * {n}.0\n"))
            .collect();
        let other = sums
            .clone()
            .map(|n| format!("            t{n} = t{n}[0, 0, -1] * 0.5 + a\n"));
        let other: String = other.collect();
        let all: Vec<String> = sums.map(|n| format!("t{n}")).collect();
        format!(
            "\
def sums(a, b):
    with computation(FORWARD):
        with interval(0, 1):
{first}        with interval(1, None):
{other}    with computation(BACKWARD), interval(...):
        b = {}
",
            all.join(" + ")
        )
    };
    let fields = ["IJK float64"; 2];
    assert_eq!(columns(&sums(4), &fields, AVX512, ""), 32);
    assert!(columns(&sums(5), &fields, AVX512, "") > 32);
}

#[test]
fn wide_blocks_fetch_nothing_that_the_caches_have_enough_of() {
    let unless = |text: &str, fields: &[&str], features: &str| {
        module(text, fields, features, "").kernels[0].fetch.unless
    };
    let sum = "\
def total(a, x):
    with computation(FORWARD):
        with interval(0, 1):
            t = a
            x = t
        with interval(1, None):
            t = t[0, 0, -1] + a
            x = t
";
    let avx2 = "+sse,+avx,+avx2";
    // Of many bytes a level fewer levels are fetched ahead, and a core asks for more by itself.
    assert_eq!(
        unless(THOMAS, &["IJK float64"; 5], avx2),
        Some(Cached::Most)
    );
    assert_eq!(unless(sum, &["IJK float32"; 2], avx2), Some(Cached::All));
    assert_eq!(
        unless(THOMAS, &["IJK float64"; 5], AVX512),
        None,
        "rows of a few lines"
    );
}

#[test]
fn a_core_that_waits_for_lines_is_told_of_those_that_are_not_near() {
    let caches = CoreCaches {
        first: 32 << 10,
        ..CoreCaches::default()
    };
    let fetch = |features: &str| {
        let fields = ["IJK float64"; 5];
        let module = on(caches, THOMAS, &fields, features, "", Supply::default());
        module.kernels[0].fetch
    };
    assert_eq!(fetch(AVX512).unless, Some(Cached::Near));
    let wide = fetch("+sse,+avx,+avx2");
    assert_eq!(wide.unless, None, "rows that it does not see in time");
    assert_eq!(wide.ahead, 2, "and more than one of them");
}

#[test]
fn each_line_of_a_block_is_fetched_once() {
    let text = module(THOMAS, &["IJK float64"; 5], AVX512, "").text;
    // Of four arrays and of the result, unless it goes past the caches; the way back finds them in the caches.
    let at_a_level = (4 + 1) * 4;
    // The first level, the others, and these again for blocks of two vectors.
    assert_eq!(
        text.matches("call void @llvm.prefetch").count(),
        3 * at_a_level
    );
    assert!(text.contains("!nontemporal"));
}
