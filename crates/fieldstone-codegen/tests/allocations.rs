//! A call allocates nothing after the first one with arguments of its shapes.

mod support;

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::cell::Cell;
use std::sync::Arc;

use fieldstone_codegen::cache::Cache;
use fieldstone_codegen::call::Call;
use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::native::{Native, Reuse};
use support::idle::Idle;
use support::{Grid, HORIZONTAL_DIFFUSION, THOMAS, program};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Counts what a thread allocates.
struct Counting;

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller says.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(pointer, block) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DOMAIN: [usize; 3] = [5, 4, 3];

/// Allocations of a few calls after the first one.
fn counted(text: &str, kinds: &[&str]) -> usize {
    let program = program(text, kinds);
    let (jit, cache, choices) = (Arc::new(Idle::new()), Cache::none(), Choices::default());
    let native = Native::new(
        &program,
        "cpu_ifirst",
        jit,
        cache,
        Reuse::Yes,
        choices,
        false,
    );
    let native = native.unwrap();
    // The functions touch no memory, so elements need none.
    let mut grids: Vec<Grid<f64>> = (kinds.iter())
        .map(|_| Grid::new(DOMAIN, [3; 3], [0, 1, 2], |_| 0.0))
        .collect();
    let fields: Vec<_> = (grids.iter_mut())
        .map(|grid| grid.argument("IJK"))
        .collect();
    let data_strides = vec![8; kinds.iter().map(|kind| kind.split(' ').count() - 2).sum()];
    let call = Call {
        fields: &fields,
        data_strides: &data_strides,
        scalars: &[],
        domain: DOMAIN,
        threads: 1,
    };
    // SAFETY: the functions do nothing.
    let prepared = unsafe { native.prepare(&call) }.unwrap();
    let run = || {
        let pointer = |argument: usize| fields[argument].pointer;
        // SAFETY: the functions do nothing.
        unsafe { native.run_prepared(&prepared, pointer, &[]) }.unwrap();
    };
    run();
    let before = COUNT.get();
    (0..5).for_each(|_| run());
    COUNT.get() - before
}

#[test]
fn nests_of_rows_and_of_columns() {
    assert_eq!(counted(HORIZONTAL_DIFFUSION, &["IJK float64"; 3]), 0);
    assert_eq!(counted(THOMAS, &["IJK float64"; 5]), 0);
}

#[test]
fn nests_that_share_their_kernels() {
    let text = "\
def scaled(v, w, out):
    with computation(PARALLEL), interval(...):
        out = v * w
";
    assert_eq!(counted(text, &["IJK float64 100"; 3]), 0);
}
