//! Vectors from memory and to it: addresses, loads and stores, gathers and scatters.

use fieldstone_stencil::ir::Target;
use fieldstone_stencil::{Axis, DType};

use crate::tile::LINE;

use super::body::Body;
use super::builder::Builder;
use super::bytes;
use super::entry::Entry;
use super::masked::Stored;
use super::place::RowPointer;
use super::prefetch::prefetch;
use super::types::{self, Lanes};

pub(super) fn load_scalar(b: &mut Builder, dtype: DType, pointer: &str) -> String {
    load_with(b, dtype, pointer, "")
}

/// Loads what nothing changes while a kernel runs, which accelerators have another way to.
pub(super) fn load_constant(b: &mut Builder, dtype: DType, pointer: &str) -> String {
    load_with(b, dtype, pointer, ", !invariant.load !0")
}

fn load_with(b: &mut Builder, dtype: DType, pointer: &str, how: &str) -> String {
    let (kind, align) = (types::memory(dtype), dtype.size());
    let value = b.value(format_args!(
        "load {kind}, ptr {pointer}, align {align}{how}"
    ));
    from_memory(b, Lanes { width: 1 }, dtype, value)
}

fn from_memory(b: &mut Builder, lanes: Lanes, dtype: DType, value: String) -> String {
    if dtype != DType::Bool {
        return value;
    }
    let (kind, zero) = (lanes.of("i8"), lanes.splat("i8", "0"));
    b.value(format_args!("icmp ne {kind} {value}, {zero}"))
}

pub(super) fn splat(b: &mut Builder, lanes: Lanes, element: &str, value: &str) -> String {
    if lanes.width == 1 {
        return value.to_string();
    }
    let kind = lanes.of(element);
    let one = b.value(format_args!(
        "insertelement {kind} poison, {element} {value}, i64 0"
    ));
    let zeros = format!("<{} x i32> zeroinitializer", lanes.width);
    b.value(format_args!(
        "shufflevector {kind} {one}, {kind} poison, {zeros}"
    ))
}

/// `first`, `first + 1`, …, as `i64`.
pub(super) fn lane_indices(b: &mut Builder, lanes: Lanes, first: &str) -> String {
    if lanes.width == 1 {
        return first.to_string();
    }
    let firsts = splat(b, lanes, "i64", first);
    let kind = lanes.of("i64");
    let steps: Vec<String> = (0..lanes.width).map(|n| format!("i64 {n}")).collect();
    b.value(format_args!("add {kind} {firsts}, <{}>", steps.join(", ")))
}

/// Whether any lane from index `first` on is in a range.
pub(super) fn any_inside(
    b: &mut Builder,
    lanes: Lanes,
    first: &str,
    start: &str,
    end: &str,
) -> String {
    let behind = b.add(first, lanes.width);
    let begun = b.value(format_args!("icmp slt i64 {start}, {behind}"));
    let goes_on = b.value(format_args!("icmp slt i64 {first}, {end}"));
    b.value(format_args!("and i1 {begun}, {goes_on}"))
}

/// Fetches what lies some rows, as many as the run says, along an axis behind an address.
pub(super) fn fetch(b: &mut Builder, entry: &Entry, target: Target, address: &str, axis: Axis) {
    let bytes = b.mul(&entry.arrays[&target].strides[axis.index()], &entry.ahead);
    let address = b.offset(address, bytes);
    prefetch(b, &address, entry.purpose);
}

/// Which lanes from index `first` on are in a range; at most 32 lanes.
pub(super) fn lane_mask(
    b: &mut Builder,
    lanes: Lanes,
    first: &str,
    start: &str,
    end: &str,
) -> String {
    let width = lanes.width.to_string();
    let bit = |b: &mut Builder, index: &str, least: &str| {
        let lane = b.sub(index, first);
        let lane = b.min(&lane, &width);
        let lane = b.max(&lane, least);
        let bit = b.value(format_args!("shl i64 1, {lane}"));
        (lane, bit)
    };
    let (lane, below) = bit(b, start, "0");
    let (_, behind) = bit(b, end, &lane);
    let bits = b.sub(&behind, &below);
    mask_of(b, lanes, &bits)
}

/// The mask of the lanes whose bits are set in a number.
pub(super) fn mask_of(b: &mut Builder, lanes: Lanes, bits: &str) -> String {
    let width = lanes.width;
    let lane = (LINE * 8 / width).min(64);
    if b.fills_lanes && width > 1 && width <= lane {
        return filled(b, lanes, lane, bits);
    }
    let bits = b.value(format_args!("trunc i64 {bits} to i{width}"));
    let mask = lanes.of("i1");
    b.value(format_args!("bitcast i{width} {bits} to {mask}"))
}

/// The same where a mask is lanes of so many bits that are filled: to compare each with its own bit takes three instructions, to put
/// it together from single bits four for each lane.
fn filled(b: &mut Builder, lanes: Lanes, lane: usize, bits: &str) -> String {
    let element = format!("i{lane}");
    let lane_bits = match lane {
        64 => bits.to_owned(),
        _ => b.value(format_args!("trunc i64 {bits} to {element}")),
    };
    let all = splat(b, lanes, &element, &lane_bits);
    let own: Vec<String> = (0..lanes.width)
        .map(|n| format!("{element} {}", 1_u64 << n))
        .collect();
    let kind = lanes.of(&element);
    let own = b.value(format_args!("and {kind} {all}, <{}>", own.join(", ")));
    let mask = b.value(format_args!("icmp ne {kind} {own}, zeroinitializer"));
    b.note_filled(&mask, bits);
    mask
}

/// The mask of lanes that are known.
pub(super) fn mask_of_lanes(b: &mut Builder, lanes: Lanes, of: std::ops::Range<i64>) -> String {
    let bits = (1i64 << of.end) - (1i64 << of.start);
    mask_of(b, lanes, &bits.to_string())
}

/// Address of the point with index `first` of a contiguous row.
pub(super) fn block_address(b: &mut Builder, row: &str, size: usize, first: &str) -> String {
    let bytes = b.mul(first, size);
    b.offset(row, bytes)
}

impl Body<'_, '_> {
    /// Address of the first lane, `ahead` points further along a contiguous row.
    pub(super) fn address(&mut self, row: &str, size: usize, ahead: i32) -> String {
        let address = block_address(self.b, row, size, self.first);
        self.b.offset(&address, i64::from(ahead) * size as i64)
    }

    /// Addresses of all lanes, `ahead` points further along a strided row.
    pub(super) fn addresses(&mut self, row: &str, stride: &str, ahead: i32) -> String {
        let first = self.b.add(self.first, ahead);
        if self.lanes.width == 1 {
            let bytes = self.b.mul(&first, stride);
            return self.b.offset(row, bytes);
        }
        let indices = lane_indices(self.b, self.lanes, &first);
        let strides = splat(self.b, self.lanes, "i64", stride);
        let kind = self.lanes.of("i64");
        let bytes = self
            .b
            .value(format_args!("mul {kind} {indices}, {strides}"));
        self.b
            .value(format_args!("getelementptr i8, ptr {row}, {kind} {bytes}"))
    }

    /// Address of the first lane, `ahead` points further along a row.
    pub(super) fn address_in(&mut self, row: &RowPointer, size: usize, ahead: i32) -> String {
        if row.pitch.is_none() {
            return self.address(&row.pointer, size, ahead);
        }
        let (index, lead) = self.anchor.unwrap_or((self.first, 0));
        row.at(self.b, size, (index, lead + i64::from(ahead)))
    }

    /// Addresses of all lanes, `ahead` points further along a row whose lanes are strided.
    pub(super) fn addresses_in(&mut self, row: &RowPointer, stride: &str, ahead: i32) -> String {
        if row.pitch.is_none() {
            return self.addresses(&row.pointer, stride, ahead);
        }
        let first = self.address_in(row, 0, ahead);
        let numbers = lane_indices(self.b, self.lanes, "0");
        let strides = splat(self.b, self.lanes, "i64", stride);
        let kind = self.lanes.of("i64");
        let bytes = (self.b).value(format_args!("mul {kind} {numbers}, {strides}"));
        (self.b).value(format_args!(
            "getelementptr i8, ptr {first}, {kind} {bytes}"
        ))
    }

    /// Address of the point that is `ahead` points, each so many bytes, behind that of a pointer.
    pub(super) fn neighbour(&mut self, pointer: &str, stride: &str, ahead: i32) -> String {
        match ahead {
            0 => pointer.to_owned(),
            _ => {
                let bytes = self.b.mul(stride, ahead);
                self.b.offset(pointer, bytes)
            }
        }
    }

    pub(super) fn load(&mut self, dtype: DType, address: &str) -> String {
        let (kind, align) = (self.lanes.memory(dtype), dtype.size());
        let value = match self.mask.clone() {
            None => self
                .b
                .value(format_args!("load {kind}, ptr {address}, align {align}")),
            Some(mask) if self.are_eight_bytes(dtype) => bytes::load(self.b, &mask, address),
            Some(mask) => {
                let function = format!("llvm.masked.load.{}.p0", self.memory_suffix(dtype));
                let align = align.to_string();
                let masks = self.lanes.of("i1");
                let arguments = [
                    ("ptr", address),
                    ("i32", &align),
                    (&masks, &mask),
                    (&kind, "zeroinitializer"),
                ];
                self.b.call(&kind, &function, &arguments)
            }
        };
        from_memory(self.b, self.lanes, dtype, value)
    }

    pub(super) fn gather(&mut self, dtype: DType, addresses: &str) -> String {
        if self.lanes.width == 1 {
            return load_scalar(self.b, dtype, addresses);
        }
        let (kind, align) = (self.lanes.memory(dtype), dtype.size().to_string());
        let suffix = self.memory_suffix(dtype);
        let function = format!("llvm.masked.gather.{suffix}.v{}p0", self.lanes.width);
        let (pointers, masks) = (self.lanes.of("ptr"), self.lanes.of("i1"));
        let mask = self.lanes_inside();
        let arguments = [
            (pointers.as_str(), addresses),
            ("i32", &align),
            (&masks, &mask),
            (&kind, "zeroinitializer"),
        ];
        let value = self.b.call(&kind, &function, &arguments);
        from_memory(self.b, self.lanes, dtype, value)
    }

    fn lanes_inside(&self) -> String {
        let all = || self.lanes.constant(DType::Bool, "true");
        self.mask.clone().unwrap_or_else(all)
    }

    fn are_eight_bytes(&self, dtype: DType) -> bool {
        let has_such = self.context.target.has_masked_stores();
        has_such && bytes::are_eight(self.lanes, dtype.size())
    }

    fn memory_suffix(&self, dtype: DType) -> String {
        match dtype {
            DType::Bool => self.lanes.suffix_of("i8"),
            _ => self.lanes.suffix(dtype),
        }
    }

    pub(super) fn in_memory(&mut self, dtype: DType, value: String) -> String {
        if dtype != DType::Bool {
            return value;
        }
        let (from, to) = (self.lanes.of("i1"), self.lanes.of("i8"));
        self.b.value(format_args!("zext {from} {value} to {to}"))
    }

    pub(super) fn store(&mut self, dtype: DType, value: &str, address: &str) {
        self.store_with(dtype, value, address, false);
    }

    /// As [`Body::store`], where all lanes are stored volatile: LLVM makes one store of this and the one past the caches in another
    /// branch otherwise.
    pub(super) fn store_apart(&mut self, dtype: DType, value: &str, address: &str) {
        self.store_with(dtype, value, address, true);
    }

    fn store_with(&mut self, dtype: DType, value: &str, address: &str, apart: bool) {
        let stored = Stored {
            lanes: self.lanes,
            element: types::memory(dtype),
            size: dtype.size(),
            apart,
            has_masked_stores: self.context.target.has_masked_stores(),
        };
        match self.mask.clone() {
            None => stored.whole(self.b, value, address),
            Some(mask) if self.lanes.width == 1 => {
                self.b.when(&mask, |b| stored.whole(b, value, address));
            }
            Some(mask) => stored.store(self.b, value, &mask, address),
        }
    }

    pub(super) fn store_past_caches(&mut self, dtype: DType, value: &str, address: &str) {
        let (kind, align) = (self.lanes.memory(dtype), dtype.size() * self.lanes.width);
        self.b.effect(format_args!(
            "store {kind} {value}, ptr {address}, align {align}, !nontemporal !0"
        ));
    }

    pub(super) fn scatter(&mut self, dtype: DType, value: &str, addresses: &str) {
        if self.lanes.width == 1 {
            return self.store(dtype, value, addresses);
        }
        let (kind, align) = (self.lanes.memory(dtype), dtype.size().to_string());
        let suffix = self.memory_suffix(dtype);
        let function = format!("llvm.masked.scatter.{suffix}.v{}p0", self.lanes.width);
        let (pointers, masks) = (self.lanes.of("ptr"), self.lanes.of("i1"));
        let mask = self.lanes_inside();
        let arguments = [
            (kind.as_str(), value),
            (pointers.as_str(), addresses),
            ("i32", &align),
            (&masks, &mask),
        ];
        self.b.call_void(&function, &arguments);
    }
}
