//! Ranges of points along an axis: of a tile, of the levels of an interval, of the columns of an extent.

use fieldstone_stencil::{Axis, Bound, Interval, Level};

use super::builder::Builder;
use super::entry::Entry;

/// First point of tile number `number` along `axis` and one past its last, of a domain extended by `extent`.
pub(super) fn tile_range(
    entry: &Entry,
    b: &mut Builder,
    axis: Axis,
    number: &str,
    extent: (i32, i32),
) -> (String, String) {
    let (first, last) = domain_range(entry, axis);
    let first = b.sub(&first, extent.0);
    let last = b.add(&last, extent.1);
    let shift = b.mul(number, &entry.tile[axis.index()]);
    let begin = b.add(&first, shift);
    let end = b.add(&begin, &entry.tile[axis.index()]);
    let end = b.min(&end, &last);
    (begin, end)
}

fn domain_range(entry: &Entry, axis: Axis) -> (String, String) {
    match axis {
        Axis::K => entry.levels.clone(),
        _ => (String::from("0"), entry.domain[axis.index()].clone()),
    }
}

/// Cuts a range of levels to an interval.
pub(super) fn clip_levels(
    entry: &Entry,
    b: &mut Builder,
    interval: Interval,
    range: (String, String),
) -> (String, String) {
    if interval == Interval::FULL {
        return range;
    }
    let start = bound(entry, b, interval.start);
    let end = bound(entry, b, interval.end);
    (b.max(&range.0, &start), b.min(&range.1, &end))
}

fn bound(entry: &Entry, b: &mut Builder, bound: Bound) -> String {
    match bound.level {
        Level::Start => b.add(&entry.first_level, bound.offset),
        Level::End => b.add(&entry.domain[2], bound.offset),
    }
}
