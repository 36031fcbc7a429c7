//! Rows of few instructions. Where they are in the caches and stay there, a row has little work for each vector, and what looks after
//! anything else takes its time and its registers: such rows have a loop of their own.

use std::collections::HashSet;

use fieldstone_stencil::Offset;
use fieldstone_stencil::visit::accesses;

use super::room::OfTile;
use super::round::Care;
use super::{BEYOND, Fused, Rounds, Rows};
use crate::cost::usual_cycles;
use crate::llvm::builder::Builder;
use crate::llvm::memory::mask_of;
use crate::llvm::preheader::across;

/// Cycles of a vector of such a row, at most: its instructions are there more often.
const MOST_CYCLES: f64 = 64.0;

impl Fused<'_> {
    /// Whether this loop has such rows, of one stage.
    pub(super) fn is_plain(&self) -> bool {
        self.is_alone() && self.is_brief()
    }

    /// Whether a vector of all stages takes so little, away from regions.
    fn is_brief(&self) -> bool {
        let stages = self.stages.iter().map(|computed| computed.stage);
        usual_cycles(stages) <= MOST_CYCLES
    }

    /// Whether this loop has such rows, of several stages.
    pub(super) fn has_near(&self) -> bool {
        self.panel.is_none() && !self.is_alone() && self.is_brief()
    }

    /// One past the last whole vector of such rows of several stages, if a row is in the caches and stays there, and else before
    /// the first one. None if there are no such rows; where points are vectors of levels, they gain nothing.
    pub(super) fn near_end(&self, b: &mut Builder, rounds: &Rounds) -> Option<String> {
        if !self.has_near() {
            return None;
        }
        let far = match &rounds.streaming {
            Some(streaming) => b.value(format_args!("or i1 {}, {streaming}", rounds.fetches)),
            None => rounds.fetches.clone(),
        };
        Some(b.select(&far, &(-BEYOND).to_string(), &rounds.whole_end))
    }

    /// Rows that may be such.
    pub(super) fn emit_plain(&self, b: &mut Builder, tile: OfTile, rows: &Rows) {
        let (start, end) = &self.stages[0].range;
        let (far, stream) = (&self.entry.fetches_rows, &self.entry.stream);
        let far = b.value(format_args!("or i1 {far}, {stream}"));
        let near = b.not(&far);
        let any = b.value(format_args!("icmp slt i64 {start}, {end}"));
        let near = b.value(format_args!("and i1 {near}, {any}"));
        let near = b.value(format_args!("and i1 {near}, {}", tile.inside));
        let name = b.begin_when(&near);
        self.emit_near(b, &tile);
        b.otherwise(&name);
        self.emit_any(b, tile, rows);
        b.end_when(&name);
    }

    /// A vector that is not whole, those that are, and another one that is not.
    fn emit_near(&self, b: &mut Builder, tile: &OfTile) {
        let end = &self.stages[0].range.1;
        let [first, behind, whole_first, whole_end, head, tail] = self.vectors_of_row(b, tile);
        let rounds = Rounds {
            end: behind,
            roomy: String::from("true"),
            streaming: None,
            padded: String::from("false"),
            fetches: String::from("false"),
            in_lines: false,
            first,
            whole_first,
            whole_end,
        };
        let near = Care::Near(&rounds.whole_end);
        let values = self.first_values(b, &rounds, near);
        let kinds: Vec<&str> = values.iter().map(|(kind, _)| kind.as_str()).collect();
        let known: Vec<String> = values.iter().map(|(_, value)| value.clone()).collect();
        let (first, whole) = (&rounds.first, &rounds.whole_first);
        let is_whole = b.value(format_args!("icmp eq i64 {first}, {whole}"));
        let values = b.choose(&is_whole, &kinds, known.clone(), |b| {
            let mask = mask_of(b, self.lanes, &head);
            let care = Care::NearStores(&mask);
            let kept = self.round(b, &rounds, first, &known[1..], care);
            [whole.clone()].into_iter().chain(kept).collect()
        });
        let kinds = kinds.into_iter().map(str::to_owned);
        let values: Vec<(String, String)> = kinds.zip(values).collect();
        let values = self.rounds(b, &rounds, &values, near);
        let last = &rounds.whole_end;
        let more = b.value(format_args!("icmp slt i64 {last}, {end}"));
        b.when(&more, |b| {
            let mask = mask_of(b, self.lanes, &tail);
            let care = Care::NearStores(&mask);
            self.round(b, &rounds, last, &values[1..], care);
        });
    }

    /// Where the vectors of a row begin, the first one and the one behind the last, and those that are whole; and the lanes of the first one and
    /// of the one behind the whole ones, as bits. What all rows of a tile have in common is known before the loops around rows: a row has
    /// little else to ask for.
    fn vectors_of_row(&self, b: &mut Builder, tile: &OfTile) -> [String; 6] {
        let of_tile = self.vectors_between(b, &tile.first, &tile.end);
        // Most vectors of rows among others lie across cache lines anyway, and to store along them takes one more where rows are short.
        if tile.fixed == "true" || self.is_among_others() {
            return of_tile;
        }
        let values = b.choose(&tile.fixed, &["i64"; 6], of_tile.to_vec(), |b| {
            let row = self.of_row_apart(b, tile);
            self.vectors_between(b, &row[0], &row[1]).to_vec()
        });
        values.try_into().expect("six values")
    }

    /// The same for vectors from an index to another one.
    fn vectors_between(&self, b: &mut Builder, first: &str, end: &str) -> [String; 6] {
        let (whole_first, whole_end) = self.whole_vectors(b, first);
        let points = b.sub(&self.stages[0].range.1, &whole_end);
        let (head, tail) = (self.head(b, first), below(b, &points));
        let (first, end) = (first.to_owned(), end.to_owned());
        [first, end, whole_first, whole_end, head, tail]
    }

    /// Whether most rows that the stage accesses are others than the one that it computes.
    fn is_among_others(&self) -> bool {
        let mut rows = HashSet::new();
        accesses(&self.stages[0].stage.statements, &mut |access| {
            rows.insert((access.target, across(access.offset, self.roles.vector)));
        });
        let others = rows.iter().filter(|(_, row)| *row != Offset::ZERO).count();
        others > rows.len() - others
    }

    /// The lanes of the first vector of a row, as bits; it begins before the row does, fewer points than a vector has.
    fn head(&self, b: &mut Builder, first: &str) -> String {
        let (start, end) = &self.stages[0].range;
        let before = b.sub(start, first);
        let before = b.value(format_args!("shl i64 -1, {before}"));
        let points = b.sub(end, first);
        let points = b.min(&points, &self.width().to_string());
        let behind = below(b, &points);
        b.value(format_args!("and i64 {before}, {behind}"))
    }
}

/// As many low bits as a number says.
fn below(b: &mut Builder, count: &str) -> String {
    let bit = b.value(format_args!("shl i64 1, {count}"));
    b.sub(&bit, 1)
}
