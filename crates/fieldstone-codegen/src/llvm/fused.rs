//! The loop of several stages over one row, in vectors.
//!
//! A *stream* is a row of values that stages read: of memory, or of what an earlier stage of the loop makes. Each round of the
//! loop makes or loads one vector of each stream, some vectors ahead of the stages that read it at points further on. Vectors
//! of earlier rounds stay in registers as long as points before are read; what lies across two vectors is shuffled together.
//! So every value is loaded once, from addresses that are multiples of a vector where the arrays are.
//!
//! Vectors at the ends of a row are loaded and computed as a whole where the arrays have the memory, and only what is asked for
//! is stored. For the few rows at the ends of an array there is a second copy of the loop, with masks for every access.

mod panel;

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{RowNest, Stage};
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Axis, DType, Offset};

use crate::tile::MOST_LANES;

use super::builder::Builder;
use super::entry::{Context, Entry};
use super::memory::{any_inside, block_address, fetch, lane_bits, lane_mask, lane_mask_of};
use super::place::{self, Panel, Row, Spacing};
use super::region::{regions, vectors_without};
use super::row::{self, Blocks, Body, Preheader, Regions, Streaming, across};
use super::types::Lanes;

/// Vectors along a row within which neighbours are taken from registers.
const REACH: i64 = 2;

/// An index beyond every row.
const BEYOND: i64 = 1 << 48;

/// What one loop computes: the row of each stage.
pub(super) struct Computed<'a> {
    pub stage: &'a Stage,
    /// Relative to the other stages.
    pub ahead: Offset,
    pub row: Row,
    /// Points along the row.
    pub range: (String, String),
    /// Whether the stage has anything to do in this row; always where `None`.
    pub active: Option<String>,
}

/// Where a stream comes from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// Memory, at the address that the preheader of this stage has.
    Memory {
        stage: usize,
        offset: Offset,
        /// Whether whole vectors are loaded, for all readers; each reader loads what it reads otherwise.
        blocks: bool,
    },
    /// A stage of the loop.
    Stage(usize),
}

/// Values of one row that stages read.
struct Stream {
    target: Target,
    source: Source,
    /// Stages that read it, each with the offset along the row.
    readers: Vec<(usize, i64)>,
    /// Vectors that it is ahead of the round.
    lead: i64,
    /// How many vectors of earlier rounds are kept.
    depth: usize,
}

/// The loop of some stages over their rows.
pub(super) struct Fused<'a> {
    context: &'a Context<'a>,
    entry: &'a Entry,
    vector: Axis,
    slide: Axis,
    block: Axis,
    lanes: Lanes,
    /// Where every point of a row is a vector: of which levels.
    panel: Option<&'a Panel>,
    stages: &'a [Computed<'a>],
    /// Vectors that each stage is ahead of the round.
    leads: Vec<i64>,
    streams: Vec<Stream>,
    /// The stream of each access of a stage, by target and offset across the row.
    found: Vec<HashMap<(Target, Offset), usize>>,
    preheaders: Vec<Preheader>,
    /// Temporaries that several stages of the nest write, each at some of the points.
    shared: &'a HashSet<Target>,
    /// First point and one past the last of each stage; none where it has nothing to do in this row.
    stage_ranges: Vec<(String, String)>,
}

/// The indices at which the rounds of a row begin, and which of them store whole vectors.
struct Rounds {
    first: String,
    end: String,
    whole_first: String,
    whole_end: String,
    /// Whether all that whole vectors read is in the arrays.
    roomy: String,
    /// Whether whole vectors go past the caches.
    streaming: Option<String>,
}

/// What a round has to look after.
#[derive(Clone, Copy, PartialEq)]
enum Care<'a> {
    /// Nothing: all vectors are whole.
    None,
    /// Stages have their ends in it. Outside of them nothing is written, and nothing read but where this holds: there is memory.
    Ends(&'a str),
}

/// The rows that a tile computes where stages have no extent, from the first step of a loop to one past the last.
pub(super) struct Rows {
    pub slides: (String, String),
    pub blocks: (String, String),
}

/// A contiguous row of a field.
struct Aligned {
    stage: usize,
    target: Target,
    pointer: String,
    size: usize,
}

/// Computes a row of each stage.
pub(super) fn row(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    nest: &RowNest,
    stages: &[Computed<'_>],
    rows: &Rows,
    shared: &HashSet<Target>,
) {
    let widest = |computed: &Computed<'_>| row::widest(&context.program.stencil, computed.stage);
    let widest = stages.iter().map(widest).max().unwrap_or(1);
    let width = (context.target.vector_bytes() / widest).min(MOST_LANES);
    let panel = stages[0].row.panel.as_ref();
    let preheaders = stages
        .iter()
        .map(|computed| row::preheader(context, entry, b, computed.stage, &computed.row, false));
    let mut fused = Fused {
        context,
        entry,
        vector: nest.roles.vector,
        slide: nest.roles.slide,
        block: nest.roles.block,
        lanes: panel.map_or(Lanes { width }, |panel| panel.lanes),
        panel,
        stages,
        preheaders: preheaders.collect(),
        leads: vec![0; stages.len()],
        streams: Vec::new(),
        found: vec![HashMap::new(); stages.len()],
        shared,
        stage_ranges: Vec::new(),
    };
    fused.find_streams();
    fused.find_ranges(b);
    match panel {
        Some(panel) => fused.emit_panels(b, panel),
        None => fused.emit(b, rows),
    }
}

/// What a stage reads that it has not written itself, in order; the flag says whether it does so outside of regions.
fn needs(stage: &Stage) -> Vec<Need> {
    let mut known = HashSet::new();
    let mut needs: Vec<Need> = Vec::new();
    accesses(&stage.statements, &mut |access| {
        let key = (access.target, access.offset);
        // Where a condition does not hold, a target keeps its value.
        let reads = !access.write || access.conditional;
        if reads && !known.contains(&key) {
            let everywhere = access.write || access.area == stage.area;
            match needs.iter_mut().find(|need| need.key == key) {
                Some(need) => need.everywhere |= everywhere,
                None => needs.push(Need { key, everywhere }),
            }
        }
        if access.write {
            known.insert(key);
        }
    });
    needs
}

/// What a stage reads.
struct Need {
    key: (Target, Offset),
    /// Whether all of its points do, not only those of a region.
    everywhere: bool,
}

fn writes(stage: &Stage, target: Target) -> bool {
    let mut found = false;
    accesses(&stage.statements, &mut |access| {
        found |= access.write && access.target == target;
    });
    found
}

impl Fused<'_> {
    /// Points of the row in a vector.
    fn width(&self) -> i64 {
        match self.panel {
            Some(_) => 1,
            None => self.lanes.width as i64,
        }
    }

    /// The stage of this loop that made a row before stage `reader` reads it.
    fn maker(&self, reader: usize, target: Target, row: Offset) -> Option<usize> {
        (0..reader).rev().find(|n| {
            let computed = &self.stages[*n];
            computed.ahead == row && writes(computed.stage, target)
        })
    }

    fn find_streams(&mut self) {
        let width = self.width();
        let needs: Vec<Vec<Need>> = self.stages.iter().map(|c| needs(c.stage)).collect();
        let newest = |ahead: i64| (ahead + width - 1).div_euclid(width).max(0);
        let along = |offset: Offset| i64::from(offset.along(self.vector));
        // A stage is nowhere behind a later one, so that what it reads is not yet overwritten.
        let mut leads = vec![0; self.stages.len()];
        for reader in (0..leads.len()).rev() {
            if let Some(next) = leads.get(reader + 1) {
                leads[reader] = leads[reader].max(*next);
            }
            for Need { key, .. } in &needs[reader] {
                let (target, offset) = key;
                let row = across(*offset, self.vector) + self.stages[reader].ahead;
                if let Some(maker) = self.maker(reader, *target, row) {
                    leads[maker] = leads[maker].max(leads[reader] + newest(along(*offset)));
                }
            }
        }
        let mut streams: Vec<Stream> = Vec::new();
        let mut by_row: HashMap<(Target, Offset, Option<usize>, bool), usize> = HashMap::new();
        for (reader, needs) in needs.iter().enumerate() {
            for need in needs {
                let (target, offset) = &need.key;
                let offset_across = across(*offset, self.vector);
                let row = offset_across + self.stages[reader].ahead;
                let maker = self.maker(reader, *target, row);
                let source = match maker {
                    Some(stage) => Source::Stage(stage),
                    // What only regions read is loaded there.
                    None if !need.everywhere || self.is_nowhere(reader, *target, offset_across) => {
                        continue;
                    }
                    None => Source::Memory {
                        stage: reader,
                        offset: offset_across,
                        blocks: self.is_block(reader, *target, *offset, needs),
                    },
                };
                let blocks = !matches!(source, Source::Memory { blocks: false, .. });
                let number = *by_row
                    .entry((*target, row, maker, blocks))
                    .or_insert_with(|| {
                        streams.push(Stream {
                            target: *target,
                            source,
                            readers: Vec::new(),
                            lead: maker.map_or(0, |stage| leads[stage]),
                            depth: 0,
                        });
                        streams.len() - 1
                    });
                let stream = &mut streams[number];
                stream.readers.push((reader, along(*offset)));
                stream.lead = stream.lead.max(leads[reader] + newest(along(*offset)));
                if blocks {
                    self.found[reader].insert((*target, offset_across), number);
                }
            }
        }
        for stream in &mut streams {
            if let Source::Memory { blocks: false, .. } = stream.source {
                continue;
            }
            let oldest = |(reader, ahead): &(usize, i64)| leads[*reader] + ahead.div_euclid(width);
            let oldest = stream
                .readers
                .iter()
                .map(oldest)
                .min()
                .unwrap_or(stream.lead);
            stream.depth = (stream.lead - oldest).max(0) as usize;
        }
        self.leads = leads;
        self.streams = streams;
    }

    /// Whether a row that a stage reads from memory is loaded as whole vectors; `needs` is all that it reads.
    fn is_block(&self, reader: usize, target: Target, offset: Offset, needs: &[Need]) -> bool {
        let row = across(offset, self.vector);
        let pointer = self.preheaders[reader].pointer(target, row);
        let same = |need: &&Need| {
            need.everywhere && (need.key.0, across(need.key.1, self.vector)) == (target, row)
        };
        let near = needs
            .iter()
            .filter(same)
            .all(|need| i64::from(need.key.1.along(self.vector)).abs() <= REACH * self.width());
        // Narrower vectors rarely lie across two lines, and shuffles of theirs cost more than loads.
        let cheap = self.panel.is_some() || self.context.target.vector_bytes() == 64;
        pointer.spacing == Spacing::Contiguous && near && cheap
    }

    /// Whether a target is in registers of a stage only.
    fn is_nowhere(&self, reader: usize, target: Target, row: Offset) -> bool {
        self.preheaders[reader].pointer(target, row).spacing == Spacing::Register
    }

    fn dtype(&self, target: Target) -> DType {
        place::dtype(self.context, target)
    }

    fn is_ring(&self, target: Target) -> bool {
        match target {
            Target::Temp(id) => self.context.scratch.places.contains_key(&id),
            Target::Field(_) => false,
        }
    }

    /// Whether a stage must not write but at its own points.
    fn is_strict(&self, number: usize) -> bool {
        let mut strict = false;
        accesses(&self.stages[number].stage.statements, &mut |access| {
            strict |= access.write && self.is_kept(number, access.target);
        });
        strict
    }

    /// Whether what a stage writes is anywhere but in registers and in rings of its own.
    fn is_kept(&self, number: usize, target: Target) -> bool {
        match self.preheaders[number]
            .pointer(target, Offset::ZERO)
            .spacing
        {
            Spacing::Register => false,
            Spacing::Contiguous if self.is_ring(target) => self.shared.contains(&target),
            _ => true,
        }
    }

    fn find_ranges(&mut self, b: &mut Builder) {
        for computed in self.stages {
            let (start, end) = &computed.range;
            self.stage_ranges.push(match &computed.active {
                None => computed.range.clone(),
                Some(active) => {
                    let select = |b: &mut Builder, index: &str, none: i64| {
                        b.value(format_args!("select i1 {active}, i64 {index}, i64 {none}"))
                    };
                    (select(b, start, BEYOND), select(b, end, -BEYOND))
                }
            });
        }
    }

    /// The points of a stream of memory that some stage needs.
    fn stream_range(&self, b: &mut Builder, stream: &Stream) -> (String, String) {
        let ranges: Vec<(String, String)> = stream
            .readers
            .iter()
            .map(|(reader, ahead)| {
                let (start, end) = &self.stage_ranges[*reader];
                (b.add(start, ahead), b.add(end, ahead))
            })
            .collect();
        let union = |all: (String, String), range: (String, String)| {
            (b.min(&all.0, &range.0), b.max(&all.1, &range.1))
        };
        ranges.into_iter().reduce(union).unwrap_or_default()
    }

    /// What vectors are aligned to: the first result, or else the first field that is read.
    fn key(&self) -> Option<Aligned> {
        let mut found = Vec::new();
        for (number, computed) in self.stages.iter().enumerate() {
            accesses(&computed.stage.statements, &mut |access| {
                let row = across(access.offset, self.vector);
                let pointer = self.preheaders[number].pointer(access.target, row);
                if pointer.spacing == Spacing::Contiguous && !self.is_ring(access.target) {
                    found.push((
                        !access.write,
                        self.aligned(number, access.target, pointer.pointer),
                    ));
                }
            });
        }
        found.sort_by_key(|(read, _)| *read);
        found.into_iter().map(|(_, key)| key).next()
    }

    /// What may be stored past the caches.
    fn streamed(&self) -> Vec<Aligned> {
        let mut found: Vec<Aligned> = Vec::new();
        for (number, computed) in self.stages.iter().enumerate() {
            accesses(&computed.stage.statements, &mut |access| {
                let streams = access.write
                    && self.entry.streamed.contains(&access.target)
                    && found.iter().all(|other| other.target != access.target);
                if !streams {
                    return;
                }
                let pointer = self.preheaders[number].pointer(access.target, Offset::ZERO);
                if pointer.spacing == Spacing::Contiguous {
                    found.push(self.aligned(number, access.target, pointer.pointer));
                }
            });
        }
        found
    }

    fn aligned(&self, stage: usize, target: Target, pointer: String) -> Aligned {
        Aligned {
            stage,
            target,
            pointer,
            size: self.dtype(target).size(),
        }
    }

    /// The index at or before `begin` at which a row is aligned that lies at `pointer`.
    fn origin(&self, b: &mut Builder, pointer: &str, size: usize, begin: &str) -> String {
        let address = block_address(b, pointer, size, begin);
        let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
        let points = b.value(format_args!(
            "lshr i64 {address}, {}",
            size.trailing_zeros()
        ));
        let past = b.value(format_args!("and i64 {points}, {}", self.width() - 1));
        b.sub(begin, past)
    }

    /// Whether a vector that begins at an index is aligned.
    fn is_aligned(&self, b: &mut Builder, pointer: &str, size: usize, at: &str) -> String {
        let address = block_address(b, pointer, size, at);
        let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
        let past = b.value(format_args!(
            "and i64 {address}, {}",
            self.lanes.width * size - 1
        ));
        b.value(format_args!("icmp eq i64 {past}, 0"))
    }

    /// Where the first point of a tile would lie along the row that index 0 of the vector axis belongs to.
    fn first_row(&self, b: &mut Builder, target: Target, tile: &[String; 3]) -> String {
        let array = &self.entry.arrays[&target];
        let mut pointer = array.pointer.clone();
        for axis in [self.slide, self.block] {
            let bytes = b.mul(&tile[axis.index()], &array.strides[axis.index()]);
            pointer = b.offset(&pointer, bytes);
        }
        pointer
    }

    /// First index of a row and one past the last, whole vectors from an index at which they are aligned.
    fn ends(&self, b: &mut Builder, origin: &str) -> (String, String) {
        let width = self.width();
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (computed, lead) in self.stages.iter().zip(&self.leads) {
            starts.push(b.sub(&computed.range.0, lead * width));
            ends.push(b.sub(&computed.range.1, lead * width));
        }
        let first = b.smallest(&starts);
        let end = b.largest(&ends);
        let before = b.sub(&first, origin);
        let whole = b.value(format_args!("and i64 {before}, -{width}"));
        let first = b.add(origin, whole);
        let points = b.sub(&end, &first);
        let points = b.max(&points, "0");
        let points = b.add(&points, width - 1);
        let points = b.value(format_args!("and i64 {points}, -{width}"));
        let end = b.add(&first, points);
        (first, end)
    }

    fn emit(&self, b: &mut Builder, rows: &Rows) {
        let begin = self.stages[0].row.tile[self.vector.index()].clone();
        let (key, streamed) = (self.key(), self.streamed());
        let (same, of_tile) = self.of_tile(b, rows, key.as_ref(), &streamed);
        let kinds = ["i64", "i64", "i1", "i1"];
        let values = b.choose(&same, &kinds, of_tile, |b| {
            let origin = match &key {
                Some(key) => self.origin(b, &key.pointer, key.size, &begin),
                None => begin.clone(),
            };
            let (first, end) = self.ends(b, &origin);
            let mut streaming = self.entry.stream.clone();
            for result in &streamed {
                let aligned = self.is_aligned(b, &result.pointer, result.size, &origin);
                streaming = b.value(format_args!("and i1 {streaming}, {aligned}"));
            }
            let roomy = self.is_roomy(b, &first, &end);
            vec![first, end, streaming, roomy]
        });
        let [first, end, streaming, roomy] = values.try_into().expect("four values");
        let (whole_first, whole_end) = self.whole(b, &first, &end);
        let rounds = Rounds {
            whole_first: b.value(format_args!(
                "select i1 {roomy}, i64 {whole_first}, i64 {BEYOND}"
            )),
            whole_end: b.min(&whole_end, &end),
            first,
            end,
            roomy,
            streaming: (!streamed.is_empty()).then_some(streaming),
        };
        if let Some(streaming) = &rounds.streaming {
            let fetches = &self.entry.fetches;
            let both = b.value(format_args!("and i1 {streaming}, {fetches}"));
            b.when(&both, |b| self.fetch_ends(b, &rounds, &streamed));
        }
        self.repeat(b, &rounds);
    }

    /// The rounds of a row from `first` to `end` in which all that is stored are whole vectors, and no region is computed.
    fn whole(&self, b: &mut Builder, first: &str, end: &str) -> (String, String) {
        let (mut starts, mut ends) = (vec![first.to_owned()], vec![end.to_owned()]);
        let strict = (0..self.stages.len()).filter(|number| self.is_strict(*number));
        for number in strict {
            let lead = self.leads[number] * self.width();
            let (start, end) = &self.stage_ranges[number];
            starts.push(b.sub(start, lead));
            ends.push(b.sub(end, lead + self.width() - 1));
        }
        for (computed, lead) in self.stages.iter().zip(&self.leads) {
            for area in regions(computed.stage) {
                let place = (area, &computed.row);
                let (start, end) = vectors_without(self.entry, b, place, self.lanes, BEYOND);
                starts.push(b.sub(&start, lead * self.width()));
                ends.push(b.sub(&end, lead * self.width()));
            }
        }
        (b.largest(&starts), b.smallest(&ends))
    }

    /// Whether all rows of the tile are aligned in the same way and have memory around them, and if so the ends of a row,
    /// whether to store past the caches, and that there is memory. Loops around rows do not change any of it.
    fn of_tile(
        &self,
        b: &mut Builder,
        rows: &Rows,
        key: Option<&Aligned>,
        streamed: &[Aligned],
    ) -> (String, Vec<String>) {
        let tile = &self.stages[0].row.tile;
        let begin = &tile[self.vector.index()];
        let mut same = String::from("true");
        for aligned in key.into_iter().chain(streamed) {
            let strides = &self.entry.arrays[&aligned.target].strides;
            for axis in [self.slide, self.block] {
                let past = self.lanes.width * aligned.size - 1;
                let past = b.value(format_args!("and i64 {}, {past}", strides[axis.index()]));
                let whole = b.value(format_args!("icmp eq i64 {past}, 0"));
                same = b.value(format_args!("and i1 {same}, {whole}"));
            }
        }
        let origin = match key {
            Some(key) => {
                let pointer = self.first_row(b, key.target, tile);
                self.origin(b, &pointer, key.size, begin)
            }
            None => begin.clone(),
        };
        let (first, end) = self.ends(b, &origin);
        let mut streaming = self.entry.stream.clone();
        for result in streamed {
            let pointer = self.first_row(b, result.target, tile);
            let aligned = self.is_aligned(b, &pointer, result.size, &origin);
            streaming = b.value(format_args!("and i1 {streaming}, {aligned}"));
        }
        let mut done = HashSet::new();
        for stream in &self.streams {
            if matches!(stream.source, Source::Memory { .. })
                && !self.is_ring(stream.target)
                && done.insert(stream.target)
            {
                let inside = self.is_tile_inside(b, rows, stream.target, (&first, &end));
                same = b.value(format_args!("and i1 {same}, {inside}"));
            }
        }
        (same, vec![first, end, streaming, String::from("true")])
    }

    /// Whether all that rows of a tile read of a target is in its array.
    fn is_tile_inside(
        &self,
        b: &mut Builder,
        rows: &Rows,
        target: Target,
        (first, end): (&str, &str),
    ) -> String {
        let mut reach: [(i64, i64); 3] = [(i64::MAX, i64::MIN); 3];
        for stream in self.streams.iter().filter(|stream| stream.target == target) {
            let Source::Memory { stage, offset, .. } = stream.source else {
                continue;
            };
            let row = offset + self.stages[stage].ahead;
            let along = self.touched(stream);
            for axis in Axis::ALL {
                let (low, high) = match axis {
                    axis if axis == self.vector => along,
                    axis => (i64::from(row.along(axis)), i64::from(row.along(axis)) + 1),
                };
                let reach = &mut reach[axis.index()];
                *reach = (reach.0.min(low), reach.1.max(high));
            }
        }
        let array = &self.entry.arrays[&target];
        let (mut low, mut high) = (array.pointer.clone(), array.pointer.clone());
        for axis in Axis::ALL {
            let (begin, end) = match axis {
                axis if axis == self.vector => (first.to_owned(), b.sub(end, self.width())),
                axis if axis == self.slide => rows.slides.clone(),
                _ => rows.blocks.clone(),
            };
            let (before, behind) = reach[axis.index()];
            let behind = match axis {
                axis if axis == self.vector => behind - 1,
                _ => behind - 2,
            };
            let stride = match self.context.contiguous_along(target) {
                Some(unit) if unit == axis => self.dtype(target).size().to_string(),
                _ => array.strides[axis.index()].clone(),
            };
            let begin = b.add(&begin, before);
            let begin = b.mul(&begin, &stride);
            let end = b.add(&end, behind);
            let end = b.mul(&end, &stride);
            let (least, most) = (b.min(&begin, &end), b.max(&begin, &end));
            low = b.offset(&low, least);
            high = b.offset(&high, most);
        }
        let low = b.value(format_args!("ptrtoint ptr {low} to i64"));
        let high = b.value(format_args!("ptrtoint ptr {high} to i64"));
        let from = b.value(format_args!("icmp uge i64 {low}, {}", array.first));
        let to = b.value(format_args!("icmp ule i64 {high}, {}", array.last));
        b.value(format_args!("and i1 {from}, {to}"))
    }

    /// First point of a row that a round may read, from its own index on, and one past the last.
    fn touched(&self, stream: &Stream) -> (i64, i64) {
        let width = self.width();
        match stream.source {
            Source::Memory { blocks: false, .. } => {
                let firsts = stream.readers.iter();
                let firsts = firsts.map(|(reader, ahead)| self.leads[*reader] * width + ahead);
                firsts.fold((i64::MAX, i64::MIN), |(low, high), first| {
                    (low.min(first), high.max(first + width))
                })
            }
            _ => (
                (stream.lead - stream.depth as i64) * width,
                (stream.lead + 1) * width,
            ),
        }
    }

    /// Whether all that whole vectors read is in the arrays.
    fn is_roomy(&self, b: &mut Builder, first: &str, end: &str) -> String {
        let mut roomy = String::from("true");
        for stream in &self.streams {
            let Source::Memory { stage, offset, .. } = stream.source else {
                continue;
            };
            if self.is_ring(stream.target) {
                continue;
            }
            let (low, high) = self.touched(stream);
            let first = b.add(first, low);
            let last = b.add(end, high - self.width() - 1);
            let pointer = self.preheaders[stage].pointer(stream.target, offset);
            let size = self.dtype(stream.target).size();
            let ends = match &pointer.spacing {
                Spacing::Contiguous => {
                    let low = block_address(b, &pointer.pointer, size, &first);
                    vec![low, block_address(b, &pointer.pointer, size, &last)]
                }
                Spacing::Strided(stride) => [first, last]
                    .iter()
                    .map(|point| {
                        let bytes = b.mul(point, stride);
                        b.offset(&pointer.pointer, bytes)
                    })
                    .collect(),
                Spacing::Uniform => vec![pointer.pointer.clone()],
                Spacing::Register => Vec::new(),
            };
            let array = &self.entry.arrays[&stream.target];
            let contiguous = pointer.spacing == Spacing::Contiguous;
            let count = ends.len();
            for (n, address) in ends.into_iter().enumerate() {
                let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
                let mut tests = Vec::new();
                if n == 0 || !contiguous {
                    tests.push(("uge", &array.first));
                }
                if n + 1 == count || !contiguous {
                    tests.push(("ule", &array.last));
                }
                for (comparison, limit) in tests {
                    let inside = b.value(format_args!("icmp {comparison} i64 {address}, {limit}"));
                    roomy = b.value(format_args!("and i1 {roomy}, {inside}"));
                }
            }
        }
        roomy
    }

    /// All rounds of a row: those at its ends, those of whole vectors, those at its ends.
    fn repeat(&self, b: &mut Builder, rounds: &Rounds) {
        let ends = Care::Ends(&rounds.roomy);
        let mut values = vec![(String::from("i64"), rounds.first.clone())];
        for (number, stream) in self.streams.iter().enumerate() {
            let kind = self.lanes.value(self.dtype(stream.target));
            for back in 1..=stream.depth as i64 {
                let before = match stream.source {
                    Source::Stage(_) => String::from("zeroinitializer"),
                    Source::Memory { stage, offset, .. } => {
                        let at = b.add(&rounds.first, (stream.lead - back) * self.width());
                        self.load(b, &at, number, (stage, offset), ends)
                    }
                };
                values.push((kind.clone(), before));
            }
        }
        let kinds: Vec<String> = values.iter().map(|(kind, _)| kind.clone()).collect();
        let typed = |names: Vec<String>| kinds.iter().cloned().zip(names).collect::<Vec<_>>();
        let (all, names) = b.begin_repeat(&values);
        let more = b.value(format_args!("icmp slt i64 {}, {}", names[0], rounds.end));
        b.repeat_while(&all, &more);
        let names = self.rounds(b, rounds, &typed(names), ends);
        let names = self.rounds(b, rounds, &typed(names), Care::None);
        b.end_repeat(&all, &typed(names));
    }

    /// The next rounds that are all of one kind; returns the values of the one behind them.
    fn rounds(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        values: &[(String, String)],
        care: Care<'_>,
    ) -> Vec<String> {
        let (name, names) = b.begin_repeat(values);
        let at = &names[0];
        let whole = b.value(format_args!("icmp slt i64 {at}, {}", rounds.whole_end));
        let more = match care {
            Care::None => whole,
            Care::Ends(_) => {
                let more = b.value(format_args!("icmp slt i64 {at}, {}", rounds.end));
                let begun = b.value(format_args!("icmp sge i64 {at}, {}", rounds.whole_first));
                let whole = b.value(format_args!("and i1 {begun}, {whole}"));
                let partial = b.value(format_args!("xor i1 {whole}, true"));
                b.value(format_args!("and i1 {more}, {partial}"))
            }
        };
        b.repeat_while(&name, &more);
        let next = b.add(at, self.width());
        let round = self.round(b, rounds, at, &names[1..], care);
        let kinds = values.iter().map(|(kind, _)| kind.clone());
        let round: Vec<(String, String)> = kinds.zip([next].into_iter().chain(round)).collect();
        b.end_repeat(&name, &round);
        names
    }

    /// One vector of each stream and stage; returns what the next round is to keep.
    fn round(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        at: &str,
        kept: &[String],
        care: Care<'_>,
    ) -> Vec<String> {
        let width = self.width();
        let mut vectors: Vec<Vec<String>> = Vec::new();
        let mut rest = kept;
        for stream in &self.streams {
            let (kept, behind) = rest.split_at(stream.depth);
            rest = behind;
            let new = [String::new()].into_iter();
            vectors.push(new.chain(kept.iter().cloned()).collect());
        }
        if care == Care::None {
            self.fetch(b, rounds, at);
        }
        for number in 0..self.stages.len() {
            // Each as late as can be: registers are few.
            for (index, stream) in self.streams.iter().enumerate() {
                match stream.source {
                    Source::Memory {
                        stage,
                        offset,
                        blocks: true,
                    } if stage == number => {
                        let at = b.add(at, stream.lead * width);
                        vectors[index][0] = self.load(b, &at, index, (stage, offset), care);
                    }
                    _ => {}
                }
            }
            let made: Vec<usize> = (0..self.streams.len())
                .filter(|stream| self.streams[*stream].source == Source::Stage(number))
                .collect();
            let first = b.add(at, self.leads[number] * width);
            let values = match care {
                Care::None => self.stage(
                    b,
                    (number, &first),
                    None,
                    rounds.streaming.as_deref(),
                    &vectors,
                    &made,
                ),
                Care::Ends(_) => self.stage_at_ends(b, (number, &first), &vectors, &made),
            };
            for (stream, value) in made.into_iter().zip(values) {
                vectors[stream][0] = value;
            }
        }
        let vectors = vectors.into_iter().zip(&self.streams);
        vectors
            .flat_map(|(vectors, stream)| vectors.into_iter().take(stream.depth))
            .collect()
    }

    /// Computes a stage on one vector if it has any points there, and touches no others.
    fn stage_at_ends(
        &self,
        b: &mut Builder,
        (number, first): (usize, &str),
        vectors: &[Vec<String>],
        made: &[usize],
    ) -> Vec<String> {
        let (start, end) = &self.stage_ranges[number];
        let kind = |stream: &usize| self.lanes.value(self.dtype(self.streams[*stream].target));
        let kinds: Vec<String> = made.iter().map(kind).collect();
        let points = Lanes {
            width: self.width() as usize,
        };
        let active = any_inside(b, points, first, start, end);
        // Outside of the branch, LLVM sees where stages have the same.
        let mask = match self.panel {
            Some(panel) => self.stages[number].row.level_mask(b, panel),
            None => lane_mask(b, self.lanes, first, start, end),
        };
        b.when_else_zero(&active, &kinds, |b| {
            self.stage(b, (number, first), Some(mask), None, vectors, made)
        })
    }

    /// Computes a stage on one vector; returns the values of the streams that it makes.
    fn stage(
        &self,
        b: &mut Builder,
        (number, first): (usize, &str),
        mask: Option<String>,
        streaming: Option<&str>,
        vectors: &[Vec<String>],
        made: &[usize],
    ) -> Vec<String> {
        let computed = &self.stages[number];
        let blocks = self.found[number].iter().map(|(key, stream)| {
            let blocks = Blocks {
                made: matches!(self.streams[*stream].source, Source::Stage(_)),
                ahead: self.streams[*stream].lead - self.leads[number],
                vectors: vectors[*stream].clone(),
            };
            (*key, blocks)
        });
        let mut body = Body::new(
            (self.context, self.entry, b),
            self.lanes,
            (&computed.row, &self.preheaders[number]),
            first,
            mask,
        );
        body.streaming = streaming.map_or(Streaming::Never, Streaming::Where);
        body.regions = match body.mask {
            Some(_) => Regions::Apart,
            None => Regions::Absent,
        };
        body.loose = self.loose(number);
        body.blocks = blocks.collect();
        body.stage(computed.stage);
        let target = |stream: &usize| self.streams[*stream].target;
        made.iter()
            .map(|stream| body.read(target(stream), Offset::ZERO))
            .collect()
    }

    /// What a stage may write beside its own points, too. Partial stores would keep the next row waiting that loads what they wrote.
    fn loose(&self, number: usize) -> HashSet<Target> {
        let mut loose = HashSet::new();
        accesses(&self.stages[number].stage.statements, &mut |access| {
            if access.write && !self.is_kept(number, access.target) {
                loose.insert(access.target);
            }
        });
        loose
    }

    /// The lanes of a stream that are loaded at the end of a row: all of them where there is memory, else those that are needed.
    fn mask_of_load(&self, b: &mut Builder, first: &str, stream: &Stream, roomy: &str) -> String {
        let needed = |b: &mut Builder| self.stream_range(b, stream);
        if let Some(panel) = self.panel {
            let kind = self.lanes.of("i1");
            let all = vec![self.lanes.constant(DType::Bool, "true")];
            let some = b.choose(roomy, &[&kind], all, |b| {
                let (start, end) = needed(b);
                vec![self.panel_mask(b, panel, first, (&start, &end))]
            });
            return some.into_iter().next().unwrap_or_default();
        }
        let some = b.choose(roomy, &["i64"], vec![String::from("-1")], |b| {
            let (start, end) = needed(b);
            vec![lane_bits(b, self.lanes, first, &start, &end)]
        });
        lane_mask_of(b, self.lanes, &some[0])
    }

    /// Loads the vector of a stream whose first point is `first`.
    fn load(
        &self,
        b: &mut Builder,
        first: &str,
        number: usize,
        (stage, offset): (usize, Offset),
        care: Care<'_>,
    ) -> String {
        let stream = &self.streams[number];
        let mask = match care {
            Care::None => None,
            Care::Ends(_) if self.is_ring(stream.target) => None,
            Care::Ends(roomy) => Some(self.mask_of_load(b, first, stream, roomy)),
        };
        let dtype = self.dtype(stream.target);
        let pointer = self.preheaders[stage].pointer(stream.target, offset);
        let mut body = Body::new(
            (self.context, self.entry, b),
            self.lanes,
            (&self.stages[stage].row, &self.preheaders[stage]),
            first,
            mask,
        );
        let address = body.address_in(&pointer, dtype.size(), 0);
        body.load(dtype, &address)
    }

    /// Fetches those ends of a later row that are not stored as whole vectors: stores past the caches cannot wait for memory, but
    /// they wait for such a store.
    fn fetch_ends(&self, b: &mut Builder, rounds: &Rounds, streamed: &[Aligned]) {
        for result in streamed {
            let (start, end) = &self.stages[result.stage].range;
            let last = b.sub(end, 1);
            for (edge, point) in [(start, start), (end, &last)] {
                let points = b.sub(edge, &rounds.first);
                let past = b.value(format_args!("and i64 {points}, {}", self.width() - 1));
                let partial = b.value(format_args!("icmp ne i64 {past}, 0"));
                b.when(&partial, |b| {
                    let address = block_address(b, &result.pointer, result.size, point);
                    fetch(b, self.entry, result.target, &address, self.later(), true);
                });
            }
        }
    }

    /// The axis along which the next rows are that need memory that no row needed before.
    fn later(&self) -> Axis {
        match self.block {
            Axis::K => self.slide,
            block => block,
        }
    }

    /// Fetches what later rows need that no row needed before, where it is worth it.
    fn fetch(&self, b: &mut Builder, rounds: &Rounds, at: &str) {
        b.when(&self.entry.fetches, |b| {
            for number in self.leading() {
                let stream = &self.streams[number];
                let Source::Memory { stage, offset, .. } = stream.source else {
                    continue;
                };
                let target = stream.target;
                let first = b.add(at, stream.lead * self.width());
                let pointer = self.preheaders[stage].pointer(target, offset);
                let address = pointer.at(b, self.dtype(target).size(), &first);
                fetch(b, self.entry, target, &address, self.later(), false);
            }
            let Some(streaming) = &rounds.streaming else {
                return;
            };
            let cached = b.value(format_args!("xor i1 {streaming}, true"));
            b.when(&cached, |b| {
                for result in self.streamed() {
                    let first = b.add(at, self.leads[result.stage] * self.width());
                    let pointer =
                        self.preheaders[result.stage].pointer(result.target, Offset::ZERO);
                    let address = pointer.at(b, result.size, &first);
                    fetch(b, self.entry, result.target, &address, self.later(), true);
                }
            });
        });
    }

    /// Of the streams of each array the one that gets to new memory first.
    fn leading(&self) -> Vec<usize> {
        // Tiles of one level follow those of the level below.
        let order = match self.block {
            Axis::K => [self.block, self.slide],
            _ => [self.slide, self.block],
        };
        let mut leading: Vec<(Target, [i32; 2], usize)> = Vec::new();
        for (number, stream) in self.streams.iter().enumerate() {
            let Source::Memory {
                stage,
                offset,
                blocks: true,
            } = stream.source
            else {
                continue;
            };
            if self.is_ring(stream.target) {
                continue;
            }
            let row = offset + self.stages[stage].ahead;
            let row = order.map(|axis| row.along(axis));
            let same = |found: &&mut (Target, _, _)| found.0 == stream.target;
            match leading.iter_mut().find(same) {
                Some(found) if found.1 < row => *found = (stream.target, row, number),
                Some(_) => {}
                None => leading.push((stream.target, row, number)),
            }
        }
        leading.into_iter().map(|(_, _, number)| number).collect()
    }
}
