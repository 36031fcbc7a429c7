//! Where the vectors of a row begin, and which results may go past the caches.

use fieldstone_stencil::Offset;
use fieldstone_stencil::ir::Target;
use fieldstone_stencil::visit::accesses;

use super::{Aligned, Fused};
use crate::llvm::builder::Builder;
use crate::llvm::memory::block_address;
use crate::llvm::place::Spacing;
use crate::llvm::preheader::across;

impl Fused<'_> {
    /// What vectors are aligned to: the first result, or else the first field that is read.
    pub(super) fn key(&self) -> Option<Aligned> {
        let mut found = Vec::new();
        for (number, computed) in self.stages.iter().enumerate() {
            accesses(&computed.stage.statements, &mut |access| {
                let row = across(access.offset, self.roles.vector);
                let pointer = self.preheaders[number].pointer(access.target, row);
                if pointer.spacing == Spacing::Contiguous && !self.is_ring(access.target) {
                    found.push((
                        !access.write,
                        self.aligned(number, access.target, pointer.pointer),
                    ));
                }
            });
        }
        found.sort_by_key(|(read, _)| *read);
        found.into_iter().map(|(_, key)| key).next()
    }

    /// What may be stored past the caches.
    pub(super) fn streamed(&self) -> Vec<Aligned> {
        let mut found: Vec<Aligned> = Vec::new();
        for (number, computed) in self.stages.iter().enumerate() {
            accesses(&computed.stage.statements, &mut |access| {
                let streams = access.write
                    && self.entry.streamed.contains(&access.target)
                    && found.iter().all(|other| other.target != access.target);
                if !streams {
                    return;
                }
                let pointer = self.preheaders[number].pointer(access.target, Offset::ZERO);
                if pointer.spacing == Spacing::Contiguous {
                    found.push(self.aligned(number, access.target, pointer.pointer));
                }
            });
        }
        found
    }

    fn aligned(&self, stage: usize, target: Target, pointer: String) -> Aligned {
        Aligned {
            stage,
            target,
            pointer,
            size: self.dtype(target).size(),
        }
    }

    /// The index at or before `begin` at which a row is aligned that lies at `pointer`.
    pub(super) fn origin(
        &self,
        b: &mut Builder,
        pointer: &str,
        size: usize,
        begin: &str,
    ) -> String {
        let address = block_address(b, pointer, size, begin);
        let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
        let points = b.value(format_args!(
            "lshr i64 {address}, {}",
            size.trailing_zeros()
        ));
        let past = b.value(format_args!("and i64 {points}, {}", self.width() - 1));
        b.sub(begin, past)
    }

    /// Whether a vector that begins at an index is aligned.
    pub(super) fn is_aligned(
        &self,
        b: &mut Builder,
        pointer: &str,
        size: usize,
        at: &str,
    ) -> String {
        let address = block_address(b, pointer, size, at);
        let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
        let past = b.value(format_args!(
            "and i64 {address}, {}",
            self.lanes.width * size - 1
        ));
        b.value(format_args!("icmp eq i64 {past}, 0"))
    }

    /// Where the first point of a tile would lie along the row that index 0 of the vector axis belongs to.
    pub(super) fn first_row(&self, b: &mut Builder, target: Target, tile: &[String; 3]) -> String {
        let array = &self.entry.arrays[&target];
        let mut pointer = array.pointer.clone();
        for axis in [self.roles.slide, self.roles.block] {
            let bytes = b.mul(&tile[axis.index()], &array.strides[axis.index()]);
            pointer = b.offset(&pointer, bytes);
        }
        pointer
    }

    /// First index of a row and one past the last, whole vectors from an index at which they are aligned.
    pub(super) fn ends(&self, b: &mut Builder, origin: &str) -> (String, String) {
        let width = self.width();
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (computed, lead) in self.stages.iter().zip(&self.leads) {
            starts.push(b.sub(&computed.range.0, lead * width));
            ends.push(b.sub(&computed.range.1, lead * width));
        }
        let first = b.smallest(&starts);
        let end = b.largest(&ends);
        let before = b.sub(&first, origin);
        let whole = b.value(format_args!("and i64 {before}, -{width}"));
        let first = b.add(origin, whole);
        let points = b.sub(&end, &first);
        let points = b.max(&points, "0");
        let points = b.add(&points, width - 1);
        let points = b.value(format_args!("and i64 {points}, -{width}"));
        let end = b.add(&first, points);
        (first, end)
    }
}
