//! Which rows of values the stages of a loop read, and how far ahead of the round each is loaded or made.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::accesses;

use super::{Fused, REACH, Source, Stream};
use crate::llvm::builder::Builder;
use crate::llvm::place::{self, Spacing};
use crate::llvm::preheader::across;
use crate::tile::LINE;

impl Fused<'_> {
    /// The stage of this loop that made a row before stage `reader` reads it.
    fn maker(&self, reader: usize, target: Target, row: Offset) -> Option<usize> {
        (0..reader).rev().find(|n| {
            let computed = &self.stages[*n];
            computed.ahead == row && writes(computed.stage, target)
        })
    }

    /// Whether a stage writes anything that an earlier one reads or writes.
    fn overwrites(&self, later: usize, earlier: usize) -> bool {
        let mut written = HashSet::new();
        accesses(&self.stages[later].stage.statements, &mut |access| {
            if access.write {
                written.insert(access.target);
            }
        });
        let mut found = false;
        accesses(&self.stages[earlier].stage.statements, &mut |access| {
            found |= written.contains(&access.target);
        });
        found
    }

    pub(super) fn find_streams(&mut self) {
        let width = self.width();
        let needs: Vec<Vec<Need>> = self.stages.iter().map(|c| needs(c.stage)).collect();
        let newest = |ahead: i64| (ahead + width - 1).div_euclid(width).max(0);
        let along = |offset: Offset| i64::from(offset.along(self.roles.vector));
        // A stage is nowhere behind a later one that overwrites what it uses. Others are no further ahead than they are read:
        // so fewer vectors are in registers, and fewer rounds look after the ends of some stage.
        let mut leads = vec![0; self.stages.len()];
        for reader in (0..leads.len()).rev() {
            for later in reader + 1..leads.len() {
                if self.overwrites(later, reader) {
                    leads[reader] = leads[reader].max(leads[later]);
                }
            }
            for Need { key, .. } in &needs[reader] {
                let (target, offset) = key;
                let row = across(*offset, self.roles.vector) + self.stages[reader].ahead;
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
                let offset_across = across(*offset, self.roles.vector);
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
        let row = across(offset, self.roles.vector);
        let pointer = self.preheaders[reader].pointer(target, row);
        let same = |need: &&Need| {
            need.everywhere && (need.key.0, across(need.key.1, self.roles.vector)) == (target, row)
        };
        let near = needs.iter().filter(same).all(|need| {
            i64::from(need.key.1.along(self.roles.vector)).abs() <= REACH * self.width()
        });
        // Narrower vectors rarely lie across two lines, and shuffles of theirs cost more than loads.
        let cheap = self.panel.is_some() || self.context.target.vector_bytes() == LINE;
        let exact = self.one_vector().is_some() || self.is_exact(target);
        pointer.spacing == Spacing::Contiguous && near && cheap && !exact
    }

    /// Whether a target has levels only, of which just those are read that are needed: its memory ends with the last one, in
    /// every row.
    pub(super) fn is_exact(&self, target: Target) -> bool {
        let has_ends = self.panel.is_some() || self.is_short();
        has_ends && place::has_levels_only(self.context, target)
    }

    /// Whether a target is in registers of a stage only.
    fn is_nowhere(&self, reader: usize, target: Target, row: Offset) -> bool {
        self.preheaders[reader].pointer(target, row).spacing == Spacing::Register
    }

    /// First point of a row that a round may read, from its own index on, and one past the last.
    pub(super) fn touched(&self, stream: &Stream) -> (i64, i64) {
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

    /// The points of a stream of memory that some stage needs.
    pub(super) fn stream_range(&self, b: &mut Builder, stream: &Stream) -> (String, String) {
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
