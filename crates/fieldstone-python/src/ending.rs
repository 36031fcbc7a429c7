//! The end of the interpreter, while other threads still compute.
//!
//! When the interpreter ends, a daemon thread that comes back to it is stopped by unwinding its stack, which code of Rust does not
//! survive: the process would abort. So work that may run Python below Rust is [`entered`], and before the interpreter ends
//! it waits for threads that are inside. One that comes later stays outside for ever, as it would be stopped anyway.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Threads that are inside.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);
/// How long the end waits for those that are inside: a run may have got stuck.
const PATIENCE: Duration = Duration::from_secs(10);

thread_local! {
    /// How often this thread has entered.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Whether it is the one that ends the interpreter.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// Leaves when dropped.
pub struct Inside(());

/// Enters. Once the interpreter is about to end, threads that were not inside already do not return from here.
#[inline]
pub fn entered(py: Python<'_>) -> Inside {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    if depth == 0 {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if ENDING.load(Ordering::SeqCst) {
            stay_outside(py);
        }
    }
    Inside(())
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cold]
fn stay_outside(py: Python<'_>) {
    if ENDS.get() {
        return;
    }
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    py.detach(|| {
        loop {
            std::thread::park();
        }
    });
}

/// Keeps other threads out, and waits for those that are inside.
#[pyfunction]
fn before_the_end(py: Python<'_>) {
    ENDS.set(true);
    ENDING.store(true, Ordering::SeqCst);
    let own = usize::from(DEPTH.get() > 0);
    let start = Instant::now();
    py.detach(|| {
        while INSIDE.load(Ordering::SeqCst) > own && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_micros(200));
        }
    });
}

/// Forgets the threads that a child of the process does not have.
#[pyfunction]
fn after_fork() {
    INSIDE.store(usize::from(DEPTH.get() > 0), Ordering::SeqCst);
}

/// Registers what is to be done before the interpreter ends, and after a fork.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let end = wrap_pyfunction!(before_the_end, module)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    let keywords = PyDict::new(py);
    keywords.set_item("after_in_child", wrap_pyfunction!(after_fork, module)?)?;
    py.import("os")?
        .call_method("register_at_fork", (), Some(&keywords))?;
    Ok(())
}
