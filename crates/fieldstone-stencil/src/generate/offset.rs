//! Where random reads may reach.

use super::{Generator, Levels, Place};
use crate::grid::{Axis, Interval, Level, Offset};
use crate::ir::{Order, Target};

impl Generator<'_> {
    /// An offset at which a target can be read, if there is one.
    pub(super) fn offset(&mut self, target: Target, place: &Place) -> Option<Offset> {
        let axes = self.axes(target);
        let ours = place.written.contains(&target);
        let vertical = self.vertical(target, place, ours)?;
        if place.looped.contains(&target) {
            return Some(Offset::ZERO);
        }
        let behind = match place.order {
            Order::Parallel => 0,
            Order::Forward => -vertical,
            Order::Backward => vertical,
        };
        // Of what a vertical loop writes, it reads the own column; else the extent could grow with the levels.
        let may_move = !ours
            || (place.order == Order::Parallel && place.target != Some(target))
            || (place.order != Order::Parallel && behind < 0 && place.levels == Levels::Known);
        // Where other columns have other levels, only what is complete has a value beside.
        let incomplete = matches!(target, Target::Temp(id) if !self.everywhere.contains(&id));
        let may_move = may_move && !(incomplete && place.levels == Levels::PerColumn);
        let may_move = may_move && !place.moved.contains(&target);
        let mut offset = [0, 0, vertical];
        for axis in [Axis::I, Axis::J] {
            if may_move && axes.contains(axis) && self.random.chance(35) {
                offset[axis.index()] = self.shift();
            }
        }
        Some(Offset(offset))
    }

    pub(super) fn shift(&mut self) -> i32 {
        let reach = self.shape.reach.max(0);
        self.random.below(2 * reach as usize + 1) as i32 - reach
    }

    fn vertical(&mut self, target: Target, place: &Place, ours: bool) -> Option<i32> {
        let axes = self.axes(target);
        if !axes.contains(Axis::K) {
            let has_value = match target {
                Target::Field(_) => true,
                Target::Temp(id) => place.here.contains(&id) || self.everywhere.contains(&id),
            };
            return has_value.then_some(0);
        }
        let wanted = if self.random.chance(30) {
            self.shift()
        } else {
            0
        };
        let behind = match place.order {
            Order::Parallel => 0,
            Order::Forward => -wanted,
            Order::Backward => wanted,
        };
        // At levels that are not known, another level of a temporary may be none of the domain.
        let inside = place.levels == Levels::Known && self.stays_inside(place.interval, wanted);
        match target {
            // Inputs have a halo along K; what is written has values of other kinds there, which is fine.
            Target::Field(_) if !ours || place.order != Order::Parallel => Some(wanted),
            Target::Field(_) => Some(0),
            Target::Temp(id) => {
                let complete = self.everywhere.contains(&id);
                if place.here.contains(&id) {
                    let may = behind > 0 && place.carried.contains(&id) && inside;
                    Some(if may { wanted } else { 0 })
                } else if complete {
                    Some(if inside && (!ours || behind != 0) {
                        wanted
                    } else {
                        0
                    })
                } else if place.carried.contains(&id) && behind > 0 && inside {
                    Some(wanted)
                } else {
                    None
                }
            }
        }
    }

    /// Whether levels of an interval, moved by so many, are levels of every domain that is not lower than four.
    pub(super) fn stays_inside(&self, interval: Interval, moved: i32) -> bool {
        let first = match interval.start.level {
            Level::Start => interval.start.offset + moved >= 0,
            Level::End => moved >= -2,
        };
        let last = match interval.end.level {
            Level::Start => moved <= 1,
            Level::End => interval.end.offset + moved <= 0,
        };
        first && last
    }
}
