//! What two copies should hold and move, kept in the plainest way: for each unit of memory its value on either side, and who
//! is ahead there.

use std::ops::Range;

use fieldstone_device::Transfers;
use fieldstone_storage::{Access, Side};

/// Units that belong together are moved together unless at least this many bytes can be left behind.
const GRANULE: usize = 256 << 10;

/// More separate runs than this are joined, where they are nearest.
const MOST_RUNS: usize = 32;

/// Two copies of a block of memory.
#[derive(Debug)]
pub struct Model {
    /// Bytes of a unit; elements begin at units, and are one or more of them.
    pub unit: usize,
    /// The value of each unit on the host and on the device; `None` is what nobody has written.
    pub held: [Vec<Option<u8>>; 2],
    /// What the program has written last; `None` where it has not, or was told two things at once.
    pub truth: Vec<Option<u8>>,
    /// Who was written to since both were equal.
    pub newer: Vec<Option<Side>>,
    /// Units of the elements of the whole.
    pub elements: Vec<usize>,
    /// Whether what lies between the elements belongs to somebody else.
    pub gaps: [bool; 2],
    /// Arrays that are out.
    pub leases: Vec<(Side, Range<usize>)>,
    /// What has been moved.
    pub moved: Transfers,
    /// Whether that is only the least of what may have been moved.
    pub is_at_least: bool,
}

impl Model {
    /// The side that is ahead.
    pub fn ahead(&self) -> Option<Side> {
        self.newer.iter().copied().flatten().next()
    }

    fn is_out(&self, side: Side) -> bool {
        self.leases
            .iter()
            .any(|(out, range)| *out == side && !range.is_empty())
    }

    /// An access to the units of `window`, from its first to its last.
    pub fn access(&mut self, side: Side, window: &[usize], access: Access) {
        let Some(range) = span(window) else { return };
        self.expect_writes(side.other());
        if self.ahead() == Some(side.other()) {
            if access == Access::Write && window.len() == self.elements.len() {
                self.newer.fill(None);
            } else if access == Access::Read {
                self.bring(side, range.clone());
            } else {
                self.bring(side, 0..self.newer.len());
            }
        }
        if access != Access::Read {
            self.mark(side, range);
        }
    }

    /// Whoever holds an array of a side may just have written to it.
    fn expect_writes(&mut self, side: Side) {
        if self.is_out(side) && !self.is_out(side.other()) && self.ahead() != Some(side.other()) {
            for (_, leased) in self.leases.clone() {
                self.mark(side, leased);
            }
        }
    }

    /// A write of one value to units, after an access for it, and what follows it.
    pub fn write(&mut self, side: Side, units: &[usize], value: u8) {
        for &unit in units {
            self.held[side as usize][unit] = Some(value);
            self.truth[unit] = Some(value);
        }
        self.settle(side);
    }

    /// Arrays that are out on the other side are brought up to date.
    fn settle(&mut self, side: Side) {
        if self.is_out(side.other()) && self.ahead() == Some(side) {
            self.bring(side.other(), 0..self.newer.len());
        }
    }

    /// An array of a window is handed out.
    pub fn lease(&mut self, side: Side, window: &[usize]) {
        self.access(side, window, Access::ReadWrite);
        self.leases.push((side, span(window).unwrap_or(0..0)));
    }

    /// Somebody writes through an array that is out.
    pub fn poke(&mut self, side: Side, unit: usize, value: u8) {
        // With arrays out on both sides, or one that lies behind because of what was declared, nobody can know.
        let known = !self.is_out(side.other()) && self.ahead() != Some(side.other());
        self.held[side as usize][unit] = Some(value);
        self.truth[unit] = known.then_some(value);
    }

    /// An array that is out goes.
    pub fn release(&mut self, place: usize) {
        let (side, range) = self.leases.remove(place);
        if self.ahead() != Some(side.other()) {
            self.mark(side, range);
        }
        self.settle(side);
    }

    /// An explicit transfer to a side.
    pub fn transfer(&mut self, side: Side, force: bool) {
        if force {
            self.newer.fill(None);
            match self.gaps[side as usize] {
                true => self.bring_elements(side),
                false => self.move_units(side, 0..self.newer.len()),
            }
            self.believe(side);
            return;
        }
        self.expect_writes(side.other());
        if self.ahead() == Some(side.other()) {
            self.bring(side, 0..self.newer.len());
        }
    }

    /// A user says who is ahead.
    pub fn declare(&mut self, ahead: Option<Side>) {
        self.newer.fill(ahead);
        match ahead {
            Some(side) => self.believe(side),
            None => {
                let equal =
                    |(host, device): (&Option<u8>, _)| if host == device { *host } else { None };
                self.truth = self.held[0].iter().zip(&self.held[1]).map(equal).collect();
            }
        }
    }

    fn believe(&mut self, side: Side) {
        self.truth = self.held[side as usize].clone();
    }

    fn mark(&mut self, side: Side, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        assert_ne!(self.ahead(), Some(side.other()), "both would be ahead");
        self.newer[range].fill(Some(side));
        loop {
            let runs = self.runs();
            if runs.len() <= MOST_RUNS {
                return;
            }
            let gaps = runs.windows(2).map(|two| two[0].end..two[1].start);
            let nearest = gaps.min_by_key(ExactSizeIterator::len).unwrap();
            self.newer[nearest].fill(Some(side));
        }
    }

    /// Runs of units in which somebody is ahead.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (unit, newer) in self.newer.iter().enumerate() {
            match runs.last_mut() {
                _ if newer.is_none() => {}
                Some(run) if run.end == unit => run.end += 1,
                _ => runs.push(unit..unit + 1),
            }
        }
        runs
    }

    /// Brings `wanted` up to date on one side, and more if it is not worth to leave that behind.
    fn bring(&mut self, side: Side, wanted: Range<usize>) {
        let all = 0..self.newer.len();
        let is_needed = self.newer[wanted.clone()].iter().any(Option::is_some);
        if !is_needed && wanted != all {
            return;
        }
        if self.gaps[side as usize] {
            self.bring_elements(side);
            return self.newer.fill(None);
        }
        let down = wanted.start * self.unit / GRANULE * GRANULE / self.unit;
        let up = ((wanted.end * self.unit).next_multiple_of(GRANULE) / self.unit).min(all.end);
        let left = self.newer[..down]
            .iter()
            .chain(&self.newer[up..])
            .flatten()
            .count();
        let worth = if left * self.unit < GRANULE {
            all
        } else {
            down..up
        };
        for run in self.runs() {
            let part = run.start.max(worth.start)..run.end.min(worth.end);
            if !part.is_empty() {
                self.newer[part.clone()].fill(None);
                self.move_units(side, part);
            }
        }
    }

    fn move_units(&mut self, side: Side, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.count(side, range.len());
        for unit in range {
            self.held[side as usize][unit] = self.held[side.other() as usize][unit];
        }
    }

    /// One by one, so that what lies between them stays.
    fn bring_elements(&mut self, side: Side) {
        // How many rows, and whether with what lies between, is decided by what is faster.
        self.is_at_least = true;
        self.count(side, self.elements.len());
        for &unit in &self.elements {
            self.held[side as usize][unit] = self.held[side.other() as usize][unit];
        }
    }

    fn count(&mut self, side: Side, units: usize) {
        let (count, bytes) = match side {
            Side::Host => (&mut self.moved.downloads, &mut self.moved.downloaded_bytes),
            Side::Device => (&mut self.moved.uploads, &mut self.moved.uploaded_bytes),
        };
        *count += 1;
        *bytes += units * self.unit;
    }
}

fn span(window: &[usize]) -> Option<Range<usize>> {
    Some(*window.iter().min()?..window.iter().max()? + 1)
}
