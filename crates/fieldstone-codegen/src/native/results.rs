//! Whether the results of a kernel stay in the caches or go past them.

use fieldstone_device::CoreCaches;
use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::{Roles, RowNest};

use super::ledger::Left;
use crate::llvm::ahead::reads_own_rows;
use crate::llvm::{Cached, Kernel};

/// What becomes of the results of a kernel on some points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Results {
    /// Whether they go past the caches in every run: that was chosen, or a run moves more than these keep.
    pub always_pass: bool,
    /// Whether they may where it is better for others.
    may_pass: bool,
    /// How much of the place of results that nobody reads soon the caches have to have left for these to stay there.
    keeps: Cached,
    /// How much the last cache has to have of it for them to stay though the caches that are near have lost it; `None` where that does not
    /// count.
    stays: Option<Cached>,
}

/// Where the results of a run go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// Past the caches.
    pub past: bool,
    /// The same, though a run moves no more than they keep.
    pub for_others: bool,
    /// Whether the caches have lost the place of results that may go past them: what is read comes from memory, too.
    pub lost: bool,
}

impl Results {
    /// Of a sweep, on so many points with caches of so many bytes.
    pub fn of_columns(kernel: &Kernel, points: usize, shared: usize) -> Results {
        Results {
            always_pass: kernel.streams(points, shared),
            may_pass: kernel.may_stream(),
            keeps: Cached::Most,
            stays: None,
        }
    }

    /// Of a nest of rows.
    pub fn of_rows(
        kernel: &Kernel,
        nest: &RowNest,
        (points, shared): (usize, usize),
        caches: CoreCaches,
    ) -> Results {
        Results {
            keeps: kernel.keeps(nest.roles, caches),
            stays: stays(nest.roles, nest.stages.len(), reads_own_rows(nest), caches),
            ..Results::of_columns(kernel, points, shared)
        }
    }

    /// Where they go if the caches have so much of their place.
    pub fn way(self, left: Left) -> Way {
        let is_lost = |left: Cached| self.may_pass && left < self.keeps;
        let stays = self.stays.is_some_and(|enough| left.all >= enough);
        let lost = is_lost(left.all);
        let for_others = !self.always_pass && (lost || (is_lost(left.near) && !stays));
        Way {
            past: self.always_pass || for_others,
            for_others,
            lost,
        }
    }
}

/// How much of their place the last cache has to have for results of so many stages to stay there.
fn stays(roles: Roles, stages: usize, reads_own_rows: bool, caches: CoreCaches) -> Option<Cached> {
    match roles.vector == Axis::K && !reads_own_rows {
        // Stores past the caches take longer as long as the last one has what is read.
        true => Some(Cached::Little),
        false => {
            (caches.streams_are_late() && stages > 1 && !roles.are_panels()).then_some(Cached::Near)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: Results = Results {
        always_pass: false,
        may_pass: true,
        keeps: Cached::Most,
        stays: None,
    };

    fn way(results: Results, all: Cached, near: Cached) -> (bool, bool) {
        let way = results.way(Left { all, near });
        assert_eq!(way.past, way.for_others || results.always_pass);
        (way.past, way.lost)
    }

    #[test]
    fn results_go_past_caches_that_have_lost_their_place() {
        for (all, near, expected) in [
            (Cached::Near, Cached::Near, (false, false)),
            (Cached::Most, Cached::Most, (false, false)),
            (Cached::Most, Cached::Some, (true, false)),
            (Cached::Some, Cached::Some, (true, true)),
        ] {
            assert_eq!(way(RESULTS, all, near), expected, "{all:?} {near:?}");
        }
    }

    #[test]
    fn some_stay_as_long_as_the_last_cache_has_enough_of_their_place() {
        for (stays, all, past) in [
            (None, Cached::Near, true),
            (Some(Cached::Near), Cached::Near, false),
            (Some(Cached::Near), Cached::All, true),
            (Some(Cached::Little), Cached::Most, false),
            (Some(Cached::Little), Cached::Some, true),
        ] {
            let results = Results { stays, ..RESULTS };
            assert_eq!(
                way(results, all, Cached::Little).0,
                past,
                "{stays:?} {all:?}"
            );
        }
    }

    #[test]
    fn what_was_chosen_or_fills_the_caches_does_not_depend_on_others() {
        let cached = Results {
            may_pass: false,
            ..RESULTS
        };
        assert_eq!(way(cached, Cached::Little, Cached::Little), (false, false));
        let filling = Results {
            always_pass: true,
            ..RESULTS
        };
        assert_eq!(way(filling, Cached::Near, Cached::Near), (true, false));
        let way = filling.way(Left {
            all: Cached::Little,
            near: Cached::Little,
        });
        assert!(way.lost && !way.for_others);
    }

    #[test]
    fn rows_along_columns_and_where_streams_are_late_those_of_several_stages_leave_results_to_the_last_cache()
     {
        let late = CoreCaches {
            short_rows_are_late: true,
            ..CoreCaches::default()
        };
        let [rows, levels, panels] = [
            Roles::new(Axis::I),
            Roles::new(Axis::K),
            Roles::of_panels(Axis::I),
        ];
        for (roles, stages, own, caches, expected) in [
            (rows, 2, false, CoreCaches::default(), None),
            (rows, 1, false, late, None),
            (rows, 2, false, late, Some(Cached::Near)),
            (panels, 2, false, late, None),
            (levels, 1, true, late, None),
            (
                levels,
                1,
                false,
                CoreCaches::default(),
                Some(Cached::Little),
            ),
        ] {
            assert_eq!(
                stays(roles, stages, own, caches),
                expected,
                "{roles:?} {stages} {own}"
            );
        }
    }
}
