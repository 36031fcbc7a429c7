//! What the checks say.

use std::ops::Range;

use fieldstone_stencil::Span;
use fieldstone_stencil::diagnostic::{Category, Diagnostic};
use fieldstone_stencil::grid::Axis;
use fieldstone_stencil::ir::Target;

use super::access::Access;
use crate::error::{CheckError, INTERVALS, OUT_OF_BOUNDS, RunError, UNINITIALISED};

impl Access {
    /// A read or write at a point that the array does not have; of a temporary, one where nothing was written.
    pub(super) fn out_of_bounds(&self, index: [i64; 3], covered: [Range<i64>; 3]) -> RunError {
        match self.target {
            Target::Temp(_) => self.unwritten(index),
            Target::Field(_) => self.outside(index, covered),
        }
    }

    /// A read or write at a point that the array does not have.
    pub(super) fn outside(&self, index: [i64; 3], covered: [Range<i64>; 3]) -> RunError {
        let along = |axis: Axis| {
            let Range { start, end } = covered[axis.index()];
            format!("{axis} {start}..{end}")
        };
        let covered: Vec<String> = self.axes.iter().map(along).collect();
        let diagnostic = Diagnostic::error(
            OUT_OF_BOUNDS,
            Category::Run,
            self.span,
            format!("`{}` is accessed at {}", self.name, point(index)),
        )
        .with_label(format!("its array covers {}", covered.join(", ")))
        .with_help(
            "the domain starts at 0; give the array a larger halo, or the call a smaller domain",
        );
        CheckError::at(index, diagnostic)
    }

    /// An index of a data dimension that is outside of it.
    pub(super) fn data_index(
        &self,
        index: [i64; 3],
        dimension: usize,
        value: i64,
        size: u32,
    ) -> RunError {
        let diagnostic = Diagnostic::error(
            OUT_OF_BOUNDS,
            Category::Run,
            self.span,
            format!(
                "`{}` is accessed at {} with the index {value} of data dimension {dimension}",
                self.name,
                point(index)
            ),
        )
        .with_label(format!("it has the elements 0..{size}"))
        .with_help("indices of data dimensions are counted from 0, and not from the end");
        CheckError::at(index, diagnostic)
    }

    /// A read of a temporary where nothing was written.
    pub(super) fn unwritten(&self, index: [i64; 3]) -> RunError {
        let diagnostic = Diagnostic::error(
            UNINITIALISED,
            Category::Run,
            self.span,
            format!("`{}` is read at {}", self.name, point(index)),
        )
        .with_label("nothing was assigned there")
        .with_secondary(self.declared, "first assigned here")
        .with_help(format!(
            "assign `{}` on every level and in every branch that this line can come from",
            self.name
        ));
        CheckError::at(index, diagnostic)
    }
}

/// A grid index as a reader writes it.
pub(super) fn point([i, j, k]: [i64; 3]) -> String {
    format!("({i}, {j}, {k})")
}

/// Bounds that contradict the domain, or each other. `levels` are first level and end of each of the intervals.
pub(super) fn intervals(index: [i64; 3], intervals: &[Span], levels: &[i64]) -> RunError {
    let [i, j, _] = index;
    let covers = |n: usize| {
        format!(
            "from level {} to before {}",
            levels[2 * n],
            levels[2 * n + 1]
        )
    };
    let last = intervals.len() - 1;
    let (what, help) = match last {
        0 => (
            format!("an interval has levels outside of the domain in the column ({i}, {j})"),
            "a bound is a level of the domain, or the one behind the last; a negative one counts from the last",
        ),
        _ => (
            format!("intervals of one computation overlap in the column ({i}, {j})"),
            "give bounds with which no level is in both, or open a second `computation`",
        ),
    };
    let mut diagnostic =
        Diagnostic::error(INTERVALS, Category::Run, intervals[last], what).with_label(covers(last));
    if last > 0 {
        diagnostic = diagnostic.with_secondary(intervals[0], covers(0));
    }
    CheckError::at(index, diagnostic.with_help(help))
}
