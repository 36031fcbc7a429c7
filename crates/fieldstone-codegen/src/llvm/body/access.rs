//! Accesses to targets at one vector of points: values that are known, or read from memory, and stored.

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::{DType, Offset};

use super::{Blocks, Body, Streaming};
use crate::llvm::memory::{load_scalar, splat};
use crate::llvm::place::{self, RowPointer, Spacing};
use crate::llvm::preheader::across;
use crate::llvm::types;

impl Body<'_, '_> {
    pub(in crate::llvm) fn pointer(&self, target: Target, offset: Offset) -> RowPointer {
        self.preheader
            .pointer(target, across(offset, self.row.vector))
    }

    pub(in crate::llvm) fn read(&mut self, target: Target, offset: Offset) -> String {
        if let Some(value) = self.values.get(&(target, offset))
            && !self.through.contains(&target)
        {
            return value.clone();
        }
        let dtype = place::dtype(self.context, target);
        let pointer = self.pointer(target, offset);
        let ahead = offset.along(self.row.vector);
        let row = (target, across(offset, self.row.vector));
        let in_region = self.in_region;
        if let Some(blocks) = (self.blocks).get(&row).filter(|row| row.made || !in_region) {
            let blocks = blocks.clone();
            let value = self.shuffled(&blocks, dtype, i64::from(ahead));
            self.values.insert((target, offset), value.clone());
            return value;
        }
        let value = match &pointer.spacing {
            // Written nowhere before: a temporary that was not written holds zero.
            Spacing::Register => self.arithmetic().zero(dtype),
            Spacing::Uniform => {
                let key = (target, across(offset, self.row.vector));
                let value = match self.preheader.uniforms.get(&key) {
                    Some(value) => value.clone(),
                    None => {
                        let address = match &pointer.pitch {
                            Some(_) => self.address_in(&pointer, dtype.size(), ahead),
                            None => pointer.pointer.clone(),
                        };
                        load_scalar(self.b, dtype, &address)
                    }
                };
                splat(self.b, self.lanes, types::register(dtype), &value)
            }
            Spacing::Contiguous => {
                let address = self.address_in(&pointer, dtype.size(), ahead);
                self.load_of(target, dtype, &address)
            }
            Spacing::Strided(stride) => {
                let addresses = self.addresses_in(&pointer, stride, ahead);
                self.gather(dtype, &addresses)
            }
            Spacing::Point(stride) => {
                let address = self.neighbour(&pointer.pointer, stride, ahead);
                place::load_point(self.context, self.b, target, &address)
            }
        };
        self.values.insert((target, offset), value.clone());
        value
    }

    /// Loads a vector, of a target that has levels only just what is stored: its memory ends with the last one.
    fn load_of(&mut self, target: Target, dtype: DType, address: &str) -> String {
        let mask = self.mask.clone();
        if place::has_levels_only(self.context, target) {
            self.mask = mask.clone().or_else(|| self.stored.clone());
        }
        let value = self.at_lanes_of(target, |body| body.load(dtype, address));
        self.mask = mask;
        value
    }

    /// The vector `ahead` points further on, of those in registers.
    fn shuffled(&mut self, blocks: &Blocks, dtype: DType, ahead: i64) -> String {
        let width = self.row.points(self.lanes) as i64;
        let first = (blocks.ahead - ahead.div_euclid(width)) as usize;
        let lane = ahead.rem_euclid(width);
        if lane == 0 {
            return blocks.vectors[first].clone();
        }
        let kind = self.lanes.value(dtype);
        let (low, high) = (&blocks.vectors[first], &blocks.vectors[first - 1]);
        // LLVM has the instruction that shifts two registers as one for integers only.
        let bits = match dtype {
            DType::Bool => kind.clone(),
            _ => self.lanes.of(&format!("i{}", dtype.size() * 8)),
        };
        let [low, high] = [low, high].map(|vector| {
            self.b
                .value(format_args!("bitcast {kind} {vector} to {bits}"))
        });
        let lanes = (lane..lane + width).map(|lane| lane as usize);
        let shifted = self.b.shuffle(&bits, (&low, &high), lanes);
        self.b
            .value(format_args!("bitcast {bits} {shifted} to {kind}"))
    }

    pub(super) fn store_changes(&mut self) {
        for (target, offset) in std::mem::take(&mut self.changed) {
            if self.kept.contains(&target) {
                continue;
            }
            let value = self.values[&(target, offset)].clone();
            let mask = self.mask.clone();
            self.mask = mask.clone().or_else(|| self.stored.clone());
            self.at_lanes_of(target, |body| body.store_value(target, offset, value));
            self.mask = mask;
        }
    }

    /// Accesses a target at all lanes if it is loose, else at those of the mask.
    fn at_lanes_of<R>(&mut self, target: Target, access: impl FnOnce(&mut Self) -> R) -> R {
        let mask = self.mask.clone();
        if self.loose.contains(&target) {
            self.mask = None;
        }
        let result = access(self);
        self.mask = mask;
        result
    }

    /// Stores what `store` does only where a condition holds.
    pub(in crate::llvm) fn masked(
        &mut self,
        condition: Option<&str>,
        store: impl FnOnce(&mut Self),
    ) {
        let mask = self.mask.clone();
        if let Some(condition) = condition {
            self.mask = Some(match &mask {
                None => condition.to_owned(),
                Some(mask) => self.arithmetic().and(mask, condition),
            });
        }
        store(self);
        self.mask = mask;
    }

    pub(in crate::llvm) fn store_value(&mut self, target: Target, offset: Offset, value: String) {
        let pointer = self.pointer(target, offset);
        let dtype = place::dtype(self.context, target);
        match &pointer.spacing {
            Spacing::Register => {}
            Spacing::Uniform => unreachable!("rows run along an axis of what they write"),
            Spacing::Contiguous => {
                let value = self.in_memory(dtype, value);
                let address = self.address_in(&pointer, dtype.size(), 0);
                if let Streaming::Lines(rows) = self.streaming
                    && let Some(row) = rows.iter().find(|to| to.row.target == target)
                {
                    return self.store_to_lines(row, &value, &address);
                }
                if let Streaming::Rest(rest) = self.streaming
                    && let Some(row) = rest.rows.iter().find(|row| row.target == target)
                {
                    return self.store_rest(row, rest, &value, &address);
                }
                self.store_in_branches(target, |body, past_caches| match past_caches {
                    Some(true) => body.store_past_caches(dtype, &value, &address),
                    Some(false) => body.store_apart(dtype, &value, &address),
                    None => body.store(dtype, &value, &address),
                });
            }
            Spacing::Strided(stride) => {
                let value = self.in_memory(dtype, value);
                let addresses = self.addresses_in(&pointer, stride, 0);
                self.store_in_branches(target, |body, _| body.scatter(dtype, &value, &addresses));
            }
            Spacing::Point(_) => {
                let value = self.in_memory(dtype, value);
                self.store(dtype, &value, &pointer.pointer);
            }
        }
    }

    /// Stores to a target, past the caches or not. `store` is told whether to go past the caches where only the run knows, and
    /// both are possible.
    fn store_in_branches(
        &mut self,
        target: Target,
        mut store: impl FnMut(&mut Self, Option<bool>),
    ) {
        let streamed = self.entry.streamed.contains(&target);
        match self.streaming {
            Streaming::Always if streamed => store(self, Some(true)),
            Streaming::Where(condition) if streamed => {
                let name = self.b.begin_when(condition);
                store(self, Some(true));
                self.b.otherwise(&name);
                store(self, Some(false));
                self.b.end_when(&name);
            }
            _ => store(self, None),
        }
    }
}
