//! Planes that are cut into tiles, in a nest of other loops.

use crate::loops::{Loop, runs, turns};
use std::ops::Range;

/// So many elements cut into `count` parts of `length`, the last of which may be shorter.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    size: usize,
    pub length: usize,
    count: usize,
}

impl Cut {
    /// Parts of about `length`, a multiple of `grain`.
    pub fn new(size: usize, length: usize, grain: usize) -> Self {
        let count = ((size + length / 2) / length.max(1)).max(1);
        let length = size.div_ceil(count).next_multiple_of(grain).max(1);
        Self {
            size,
            length,
            count: size.div_ceil(length),
        }
    }

    fn part(&self, number: usize) -> Range<usize> {
        let begin = number * self.length;
        begin..(begin + self.length).min(self.size)
    }
}

/// The tiles of a plane, for each turn of the loops around it. Those along `a` follow each other.
pub(crate) struct Tiles<'a> {
    pub a: Cut,
    pub b: Cut,
    pub outer: &'a [Loop],
}

impl Tiles<'_> {
    /// How many there are.
    pub fn count(&self) -> usize {
        turns(self.outer) * self.a.count * self.b.count
    }

    /// Tiles `begin..end` by what they are of the plane, and where the plane begins in source and target.
    pub fn each(
        &self,
        begin: usize,
        end: usize,
        mut body: impl FnMut(Range<usize>, Range<usize>, isize, isize),
    ) {
        let each = self.a.count * self.b.count;
        let step = self.outer.last().copied().unwrap_or(Loop::ONCE);
        let (mut number, mut tile) = (begin, begin % each);
        runs(
            self.outer,
            begin / each,
            end.div_ceil(each),
            |from, to, planes| {
                for plane in 0..planes as isize {
                    while tile < each && number < end {
                        let (a, b) = (
                            self.a.part(tile % self.a.count),
                            self.b.part(tile / self.a.count),
                        );
                        body(a, b, from + plane * step.source, to + plane * step.target);
                        (number, tile) = (number + 1, tile + 1);
                    }
                    tile = 0;
                }
            },
        );
    }
}
