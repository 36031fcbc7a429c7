//! The LLVM IR of kernels.

mod support;

use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::llvm;
use fieldstone_codegen::outline::Supply;
use fieldstone_codegen::target::Target;
use fieldstone_device::CoreCaches;
use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::{self, Neighbours};
use support::{HORIZONTAL_DIFFUSION, THOMAS, program};

fn module(text: &str, fields: &[&str], layout: Vec<Option<Axis>>, features: &str) -> llvm::Module {
    let target = target(features, CoreCaches::default());
    module_for(text, fields, (layout, Supply::default()), &target)
}

/// The module for a processor, and arrays that are there.
fn module_for(
    text: &str,
    fields: &[&str],
    (layout, supply): (Vec<Option<Axis>>, Supply),
    target: &Target,
) -> llvm::Module {
    let program = program(text, fields).for_schedule().0;
    let layout = Layout(layout);
    let schedule = schedule::build(&program, Neighbours::along(layout.contiguous()));
    let arrays = (&layout, supply);
    llvm::emit(&program, &schedule, arrays, target, &Choices::default())
}

fn target(features: &str, caches: CoreCaches) -> Target {
    Target {
        triple: String::from("x86_64-unknown-linux-gnu"),
        cpu: String::from("x86-64"),
        features: features.to_owned(),
        caches,
    }
}

/// A first-level cache of so many KiB.
fn first_level(kibibytes: usize) -> CoreCaches {
    CoreCaches {
        first: kibibytes << 10,
        ..CoreCaches::default()
    }
}

fn emitted(text: &str, fields: &[&str], layout: Vec<Option<Axis>>, features: &str) -> String {
    module(text, fields, layout, features).text
}

#[test]
fn scratch_memory_follows_the_caches_of_a_core() {
    for (axis, kibibytes) in [(Axis::I, [16, 64, 1024]), (Axis::K, [64, 256, 1024])] {
        let bytes = kibibytes.map(|second| {
            let caches = CoreCaches {
                second: second << 10,
                ..CoreCaches::default()
            };
            let arrays = (vec![Some(axis); 3], Supply::default());
            let target = target(AVX512, caches);
            let module = module_for(HORIZONTAL_DIFFUSION, &["IJK float64"; 3], arrays, &target);
            module.kernels[0].scratch.bytes
        });
        assert!(
            bytes.is_sorted() && bytes[0] < bytes[2],
            "{axis}: {bytes:?}"
        );
        assert!(bytes[2] <= 512 << 10, "{axis}: {bytes:?}");
    }
}

#[test]
fn sweeps_store_to_the_caches_where_the_last_one_is_far() {
    let solve = "\
def solve(a, x):
    with computation(FORWARD):
        with interval(0, 1):
            c = a
            x = c
        with interval(1, None):
            c = a + c[0, 0, -1]
            x = c
";
    let near = CoreCaches::default();
    let far = CoreCaches {
        shared_is_far: true,
        ..near
    };
    let wide = CoreCaches {
        short_rows_are_late: true,
        ..far
    };
    let waiting = CoreCaches {
        waits_for_few: true,
        ..wide
    };
    for (text, caches, streams) in [
        (solve, near, true),
        (solve, far, false),
        (solve, wide, true),
        (solve, waiting, false),
        (HORIZONTAL_DIFFUSION, near, true),
        (HORIZONTAL_DIFFUSION, far, true),
    ] {
        let fields = &["IJK float64"; 3][..if text == solve { 2 } else { 3 }];
        let arrays = (vec![Some(Axis::I); fields.len()], Supply::default());
        let module = module_for(text, fields, arrays, &target(AVX512, caches));
        let kernel = &module.kernels[0];
        assert_eq!(
            kernel.streams(1 << 30, 1 << 20),
            streams,
            "{text} {caches:?}"
        );
        assert_eq!(kernel.may_stream(), streams, "{text} {caches:?}");
    }
}

#[test]
fn the_next_row_of_vectors_of_levels_is_fetched_where_the_last_cache_is_far_and_else_more() {
    let rows = [false, true].map(|shared_is_far| {
        let caches = CoreCaches {
            shared_is_far,
            ..CoreCaches::default()
        };
        let arrays = (vec![Some(Axis::K); 3], Supply::default());
        let module = module_for(
            HORIZONTAL_DIFFUSION,
            &["IJK float64"; 3],
            arrays,
            &target(AVX512, caches),
        );
        // Two arrays are read, and a row has a line of each at 50 points.
        module.kernels[0].fetched_ahead(1 << 30, [1000, 50, 80], 1 << 20)
    });
    assert_eq!(rows, [2, 1]);
}

#[test]
fn what_is_divided_by_a_short_number_is_multiplied() {
    let multiplies = |kind: &str, divisor: &str| {
        let text = format!(
            "\
def mean(a, x):
    with computation(PARALLEL), interval(...):
        x = (a[-1, 0, 0] + a[1, 0, 0]) / {divisor}
"
        );
        let layout = vec![Some(Axis::I); 2];
        let text = emitted(&text, &[kind; 2], layout, "+sse,+avx,+avx2,+fma,+avx512f");
        let vectors = |instruction: &str| text.matches(instruction).count();
        vectors("call <8 x double> @llvm.fma") + vectors("call <16 x float> @llvm.fma") > 0
    };
    for (kind, divisor, multiplied) in [
        ("IJK float64", "3.0", true),
        ("IJK float32", "12.0", true),
        ("IJK float64", "0.1", true),
        ("IJK float32", "0.1", false),
        ("IJK float64", "4.0", false),
    ] {
        assert_eq!(multiplies(kind, divisor), multiplied, "{kind} {divisor}");
    }
}

/// The text of a stencil of `x` and `y`, and the first argument of each call of a function on its vectors.
fn with_functions(body: &str) -> (String, Vec<String>) {
    let text = format!("def f(x, y):\n    with computation(PARALLEL), interval(...):\n{body}\n");
    let layout = vec![Some(Axis::I); 2];
    let features = "+sse,+avx,+avx2,+fma,+avx512f";
    let text = emitted(&text, &["IJK float64"; 2], layout, features);
    let arguments = (text.lines())
        .filter_map(|line| {
            line.split_once("call <8 x double> @fieldstone_")?
                .1
                .split_once("(<8 x double> ")
        })
        .filter_map(|(_, arguments)| arguments.split([',', ')']).next())
        .map(str::to_owned)
        .collect();
    (text, arguments)
}

#[test]
fn functions_are_given_usual_numbers_where_a_condition_keeps_others_from_them() {
    for (body, is_kept) in [
        ("        y = log(x)", false),
        ("        y = log(x) if x > 0.0 else 0.0", true),
        (
            "        if x > 0.0:\n            y = x**0.875\n        else:\n            y = 0.0",
            true,
        ),
    ] {
        let (text, arguments) = with_functions(body);
        assert!(!arguments.is_empty(), "{body}");
        let is_chosen = |argument: &String| text.contains(&format!("{argument} = select <8 x i1>"));
        assert_eq!(arguments.iter().all(is_chosen), is_kept, "{body}");
    }
}

#[test]
fn what_is_known_at_all_points_is_not_computed_again_behind_a_condition() {
    let (_, again) = with_functions("        y = log(x) + (log(x) if x > 0.0 else 0.0)");
    let (_, another) = with_functions("        y = log(x) + (log(-x) if x < 0.0 else 0.0)");
    assert_eq!(2 * again.len(), another.len());
}

#[test]
fn rows_are_left_to_the_core_where_it_waits_for_few_lines() {
    let ahead = |axis, waits_for_few| {
        let caches = CoreCaches {
            shared_is_far: true,
            waits_for_few,
            ..CoreCaches::default()
        };
        let arrays = (vec![Some(axis); 3], Supply::default());
        let target = target(AVX512, caches);
        let module = module_for(HORIZONTAL_DIFFUSION, &["IJK float64"; 3], arrays, &target);
        module.kernels[0].fetched_ahead(1 << 30, [1000, 50, 80], 1 << 20)
    };
    assert_eq!([false, true].map(|few| ahead(Axis::I, few)), [2, 0]);
    // Points that are vectors of levels are apart in memory.
    assert_eq!([false, true].map(|few| ahead(Axis::K, few)), [1, 2]);
}

#[test]
fn rows_that_follow_each_other_are_fetched_where_streams_are_late() {
    let ahead = |short_rows_are_late, points| {
        let caches = CoreCaches {
            shared_is_far: true,
            short_rows_are_late,
            ..CoreCaches::default()
        };
        let arrays = (vec![Some(Axis::I); 2], Supply::default());
        let module = module_for(COPY, &["IJK float64"; 2], arrays, &target(AVX512, caches));
        let kernel = &module.kernels[0];
        let rows = kernel.fetched_ahead(1 << 30, [points, 50, 80], 1 << 20);
        (rows, kernel.fetch.in_order)
    };
    assert!(!ahead(false, 256).1, "the core sees what follows");
    let late = [2000, 256, 64, 8].map(|points| ahead(true, points));
    assert_eq!(late, [(1, true), (2, true), (8, true), (16, true)]);
}

#[test]
fn narrow_blocks_of_columns_keep_little_that_the_first_level_cache_has_no_room_for() {
    // Four columns of temporaries, of which the way back reads every level.
    let solve = "\
def solve(a, b, x):
    with computation(FORWARD):
        with interval(0, 1):
            c = a
            d = b
            e = a + b
            f = a - b
        with interval(1, None):
            c = a + c[0, 0, -1]
            d = b + d[0, 0, -1]
            e = a + e[0, 0, -1] * b
            f = b + f[0, 0, -1] * a
    with computation(BACKWARD):
        with interval(-1, None):
            x = c + d
        with interval(0, -1):
            x = x[0, 0, 1] * c + d + e * f
";
    let vectors = |supply| {
        [16, 32, 48, 64].map(|first| {
            let arrays = (vec![Some(Axis::K); 3], supply);
            let target = target(AVX512, first_level(first));
            let module = module_for(solve, &["IJK float64"; 3], arrays, &target);
            module.kernels[0].scratch.vector.unwrap_or_default() / 8
        })
    };
    assert_eq!(vectors(Supply::Memory), [1, 2, 2, 4]);
    assert_eq!(vectors(Supply::Caches), [2, 2, 2, 4]);
}

const AVX512: &str = "+avx,+avx2,+avx512f";

const COPY: &str = "\
def copy(a, b):
    with computation(PARALLEL), interval(...):
        b = a
";

/// Of processors whose registers are half a cache line.
const HALF_LINES: &str = "+sse,+avx,+avx2";

#[test]
fn a_copy_with_avx512() {
    insta::assert_snapshot!(emitted(
        COPY,
        &["IJK float64"; 2],
        vec![Some(Axis::I); 2],
        AVX512
    ));
}

#[test]
fn a_copy_of_a_strided_array_without_masked_access() {
    let layout = vec![None, Some(Axis::I)];
    insta::assert_snapshot!(emitted(COPY, &["IJK float32"; 2], layout, ""));
}

#[test]
fn vectors_are_stored_with_a_mask_at_once_only_where_that_is_one_instruction() {
    // Levels of a column that is no multiple of a vector.
    let stored = |features: &str, way: &str| {
        let layout = vec![Some(Axis::K); 3];
        let text = emitted(HORIZONTAL_DIFFUSION, &["IJK float64"; 3], layout, features);
        text.contains(way)
    };
    let (whole, quarter) = ("llvm.masked.store.v8f64", "llvm.masked.store.v2f64");
    assert!(stored(AVX512, whole) && !stored(AVX512, quarter));
    assert!(stored("+avx,+avx2", quarter) && !stored("+avx,+avx2", whole));
}

#[test]
fn vectors_at_the_ends_of_rows_are_loaded_as_a_whole_where_there_is_memory() {
    // Reads of arrays by stages that share a loop: three, of which each is loaded for whole vectors, at the ends of rows, and with a
    // mask where arrays end.
    let sums = "\
def sums(x, y):
    with computation(PARALLEL), interval(...):
        sum = x + x[1, 0, 0]
        y = sum * sum[-1, 0, 0] - x[2, 0, 0]
";
    let text = emitted(
        sums,
        &["IJK float64"; 2],
        vec![Some(Axis::I); 2],
        "+avx,+avx2",
    );
    let masked = text.matches("call <8 x double> @llvm.masked.load").count();
    assert_eq!(masked, 3);
}

#[test]
fn the_least_of_several_is_one_chain_where_comparisons_make_bits() {
    let least = "\
def least(a, b, c):
    with computation(PARALLEL), interval(...):
        c = min(min(a, b), c[0, 0, 0])
";
    let tests = |features: &str| {
        let layout = vec![Some(Axis::I); 3];
        let text = emitted(least, &["IJK float64"; 3], layout, features);
        ["fcmp uno <8 x double>", "fcmp ord <8 x double>"].map(|test| text.contains(test))
    };
    assert_eq!(tests("+avx,+avx2"), [true, false]);
    assert_eq!(tests(AVX512), [false, true]);
}

#[test]
fn a_nan_is_kept_for_those_who_do_not_find_one_anyway() {
    for (body, kept) in [
        // By what is taken off.
        ("y = max(x, x[1, 0, 0]) - x[1, 0, 0]", false),
        ("y = max(x, x[1, 0, 0]) - x", true),
        // By what is compared on a way of its own, through temporaries.
        (
            "t = max(x[-1, 0, 0], x)\n        s = t - x[-1, 0, 0]\n        y = abs(x * 2.0) / (s * s + 1.0)",
            false,
        ),
        // Not where one relies on the other, whose own NaN is left out.
        (
            "y = max(1.0 + x, x[1, 0, 0]) - min(2.0 + x, x[1, 0, 0])",
            true,
        ),
        ("t = max(x, x[1, 0, 0])\n        y = t - t * 2.0", true),
        // Not where a condition sees it.
        ("y = 1.0 if max(x, x[1, 0, 0]) > 0.0 else x[1, 0, 0]", true),
        (
            "t = max(x, x[1, 0, 0])\n        y = t - x[1, 0, 0] if t > 0.0 else 0.0",
            true,
        ),
        // Not where a function makes a number of it.
        ("y = x[1, 0, 0] ** 0.0 + max(x, x[1, 0, 0])", true),
        // Not where it changes between.
        (
            "t = max(y[0, 0, 0], x)\n        y = 1.0\n        y = t - x + y",
            false,
        ),
        (
            "t = max(x, y[0, 0, 0])\n        y = 1.0\n        y = t - y",
            true,
        ),
        // Whichever of both is chosen.
        (
            "y = (max(x, x[1, 0, 0]) if x > 0.0 else 1.0) * x[1, 0, 0]",
            false,
        ),
        (
            "y = max(x, x[1, 0, 0]) * (x[1, 0, 0] if x > 0.0 else 1.0)",
            true,
        ),
        // Where a condition holds, as everywhere.
        (
            "if x > 0.0:\n            t = max(x, x[1, 0, 0])\n            y = t / x[1, 0, 0]",
            false,
        ),
        (
            "if x > 0.0:\n            t = max(x, x[1, 0, 0])\n        y = t / x[1, 0, 0]",
            true,
        ),
    ] {
        let (text, _) = with_functions(&format!("        {body}"));
        assert_eq!(text.contains("fcmp ord <8 x double>"), kept, "{body}");
    }
}

#[test]
fn vectors_of_rows_are_registers_or_lines_of_two() {
    let wide = [
        ("", "<2 x double>"),
        ("+avx,+avx2", "<8 x double>"),
        (AVX512, "<8 x double>"),
    ];
    for (features, vector) in wide {
        let layout = vec![Some(Axis::I); 3];
        let text = emitted(HORIZONTAL_DIFFUSION, &["IJK float64"; 3], layout, features);
        assert!(
            text.contains(&format!("fadd {vector}")),
            "{features}: {vector}"
        );
    }
}

#[test]
fn columns_that_lie_along_memory_are_transposed_and_never_gathered() {
    let layout = vec![Some(Axis::K); 5];
    let text = emitted(THOMAS, &["IJK float64"; 5], layout, AVX512);
    for way in ["in", "out"] {
        let functions = format!("define internal void @fieldstone_kernel_0_{way}_8(");
        assert_eq!(text.matches(&functions).count(), 1, "{way}, for all arrays");
    }
    assert!(!text.contains("masked.gather"));
    assert!(!text.contains("masked.scatter"));
}

#[test]
fn points_that_a_sweep_only_reads_are_transposed_once_they_are_computed() {
    let text = "\
def fall(a, b, c, x):
    with computation(PARALLEL), interval(...):
        speed = a if b > 0.5 else c
    with computation(BACKWARD):
        with interval(-1, None):
            x = speed
        with interval(0, -1):
            x = x[0, 0, 1] + speed
";
    let layout = || vec![Some(Axis::K); 4];
    let emitted = |text: &str| emitted(text, &["IJK float64"; 4], layout(), AVX512);
    let call = "call void @fieldstone_kernel_0_turn_8(";
    assert_eq!(emitted(text).matches(call).count(), 1, "of speed");
    let neighbour = text.replace("else c", "else c[0, 0, 1]");
    assert!(!emitted(&neighbour).contains(call), "what is elsewhere");
}

#[test]
fn sums_that_nothing_else_reads_are_transposed_instead_of_what_is_added() {
    let text = "\
def total(a, b, c, x):
    with computation(FORWARD):
        with interval(0, 1):
            x = b - c
        with interval(1, None):
            x = (b - c) + x[0, 0, -1] * (a[1, 0, -1] + a[0, 0, -1]) / (a[1, 0, 0] + a)
";
    let layout = || vec![Some(Axis::K); 4];
    let functions = |text: &str| {
        let composed = emitted(text, &["IJK float64"; 4], layout(), AVX512);
        let begin = "define internal void @fieldstone_kernel_0_in_8_value_";
        composed.matches(begin).count()
    };
    assert_eq!(
        functions(text),
        2 * 2,
        "each with one for what is left of squares"
    );
    let others = text.replace("a[1, 0, 0] + a)", "b * c)");
    assert_eq!(
        functions(&others),
        2,
        "two values of two arrays are as many"
    );
}

#[test]
fn results_that_go_past_the_caches_are_not_fetched() {
    let layout = vec![Some(Axis::I); 5];
    let features = "+sse,+avx,+avx2";
    let text = emitted(THOMAS, &["IJK float64"; 5], layout, features);
    // What the first level reads, what others read, both from memory and then from the second-level cache, and the result, which goes
    // through the caches then; and that again in both sections of the way back, where rows of it are not aligned.
    let rows = (2 * 3 + 1) + (2 * 4 + 1) + 2;
    // At each vector, and where the row ends.
    let fetched = 2 * rows;
    assert_eq!(text.matches("call void @llvm.prefetch").count(), fetched);
    assert!(text.contains("!nontemporal"));
}

#[test]
fn loops_leave_it_to_the_foremost_one_to_fetch_what_they_read() {
    // Neighbours so far away are no registers of the same loop.
    let fetched = |levels: &str| {
        let text = format!(
            "\
def two(a, b):
    with computation(PARALLEL), interval(...):
        t = a[0, 1, 0] - a
    with computation(PARALLEL), {levels}:
        b = t[9, 0, 0] * a
"
        );
        let text = emitted(&text, &["IJK float64"; 2], vec![Some(Axis::I); 2], AVX512);
        text.matches("call void @llvm.prefetch").count()
    };
    // Of whole vectors, and of what is beside them.
    let ways = 2;
    assert_eq!(fetched("interval(...)"), ways);
    assert_eq!(
        fetched("interval(1, None)"),
        2 * ways,
        "loops on other levels"
    );
}

#[test]
fn short_rows_that_take_long_are_fetched_in_order_too() {
    let in_order = |value: &str, axis: Axis| {
        let text = format!(
            "def on(a, b):\n    with computation(PARALLEL), interval(...):\n        b = {value}\n"
        );
        let layout = vec![Some(axis); 2];
        module(&text, &["IJK float64"; 2], layout, AVX512).kernels[0]
            .fetch
            .in_order
    };
    assert!(in_order("exp(a) + log(a) + sin(a)", Axis::K));
    assert!(!in_order("exp(a) + log(a) + sin(a)", Axis::I));
    assert!(!in_order("a + 1.0", Axis::K));
}

#[test]
fn where_rows_lie_moves_along_with_them_where_they_are_few() {
    let moving = |reads: usize, axis: Axis| {
        let fields: Vec<String> = (0..reads).map(|n| format!("a{n}")).collect();
        let text = format!(
            "def on({0}, b):\n    with computation(PARALLEL), interval(...):\n        b = {1}\n",
            fields.join(", "),
            fields.join(" + ")
        );
        let layout = vec![Some(axis); reads + 1];
        let text = emitted(&text, &vec!["IJK float64"; reads + 1], layout, AVX512);
        text.matches("= phi ptr [").count()
    };
    assert_eq!(moving(1, Axis::I), 2);
    assert_eq!(moving(9, Axis::J), 10);
    assert_eq!(moving(12, Axis::I), 0, "registers do not suffice");
    assert_eq!(moving(1, Axis::K), 0, "rows that others are beside");
}

#[test]
fn which_stages_compute_rows_is_asked_once_for_all_steps_at_which_the_same_do() {
    let text = "\
def two(a, b):
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0] - a
    with computation(PARALLEL), interval(...):
        b = t[0, 1, 0] - t[0, -1, 0]
";
    let text = emitted(text, &["IJK float64"; 2], vec![Some(Axis::I); 2], AVX512);
    let (before, _) = text.split_once("= phi ptr [").expect("a loop over rows");
    let step = before.lines().rev().nth(1).expect("its step").trim();
    let (step, begin) = step.split_once(" = phi i64 [ ").expect("a number");
    let (begin, _) = begin.split_once(',').expect("where it begins");
    let asked = |of: &str| text.contains(&format!("icmp sge i64 {of},"));
    assert!(asked(begin) && !asked(step));
}

#[test]
fn rows_of_other_levels_are_fetched_if_the_last_cache_does_not_hold_them() {
    let text = "\
def difference(a, b):
    with computation(PARALLEL), interval(1, None):
        b = a - a[0, 0, -1]
";
    let module = module(text, &["IJK float64"; 2], vec![Some(Axis::I); 2], AVX512);
    let ahead = |moved| {
        module.kernels[0]
            .fetch
            .with([128, 128, 60], moved, 32 << 20)
    };
    assert_eq!(ahead(16 << 20), 0);
    assert!(ahead(24 << 20) > 0);
}

#[test]
fn the_shorter_rows_are_the_more_of_them_are_fetched() {
    let text = "\
def smooth(a, b, c):
    with computation(PARALLEL), interval(...):
        t = a[0, 1, 0] + a[0, -1, 0]
        c = t[0, 1, 0] + t[0, -1, 0] + b
";
    let rows = |kind: &str, points: usize| {
        let module = module(text, &[kind; 3], vec![Some(Axis::I); 3], AVX512);
        let fetch = module.kernels[0].fetch;
        fetch.with([points, 128, 60], 64 << 20, 32 << 20)
    };
    // Two arrays are read: 16 KiB of them.
    let double = [32, 64, 128, 256, 512, 4096].map(|points| rows("IJK float64", points));
    assert_eq!(double, [16, 16, 8, 4, 2, 2]);
    assert_eq!(rows("IJK float32", 256), 8);
}

#[test]
fn rows_are_fetched_where_a_register_is_half_a_line_too() {
    let module = |more: &str, axis: Axis, features: &str| {
        let text = format!(
            "\
def smooth(a, c, b):
    with computation(PARALLEL), interval(...):
        t = a[0, 1, 0] + a[0, -1, 0]
        b = t[0, 1, 0] + t[0, -1, 0] + {more}
"
        );
        module(&text, &["IJK float64"; 3], vec![Some(axis); 3], features)
    };
    // Results are fetched as well where they go through the caches.
    let fetched = |more: &str, axis: Axis, features: &str| {
        let text = module(more, axis, features).text;
        text.matches("call void @llvm.prefetch").count()
    };
    for (axis, features) in [AVX512, HALF_LINES]
        .into_iter()
        .flat_map(|features| [(Axis::I, features), (Axis::K, features)])
    {
        assert!(module("c", axis, features).kernels[0].fetch.ahead > 0);
        assert!(fetched("c", axis, features) > fetched("1.0", axis, features));
    }
    let quarters = module("c", Axis::I, "+sse").kernels[0].fetch;
    assert_eq!(quarters.ahead, 0, "each line would be asked for four times");
}

#[test]
fn short_rows_that_follow_each_other_are_fetched_where_a_register_is_half_a_line() {
    let copy = "def copy(a, b):\n    with computation(PARALLEL), interval(...):\n        b = a\n";
    let rows = |kind: &str, points: usize, features: &str| {
        let module = module(copy, &[kind; 2], vec![Some(Axis::I); 2], features);
        let fetch = module.kernels[0].fetch;
        let ahead = fetch.with([points, 128, 60], 64 << 20, 32 << 20);
        ahead * usize::from(fetch.in_order)
    };
    // Those of a page are foreseen.
    let double = [64, 128, 256, 512].map(|points| rows("IJK float64", points, HALF_LINES));
    assert_eq!(double, [2, 2, 1, 0]);
    assert_eq!(rows("IJK float32", 256, HALF_LINES), 2);
    assert_eq!(rows("IJK float32", 256, AVX512), 0, "in order");
}

#[test]
fn tiles_are_not_made_for_the_first_level_cache_where_a_register_is_half_a_line() {
    let around = "\
def around(a, b):
    with computation(PARALLEL), interval(1, -1):
        b = a[1, 0, 0] + a[-1, 0, 0] + a[0, 1, 0] + a[0, -1, 0] + a[0, 0, 1] + a[0, 0, -1]
";
    let scratch = |axis: Axis, features: &str| {
        let module = module(around, &["IJK float64"; 2], vec![Some(axis); 2], features);
        module.kernels[0].scratch.clone()
    };
    for axis in Axis::ALL {
        let [whole, half] = [AVX512, HALF_LINES].map(|features| scratch(axis, features));
        assert!(whole.reads_again && half.reads_again);
        assert_eq!([whole.near.is_some(), half.near.is_some()], [true, false]);
        assert_eq!(half.plane, whole.plane);
    }
}

#[test]
fn lanes_of_a_mask_compare_their_own_bits_where_masks_are_lanes() {
    let text = "\
def smooth(a, b):
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0] + a[-1, 0, 0]
        b = t[1, 0, 0] + t[-1, 0, 0]
";
    let compared = |kind: &str, features: &str| {
        let text = emitted(text, &[kind; 2], vec![Some(Axis::I); 2], features);
        ["<i64 1, i64 2, i64 4, ", "<i32 1, i32 2, i32 4, "].map(|bits| text.contains(bits))
    };
    assert_eq!(compared("IJK float64", HALF_LINES), [true, false]);
    assert_eq!(compared("IJK float32", HALF_LINES), [false, true]);
    assert_eq!(compared("IJK float64", AVX512), [false, false]);
}

#[test]
fn tiles_of_few_columns_fetch_their_own_rows_where_a_register_is_half_a_line() {
    let fetch = |value: &str, features: &str| {
        let text = format!(
            "def on(a, b):\n    with computation(PARALLEL), interval(...):\n        b = {value}\n"
        );
        let layout = vec![Some(Axis::K); 2];
        module(&text, &["IJK float64"; 2], layout, features).kernels[0].fetch
    };
    let both = "a[1, 0, 0] + a[-1, 0, 0] + a[0, 1, 0] + a[0, -1, 0]";
    assert!(fetch(both, HALF_LINES).in_tile);
    assert!(!fetch(both, AVX512).in_tile);
    let one = "a[1, 0, 0] - a";
    assert_eq!(fetch(one, HALF_LINES).ahead, 0);
    assert!(fetch(one, AVX512).ahead > 0);
}

#[test]
fn rows_along_k_have_others_beside_them_also_where_no_stage_reaches_these() {
    let columns = |offset: &str, axis: Axis| {
        let text = format!(
            "\
def two(a, b):
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0] + a[-1, 0, 0]
        b = t[{offset}] - t
"
        );
        let layout = vec![Some(axis); 2];
        module(&text, &["IJK float64"; 2], layout, AVX512).kernels[0]
            .scratch
            .block
    };
    assert_eq!(columns("1, 0, 0", Axis::K), Some(16));
    assert_eq!(columns("0, 1, 0", Axis::K), Some(32));
    assert_eq!(columns("0, 1, 0", Axis::I), Some(1));
}

#[test]
fn rows_of_vectors_of_levels_from_memory_leave_each_other_room_in_the_first_level_cache() {
    let text = "\
def corners(a, b):
    with computation(PARALLEL), interval(...):
        west = a[-1, 0, 0] + a - (a[-2, 0, 0] + a[1, 0, 0])
        south = a[0, -1, 0] + a - (a[0, -2, 0] + a[0, 1, 0])
        along_j = west[0, -1, 0] + west - (west[0, -2, 0] + west[0, 1, 0])
        along_i = south[-1, 0, 0] + south - (south[-2, 0, 0] + south[1, 0, 0])
        b = along_i + along_j
";
    let points = |text: &str, first| {
        let arrays = (vec![Some(Axis::K); 2], Supply::default());
        let target = target(AVX512, first_level(first));
        module_for(text, &["IJK float64"; 2], arrays, &target).kernels[0]
            .scratch
            .far
    };
    // Four rows of the temporary and four of the array: 64 lines of each are 32 KiB.
    assert_eq!([32, 48].map(|first| points(text, first)), [Some(32), None]);
    let fewer = text.replace(" - (south[-2, 0, 0] + south[1, 0, 0])", "");
    assert_eq!(points(&fewer, 32), None);
}

#[test]
fn sweeps_in_registers_ask_small_first_level_caches_for_nothing() {
    let fetched = [32, 48].map(|first| {
        let arrays = (vec![Some(Axis::I); 5], Supply::default());
        let target = target(AVX512, first_level(first));
        let module = module_for(THOMAS, &["IJK float64"; 5], arrays, &target);
        let calls = |locality: u32| {
            let arguments = format!("i32 0, i32 {locality}, i32 1)");
            module.text.matches(&arguments).count()
        };
        (calls(3), calls(2), module.kernels[0].fetch.ahead)
    });
    let (_, rows, _) = fetched[0];
    assert_eq!(fetched, [(0, rows, 16), (rows, 0, 8)]);
    assert!(rows > 0);
}

#[test]
fn whole_lines_of_columns_may_go_past_the_caches() {
    let features = format!("+sse,{AVX512}");
    for (kind, way) in [("IJK float64", "8_past"), ("IJK float32", "4_past")] {
        let text = emitted(THOMAS, &[kind; 5], vec![Some(Axis::K); 5], &features);
        let (_, function) = (text.split_once(&format!("void @fieldstone_kernel_0_out_{way}(")))
            .expect("a function");
        let (body, _) = function.split_once("\n}").expect("an end");
        assert!(body.contains("align 64, !nontemporal"));
        assert!(!body.contains("prefetch"));
    }
    let layout = vec![Some(Axis::K); 5];
    let text = emitted(THOMAS, &["IJK float64"; 5], layout, "+sse,+avx,+avx2");
    assert!(!text.contains("_past"), "rows of squares are half a line");
}
