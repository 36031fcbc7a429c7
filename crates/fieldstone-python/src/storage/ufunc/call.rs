//! A universal function applied element by element.

use fieldstone_storage::{Access, Dim, View};
use numpy::PyArrayDescr;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};

use super::alike;
use super::function::Ufunc;
use super::operand::{Operand, Unlabelled, labels_of_result, operands};
use super::result;
use super::shape::{check_output, common_shape};
use crate::storage::Storage;
use crate::storage::library::{Chosen, Computed, Library};
use crate::storage::place::Place;
use crate::storage::resolve::{Location, Resolved};

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

    let placed = Placed::of(py, function, dims, (&inputs, condition.as_ref(), &outputs))?;
    let mut arrays = Vec::with_capacity(inputs.len());
    for (input, placed) in inputs.iter().zip(&placed.inputs) {
        arrays.push(match placed {
            Some(placed) => library.operand(input, placed, Access::Read)?,
            None => input.object.clone(),
        });
    }
    if let (Some(condition), Some(placed)) = (&condition, &placed.condition) {
        let array = library.operand(condition, placed, Access::Read)?;
        keywords.set_item(intern!(py, "where"), array)?;
    }
    let results = Results {
        library: &library,
        location,
        dims,
        inputs: &inputs,
    };
    let targets: Vec<Option<Bound<'py, PyAny>>> = if outputs.iter().any(Option::is_some) {
        let access = access_to_outputs(py, ufunc, &inputs, &outputs, &keywords)?;
        let memory = outputs.iter().zip(&placed.outputs).map(|pair| match pair {
            (Some(output), Some(placed)) => library.operand(output, placed, access),
            _ => Ok(py.None().into_bound(py)),
        });
        let memory = memory.collect::<PyResult<Vec<_>>>()?;
        keywords.set_item(intern!(py, "out"), PyTuple::new(py, memory)?)?;
        let object = |output: &Operand<'py>| output.object.clone();
        outputs
            .iter()
            .map(|output| output.as_ref().map(object))
            .collect()
    } else if !names_types(&keywords)?
        && !placed.shape.is_empty()
        && let Some(types) = ufunc.types_of_results(py, &inputs, None, None)?
    {
        results.allocate(types, &placed.shape, &keywords)?
    } else {
        Vec::new()
    };

    let function = library.function(ufunc.object.bind(py))?;
    let mut computed = function.call(PyTuple::new(py, arrays)?, Some(&keywords));
    for target in targets.iter().flatten() {
        if let Ok(storage) = target.cast::<Storage>() {
            computed = storage.borrow().settled(py, library.side(), computed);
        }
    }
    let computed = computed?;
    let named = |index: usize, computed| match targets.get(index).cloned().flatten() {
        Some(target) => Ok(target),
        None => results.of(computed),
    };
    let Ok(several) = computed.cast::<PyTuple>() else {
        return named(0, computed).map(Some);
    };
    let several = several.iter().enumerate();
    let several = several.map(|(index, computed)| named(index, computed));
    let several = several.collect::<PyResult<Vec<_>>>()?;
    Ok(Some(PyTuple::new(py, several)?.into_any()))
}

/// Operands with their axes in the order of the result.
struct Placed {
    inputs: Vec<Option<View>>,
    condition: Option<View>,
    outputs: Vec<Option<View>>,
    /// The shape of the result.
    shape: Vec<usize>,
}

impl Placed {
    fn of<'py>(
        py: Python<'py>,
        function: &str,
        dims: Option<&[Dim]>,
        (inputs, condition, outputs): (
            &[Operand<'py>],
            Option<&Operand<'py>>,
            &[Option<Operand<'py>>],
        ),
    ) -> PyResult<Placed> {
        let place = |operand: &Operand<'py>| operand.placed(py, function, dims, Unlabelled::Whole);
        let inputs: Vec<Option<View>> = inputs.iter().map(place).collect::<PyResult<_>>()?;
        let condition = condition.map(place).transpose()?.flatten();
        let outputs: Vec<Option<View>> = outputs
            .iter()
            .map(|output| output.as_ref().map_or(Ok(None), place))
            .collect::<PyResult<_>>()?;
        let shape = common_shape(py, function, dims, &inputs)?;
        for output in outputs.iter().flatten() {
            check_output(py, function, dims, &shape, output)?;
        }
        let shape = match outputs.iter().flatten().next() {
            Some(output) => output.shape().to_vec(),
            None => shape,
        };
        Ok(Placed {
            inputs,
            condition,
            outputs,
            shape,
        })
    }
}

/// What new results are like.
struct Results<'a, 'py> {
    library: &'a Library,
    location: Location,
    dims: Option<&'a [Dim]>,
    inputs: &'a [Operand<'py>],
}

impl<'py> Results<'_, 'py> {
    /// New storages of these types, which the function is told to write to.
    fn allocate(
        &self,
        types: Vec<Bound<'py, PyArrayDescr>>,
        shape: &[usize],
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let py = keywords.py();
        let mut memory = Vec::with_capacity(types.len());
        let mut targets = Vec::with_capacity(types.len());
        for dtype in types {
            let resolved = self.parameters(shape, dtype)?;
            let storage = resolved.allocated(py)?.into_object(py)?;
            let placed = storage.borrow().view.clone();
            memory.push(self.library.storage(&storage, &placed, Access::Write)?);
            targets.push(Some(storage.into_any()));
        }
        keywords.set_item(intern!(py, "out"), PyTuple::new(py, memory)?)?;
        Ok(targets)
    }

    /// What the function has computed in memory of its own, as a storage if it has axes.
    fn of(&self, computed: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let with_axes = Computed::of(&computed)?.filter(|array| array.ndim() > 0);
        let Some(computed) = with_axes else {
            return self.library.number(computed);
        };
        let resolved = self.parameters(&computed.shape, computed.dtype.clone())?;
        self.library.result(&computed, resolved)
    }

    fn parameters(
        &self,
        shape: &[usize],
        dtype: Bound<'py, PyArrayDescr>,
    ) -> PyResult<Resolved<'py>> {
        let location = self.location.clone();
        result::parameters(dtype.py(), shape, dtype, self.dims, self.inputs, location)
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
