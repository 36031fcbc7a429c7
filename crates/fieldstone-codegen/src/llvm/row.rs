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
use super::width::{line_of_points, width};

/// Where in a row something is fetched that is needed later.
pub(super) enum At<'a> {
    /// At the first point of a vector.
    Vector(&'a str),
    /// At the first point behind whole vectors, if there is one, and at the last one.
    End(&'a str, &'a str),
}

/// What is fetched for later while a row is computed.
pub(super) struct Ahead<'a> {
    /// Fetches it; is told whether results go past the caches.
    pub fetch: &'a dyn Fn(&mut Builder, &Preheader, At<'_>, bool),
    /// Whether any of it is to be fetched at the end of the row.
    pub at_end: &'a str,
}

/// Computes a stage for the points `range.0..range.1` of a row. What is `loose` is read and stored at all lanes of the last vector, of
/// which only some are computed.
pub(super) fn stage(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    (stage, loose): (&Stage, &HashSet<Target>),
    row: &Row,
    range: &(String, String),
    ahead: Option<&Ahead<'_>>,
) {
    if let Some(panel) = &row.panel {
        return panels(context, entry, b, stage, (row, panel), range);
    }
    let width = match streams(entry, stage) {
        true => line_of_points(context, stage, row.vector),
        false => width(context, stage, row.vector),
    };
    let preheader = preheader(context, entry, b, stage, row, true);
    let length = b.sub(&range.1, &range.0);
    let length = b.max(&length, "0");
    let whole = b.value(format_args!("and i64 {length}, -{width}"));
    let main_end = b.add(&range.0, &whole);
    let vectors = (range.0.as_str(), Lanes { width });
    let shifted = past::shifted(context, entry, b, stage, &preheader, vectors);
    let streaming = match shifted.is_empty() {
        true => streaming(context, entry, b, stage, &preheader, &range.0, width),
        false => Some((shifted.iter()).fold(entry.stream.clone(), |all, row| {
            let possible = row.is_possible(b);
            b.value(format_args!("and i1 {all}, {possible}"))
        })),
    };
    let computed = Computed {
        context,
        entry,
        stage,
        loose,
        row,
        preheader,
        lanes: Lanes { width },
        first: &range.0,
        main_end,
        end: &range.1,
        shifted,
        streaming,
        ahead,
    };
    computed.whole_vectors(b);
    computed.end(b);
}

/// Whether a stage has results that may go past the caches.
fn streams(entry: &Entry, stage: &Stage) -> bool {
    let mut written = (stage.statements.iter())
        .flat_map(|statement| Accesses::of(statement).written().collect::<Vec<_>>());
    written.any(|target| entry.streamed.contains(&target))
}

/// A stage and the points of a row that it is computed for: whole vectors up to `main_end`, and fewer than one behind them.
struct Computed<'a> {
    context: &'a Context<'a>,
    entry: &'a Entry,
    stage: &'a Stage,
    /// What is read and stored at all lanes of the last vector.
    loose: &'a HashSet<Target>,
    row: &'a Row,
    preheader: Preheader,
    lanes: Lanes,
    first: &'a str,
    main_end: String,
    end: &'a str,
    /// Results that go past the caches though vectors lie across lines.
    shifted: Vec<Shifted>,
    /// Whether results go past the caches; `None` where they never do.
    streaming: Option<String>,
    ahead: Option<&'a Ahead<'a>>,
}

impl Computed<'_> {
    fn body<'b>(&'b self, b: &'b mut Builder, lanes: Lanes, first: &'b str) -> Body<'b, 'b> {
        let from = (self.context, self.entry, b);
        Body::new(from, lanes, (self.row, &self.preheader), first, None)
    }

    fn fetch(&self, b: &mut Builder, at: At<'_>, stream: bool) {
        if let Some(ahead) = self.ahead {
            (ahead.fetch)(b, &self.preheader, at, stream);
        }
    }

    /// Emits what results past the caches and those that go through them do otherwise.
    fn either(&self, b: &mut Builder, mut each: impl FnMut(&mut Builder, bool)) {
        let Some(streaming) = &self.streaming else {
            return each(b, false);
        };
        b.when(streaming, |b| each(b, true));
        let cached = b.not(streaming);
        b.when(&cached, |b| each(b, false));
    }

    fn whole_vectors(&self, b: &mut Builder) {
        self.either(b, |b, stream| match stream && !self.shifted.is_empty() {
            true => self.to_lines(b),
            false => self.to_vectors(b, stream),
        });
    }

    fn to_vectors(&self, b: &mut Builder, stream: bool) {
        let step = self.lanes.width.to_string();
        b.for_loop(self.first, &self.main_end, &step, |b, first| {
            self.fetch(b, At::Vector(first), stream);
            let mut body = self.body(b, self.lanes, first);
            if stream {
                body.streaming = Streaming::Always;
            }
            body.stage(self.stage);
        });
    }

    /// Whole vectors whose results go past the caches in whole lines, which they lie across.
    fn to_lines(&self, b: &mut Builder) {
        let begin = self.first;
        let mut values = vec![(String::from("i64"), begin.to_owned())];
        values.extend(self.shifted.iter().map(Shifted::nothing));
        let (name, names) = b.begin_repeat(&values);
        let first = &names[0];
        let more = b.value(format_args!("icmp slt i64 {first}, {}", self.main_end));
        b.repeat_while(&name, &more);
        self.fetch(b, At::Vector(first), true);
        let begun = b.value(format_args!("icmp ne i64 {first}, {begin}"));
        let rows = self.shifted.iter().zip(&names[1..]);
        let rows = rows.map(|(row, before)| ToLines {
            row,
            before,
            begun: &begun,
        });
        let rows: Vec<ToLines<'_>> = rows.collect();
        let next = b.add(first, self.lanes.width);
        let mut body = self.body(b, self.lanes, first);
        body.streaming = Streaming::Lines(&rows);
        body.stage(self.stage);
        let stored = (self.shifted.iter()).map(|row| body.read(row.target, Offset::ZERO));
        let stored: Vec<String> = [next].into_iter().chain(stored).collect();
        let kinds = values.iter().map(|(kind, _)| kind.clone());
        let round: Vec<(String, String)> = kinds.zip(stored).collect();
        b.end_repeat(&name, &round);
        let any = b.value(format_args!("icmp ne i64 {first}, {begin}"));
        let last = b.sub(first, self.lanes.width);
        for (result, value) in self.shifted.iter().zip(&names[1..]) {
            result.end(&mut self.body(b, self.lanes, &last), value, &any);
        }
    }

    /// What lies behind whole vectors, to be fetched and to be computed: most rows have neither.
    fn end(&self, b: &mut Builder) {
        let rest = (self.lanes.width > 1)
            .then(|| b.value(format_args!("icmp slt i64 {}, {}", self.main_end, self.end)));
        let any = match (self.ahead, &rest) {
            (Some(ahead), Some(rest)) => b.value(format_args!("or i1 {}, {rest}", ahead.at_end)),
            (Some(ahead), None) => ahead.at_end.to_owned(),
            (None, Some(rest)) => rest.clone(),
            (None, None) => return,
        };
        b.when(&any, |b| {
            if let Some(ahead) = self.ahead {
                b.when(ahead.at_end, |b| self.fetch_end(b));
            }
            match rest {
                Some(_) if !self.context.target.has_masked_access() => self.points(b),
                Some(rest) if self.ahead.is_some() => b.when(&rest, |b| self.part_of_vector(b)),
                Some(_) => self.part_of_vector(b),
                None => {}
            }
        });
    }

    fn fetch_end(&self, b: &mut Builder) {
        let last = b.sub(self.end, 1);
        let behind = b.min(&self.main_end, &last);
        self.either(b, |b, stream| {
            self.fetch(b, At::End(&behind, &last), stream)
        });
    }

    /// The points behind whole vectors, one by one.
    fn points(&self, b: &mut Builder) {
        b.for_loop(&self.main_end, self.end, "1", |b, point| {
            self.body(b, Lanes { width: 1 }, point).stage(self.stage);
        });
    }

    /// The points behind whole vectors, as a part of one.
    fn part_of_vector(&self, b: &mut Builder) {
        let lanes = self.lanes;
        let indices = lane_indices(b, lanes, &self.main_end);
        let end = splat(b, lanes, "i64", self.end);
        let kind = lanes.of("i64");
        let mask = b.value(format_args!("icmp slt {kind} {indices}, {end}"));
        let points = b.sub(self.end, &self.main_end);
        let from = (self.context, self.entry, &mut *b);
        let at = (self.row, &self.preheader);
        let mut body = Body::new(from, lanes, at, &self.main_end, Some(mask));
        body.loose.clone_from(self.loose);
        if let Some(condition) = (self.streaming.as_deref()).filter(|_| !self.shifted.is_empty()) {
            body.streaming = Streaming::Rest(Rest {
                rows: &self.shifted,
                condition,
                points: &points,
            });
        }
        body.stage(self.stage);
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
    /// Whether results that may go past the caches do: then all lanes are computed, and rows are aligned.
    pub past: bool,
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
        if vectors.past {
            body.streaming = Streaming::Always;
        }
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
