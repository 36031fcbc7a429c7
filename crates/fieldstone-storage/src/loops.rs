//! The loop nest that visits the elements of a target, and of a source beside it, in the best order.

use crate::PerAxis;
use crate::simd::LINE;
use std::cmp::Reverse;

/// Runs of so many bytes are copied as fast one by one, as are those of several whole lines.
const LONG_RUN: usize = 256;

/// One loop: how often, and how far each turn goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub size: usize,
    pub source: isize,
    pub target: isize,
}

impl Loop {
    /// No loop at all.
    pub const ONCE: Self = Self {
        size: 1,
        source: 0,
        target: 0,
    };
}

/// Nested loops, the outermost first.
///
/// No loop has size 1, target strides are positive and fall from the outermost to the innermost, and loops that can be one are
/// one. What the two sides are is known by where their first elements are, as offsets from the addresses the nest was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nest {
    pub loops: PerAxis<Loop>,
    pub itemsize: usize,
    pub source: isize,
    pub target: isize,
}

impl Nest {
    /// The nest for a shape without empty axes.
    pub fn new(shape: &[usize], source: &[isize], target: &[isize], itemsize: usize) -> Self {
        let mut nest = Self {
            loops: PerAxis::with_capacity(shape.len()),
            itemsize,
            source: 0,
            target: 0,
        };
        for ((&size, &source), &target) in shape.iter().zip(source).zip(target) {
            if size > 1 {
                nest.push(size, source, target);
            }
        }
        nest.loops.sort_by_key(|axis| Reverse(axis.target));
        nest.merge();
        nest.widen();
        nest
    }

    /// Adds a loop so that it goes upwards in the target.
    fn push(&mut self, size: usize, mut source: isize, mut target: isize) {
        if target < 0 {
            self.source += source * (size - 1) as isize;
            self.target += target * (size - 1) as isize;
            (source, target) = (-source, -target);
        }
        self.loops.push(Loop {
            size,
            source,
            target,
        });
    }

    /// Makes one loop of two where the outer one goes on where the inner one ends.
    fn merge(&mut self) {
        let mut merged: PerAxis<Loop> = PerAxis::with_capacity(self.loops.len());
        for inner in self.loops.drain(..) {
            let size = inner.size as isize;
            match merged.last_mut() {
                Some(outer)
                    if outer.target == inner.target * size
                        && outer.source == inner.source * size =>
                {
                    *outer = Loop {
                        size: outer.size * inner.size,
                        ..inner
                    };
                }
                _ => merged.push(inner),
            }
        }
        self.loops = merged;
    }

    /// Takes a short innermost run, such as the parts of a complex number, as one larger element; a longer one only where the
    /// others are not in the same order on both sides.
    fn widen(&mut self) {
        let unit = self.itemsize as isize;
        if let [outer @ .., inner] = &self.loops[..]
            && !outer.is_empty()
            && (inner.source, inner.target) == (unit, unit)
        {
            let bytes = inner.size * self.itemsize;
            let ordered = outer.is_sorted_by_key(|axis| Reverse(axis.source.unsigned_abs()));
            let are_lines = bytes > LINE && bytes.is_multiple_of(LINE);
            let is_short = bytes < LONG_RUN && !are_lines;
            if matches!(bytes, 2 | 4 | 8 | 16) || is_short && !ordered {
                self.itemsize = bytes;
                self.loops.pop();
            }
        }
    }

    /// Bytes of all elements of the target.
    pub fn bytes(&self) -> usize {
        turns(&self.loops) * self.itemsize
    }

    /// Bytes of all elements of source and target; those of the source that are repeated count once.
    pub fn touched(&self) -> usize {
        let read = self.loops.iter().filter(|axis| axis.source != 0);
        let source = read.map(|axis| axis.size).product::<usize>() * self.itemsize;
        self.bytes() + source
    }
}

/// How often the body of these loops runs.
pub(crate) fn turns(loops: &[Loop]) -> usize {
    loops.iter().map(|axis| axis.size).product()
}

/// Turns `begin..end` of the body of `loops`, in order, as runs of the innermost: `body(source, target, turns)` gets the offsets
/// of the first turn of each run.
pub(crate) fn runs(
    loops: &[Loop],
    begin: usize,
    end: usize,
    mut body: impl FnMut(isize, isize, usize),
) {
    let Some((inner, outer)) = loops.split_last() else {
        if begin < end {
            body(0, 0, 1);
        }
        return;
    };
    let mut turn = begin;
    while turn < end {
        let mut rest = turn / inner.size;
        let start = turn % inner.size;
        let (mut source, mut target) =
            (inner.source * start as isize, inner.target * start as isize);
        for axis in outer.iter().rev() {
            let index = (rest % axis.size) as isize;
            rest /= axis.size;
            source += axis.source * index;
            target += axis.target * index;
        }
        let count = (inner.size - start).min(end - turn);
        body(source, target, count);
        turn += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(nest: &Nest) -> Vec<(usize, isize, isize)> {
        nest.loops
            .iter()
            .map(|axis| (axis.size, axis.source, axis.target))
            .collect()
    }

    #[test]
    fn equal_layouts_become_one_loop() {
        let nest = Nest::new(&[4, 1, 5, 6], &[240, 7, 48, 8], &[240, 9, 48, 8], 8);
        assert_eq!(axes(&nest), [(120, 8, 8)]);
        let nest = Nest::new(&[4, 5, 6], &[8, 32, 160], &[8, 32, 160], 8);
        assert_eq!(axes(&nest), [(120, 8, 8)]);
    }

    #[test]
    fn loops_follow_the_target_upwards() {
        let nest = Nest::new(&[4, 5], &[40, 8], &[-8, 32], 8);
        assert_eq!(axes(&nest), [(5, 8, 32), (4, -40, 8)]);
        assert_eq!((nest.source, nest.target), (120, -24));
    }

    #[test]
    fn short_runs_become_elements() {
        let nest = Nest::new(&[4, 5, 2], &[80, 16, 8], &[16, 64, 8], 8);
        assert_eq!(
            (axes(&nest), nest.itemsize),
            (vec![(5, 16, 64), (4, 80, 16)], 16)
        );
    }

    #[test]
    fn several_lines_are_a_row_in_any_order() {
        for (run, itemsize) in [(8, 64), (16, 8), (24, 8), (20, 160)] {
            let row = 8 * run as isize;
            let source = [row, 4 * row, 8];
            let target = [5 * row, row, 8];
            let nest = Nest::new(&[4, 5, run], &source, &target, 8);
            assert_eq!(nest.itemsize, itemsize, "{run} elements");
        }
    }

    #[test]
    fn runs_cover_each_turn() {
        let loops = [(3, 100, 1000), (4, 1, 10)].map(|(size, source, target)| Loop {
            size,
            source,
            target,
        });
        let mut seen = Vec::new();
        runs(&loops, 2, 11, |source, target, turns| {
            seen.push((source, target, turns))
        });
        assert_eq!(seen, [(2, 20, 2), (100, 1000, 4), (200, 2000, 3)]);
    }
}
