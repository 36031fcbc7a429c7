//! Functions that transpose squares where they lie in scratch.

use super::{Squares, Way};
use crate::llvm::builder::Builder;

/// The name of the function of a kernel for elements of so many bytes.
pub(in crate::llvm) fn name(kernel: &str, size: usize) -> String {
    format!("{kernel}_turn_{size}")
}

/// Adds the function to those of a kernel: it transposes each square of some columns, which begin at an address.
pub(in crate::llvm) fn define(
    kernel: &str,
    b: &mut Builder,
    (size, side, pitch): (usize, usize, usize),
) {
    let squares = Squares {
        way: Way::In,
        size,
        side,
        pitch,
        past: false,
        fills: true,
        has_masked_stores: true,
        composed: None,
    };
    let mut inner = Builder::new();
    inner.for_loop("0", "%columns", &side.to_string(), |b, column| {
        let bytes = b.mul(column, size);
        let first = b.offset("%scratch", bytes);
        let levels = squares.along(b, &first, &pitch.to_string());
        let rows = squares.load(b, &levels, None);
        let rows = squares.transposed(b, rows);
        squares.store(b, rows, &levels, None);
    });
    inner.effect("ret void");
    let head = format!(
        "define internal void @{}(ptr %scratch, i64 %columns) noinline #0",
        name(kernel, size)
    );
    b.function(&head, inner);
}
