//! Functions that drop the axes they run along.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::call::Call;
use super::result::{Origin, ndim_of_result, with_origins};
use super::table::Axis;
use crate::array;
use crate::storage::foreign::Foreign;
use crate::storage::ufunc::function::Ufunc;
use crate::storage::ufunc::reduction::{axes_given, reduce};

/// `sum`, `any` and the others that are the reduction of a universal function.
pub fn universal<'py>(call: &Call<'py>, ufunc: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = call.py();
    if call.source().is_none() {
        return Ok(None);
    }
    if call.positional.len() > 4 {
        return call.run().map(|(result, _)| Some(result));
    }
    // The order of the arguments of sum and prod; the others have no dtype.
    let has_dtype = matches!(ufunc, "add" | "multiply");
    let names: &[&str] = if has_dtype {
        &["a", "axis", "dtype", "out"]
    } else {
        &["a", "axis", "out", "keepdims"]
    };
    let keywords = PyDict::new(py);
    for (name, argument) in names.iter().zip(&call.positional).skip(1) {
        keywords.set_item(name, argument)?;
    }
    for (name, argument) in &call.keywords {
        // What NumPy's functions have for arguments that were not given.
        if !argument
            .get_type()
            .name()?
            .to_string_lossy()
            .starts_with("_NoValue")
        {
            keywords.set_item(name, argument)?;
        }
    }
    if !keywords.contains("axis")? {
        keywords.set_item("axis", py.None())?;
    }
    if !has_dtype && matches!(ufunc, "logical_or" | "logical_and") {
        keywords.set_item("dtype", py.get_type::<pyo3::types::PyBool>())?;
    }
    let ufunc = Ufunc::of(&array::numpy(py)?.getattr(ufunc)?)?;
    reduce(
        py,
        &ufunc,
        &PyTuple::new(py, &call.positional[..1])?,
        &keywords,
    )
}

/// Where functions that are asked for quantiles take the argument `axis`.
const AFTER_QUANTILES: usize = 2;

/// Any other reduction.
pub fn apply<'py>(
    call: &mut Call<'py>,
    position: usize,
    default: Axis,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(source) = call.source().map(Foreign::of_storage) else {
        return Ok(None);
    };
    let gone = axes(call, position, default, &source)?;
    let several = match position {
        AFTER_QUANTILES => call.argument(1, "q")?,
        _ => None,
    };
    let (result, chosen) = call.run()?;
    let ndim = source.view.ndim();
    let Some(own) = ndim_of_result(&result)? else {
        return chosen.library.number(result).map(Some);
    };
    let mut origins: Vec<Origin> = (0..ndim)
        .filter(|axis| !gone.contains(axis))
        .map(Origin::Kept)
        .collect();
    // Several quantiles come first.
    let extra = match several {
        Some(quantiles) => array::ndim_of(&quantiles)?,
        None => 0,
    };
    // Where the axes stay, they have one point.
    if own == ndim + extra {
        let origin = |axis| match gone.contains(&axis) {
            true => Origin::Changed(axis),
            false => Origin::Kept(axis),
        };
        origins = (0..ndim).map(origin).collect();
    }
    origins.splice(..0, std::iter::repeat_n(Origin::New, extra));
    with_origins(result, &source, &origins, &chosen).map(Some)
}

/// The axes that the argument `axis` names; labels are replaced by numbers.
pub fn axes<'py>(
    call: &mut Call<'py>,
    position: usize,
    default: Axis,
    source: &Foreign<'py>,
) -> PyResult<Vec<usize>> {
    let ndim = source.view.ndim();
    let given = call.argument(position, "axis")?;
    let Some(given) = given else {
        return Ok(match default {
            Axis::All => (0..ndim).collect(),
            Axis::Number(axis) => usize::try_from(axis + ndim as isize).into_iter().collect(),
        });
    };
    if given.is_none() {
        return Ok((0..ndim).collect());
    }
    let numbers = axes_given(&given, source.labels(call.py())?)?;
    let is_one = !given.is_instance_of::<PyTuple>() && numbers.len() == 1;
    let argument = match is_one {
        true => numbers[0].into_pyobject(call.py())?.into_any(),
        false => PyTuple::new(call.py(), &numbers)?.into_any(),
    };
    call.replace(position, "axis", argument)?;
    Ok(numbers
        .into_iter()
        .filter_map(|axis| usize::try_from(if axis < 0 { axis + ndim as isize } else { axis }).ok())
        .collect())
}
