//! Which core a thread is on, and how it gets away from there.

/// The core the calling thread is on, where the system tells.
#[cfg(target_os = "linux")]
pub(crate) fn current() -> Option<usize> {
    // SAFETY: the call has no arguments and no effect.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves the calling thread from `core` to another one it may use, if there is one; it may come back later.
#[cfg(target_os = "linux")]
pub(crate) fn leave(core: usize) {
    // SAFETY: a set of no cores is all zeros.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the kernel writes at most `size` bytes to the set.
    if unsafe { libc::sched_getaffinity(0, size, &raw mut allowed) } != 0 {
        return;
    }
    let mut others = allowed;
    // SAFETY: `core` is within a set, since the thread was on it and the set of its cores could be read.
    unsafe {
        libc::CPU_CLR(core, &mut others);
        if libc::CPU_COUNT(&others) > 0 {
            libc::sched_setaffinity(0, size, &raw const others);
            libc::sched_setaffinity(0, size, &raw const allowed);
        }
    }
}

/// The core the calling thread is on, where the system tells.
#[cfg(not(target_os = "linux"))]
pub(crate) fn current() -> Option<usize> {
    None
}

/// Moves the calling thread from `core` to another one, where the system lets it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn leave(_core: usize) {}
