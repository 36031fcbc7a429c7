//! Which of two copies of the same bytes is current.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::StorageError;
use crate::traffic::Traffic;

/// What memory is accessed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Elements are read.
    Read,
    /// Every element is written, and none is read before.
    Write,
    /// Elements are read or written, perhaps not all.
    ReadWrite,
}

/// One of the two copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In host memory.
    Host,
    /// In a device's memory.
    Device,
}

impl Side {
    /// The copy that this is not.
    pub fn other(self) -> Self {
        match self {
            Self::Host => Self::Device,
            Self::Device => Self::Host,
        }
    }
}

/// Which copy was written to since both were equal; all views of the two share it.
///
/// One copy at most is ahead of the other, in some of its bytes. Arrays that were handed out and may be written to at any
/// time are counted on their side.
#[derive(Debug, Default)]
pub struct SyncState {
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The copy that is ahead, and where: never nowhere.
    pub ahead: Option<(Side, Regions)>,
    /// Where arrays were handed out on either side, once for each.
    pub leased: [Vec<Range<usize>>; 2],
    /// How many arrays were handed out on either side that are only read.
    pub shown: [usize; 2],
    /// Whether the copy on either side must not be written to.
    pub protected: [bool; 2],
    /// What is under way.
    pub traffic: Traffic,
    /// The memory this is about: the first address of each copy, and the length of both.
    pub memory: Option<(usize, usize, usize)>,
}

impl SyncState {
    /// Both copies are equal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The copy that is ahead of the other.
    pub fn ahead(&self) -> Option<Side> {
        self.ledger().ahead.as_ref().map(|(side, _)| *side)
    }

    /// Declares one copy to be ahead in all bytes, or both to be equal.
    pub fn declare(&self, ahead: Option<Side>) {
        self.ledger().ahead = ahead.map(|side| (side, Regions::whole()));
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Notes that a copy has been, or may have been, written to. The other one is not ahead.
    pub fn write(&mut self, side: Side, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match &mut self.ahead {
            Some((ahead, regions)) if *ahead == side => regions.add(range),
            ahead => *ahead = Some((side, Regions::of(range))),
        }
    }

    /// Notes that both copies are equal in these bytes.
    pub fn settle(&mut self, range: &Range<usize>) {
        if let Some((_, regions)) = &mut self.ahead {
            regions.remove(range);
            if regions.is_empty() {
                self.ahead = None;
            }
        }
    }

    /// Where arrays are out that may be written to on a side.
    pub fn leased(&self, side: Side) -> &[Range<usize>] {
        &self.leased[side as usize]
    }

    /// Refuses to change the copy on a side if it must not be written to.
    pub fn check_writeable(&self, side: Side) -> Result<(), StorageError> {
        match (self.protected[side as usize], side) {
            (false, _) => Ok(()),
            (true, Side::Host) => Err(StorageError::Protected { side: "host" }),
            (true, Side::Device) => Err(StorageError::Protected { side: "device" }),
        }
    }

    /// Whether any array is out on a side.
    pub fn is_out(&self, side: Side) -> bool {
        !self.leased(side).is_empty() || self.shown[side as usize] > 0
    }
}

/// Bytes of a block: disjoint ranges in order, none of them empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Regions(Vec<Range<usize>>);

/// More ranges than this are joined: bytes in between are equal on both sides, so that moving them as well is harmless.
const MOST_REGIONS: usize = 32;

impl Regions {
    pub fn whole() -> Self {
        Self::of(0..usize::MAX)
    }

    pub fn of(range: Range<usize>) -> Self {
        Self(Vec::from([range]))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges, as far as they lie in a block of `bytes` bytes.
    pub fn within(&self, bytes: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        self.0
            .iter()
            .map(move |range| range.start..range.end.min(bytes))
            .filter(|range| !range.is_empty())
    }

    fn add(&mut self, range: Range<usize>) {
        let first = self.0.partition_point(|other| other.end < range.start);
        let last = self.0.partition_point(|other| other.start <= range.end);
        let mut joined = range;
        for other in &self.0[first..last] {
            joined = joined.start.min(other.start)..joined.end.max(other.end);
        }
        self.0.splice(first..last, [joined]);
        if self.0.len() > MOST_REGIONS {
            self.join_nearest();
        }
    }

    fn remove(&mut self, range: &Range<usize>) {
        let cut = |other: Range<usize>| {
            let before = other.start..other.end.min(range.start);
            let after = other.start.max(range.end)..other.end;
            [before, after].into_iter().filter(|part| !part.is_empty())
        };
        self.0 = self.0.drain(..).flat_map(cut).collect();
        if self.0.len() > MOST_REGIONS {
            self.join_nearest();
        }
    }

    fn join_nearest(&mut self) {
        let gap = |place: &usize| self.0[place + 1].start - self.0[*place].end;
        if let Some(place) = (0..self.0.len() - 1).min_by_key(gap) {
            let joined = self.0[place].start..self.0[place + 1].end;
            self.0.splice(place..place + 2, [joined]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn many_regions_are_joined_where_they_are_nearest() {
        let mut regions = Regions::of(0..1);
        for place in 1..=MOST_REGIONS {
            regions.add(place * 10..place * 10 + if place == 7 { 9 } else { 1 });
        }
        assert_eq!(regions.0.len(), MOST_REGIONS);
        assert!(regions.0.contains(&(70..81)));
    }

    proptest! {
        #[test]
        fn regions_are_sets_of_bytes(steps in prop::collection::vec((any::<bool>(), 0usize..200, 1usize..40), 1..30)) {
            let mut regions = Regions::of(0..5);
            let mut bytes = [false; 256];
            bytes[..5].fill(true);
            for (adds, start, length) in steps {
                let range = start..start + length;
                bytes[range.clone()].fill(adds);
                if adds { regions.add(range) } else { regions.remove(&range) }
                let mut covered = [false; 256];
                for range in &regions.0 {
                    prop_assert!(!range.is_empty());
                    covered[range.clone()].fill(true);
                }
                prop_assert_eq!(covered, bytes);
                prop_assert!(regions.0.windows(2).all(|pair| pair[0].end < pair[1].start || !adds));
            }
        }
    }
}
