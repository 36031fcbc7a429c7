//! What is made of a program: text, kernels, and where they may fail.

use fieldstone_device::CoreCaches;
use fieldstone_stencil::ir::{DataDimension, Target};
use fieldstone_stencil::schedule::Roles;
use fieldstone_stencil::{Axis, Span};

use super::abi::OwnWords;
use super::ahead::{Cached, Fetch, MOST, waits_for_lines};
use crate::choices::Stores;
use crate::tile::Scratch;

/// The text of a module and its kernels, in the order in which they run.
#[derive(Clone, Debug)]
pub struct Module {
    /// LLVM IR.
    pub text: String,
    /// One for each nest, several for a nest that runs level by level.
    pub kernels: Vec<Kernel>,
    /// Where the call may fail; kernels number these places from one.
    pub failures: Vec<Failure>,
}

/// A place where a kernel may find that the call fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong there.
    pub what: Wrong,
    /// Where it stands in the source.
    pub span: Span,
}

/// What a kernel may find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// An access at a level that the array of a target does not have.
    Level(Target),
    /// An access at an index that a data dimension does not have.
    Index(DataDimension),
    /// Bounds of these intervals that are not what they have to be.
    Intervals(Vec<Span>),
}

/// A function of a module.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Symbol.
    pub name: String,
    /// Scratch memory of each thread, and the largest tile.
    pub scratch: Scratch,
    /// Bytes for each point that the kernel can store past the caches.
    pub streamed: usize,
    /// Bytes for each point of all fields that it reads or writes there.
    pub moved: usize,
    /// Whether it does, where that was chosen.
    pub stores: Option<Stores>,
    /// What it fetches into the caches.
    pub fetch: Fetch,
    /// Its own words, where it does not have those of all kernels.
    pub words: Option<OwnWords>,
}

impl Kernel {
    /// Whether it stores past the caches what it can, for so many points, with caches of so many bytes.
    ///
    /// What nearly fills the caches does not stay there, since other work needs some of them too.
    pub fn streams(&self, points: usize, caches: usize) -> bool {
        match self.stores {
            Some(stores) => stores == Stores::Streamed && self.streamed > 0,
            None => self.streamed > 0 && self.fills(points, caches),
        }
    }

    /// Bytes for each point that it stores past the caches in calls that move enough.
    pub fn streamable(&self) -> usize {
        match self.stores {
            Some(Stores::Cached) => 0,
            _ => self.streamed,
        }
    }

    /// Whether it moves more than caches of so many bytes keep of it, for so many points.
    pub fn fills(&self, points: usize, caches: usize) -> bool {
        fills(points.saturating_mul(self.moved), caches)
    }

    /// Whether a sweep's next level is fetched into the first-level cache, for so many points.
    pub fn fetches_next(&self, points: usize, caches: usize) -> bool {
        self.fetch.ahead > 1 && self.fills(points, caches)
    }

    /// Whether it stores past the caches where that is better for others, though it would not for itself.
    pub fn may_stream(&self) -> bool {
        self.streamed > 0 && self.stores.is_none()
    }

    /// How much of results that nobody reads soon the caches have to have left for them to be stored there. Vectors of levels are
    /// stored to places far from each other: past the caches they go as soon as those do not have all, if they are not too much of what
    /// is moved.
    pub fn keeps(&self, roles: Roles, caches: CoreCaches) -> Cached {
        let least_moved = match waits_for_lines(caches) {
            true => 2,
            false => 3,
        };
        match roles.are_panels() && self.streamed * least_moved <= self.moved {
            true => Cached::All,
            false => Cached::Most,
        }
    }

    /// Whether tiles of rows may be so small that their planes stay near: those of short rows, others where caches have what they read,
    /// if only just where points are vectors of levels.
    pub fn keeps_near(&self, roles: Roles, points: usize, caches: usize) -> bool {
        match roles.are_panels() {
            true => points.saturating_mul(self.moved) <= caches,
            false => roles.vector == Axis::K || !self.fills(points, caches),
        }
    }

    /// Rows, or levels of a sweep, ahead that are fetched into the caches, for so many points of a domain.
    pub fn fetched_ahead(&self, points: usize, domain: [usize; 3], caches: usize) -> usize {
        let ahead = (self.fetch).with(domain, points.saturating_mul(self.moved), caches);
        // What follows the next tile is needed too late.
        let rows = self
            .fetch
            .length
            .and_then(|length| self.scratch.near_columns(length.of_row(domain)));
        rows.map_or(ahead, |rows| ahead.min(rows))
    }
}

/// Whether so much is moved that caches of so many bytes keep it in part only.
pub fn fills(bytes: usize, caches: usize) -> bool {
    bytes > caches / 8 * MOST
}

#[cfg(test)]
mod tests {
    use fieldstone_device::CoreCaches;
    use fieldstone_stencil::Axis;

    use super::*;

    #[test]
    fn results_in_places_far_apart_go_past_the_caches_sooner() {
        let kept = |roles: Roles, fields: usize, caches: CoreCaches| {
            let kernel = Kernel {
                name: String::new(),
                scratch: Scratch::default(),
                streamed: 8,
                moved: 8 * fields,
                stores: None,
                fetch: Fetch::NOTHING,
                words: None,
            };
            kernel.keeps(roles, caches)
        };
        let caches = |first: usize, waits_for_few: bool| CoreCaches {
            first: first << 10,
            waits_for_few,
            ..CoreCaches::default()
        };
        let keeps = |roles, fields, first| kept(roles, fields, caches(first, false));
        let panels = Roles::of_panels(Axis::J);
        assert_eq!(
            [2, 3].map(|fields| keeps(panels, fields, 32)),
            [Cached::All; 2]
        );
        assert_eq!(
            [2, 3].map(|fields| keeps(panels, fields, 48)),
            [Cached::Most, Cached::All],
            "its core waits for more lines at a time"
        );
        let of_few = [2, 3].map(|fields| kept(panels, fields, caches(32, true)));
        assert_eq!(of_few, [Cached::Most, Cached::All], "and this for fewer");
        assert_eq!(keeps(Roles::new(Axis::I), 3, 32), Cached::Most);
    }
}
