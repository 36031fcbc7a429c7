//! Levels of a sweep one after the other, over a block of columns that is a few vectors wide.

use std::collections::{HashMap, HashSet};

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Order;
use fieldstone_stencil::schedule::Stage;

use super::super::body::Known;
use super::super::builder::Builder;
use super::super::range::level;
use super::super::row;
use super::super::width;
use super::ColumnBlock;
use super::carried::Carried;
use super::part::Part;

/// Some levels of a sweep, at least one.
pub(super) struct Section<'a> {
    pub order: Order,
    pub stages: &'a [Stage],
    /// The first one in the order of the sweep, and one past the last.
    pub levels: &'a (String, String),
    /// As in [`row::Vectors`].
    pub past: bool,
}

impl ColumnBlock<'_> {
    /// Computes them, and does something else at each, which is told the level.
    pub(super) fn section(
        &self,
        b: &mut Builder,
        section: &Section<'_>,
        meanwhile: impl Fn(&mut Builder, &str),
    ) {
        let columns = self.context.scratch.vector.unwrap_or_default();
        let carried = self.carried(section.order, section.stages);
        let half = self.half(section.stages);
        let Some(half) = half.filter(|_| !section.past && !carried.is_empty()) else {
            return self.levels(b, section, (columns, &carried), &meanwhile);
        };
        let carried_by_half = carried.iter().filter(|each| each.first < half).cloned();
        let carried_by_half: Vec<Carried> = carried_by_half.collect();
        let end = b.add(&self.columns.0, half);
        let is_narrow = b.value(format_args!("icmp sle i64 {}, {end}", self.columns.1));
        let name = b.begin_when(&is_narrow);
        self.levels(b, section, (half, &carried_by_half), &meanwhile);
        b.otherwise(&name);
        self.levels(b, section, (columns, &carried), &meanwhile);
        b.end_when(&name);
    }

    /// How many columns of a block are enough where it has no more, at least two vectors, of which one is computed while the other waits;
    /// `None` where all are always computed.
    fn half(&self, stages: &[Stage]) -> Option<usize> {
        let columns = self.context.scratch.vector.unwrap_or_default();
        let half = columns / 2;
        let fits = |stage| {
            let lanes = width::lanes(self.context, stage, columns);
            half.is_multiple_of(2 * lanes.width)
        };
        (half > 0 && stages.iter().all(fits)).then_some(half)
    }

    /// The levels of a section for the first columns of a block. What one level takes from the one before is kept in registers.
    fn levels(
        &self,
        b: &mut Builder,
        section: &Section<'_>,
        (columns, carried): (usize, &[Carried]),
        meanwhile: &impl Fn(&mut Builder, &str),
    ) {
        let Section {
            order,
            stages,
            levels,
            past,
        } = *section;
        let first = self.row(&level(b, order, levels, &levels.0));
        let values = carried.iter().map(|each| {
            let (kind, key) = (each.lanes.value(each.dtype), (each.target, each.before));
            let first_column = b.add(&self.columns.0, each.first);
            let (context, entry) = (self.context, self.entry);
            let value = row::value(context, entry, b, &first, key, &first_column, each.lanes);
            (kind, value)
        });
        let mut values: Vec<(String, String)> = values.collect();
        values.push((String::from("i64"), levels.0.clone()));
        let (name, names) = b.begin_repeat(&values);
        let count = &names[carried.len()];
        let more = b.value(format_args!("icmp slt i64 {count}, {}", levels.1));
        b.repeat_while(&name, &more);
        let here = level(b, order, levels, count);
        meanwhile(b, &here);
        if carried.is_empty() {
            self.part_by_part(b, stages, &here, past);
        } else {
            let all: Vec<(&Carried, &String)> = carried.iter().zip(&names).collect();
            let found = self.of_columns(b, section, &here, columns, &all);
            let all = found.into_iter().zip(&mut values);
            all.for_each(|(value, all)| all.1 = value);
        }
        values[carried.len()].1 = b.add(count, 1);
        b.end_repeat(&name, &values);
        let last = b.add(&levels.1, -1);
        let last = self.row(&level(b, order, levels, &last));
        for (each, value) in carried.iter().zip(names).filter(|(each, _)| each.kept) {
            let first_column = b.add(&self.columns.0, each.first);
            let (context, entry, target) = (self.context, self.entry, (each.target, value));
            row::store(context, entry, b, &last, target, &first_column, each.lanes);
        }
    }

    /// The stages of a level that reads what is carried from the level before; returns what it leaves to the next.
    fn of_columns(
        &self,
        b: &mut Builder,
        section: &Section<'_>,
        level: &str,
        columns: usize,
        carried: &[(&Carried, &String)],
    ) -> Vec<String> {
        let mut part = Part {
            first: &self.columns.0,
            columns,
            known: HashMap::new(),
            kept: HashSet::new(),
            past: section.past,
        };
        for (each, name) in carried {
            let all = || vec![Known::new(); part.columns / each.lanes.width];
            let known = part.known.entry(each.lanes).or_insert_with(all);
            let known = &mut known[each.first / each.lanes.width];
            known.insert((each.target, each.before), (*name).clone());
            if each.kept {
                part.kept.insert(each.target);
            }
        }
        self.stages(b, section.stages, level, &mut part);
        let value = |(each, _): &(&Carried, &String)| {
            let known = &part.known[&each.lanes][each.first / each.lanes.width];
            let value = known.get(&(each.target, Offset::ZERO));
            value
                .expect("what is carried is written at every level")
                .clone()
        };
        carried.iter().map(value).collect()
    }
}
