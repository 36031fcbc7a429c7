//! What runs move: which results somebody reads soon, or better go past the caches, and which fields are in the caches.
//!
//! A call knows itself only. Stencils of a step that are called one after another may move more than the caches hold though each
//! of them does not. A result that nobody reads soon then drives out what somebody reads, and what was in its place has to come
//! from memory before it is overwritten. So bytes that runs move are counted, and results remembered by their addresses: what
//! became of a result the last time is taken to happen again. Copies and fills between calls count like runs. What is computed does
//! not depend on it.
//!
//! What runs have accessed is still in the caches, if neither they have moved as much since then nor anybody else between them, for
//! whom a moment is too short. It needs not be fetched. How long runs take does not count: that differs by whether they fetch, so that
//! one run would decide for the next.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use fieldstone_device::near_caches;

use super::traffic::{Caches, Traffic};
use crate::llvm::Cached;

/// What this process moved.
static LEDGER: Ledger = Ledger::new();

/// Results that are remembered: each copy looks at all of them.
const RESULTS: usize = 1 << 8;

/// Fields that are: those of a model should hardly ever take the place of each other.
const FIELDS: usize = 1 << 12;

/// Nanoseconds between runs in which nobody moves as much as the caches hold.
const MOMENT: u64 = 1_000_000;

/// What times are counted from.
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What is known of the fields of a run before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outlook {
    /// Of its results, how much of any the caches still have at most.
    pub left: Left,
    /// How much of what it reads and writes the caches have.
    pub cached: Cached,
}

impl Outlook {
    /// Of a run with so many threads that moves so few bytes that it is not noted, if little else is moved until it runs again.
    pub fn of_small(bytes: usize, threads: usize) -> Outlook {
        Outlook {
            left: Left::default(),
            cached: Cached::after(bytes as u64, near_caches(threads) as u64),
        }
    }
}

/// How much the caches still have of a result that is overwritten; everything where it is not known, or where somebody read it so soon the
/// last time that it is better stored there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// All of them.
    pub all: Cached,
    /// Those that are near.
    pub near: Cached,
}

impl Default for Left {
    fn default() -> Left {
        Left {
            all: Cached::Near,
            near: Cached::Near,
        }
    }
}

impl Left {
    fn most(self, other: Left) -> Left {
        Left {
            all: self.all.max(other.all),
            near: self.near.max(other.near),
        }
    }
}

/// A time.
#[derive(Clone, Copy, Default)]
struct Now {
    /// Bytes that were moved before.
    bytes: u64,
    /// Nanoseconds before in which there was no run.
    idle: u64,
}

/// A run that goes on until this is dropped.
pub(super) struct Running {
    /// Nanoseconds at which it began.
    begin: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        LEDGER.note_end(self.begin, elapsed());
    }
}

/// Nanoseconds since the first run.
fn elapsed() -> u64 {
    u64::try_from(BEGIN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// What was moved so far, but for what is small.
struct Ledger {
    bytes: AtomicU64,
    /// Nanoseconds that runs took; of several at a time, each counts.
    busy: AtomicU64,
    /// Results that are remembered, and fields that are; one takes the place of another.
    results: [Written; RESULTS],
    fields: [Accessed; FIELDS],
}

/// Where what belongs to an address is, of a power of two of places.
fn place(address: u64, places: usize) -> usize {
    // Fibonacci hashing: arrays are often powers of two apart.
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - places.ilog2())) as usize
}

impl Ledger {
    const fn new() -> Ledger {
        Ledger {
            bytes: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            results: [const { Written::nothing() }; RESULTS],
            fields: [const { Accessed::nothing() }; FIELDS],
        }
    }

    /// Notes a run that begins after so many nanoseconds.
    fn note(&self, run: &Traffic, words: &[u64], nanoseconds: u64) -> Outlook {
        let bytes = self.bytes.fetch_add(run.bytes, Ordering::Relaxed);
        let idle = nanoseconds.saturating_sub(self.busy.load(Ordering::Relaxed));
        let now = Now { bytes, idle };
        for address in run.reads.iter().map(|word| words[*word]) {
            self.results[place(address, RESULTS)].note_read(address, bytes, run.caches);
        }
        let near = run.near_of_results(words);
        let results = run.writes.iter().map(|word| {
            let address = words[*word];
            let written = &self.results[place(address, RESULTS)];
            let left = written.left(address, bytes, [run.caches.all, near]);
            written.note_write(address, bytes);
            left
        });
        let left = results.reduce(Left::most).unwrap_or_default();
        let mut cached = Cached::Near;
        for address in (run.reads.iter().chain(&run.writes)).map(|word| words[*word]) {
            let field = &self.fields[place(address, FIELDS)];
            cached = cached.min(field.cached(address, now, run.caches.near));
            field.note(address, now);
        }
        Outlook { left, cached }
    }

    /// Notes that a run has ended.
    fn note_end(&self, begin: u64, end: u64) {
        (self.busy).fetch_add(end.saturating_sub(begin), Ordering::Relaxed);
    }

    /// Notes a copy or a fill between these addresses.
    fn note_move(&self, ranges: &[Range<usize>], bytes: usize, caches: Caches) {
        let now = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        for result in &self.results {
            result.note_access(ranges, now, caches);
        }
    }
}

/// Notes a run with these words that begins now; returns what can be told of its fields.
pub(super) fn note(run: &Traffic, words: &[u64]) -> (Outlook, Running) {
    let begin = elapsed();
    (LEDGER.note(run, words, begin), Running { begin })
}

/// Notes that somebody who is no stencil moves so many bytes between these addresses, with so many threads.
pub fn note_move(ranges: &[Range<usize>], bytes: usize, threads: usize) {
    let caches = Caches::of(threads);
    if caches.are_worth_a_note_of(bytes) {
        LEDGER.note_move(ranges, bytes, caches);
    }
}

/// A result of the last run that wrote it. Several threads may mix theirs up, which costs time at most.
struct Written {
    address: AtomicU64,
    /// What was moved before.
    at: AtomicU64,
    /// Whether it was read while the caches had it, and while those did that are quick.
    read: AtomicBool,
    read_soon: AtomicBool,
}

impl Written {
    const fn nothing() -> Written {
        Written {
            address: AtomicU64::new(0),
            at: AtomicU64::new(0),
            read: AtomicBool::new(false),
            read_soon: AtomicBool::new(false),
        }
    }

    /// Bytes moved from then to now, if it is the result at this address.
    fn since(&self, address: u64, now: u64) -> Option<u64> {
        let same = self.address.load(Ordering::Relaxed) == address;
        same.then(|| now.saturating_sub(self.at.load(Ordering::Relaxed)))
    }

    /// What is left of the result at this address in the caches and in those that are near, before it is overwritten.
    ///
    /// Where the caches have lost its place, it comes from memory before it is overwritten, and goes back there. So a result that is read only
    /// when quick caches have lost that, too, is stored past them. Where they still have its place it stays, if they do until it is read.
    fn left(&self, address: u64, now: u64, [all, near]: [u64; 2]) -> Left {
        let Some(moved) = self.since(address, now) else {
            return Left::default();
        };
        let of = |was_read: &AtomicBool, caches| match was_read.load(Ordering::Relaxed) {
            true => Cached::Near,
            false => Cached::after(moved, caches),
        };
        Left {
            all: of(&self.read_soon, all),
            near: of(&self.read, near),
        }
    }

    fn note_read(&self, address: u64, now: u64, caches: Caches) {
        let Some(moved) = self.since(address, now) else {
            return;
        };
        for (read, caches) in [(&self.read, caches.all), (&self.read_soon, caches.quick)] {
            if moved < caches {
                read.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Notes that what lies between these addresses is read or overwritten.
    fn note_access(&self, ranges: &[Range<usize>], now: u64, caches: Caches) {
        let address = self.address.load(Ordering::Relaxed);
        if (ranges.iter()).any(|range| range.contains(&(address as usize))) {
            self.note_read(address, now, caches);
        }
    }

    fn note_write(&self, address: u64, now: u64) {
        self.address.store(address, Ordering::Relaxed);
        self.at.store(now, Ordering::Relaxed);
        self.read.store(false, Ordering::Relaxed);
        self.read_soon.store(false, Ordering::Relaxed);
    }
}

/// A field that a run has accessed. Several threads may mix these up, too.
struct Accessed {
    address: AtomicU64,
    /// What was moved before, and how long there was no run.
    at: AtomicU64,
    idle: AtomicU64,
}

impl Accessed {
    const fn nothing() -> Accessed {
        Accessed {
            address: AtomicU64::new(0),
            at: AtomicU64::new(0),
            idle: AtomicU64::new(0),
        }
    }

    /// How much of the field at this address is in caches of so many bytes.
    fn cached(&self, address: u64, now: Now, caches: u64) -> Cached {
        let since = |then: &AtomicU64, now: u64| now.saturating_sub(then.load(Ordering::Relaxed));
        let is_recent =
            self.address.load(Ordering::Relaxed) == address && since(&self.idle, now.idle) < MOMENT;
        match is_recent {
            true => Cached::after(since(&self.at, now.bytes), caches),
            false => Cached::Little,
        }
    }

    fn note(&self, address: u64, now: Now) {
        self.address.store(address, Ordering::Relaxed);
        self.at.store(now.bytes, Ordering::Relaxed);
        self.idle.store(now.idle, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::traffic::SMALL;

    const CACHES: Caches = Caches {
        all: 1000,
        near: 1000,
        quick: 1000,
    };

    fn is_for_memory(outlook: Outlook) -> bool {
        outlook.left.all < Cached::Most
    }

    fn traffic(reads: &[usize], writes: &[usize]) -> Traffic {
        Traffic {
            bytes: 300,
            caches: CACHES,
            reads: reads.to_vec(),
            writes: writes.to_vec(),
            writes_lines: true,
        }
    }

    #[test]
    fn a_result_that_is_read_soon_stays_in_the_caches() {
        let words = [0x1000_0040, 0x1000_0080, 0x1000_00c0];
        let (make, read, other) = (traffic(&[2], &[0]), traffic(&[0], &[1]), traffic(&[2], &[]));
        let ledger = Ledger::new();
        let step = || [&make, &read, &other].map(|run| is_for_memory(ledger.note(run, &words, 0)));
        assert_eq!(step(), [false; 3], "nothing is known of the first ones");
        assert_eq!(step(), [false, true, false]);
        assert_eq!(step(), [false, true, false]);
    }

    #[test]
    fn what_quick_caches_lose_before_it_is_read_stays_where_its_place_is_still_in_the_others() {
        let words = [0xa000_0040, 0xa000_0080, 0xa000_00c0];
        let ledger = Ledger::new();
        let [mut make, mut read] = [traffic(&[2], &[0]), traffic(&[0], &[1])];
        for run in [&mut make, &mut read] {
            run.caches.quick = 200;
        }
        let mut step = |made, moved| {
            (make.bytes, read.bytes) = (made, moved);
            let left = ledger.note(&make, &words, 0).left;
            ledger.note(&read, &words, 0);
            (left.all, left.near)
        };
        assert_eq!(step(300, 300), (Cached::Near, Cached::Near), "not known");
        assert_eq!(step(300, 900), (Cached::Most, Cached::Near));
        assert_eq!(step(100, 900), (Cached::Little, Cached::Near));
        assert_eq!(step(100, 900), (Cached::Near, Cached::Near), "read soon");
    }

    #[test]
    fn a_result_that_is_still_in_the_caches_is_overwritten_there() {
        let (ledger, make) = (Ledger::new(), traffic(&[], &[0]));
        for _ in 0..3 {
            assert!(!is_for_memory(ledger.note(&make, &[0x2000_0040], 0)));
        }
    }

    #[test]
    fn what_caches_have_of_a_result_that_nobody_reads_depends_on_what_was_moved() {
        let words = [0x8000_0040, 0x8000_0080];
        let (ledger, mut make) = (Ledger::new(), traffic(&[1], &[0]));
        assert_eq!(
            ledger.note(&make, &words, 0).left,
            Left::default(),
            "not known"
        );
        for (bytes, left) in [(375, Cached::All), (376, Cached::Most), (626, Cached::Some)] {
            make.bytes = bytes;
            ledger.note(&make, &words, 0);
            assert_eq!(ledger.note(&make, &words, 0).left.all, left, "{bytes}");
        }
        ledger.note(&traffic(&[0], &[]), &words, 0);
        assert_eq!(
            ledger.note(&make, &words, 0).left,
            Left::default(),
            "it was read"
        );
    }

    #[test]
    fn what_is_near_has_less_of_a_result_than_all_caches() {
        let words = [0x9000_0040, 0x9000_0080];
        let (ledger, mut make) = (Ledger::new(), traffic(&[1], &[0]));
        make.caches.near = 200;
        ledger.note(&make, &words, 0);
        let outlook = ledger.note(&make, &words, 0);
        let left = (outlook.left.all, outlook.left.near);
        assert_eq!(left, (Cached::All, Cached::Little));
        assert_eq!(outlook.cached, Cached::Little);
        for (apart, begin) in [(false, 0), (true, 8)] {
            make.writes_lines = apart;
            let words = words.map(|word| word + begin);
            ledger.note(&make, &words, 0);
            let near = ledger.note(&make, &words, 0).left.near;
            assert_eq!(near, Cached::All, "rows begin within lines");
        }
    }

    #[test]
    fn what_copies_move_displaces_results() {
        let (ledger, make) = (Ledger::new(), traffic(&[], &[0]));
        let step = |from: usize| {
            ledger.note_move(&[from..from + 0x100, 0x5000..0x5100], 900, CACHES);
            is_for_memory(ledger.note(&make, &[0x3000_0040], 0))
        };
        assert!(!step(0x4000), "nothing is known of the first one");
        assert!(step(0x4000));
        assert!(!step(0x3000_0000), "the copy reads it");
    }

    #[test]
    fn what_was_accessed_a_moment_ago_is_near() {
        let words = [0x4000_0040, 0x4000_0080, 0x4000_00c0];
        let (ledger, run) = (Ledger::new(), traffic(&[0], &[1]));
        let near = |nanoseconds| ledger.note(&run, &words, nanoseconds).cached == Cached::All;
        assert!(!near(0), "nothing is known of the first one");
        assert!(near(MOMENT - 1));
        assert!(!near(2 * MOMENT), "others had time to move as much");
        assert!(near(2 * MOMENT + 1));
        ledger.note_move(&[0x5000..0x5100, 0x6000..0x6100], 900, CACHES);
        assert!(!near(2 * MOMENT + 2), "a copy takes its place");
        ledger.note(&traffic(&[2], &[0]), &words, 2 * MOMENT + 3);
        assert!(
            !near(2 * MOMENT + 4),
            "so does another run, of what is written"
        );
    }

    #[test]
    fn what_is_too_small_to_be_noted_is_near() {
        let caches = near_caches(2);
        assert_eq!(
            Outlook::of_small(caches / SMALL as usize, 2).cached,
            Cached::Near
        );
        let large = Outlook::of_small(caches + 1, 2);
        assert_eq!(large.cached, Cached::Little, "where the last cache is far");
    }

    #[test]
    fn how_long_runs_take_does_not_count() {
        let words = [0x9000_0040, 0x9000_0080];
        let (ledger, run) = (Ledger::new(), traffic(&[0], &[1]));
        let near = |nanoseconds| ledger.note(&run, &words, nanoseconds).cached == Cached::All;
        near(0);
        ledger.note_end(0, 7 * MOMENT);
        assert!(near(8 * MOMENT - 1));
        ledger.note_end(8 * MOMENT - 1, 9 * MOMENT - 1);
        assert!(!near(10 * MOMENT - 1), "nobody ran for a moment");
    }

    #[test]
    fn what_is_left_in_the_caches_depends_on_what_was_moved() {
        let words = [0x7000_0040, 0x7000_0080];
        let (ledger, mut run) = (Ledger::new(), traffic(&[0], &[1]));
        for (bytes, cached) in [
            (250, Cached::Near),
            (251, Cached::All),
            (375, Cached::All),
            (376, Cached::Most),
            (625, Cached::Most),
            (626, Cached::Some),
            (1000, Cached::Some),
            (1001, Cached::Little),
        ] {
            run.bytes = bytes;
            ledger.note(&run, &words, 0);
            assert_eq!(
                ledger.note(&run, &words, 0).cached,
                cached,
                "{bytes} of 1000 bytes"
            );
        }
    }
}
