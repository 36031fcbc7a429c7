//! When code is found in the cache: if nothing has changed that it follows from.

mod support;

use std::sync::Arc;

use fieldstone_codegen::cache::Cache;
use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::native::{Native, Reuse};
use fieldstone_codegen::outline::Outline;
use fieldstone_stencil::Axis;
use support::idle::Idle;
use support::program;

const COPY: &str = "\
def copy(a, b):
    with computation(PARALLEL), interval(...):
        b = a
";

/// Whether the code of a stencil was in the cache.
fn is_cached(jit: &Idle, cache: &Cache) -> bool {
    let program = program(COPY, &["IJK float64"; 2]);
    let jit = Arc::new(jit.clone());
    let choices = Choices::default();
    let made = Native::new(
        &program,
        "cpu_ifirst",
        jit,
        cache.clone(),
        Reuse::Yes,
        choices,
        false,
    );
    let variant = made
        .unwrap()
        .variant(&Layout(vec![Some(Axis::I); 2]), Outline::default());
    variant.unwrap().origin.cached
}

#[test]
fn another_compiler_and_another_processor_have_code_of_their_own() {
    let directory = std::env::temp_dir().join(format!("fieldstone-reuse-{}", std::process::id()));
    let cache = Cache::at(&directory, None);
    let usual = Idle::new();
    type Change = fn(&mut Idle);
    let changes: [(&str, Change); 5] = [
        ("compiler", |jit| jit.version = "2"),
        ("processor", |jit| jit.target.cpu = "znver4".to_owned()),
        ("instructions", |jit| {
            jit.target.features = "+avx512f".to_owned();
        }),
        // The sizes of tiles go by these.
        ("first-level cache", |jit| jit.target.caches.first *= 2),
        ("second-level cache", |jit| jit.target.caches.second *= 2),
    ];
    assert!(!is_cached(&usual, &cache));
    for (what, change) in changes {
        let mut other = usual.clone();
        change(&mut other);
        assert!(!is_cached(&other, &cache), "another {what}");
        assert!(is_cached(&other, &cache), "the same {what} again");
    }
    assert!(is_cached(&usual, &cache));
    std::fs::remove_dir_all(directory).unwrap();
}
