//! What a run moves.

use fieldstone_device::{core_caches, near_caches, shared_cache};
use fieldstone_stencil::analysis::Access;
use fieldstone_stencil::ir::Field;
use fieldstone_stencil::program::Program;

use crate::call::FieldArgument;
use crate::llvm::abi::Words;
use crate::tile::LINE;

/// Runs that move less than one in so many parts of the caches are not counted.
pub(super) const SMALL: u64 = 64;

/// Bytes of a row from which on a line that is written in part hardly counts.
const SHORT_ROW: usize = 12 * LINE;

/// Bytes that caches of a run hold.
#[derive(Clone, Copy)]
pub(super) struct Caches {
    pub all: u64,
    /// Those that are near.
    pub near: u64,
    /// Those from which what was stored there comes sooner than it does from memory, to which it went past them.
    pub quick: u64,
}

impl Caches {
    pub fn of(threads: usize) -> Caches {
        let (all, near) = (shared_cache(threads) as u64, near_caches(threads) as u64);
        let quick = match core_caches().streams_are_late() {
            true => near,
            false => all,
        };
        Caches { all, near, quick }
    }

    pub fn are_worth_a_note_of(self, bytes: usize) -> bool {
        bytes as u64 > self.all / SMALL
    }
}

/// What a run moves.
pub(super) struct Traffic {
    pub bytes: u64,
    pub caches: Caches,
    /// The words with the addresses of the fields along all axes that it reads.
    pub reads: Vec<usize>,
    /// The same of those that it writes.
    pub writes: Vec<usize>,
    /// Whether all of these may go past caches that still have them: their rows are whole cache lines apart, and, where that is
    /// late, hardly any line is written in parts.
    pub writes_lines: bool,
}

impl Traffic {
    /// The near caches, if results are to be stored past them as soon as these do not have them: lines that are written in parts take
    /// longer that way.
    pub fn near_of_results(&self, words: &[u64]) -> u64 {
        let begins_at_line = |word: &usize| words[*word].is_multiple_of(LINE as u64);
        match self.writes_lines && self.writes.iter().all(begins_at_line) {
            true => self.caches.near,
            false => self.caches.all,
        }
    }

    /// Of a run that moves so many bytes of its arguments, on so many points with so many threads, if that is worth a note; `by_rows` where
    /// it stores along memory, not vectors of levels.
    pub fn new(
        program: &Program,
        (arguments, words): (&[FieldArgument], &Words),
        (bytes, domain): (usize, [usize; 3]),
        threads: usize,
        by_rows: bool,
    ) -> Option<Traffic> {
        let caches = Caches::of(threads);
        let fields = || {
            let both = (program.stencil.fields.iter()).zip(&program.analysis.fields);
            let all = both.enumerate();
            all.filter(|(_, (field, _)): &(usize, (&Field, _))| field.axes.len() == 3)
                .map(|(number, (_, info))| (number, info.access))
        };
        let of = |does: fn(Access) -> bool| {
            fields().filter_map(move |(number, access)| does(access).then_some(number))
        };
        let word = |number| words.field(number);
        let avoids_parts = by_rows && core_caches().streams_are_late();
        caches.are_worth_a_note_of(bytes).then(|| Traffic {
            bytes: bytes as u64,
            caches,
            reads: of(Access::reads).map(word).collect(),
            writes: of(Access::writes).map(word).collect(),
            writes_lines: of(Access::writes).all(|number| {
                let argument = &arguments[number];
                are_lines_apart(argument)
                    && !(avoids_parts && is_short_and_ragged(argument, domain))
            }),
        })
    }
}

/// Whether what is not contiguous of an array is whole cache lines apart.
fn are_lines_apart(argument: &FieldArgument) -> bool {
    let apart = argument.strides.map(isize::unsigned_abs);
    let lines = apart.iter().filter(|stride| stride.is_multiple_of(LINE));
    lines.count() == 2
}

/// Whether rows of so many points have few lines, of which the last one is written in part: behind it are points of the array.
fn is_short_and_ragged(argument: &FieldArgument, domain: [usize; 3]) -> bool {
    let stride = |axis: &usize| argument.strides[*axis].unsigned_abs();
    let along = (0..3).min_by_key(stride).unwrap_or(2);
    let row = domain[along] * stride(&along);
    let rest = row.next_multiple_of(LINE) - row;
    let is_whole =
        rest == 0 || (domain[along] == argument.upper[along] && rest <= argument.padding);
    row < SHORT_ROW && !is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rows_are_ragged_where_others_have_a_part_of_their_last_line() {
        let ragged = |row: usize, points: usize, behind: usize, padding: usize| {
            let argument = FieldArgument {
                pointer: std::ptr::null_mut(),
                strides: [8, 8 * row as isize, 8 * 64 * row as isize],
                lower: [0; 3],
                upper: [points + behind, 64, 64],
                padding,
            };
            is_short_and_ragged(&argument, [points, 64, 64])
        };
        assert!(ragged(72, 61, 3, 64), "points of the halo lie behind");
        assert!(ragged(64, 61, 0, 0), "so may what belongs to somebody else");
        assert!(!ragged(64, 61, 0, 24), "nobody has what lies behind");
        assert!(
            !ragged(72, 64, 3, 40),
            "the last line is written as a whole"
        );
        assert!(!ragged(136, 127, 3, 40), "one of so many lines");
    }
}
