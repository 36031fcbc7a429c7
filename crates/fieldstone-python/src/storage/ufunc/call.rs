//! A universal function applied element by element.

use fieldstone_storage::{Access, View};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};

use super::alike;
use super::function::Ufunc;
use super::operand::{Operand, Unlabelled, labels_of_result, operands};
use super::result;
use super::shape::{check_output, common_shape};
use crate::storage::Storage;
use crate::storage::library::{Chosen, Computed};
use crate::storage::place::Place;

/// Calls a universal function; `None` if one of the operands is to decide itself.
pub fn call<'py>(
    py: Python<'py>,
    ufunc: &Ufunc,
    inputs: &[Bound<'py, PyAny>],
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let keywords = match keywords.filter(|keywords| !keywords.is_empty()) {
        Some(keywords) => keywords.copy()?,
        None => {
            if let Some(result) = alike::call(py, ufunc, inputs)? {
                return Ok(Some(result));
            }
            PyDict::new(py)
        }
    };
    let function = &ufunc.name;
    let Some(mut inputs) = operands(inputs.iter().cloned())? else {
        return Ok(None);
    };
    let Some(mut outputs) = outputs_of(ufunc, &keywords)? else {
        return Ok(None);
    };
    let Some(mut condition) = condition_of(&keywords)? else {
        return Ok(None);
    };
    let dims = labels_of_result(
        py,
        &mut inputs,
        &mut outputs.iter_mut().flatten().collect::<Vec<_>>(),
    )?;
    let dims = dims.as_deref();
    let read: Vec<_> = inputs.iter().chain(&condition).collect();
    let written: Vec<_> = outputs.iter().flatten().collect();
    let Chosen { library, location } = Chosen::among(py, function, &read, &written)?;
    for operand in inputs.iter_mut().chain(&mut condition) {
        library.reach(py, operand)?;
    }

    let place = |operand: &Operand<'py>| operand.placed(py, function, dims, Unlabelled::Whole);
    let placed: Vec<Option<View>> = inputs.iter().map(place).collect::<PyResult<_>>()?;
    let condition_placed = condition.as_ref().map(place).transpose()?.flatten();
    let outputs_placed: Vec<Option<View>> = outputs
        .iter()
        .map(|output| output.as_ref().map_or(Ok(None), place))
        .collect::<PyResult<_>>()?;
    let shape = common_shape(py, function, dims, &placed)?;
    for output in outputs_placed.iter().flatten() {
        check_output(py, function, dims, &shape, output)?;
    }
    let shape = match outputs_placed.iter().flatten().next() {
        Some(output) => output.shape().to_vec(),
        None => shape,
    };

    let mut targets: Vec<Option<Bound<'py, PyAny>>> = outputs
        .iter()
        .map(|output| output.as_ref().map(|output| output.object.clone()))
        .collect();
    let mut arrays = Vec::with_capacity(inputs.len());
    for (input, placed) in inputs.iter().zip(&placed) {
        arrays.push(match placed {
            Some(placed) => library.operand(input, placed, Access::Read)?,
            None => input.object.clone(),
        });
    }
    if let (Some(condition), Some(placed)) = (&condition, &condition_placed) {
        let array = library.operand(condition, placed, Access::Read)?;
        keywords.set_item(intern!(py, "where"), array)?;
    }
    let mut new = Vec::new();
    if outputs.iter().any(Option::is_some) {
        let access = access_to_outputs(py, ufunc, &inputs, &outputs, &keywords)?;
        let memory = outputs.iter().zip(&outputs_placed).map(|pair| match pair {
            (Some(output), Some(placed)) => library.operand(output, placed, access),
            _ => Ok(py.None().into_bound(py)),
        });
        let memory = memory.collect::<PyResult<Vec<_>>>()?;
        keywords.set_item(intern!(py, "out"), PyTuple::new(py, memory)?)?;
    } else if !names_types(&keywords)?
        && !shape.is_empty()
        && let Some(types) = ufunc.types_of_results(py, &inputs, None, None)?
    {
        for dtype in types {
            let resolved = result::parameters(py, &shape, dtype, dims, &inputs, location.clone())?;
            new.push(resolved.allocated(py)?.into_object(py)?);
        }
        let memory = new.iter().map(|storage| {
            let placed = storage.borrow().view.clone();
            library.storage(storage, &placed, Access::Write)
        });
        let memory = memory.collect::<PyResult<Vec<_>>>()?;
        keywords.set_item(intern!(py, "out"), PyTuple::new(py, memory)?)?;
        targets = new
            .iter()
            .map(|storage| Some(storage.clone().into_any()))
            .collect();
    }

    let function = library.function(ufunc.object.bind(py))?;
    let mut computed = function.call(PyTuple::new(py, arrays)?, Some(&keywords));
    for target in targets.iter().flatten() {
        if let Ok(storage) = target.cast::<Storage>() {
            computed = storage.borrow().settled(py, library.side(), computed);
        }
    }
    let computed = computed?;
    let named = |index: usize, computed: Bound<'py, PyAny>| {
        if let Some(target) = targets.get(index).cloned().flatten() {
            return Ok(target);
        }
        let with_axes = Computed::of(&computed)?.filter(|array| array.ndim() > 0);
        let Some(computed) = with_axes else {
            return library.number(computed);
        };
        let dtype = computed.dtype.clone();
        let resolved =
            result::parameters(py, &computed.shape, dtype, dims, &inputs, location.clone())?;
        library.result(&computed, resolved)
    };
    match computed.cast::<PyTuple>() {
        Ok(several) => {
            let several = several
                .iter()
                .enumerate()
                .map(|(index, computed)| named(index, computed));
            let several = several.collect::<PyResult<Vec<_>>>()?;
            Ok(Some(PyTuple::new(py, several)?.into_any()))
        }
        Err(_) => named(0, computed).map(Some),
    }
}

/// One entry per output, if any was given; `None` if one of them is to decide itself.
pub fn outputs_of<'py>(
    ufunc: &Ufunc,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Vec<Option<Operand<'py>>>>> {
    let mut outputs = Vec::with_capacity(ufunc.outputs);
    if let Some(out) = keywords.get_item(intern!(keywords.py(), "out"))? {
        let given: Vec<Bound<'py, PyAny>> = match out.cast::<PyTuple>() {
            Ok(several) => several.iter().collect(),
            Err(_) => vec![out],
        };
        for object in given {
            if object.is_none() {
                outputs.push(None);
                continue;
            }
            let Some(output) = Operand::of(object)? else {
                return Ok(None);
            };
            outputs.push(Some(output));
        }
    }
    Ok(Some(outputs))
}

/// The keyword `where`, if it is given and no number; `None` if it is to decide itself.
pub fn condition_of<'py>(keywords: &Bound<'py, PyDict>) -> PyResult<Option<Option<Operand<'py>>>> {
    match keywords.get_item(intern!(keywords.py(), "where"))? {
        Some(condition) => Ok(Operand::of(condition)?.map(Some)),
        None => Ok(Some(None)),
    }
}

/// Whether the keywords say of which types the outputs are.
fn names_types(keywords: &Bound<'_, PyDict>) -> PyResult<bool> {
    for name in ["dtype", "signature", "sig", "casting", "subok"] {
        if keywords.contains(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an operand is no number of Python's that may be too large for the type that the others have.
fn fits_any_type(operand: &Bound<'_, PyAny>) -> bool {
    const LARGEST: i64 = i8::MAX as i64;
    !operand.is_instance_of::<PyInt>()
        || operand
            .extract::<i64>()
            .is_ok_and(|number| (0..=LARGEST).contains(&number))
}

/// What the memory of outputs is wanted for.
///
/// Every element is written, unless there is a condition, or NumPy may refuse the call before it has written anything, or
/// stop half way.
fn access_to_outputs<'py>(
    py: Python<'py>,
    ufunc: &Ufunc,
    inputs: &[Operand<'py>],
    outputs: &[Option<Operand<'py>>],
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Access> {
    let places = outputs
        .iter()
        .flatten()
        .filter_map(|output| output.array.as_ref());
    let has_copies = places
        .into_iter()
        .any(|array| matches!(array.place, Place::Pair { .. }));
    if !has_copies {
        return Ok(Access::ReadWrite);
    }
    for name in keywords.keys() {
        if !matches!(name.extract()?, "out" | "casting") {
            return Ok(Access::ReadWrite);
        }
    }
    if !inputs.iter().all(|input| fits_any_type(&input.object)) || ufunc.name == "power" {
        return Ok(Access::ReadWrite);
    }
    let casting = keywords.get_item(intern!(py, "casting"))?;
    let types = ufunc.types_of_results(py, inputs, Some(outputs), casting.as_ref())?;
    Ok(match types {
        Some(_) => Access::Write,
        None => Access::ReadWrite,
    })
}
