//! Several levels of a point by one thread, one behind the other.
//!
//! What a level reads of the fields that nothing writes, the next one reads from registers where it needs it too.

use fieldstone_stencil::schedule::Stage;
use fieldstone_stencil::{Axis, Offset};

use super::machine::ONE;
use crate::llvm::body::{Body, Known};
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::place::Row;
use crate::llvm::preheader::preheader;

/// A stage at levels of a point.
pub(super) struct Climb<'a> {
    pub context: &'a Context<'a>,
    pub entry: &'a Entry,
    pub stage: &'a Stage,
    /// One past the last level.
    pub end: &'a str,
}

impl Climb<'_> {
    /// Computes the level of a row and some behind it, as long as there are any.
    pub fn from(&self, b: &mut Builder, row: Row, levels: usize, known: Known) {
        let preheader = preheader(self.context, self.entry, b, self.stage, &row, false);
        let first = &row.index[row.vector.index()];
        let from = (self.context, self.entry, &mut *b);
        let mut body = Body::new(from, ONE, (&row, &preheader), first, None);
        body.values = known;
        body.stage(self.stage);
        let known = self.of_next(std::mem::take(&mut body.values));
        if levels == 1 {
            return;
        }
        let level = b.add(&row.index[2], 1);
        let more = b.value(format_args!("icmp slt i64 {level}, {}", self.end));
        let mut next = row;
        next.index[2] = level;
        b.when(&more, |b| self.from(b, next, levels - 1, known));
    }

    /// What the next level knows of what a level knows.
    fn of_next(&self, known: Known) -> Known {
        let stencil = &self.context.program.stencil;
        let block = self.context.block.expect("blocks of threads climb");
        let constant = known
            .into_iter()
            .filter(|((target, _), _)| block.is_constant(*target));
        let moved = constant.map(|((target, offset), value)| {
            let below = match stencil.target_axes(target).contains(Axis::K) {
                true => Offset([offset.0[0], offset.0[1], offset.0[2] - 1]),
                false => offset,
            };
            ((target, below), value)
        });
        moved.collect()
    }
}
