//! Rows along `K` of one stage. They are short: what is the same for all rows of a tile, masks included, does not depend on the
//! row, and a vector that is not whole is stored with a mask and else like any other.

use fieldstone_stencil::{Axis, Interval};

use super::room::OfTile;
use super::round::{Care, Masks};
use super::{BEYOND, Fused, Rounds, regions};
use crate::llvm::builder::Builder;
use crate::llvm::memory::lane_mask;

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

    /// Whether its rows are not longer than a vector, whatever the domain.
    pub(super) fn is_one_vector(&self) -> bool {
        let Interval { start, end } = self.stages[0].stage.interval;
        let points = i64::from(end.offset - start.offset);
        self.is_short() && start.level == end.level && points <= self.width()
    }

    /// Rows of one vector.
    pub(super) fn emit_one_vector(&self, b: &mut Builder) {
        let (start, end) = &self.stages[0].range;
        let mask = lane_mask(b, self.lanes, start, start, end);
        self.stage(b, (0, start), Masks::All(mask), None, &[], &[]);
    }

    /// Rows of any length.
    pub(super) fn emit_short(&self, b: &mut Builder, tile: OfTile) {
        let OfTile {
            streamed,
            first,
            end,
            streaming,
            inside,
            ..
        } = tile;
        let inside = b.choose(&inside, &["i1"], vec![String::from("true")], |b| {
            vec![self.is_roomy(b, &first, &end)]
        });
        let any = b.value(format_args!("icmp slt i64 {first}, {end}"));
        let roomy = b.value(format_args!("and i1 {}, {any}", inside[0]));
        let (whole_first, whole_end) = self.whole_vectors(b, &first);
        let rounds = Rounds {
            whole_first,
            whole_end,
            first,
            end,
            roomy,
            streaming: (!streamed.is_empty()).then_some(streaming),
        };
        self.fetch_ends(b, &rounds, &streamed);
        let name = b.begin_when(&rounds.roomy);
        self.repeat_short(b, &rounds);
        b.otherwise(&name);
        let apart = Rounds {
            whole_first: BEYOND.to_string(),
            ..rounds
        };
        self.repeat_with(b, &apart, &[Care::Ends { reads: true }]);
        b.end_when(&name);
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

    /// A vector that is not whole, those that are, and another one that is not.
    fn repeat_short(&self, b: &mut Builder, rounds: &Rounds) {
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
            let mask = lane_mask(b, self.lanes, last, start, end);
            self.round(b, rounds, last, &values[1..], Care::Stores(&mask));
        });
    }
}
