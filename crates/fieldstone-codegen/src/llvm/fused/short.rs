//! Rows along `K` of one stage. They are short: what is the same for all rows of a tile, masks included, does not depend on the
//! row, and a vector that is not whole is stored with a mask and else like any other.

use fieldstone_stencil::Axis;

use super::halves::Shared;
use super::room::OfTile;
use super::round::{Care, Masks};
use super::{Aligned, BEYOND, Fused, Rounds, Rows, regions};
use crate::llvm::builder::Builder;
use crate::llvm::memory::lane_mask;
use crate::llvm::preheader::visit;
use crate::llvm::range::may_store_behind;
use crate::llvm::types::Lanes;

/// Operations, accesses and numbers of a light round, at most.
const LIGHT: usize = 32;

const YES: &str = "true";
const NO: &str = "false";

/// Where a condition holds and another one as well, or does not.
fn either(b: &mut Builder, (condition, other): (&str, &str)) -> Vec<(String, &'static str)> {
    let not = b.not(other);
    let both = |b: &mut Builder, other: &str| b.value(format_args!("and i1 {condition}, {other}"));
    vec![(both(b, other), YES), (both(b, &not), NO)]
}

impl Fused<'_> {
    /// Whether this loop has such rows.
    pub(super) fn is_short(&self) -> bool {
        self.roles.vector == Axis::K && self.is_alone()
    }

    /// Whether it computes one stage, at all points of each row.
    pub(super) fn is_alone(&self) -> bool {
        let [computed] = self.stages else {
            return false;
        };
        computed.active.is_none() && regions(computed.stage).next().is_none()
    }

    /// Lanes of the one vector that rows are, whatever the domain: no more than there are levels, since stores with a mask that lie
    /// across two lines take long, though what they store does not.
    pub(super) fn one_vector(&self) -> Option<Lanes> {
        if !self.is_short() {
            return None;
        }
        let points = self.stages[0].stage.interval.levels()?.max(1);
        let width = points.next_power_of_two();
        (width <= self.lanes.width).then_some(Lanes { width })
    }

    /// Rows of one vector.
    pub(super) fn emit_one_vector(&self, b: &mut Builder) {
        let (start, end) = &self.stages[0].range;
        if self.is_only {
            self.fetch_vector(b, start);
        }
        if self.lanes.width == 1 {
            let any = b.value(format_args!("icmp slt i64 {start}, {end}"));
            return b.when(&any, |b| {
                self.stage(b, (0, start), Masks::Stored(None), None, &[], &[]);
            });
        }
        let mask = lane_mask(b, self.lanes, start, start, end);
        self.stage(b, (0, start), Masks::All(mask), None, &[], &[]);
    }

    /// Rows of any length.
    pub(super) fn emit_short(&self, b: &mut Builder, tile: OfTile, rows: &Rows) {
        let (inside, streamed) = (tile.inside.clone(), self.streamed());
        let shared = self.shares_vectors().then(|| Shared {
            rows,
            inside: inside.clone(),
        });
        let [first, end, streaming] = self.of_row(b, &tile);
        let tile = OfTile {
            first,
            end,
            streaming,
            ..tile
        };
        let mut rounds = self.short_rounds(b, tile);
        let inside = b.choose(&inside, &["i1"], vec![String::from("true")], |b| {
            vec![self.is_roomy(b, &rounds.first, &rounds.end)]
        });
        let (first, end) = (&rounds.first, &rounds.end);
        let any = b.value(format_args!("icmp slt i64 {first}, {end}"));
        rounds.roomy = b.value(format_args!("and i1 {}, {any}", inside[0]));
        self.fetch_stored_ends(b, &rounds, &streamed);
        let name = b.begin_when(&rounds.roomy);
        self.repeat_short(b, &rounds, shared.as_ref());
        b.otherwise(&name);
        let apart = Rounds {
            whole_first: BEYOND.to_string(),
            ..rounds
        };
        self.repeat_with(b, &apart, &[Care::Ends { reads: true }]);
        b.end_when(&name);
    }

    /// The rounds of all rows of a tile that have memory around them.
    fn short_rounds(&self, b: &mut Builder, tile: OfTile) -> Rounds {
        let (whole_first, whole_end) = self.whole_vectors(b, &tile.first);
        let padded = self.is_padded(b, &whole_end, &tile.streamed);
        Rounds {
            padded: b.value(format_args!("and i1 {}, {padded}", tile.streaming)),
            whole_first,
            whole_end,
            first: tile.first,
            end: tile.end,
            roomy: YES.to_owned(),
            streaming: (!tile.streamed.is_empty()).then_some(tile.streaming),
            fetches: self.entry.fetches_rows.clone(),
            in_lines: false,
        }
    }

    /// The ways to compute the rows of a tile, of which none asks what is the same for all rows, each with the condition under which
    /// it is the one; without rounds where rows may have no memory around them. None if a round is so much work that asking does not
    /// matter.
    pub(super) fn ways(
        &self,
        b: &mut Builder,
        rows: &Rows,
    ) -> Option<Vec<(String, Option<Rounds>)>> {
        if !self.is_short() || self.one_vector().is_some() || !self.is_light() {
            return None;
        }
        let tile = self.of_tile(b, rows);
        let inside = b.value(format_args!("and i1 {}, {}", tile.inside, tile.fixed));
        let rounds = self.short_rounds(b, tile);
        let any = b.value(format_args!(
            "icmp slt i64 {}, {}",
            rounds.first, rounds.end
        ));
        let known = b.value(format_args!("and i1 {inside}, {any}"));
        let mut ways = vec![(b.not(&known), None)];
        for (fetching, fetches) in either(b, (&known, &rounds.fetches)) {
            let streaming = match &rounds.streaming {
                Some(streaming) => either(b, (&fetching, streaming)),
                None => vec![(fetching, NO)],
            };
            ways.extend(streaming.into_iter().map(|(condition, streaming)| {
                let padded = match streaming {
                    YES => rounds.padded.clone(),
                    _ => NO.to_owned(),
                };
                let rounds = Rounds {
                    streaming: rounds.streaming.as_ref().map(|_| streaming.to_owned()),
                    padded,
                    fetches: fetches.to_owned(),
                    ..rounds.clone()
                };
                (condition, Some(rounds))
            }));
        }
        Some(ways)
    }

    /// Whether a round is so little work that to ask in each what is the same for all adds to it.
    fn is_light(&self) -> bool {
        let mut operations = 0;
        for statement in &self.stages[0].stage.statements {
            visit(statement, &mut |_| operations += 1, &mut |_, _, _| {});
        }
        operations <= LIGHT
    }

    /// A row of which all is known.
    pub(super) fn emit_known(&self, b: &mut Builder, rounds: &Rounds) {
        self.fetch_stored_ends(b, rounds, &self.streamed());
        self.repeat_short(b, rounds, None);
    }

    /// The first of the vectors of a row that begins at `first` that are whole, and one past the last.
    pub(super) fn whole_vectors(&self, b: &mut Builder, first: &str) -> (String, String) {
        let (start, end) = &self.stages[0].range;
        let width = self.width();
        let next = b.add(first, width);
        let partial = b.value(format_args!("icmp slt i64 {first}, {start}"));
        let begin = b.value(format_args!("select i1 {partial}, i64 {next}, i64 {first}"));
        let points = b.sub(end, &begin);
        let points = b.max(&points, "0");
        let points = b.value(format_args!("and i64 {points}, -{width}"));
        let behind = b.add(&begin, &points);
        (begin, behind)
    }

    /// A vector that is not whole, those that are, and another one that is not, which may have points of another row as well.
    fn repeat_short(&self, b: &mut Builder, rounds: &Rounds, shared: Option<&Shared<'_>>) {
        let (start, end) = &self.stages[0].range;
        let values = self.first_values(b, rounds, Care::None);
        let kinds: Vec<&str> = values.iter().map(|(kind, _)| kind.as_str()).collect();
        let known: Vec<String> = values.iter().map(|(_, value)| value.clone()).collect();
        let (first, whole) = (&rounds.first, &rounds.whole_first);
        let is_whole = b.value(format_args!("icmp eq i64 {first}, {whole}"));
        let values = b.choose(&is_whole, &kinds, known.clone(), |b| {
            let mask = lane_mask(b, self.lanes, first, start, end);
            let kept = self.round(b, rounds, first, &known[1..], Care::Stores(&mask));
            [whole.clone()].into_iter().chain(kept).collect()
        });
        let kinds = kinds.into_iter().map(str::to_owned);
        let values: Vec<(String, String)> = kinds.zip(values).collect();
        let values = self.rounds(b, rounds, &values, Care::None);
        let last = &rounds.whole_end;
        let more = b.value(format_args!("icmp slt i64 {last}, {end}"));
        b.when(&more, |b| {
            if let Some(shared) = shared {
                return self.end_of_rows(b, rounds, shared);
            }
            let mask = lane_mask(b, self.lanes, last, start, end);
            self.round(b, rounds, last, &values[1..], Care::Last(&mask));
        });
    }

    /// Whether the last vector of rows that are stored past the caches is stored whole: what is not computed of it lies in padding.
    fn is_padded(&self, b: &mut Builder, whole_end: &str, streamed: &[Aligned]) -> String {
        let end = &self.stages[0].range.1;
        let behind = b.add(whole_end, self.width());
        let sizes = streamed.iter().map(|result| result.size);
        may_store_behind(self.entry, b, (end, &behind), sizes.max().unwrap_or(1))
    }
}
