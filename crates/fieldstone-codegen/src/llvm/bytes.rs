//! Loads and stores of eight elements of one byte each, with a mask.
//!
//! AVX-512 has such for sixteen at least. LLVM 22 clears the mask of the other eight by moving the mask (`kmovb`); but where masks wait
//! on the stack it takes that for a copy, forgets it, and stores what lies behind, too. So the sixteen lanes are written out here, with
//! a mask that is cleared as a vector.

use super::builder::Builder;
use super::types::Lanes;

const NARROW: Lanes = Lanes { width: 8 };
const WIDE: Lanes = Lanes { width: 16 };

/// Whether so many elements of so many bytes are such.
pub(super) fn are_eight(lanes: Lanes, size: usize) -> bool {
    lanes == NARROW && size == 1
}

/// Loads eight bytes, zero where the mask does not hold.
pub(super) fn load(b: &mut Builder, mask: &str, address: &str) -> String {
    let (mask, kind) = (widened(b, mask), WIDE.of("i8"));
    let arguments = [
        ("ptr", address),
        ("i32", "1"),
        (&WIDE.of("i1"), &mask),
        (&kind, "zeroinitializer"),
    ];
    let loaded = b.call(&kind, "llvm.masked.load.v16i8.p0", &arguments);
    let lanes = numbers(NARROW);
    b.value(format_args!(
        "shufflevector {kind} {loaded}, {kind} poison, <8 x i32> {lanes}"
    ))
}

/// Stores eight bytes where the mask holds.
pub(super) fn store(b: &mut Builder, value: &str, mask: &str, address: &str) {
    let mask = widened(b, mask);
    let (narrow, wide, lanes) = (NARROW.of("i8"), WIDE.of("i8"), numbers(WIDE));
    let value = b.value(format_args!(
        "shufflevector {narrow} {value}, {narrow} poison, <16 x i32> {lanes}"
    ));
    let arguments = [
        (wide.as_str(), value.as_str()),
        ("ptr", address),
        ("i32", "1"),
        (&WIDE.of("i1"), &mask),
    ];
    b.call_void("llvm.masked.store.v16i8.p0", &arguments);
}

/// A mask of eight lanes, and eight more that do not hold.
fn widened(b: &mut Builder, mask: &str) -> String {
    let (kind, lanes) = (NARROW.of("i8"), numbers(WIDE));
    let bytes = b.value(format_args!("sext {} {mask} to {kind}", NARROW.of("i1")));
    let bytes = b.value(format_args!(
        "shufflevector {kind} {bytes}, {kind} zeroinitializer, <16 x i32> {lanes}"
    ));
    b.value(format_args!(
        "icmp slt {} {bytes}, zeroinitializer",
        WIDE.of("i8")
    ))
}

/// The numbers of lanes, as a shuffle wants them that leaves these as they are.
fn numbers(lanes: Lanes) -> String {
    let numbers = (0..lanes.width).map(|lane| format!("i32 {lane}"));
    format!("<{}>", numbers.collect::<Vec<_>>().join(", "))
}
