//! The rounds of a row: one vector of each stream and stage.

use std::collections::HashSet;

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::visit::accesses;

use super::{Care, Fused, Rounds, Source, Stream};
use crate::llvm::builder::Builder;
use crate::llvm::memory::{any_inside, lane_mask};
use crate::llvm::row::{Blocks, Body, Regions, Streaming};
use crate::llvm::types::Lanes;

impl Fused<'_> {
    /// All rounds of a row. Where arrays end, every one looks after its ends, and reads no more than is needed.
    pub(super) fn repeat(&self, b: &mut Builder, rounds: &Rounds) {
        let name = b.begin_when(&rounds.roomy);
        self.repeat_with(b, rounds, &[Care::Ends { reads: false }, Care::None]);
        b.otherwise(&name);
        self.repeat_with(b, rounds, &[Care::Ends { reads: true }]);
        b.end_when(&name);
    }

    /// The rounds of a row, of one kind after the other until there are no more; the first kind is that at the beginning.
    fn repeat_with(&self, b: &mut Builder, rounds: &Rounds, kinds_of_rounds: &[Care]) {
        let mut values = vec![(String::from("i64"), rounds.first.clone())];
        for (number, stream) in self.streams.iter().enumerate() {
            let kind = self.lanes.value(self.dtype(stream.target));
            for back in 1..=stream.depth as i64 {
                let before = match stream.source {
                    Source::Stage(_) => String::from("zeroinitializer"),
                    Source::Memory { stage, offset, .. } => {
                        let at = b.add(&rounds.first, (stream.lead - back) * self.width());
                        self.load(b, &at, number, (stage, offset), kinds_of_rounds[0])
                    }
                };
                values.push((kind.clone(), before));
            }
        }
        let kinds: Vec<String> = values.iter().map(|(kind, _)| kind.clone()).collect();
        let typed = |names: Vec<String>| kinds.iter().cloned().zip(names).collect::<Vec<_>>();
        let (all, mut names) = b.begin_repeat(&values);
        let more = b.value(format_args!("icmp slt i64 {}, {}", names[0], rounds.end));
        b.repeat_while(&all, &more);
        for care in kinds_of_rounds {
            names = self.rounds(b, rounds, &typed(names), *care);
        }
        b.end_repeat(&all, &typed(names));
    }

    /// The next rounds that are all of one kind; returns the values of the one behind them.
    fn rounds(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        values: &[(String, String)],
        care: Care,
    ) -> Vec<String> {
        let (name, names) = b.begin_repeat(values);
        let at = &names[0];
        let whole = b.value(format_args!("icmp slt i64 {at}, {}", rounds.whole_end));
        let more = match care {
            Care::None => whole,
            Care::Ends { .. } => {
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
        care: Care,
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
                Care::Ends { .. } => self.stage_at_ends(b, (number, &first), &vectors, &made),
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
        if let (None, Some(panel)) = (&body.mask, self.panel) {
            body.stored = Some(computed.row.level_mask(body.b, panel));
        }
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

    /// The lanes of a stream that some stage needs.
    fn needed_lanes(&self, b: &mut Builder, first: &str, stream: &Stream) -> String {
        let (start, end) = self.stream_range(b, stream);
        match self.panel {
            Some(panel) => self.panel_mask(b, panel, first, (&start, &end)),
            None => lane_mask(b, self.lanes, first, &start, &end),
        }
    }

    /// Loads the vector of a stream whose first point is `first`.
    fn load(
        &self,
        b: &mut Builder,
        first: &str,
        number: usize,
        (stage, offset): (usize, Offset),
        care: Care,
    ) -> String {
        let stream = &self.streams[number];
        let masked = care == Care::Ends { reads: true } && !self.is_ring(stream.target);
        let mask = masked.then(|| self.needed_lanes(b, first, stream));
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
}
