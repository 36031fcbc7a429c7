//! Calls that differ in their domain, and where arrays of the same layout lie: which of them run the same code.

mod support;

use std::sync::Arc;

use fieldstone_codegen::RunError;
use fieldstone_codegen::cache::Cache;
use fieldstone_codegen::call::FieldArgument;
use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::native::{Native, Reuse, Variant};
use fieldstone_codegen::outline::{Outline, Supply, is_ragged};
use fieldstone_stencil::schedule::Plane;
use fieldstone_stencil::{Axis, Program};
use support::idle::Idle;
use support::{HORIZONTAL_DIFFUSION, THOMAS, program};

fn native(program: &Program, cache: Cache, reuse: Reuse) -> Native {
    of_rows(program, cache, reuse, false)
}

/// The same where short rows come late, or not.
fn of_rows(program: &Program, cache: Cache, reuse: Reuse, late: bool) -> Native {
    let mut jit = Idle::new();
    jit.target.caches.short_rows_are_late = late;
    jit.target.features = String::from("+sse,+avx,+avx2,+avx512f");
    jit.target.caches.first = 12 << 10;
    let jit = Arc::new(jit);
    Native::new(
        program,
        "cpu_ifirst",
        jit,
        cache,
        reuse,
        Choices::default(),
        false,
    )
    .unwrap()
}

fn supplied(
    native: &Native,
    axis: Axis,
    fields: usize,
    supply: Supply,
) -> Result<Arc<Variant>, RunError> {
    let outline = Outline {
        plane: Plane::default(),
        supply,
    };
    native.variant(&Layout(vec![Some(axis); fields]), outline)
}

#[test]
fn code_is_made_for_where_arrays_are_if_that_matters() {
    let (sweeps, rows) = (
        program(THOMAS, &["IJK float64"; 5]),
        program(HORIZONTAL_DIFFUSION, &["IJK float64"; 3]),
    );
    // Those that have code of their own, beside that for arrays in memory.
    for (program, fields, axis, late, own) in [
        (&sweeps, 5, Axis::K, false, &[Supply::Caches][..]),
        (&sweeps, 5, Axis::I, false, &[Supply::Ragged]),
        (&sweeps, 5, Axis::J, false, &[Supply::Ragged]),
        (&sweeps, 5, Axis::I, true, &[Supply::Caches, Supply::Ragged]),
        (&rows, 3, Axis::K, false, &[]),
        (&rows, 3, Axis::I, true, &[]),
    ] {
        let native = of_rows(program, Cache::none(), Reuse::Yes, late);
        let variant = |supply| supplied(&native, axis, fields, supply).unwrap();
        let usual = variant(Supply::Memory);
        for supply in [Supply::Caches, Supply::Ragged] {
            let is_own = !Arc::ptr_eq(&usual, &variant(supply));
            assert_eq!(is_own, own.contains(&supply), "{axis} {supply:?}");
        }
    }
}

#[test]
fn sweeps_over_rows_of_one_vector_have_code_of_their_own_where_these_are_transposed() {
    let sweeps = program(THOMAS, &["IJK float64"; 5]);
    let native = native(&sweeps, Cache::none(), Reuse::Yes);
    for (axis, columns, is_own) in [(Axis::K, 8, true), (Axis::K, 9, false), (Axis::I, 8, false)] {
        let layout = Layout(vec![Some(axis); 5]);
        let variant = |points| {
            let plane = Plane {
                near: Axis::J,
                points,
            };
            let supply = Supply::Memory;
            native.variant(&layout, Outline { plane, supply }).unwrap()
        };
        let usual = variant(Some([100, 100]));
        let found = variant(Some([columns, columns]));
        assert_eq!(!Arc::ptr_eq(&usual, &found), is_own, "{axis} {columns}");
    }
}

#[test]
fn code_for_other_calls_will_do_where_nothing_may_be_compiled() {
    let directory = std::env::temp_dir().join(format!("fieldstone-outline-{}", std::process::id()));
    let cache = || Cache::at(&directory, None);
    let solve = program(THOMAS, &["IJK float64"; 5]);
    let only = || native(&solve, cache(), Reuse::Only);
    let made = native(&solve, cache(), Reuse::Yes);
    let text = |variant: Arc<Variant>| variant.plan.module.text.clone();
    let kept = text(supplied(&made, Axis::K, 5, Supply::Memory).unwrap());
    let found = supplied(&only(), Axis::K, 5, Supply::Caches);
    assert_eq!(text(found.unwrap()), kept);
    let other = text(supplied(&made, Axis::K, 5, Supply::Caches).unwrap());
    assert_ne!(other, kept);
    let found = supplied(&only(), Axis::K, 5, Supply::Caches);
    assert_eq!(text(found.unwrap()), other);
    let not_found = supplied(&only(), Axis::I, 5, Supply::Memory);
    assert!(matches!(not_found, Err(RunError::NotCached { .. })));
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn arrays_are_in_memory_if_caches_would_hold_a_part_of_them_only() {
    let stencil = &program(THOMAS, &["IJK float64"; 5]).stencil;
    let supply = |domain, ragged| Supply::of(stencil, domain, 1, ragged);
    assert_eq!(supply([16, 16, 10], false), Supply::Caches);
    assert_eq!(supply([16, 16, 10], true), Supply::Caches);
    let large = [1 << 14, 1 << 14, 100];
    assert_eq!(supply(large, false), Supply::Memory);
    assert_eq!(supply(large, true), Supply::Ragged);
    assert_eq!(supply([usize::MAX, 2, 2], false), Supply::Memory);
}

#[test]
fn rows_are_ragged_if_any_begins_within_a_line() {
    let stencil = &program(THOMAS, &["IJK float64"; 5]).stencil;
    let is_ragged = |first: usize, strides| {
        let argument = FieldArgument {
            pointer: std::ptr::without_provenance_mut(first),
            strides,
            lower: [0; 3],
            upper: [4; 3],
            padding: 0,
        };
        is_ragged(&stencil.fields[0], &argument)
    };
    assert!(!is_ragged(4096, [8, 64, 640]));
    assert!(!is_ragged(4096, [640, 64, 8]));
    assert!(is_ragged(4104, [8, 64, 640]), "the first one");
    assert!(is_ragged(4096, [8, 72, 640]), "the next one");
    assert!(is_ragged(4096, [8, 64, 648]), "that of the next level");
}
