//! Which cores a thread may be on, which one it is on, and how it gets away from there.

#[cfg(target_os = "linux")]
pub(crate) use linux::{Cores, current, leave};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{Cores, current, leave};

#[cfg(target_os = "linux")]
mod linux {
    /// Cores that a thread may be on.
    #[derive(Clone, Copy)]
    pub(crate) struct Cores(libc::cpu_set_t);

    impl PartialEq for Cores {
        fn eq(&self, other: &Cores) -> bool {
            // SAFETY: both sets are only read.
            unsafe { libc::CPU_EQUAL(&self.0, &other.0) }
        }
    }

    impl Cores {
        const SIZE: usize = size_of::<libc::cpu_set_t>();

        /// Those of the calling thread, where the system tells.
        pub fn allowed() -> Option<Cores> {
            // SAFETY: a set of no cores is all zeros.
            let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel writes at most so many bytes to the set.
            let result = unsafe { libc::sched_getaffinity(0, Self::SIZE, &raw mut allowed) };
            (result == 0).then_some(Cores(allowed))
        }

        /// Whether one is among them.
        pub fn has(&self, core: usize) -> bool {
            let room = 8 * Self::SIZE;
            // SAFETY: the set is only read, within its size.
            core < room && unsafe { libc::CPU_ISSET(core, &self.0) }
        }

        /// How many they are.
        pub fn count(&self) -> usize {
            // SAFETY: the set is only read.
            usize::try_from(unsafe { libc::CPU_COUNT(&self.0) }).unwrap_or(0)
        }

        /// Lets the calling thread be on these only.
        pub fn enter(&self) {
            // SAFETY: the kernel reads so many bytes of the set. It refuses cores that are not there: then nothing changes.
            unsafe { libc::sched_setaffinity(0, Self::SIZE, &raw const self.0) };
        }
    }

    /// The core the calling thread is on, where the system tells.
    pub(crate) fn current() -> Option<usize> {
        // SAFETY: the call has no arguments and no effect.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// Moves the calling thread from `core` to another one it may use, if there is one; it may come back later.
    pub(crate) fn leave(core: usize) {
        let Some(allowed) = Cores::allowed() else {
            return;
        };
        let mut others = allowed;
        // SAFETY: `core` is within a set, since the thread was on it and the set of its cores could be read.
        unsafe { libc::CPU_CLR(core, &mut others.0) };
        if others.count() > 0 {
            others.enter();
            allowed.enter();
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Cores that a thread may be on; none are known here.
    #[derive(Clone, Copy, PartialEq)]
    pub(crate) struct Cores(());

    impl Cores {
        /// Those of the calling thread, where the system tells.
        pub fn allowed() -> Option<Cores> {
            None
        }

        /// Whether one is among them.
        pub fn has(&self, _core: usize) -> bool {
            true
        }

        /// How many they are.
        pub fn count(&self) -> usize {
            1
        }

        /// Lets the calling thread be on these only, where the system lets it.
        pub fn enter(&self) {}
    }

    /// The core the calling thread is on, where the system tells.
    pub(crate) fn current() -> Option<usize> {
        None
    }

    /// Moves the calling thread from `core` to another one, where the system lets it.
    pub(crate) fn leave(_core: usize) {}
}
