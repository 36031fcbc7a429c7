//! What is left of two short rows, in one vector. Where a stage takes many instructions, a row of 60 points in vectors of 8 takes as
//! long as one of 64. So a row of which no more than half a vector is left leaves that to the next one.

use fieldstone_stencil::ir::{ExprKind, LevelIndex, StmtKind, Target};
use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::visit::accesses;
use fieldstone_stencil::{DType, Offset};

use super::{Computed, Fused, Rounds, Rows, Source, Stream};
use crate::llvm::body::{Body, Known, Regions, Streaming};
use crate::llvm::builder::{Builder, POISON};
use crate::llvm::memory::mask_of;
use crate::llvm::place::{self, Row, Spacing};
use crate::llvm::preheader::{Preheader, across, preheader, visit};
use crate::llvm::types::Lanes;

/// The rows of a tile, of which some may leave points to the next ones.
pub(super) struct Shared<'a> {
    pub rows: &'a Rows,
    /// Whether all of them have memory around them, so that none is computed in another way.
    pub inside: String,
}

/// Half a vector of a row: where it begins, and which of its lanes are computed.
struct Half {
    row: Row,
    preheader: Preheader,
    first: String,
    bits: String,
}

impl Fused<'_> {
    /// Whether rows may leave points to others: many instructions, and nothing else is computed, loaded or stored than whole
    /// vectors of the row itself and of neighbours across it.
    pub(super) fn shares_vectors(&self) -> bool {
        let here = |stream: &Stream| stream.readers.iter().all(|(_, ahead)| *ahead == 0);
        self.is_only
            && self.panel.is_none()
            && self.lanes.width >= 4
            && !self.is_plain()
            && self.streams.iter().all(here)
            && is_alike(self.stages[0].stage)
            && self.accesses_vectors()
    }

    /// Whether all accesses are to registers, to what is the same for all points of a row, or to contiguous arrays.
    fn accesses_vectors(&self) -> bool {
        let mut vectors = true;
        accesses(&self.stages[0].stage.statements, &mut |access| {
            let row = across(access.offset, self.roles.vector);
            let known = self.preheaders[0].known_pointer(access.target, row);
            vectors &= access.level == LevelIndex::Constant;
            vectors &= place::is_number(self.context, access.target);
            vectors &= match known.map(|pointer| &pointer.spacing) {
                Some(Spacing::Register) => true,
                Some(Spacing::Uniform) => !access.write,
                Some(Spacing::Contiguous) => {
                    let here = !access.write || access.offset == Offset::ZERO;
                    here && !self.is_ring(access.target)
                }
                _ => false,
            };
        });
        vectors
    }

    /// What is left of a row behind its whole vectors, and of the row before; unless the next row is to compute it.
    pub(super) fn end_of_rows(&self, b: &mut Builder, rounds: &Rounds, shared: &Shared<'_>) {
        let (last, end) = (&rounds.whole_end, &self.stages[0].range.1);
        let block = &self.stages[0].row.index[self.roles.block.index()];
        let (first_block, end_block) = &shared.rows.blocks;
        let half = self.width() / 2;
        let rest = b.sub(end, last);
        let short = b.value(format_args!("icmp sle i64 {rest}, {half}"));
        let short = b.value(format_args!("and i1 {short}, {}", shared.inside));
        let number = b.sub(block, first_block);
        let odd = b.value(format_args!("trunc i64 {number} to i1"));
        let joins = b.value(format_args!("and i1 {short}, {odd}"));
        let next = b.add(block, 1);
        let goes_on = b.value(format_args!("icmp slt i64 {next}, {end_block}"));
        let waits = b.value(format_args!("xor i1 {odd}, true"));
        let waits = b.value(format_args!("and i1 {waits}, {goes_on}"));
        let waits = b.value(format_args!("and i1 {waits}, {short}"));
        let now = b.not(&waits);
        self.fetch(b, rounds, last);
        b.when(&now, |b| {
            let low = self.half(b, block, last, &rest);
            let before = b.sub(block, 1);
            let row = b.select(&joins, &before, block);
            let behind = b.add(last, half);
            let first = b.select(&joins, last, behind);
            let more = b.sub(&rest, half);
            let rest = b.select(&joins, &rest, more);
            let high = self.half(b, &row, &first, &rest);
            self.compute_halves(b, rounds, &joins, [low, high]);
        });
    }

    /// The points of a row from `first` on, at most half a vector, of which so many are left.
    fn half(&self, b: &mut Builder, block: &str, first: &str, rest: &str) -> Half {
        let Computed { stage, row, .. } = &self.stages[0];
        let mut row = row.clone();
        row.moving = None;
        block.clone_into(&mut row.index[self.roles.block.index()]);
        let points = b.min(rest, &(self.width() / 2).to_string());
        let points = b.max(&points, "0");
        let behind = b.value(format_args!("shl i64 1, {points}"));
        Half {
            preheader: preheader(self.context, self.entry, b, stage, &row, false),
            row,
            first: first.to_owned(),
            bits: b.sub(&behind, 1),
        }
    }

    fn compute_halves(&self, b: &mut Builder, rounds: &Rounds, joins: &str, halves: [Half; 2]) {
        let values = self.streams.iter().map(|stream| {
            let Source::Memory { offset, .. } = stream.source else {
                unreachable!("there is one stage");
            };
            let key = (stream.target, offset);
            (key, self.load_halves(b, key, &halves))
        });
        let values: Known = values.collect();
        let [low, high] = &halves;
        let bits = b.value(format_args!("shl i64 {}, {}", high.bits, self.width() / 2));
        let bits = b.value(format_args!("or i64 {bits}, {}", low.bits));
        let mask = mask_of(b, self.lanes, &bits);
        let mut body = self.body(b, self.lanes, low);
        body.values = values;
        body.stored = Some(mask);
        body.regions = Regions::Absent;
        let results = self.results();
        body.kept = results.iter().copied().collect();
        body.stage(self.stages[0].stage);
        let values = results
            .iter()
            .map(|target| body.read(*target, Offset::ZERO));
        let values: Vec<String> = values.collect();
        for (target, value) in results.into_iter().zip(values) {
            self.store_halves(b, rounds, joins, (target, &value), &halves);
        }
    }

    /// What the stage writes to arrays.
    fn results(&self) -> Vec<Target> {
        let mut results = Vec::new();
        accesses(&self.stages[0].stage.statements, &mut |access| {
            if access.write && self.is_kept(0, access.target) && !results.contains(&access.target) {
                results.push(access.target);
            }
        });
        results
    }

    fn load_halves(
        &self,
        b: &mut Builder,
        (target, offset): (Target, Offset),
        halves: &[Half; 2],
    ) -> String {
        let lanes = self.half_lanes();
        let [low, high] = halves.each_ref().map(|half| {
            let mask = mask_of(b, lanes, &half.bits);
            let mut body = self.body(b, lanes, half);
            body.stored = Some(mask);
            body.read(target, offset)
        });
        let kind = lanes.value(self.dtype(target));
        b.shuffle(&kind, (&low, &high), 0..self.lanes.width)
    }

    /// Stores a vector to both rows. Where padding lies behind them, the lines go past the caches as a whole.
    fn store_halves(
        &self,
        b: &mut Builder,
        rounds: &Rounds,
        joins: &str,
        (target, value): (Target, &str),
        halves: &[Half; 2],
    ) {
        let streams = rounds.streaming.is_some() && self.entry.streamed.contains(&target);
        if !streams {
            return self.store_apart(b, (target, value), halves);
        }
        let name = b.begin_when(&rounds.padded);
        self.store_line(b, (target, value), &halves[0]);
        b.when(joins, |b| {
            let (half, width) = (self.lanes.width / 2, self.lanes.width);
            let turned = (half..width).chain(0..half);
            let value = self.part(b, self.dtype(target), value, turned);
            self.store_line(b, (target, &value), &halves[1]);
        });
        b.otherwise(&name);
        self.store_apart(b, (target, value), halves);
        b.end_when(&name);
    }

    fn store_line(&self, b: &mut Builder, (target, value): (Target, &str), half: &Half) {
        let mut body = self.body(b, self.lanes, half);
        body.streaming = Streaming::Always;
        body.store_value(target, Offset::ZERO, value.to_owned());
    }

    fn store_apart(&self, b: &mut Builder, (target, value): (Target, &str), halves: &[Half; 2]) {
        let lanes = self.half_lanes();
        for (number, half) in halves.iter().enumerate() {
            let first = number * lanes.width;
            let value = self.part(b, self.dtype(target), value, first..first + lanes.width);
            let mask = mask_of(b, lanes, &half.bits);
            let mut body = self.body(b, lanes, half);
            body.mask = Some(mask);
            body.store_value(target, Offset::ZERO, value);
        }
    }

    fn half_lanes(&self) -> Lanes {
        Lanes {
            width: self.lanes.width / 2,
        }
    }

    fn body<'a, 'b>(&'a self, b: &'b mut Builder, lanes: Lanes, half: &'a Half) -> Body<'a, 'b> {
        let (from, row) = ((self.context, self.entry, b), (&half.row, &half.preheader));
        Body::new(from, lanes, row, &half.first, None)
    }

    /// Some lanes of a vector.
    fn part(
        &self,
        b: &mut Builder,
        dtype: DType,
        value: &str,
        lanes: impl Iterator<Item = usize>,
    ) -> String {
        b.shuffle(&self.lanes.value(dtype), (value, POISON), lanes)
    }
}

/// Whether a stage computes every point alike, whichever it is.
fn is_alike(stage: &Stage) -> bool {
    let mut alike = true;
    for statement in &stage.statements {
        statement.walk(&mut |statement| {
            alike &= matches!(
                statement.kind,
                StmtKind::Assign { .. } | StmtKind::If { .. }
            );
        });
        visit(
            statement,
            &mut |expr| {
                let apart = matches!(expr.kind, ExprKind::Position(_) | ExprKind::Checked(..));
                alike &= !apart;
            },
            &mut |_, _, _| {},
        );
    }
    alike
}
