//! The order of the rows of a tile.

use super::Place;
use crate::llvm::builder::Builder;
use crate::llvm::entry::{Context, Entry};
use crate::llvm::fused::BEYOND;

/// Runs `body` at all places of a tile, from one step along the sliding axis to before another one. Where points are vectors of levels,
/// those of some rows come before the next vectors of these.
pub(super) fn for_places(
    context: &Context<'_>,
    entry: &Entry,
    b: &mut Builder,
    (tile, (first, end)): (&Place, (&str, &str)),
    body: impl FnOnce(&mut Builder, &Place),
) {
    let (begin, last) = &tile.blocks;
    let Some(lanes) = context.scratch.lanes else {
        return b.for_loop(first, end, "1", |b, step| {
            body(b, &tile.at(step, &tile.blocks));
        });
    };
    let levels = b.sub(last, begin);
    let is_one = b.value(format_args!("icmp sle i64 {levels}, {lanes}"));
    let rows = b.select(&is_one, &BEYOND.to_string(), &entry.rows);
    b.for_loop(first, end, &rows, |b, first| {
        let behind = b.add(first, &rows);
        let behind = b.min(&behind, end);
        b.for_loop(begin, last, &lanes.to_string(), |b, level| {
            let above = b.add(level, lanes);
            let levels = (level.to_owned(), b.min(&above, last));
            b.for_loop(first, &behind, "1", |b, step| {
                body(b, &tile.at(step, &levels));
            });
        });
    });
}

impl Place {
    /// This place at a step, with a range along the block axis.
    pub(super) fn at(&self, step: &str, blocks: &(String, String)) -> Place {
        Place {
            step: step.to_owned(),
            blocks: blocks.clone(),
            ..self.clone()
        }
    }
}
