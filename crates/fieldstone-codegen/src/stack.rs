//! Stack for work that recurses into expressions, on whatever thread it is done.

/// Bytes that are enough for the deepest program the front end takes.
const ENOUGH: usize = 16 << 20;

/// Runs `work` where the stack is large enough. It must not call Python, which may check that the stack is the thread's own.
pub fn deep<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ENOUGH, ENOUGH, work)
}
