//! Rows of later levels that sweeps over wide blocks fetch.

use fieldstone_stencil::ir::{Order, Target};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::Accesses;
use fieldstone_stencil::{Axis, Offset};

use super::super::builder::Builder;
use super::super::place::{self, Row, Spacing};
use super::super::prefetch::{Purpose, prefetch};
use super::super::preheader::{Preheader, across};
use super::super::row::At;
use super::ColumnBlock;
use crate::tile::LINE;

/// Of the rows of each target that a stage reads or writes, those that come to a level first.
fn leading(stage: &Stage, order: Order, vector: Axis) -> Vec<(Target, Offset)> {
    let mut leading: Vec<(Target, Offset)> = Vec::new();
    for accesses in stage.statements.iter().map(Accesses::of) {
        let written = accesses.written().map(|target| (target, Offset::ZERO));
        for (target, offset) in accesses.reads.iter().copied().chain(written) {
            let row = across(offset, vector);
            let towards = |offset: Offset| match order {
                Order::Backward => -offset.0[2],
                Order::Forward | Order::Parallel => offset.0[2],
            };
            let plane = |offset: Offset| [offset.0[0], offset.0[1]];
            let same =
                |found: &&mut (Target, Offset)| found.0 == target && plane(found.1) == plane(row);
            match leading.iter_mut().find(same) {
                Some(found) if towards(found.1) < towards(row) => found.1 = row,
                Some(_) => {}
                None => leading.push((target, row)),
            }
        }
    }
    leading
}

/// What a stage of a level fetches of later ones.
pub(super) struct Later<'a> {
    block: &'a ColumnBlock<'a>,
    order: Order,
    /// The row that is computed.
    row: &'a Row,
    rows: Vec<(Target, Offset)>,
    /// Results of the sweep behind this one that are fetched as well.
    early: &'a [Target],
    /// Whether anything is fetched, and rows end in other lines than whole vectors begin in.
    pub(super) at_end: String,
}

impl<'a> Later<'a> {
    pub(super) fn new(
        block: &'a ColumnBlock<'a>,
        b: &mut Builder,
        (stage, order): (&Stage, Order),
        row: &'a Row,
        early: &'a [Target],
    ) -> Later<'a> {
        let rows = leading(stage, order, block.nest.vector);
        Later {
            at_end: block.is_cut(b, &rows),
            block,
            order,
            row,
            rows,
            early,
        }
    }

    /// Fetches what of later levels lies at a vector of the row, or at its end: each vector fetches the line that it begins in.
    pub(super) fn fetch(&self, b: &mut Builder, preheader: &Preheader, at: At<'_>, stream: bool) {
        match at {
            At::Vector(first) => self.fetch_at(b, preheader, first, stream),
            At::End(behind, last) => {
                let apart = b.sub(last, behind);
                let apart = b.max(&apart, "1");
                let end = b.add(last, 1);
                b.for_loop(behind, &end, &apart, |b, first| {
                    self.fetch_at(b, preheader, first, stream);
                });
            }
        }
    }

    /// Fetches the lines of a point.
    fn fetch_at(&self, b: &mut Builder, preheader: &Preheader, first: &str, stream: bool) {
        let Later {
            block, row, early, ..
        } = self;
        let entry = block.entry;
        // What goes past the caches is not read before, and would have to leave them again.
        let past = |target: &Target| stream && entry.streamed.contains(target);
        let rows = || {
            self.rows
                .iter()
                .copied()
                .filter(|(target, _)| !past(target))
        };
        b.when(&entry.fetches, |b| {
            for (target, offset) in rows() {
                let fetch = |b: &mut Builder| {
                    self.fetch_level(b, preheader, (target, offset), first, Purpose::Later)
                };
                match block.early.contains(target) {
                    // Rows that are not aligned go through the caches where others go past them.
                    true => b.when(&entry.stream, fetch),
                    false => fetch(b),
                }
            }
            block.fetch_early(b, row, early, first);
        });
        b.when(&entry.fetches_next, |b| {
            for (target, offset) in rows().filter(|(target, _)| !block.early.contains(*target)) {
                self.fetch_level(b, preheader, (target, offset), first, Purpose::Soon);
            }
        });
    }

    /// Fetches a vector of a row of a later level, where it comes from an array: from memory that of some levels further on, into the
    /// first-level cache that of the next one. A vector of a sweep has so many instructions that a core does not see the next one coming.
    fn fetch_level(
        &self,
        b: &mut Builder,
        preheader: &Preheader,
        (target, offset): (Target, Offset),
        first: &str,
        purpose: Purpose,
    ) {
        let pointer = preheader.known_pointer(target, offset);
        let block = self.block;
        let array = block.entry.arrays.get(&target);
        let (Some(pointer), Some(array)) = (pointer, array) else {
            return;
        };
        let has_levels = (block.context.program.stencil.target_axes(target)).contains(Axis::K);
        let outer = offset.along(block.nest.outer());
        let in_scratch = block.context.scratch.block(target, outer).is_some();
        if pointer.spacing != Spacing::Contiguous || !has_levels || in_scratch {
            return;
        }
        let size = place::dtype(block.context, target).size();
        let address = pointer.at(b, size, (first, 0));
        let level = &array.strides[2];
        let bytes = match purpose {
            Purpose::Soon => level.clone(),
            Purpose::Later => b.mul(level, &block.entry.ahead),
        };
        let bytes = match self.order {
            Order::Backward => b.sub("0", &bytes),
            Order::Forward | Order::Parallel => bytes,
        };
        let address = b.offset(&address, &bytes);
        prefetch(b, &address, purpose);
    }
}

impl ColumnBlock<'_> {
    /// Whether later rows are fetched and some of these are not whole cache lines.
    fn is_cut(&self, b: &mut Builder, rows: &[(Target, Offset)]) -> String {
        let mut ends = String::from("0");
        for (target, _) in rows {
            if self.context.contiguous_along(*target) != Some(self.nest.vector) {
                continue;
            }
            let size = place::dtype(self.context, *target).size();
            let (first, end) = &self.columns;
            let begin = self.first_of(b, (*target, 0), first);
            let points = b.sub(end, first);
            let level = &self.entry.arrays[target].strides[2];
            let bytes = b.mul(&points, size);
            let begin = b.value(format_args!("ptrtoint ptr {begin} to i64"));
            for one in [&begin, &bytes, level] {
                ends = b.value(format_args!("or i64 {ends}, {one}"));
            }
        }
        let past = b.value(format_args!("and i64 {ends}, {}", LINE - 1));
        let cut = b.value(format_args!("icmp ne i64 {past}, 0"));
        let (later, soon) = (&self.entry.fetches, &self.entry.fetches_next);
        let any = b.value(format_args!("or i1 {later}, {soon}"));
        b.value(format_args!("and i1 {any}, {cut}"))
    }
}
