//! Whether there is memory around rows, so that whole vectors may be read at their ends.

use std::collections::HashSet;

use fieldstone_stencil::Axis;
use fieldstone_stencil::ir::Target;

use super::{Aligned, Fused, Rows, Source, Stream};
use crate::llvm::builder::Builder;
use crate::llvm::memory::block_address;
use crate::llvm::place::{RowPointer, Spacing};

/// What all rows of a tile have in common.
pub(super) struct OfTile {
    /// What vectors are aligned to.
    pub key: Option<Aligned>,
    /// What may be stored past the caches.
    pub streamed: Vec<Aligned>,
    /// Whether the vectors of all of them begin at the same points.
    pub fixed: String,
    /// The ends of a row that is aligned so, or else begins where the tile does, and whether it is stored past the caches.
    pub first: String,
    pub end: String,
    pub streaming: String,
    /// Whether all rows have memory around them, however they are aligned.
    pub inside: String,
}

impl Fused<'_> {
    /// What all rows of a tile have in common. Loops around rows do not change any of it.
    pub(super) fn of_tile(&self, b: &mut Builder, rows: &Rows) -> OfTile {
        let (key, streamed) = (self.key(), self.streamed());
        let tile = &self.stages[0].row.tile;
        let begin = &tile[self.roles.vector.index()];
        let alike = self.are_alike(b, rows, &[key.as_slice(), &streamed].concat());
        let origin = match &key {
            Some(key) => {
                let pointer = self.first_row(b, key.target, tile);
                let origin = self.origin(b, &pointer, key.size, begin);
                b.value(format_args!("select i1 {alike}, i64 {origin}, i64 {begin}"))
            }
            None => begin.clone(),
        };
        let (first, end) = self.ends(b, &origin);
        let stream = &self.entry.stream;
        let mut streaming = b.value(format_args!("and i1 {stream}, {alike}"));
        for result in &streamed {
            let pointer = self.first_row(b, result.target, tile);
            let aligned = self.is_aligned(b, &pointer, result.size, &origin);
            streaming = b.value(format_args!("and i1 {streaming}, {aligned}"));
        }
        let fixed = self.are_fixed(b, &alike, &streamed);
        let (mut low, mut high) = (first.clone(), end.clone());
        if let Some(fixed) = &fixed {
            let more = b.value(format_args!(
                "select i1 {fixed}, i64 0, i64 {}",
                self.width() - 1
            ));
            low = b.sub(&first, &more);
            high = b.add(&end, more);
        }
        let inside = self.is_inside(b, rows, (&low, &high));
        OfTile {
            key,
            streamed,
            fixed: fixed.unwrap_or_else(|| String::from("true")),
            first,
            end,
            streaming,
            inside,
        }
    }

    /// Whether all rows of a tile are aligned in the same way, or there is but one.
    fn are_alike(&self, b: &mut Builder, rows: &Rows, fields: &[Aligned]) -> String {
        let mut alike = String::from("true");
        let both = [
            (self.roles.slide, &rows.slides),
            (self.roles.block, &rows.planes),
        ];
        for (axis, (first, end)) in both {
            let mut all = String::from("true");
            for field in fields {
                let stride = &self.entry.arrays[&field.target].strides[axis.index()];
                let past = self.lanes.width * field.size - 1;
                let past = b.value(format_args!("and i64 {stride}, {past}"));
                let whole = b.value(format_args!("icmp eq i64 {past}, 0"));
                all = b.value(format_args!("and i1 {all}, {whole}"));
            }
            let count = b.sub(end, first);
            let one = b.value(format_args!("icmp eq i64 {count}, 1"));
            all = b.value(format_args!("or i1 {all}, {one}"));
            alike = b.value(format_args!("and i1 {alike}, {all}"));
        }
        alike
    }

    /// Whether all that rows of a tile read is in the arrays.
    pub(super) fn is_inside(&self, b: &mut Builder, rows: &Rows, ends: (&str, &str)) -> String {
        let mut inside = String::from("true");
        let mut done = HashSet::new();
        for stream in &self.streams {
            if matches!(stream.source, Source::Memory { .. })
                && !self.is_ring(stream.target)
                && !self.is_exact(stream.target)
                && done.insert(stream.target)
            {
                let this = self.is_tile_inside(b, rows, stream.target, ends);
                inside = b.value(format_args!("and i1 {inside}, {this}"));
            }
        }
        inside
    }

    /// Whether all that rows of a tile read of a target is in its array.
    fn is_tile_inside(
        &self,
        b: &mut Builder,
        rows: &Rows,
        target: Target,
        (first, end): (&str, &str),
    ) -> String {
        let mut reach: [(i64, i64); 3] = [(i64::MAX, i64::MIN); 3];
        for stream in self.streams.iter().filter(|stream| stream.target == target) {
            let Source::Memory { stage, offset, .. } = stream.source else {
                continue;
            };
            let row = offset + self.stages[stage].ahead;
            let along = self.touched(stream);
            for axis in Axis::ALL {
                let (low, high) = match axis {
                    axis if axis == self.roles.vector => along,
                    axis => (i64::from(row.along(axis)), i64::from(row.along(axis)) + 1),
                };
                let reach = &mut reach[axis.index()];
                *reach = (reach.0.min(low), reach.1.max(high));
            }
        }
        let array = &self.entry.arrays[&target];
        let (mut low, mut high) = (array.pointer.clone(), array.pointer.clone());
        for axis in Axis::ALL {
            let (begin, end) = match axis {
                axis if axis == self.roles.vector => (first.to_owned(), b.sub(end, self.width())),
                axis if axis == self.roles.slide => rows.slides.clone(),
                _ => rows.planes.clone(),
            };
            let (before, behind) = reach[axis.index()];
            let behind = match axis {
                axis if axis == self.roles.vector => behind - 1,
                _ => behind - 2,
            };
            let stride = match self.context.contiguous_along(target) {
                Some(unit) if unit == axis => self.dtype(target).size().to_string(),
                _ => array.strides[axis.index()].clone(),
            };
            let begin = b.add(&begin, before);
            let begin = b.mul(&begin, &stride);
            let end = b.add(&end, behind);
            let end = b.mul(&end, &stride);
            let (least, most) = (b.min(&begin, &end), b.max(&begin, &end));
            low = b.offset(&low, least);
            high = b.offset(&high, most);
        }
        let low = b.value(format_args!("ptrtoint ptr {low} to i64"));
        let high = b.value(format_args!("ptrtoint ptr {high} to i64"));
        let from = b.value(format_args!("icmp uge i64 {low}, {}", array.first));
        let to = b.value(format_args!("icmp ule i64 {high}, {}", array.last));
        b.value(format_args!("and i1 {from}, {to}"))
    }

    /// Whether all that whole vectors read is in the arrays.
    pub(super) fn is_roomy(&self, b: &mut Builder, first: &str, end: &str) -> String {
        let mut roomy = String::from("true");
        for stream in &self.streams {
            let Source::Memory { stage, offset, .. } = stream.source else {
                continue;
            };
            if self.is_ring(stream.target) || self.is_exact(stream.target) {
                continue;
            }
            let (low, high) = self.touched(stream);
            let first = b.add(first, low);
            let last = b.add(end, high - self.width() - 1);
            let pointer = self.preheaders[stage].pointer(stream.target, offset);
            let ends = match self.panel {
                Some(_) => self.corners(b, stream, &pointer, [first, last]),
                None => self.ends_of_row(b, stream, &pointer, [first, last]),
            };
            let array = &self.entry.arrays[&stream.target];
            // The first of them is the lowest.
            let ordered = self.panel.is_none() && pointer.spacing == Spacing::Contiguous;
            let count = ends.len();
            for (n, address) in ends.into_iter().enumerate() {
                let address = b.value(format_args!("ptrtoint ptr {address} to i64"));
                let mut tests = Vec::new();
                if n == 0 || !ordered {
                    tests.push(("uge", &array.first));
                }
                if n + 1 == count || !ordered {
                    tests.push(("ule", &array.last));
                }
                for (comparison, limit) in tests {
                    let inside = b.value(format_args!("icmp {comparison} i64 {address}, {limit}"));
                    roomy = b.value(format_args!("and i1 {roomy}, {inside}"));
                }
            }
        }
        roomy
    }

    /// Addresses of the first and the last point that rounds read of a stream.
    fn ends_of_row(
        &self,
        b: &mut Builder,
        stream: &Stream,
        pointer: &RowPointer,
        ends: [String; 2],
    ) -> Vec<String> {
        let size = self.dtype(stream.target).size();
        match &pointer.spacing {
            Spacing::Contiguous => (ends.iter())
                .map(|point| block_address(b, &pointer.pointer, size, point))
                .collect(),
            Spacing::Strided(stride) => (ends.iter())
                .map(|point| {
                    let bytes = b.mul(point, stride);
                    b.offset(&pointer.pointer, bytes)
                })
                .collect(),
            Spacing::Uniform | Spacing::Point(_) => vec![pointer.pointer.clone()],
            Spacing::Register => Vec::new(),
        }
    }
}
