//! How the elements of an argument lie in memory, and what that costs.
//!
//! Code is compiled for the layout at hand, so that only elements that are not aligned to their own size are undefined to go
//! on with, for native code. Whatever else is not as it could be, or not as the annotation says, is slow at worst: that is
//! warned of, once for each argument of a stencil.

use std::sync::atomic::Ordering;

use pyo3::prelude::*;

use super::Stencil;
use super::operand::Operand;
use crate::backend::Backend;
use crate::definition::Declared;
use crate::errors::raise;

/// Bytes that memory moves at once, on every machine of today that this runs on.
const CACHE_LINE: usize = 64;

/// Bytes of an array whose layout makes no difference, as it stays in the nearest cache.
const SMALL: usize = 32 * 1024;

impl Stencil {
    /// Refuses memory that cannot be accessed, and warns once of memory on which the stencil is slow.
    pub(super) fn check_layout(
        &self,
        py: Python<'_>,
        n: usize,
        operand: &Operand<'_>,
    ) -> PyResult<()> {
        let size = self.fields[n].dtype.size();
        let long = |n: &usize| operand.array.shape[*n] > 1;
        let data = (operand.data.iter()).filter(|(size, _)| *size > 1);
        let grid = (0..3).filter(long).map(|n| operand.strides[n]);
        let strides = || grid.clone().chain(data.clone().map(|(_, stride)| *stride));
        let bits = strides().fold(operand.pointer.addr(), |bits, stride| {
            bits | stride as usize
        });
        if bits & (size - 1) != 0 {
            return self.unaligned(py, n, size);
        }
        let Some(stride) = strides().map(isize::unsigned_abs).min() else {
            return Ok(());
        };
        if let Some(declared) = &self.declared[n] {
            self.check_declared(py, n, operand, declared)?;
        }
        let factor = stride.min(CACHE_LINE) / size;
        if factor > 1 && operand.array.shape.iter().product::<usize>() * size > SMALL {
            self.warn(py, n, || {
                format!(
                    "has no axis along which its elements are adjacent in memory: an access moves {factor} times the bytes \
                     it needs; a contiguous array runs faster"
                )
            })?;
        }
        Ok(())
    }

    #[cold]
    fn unaligned(&self, py: Python<'_>, n: usize, size: usize) -> PyResult<()> {
        if matches!(self.backend, Backend::Debug | Backend::Numpy) {
            return self.warn(py, n, || {
                format!(
                    "has elements that are not aligned to their size of {size} bytes (perhaps a field of a packed record): \
                     each is moved in parts, and compiled backends refuse it; a copy runs faster"
                )
            });
        }
        let message = format!(
            "argument '{}': its elements are not aligned to their size of {size} bytes (perhaps a field of a packed record); \
             pass a copy",
            self.fields[n].name
        );
        Err(raise(py, "ArgumentValueError", message))
    }

    /// Warns where memory is not as the annotation says.
    #[cold]
    fn check_declared(
        &self,
        py: Python<'_>,
        n: usize,
        operand: &Operand<'_>,
        declared: &Declared,
    ) -> PyResult<()> {
        let field = &self.fields[n];
        let axes: Vec<usize> = field.axes.iter().map(|axis| axis.index()).collect();
        let long = |axis: usize| operand.array.shape[axis] > 1;
        let stride = |axis: usize| operand.strides[axis].unsigned_abs();
        if let Some(layout) = &declared.layout {
            let by_rank = |rank: usize| {
                let position = layout.iter().position(|entry| *entry == rank);
                position.and_then(|position| axes.get(position).copied())
            };
            let order: Vec<usize> = (0..layout.len())
                .filter_map(by_rank)
                .filter(|axis| long(*axis))
                .collect();
            if order
                .windows(2)
                .any(|pair| stride(pair[0]) < stride(pair[1]))
            {
                let lines = CACHE_LINE / field.dtype.size();
                return self.warn(py, n, || {
                    let strides: Vec<usize> = axes.iter().map(|axis| stride(*axis)).collect();
                    format!(
                        "is annotated with {}, that is layout {layout:?}, but its strides along {} are {strides:?} bytes: {}where \
                         another argument lies as annotated, an access moves up to {lines} times the bytes it needs",
                        declared.text,
                        field.axes,
                        self.compiled_once_more()
                    )
                });
            }
        }
        let index = operand.array.origin.unwrap_or([0; 3]);
        let first = (0..3).fold(operand.pointer.addr(), |address, n| {
            address.wrapping_add_signed(index[n].wrapping_mul(operand.strides[n]))
        });
        let rows = axes.iter().copied().filter(|axis| long(*axis));
        let shortest = rows.clone().min_by_key(|axis| stride(*axis));
        let mut offsets = rows.filter(|axis| Some(*axis) != shortest).map(stride);
        let alignment = declared.alignment;
        if first % alignment != 0 || offsets.any(|offset| offset % alignment != 0) {
            return self.warn(py, n, || {
                format!(
                    "is annotated with {}, that is aligned to {alignment} bytes, but index {} is not, or not in every line: \
                     vectors straddle cache lines, and an access moves up to twice the bytes it needs",
                    declared.text,
                    index_text(&axes, &index)
                )
            });
        }
        Ok(())
    }

    fn compiled_once_more(&self) -> &'static str {
        match self.backend {
            Backend::Debug | Backend::Numpy => "",
            Backend::CpuKFirst | Backend::CpuIFirst | Backend::Gpu => {
                "the stencil is compiled once more for them, and "
            }
        }
    }

    /// Warns of an argument, once.
    #[cold]
    fn warn(&self, py: Python<'_>, n: usize, problem: impl FnOnce() -> String) -> PyResult<()> {
        if self.warned[n].swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let message = format!(
            "argument '{}' of stencil '{}' {}",
            self.fields[n].name,
            self.name(),
            problem()
        );
        let warning = py.import("fieldstone.errors")?.getattr("LayoutWarning")?;
        py.import("warnings")?
            .call_method1("warn", (message, warning, 1))?;
        Ok(())
    }
}

fn index_text(axes: &[usize], index: &[isize; 3]) -> String {
    let entries: Vec<String> = axes.iter().map(|axis| index[*axis].to_string()).collect();
    format!("({})", entries.join(", "))
}
