//! Stores of those lanes of a vector for which a mask holds.
//!
//! AVX-512 has an instruction for it that costs what any store does. That of AVX takes a processor of AMD four to nine times as long,
//! whatever the mask, and what it wrote cannot be loaded before it has left the core. So the mask is asked first there: all lanes
//! are stored as usual, and of vectors of which only the first or the last half is to be stored, that half.

use super::builder::{Builder, POISON};
use super::bytes;
use super::types::Lanes;

/// Bytes of the smallest vectors.
const SMALLEST: usize = 16;

/// A vector in memory.
#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    pub lanes: Lanes,
    /// The type of an element, and its bytes.
    pub element: &'a str,
    pub size: usize,
    /// As the target says.
    pub has_masked_stores: bool,
    /// Whether LLVM must not make one store of this and another one that goes past the caches.
    pub apart: bool,
}

impl Stored<'_> {
    /// Stores a value where a mask holds.
    pub fn store(self, b: &mut Builder, value: &str, mask: &str, address: &str) {
        if self.has_masked_stores {
            return self.masked(b, value, mask, address);
        }
        let (masks, kind) = (self.lanes.of("i1"), format!("i{}", self.lanes.width));
        let bits = match b.bits_of(mask).map(str::to_owned) {
            Some(bits) => b.value(format_args!("trunc i64 {bits} to {kind}")),
            None => b.value(format_args!("bitcast {masks} {mask} to {kind}")),
        };
        self.by_bits(b, value, &bits, address);
    }

    /// Stores all lanes.
    pub fn whole(self, b: &mut Builder, value: &str, address: &str) {
        let volatile = if self.apart { "volatile " } else { "" };
        b.effect(format_args!(
            "store {volatile}{} {value}, ptr {address}, align {}",
            self.lanes.of(self.element),
            self.size
        ));
    }

    /// Stores the lanes whose bits are set.
    fn by_bits(self, b: &mut Builder, value: &str, bits: &str, address: &str) {
        let kind = format!("i{}", self.lanes.width);
        let all = b.value(format_args!("icmp eq {kind} {bits}, -1"));
        let name = b.begin_when(&all);
        self.whole(b, value, address);
        b.otherwise(&name);
        if self.lanes.width * self.size > SMALLEST {
            self.halves(b, value, bits, address);
        } else {
            let any = b.value(format_args!("icmp ne {kind} {bits}, 0"));
            let masks = self.lanes.of("i1");
            b.when(&any, |b| {
                let mask = b.value(format_args!("bitcast {kind} {bits} to {masks}"));
                self.masked(b, value, &mask, address);
            });
        }
        b.end_when(&name);
    }

    fn halves(self, b: &mut Builder, value: &str, bits: &str, address: &str) {
        let (kind, width) = (self.lanes.of(self.element), self.lanes.width / 2);
        let half = Self {
            lanes: Lanes { width },
            ..self
        };
        for first in [0, width] {
            let value = b.shuffle(&kind, (value, POISON), first..first + width);
            let all = format!("i{}", self.lanes.width);
            let bits = b.value(format_args!("lshr {all} {bits}, {first}"));
            let bits = b.value(format_args!("trunc {all} {bits} to i{width}"));
            let address = b.offset(address, first * self.size);
            half.by_bits(b, &value, &bits, &address);
        }
    }

    fn masked(self, b: &mut Builder, value: &str, mask: &str, address: &str) {
        if self.has_masked_stores && bytes::are_eight(self.lanes, self.size) {
            return bytes::store(b, value, mask, address);
        }
        let suffix = self.lanes.suffix_of(self.element);
        let function = format!("llvm.masked.store.{suffix}.p0");
        let (kind, masks) = (self.lanes.of(self.element), self.lanes.of("i1"));
        let align = self.size.to_string();
        let arguments = [
            (kind.as_str(), value),
            ("ptr", address),
            ("i32", &align),
            (&masks, mask),
        ];
        b.call_void(&function, &arguments);
    }
}
