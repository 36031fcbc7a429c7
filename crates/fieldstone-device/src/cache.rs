//! How much the processor's caches hold.

use std::sync::OnceLock;

/// What is assumed where the system does not tell.
const USUAL: usize = 1 << 20;

/// Bytes of the largest cache that a core has for itself.
///
/// How much of a shared cache one process gets, on a virtual machine or with neighbours, the system does not tell.
pub fn core_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| ask().filter(|&bytes| bytes > 0).unwrap_or(USUAL))
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn ask() -> Option<usize> {
    // SAFETY: `sysconf` only reads the system's configuration.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) }).ok()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn ask() -> Option<usize> {
    None
}
