//! How much the processor's caches hold.

use std::sync::OnceLock;

use crate::core::Cores;
use crate::threads::available_threads;

/// The caches that a core has for itself, in bytes, and what is behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CoreCaches {
    /// The nearest one, of data.
    pub first: usize,
    /// The largest one. How much of a shared cache one process gets, on a virtual machine or with neighbours, the system does not
    /// tell.
    pub second: usize,
    /// Whether the cache that cores share is hardly nearer than memory: a core gets about as many bytes at a time from either.
    pub shared_is_far: bool,
    /// Whether the first one waits for a dozen lines at a time at most, and for fewer than the core gets without being told. What goes
    /// past the caches waits there, and what is fetched into any of them.
    pub waits_for_few: bool,
    /// Whether rows of four lines, which are asked for level by level, come from memory later than those of eight and more, of which the
    /// core sees by itself what follows.
    pub short_rows_are_late: bool,
}

impl CoreCaches {
    /// Whether even lines that follow each other come from memory late, unless the core is told of them, and it waits for enough lines at a
    /// time for that and for stores past the caches.
    pub fn streams_are_late(self) -> bool {
        self.short_rows_are_late && !self.waits_for_few
    }
}

impl Default for CoreCaches {
    /// What is assumed where the system does not tell.
    fn default() -> Self {
        Self {
            first: 48 << 10,
            second: 1 << 20,
            shared_is_far: false,
            waits_for_few: false,
            short_rows_are_late: false,
        }
    }
}

/// Those of this machine.
pub fn core_caches() -> CoreCaches {
    static CACHES: OnceLock<CoreCaches> = OnceLock::new();
    *CACHES.get_or_init(|| {
        let [first, second] = ask().map(|bytes| bytes.filter(|&bytes| bytes > 0));
        let usual = CoreCaches::default();
        let (first, second) = (first.unwrap_or(usual.first), second.unwrap_or(usual.second));
        let shared_is_far = second >= SECOND_ON_A_MESH && has_mesh();
        CoreCaches {
            first,
            second,
            shared_is_far,
            waits_for_few: shared_is_far && first <= FIRST_THAT_WAITS_FOR_FEW,
            short_rows_are_late: shared_is_far && second < SECOND_OF_LATER,
        }
    })
}

/// Second-level caches of cores on a mesh have so many bytes at least.
const SECOND_ON_A_MESH: usize = 1 << 20;

/// First-level caches of the first generations of such cores, which wait for 12 lines, have so many bytes.
const FIRST_THAT_WAITS_FOR_FEW: usize = 32 << 10;

/// Second-level caches of the generations of such cores that short rows reach in time have so many bytes at least.
const SECOND_OF_LATER: usize = 2 << 20;

/// Whether the processor may have the mesh of Intel's for servers. From its last cache a core gets 8 bytes or so in a cycle, as from
/// memory.
#[cfg(target_arch = "x86_64")]
fn has_mesh() -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    let is_intel = [vendor.ebx, vendor.edx, vendor.ecx]
        .map(u32::to_le_bytes)
        .concat()
        == *b"GenuineIntel";
    is_intel && std::is_x86_feature_detected!("avx512f")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_mesh() -> bool {
    false
}

/// Bytes that the caches of so many threads of this process hold together, those included that cores share, if no neighbours need them. Of
/// a cache that cores share which the process may not use, as one of several that a launcher has bound to cores, it has a part.
pub fn shared_cache(threads: usize) -> usize {
    static SHARED: OnceLock<Option<Shared>> = OnceLock::new();
    let own = core_caches().second.saturating_mul(threads);
    match SHARED.get_or_init(Shared::read) {
        Some(shared) => own.max(shared.of_process(threads)),
        None => own,
    }
}

/// The same of those that are much nearer than memory.
pub fn near_caches(threads: usize) -> usize {
    let CoreCaches {
        second,
        shared_is_far,
        waits_for_few,
        ..
    } = core_caches();
    match shared_is_far && !waits_for_few {
        true => second.saturating_mul(threads),
        false => shared_cache(threads),
    }
}

/// The outermost cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shared {
    bytes: usize,
    /// How many cores have it in common, and how many of these the process may use at a time.
    cores: usize,
    usable: usize,
}

impl Shared {
    /// That of the first core of the process; the C library counts the caches of a whole processor as one, where it has several.
    fn read() -> Option<Self> {
        let allowed = Cores::allowed();
        let is_allowed = |core: &usize| allowed.is_none_or(|allowed| allowed.has(*core));
        let first = (0..MOST_CORES).find(is_allowed)?;
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu{first}/cache/index3/{name}");
            std::fs::read_to_string(path).ok()
        };
        let cores = numbers(read("shared_cpu_list")?.trim())?;
        let usable = cores.iter().filter(|core| is_allowed(core)).count();
        Some(Self {
            bytes: bytes(read("size")?.trim())?,
            cores: cores.len(),
            usable: usable.clamp(1, available_threads()),
        })
    }

    /// What a process has of it, and of others like it if it has more threads than cores have this one in common.
    fn of_process(self, threads: usize) -> usize {
        (self.bytes / self.cores).min(MOST_OF_CORE) * self.usable.max(threads)
    }
}

/// Hardly any processor has more for each of its cores. A virtual machine that tells of more sees the cache of its host, whose other machines use
/// it as well.
const MOST_OF_CORE: usize = 32 << 20;

/// More cores than this are looked for in vain.
const MOST_CORES: usize = 1024;

/// A size such as `32768K`; `None` of nothing.
fn bytes(size: &str) -> Option<usize> {
    let (number, unit) = match size.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (size.strip_suffix('M')?, 1 << 20),
    };
    let bytes = number.parse::<usize>().ok()?.checked_mul(unit)?;
    (bytes > 0).then_some(bytes)
}

/// The numbers of a list such as `0-3,8`.
fn numbers(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let few = first <= last && last - first < MOST_CORES;
        few.then(|| all.extend(first..=last))?;
    }
    Some(all)
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
    use super::{Shared, bytes, numbers};

    #[test]
    fn a_process_has_the_part_of_its_cores() {
        for (usable, threads, mebibytes) in
            [(8, 1, 32), (8, 8, 32), (8, 16, 64), (1, 1, 4), (2, 1, 8)]
        {
            let shared = Shared {
                bytes: 32 << 20,
                cores: 8,
                usable,
            };
            assert_eq!(
                shared.of_process(threads),
                mebibytes << 20,
                "{usable} {threads}"
            );
        }
    }

    #[test]
    fn a_virtual_machine_has_no_whole_cache_of_its_host() {
        let shared = Shared {
            bytes: 480 << 20,
            cores: 2,
            usable: 2,
        };
        assert_eq!(
            [1, 2].map(|threads| shared.of_process(threads)),
            [64 << 20; 2]
        );
    }

    #[test]
    fn no_more_cores_are_usable_than_there_are() {
        if let Some(shared) = Shared::read() {
            assert!((1..=shared.cores).contains(&shared.usable), "{shared:?}");
        }
    }

    #[test]
    fn lists_of_cores_are_read() {
        for (list, cores) in [
            ("0", Some(vec![0])),
            ("0-3", Some(vec![0, 1, 2, 3])),
            ("0-2,8,10-11", Some(vec![0, 1, 2, 8, 10, 11])),
            ("", None),
            ("3-0", None),
            ("0-9999999999", None),
        ] {
            assert_eq!(numbers(list), cores, "{list}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (size, expected) in [
            ("32768K", Some(32 << 20)),
            ("32M", Some(32 << 20)),
            ("0K", None),
            ("32", None),
            ("K", None),
        ] {
            assert_eq!(bytes(size), expected, "{size}");
        }
    }
}
