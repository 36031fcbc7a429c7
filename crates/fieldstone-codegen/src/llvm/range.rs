//! Ranges of points along an axis: of a tile, of the levels of an interval, of the columns of an extent.

use fieldstone_stencil::ir::Order;
use fieldstone_stencil::{Area, Axis, Bound, Interval, Level};

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
    let start = bound(entry, b, Axis::K, interval.start);
    let end = bound(entry, b, Axis::K, interval.end);
    (b.max(&range.0, &start), b.min(&range.1, &end))
}

/// The level that is the `count`th of a section.
pub(super) fn level(
    b: &mut Builder,
    order: Order,
    levels: &(String, String),
    count: &str,
) -> String {
    match order {
        Order::Backward => {
            let last = b.add(&levels.1, -1);
            let first = b.sub(&last, count);
            b.add(&first, levels.0.as_str())
        }
        Order::Forward | Order::Parallel => count.to_string(),
    }
}

/// Cuts a range of points along a horizontal axis to a part of the plane. The result may end before it begins.
pub(super) fn clip_area(
    entry: &Entry,
    b: &mut Builder,
    area: Area,
    axis: Axis,
    mut range: (String, String),
) -> (String, String) {
    let part = area.along(axis);
    if let Some(start) = part.start {
        let start = bound(entry, b, axis, start);
        range.0 = b.max(&range.0, &start);
    }
    if let Some(end) = part.end {
        let end = bound(entry, b, axis, end);
        range.1 = b.min(&range.1, &end);
    }
    range
}

/// Whether an index along a horizontal axis is in a part of the plane; `None` where every one is.
pub(super) fn in_area(
    entry: &Entry,
    b: &mut Builder,
    area: Area,
    axis: Axis,
    index: &str,
) -> Option<String> {
    let part = area.along(axis);
    let mut tests = Vec::new();
    for (comparison, limit) in [("sge", part.start), ("slt", part.end)] {
        if let Some(limit) = limit {
            let limit = bound(entry, b, axis, limit);
            tests.push(b.value(format_args!("icmp {comparison} i64 {index}, {limit}")));
        }
    }
    b.all(tests)
}

/// The index of a bound.
pub(super) fn bound(entry: &Entry, b: &mut Builder, axis: Axis, bound: Bound) -> String {
    match (bound.level, axis) {
        (Level::Start, Axis::K) => b.add(&entry.first_level, bound.offset),
        (Level::Start, Axis::I | Axis::J) => bound.offset.to_string(),
        (Level::End, axis) => b.add(&entry.domain[axis.index()], bound.offset),
    }
}

/// Whether a vector of levels that are computed up to `end` may be stored up to `behind`: the domain ends there, and between them is
/// nobody's memory for elements of so many bytes.
pub(super) fn may_store_behind(
    entry: &Entry,
    b: &mut Builder,
    (end, behind): (&str, &str),
    size: usize,
) -> String {
    let last = &entry.domain[Axis::K.index()];
    let ends = b.value(format_args!("icmp eq i64 {end}, {last}"));
    let more = b.sub(behind, end);
    let bytes = b.mul(&more, size);
    let fits = b.value(format_args!("icmp sle i64 {bytes}, {}", entry.padding));
    b.value(format_args!("and i1 {ends}, {fits}"))
}
