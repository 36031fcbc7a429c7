//! Squares of the next group that are transposed between the levels of a sweep that divides: one at each few levels.

use super::super::builder::Builder;
use super::super::transposition::{Square, Way};
use super::ColumnBlock;
use super::moves::{Move, squares_of};

/// What is transposed between the levels of a group.
pub(super) struct Meanwhile<'a> {
    /// Whether all of it is, which takes a whole block, whole squares, and all levels at which one is transposed.
    pub is_possible: String,
    /// Of each array, the square of the first columns.
    first: Vec<(&'a Move<'a>, Square)>,
    /// Levels from one square to the next.
    every: usize,
}

impl ColumnBlock<'_> {
    /// What is transposed for the group behind another one while the sweep is at those of some levels that belong to that.
    pub(super) fn meanwhile<'s>(
        &self,
        b: &mut Builder,
        moves: &[&'s Move<'s>],
        (group, following): (&str, &str),
        levels: &(String, String),
        upwards: bool,
    ) -> Option<Meanwhile<'s>> {
        if moves.is_empty() {
            return None;
        }
        let scratch = self.context.scratch;
        let side = scratch.square;
        let squares = scratch.vector.unwrap_or_default() / side;
        let every = side / squares;
        let first_turn = b.add(group, every - 1);
        let end = b.add(group, side);
        let begun = b.value(format_args!("icmp sle i64 {}, {first_turn}", levels.0));
        let goes_on = b.value(format_args!("icmp sle i64 {end}, {}", levels.1));
        let fits = side.is_multiple_of(squares);
        let mut is_possible = b.value(format_args!("and i1 {begun}, {goes_on}"));
        is_possible = b.value(format_args!("and i1 {is_possible}, {fits}"));
        let mut first = Vec::new();
        for each in moves {
            let levels = self.levels_of_group(b, each, following);
            let is_whole = self.has_all(b, each, &levels);
            is_possible = b.value(format_args!("and i1 {is_possible}, {is_whole}"));
            let square = self.first_square(b, each, (&levels.0, following), upwards);
            first.push((*each, square));
        }
        Some(Meanwhile {
            is_possible,
            first,
            every,
        })
    }

    /// Whether an array has all columns of a block and as many levels as a square.
    fn has_all(&self, b: &mut Builder, each: &Move<'_>, levels: &(String, String)) -> String {
        let scratch = self.context.scratch;
        let columns = scratch.vector.unwrap_or_default();
        let columns = b.value(format_args!("icmp eq i64 {}, {columns}", each.columns));
        let count = b.sub(&levels.1, &levels.0);
        let levels = b.value(format_args!("icmp eq i64 {count}, {}", scratch.square));
        b.value(format_args!("and i1 {columns}, {levels}"))
    }

    /// The square of the first columns that begins at a level of a group.
    fn first_square(
        &self,
        b: &mut Builder,
        each: &Move<'_>,
        (level, group): (&str, &str),
        upwards: bool,
    ) -> Square {
        let (side, size) = (self.context.scratch.square, each.array.dtype.size());
        let (array, stride) = &each.outside[0];
        let [bytes, rows] = [size, self.context.scratch.level_bytes].map(|step| b.mul(level, step));
        let inside = self.inside(b, each, group);
        let following = (side * size) as i64;
        Square {
            column: String::from("0"),
            arrays: vec![(b.offset(array, &bytes), stride.clone())],
            scratch: b.offset(&inside, rows),
            following: if upwards { following } else { -following }.to_string(),
        }
    }

    /// Transposes a square of each array if it is time for one.
    pub(super) fn transpose_meanwhile(
        &self,
        b: &mut Builder,
        meanwhile: &Meanwhile<'_>,
        turn: &str,
    ) {
        let every = meanwhile.every;
        let rest = b.value(format_args!("urem i64 {turn}, {every}"));
        let is_turn = b.value(format_args!("icmp eq i64 {rest}, {}", every - 1));
        let is_turn = b.value(format_args!("and i1 {is_turn}, {}", meanwhile.is_possible));
        b.when(&is_turn, |b| {
            let number = b.value(format_args!("udiv i64 {turn}, {every}"));
            let column = b.mul(&number, self.context.scratch.square);
            for (each, first) in &meanwhile.first {
                let (array, stride) = &first.arrays[0];
                let skip = b.mul(&column, stride);
                let bytes = b.mul(&column, each.array.dtype.size());
                let square = Square {
                    column: column.clone(),
                    arrays: vec![(b.offset(array, &skip), stride.clone())],
                    scratch: b.offset(&first.scratch, &bytes),
                    following: first.following.clone(),
                };
                squares_of(self.context, Way::In, each.array).inline(b, &square);
            }
        });
    }
}
