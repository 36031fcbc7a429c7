//! What runs move, and which results somebody reads soon: whether they better go past the caches.
//!
//! A call knows itself only. Stencils of a step that are called one after another may move more than the caches hold though each
//! of them does not. A result that nobody reads soon then drives out what somebody reads, and what was in its place has to come
//! from memory before it is overwritten. So bytes that runs move are counted, and results remembered by their addresses: what
//! became of a result the last time is taken to happen again. Copies and fills between calls count like runs. What is computed does
//! not depend on it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fieldstone_stencil::ir::Field;
use fieldstone_stencil::program::Program;

use crate::llvm::abi::Words;

/// What this process moved.
static LEDGER: Ledger = Ledger::new();

/// Binary digits of the number of a place.
const PLACES: u32 = 8;

/// Runs that move less than one in so many parts of the caches are not counted.
const SMALL: usize = 64;

/// What was moved so far, but for what is small.
struct Ledger {
    bytes: AtomicU64,
    /// Results that are remembered; one takes the place of another.
    results: [Written; 1 << PLACES],
}

impl Ledger {
    const fn new() -> Ledger {
        Ledger {
            bytes: AtomicU64::new(0),
            results: [const { Written::nothing() }; 1 << PLACES],
        }
    }

    fn place(&self, address: u64) -> &Written {
        // Fibonacci hashing: arrays are often powers of two apart.
        let place = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES);
        &self.results[place as usize]
    }

    /// Notes a run; returns whether its results better go past the caches.
    fn note(&self, run: &Traffic, words: &[u64]) -> bool {
        let now = self.bytes.fetch_add(run.bytes, Ordering::Relaxed);
        for address in run.reads.iter().map(|word| words[*word]) {
            self.place(address).note_read(address, now, run.caches);
        }
        let mut for_memory = !run.writes.is_empty();
        for address in run.writes.iter().map(|word| words[*word]) {
            let written = self.place(address);
            for_memory &= written.was_for_memory(address, now, run.caches);
            written.note_write(address, now);
        }
        for_memory
    }

    /// Notes a copy or a fill between these addresses.
    fn note_move(&self, ranges: &[Range<usize>], bytes: usize, caches: usize) {
        let now = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        for result in &self.results {
            result.note_access(ranges, now, caches as u64);
        }
    }
}

/// Notes that somebody who is no stencil moves so many bytes between these addresses, with caches of so many bytes.
pub fn note_move(ranges: &[Range<usize>], bytes: usize, caches: usize) {
    if is_worth_a_note(bytes, caches) {
        LEDGER.note_move(ranges, bytes, caches);
    }
}

fn is_worth_a_note(bytes: usize, caches: usize) -> bool {
    bytes > caches / SMALL
}

/// A result of the last run that wrote it. Several threads may mix theirs up, which costs time at most.
struct Written {
    address: AtomicU64,
    /// What was moved before.
    at: AtomicU64,
    /// Whether it was read while the caches had it.
    read_soon: AtomicBool,
}

impl Written {
    const fn nothing() -> Written {
        Written {
            address: AtomicU64::new(0),
            at: AtomicU64::new(0),
            read_soon: AtomicBool::new(false),
        }
    }

    /// Bytes moved from then to now, if it is the result at this address.
    fn since(&self, address: u64, now: u64) -> Option<u64> {
        let same = self.address.load(Ordering::Relaxed) == address;
        same.then(|| now.saturating_sub(self.at.load(Ordering::Relaxed)))
    }

    /// Whether nobody read the result soon that is now overwritten, and it is no longer in the caches.
    fn was_for_memory(&self, address: u64, now: u64, caches: u64) -> bool {
        let far = (self.since(address, now)).is_some_and(|bytes| bytes > caches / 8 * 5);
        far && !self.read_soon.load(Ordering::Relaxed)
    }

    fn note_read(&self, address: u64, now: u64, caches: u64) {
        if (self.since(address, now)).is_some_and(|bytes| bytes < caches) {
            self.read_soon.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that what lies between these addresses is read or overwritten.
    fn note_access(&self, ranges: &[Range<usize>], now: u64, caches: u64) {
        let address = self.address.load(Ordering::Relaxed);
        if (ranges.iter()).any(|range| range.contains(&(address as usize))) {
            self.note_read(address, now, caches);
        }
    }

    fn note_write(&self, address: u64, now: u64) {
        self.address.store(address, Ordering::Relaxed);
        self.at.store(now, Ordering::Relaxed);
        self.read_soon.store(false, Ordering::Relaxed);
    }
}

/// What a run moves.
pub(super) struct Traffic {
    bytes: u64,
    /// Of the caches.
    caches: u64,
    /// The words with the addresses of the fields along all axes that it reads.
    reads: Vec<usize>,
    /// The same of those that it writes.
    writes: Vec<usize>,
}

impl Traffic {
    /// Of a run that moves so many bytes, if that is worth a note.
    pub fn new(program: &Program, words: &Words, bytes: usize, caches: usize) -> Option<Traffic> {
        let fields = || {
            let both = (program.stencil.fields.iter()).zip(&program.analysis.fields);
            let all = both.enumerate();
            all.filter(|(_, (field, _)): &(usize, (&Field, _))| field.axes.len() == 3)
                .map(|(number, (_, info))| (words.field(number), info.access))
        };
        is_worth_a_note(bytes, caches).then(|| Traffic {
            bytes: bytes as u64,
            caches: caches as u64,
            reads: fields()
                .filter(|(_, access)| access.reads())
                .map(|(word, _)| word)
                .collect(),
            writes: fields()
                .filter(|(_, access)| access.writes())
                .map(|(word, _)| word)
                .collect(),
        })
    }

    /// Notes a run with these words; returns whether its results better go past the caches, as far as can be told.
    pub fn note(&self, words: &[u64]) -> bool {
        LEDGER.note(self, words)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledger, Traffic};

    fn traffic(reads: &[usize], writes: &[usize]) -> Traffic {
        Traffic {
            bytes: 300,
            caches: 1000,
            reads: reads.to_vec(),
            writes: writes.to_vec(),
        }
    }

    #[test]
    fn a_result_that_is_read_soon_stays_in_the_caches() {
        let words = [0x1000_0040, 0x1000_0080, 0x1000_00c0];
        let (make, read, other) = (traffic(&[2], &[0]), traffic(&[0], &[1]), traffic(&[2], &[]));
        let ledger = Ledger::new();
        let step = || [&make, &read, &other].map(|run| ledger.note(run, &words));
        assert_eq!(step(), [false; 3], "nothing is known of the first ones");
        assert_eq!(step(), [false, true, false]);
        assert_eq!(step(), [false, true, false]);
    }

    #[test]
    fn a_result_that_is_still_in_the_caches_is_overwritten_there() {
        let (ledger, make) = (Ledger::new(), traffic(&[], &[0]));
        for _ in 0..3 {
            assert!(!ledger.note(&make, &[0x2000_0040]));
        }
    }

    #[test]
    fn what_copies_move_displaces_results() {
        let (ledger, make) = (Ledger::new(), traffic(&[], &[0]));
        let step = |from: usize| {
            ledger.note_move(&[from..from + 0x100, 0x5000..0x5100], 900, 1000);
            ledger.note(&make, &[0x3000_0040])
        };
        assert!(!step(0x4000), "nothing is known of the first one");
        assert!(step(0x4000));
        assert!(!step(0x3000_0000), "the copy reads it");
    }
}
