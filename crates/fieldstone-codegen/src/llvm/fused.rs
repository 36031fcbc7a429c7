//! The loop of several stages over one row, in vectors.
//!
//! A *stream* is a row of values that stages read: of memory, or of what an earlier stage of the loop makes. Each round of the
//! loop makes or loads one vector of each stream, some vectors ahead of the stages that read it at points further on. Vectors
//! of earlier rounds stay in registers as long as points before are read; what lies across two vectors is shuffled together.
//! So every value is loaded once, from addresses that are multiples of a vector where the arrays are.
//!
//! Vectors at the ends of a row are loaded and computed as a whole where the arrays have the memory, and only what is asked for
//! is stored. For the few rows at the ends of an array there is a second copy of the loop, with masks for every access.
//!
//! | module | what lives there |
//! |---|---|
//! | `stream` | which rows of values stages read, and how far ahead of the round each is loaded or made |
//! | `alignment` | where the vectors of a row begin, and which results may go past the caches |
//! | `room` | whether there is memory around rows |
//! | `borders` | rounds at the borders of the domain |
//! | `round` | the rounds of a row, and what each loads, computes and stores |
//! | `plain` | rows of one stage of few instructions, in the caches |
//! | `short` | short rows of one stage, along `K` |
//! | `halves` | what is left of two short rows, in one vector |
//! | `fetch` | later rows that are fetched into the caches |
//! | `panel` | rows whose points are vectors of levels |

mod alignment;
mod borders;
mod fetch;
mod halves;
mod panel;
mod plain;
mod room;
mod round;
mod short;
mod stream;

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::{Roles, Stage};
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Axis, DType, Offset};

use crate::lanes::widest;
use crate::tile::MOST_LANES;

use self::fetch::foremost;
use self::room::OfTile;
use super::builder::Builder;
use super::entry::{Context, Entry};
use super::place::{self, Panel, Row, Spacing};
use super::preheader::{Preheader, preheader};
use super::region::{crosses, regions, vectors_without, widest_regions};
use super::setting::Setting;
use super::types::Lanes;

/// Vectors along a row within which neighbours are taken from registers.
const REACH: i64 = 2;

/// An index beyond every row.
pub(super) const BEYOND: i64 = 1 << 48;

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
    roles: Roles,
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
    /// Whether no other loop computes anything in the nest.
    is_only: bool,
    /// The axis along which the rows lie that are fetched, and the other one across them.
    order: [Axis; 2],
    /// Of the rows that loops of the nest read of each target the one that gets to new memory first.
    foremost: HashMap<Target, [i32; 2]>,
}

/// The indices at which the rounds of a row begin, and which of them store whole vectors.
#[derive(Clone)]
pub(super) struct Rounds {
    first: String,
    end: String,
    whole_first: String,
    whole_end: String,
    /// Whether all that whole vectors read is in the arrays.
    roomy: String,
    /// Whether whole vectors go past the caches.
    streaming: Option<String>,
    /// Whether the last vector goes past the caches as a whole, where not all of it is computed.
    padded: String,
    /// Whether later rows are fetched.
    fetches: String,
    /// Whether it is known that vectors are in cache lines of their own and later rows are fetched.
    in_lines: bool,
}

/// What is known of a row.
#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    /// Nothing.
    Any,
    /// That rows of its tile may have no memory around them.
    Outside,
    /// What [`is_far`] asks.
    Far,
    /// Its rounds, which are those of all rows of a tile.
    Known(&'a Rounds),
}

/// The rows that a tile computes where stages have no extent, from the first step of a loop to one past the last.
#[derive(Clone)]
pub(super) struct Rows {
    pub slides: (String, String),
    pub blocks: (String, String),
    /// The blocks of all tiles that share what their rows have in common.
    pub planes: (String, String),
}

/// A contiguous row of a field.
#[derive(Clone)]
struct Aligned {
    stage: usize,
    target: Target,
    pointer: String,
    size: usize,
}

/// Computes a row of each stage.
pub(super) fn row(
    setting: Setting<'_>,
    b: &mut Builder,
    (stages, way): (&[Computed<'_>], Way<'_>),
    rows: &Rows,
) {
    let fused = Fused::new(setting, b, stages);
    // A row of which no stage computes anything may be where there is no memory.
    let some = stages.iter().map(|computed| computed.active.clone());
    let some: Option<Vec<String>> = some.collect();
    let either = |one, other| b.value(format_args!("or i1 {one}, {other}"));
    match some.and_then(|some| some.into_iter().reduce(either)) {
        Some(any) => b.when(&any, |b| fused.emit_row(b, way, rows)),
        None => fused.emit_row(b, way, rows),
    }
}

/// Whether nothing has to be asked for any row of a tile whose rows are fetched: see [`Fused::is_far`]; `stages` is any of these rows.
pub(super) fn is_far(
    setting: Setting<'_>,
    b: &mut Builder,
    stages: &[Computed<'_>],
    rows: &Rows,
) -> String {
    Fused::new(setting, b, stages).is_far(b, rows)
}

/// The ways to compute the short rows of a tile, if there are several; `stages` is any of these rows.
pub(super) fn ways(
    setting: Setting<'_>,
    b: &mut Builder,
    stages: &[Computed<'_>],
    rows: &Rows,
) -> Option<Vec<(String, Option<Rounds>)>> {
    Fused::new(setting, b, stages).ways(b, rows)
}

impl<'a> Fused<'a> {
    fn new(setting: Setting<'a>, b: &mut Builder, stages: &'a [Computed<'a>]) -> Fused<'a> {
        let Setting {
            context,
            entry,
            nest,
            shared,
        } = setting;
        let widest = |computed: &Computed<'_>| widest(&context.program.stencil, computed.stage);
        let widest = stages.iter().map(widest).max().unwrap_or(1);
        let width = (context.target.row_bytes() / widest).min(MOST_LANES);
        let panel = stages[0].row.panel.as_ref();
        let preheaders = stages
            .iter()
            .map(|computed| preheader(context, entry, b, computed.stage, &computed.row, false));
        let order = context.fetch.order_of_rows(nest.roles);
        let mut fused = Fused {
            context,
            entry,
            roles: nest.roles,
            lanes: panel.map_or(Lanes { width }, |panel| panel.lanes),
            panel,
            stages,
            preheaders: preheaders.collect(),
            leads: vec![0; stages.len()],
            streams: Vec::new(),
            found: vec![HashMap::new(); stages.len()],
            shared,
            stage_ranges: Vec::new(),
            is_only: nest.loops.len() == 1,
            order,
            foremost: foremost(nest, stages[0].stage.interval, order),
        };
        if let Some(lanes) = fused.one_vector() {
            fused.lanes = lanes;
        }
        fused.find_streams();
        fused.find_ranges(b);
        fused
    }
}

impl Fused<'_> {
    /// Points of the row in a vector.
    fn width(&self) -> i64 {
        self.stages[0].row.points(self.lanes) as i64
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
                Some(active) => (
                    b.select(active, start, BEYOND),
                    b.select(active, end, -BEYOND),
                ),
            });
        }
    }

    fn emit_row(&self, b: &mut Builder, way: Way<'_>, rows: &Rows) {
        match self.panel {
            _ if let Way::Known(rounds) = way => self.emit_known(b, rounds),
            Some(_) if matches!(way, Way::Far) => self.emit_far(b),
            Some(panel) => self.emit_panels(b, panel, rows),
            None if self.one_vector().is_some() => self.emit_one_vector(b),
            None => {
                let tile = self.of_tile(b, rows);
                match matches!(way, Way::Any) && self.is_plain() {
                    true => self.emit_plain(b, tile, rows),
                    false => self.emit_any(b, tile, rows),
                }
            }
        }
    }

    fn emit_any(&self, b: &mut Builder, tile: OfTile, rows: &Rows) {
        match self.is_short() {
            true => self.emit_short(b, tile, rows),
            false => self.emit(b, tile),
        }
    }

    fn emit(&self, b: &mut Builder, tile: OfTile) {
        let OfTile {
            inside, streamed, ..
        } = &tile;
        let [first, end, streaming] = self.of_row(b, &tile);
        let roomy = b.choose(inside, &["i1"], vec![String::from("true")], |b| {
            vec![self.is_roomy(b, &first, &end)]
        });
        let [roomy] = roomy.try_into().expect("one value");
        let (whole_first, whole_end) = self.whole(b, &first, &end);
        let rounds = Rounds {
            whole_first: b.select(&roomy, &whole_first, BEYOND),
            whole_end: b.min(&whole_end, &end),
            first,
            end,
            roomy,
            streaming: (!streamed.is_empty()).then_some(streaming),
            padded: String::from("false"),
            fetches: self.entry.fetches_rows.clone(),
            in_lines: false,
        };
        self.fetch_stored_ends(b, &rounds, streamed);
        self.fetch_read_ends(b, &rounds);
        self.repeat(b, &rounds);
    }

    /// The ends of a row, and whether it is stored past the caches.
    fn of_row(&self, b: &mut Builder, tile: &OfTile) -> [String; 3] {
        let known = [&tile.first, &tile.end, &tile.streaming].map(String::clone);
        if tile.fixed == "true" {
            return known;
        }
        let kinds = ["i64", "i64", "i1"];
        let values = b.choose(&tile.fixed, &kinds, known.to_vec(), |b| {
            self.of_row_apart(b, tile)
        });
        values.try_into().expect("three values")
    }

    /// The same of a row that is aligned otherwise than others of its tile.
    fn of_row_apart(&self, b: &mut Builder, tile: &OfTile) -> Vec<String> {
        let begin = &self.stages[0].row.tile[self.roles.vector.index()];
        let origin = match &tile.key {
            Some(key) => self.origin(b, &key.pointer, key.size, begin),
            None => begin.clone(),
        };
        let (first, end) = self.ends(b, &origin);
        let mut streaming = self.entry.stream.clone();
        for result in &tile.streamed {
            let aligned = self.is_aligned(b, &result.pointer, result.size, &origin);
            streaming = b.value(format_args!("and i1 {streaming}, {aligned}"));
        }
        vec![first, end, streaming]
    }

    /// Whether the vectors of all rows of a tile begin at the same points, though these may be aligned otherwise than others are;
    /// always where `None`.
    fn are_fixed(&self, b: &mut Builder, alike: &str, streamed: &[Aligned]) -> Option<String> {
        // The vectors that a row stores in a ring are those that the next row loads. Were they across others, which the processor
        // may not have stored yet, it would wait until it has, behind all that is stored to memory.
        if self.makes_rings() {
            return None;
        }
        if !self.is_short() {
            return Some(alike.to_owned());
        }
        // Short rows have masks in common, which is worth more than to begin at lines, but where only these go past the caches.
        if streamed.is_empty() || self.shares_vectors() {
            return None;
        }
        let cached = b.not(&self.entry.stream);
        Some(b.value(format_args!("or i1 {alike}, {cached}")))
    }

    /// Whether any stage writes a ring.
    fn makes_rings(&self) -> bool {
        let mut rings = false;
        for computed in self.stages {
            accesses(&computed.stage.statements, &mut |access| {
                rings |= access.write && self.is_ring(access.target);
            });
        }
        rings
    }

    /// The rounds of a row from `first` to `end` in which all that is stored are whole vectors, and no region is computed.
    fn whole(&self, b: &mut Builder, first: &str, end: &str) -> (String, String) {
        // What all rows of a tile have in common comes first, so that it is computed before the loops around rows.
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        let (mut of_row, mut partial) = (Vec::new(), Vec::new());
        for number in (0..self.stages.len()).filter(|number| self.is_strict(*number)) {
            let Computed { range, active, .. } = &self.stages[number];
            let lead = self.leads[number] * self.width();
            starts.push(b.sub(&range.0, lead));
            ends.push(b.sub(&range.1, lead + self.width() - 1));
            partial.extend(active.as_ref().map(|active| b.not(active)));
        }
        for (computed, lead) in self.stages.iter().zip(&self.leads) {
            for area in widest_regions(computed.stage) {
                let crosses = crosses(self.entry, b, area, &computed.row);
                let without =
                    vectors_without(self.entry, b, (area, self.roles.vector), self.width());
                let lead = lead * self.width();
                let without = without.map(|(start, end)| (b.sub(&start, lead), b.sub(&end, lead)));
                match (without, crosses) {
                    (None, crosses) => partial.push(crosses.unwrap_or_else(|| "true".to_owned())),
                    (Some((start, end)), None) => {
                        starts.push(start);
                        ends.push(end);
                    }
                    (Some(without), Some(crosses)) => of_row.push((without, crosses)),
                }
            }
        }
        for ((start, end), crosses) in of_row {
            starts.push(b.select(&crosses, &start, -BEYOND));
            ends.push(b.select(&crosses, &end, BEYOND));
        }
        starts.push(first.to_owned());
        ends.push(end.to_owned());
        let (first, end) = (b.largest(&starts), b.smallest(&ends));
        let either = |one, other| b.value(format_args!("or i1 {one}, {other}"));
        match partial.into_iter().reduce(either) {
            Some(partial) => (b.select(&partial, &BEYOND.to_string(), first), end),
            None => (first, end),
        }
    }
}
