//! Lines that are fetched into the caches.

use super::builder::Builder;

/// What a line is fetched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be read soon, from a cache that is not far away.
    Soon,
    /// To be read or written later, from memory: into the second-level cache. The first one can wait for a dozen lines or two at a
    /// time, fewer than memory has to be asked for, and what is in use there would be pushed out.
    Later,
}

/// Fetches a line into the caches.
pub(super) fn prefetch(b: &mut Builder, address: &str, purpose: Purpose) {
    let locality = match purpose {
        Purpose::Soon => "3",
        Purpose::Later => "2",
    };
    let arguments = [
        ("ptr", address),
        ("i32", "0"),
        ("i32", locality),
        ("i32", "1"),
    ];
    b.call_void("llvm.prefetch.p0", &arguments);
}
