//! The shape that operands have in common.

use fieldstone_storage::{Dim, View};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::storage::axes;

/// The shape that all operands can be repeated to; an error that names two that do not fit.
pub fn common_shape(
    py: Python<'_>,
    function: &str,
    dims: Option<&[Dim]>,
    operands: &[Option<View>],
) -> PyResult<Vec<usize>> {
    let mut common: Vec<usize> = Vec::new();
    let mut of: Option<&View> = None;
    for view in operands.iter().flatten() {
        let shape = view.shape();
        let missing = shape.len().saturating_sub(common.len());
        common.splice(..0, std::iter::repeat_n(1, missing));
        let offset = common.len() - shape.len();
        for (axis, &size) in shape.iter().enumerate() {
            let place = offset + axis;
            match (common[place], size) {
                (own, size) if own == size => {}
                (_, 1) => {}
                (1, _) => common[place] = size,
                (own, _) => {
                    let message = match (dims.and_then(|dims| dims.get(place)), of) {
                        (Some(dim), _) => format!(
                            "{function}: one operand has {own} points along {dim}, another {size}"
                        ),
                        (None, of) => format!(
                            "{function}: operands of the shapes {} and {} cannot be broadcast to one shape",
                            axes::numbers(of.map_or(&common[..], View::shape)),
                            axes::numbers(shape)
                        ),
                    };
                    return Err(raise(py, "ShapeError", message));
                }
            }
        }
        of = of.or(Some(view));
    }
    Ok(common)
}

/// Refuses an output that cannot hold a result of shape `common`.
pub fn check_output(
    py: Python<'_>,
    function: &str,
    dims: Option<&[Dim]>,
    common: &[usize],
    output: &View,
) -> PyResult<()> {
    let shape = output.shape();
    let missing = shape.len().checked_sub(common.len());
    let misfit = missing.and_then(|missing| {
        (0..common.len()).find(|&axis| common[axis] != 1 && common[axis] != shape[missing + axis])
    });
    let message = match (missing, misfit) {
        (Some(_), None) => return Ok(()),
        (Some(missing), Some(axis)) if dims.is_some_and(|dims| dims.len() == shape.len()) => {
            format!(
                "{function}: out has {} points along {}, the result {}",
                shape[missing + axis],
                dims.map_or_else(String::new, |dims| dims[missing + axis].to_string()),
                common[axis]
            )
        }
        _ => format!(
            "{function}: out has the shape {}, the result {}",
            axes::numbers(shape),
            axes::numbers(common)
        ),
    };
    Err(raise(py, "ShapeError", message))
}
