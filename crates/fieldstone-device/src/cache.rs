//! How much the processor's caches hold.

use std::sync::OnceLock;

/// Bytes of the caches that a core has for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CoreCaches {
    /// The nearest one, of data.
    pub first: usize,
    /// The largest one. How much of a shared cache one process gets, on a virtual machine or with neighbours, the system does not
    /// tell.
    pub second: usize,
}

impl Default for CoreCaches {
    /// What is assumed where the system does not tell.
    fn default() -> Self {
        Self {
            first: 48 << 10,
            second: 1 << 20,
        }
    }
}

/// Those of this machine.
pub fn core_caches() -> CoreCaches {
    static CACHES: OnceLock<CoreCaches> = OnceLock::new();
    *CACHES.get_or_init(|| {
        let [first, second] = ask().map(|bytes| bytes.filter(|&bytes| bytes > 0));
        let usual = CoreCaches::default();
        CoreCaches {
            first: first.unwrap_or(usual.first),
            second: second.unwrap_or(usual.second),
        }
    })
}

/// Bytes that the caches of so many threads hold together, those included that cores share, if no neighbours need them.
pub fn shared_cache(threads: usize) -> usize {
    static SHARED: OnceLock<Option<Shared>> = OnceLock::new();
    let own = core_caches().second.saturating_mul(threads);
    match SHARED.get_or_init(Shared::read) {
        Some(shared) => own.max(shared.bytes.max(shared.bytes / shared.cores * threads)),
        None => own,
    }
}

/// The outermost cache.
struct Shared {
    bytes: usize,
    /// How many cores have it in common.
    cores: usize,
}

impl Shared {
    /// That of the first core; the C library counts the caches of a whole processor as one, where it has several.
    fn read() -> Option<Self> {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index3/{name}");
            std::fs::read_to_string(path).ok()
        };
        let size = read("size")?;
        let (number, unit) = match size.trim().strip_suffix('K') {
            Some(number) => (number, 1 << 10),
            None => (size.trim().strip_suffix('M')?, 1 << 20),
        };
        let bytes = number.parse::<usize>().ok()?.checked_mul(unit)?;
        let cores = count(read("shared_cpu_list")?.trim())?;
        (bytes > 0).then_some(Self { bytes, cores })
    }
}

/// How many numbers a list such as `0-3,8` has.
fn count(list: &str) -> Option<usize> {
    let numbers = list.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    });
    numbers.sum()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn ask() -> [Option<usize>; 2] {
    [libc::_SC_LEVEL1_DCACHE_SIZE, libc::_SC_LEVEL2_CACHE_SIZE].map(|name| {
        // SAFETY: `sysconf` only reads the system's configuration.
        usize::try_from(unsafe { libc::sysconf(name) }).ok()
    })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn ask() -> [Option<usize>; 2] {
    [None; 2]
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn lists_of_cores_are_counted() {
        for (list, cores) in [
            ("0", Some(1)),
            ("0-3", Some(4)),
            ("0-3,8,10-11", Some(7)),
            ("", None),
            ("3-0", None),
        ] {
            assert_eq!(count(list), cores, "{list}");
        }
    }
}
