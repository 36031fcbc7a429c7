//! How the elements of an argument lie in memory, and what that costs.

use std::sync::atomic::Ordering;

use pyo3::prelude::*;

use super::Stencil;
use super::operand::Operand;
use crate::errors::raise;

/// Bytes that memory moves at once, on every machine of today that this runs on.
const CACHE_LINE: usize = 64;

/// Bytes of an array whose layout makes no difference, as it stays in the nearest cache.
const SMALL: usize = 32 * 1024;

impl Stencil {
    /// Refuses memory that cannot be accessed, and warns once of memory on which every backend is slow.
    pub(super) fn check_layout(
        &self,
        py: Python<'_>,
        n: usize,
        operand: &Operand<'_>,
    ) -> PyResult<()> {
        let field = &self.fields[n];
        let size = field.dtype.size();
        let long = |n: &usize| operand.array.shape[*n] > 1;
        let bits = (0..3).filter(long).fold(operand.pointer.addr(), |bits, n| {
            bits | operand.strides[n] as usize
        });
        if bits & (size - 1) != 0 && field.used() {
            let message = format!(
                "argument '{}': its elements are not aligned to their size of {size} bytes (perhaps a field of a packed \
                 record); pass a copy",
                field.name
            );
            return Err(raise(py, "ArgumentValueError", message));
        }
        let Some(stride) = (0..3)
            .filter(long)
            .map(|n| operand.strides[n].unsigned_abs())
            .min()
        else {
            return Ok(());
        };
        let factor = stride.min(CACHE_LINE) / size;
        if factor > 1
            && operand.array.shape.iter().product::<usize>() * size > SMALL
            && !self.warned[n].swap(true, Ordering::Relaxed)
        {
            let message = format!(
                "argument '{}' of stencil '{}' has no axis along which its elements are adjacent in memory: an access moves \
                 {factor} times the bytes it needs; a contiguous array runs faster",
                field.name,
                self.name()
            );
            let warning = py.import("fieldstone.errors")?.getattr("LayoutWarning")?;
            py.import("warnings")?
                .call_method1("warn", (message, warning, 1))?;
        }
        Ok(())
    }
}
