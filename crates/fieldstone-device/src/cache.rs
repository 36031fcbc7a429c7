//! How much the processor's caches hold.

use std::sync::OnceLock;

/// What is assumed where the system does not tell.
const USUAL: usize = 32 << 20;

/// Bytes of the largest cache that the cores of this machine share.
pub fn last_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| ask().filter(|&bytes| bytes > 0).unwrap_or(USUAL))
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn ask() -> Option<usize> {
    [
        libc::_SC_LEVEL4_CACHE_SIZE,
        libc::_SC_LEVEL3_CACHE_SIZE,
        libc::_SC_LEVEL2_CACHE_SIZE,
    ]
    .into_iter()
    // SAFETY: `sysconf` only reads the system's configuration.
    .filter_map(|level| usize::try_from(unsafe { libc::sysconf(level) }).ok())
    .find(|&bytes| bytes > 0)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn ask() -> Option<usize> {
    None
}
