//! The vector loop of one stage over one row.

use std::collections::HashSet;

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;

use super::body::{Body, Known, Streaming};
use super::builder::Builder;
use super::entry::{Context, Entry};
use super::level;
use super::memory::{lane_indices, splat};
use super::past::{self, Rest, Shifted, ToLines};
use super::place::{self, Panel, Row, Spacing};
use super::preheader::{Preheader, preheader};
use super::types::Lanes;
use super::width::width;

/// Where in a row something is fetched that is needed later.
pub(super) enum At<'a> {
    /// At the first point of a vector.
    Vector(&'a str),
    /// At the first point behind whole vectors, if there is one, and at the last one.
    End(&'a str, &'a str),
}

/// Fetches what is needed later; is told whether results go past the caches.
pub(super) type Ahead<'a> = dyn Fn(&mut Builder, &Preheader, At<'_>, bool) + 'a;

/// Computes a stage for the points `range.0..range.1` of a row. What is `loose` is read and stored at all lanes of the last vector, of
/// which only some are computed.
pub(super) fn stage(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    (stage, loose): (&Stage, &HashSet<Target>),
    row: &Row,
    range: &(String, String),
    ahead: &Ahead<'_>,
) {
    if let Some(panel) = &row.panel {
        return panels(context, entry, b, stage, (row, panel), range);
    }
    let width = width(context, stage, row.vector);
    let preheader = preheader(context, entry, b, stage, row, true);
    let length = b.sub(&range.1, &range.0);
    let length = b.max(&length, "0");
    let whole = b.value(format_args!("and i64 {length}, -{width}"));
    let main_end = b.add(&range.0, &whole);
    let body = |b: &mut Builder, lanes: Lanes, first: &str, mask: Option<String>, stream: bool| {
        let mut body = Body::new((context, entry, b), lanes, (row, &preheader), first, mask);
        if stream {
            body.streaming = Streaming::Always;
        }
        body.stage(stage);
    };
    let ahead_at_end = |b: &mut Builder, stream: bool| {
        let last = b.sub(&range.1, 1);
        let behind = b.min(&main_end, &last);
        ahead(b, &preheader, At::End(&behind, &last), stream);
    };
    let main_loop = |b: &mut Builder, stream: bool| {
        b.for_loop(&range.0, &main_end, &width.to_string(), |b, first| {
            ahead(b, &preheader, At::Vector(first), stream);
            body(b, Lanes { width }, first, None, stream);
        });
        ahead_at_end(b, stream);
    };
    let vectors = (range.0.as_str(), Lanes { width });
    let shifted = past::shifted(context, entry, b, stage, &preheader, vectors);
    let stream = match shifted.is_empty() {
        true => streaming(context, entry, b, stage, &preheader, &range.0, width),
        false => Some((shifted.iter()).fold(entry.stream.clone(), |all, row| {
            let possible = row.is_possible(b);
            b.value(format_args!("and i1 {all}, {possible}"))
        })),
    };
    match &stream {
        None => main_loop(b, false),
        Some(stream) => {
            b.when(stream, |b| match shifted.is_empty() {
                true => main_loop(b, true),
                false => {
                    let ends = (range.0.as_str(), main_end.as_str());
                    let from = (context, entry, &preheader);
                    to_lines(from, b, (stage, row), ends, &shifted, ahead);
                    ahead_at_end(b, true);
                }
            });
            let cached = b.not(stream);
            b.when(&cached, |b| main_loop(b, false));
        }
    }
    if width == 1 {
        return;
    }
    if !context.target.has_masked_access() {
        b.for_loop(&main_end, &range.1, "1", |b, first| {
            body(b, Lanes { width: 1 }, first, None, false);
        });
        return;
    }
    let rest = b.value(format_args!("icmp slt i64 {main_end}, {}", range.1));
    b.when(&rest, |b| {
        let lanes = Lanes { width };
        let indices = lane_indices(b, lanes, &main_end);
        let end = splat(b, lanes, "i64", &range.1);
        let kind = lanes.of("i64");
        let mask = b.value(format_args!("icmp slt {kind} {indices}, {end}"));
        let points = b.sub(&range.1, &main_end);
        let from = (context, entry, &mut *b);
        let mut body = Body::new(from, lanes, (row, &preheader), &main_end, Some(mask));
        body.loose.clone_from(loose);
        if let Some(condition) = stream.as_deref().filter(|_| !shifted.is_empty()) {
            let (rows, points) = (shifted.as_slice(), points.as_str());
            body.streaming = Streaming::Rest(Rest {
                rows,
                condition,
                points,
            });
        }
        body.stage(stage);
    });
}

/// Computes a stage for whole vectors of a row whose results go past the caches.
fn to_lines(
    (context, entry, preheader): (&Context<'_>, &Entry, &Preheader),
    b: &mut Builder,
    (stage, row): (&Stage, &Row),
    (begin, end): (&str, &str),
    shifted: &[Shifted],
    ahead: &Ahead<'_>,
) {
    let lanes = Lanes {
        width: width(context, stage, row.vector),
    };
    let mut values = vec![(String::from("i64"), begin.to_owned())];
    values.extend(shifted.iter().map(Shifted::nothing));
    let (name, names) = b.begin_repeat(&values);
    let first = &names[0];
    let more = b.value(format_args!("icmp slt i64 {first}, {end}"));
    b.repeat_while(&name, &more);
    ahead(b, preheader, At::Vector(first), true);
    let begun = b.value(format_args!("icmp ne i64 {first}, {begin}"));
    let rows = shifted.iter().zip(&names[1..]);
    let rows = rows.map(|(row, before)| ToLines {
        row,
        before,
        begun: &begun,
    });
    let rows: Vec<ToLines<'_>> = rows.collect();
    let next = b.add(first, lanes.width);
    let from = (context, entry, &mut *b);
    let mut body = Body::new(from, lanes, (row, preheader), first, None);
    body.streaming = Streaming::Lines(&rows);
    body.stage(stage);
    let stored = shifted
        .iter()
        .map(|row| body.read(row.target, Offset::ZERO));
    let stored: Vec<String> = [next].into_iter().chain(stored).collect();
    let kinds = values.iter().map(|(kind, _)| kind.clone());
    let round: Vec<(String, String)> = kinds.zip(stored).collect();
    b.end_repeat(&name, &round);
    let any = b.value(format_args!("icmp ne i64 {first}, {begin}"));
    let last = b.sub(first, lanes.width);
    for (result, value) in shifted.iter().zip(&names[1..]) {
        let from = (context, entry, &mut *b);
        let mut body = Body::new(from, lanes, (row, preheader), &last, None);
        result.end(&mut body, value, &any);
    }
}

/// Computes a stage for the points `range.0..range.1` of a row whose points are vectors.
fn panels(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    (row, panel): (&Row, &Panel),
    range: &(String, String),
) {
    let preheader = preheader(context, entry, b, stage, row, true);
    let all = |b: &mut Builder, mask: Option<&String>| {
        b.for_loop(&range.0, &range.1, "1", |b, point| {
            let (from, mask) = ((context, entry, b), mask.cloned());
            Body::new(from, panel.lanes, (row, &preheader), point, mask).stage(stage);
        });
    };
    let name = b.begin_when(&panel.whole);
    all(b, None);
    b.otherwise(&name);
    let mask = row.level_mask(b, panel);
    all(b, Some(&mask));
    b.end_when(&name);
}

/// Neighbouring vectors of a row.
pub(super) struct Vectors<'a> {
    /// Index of the first point.
    pub first: &'a str,
    pub lanes: Lanes,
    /// Per vector the lanes that are computed; `None` where all are.
    pub masks: Option<Vec<String>>,
    /// What is read and stored at all lanes, whatever the masks say.
    pub loose: HashSet<Target>,
    /// What is known afterwards and not stored.
    pub kept: HashSet<Target>,
}

/// Computes a stage for some vectors of a row. What is known of each of them is added to.
pub(super) fn vectors(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    row: &Row,
    vectors: &Vectors<'_>,
    known: &mut [Known],
) {
    let lanes = vectors.lanes;
    let preheader = preheader(context, entry, b, stage, row, true);
    let through = level::written_through(&stage.statements);
    for (number, known) in known.iter_mut().enumerate() {
        let first = b.add(vectors.first, number * lanes.width);
        let mask = vectors.masks.as_ref().map(|masks| masks[number].clone());
        let mut body = Body::new((context, entry, b), lanes, (row, &preheader), &first, mask);
        body.loose.clone_from(&vectors.loose);
        body.kept.clone_from(&vectors.kept);
        body.values = known.clone();
        body.stage(stage);
        let values = std::mem::take(&mut body.values);
        let written = stage.statements.iter().map(Accesses::of);
        for target in written.flat_map(|accesses| accesses.written().collect::<Vec<_>>()) {
            let key = (target, Offset::ZERO);
            let everywhere = vectors.masks.is_none() || vectors.loose.contains(&target);
            match values
                .get(&key)
                .filter(|_| everywhere && !through.contains(&target))
            {
                Some(value) => known.insert(key, value.clone()),
                None => known.remove(&key),
            };
        }
    }
}

/// The value of a target at a vector of points.
pub(super) fn value(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    (target, offset): (Target, Offset),
    first: &str,
    lanes: Lanes,
) -> String {
    let preheader = Preheader::of(context, entry, b, row, (target, offset));
    Body::new((context, entry, b), lanes, (row, &preheader), first, None).read(target, offset)
}

/// Stores the value of a target at a vector of points.
pub(super) fn store(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    row: &Row,
    (target, value): (Target, String),
    first: &str,
    lanes: Lanes,
) {
    let preheader = Preheader::of(context, entry, b, row, (target, Offset::ZERO));
    let mut body = Body::new((context, entry, b), lanes, (row, &preheader), first, None);
    body.store_value(target, Offset::ZERO, value);
}

/// Whether the row is stored past the caches: the caller wants it, and every vector to be stored is aligned. `None` where it
/// never is.
fn streaming(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    stage: &Stage,
    preheader: &Preheader,
    first: &str,
    width: usize,
) -> Option<String> {
    let mut stream = None;
    for statement in &stage.statements {
        for target in Accesses::of(statement).written() {
            if !entry.streamed.contains(&target) {
                continue;
            }
            let pointer = preheader.pointer(target, Offset::ZERO);
            if pointer.spacing != Spacing::Contiguous {
                continue;
            }
            let size = place::dtype(context, target).size();
            let bytes = b.mul(first, size);
            let address = b.offset(&pointer.pointer, bytes);
            let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
            let rest = b.value(format_args!("and i64 {address}, {}", width * size - 1));
            let aligned = b.value(format_args!("icmp eq i64 {rest}, 0"));
            let so_far = stream.as_ref().unwrap_or(&entry.stream);
            stream = Some(b.value(format_args!("and i1 {so_far}, {aligned}")));
        }
    }
    stream
}
