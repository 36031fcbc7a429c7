//! The rounds of a row: one vector of each stream and stage.

use std::collections::HashSet;

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{Bound, Level, Offset};

use super::{Fused, Rounds, Source, Stream, regions};
use crate::llvm::body::{Blocks, Body, Regions, Streaming};
use crate::llvm::builder::Builder;
use crate::llvm::memory::{any_inside, lane_mask};
use crate::llvm::types::Lanes;

/// What a round has to look after.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Care<'a> {
    /// Nothing: all vectors are whole.
    None,
    /// Nothing, not even later rows: all vectors before an index are whole, in the caches, and stay there.
    Near(&'a str),
    /// Results are stored with a mask, the same otherwise.
    NearStores(&'a str),
    /// Results are stored with a mask.
    Stores(&'a str),
    /// The same at the end of a row, behind which there may be padding.
    Last(&'a str),
    /// Stages have their ends in it. Points are whole vectors, and stages that may write beside their own compute all.
    Points,
    /// Stages have their ends in it, outside of which nothing is written, nor anything read where there may be no memory.
    Ends { reads: bool },
    /// Stages have their ends in it, of which all is known: the first lane is there.
    Border(Bound),
}

/// Which lanes of a vector count.
pub(super) enum Masks {
    /// Those of a mask, for loads and for stores.
    All(String),
    /// All are computed, those of a mask are stored; all where `None`. There is no region in them.
    Stored(Option<String>),
    /// The same where there may be regions, which are computed for those of the mask.
    End(String),
    /// The same, and all are stored where `None`; it is known where the first lane is.
    At(Bound, Option<String>),
}

impl Fused<'_> {
    /// All rounds of a row. Where arrays end, every one looks after its ends, and reads no more than is needed.
    pub(super) fn repeat(&self, b: &mut Builder, rounds: &Rounds) {
        let name = b.begin_when(&rounds.roomy);
        let at_ends = match self.panel {
            Some(_) => Care::Points,
            None => Care::Ends { reads: false },
        };
        let near_end = self.near_end(b, rounds);
        let near = near_end.as_deref().map(Care::Near);
        let cares = [Some(at_ends), near, Some(Care::None)];
        self.repeat_with(b, rounds, &cares.into_iter().flatten().collect::<Vec<_>>());
        b.otherwise(&name);
        self.repeat_with(b, rounds, &[Care::Ends { reads: true }]);
        b.end_when(&name);
    }

    /// The rounds of a row, of one kind after the other until there are no more; the first kind is that at the beginning.
    pub(super) fn repeat_with(&self, b: &mut Builder, rounds: &Rounds, all_cares: &[Care<'_>]) {
        let values = self.first_values(b, rounds, all_cares[0]);
        let (kinds, names): (Vec<String>, Vec<String>) = values.into_iter().unzip();
        let typed = |names: Vec<String>| kinds.iter().cloned().zip(names).collect::<Vec<_>>();
        // Whole vectors are read there.
        let has_borders = all_cares[0] == (Care::Ends { reads: false });
        let names = match self.border(Level::Start).filter(|_| has_borders) {
            Some(border) => {
                let begins = self.begins_with(b, rounds, border);
                self.border_when(b, (&begins, border), rounds, (&kinds, names))
            }
            None => names,
        };
        let (all, mut names) = b.begin_repeat(&typed(names));
        let more = b.value(format_args!("icmp slt i64 {}, {}", names[0], rounds.end));
        b.repeat_while(&all, &more);
        for care in all_cares {
            names = self.rounds(b, rounds, &typed(names), *care);
        }
        if let Some(border) = self.border(Level::End).filter(|_| has_borders) {
            let ends = self.ends_with(b, rounds, &names[0], border);
            names = self.border_when(b, (&ends, border), rounds, (&kinds, names));
        }
        b.end_repeat(&all, &typed(names));
    }

    /// What the first round is given: where it begins, and what it is to have of the vectors before.
    pub(super) fn first_values(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        care: Care<'_>,
    ) -> Vec<(String, String)> {
        let mut values = vec![(String::from("i64"), rounds.first.clone())];
        for (number, stream) in self.streams.iter().enumerate() {
            let kind = self.lanes.value(self.dtype(stream.target));
            for back in 1..=stream.depth as i64 {
                let before = match stream.source {
                    Source::Stage(_) => String::from("zeroinitializer"),
                    Source::Memory { stage, offset, .. } => {
                        let ahead = (stream.lead - back) * self.width();
                        self.load(b, (&rounds.first, ahead), number, (stage, offset), care)
                    }
                };
                values.push((kind.clone(), before));
            }
        }
        values
    }

    /// The next rounds that are all of one kind; returns the values of the one behind them.
    pub(super) fn rounds(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        values: &[(String, String)],
        care: Care<'_>,
    ) -> Vec<String> {
        let (name, names) = b.begin_repeat(values);
        let at = &names[0];
        let end = match care {
            Care::Near(end) => end,
            _ => rounds.whole_end.as_str(),
        };
        let whole = b.value(format_args!("icmp slt i64 {at}, {end}"));
        let more = match care {
            Care::Near(_)
            | Care::None
            | Care::NearStores(_)
            | Care::Stores(_)
            | Care::Last(_)
            | Care::Border(_) => whole,
            Care::Points | Care::Ends { .. } => {
                let more = b.value(format_args!("icmp slt i64 {at}, {}", rounds.end));
                let begun = b.value(format_args!("icmp sge i64 {at}, {}", rounds.whole_first));
                let whole = b.value(format_args!("and i1 {begun}, {whole}"));
                let partial = b.not(&whole);
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
    pub(super) fn round(
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
        if matches!(
            care,
            Care::None | Care::Stores(_) | Care::Last(_) | Care::Points
        ) {
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
                        let first = (at, stream.lead * width);
                        vectors[index][0] = self.load(b, first, index, (stage, offset), care);
                    }
                    _ => {}
                }
            }
            let made: Vec<usize> = (0..self.streams.len())
                .filter(|stream| self.streams[*stream].source == Source::Stage(number))
                .collect();
            let values = match care {
                Care::None => {
                    let streaming = rounds.streaming.as_deref();
                    let masks = Masks::Stored(self.levels_stored(b, number));
                    self.stage(b, (number, at), masks, streaming, &vectors, &made)
                }
                Care::Near(_) => {
                    let masks = Masks::Stored(self.levels_stored(b, number));
                    self.stage(b, (number, at), masks, None, &vectors, &made)
                }
                Care::NearStores(mask) | Care::Stores(mask) => {
                    let masks = Masks::Stored(Some(mask.to_owned()));
                    self.stage(b, (number, at), masks, None, &vectors, &made)
                }
                Care::Last(mask) => {
                    let streaming = rounds.streaming.as_ref().map(|_| rounds.padded.as_str());
                    let masks = Masks::Stored(Some(mask.to_owned()));
                    self.stage(b, (number, at), masks, streaming, &vectors, &made)
                }
                Care::Points if self.may_compute_more(number) => {
                    let masks = Masks::Stored(self.levels_stored(b, number));
                    self.stage(b, (number, at), masks, None, &vectors, &made)
                }
                Care::Border(first) => {
                    let streaming = rounds.streaming.as_deref();
                    self.stage_at_border(b, (number, at), (first, streaming), &vectors, &made)
                }
                Care::Points | Care::Ends { .. } => {
                    let streaming = match care {
                        Care::Points | Care::Ends { reads: false } if self.has_whole_ends() => {
                            self.streams_whole(b, rounds, (number, at))
                        }
                        _ => None,
                    };
                    let streaming = streaming.as_deref();
                    let end = match care {
                        Care::Ends { reads: false } => Masks::End,
                        _ => Masks::All,
                    };
                    self.stage_at_ends(b, (number, at), (end, streaming), &vectors, &made)
                }
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

    /// Whether a stage may be computed beside its own points: nothing shows it.
    pub(super) fn may_compute_more(&self, number: usize) -> bool {
        !self.is_strict(number) && regions(self.stages[number].stage).next().is_none()
    }

    /// Computes a stage in a round if it has any points there, and touches no others.
    fn stage_at_ends(
        &self,
        b: &mut Builder,
        (number, at): (usize, &str),
        (masks, streaming): (impl FnOnce(String) -> Masks, Option<&str>),
        vectors: &[Vec<String>],
        made: &[usize],
    ) -> Vec<String> {
        let first = &b.add(at, self.leads[number] * self.width());
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
            self.stage(b, (number, at), masks(mask), streaming, vectors, made)
        })
    }

    /// Whether vectors that a stage computes as a whole may be among those that look after ends: for those of others, or for
    /// regions.
    fn has_whole_ends(&self) -> bool {
        let mut stages = self.stages.iter();
        let has_regions = stages.any(|computed| regions(computed.stage).next().is_some());
        let strict = (0..self.stages.len()).filter(|number| self.is_strict(*number));
        has_regions || strict.count() > 1
    }

    /// Whether all of a vector that a stage computes at an end goes past the caches, like those between the ends: a line that is
    /// stored otherwise has to be read first.
    fn streams_whole(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        (number, at): (usize, &str),
    ) -> Option<String> {
        let streaming = rounds.streaming.as_ref()?;
        let first = b.add(at, self.leads[number] * self.width());
        let behind = b.add(&first, self.width());
        let (start, end) = &self.stage_ranges[number];
        let begun = b.value(format_args!("icmp sle i64 {start}, {first}"));
        let goes_on = b.value(format_args!("icmp sle i64 {behind}, {end}"));
        let whole = b.value(format_args!("and i1 {begun}, {goes_on}"));
        Some(b.value(format_args!("and i1 {streaming}, {whole}")))
    }

    /// Computes a stage in a round; returns the values of the streams that it makes.
    pub(super) fn stage(
        &self,
        b: &mut Builder,
        (number, at): (usize, &str),
        masks: Masks,
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
        let lead = self.leads[number] * self.width();
        let first = &b.add(at, lead);
        let (mask, stored, regions) = match masks {
            Masks::All(mask) => (Some(mask), None, Regions::Apart),
            Masks::Stored(stored) => (None, stored, Regions::Absent),
            Masks::End(stored) => (None, Some(stored), Regions::Apart),
            Masks::At(first, stored) => (None, stored, Regions::At(first)),
        };
        let mut body = Body::new(
            (self.context, self.entry, b),
            self.lanes,
            (&computed.row, &self.preheaders[number]),
            first,
            mask,
        );
        body.anchor = Some((at, lead));
        body.stored = stored;
        body.streaming = streaming.map_or(Streaming::Never, Streaming::Where);
        body.regions = regions;
        body.loose = self.loose(number);
        body.blocks = blocks.collect();
        body.stage(computed.stage);
        let target = |stream: &usize| self.streams[*stream].target;
        made.iter()
            .map(|stream| body.read(target(stream), Offset::ZERO))
            .collect()
    }

    /// The levels of a point that are stored, where points are vectors of them.
    fn levels_stored(&self, b: &mut Builder, number: usize) -> Option<String> {
        let panel = self.panel?;
        Some(self.stages[number].row.level_mask(b, panel))
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

    /// Loads the vector of a stream whose first point is so many points behind an index.
    fn load(
        &self,
        b: &mut Builder,
        (at, ahead): (&str, i64),
        number: usize,
        (stage, offset): (usize, Offset),
        care: Care<'_>,
    ) -> String {
        let stream = &self.streams[number];
        let first = &b.add(at, ahead);
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
        body.anchor = Some((at, ahead));
        let address = body.address_in(&pointer, dtype.size(), 0);
        body.load(dtype, &address)
    }
}
