//! How a sweep goes through the levels of a block of columns, and through the groups of levels that are transposed at a time.

use fieldstone_stencil::ir::Order;

use super::super::builder::Builder;
use super::ColumnBlock;

/// The way of a sweep.
pub(super) struct Course<'a> {
    pub upwards: bool,
    /// From the lowest level to one above the highest.
    pub levels: (String, String),
    /// The first levels of the lowest group and of the highest one.
    pub lowest: String,
    pub highest: String,
    /// Levels of a group.
    pub side: usize,
    /// The levels between which squares may be transposed.
    pub meanwhile: Option<&'a (String, String)>,
}

impl ColumnBlock<'_> {
    /// The way of a sweep whose sections have some ranges of levels; those of the one with a number are many.
    pub(super) fn course<'s>(
        &self,
        b: &mut Builder,
        order: Order,
        ranges: &'s [(String, String)],
        long: Option<usize>,
    ) -> Course<'s> {
        let side = self.context.scratch.square;
        let (firsts, ends): (Vec<String>, Vec<String>) = ranges.iter().cloned().unzip();
        let levels = (b.smallest(&firsts), b.largest(&ends));
        let last = b.add(&levels.1, -1);
        let mut group_of = |level: &str| b.value(format_args!("and i64 {level}, -{side}"));
        Course {
            upwards: order != Order::Backward,
            lowest: group_of(&levels.0),
            highest: group_of(&last),
            levels,
            side,
            meanwhile: long.map(|long| &ranges[long]),
        }
    }
}

impl Course<'_> {
    /// The group where it begins.
    pub fn beginning(&self) -> &str {
        match self.upwards {
            true => &self.lowest,
            false => &self.highest,
        }
    }

    /// The group where it ends.
    pub fn ending(&self) -> &str {
        match self.upwards {
            true => &self.highest,
            false => &self.lowest,
        }
    }

    /// The group of a level, and how many levels that is above the lowest of it.
    pub fn place_of(&self, b: &mut Builder, level: &str) -> (String, String) {
        let group = b.value(format_args!("and i64 {level}, -{}", self.side));
        let turn = b.sub(level, &group);
        (group, turn)
    }

    /// The group that comes so many behind one.
    pub fn behind(&self, b: &mut Builder, group: &str, groups: i64) -> String {
        let levels = groups * self.side as i64;
        b.add(group, if self.upwards { levels } else { -levels })
    }

    /// Whether a level is the first one of a group that the sweep comes to.
    pub fn begins_group(&self, b: &mut Builder, level: &str, turn: &str) -> String {
        let (first, first_turn) = match self.upwards {
            true => (self.levels.0.clone(), 0),
            false => (b.add(&self.levels.1, -1), self.side - 1),
        };
        let is_next = b.value(format_args!("icmp eq i64 {turn}, {first_turn}"));
        let is_first = b.value(format_args!("icmp eq i64 {level}, {first}"));
        b.value(format_args!("or i1 {is_next}, {is_first}"))
    }
}
