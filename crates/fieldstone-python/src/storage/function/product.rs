//! Sums of products.

use std::collections::HashMap;

use fieldstone_storage::{Dim, PerAxis};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::call::Call;
use crate::storage::Storage;
use crate::storage::axes::Axes;
use crate::storage::foreign::Foreign;
use crate::storage::library::Computed;
use crate::storage::ufunc::result::least_common_multiple;

/// A product whose axes have no labels.
pub fn unlabelled<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (result, chosen) = call.run()?;
    let Some(computed) = Computed::of(&result)?.filter(|computed| computed.ndim() > 0) else {
        return chosen.library.number(result).map(Some);
    };
    let axes = Axes::plain(computed.ndim());
    let resolved = chosen.resolved(&computed, axes, 1);
    chosen.library.result(&computed, resolved).map(Some)
}

/// What is known of the axis that a letter stands for.
#[derive(Clone, Copy, PartialEq)]
struct Letter {
    dim: Option<Dim>,
    halo: (usize, usize),
}

/// `einsum("ij,jk->ik", ...)`: an axis of the result has the label and halo of those its letter stands for.
pub fn einsum<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (result, chosen) = call.run()?;
    let Some(computed) = Computed::of(&result)?.filter(|computed| computed.ndim() > 0) else {
        return chosen.library.number(result).map(Some);
    };
    let mut axes = Axes::plain(computed.ndim());
    if let Some(letters) = letters_of_result(call, computed.ndim())? {
        let dims: Option<PerAxis<Dim>> = letters.iter().map(|letter| letter.dim).collect();
        axes.dims = dims.filter(|dims| fieldstone_storage::check_dims(dims).is_ok());
        axes.halo = letters.iter().map(|letter| letter.halo).collect();
        axes.aligned_index = letters.iter().map(|letter| letter.halo.0).collect();
        axes.limit(&computed.shape);
    }
    let mut alignment = 1;
    for operand in &call.positional {
        if let Ok(storage) = operand.cast::<Storage>() {
            alignment = least_common_multiple(alignment, storage.borrow().alignment);
        }
    }
    let resolved = chosen.resolved(&computed, axes, alignment);
    chosen.library.result(&computed, resolved).map(Some)
}

/// What the letters behind the arrow stand for; `None` without an arrow.
fn letters_of_result(call: &Call<'_>, ndim: usize) -> PyResult<Option<Vec<Letter>>> {
    let Some(text) = call
        .positional
        .first()
        .and_then(|text| text.cast::<PyString>().ok())
    else {
        return Ok(None);
    };
    let text = text.to_cow()?.replace(' ', "");
    let Some((inputs, output)) = text.split_once("->") else {
        return Ok(None);
    };
    let mut known: HashMap<String, Letter> = HashMap::new();
    for (subscripts, operand) in inputs.split(',').zip(&call.positional[1..]) {
        let Ok(storage) = operand.cast::<Storage>() else {
            continue;
        };
        let operand = Foreign::of_storage(storage);
        let names = names(subscripts, operand.view.ndim());
        for (axis, name) in names.into_iter().enumerate().take(operand.view.ndim()) {
            let dim = operand.axes.dims.as_ref().map(|dims| dims[axis]);
            let halo = operand.axes.halo[axis];
            let letter = known.entry(name).or_insert(Letter { dim, halo });
            if letter.dim != dim {
                letter.dim = letter
                    .dim
                    .or(dim)
                    .filter(|_| letter.dim.is_none() || dim.is_none());
            }
            letter.halo = (letter.halo.0.max(halo.0), letter.halo.1.max(halo.1));
        }
    }
    let unknown = Letter {
        dim: None,
        halo: (0, 0),
    };
    let letters = names(output, ndim)
        .iter()
        .map(|name| known.get(name).copied().unwrap_or(unknown))
        .collect::<Vec<_>>();
    Ok(Some(letters).filter(|letters| letters.len() == ndim))
}

/// A name for each axis: its letter, or how far from the end of the ellipsis it is.
fn names(subscripts: &str, ndim: usize) -> Vec<String> {
    let letters = subscripts.chars().filter(|letter| *letter != '.').count();
    let hidden = ndim.saturating_sub(letters);
    let mut names = Vec::with_capacity(ndim);
    let mut parts = subscripts.split("...");
    names.extend(parts.next().unwrap_or("").chars().map(String::from));
    if let Some(rest) = parts.next() {
        names.extend((0..hidden).rev().map(|place| place.to_string()));
        names.extend(rest.chars().map(String::from));
    }
    names
}
