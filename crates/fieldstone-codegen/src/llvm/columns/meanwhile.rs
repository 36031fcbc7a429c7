//! Squares of the next group that are transposed between the levels of a sweep that divides: one at each few levels.

use super::super::builder::Builder;
use super::super::transposition::{Square, Way};
use super::ColumnBlock;
use super::course::Course;
use super::moves::{Move, squares_of};

/// What is transposed between the levels of a group.
pub(super) struct Meanwhile<'a> {
    /// Whether all of it is, which takes a whole block, whole squares, and all levels at which one is transposed.
    pub is_possible: String,
    /// Of each array, the square of the first columns.
    first: Vec<(&'a Move<'a>, Square)>,
}

impl ColumnBlock<'_> {
    /// What is transposed for the group behind another one between the levels of that; `None` where nothing ever is.
    pub(super) fn meanwhile<'s>(
        &self,
        b: &mut Builder,
        moves: &[&'s Move<'s>],
        course: &Course<'_>,
        group: &str,
    ) -> Option<Meanwhile<'s>> {
        let levels = course.meanwhile.filter(|_| !moves.is_empty())?;
        let every = self.levels_for_square()?;
        let following = course.behind(b, group, 1);
        let first_turn = b.add(group, every - 1);
        let end = b.add(group, course.side);
        let begun = b.value(format_args!("icmp sle i64 {}, {first_turn}", levels.0));
        let goes_on = b.value(format_args!("icmp sle i64 {end}, {}", levels.1));
        let mut is_possible = b.value(format_args!("and i1 {begun}, {goes_on}"));
        let mut first = Vec::new();
        for each in moves {
            let levels = self.levels_of_group(b, each, &following);
            let is_whole = self.has_all(b, each, &levels);
            is_possible = b.value(format_args!("and i1 {is_possible}, {is_whole}"));
            let square = self.first_square(b, each, (&levels.0, &following), course.upwards);
            first.push((*each, square));
        }
        Some(Meanwhile { is_possible, first })
    }

    /// How many levels of a group there are for each square of a row of them; `None` where there are not as many for each.
    fn levels_for_square(&self) -> Option<usize> {
        let side = self.context.scratch.square;
        let squares = self.context.scratch.vector.unwrap_or_default() / side;
        (squares > 0 && side.is_multiple_of(squares)).then(|| side / squares)
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
        moves: &[&Move<'_>],
        course: &Course<'_>,
        (group, turn): (&str, &str),
    ) {
        let Some(every) = self.levels_for_square().filter(|_| !moves.is_empty()) else {
            return;
        };
        let rest = b.value(format_args!("urem i64 {turn}, {every}"));
        let is_turn = b.value(format_args!("icmp eq i64 {rest}, {}", every - 1));
        b.when(&is_turn, |b| {
            let Some(meanwhile) = self.meanwhile(b, moves, course, group) else {
                return;
            };
            let number = b.value(format_args!("udiv i64 {turn}, {every}"));
            let column = b.mul(&number, self.context.scratch.square);
            b.when(&meanwhile.is_possible, |b| {
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
                    squares_of(self.context, self.nest, Way::In, each.array).inline(b, &square);
                }
            });
        });
    }
}
