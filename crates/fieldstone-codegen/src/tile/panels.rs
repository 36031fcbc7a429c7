//! Rings of rows whose points are vectors of levels.

use std::collections::HashMap;

use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::{Stencil, Target as Written};
use fieldstone_stencil::schedule::RowNest;
use fieldstone_stencil::visit::Accesses;

use super::rings::{MOST_RINGS, Ring, rings_of};
use super::{LINE, Scratch};
use crate::choices::Choices;
use crate::lanes::widest;
use crate::llvm::ahead::arrays_read;
use crate::target::Target;

/// Points of such rows: as many as fit. Rows of more points have to be read again from the second-level cache when the next one is
/// computed.
const PANELS: &[usize] = &[64, 48, 32];

/// Points of such rows where tiles have several lines of each, and where the same line of each column has its place in one eighth of
/// the first-level cache: those of rows that are read again would not stay there.
const SHORT_PANELS: usize = 32;

/// Of so many points of a row one may be computed by two tiles.
const EDGES: usize = 8;

/// Points of such rows where none of those fits.
const SHORTEST_PANELS: usize = 16;

/// Levels of a tile of such rows, at most.
const PANEL_LEVELS: usize = 128;

/// Lanes of a vector at most; masks are made in words of 64 bits.
pub(crate) const MOST_LANES: usize = 32;

impl Scratch {
    /// Of a nest of rows whose points are vectors of levels.
    pub(super) fn of_panels(
        stencil: &Stencil,
        rings: &[Ring],
        nest: &RowNest,
        choices: &Choices,
        target: &Target,
    ) -> Scratch {
        let widest = nest.stages.iter().map(|stage| widest(stencil, stage)).max();
        let widest = widest.unwrap_or(1);
        let lanes = (target.row_bytes() / widest).clamp(1, MOST_LANES);
        let line = lanes.max(LINE / widest);
        let chosen = choices.tile(Axis::K);
        let chosen = chosen.map(|levels| levels.min(PANEL_LEVELS).next_multiple_of(lanes));
        let plan = |vector: usize, levels: usize| {
            let blocks = levels.div_ceil(lanes);
            rings_of(rings, nest, vector, blocks, lanes)
        };
        // Fields need the other half.
        let budget = target.caches.second / 2;
        let fits = |vector: usize, levels: usize| plan(vector, levels).bytes <= budget;
        let least = chosen.unwrap_or(line);
        let most = (MOST_RINGS / plan(1, least).bytes.max(1)).max(1);
        let vector = (choices.tile(nest.roles.vector)).map(|points| points.min(most));
        let model = || (PANELS.iter().copied()).find(|points| fits(*points, least));
        let vector = vector.or_else(model).unwrap_or(SHORTEST_PANELS);
        let lines = (1..=PANEL_LEVELS / line).rev().map(|lines| lines * line);
        let levels = chosen.or_else(|| lines.into_iter().find(|levels| fits(vector, *levels)));
        let levels = levels.unwrap_or(line);
        let short = SHORT_PANELS.min(vector);
        let is_chosen = chosen.or(choices.tile(nest.roles.vector)).is_some();
        let rows = rows_read_again(nest) + rings.iter().map(|(_, _, rows, _)| rows).sum::<usize>();
        let fill = |points: usize| rows * points * LINE >= target.caches.first;
        let is_far = target.caches.shared_is_far;
        Scratch {
            short: (!is_chosen && EDGES * around(nest) <= short).then_some(short),
            aliased: (!is_chosen).then_some(short),
            far: (!is_chosen && (is_far || fill(vector) && !fill(short))).then_some(short),
            lanes: Some(lanes),
            line: chosen.is_none().then_some(line),
            columns: is_far.then(|| target.caches.second / 4 * 3 / bytes_read(stencil, nest)),
            soon: is_far && !target.caches.waits_for_few && !fill(short),
            pairs: !is_chosen && target.caches.streams_are_late() && !fill(2 * short),
            left: target.caches.second - budget,
            slide: choices.tile(nest.roles.slide),
            block: Some(levels),
            ..plan(vector, levels)
        }
    }
}

/// Bytes of a point of all fields along all axes that are read.
fn bytes_read(stencil: &Stencil, nest: &RowNest) -> usize {
    let sizes = arrays_read(nest, stencil).into_iter();
    let bytes: usize = sizes.map(|array| stencil.target_dtype(array).size()).sum();
    bytes.max(1)
}

/// Rows of fields that are needed for one row of results and for others, of those that have several.
fn rows_read_again(nest: &RowNest) -> usize {
    let mut spans: HashMap<Written, (i32, i32)> = HashMap::new();
    for stage in &nest.stages {
        let ahead = nest.ahead(stage);
        let reads = stage
            .statements
            .iter()
            .flat_map(|statement| Accesses::of(statement).reads);
        for (target, offset) in reads.filter(|(target, _)| matches!(target, Written::Field(_))) {
            let row = (offset + ahead).along(nest.roles.slide);
            let (first, last) = spans.entry(target).or_insert((row, row));
            (*first, *last) = ((*first).min(row), (*last).max(row));
        }
    }
    let rows = spans.values().map(|(first, last)| (last - first) as usize);
    rows.filter(|more| *more > 0).map(|more| more + 1).sum()
}

/// Points around a tile of rows that its stages compute, along the row.
fn around(nest: &RowNest) -> usize {
    let beyond = nest
        .stages
        .iter()
        .map(|stage| stage.extent.beyond(nest.extent));
    let around = beyond.reduce(|all, extent| all.union(extent));
    let (before, after) = around.unwrap_or_default().along(nest.roles.vector);
    (before.max(0) + after.max(0)) as usize
}
