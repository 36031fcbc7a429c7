//! Functions that put several arrays together.

use fieldstone_storage::{Dim, PerAxis};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::call::Call;
use super::result::{Origin, following};
use crate::errors::raise;
use crate::storage::Storage;
use crate::storage::axes::{self, Axes};
use crate::storage::foreign::Foreign;
use crate::storage::library::{Chosen, Computed};
use crate::storage::ufunc::reduction::axes_given;
use crate::storage::ufunc::result::{largest, least_common_multiple};

/// `concatenate(arrays, axis)` and the functions that are named after a direction.
pub fn concatenate<'py>(call: &mut Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(parts) = same_order(call)? else {
        return Ok(None);
    };
    let Some(first) = parts.first() else {
        return Ok(None);
    };
    let ndim = first.view.ndim();
    let mut along = None;
    if call.name()? == "concatenate" {
        let axis = call.argument(1, "axis")?;
        if axis.as_ref().is_some_and(|axis| axis.is_none()) {
            let (result, chosen) = call.run()?;
            return joined(result, &parts, &[Origin::New], &chosen).map(Some);
        }
        let axis = match axis {
            None => 0,
            Some(axis) => {
                let number = axes_given(&axis, first.labels(call.py())?)?;
                let number = number.first().copied().unwrap_or(0);
                call.replace(1, "axis", number.into_pyobject(call.py())?.into_any())?;
                number
            }
        };
        along = usize::try_from(if axis < 0 { axis + ndim as isize } else { axis }).ok();
    }
    let (result, chosen) = call.run()?;
    let origin = |axis| match along == Some(axis) {
        true => Origin::Changed(axis),
        false => Origin::Kept(axis),
    };
    let origins: Vec<_> = (0..ndim).map(origin).collect();
    joined(result, &parts, &origins, &chosen).map(Some)
}

/// `stack(arrays, axis)`.
pub fn stack<'py>(call: &mut Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(parts) = same_order(call)? else {
        return Ok(None);
    };
    let Some(first) = parts.first() else {
        return Ok(None);
    };
    let ndim = first.view.ndim() as isize;
    let axis: isize = match call.argument(1, "axis")? {
        Some(axis) => axis.extract()?,
        None => 0,
    };
    let (result, chosen) = call.run()?;
    let mut origins = Origin::all(first.view.ndim());
    // An axis that cannot be is NumPy's error to raise, and has been by now.
    let place = if axis < 0 { axis + ndim + 1 } else { axis };
    origins.insert(place.clamp(0, ndim) as usize, Origin::New);
    joined(result, &parts, &origins, &chosen).map(Some)
}

/// The storages among the arrays, after those that have their axes in another order are transposed.
fn same_order<'py>(call: &mut Call<'py>) -> PyResult<Option<Vec<Foreign<'py>>>> {
    let py = call.py();
    let Some(sequence) = call.positional.first().cloned() else {
        return Ok(None);
    };
    let mut entries: Vec<Bound<'py, PyAny>> = match sequence.cast::<Storage>() {
        // The rows of one array.
        Ok(_) => return Ok(None),
        Err(_) => match sequence.try_iter() {
            Ok(entries) => entries.collect::<PyResult<_>>()?,
            Err(_) => return Ok(None),
        },
    };
    let mut parts: Vec<Foreign<'py>> = Vec::new();
    let mut order: Option<PerAxis<Dim>> = None;
    for entry in &mut entries {
        let Ok(storage) = entry.cast::<Storage>() else {
            continue;
        };
        let mut part = Foreign::of_storage(storage);
        if let Some(own) = part.axes.dims.clone() {
            let order = order.get_or_insert_with(|| own.clone());
            if own != *order {
                let permutation: Option<Vec<usize>> = order
                    .iter()
                    .map(|dim| own.iter().position(|other| other == dim))
                    .collect();
                let Some(permutation) =
                    permutation.filter(|permutation| permutation.len() == own.len())
                else {
                    let message = format!(
                        "{}: the storages have the axes {} and {}; all must have the same",
                        call.name()?,
                        axes::show(order),
                        axes::show(&own)
                    );
                    return Err(raise(py, "DimensionsError", message));
                };
                let transposed = storage.call_method1("transpose", (permutation,))?;
                part = Foreign::of_storage(transposed.cast::<Storage>()?);
                *entry = transposed;
            }
        }
        parts.push(part);
    }
    if parts.is_empty() {
        return Ok(None);
    }
    call.positional[0] = PyList::new(py, entries)?.into_any();
    Ok(Some(parts))
}

/// A storage with the largest halo of all parts, where the axis still has one.
fn joined<'py>(
    result: Bound<'py, PyAny>,
    parts: &[Foreign<'py>],
    origins: &[Origin],
    chosen: &Chosen,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(computed) = Computed::of(&result)? else {
        return Ok(result);
    };
    let unlabelled = vec![Origin::New; computed.ndim()];
    let origins = match origins.len() == computed.ndim() {
        true => origins,
        false => &unlabelled,
    };
    let last = origins.iter().filter_map(|origin| match origin {
        Origin::Kept(axis) | Origin::Changed(axis) => Some(axis + 1),
        Origin::New => None,
    });
    let needed = last.max().unwrap_or(0);
    let mut common: Option<Axes> = None;
    let mut alignment = 1;
    for part in parts.iter().filter(|part| part.view.ndim() >= needed) {
        let axes = following(part, origins, &computed.shape);
        alignment = least_common_multiple(alignment, part.alignment);
        common = Some(match common {
            Some(common) => largest(common, &axes),
            None => axes,
        });
    }
    let Some(mut axes) = common else {
        return Ok(result);
    };
    axes.limit(&computed.shape);
    let resolved = chosen.resolved(&computed, axes, alignment);
    chosen.library.result(&computed, resolved)
}
