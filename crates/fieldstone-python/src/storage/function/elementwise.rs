//! Functions that work element by element.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::call::Call;
use super::result::{Origin, storages};
use super::table::Operands;
use crate::storage::foreign::Foreign;
use crate::storage::ufunc::operand::{Operand, common_dims, match_condition, operands};
use crate::storage::ufunc::result::as_storage;
use crate::storage::{Storage, creation};

/// A function whose operands are matched as those of universal functions.
pub fn apply<'py>(call: &mut Call<'py>, names: Operands) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = call.py();
    let positional = call.positional.len().min(names.positional);
    let mut keys: Vec<(usize, &str)> = (0..positional).map(|place| (place, "")).collect();
    for &name in names.names {
        if call.keywords.contains(name)? {
            keys.push((usize::MAX, name));
        }
    }
    let given = |(place, name): &(usize, &str)| call.argument(*place, name);
    let given: Vec<_> = keys.iter().map(given).collect::<PyResult<_>>()?;
    // An operand that is not given, as in clip(a, None, 1).
    let (keys, given): (Vec<_>, Vec<_>) = keys
        .into_iter()
        .zip(given)
        .filter_map(|(key, operand)| Some((key, operand?)))
        .filter(|(_, operand)| !operand.is_none())
        .unzip();
    let is_storage = |operand: &Bound<'py, PyAny>| operand.is_instance_of::<Storage>();
    // where(condition) alone asks for indices.
    if !given.iter().any(is_storage)
        || (names.positional == 3 && given.len() == 1 && positional == 1)
    {
        return Ok(None);
    }
    let Some(inputs) = operands(given.into_iter())? else {
        return Ok(None);
    };
    let mut out = call.out()?;
    let outputs = match &out {
        Some(out) => match Operand::of(out.clone())? {
            Some(output) => vec![output],
            None => return Ok(None),
        },
        None => Vec::new(),
    };
    let dims = match common_dims(py, &outputs)? {
        Some(dims) => Some(dims),
        None => common_dims(py, &inputs)?,
    };
    let dims = dims.as_deref();
    for ((place, name), input) in keys.into_iter().zip(&inputs) {
        let array = input.matched_from_last(py, dims)?;
        call.replace(place, name, array)?;
    }
    if let Some(output) = outputs.first() {
        let array = output.matched_from_last(py, dims)?;
        call.keywords.set_item("out", array)?;
        call.positional.truncate(names.positional);
    }
    let result = call.run()?;
    match out.take() {
        Some(out) => Ok(Some(out)),
        None => as_storage(py, result, dims, &inputs).map(Some),
    }
}

/// `copyto(storage, values)`, with labels matched.
pub fn assign<'py>(call: &mut Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = call.py();
    let Some(target) = call.source().cloned() else {
        return Ok(None);
    };
    let Some(source) = call.argument(1, "src")? else {
        return Ok(None);
    };
    let dims = target.borrow().dims().map(<[_]>::to_vec);
    let Some(source) = Operand::of(source)? else {
        return Ok(None);
    };
    let source = source.matched_from_last(py, dims.as_deref())?;
    call.replace(1, "src", source)?;
    if let Some(condition) = call.positional.get(3).cloned() {
        call.positional.truncate(3);
        call.keywords.set_item("where", condition)?;
    }
    let keywords = call.keywords.clone();
    if !match_condition(py, &keywords, "copyto", dims.as_deref())? {
        return Ok(None);
    }
    call.run().map(Some)
}

/// A function of the first argument at each point.
pub fn shaped<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(source) = call.source().map(Foreign::of_storage) else {
        return Ok(None);
    };
    let origins = Origin::all(source.view.ndim());
    storages(call.run()?, &source, &origins).map(Some)
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
