//! Reductions, which drop the axes they run along.

use fieldstone_storage::{Access, Dim};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::call::condition_of;
use super::function::Ufunc;
use super::operand::{Operand, Unlabelled};
use super::shape::check_output;
use crate::errors::raise;
use crate::storage::function::{Origin, with_origins};
use crate::storage::library::Chosen;
use crate::storage::{Storage, axes};

/// `ufunc.reduce`; `None` if one of the operands is to decide itself.
pub fn reduce<'py>(
    py: Python<'py>,
    ufunc: &Ufunc,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let function = &ufunc.name;
    let mut objects = inputs.iter();
    let Some(Some(mut input)) = objects.next().map(Operand::of).transpose()? else {
        return Ok(None);
    };
    // NumPy's reduce takes its arguments by position, too.
    for (name, argument) in ["axis", "dtype", "out", "keepdims", "initial", "where"]
        .iter()
        .zip(objects)
    {
        keywords.set_item(name, argument)?;
    }
    let Some(mut condition) = condition_of(keywords)? else {
        return Ok(None);
    };
    let output = match out_of(keywords)? {
        Some(out) => match Operand::of(out)? {
            Some(output) => Some(output),
            None => return Ok(None),
        },
        None => None,
    };
    let read: Vec<_> = std::iter::once(&input).chain(&condition).collect();
    let written: Vec<_> = output.iter().collect();
    let chosen = Chosen::among(py, function, &read, &written)?;
    let library = &chosen.library;
    for operand in std::iter::once(&mut input).chain(&mut condition) {
        library.reach(py, operand)?;
    }
    let Some(source) = &input.array else {
        return Ok(None);
    };
    let ndim = source.view.ndim();
    let dims = source.labels(py)?;
    let gone = reduced_axes(keywords, dims, ndim)?;
    let keepdims = keywords
        .get_item(intern!(py, "keepdims"))?
        .map_or(Ok(false), |keep| keep.is_truthy())?;
    let origins: Vec<Origin> = (0..ndim)
        .filter(|axis| keepdims || !gone.contains(axis))
        .map(|axis| match gone.contains(&axis) {
            true => Origin::Changed(axis),
            false => Origin::Kept(axis),
        })
        .collect();
    let array = library.operand(&input, &source.view, Access::Read)?;
    if let Some(condition) = &condition
        && let Some(placed) = condition.placed(py, function, dims, Unlabelled::Last)?
    {
        let array = library.operand(condition, &placed, Access::Read)?;
        keywords.set_item(intern!(py, "where"), array)?;
    }
    if let Some(output) = &output {
        let kept = kept_axes(&origins);
        let kept_dims = dims.map(|dims| kept.iter().map(|&axis| dims[axis]).collect::<Vec<_>>());
        let kept_dims = kept_dims.as_deref();
        let shape: Vec<usize> = kept
            .iter()
            .map(|&axis| match gone.contains(&axis) {
                true => 1,
                false => source.view.shape()[axis],
            })
            .collect();
        if let Some(placed) = output.placed(py, function, kept_dims, Unlabelled::Whole)? {
            check_output(py, function, kept_dims, &shape, &placed)?;
            let array = library.operand(output, &placed, Access::ReadWrite)?;
            keywords.set_item(intern!(py, "out"), (array,))?;
        }
    }
    let result = library
        .function(ufunc.object.bind(py))?
        .getattr(intern!(py, "reduce"))?
        .call((array,), Some(keywords));
    if let Some(output) = output {
        match output.object.cast::<Storage>() {
            Ok(storage) => storage.borrow().settled(py, library.side(), result)?,
            Err(_) => result?,
        };
        return Ok(Some(output.object));
    }
    with_origins(result?, source, &origins, &chosen).map(Some)
}

fn kept_axes(origins: &[Origin]) -> Vec<usize> {
    let axis = |origin: &Origin| match origin {
        Origin::Kept(axis) | Origin::Changed(axis) => Some(*axis),
        Origin::New => None,
    };
    origins.iter().filter_map(axis).collect()
}

/// The output, if one was given; the keyword goes if it says that there is none.
fn out_of<'py>(keywords: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let name = intern!(keywords.py(), "out");
    let Some(out) = keywords.get_item(name)? else {
        return Ok(None);
    };
    let only = match out.cast::<PyTuple>() {
        Ok(several) => several.get_item(0)?,
        Err(_) => out,
    };
    if only.is_none() {
        keywords.del_item(name)?;
        return Ok(None);
    }
    Ok(Some(only))
}

/// The axes along which to reduce; replaces labels by numbers in the keywords.
fn reduced_axes(
    keywords: &Bound<'_, PyDict>,
    dims: Option<&[Dim]>,
    ndim: usize,
) -> PyResult<Vec<usize>> {
    let given = match keywords.get_item("axis")? {
        None => vec![0],
        Some(axis) if axis.is_none() => return Ok((0..ndim).collect()),
        Some(axis) => axes_given(&axis, dims)?,
    };
    keywords.set_item("axis", PyTuple::new(keywords.py(), &given)?)?;
    // An axis that is not there is NumPy's error to raise.
    Ok(given
        .into_iter()
        .filter_map(|axis| usize::try_from(if axis < 0 { axis + ndim as isize } else { axis }).ok())
        .collect())
}

/// The numbers of axes, of which each may be given by its label.
pub fn axes_given(given: &Bound<'_, PyAny>, dims: Option<&[Dim]>) -> PyResult<Vec<isize>> {
    let number = |entry: &Bound<'_, PyAny>| -> PyResult<isize> {
        if !entry.is_instance_of::<PyString>() {
            return entry.extract();
        }
        let label: &str = entry.extract()?;
        let place = label
            .parse::<Dim>()
            .ok()
            .and_then(|dim| dims?.iter().position(|&other| other == dim));
        place.map(|axis| axis as isize).ok_or_else(|| {
            let own = dims.map_or_else(|| "none".to_owned(), axes::show);
            raise(
                given.py(),
                "DimensionsError",
                format!("axis: the storage has no axis '{label}'; its labels are {own}"),
            )
        })
    };
    match given.cast::<PyTuple>() {
        Ok(several) => several.iter().map(|entry| number(&entry)).collect(),
        Err(_) => Ok(vec![number(given)?]),
    }
}
