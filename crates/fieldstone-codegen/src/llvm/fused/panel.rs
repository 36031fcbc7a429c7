//! The loop over a row whose points are vectors of levels.
//!
//! Neighbouring points are whole vectors: what a stage reads of them was loaded, or made, in another round.

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;

use super::round::Care;
use super::{Aligned, BEYOND, Fused, Rounds, Rows, Stream};
use crate::llvm::builder::Builder;
use crate::llvm::memory::{any_inside, splat};
use crate::llvm::place::{Panel, RowPointer, Spacing};
use crate::llvm::range::may_store_behind;
use crate::llvm::types::Lanes;

impl Fused<'_> {
    pub(super) fn emit_panels(&self, b: &mut Builder, panel: &Panel, rows: &Rows) {
        let (first, end) = self.ends(b, "0");
        let inside = self.is_inside_of_tile(b, panel, rows, (&first, &end));
        let roomy = b.choose(&inside, &["i1"], vec![String::from("true")], |b| {
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
            streaming: self.streaming_of_panels(b, panel),
            padded: String::from("false"),
            fetches: self.entry.fetches_rows.clone(),
            in_lines: false,
        };
        self.repeat(b, &rounds);
    }

    /// A row of a tile that is known to be as [`Fused::is_far`] asks.
    pub(super) fn emit_far(&self, b: &mut Builder) {
        let (first, end) = self.ends(b, "0");
        let (whole_first, whole_end) = self.whole(b, &first, &end);
        let rounds = Rounds {
            whole_first,
            whole_end: b.min(&whole_end, &end),
            first,
            end,
            roomy: String::from("true"),
            streaming: (!self.streamed().is_empty()).then(|| String::from("true")),
            padded: String::from("false"),
            fetches: String::from("true"),
            in_lines: true,
        };
        self.repeat_with(b, &rounds, &[Care::Points, Care::None]);
    }

    /// Whether all rows of a tile have memory around them, are in cache lines of their own, and have only vectors that go past the
    /// caches as a whole, if any do; this is a row whose panel has all levels of the tile.
    pub(super) fn is_far(&self, b: &mut Builder, rows: &Rows) -> String {
        let panel = self.panel.expect("points are vectors of levels");
        let ends = self.ends(b, "0");
        let mut tests = vec![self.is_inside(b, rows, (&ends.0, &ends.1))];
        let leading = self.leading().into_iter();
        let read: Vec<Target> = leading.map(|number| self.streams[number].target).collect();
        let across = self.lies_across(b, &read);
        tests.extend(across.map(|across| b.not(&across)));
        tests.extend(self.streaming_of_panels(b, panel));
        for result in self.streamed() {
            let stride = &self.entry.arrays[&result.target].strides[self.roles.slide.index()];
            let past = self.lanes.width * result.size - 1;
            let past = b.value(format_args!("and i64 {stride}, {past}"));
            tests.push(b.value(format_args!("icmp eq i64 {past}, 0")));
        }
        let both = |one, other| b.value(format_args!("and i1 {one}, {other}"));
        tests.into_iter().reduce(both).unwrap_or_default()
    }

    /// Whether a row is one of those that all stages compute, and these have memory around them in all of the tile. Loops around rows
    /// do not change that.
    fn is_inside_of_tile(
        &self,
        b: &mut Builder,
        panel: &Panel,
        rows: &Rows,
        ends: (&str, &str),
    ) -> String {
        let computed = &self.stages[0];
        let slide = self.roles.slide.index();
        let (level, begin) = (&computed.row.index[2], &computed.row.tile[slide]);
        let levels = (level.clone(), b.add(level, panel.lanes.width));
        let all = Rows {
            slides: (begin.clone(), rows.slides.1.clone()),
            blocks: levels.clone(),
            planes: levels,
        };
        let inside = self.is_inside(b, &all, ends);
        let step = b.sub(&computed.row.index[slide], computed.ahead.0[slide]);
        let begun = b.value(format_args!("icmp sge i64 {step}, {begin}"));
        b.value(format_args!("and i1 {inside}, {begun}"))
    }

    /// Whether all lanes of results may be stored: they are computed, or lie in padding.
    fn is_stored_whole(&self, b: &mut Builder, panel: &Panel, results: &[Aligned]) -> String {
        let (first, (begin, end)) = (&self.stages[0].row.index[2], &panel.levels);
        let sizes = results.iter().map(|result| result.size);
        let behind = panel.behind(b, first);
        let size = sizes.max().unwrap_or(1);
        let padded = may_store_behind(self.entry, b, (end, &behind), size);
        let whole = b.value(format_args!("icmp eq i64 {end}, {behind}"));
        let whole = b.value(format_args!("or i1 {whole}, {padded}"));
        let begun = b.value(format_args!("icmp eq i64 {begin}, {first}"));
        b.value(format_args!("and i1 {whole}, {begun}"))
    }

    /// Whether results go past the caches, where any may: if each of their vectors is whole and aligned.
    fn streaming_of_panels(&self, b: &mut Builder, panel: &Panel) -> Option<String> {
        let streamed = self.streamed();
        let stream = &self.entry.stream;
        let whole = self.is_stored_whole(b, panel, &streamed);
        let mut streaming = b.value(format_args!("and i1 {stream}, {whole}"));
        for result in &streamed {
            let pointer = self.preheaders[result.stage].pointer(result.target, Offset::ZERO);
            let address = b.value(format_args!("ptrtoint ptr {} to i64", pointer.pointer));
            let pitch = pointer.pitch.unwrap_or_default();
            let both = b.value(format_args!("or i64 {address}, {pitch}"));
            let past = self.lanes.width * result.size - 1;
            let past = b.value(format_args!("and i64 {both}, {past}"));
            let aligned = b.value(format_args!("icmp eq i64 {past}, 0"));
            streaming = b.value(format_args!("and i1 {streaming}, {aligned}"));
        }
        (!streamed.is_empty()).then_some(streaming)
    }

    /// Addresses of the first and the last lane of the first and the last vector that rounds read of a stream.
    pub(super) fn corners(
        &self,
        b: &mut Builder,
        stream: &Stream,
        pointer: &RowPointer,
        ends: [String; 2],
    ) -> Vec<String> {
        let size = self.dtype(stream.target).size();
        let ends = ends.map(|point| pointer.at(b, size, (&point, 0)));
        let more = self.lanes.width - 1;
        let across = match &pointer.spacing {
            Spacing::Contiguous => (more * size).to_string(),
            Spacing::Strided(stride) => b.mul(stride, more),
            Spacing::Uniform | Spacing::Point(_) | Spacing::Register => String::from("0"),
        };
        ends.into_iter()
            .flat_map(|end| [end.clone(), b.offset(&end, &across)])
            .collect()
    }

    /// The lanes of a point that some stage needs.
    pub(super) fn panel_mask(
        &self,
        b: &mut Builder,
        panel: &Panel,
        point: &str,
        (start, end): (&str, &str),
    ) -> String {
        let levels = self.stages[0].row.level_mask(b, panel);
        let needed = any_inside(b, Lanes { width: 1 }, point, start, end);
        let needed = splat(b, self.lanes, "i1", &needed);
        let kind = self.lanes.of("i1");
        b.value(format_args!("and {kind} {levels}, {needed}"))
    }
}
