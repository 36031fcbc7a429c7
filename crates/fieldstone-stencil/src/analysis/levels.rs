//! Levels: how far accesses reach beyond the domain's ends along K, and which ones two intervals have in common.

use std::ops::Range;

use super::access::Place;
use super::{OVERLAP, TOO_FAR};
use crate::diagnostic::{Category, Diagnostic};
use crate::grid::{Axis, Interval, Level, Offset};
use crate::ir::{Computation, LevelIndex, Section, Stencil};
use crate::visit::accesses;

/// How far an access from the levels of `interval` reaches beyond the domain's ends, as in
/// [`FieldInfo::extent`](super::FieldInfo::extent).
pub fn reach(interval: Interval, offset: Offset) -> (i32, i32) {
    let up = offset.along(Axis::K);
    let lower = match interval.start.level {
        Level::Start => -(interval.start.offset + up),
        Level::End => 0,
    };
    let upper = match interval.end.level {
        Level::Start => 0,
        Level::End => interval.end.offset + up,
    };
    (lower, upper)
}

/// Levels a domain must have, see [`Analysis::min_levels`](super::Analysis::min_levels).
pub fn min_levels(stencil: &Stencil, places: &[Place]) -> usize {
    let intervals = stencil.computations.iter().map(for_intervals).max();
    let constant = |place: &&Place| place.level == LevelIndex::Constant;
    let accesses = (places.iter().filter(constant))
        .map(|place| {
            let section = &stencil.computations[place.computation].sections[place.section];
            for_access(section.interval, place.offset)
        })
        .max();
    intervals.max(accesses).unwrap_or(0).max(0) as usize
}

/// Levels for which no two intervals of a computation contradict each other.
fn for_intervals(computation: &Computation) -> i32 {
    let mut least = 0;
    let (mut from_start, mut from_end) = (0, 0);
    for Section { interval, .. } in &computation.sections {
        let (start, end) = (interval.start, interval.end);
        least = least.max(match (start.level, end.level) {
            (Level::Start, Level::Start) => end.offset,
            (Level::End, Level::End) => -start.offset,
            (Level::Start, Level::End) => start.offset - end.offset,
            (Level::End, Level::Start) => end.offset.max(-start.offset),
        });
        if end.level == Level::Start {
            from_start = from_start.max(end.offset);
        }
        if start.level == Level::End {
            from_end = from_end.max(-start.offset);
        }
    }
    least.max(from_start + from_end)
}

/// Levels for which an access from one end of the domain does not leave it at the other.
fn for_access(interval: Interval, offset: Offset) -> i32 {
    let up = offset.along(Axis::K);
    let mut least = 0;
    if interval.start.level == Level::End && up < 0 {
        least = least.max(-(interval.start.offset + up));
    }
    if interval.end.level == Level::Start && up > 0 {
        least = least.max(interval.end.offset + up);
    }
    least
}

/// The largest offset and interval bound. No grid comes near it, and sums of many stay far from overflow.
const FARTHEST: u32 = 1 << 16;

/// Finds offsets and bounds that are too large to compute with.
pub fn check_distances(stencil: &Stencil, places: &[Place]) -> Vec<Diagnostic> {
    let too_far = |span, what| {
        Diagnostic::error(TOO_FAR, Category::Unsupported, span, what)
            .with_label(format!("at most {FARTHEST} points are supported"))
    };
    let sections = stencil.computations.iter().flat_map(|c| &c.sections);
    let bounds = sections
        .filter(|section| {
            let Interval { start, end } = section.interval;
            start.offset.unsigned_abs().max(end.offset.unsigned_abs()) > FARTHEST
        })
        .map(|section| too_far(section.span, "this interval's bounds are too large"));
    let offsets = (places.iter())
        .filter(|place| place.offset.0.iter().any(|n| n.unsigned_abs() > FARTHEST))
        .map(|place| too_far(place.span, "this offset is too large"));
    let areas = (places.iter())
        .filter(|place| {
            let bounds = (place.area.0.iter()).flat_map(|range| [range.start, range.end]);
            let mut far = bounds.flatten().map(|bound| bound.offset.unsigned_abs());
            far.any(|offset| offset > FARTHEST)
        })
        .map(|place| too_far(place.span, "this region's bounds are too large"));
    bounds.chain(offsets).chain(areas).collect()
}

/// A height at which both ends of the domain are far from each other, so that intervals relate as they do in every domain
/// that is tall enough.
pub(super) fn tall(stencil: &Stencil) -> i64 {
    let mut largest = 1;
    for computation in &stencil.computations {
        for section in &computation.sections {
            let Interval { start, end } = section.interval;
            largest = largest.max(i64::from(
                start.offset.unsigned_abs().max(end.offset.unsigned_abs()),
            ));
            accesses(&section.body, &mut |access| {
                largest = largest.max(i64::from(access.offset.along(Axis::K).unsigned_abs()));
            });
        }
    }
    4 * largest + 4
}

pub(super) fn resolve(interval: Interval, levels: i64) -> Range<i64> {
    let range = interval.resolve(levels as usize);
    range.start as i64..range.end as i64
}

/// Finds intervals of one computation that overlap.
pub fn check_overlap(stencil: &Stencil) -> Vec<Diagnostic> {
    let levels = tall(stencil);
    let mut errors = Vec::new();
    for computation in &stencil.computations {
        let mut ranges: Vec<(Range<i64>, &Section)> = (computation.sections.iter())
            .map(|section| (resolve(section.interval, levels), section))
            .filter(|(range, _)| !range.is_empty())
            .collect();
        ranges.sort_by_key(|(range, _)| range.start);
        for pair in ranges.windows(2) {
            let [(a, first), (b, second)] = pair else {
                continue;
            };
            if a.end > b.start {
                errors.push(
                    Diagnostic::error(
                        OVERLAP,
                        Category::Definition,
                        second.span,
                        "intervals of one computation overlap",
                    )
                    .with_label(format!("this covers {}", describe_range(b, levels)))
                    .with_secondary(
                        first.span,
                        format!("and this {}", describe_range(a, levels)),
                    )
                    .with_help("make the intervals disjoint, or open a second `computation`"),
                );
            }
        }
    }
    errors
}

/// A level in words, from the end of the domain that is nearer.
pub(super) fn describe(level: i64, levels: i64) -> String {
    match level {
        -1 => "the level below the first".to_string(),
        _ if level < 0 => format!("level {} below the first", -level),
        _ if level < levels / 2 => format!("level {level}"),
        _ if level == levels - 1 => "the last level".to_string(),
        _ if level == levels => "the level above the last".to_string(),
        _ if level > levels => format!("level {} above the last", level - levels + 1),
        _ => format!("level {}", level - levels),
    }
}

pub(super) fn describe_range(range: &Range<i64>, levels: i64) -> String {
    if range.end - range.start == 1 {
        return describe(range.start, levels);
    }
    format!(
        "{} to {}",
        describe(range.start, levels),
        describe(range.end - 1, levels)
    )
}
