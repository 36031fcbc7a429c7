//! Functions that work element by element.

use fieldstone_storage::Access;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::call::Call;
use super::result::{Origin, with_origins};
use super::table::Operands;
use crate::errors::raise;
use crate::storage::foreign::Foreign;
use crate::storage::library::{Chosen, Computed};
use crate::storage::ufunc::operand::{Operand, Unlabelled, labels_of_result, operands};
use crate::storage::ufunc::result::parameters;
use crate::storage::ufunc::shape::common_shape;
use crate::storage::{Storage, creation};

/// Where an argument stands: its position, or its name.
type Key = (usize, &'static str);

/// A function whose operands are matched as those of universal functions.
pub fn apply<'py>(call: &mut Call<'py>, names: Operands) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = call.py();
    let (keys, given) = operands_of(call, names)?;
    let is_storage = |operand: &Bound<'py, PyAny>| operand.is_instance_of::<Storage>();
    // where(condition) alone asks for indices.
    let asks_for_indices = names.names.is_empty() && given.len() == 1;
    if asks_for_indices || !given.iter().any(is_storage) {
        return Ok(None);
    }
    let Some(mut inputs) = operands(given.into_iter())? else {
        return Ok(None);
    };
    let mut output = match call.out()? {
        Some(out) => match Operand::of(out)? {
            Some(output) => Some(output),
            None => return Ok(None),
        },
        None => None,
    };
    let dims = labels_of_result(py, &mut inputs, &mut output.iter_mut().collect::<Vec<_>>())?;
    let dims = dims.as_deref();
    let read: Vec<_> = inputs.iter().collect();
    let written: Vec<_> = output.iter().collect();
    let function = call.name()?;
    let chosen = Chosen::among(py, &function, &read, &written)?;
    let library = &chosen.library;
    let mut placed = Vec::with_capacity(inputs.len());
    for ((place, name), input) in keys.into_iter().zip(&mut inputs) {
        library.reach(py, input)?;
        let view = input.placed(py, &function, dims, Unlabelled::Last)?;
        if let Some(view) = &view {
            let array = library.operand(input, view, Access::Read)?;
            call.replace(place, name, array)?;
        }
        placed.push(view);
    }
    common_shape(py, &function, dims, &placed)?;
    if let Some(output) = &output
        && let Some(view) = output.placed(py, &function, dims, Unlabelled::Last)?
    {
        let array = library.operand(output, &view, Access::ReadWrite)?;
        call.keywords.set_item("out", array)?;
        call.positional.truncate(names.positional);
    }
    let result = call.run_on(&chosen, None);
    if let Some(output) = output {
        match output.object.cast::<Storage>() {
            Ok(storage) => storage.borrow().settled(py, library.side(), result)?,
            Err(_) => result?,
        };
        return Ok(Some(output.object));
    }
    let result = result?;
    let Some(computed) = Computed::of(&result)?.filter(|computed| computed.ndim() > 0) else {
        return library.number(result).map(Some);
    };
    let dtype = computed.dtype.clone();
    let location = chosen.location.clone();
    let resolved = parameters(py, &computed.shape, dtype, dims, &inputs, location)?;
    library.result(&computed, resolved).map(Some)
}

/// The operands that were given, and where.
fn operands_of<'py>(
    call: &Call<'py>,
    names: Operands,
) -> PyResult<(Vec<Key>, Vec<Bound<'py, PyAny>>)> {
    let positional = call.positional.len().min(names.positional);
    let mut keys: Vec<Key> = (0..positional).map(|place| (place, "")).collect();
    for &name in names.names {
        if call.keywords.contains(name)? {
            keys.push((usize::MAX, name));
        }
    }
    let mut given = Vec::with_capacity(keys.len());
    for &(place, name) in &keys {
        given.push(call.argument(place, name)?);
    }
    // An operand that is not given, as in clip(a, None, 1).
    Ok(keys
        .into_iter()
        .zip(given)
        .filter_map(|(key, operand)| Some((key, operand?)))
        .filter(|(_, operand)| !operand.is_none())
        .unzip())
}

/// `copyto(storage, values, casting, where)`, with labels matched.
pub fn assign<'py>(call: &mut Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = call.py();
    let Some(target) = call.source().cloned() else {
        return Ok(None);
    };
    if !target.borrow().writeable() {
        let message = "copyto: dst is a storage of read-only memory";
        return Err(raise(py, "ReadOnlyError", message));
    }
    let Some(source) = call.argument(1, "src")? else {
        return Ok(None);
    };
    let mut keys: Vec<Key> = vec![(1, "src")];
    let mut given = vec![source];
    if let Some(condition) = call.argument(3, "where")? {
        keys.push((3, "where"));
        given.push(condition);
    }
    let Some(mut inputs) = operands(given.into_iter())? else {
        return Ok(None);
    };
    let mut output = Operand::of_storage(target.clone());
    let dims = labels_of_result(py, &mut inputs, &mut [&mut output])?;
    let dims = dims.as_deref();
    let read: Vec<_> = inputs.iter().collect();
    let chosen = Chosen::among(py, "copyto", &read, &[&output])?;
    for ((place, name), input) in keys.into_iter().zip(&mut inputs) {
        chosen.library.reach(py, input)?;
        if let Some(view) = input.placed(py, "copyto", dims, Unlabelled::Last)? {
            let array = chosen.library.operand(input, &view, Access::Read)?;
            call.replace(place, name, array)?;
        }
    }
    let result = call.run_on(&chosen, Some(target.as_any()))?;
    Ok(Some(result))
}

/// A function of the first argument at each point.
pub fn shaped<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(source) = call.source().map(Foreign::of_storage) else {
        return Ok(None);
    };
    let origins = Origin::all(source.view.ndim());
    let (result, chosen) = call.run()?;
    with_origins(result, &source, &origins, &chosen).map(Some)
}

/// A new storage that is like the first argument.
pub fn like<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = call.py();
    let Some(source) = call.source() else {
        return Ok(None);
    };
    let name = call.name()?;
    let is_full = name == "full_like";
    let first = usize::from(is_full);
    let value = match is_full {
        true => call.argument(1, "fill_value")?,
        false if name == "zeros_like" => Some(0i64.into_pyobject(py)?.into_any()),
        false if name == "ones_like" => Some(1i64.into_pyobject(py)?.into_any()),
        false => None,
    };
    let dtype = call
        .argument(1 + first, "dtype")?
        .filter(|dtype| !dtype.is_none());
    let given = |position: usize, name: &str, usual: &str| -> PyResult<bool> {
        let argument = call.argument(position, name)?;
        Ok(argument.is_some_and(|argument| {
            !argument.is_none() && argument.extract::<&str>().ok() != Some(usual)
        }))
    };
    let is_number = value
        .as_ref()
        .is_none_or(|value| crate::storage::indexing::is_scalar(value).unwrap_or(false));
    if !is_number || given(2 + first, "order", "K")? || given(4 + first, "shape", "")? {
        return shaped(call);
    }
    let storage = creation::allocate_like(
        py,
        &name,
        source.as_any(),
        dtype.as_ref(),
        value.as_ref(),
        &PyDict::new(py),
    )?;
    Ok(Some(storage.into_any()))
}
