//! Arithmetic: NumPy's universal functions and the operators, forwarded to NumPy.
//!
//! Storages with labels are matched by label: each is transposed to the order of the result's labels and repeated along
//! those it lacks. Storages without labels and arrays are matched by position, as NumPy does. The result is a storage:
//! its labels are those of all operands; its origin, halo and aligned index the largest per axis; its layout that of the
//! first storage; its alignment the least common multiple of all.

use fieldstone_storage::{Dim, Layout, Spec, View};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt, PyString, PyTuple};

use super::axes::{self, Axes};
use super::foreign::{Conversion, Foreign};
use super::{CpuStorage, Storage, memory};
use crate::errors::raise;

#[pymethods]
impl Storage {
    /// Storages are compared element by element, and so cannot be keys.
    #[classattr]
    #[pyo3(name = "__hash__")]
    const HASH: Option<()> = None;

    #[pyo3(signature = (ufunc, method, *inputs, **keywords))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let keywords = keywords.map_or_else(|| Ok(PyDict::new(py)), |keywords| keywords.copy())?;
        let elementwise = ufunc.getattr("signature")?.is_none();
        let result = match method {
            "__call__" if elementwise => call(py, ufunc, inputs, &keywords)?,
            "reduce" => reduce(py, ufunc, inputs, &keywords)?,
            _ => None,
        };
        Ok(result.unwrap_or_else(|| py.NotImplemented().into_bound(py)))
    }
}

/// What a universal function is applied to or writes to.
struct Operand<'py> {
    object: Bound<'py, PyAny>,
    /// `None` for numbers, which fit everywhere.
    array: Option<Foreign<'py>>,
    is_storage: bool,
}

impl<'py> Operand<'py> {
    /// `None` for an object that has its own ideas of universal functions.
    fn of(object: Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let is_storage = object.is_instance_of::<Storage>();
        let is_number = object.is_instance_of::<PyFloat>()
            || object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyComplex>()
            || object.is_instance(&memory::numpy(py)?.getattr("generic")?)?;
        let is_known = is_storage || is_number || object.is_exact_instance_of::<PyUntypedArray>();
        if !is_known && object.hasattr("__array_ufunc__")? {
            return Ok(None);
        }
        let array = if is_number {
            None
        } else {
            Some(Foreign::of(&object, "operand", None, Conversion::Allowed)?)
        };
        Ok(Some(Self {
            object,
            array,
            is_storage,
        }))
    }

    fn dims(&self, py: Python<'_>) -> PyResult<Option<&[Dim]>> {
        self.array
            .as_ref()
            .map_or(Ok(None), |array| array.labels(py))
    }

    /// The operand as NumPy is to see it, with its axes where those of the result are.
    fn matched(
        &self,
        py: Python<'py>,
        function: &str,
        dims: Option<&[Dim]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = &self.array else {
            return Ok(self.object.clone());
        };
        let view = match (dims, array.labels(py)?) {
            (Some(dims), Some(own)) => spread(py, &array.view, own, dims)?,
            (Some(dims), None)
                if !matches!(array.view.ndim(), 0) && array.view.ndim() != dims.len() =>
            {
                let message = format!(
                    "{function}: an array of shape {:?} has no labels, so it must have the {} axes {} of the result; give \
                     it axes of one point, or labels with as_storage(data, dims=...)",
                    array.view.shape(),
                    dims.len(),
                    axes::show(dims)
                );
                return Err(raise(py, "DimensionsError", message));
            }
            _ => array.view.clone(),
        };
        memory::array_of(&view, &array.dtype, array.writeable, self.object.clone())
    }
}

/// The operands, or `None` if one of them is to decide itself.
fn operands<'py>(
    objects: impl Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Option<Vec<Operand<'py>>>> {
    objects.map(Operand::of).collect()
}

/// Puts the axes of a view where `dims` has its labels, and axes of one point where it has others.
fn spread(py: Python<'_>, view: &View, own: &[Dim], dims: &[Dim]) -> PyResult<View> {
    if let Some(extra) = own.iter().find(|dim| !dims.contains(dim)) {
        let message = format!(
            "out: it has the axes {}, but the result has an axis '{extra}' as well",
            axes::show(dims)
        );
        return Err(raise(py, "DimensionsError", message));
    }
    let order: Vec<usize> = dims
        .iter()
        .filter_map(|dim| own.iter().position(|other| other == dim))
        .collect();
    let spread = || {
        let mut view = view.transpose(&order)?;
        for (axis, dim) in dims.iter().enumerate() {
            if !own.contains(dim) {
                view = view.insert_axis(axis)?;
            }
        }
        Ok(view)
    };
    spread().map_err(|error| memory::exception(py, &error))
}

/// The labels of the result: the operands' own order if one of them has all, else I, J, K, data dimensions.
fn common_dims(py: Python<'_>, operands: &[Operand<'_>]) -> PyResult<Option<Vec<Dim>>> {
    let mut all: Vec<Dim> = Vec::new();
    let mut labelled = Vec::new();
    for operand in operands {
        if let Some(dims) = operand.dims(py)? {
            all.extend(dims);
            labelled.push(dims);
        }
    }
    all.sort_unstable();
    all.dedup();
    let complete = labelled.iter().find(|dims| dims.len() == all.len());
    Ok(if labelled.is_empty() {
        None
    } else {
        Some(complete.map_or(all, |dims| dims.to_vec()))
    })
}

fn call<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let function: String = ufunc.getattr("__name__")?.extract()?;
    let Some(inputs) = operands(inputs.iter())? else {
        return Ok(None);
    };
    let out = keywords.get_item("out")?;
    let out_objects: Vec<_> = match &out {
        Some(out) => out.cast::<PyTuple>()?.iter().collect(),
        None => Vec::new(),
    };
    let Some(outputs) = operands(
        out_objects
            .iter()
            .filter(|object| !object.is_none())
            .cloned(),
    )?
    else {
        return Ok(None);
    };
    let dims = match common_dims(py, &outputs)? {
        Some(dims) => Some(dims),
        None => common_dims(py, &inputs)?,
    };
    let dims = dims.as_deref();

    let arrays: Vec<_> = inputs
        .iter()
        .map(|input| input.matched(py, &function, dims))
        .collect::<PyResult<_>>()?;
    if let Some(condition) = keywords.get_item("where")? {
        let Some(condition) = Operand::of(condition)? else {
            return Ok(None);
        };
        keywords.set_item("where", condition.matched(py, &function, dims)?)?;
    }
    if out.is_some() {
        let mut outputs = outputs.iter();
        let matched: Vec<_> = out_objects
            .iter()
            .map(
                |object| match outputs.next().filter(|_| !object.is_none()) {
                    Some(output) => output.matched(py, &function, dims),
                    None => Ok(object.clone()),
                },
            )
            .collect::<PyResult<_>>()?;
        keywords.set_item("out", PyTuple::new(py, matched)?)?;
    }
    let result = ufunc.call(PyTuple::new(py, arrays)?, Some(keywords))?;
    let storages: Vec<&Operand<'py>> = inputs.iter().filter(|input| input.is_storage).collect();
    let given = |index: usize| {
        out_objects
            .get(index)
            .filter(|object| !object.is_none())
            .cloned()
    };
    let named = |index: usize, result: Bound<'py, PyAny>| match given(index) {
        Some(object) => Ok(object),
        None => as_result(py, result, dims, &storages),
    };
    match result.cast::<PyTuple>() {
        Ok(results) => {
            let results: Vec<_> = results
                .iter()
                .enumerate()
                .map(|(index, result)| named(index, result))
                .collect::<PyResult<_>>()?;
            Ok(Some(PyTuple::new(py, results)?.into_any()))
        }
        Err(_) => named(0, result).map(Some),
    }
}

/// A storage of what NumPy computed.
fn as_result<'py>(
    py: Python<'py>,
    result: Bound<'py, PyAny>,
    dims: Option<&[Dim]>,
    storages: &[&Operand<'py>],
) -> PyResult<Bound<'py, PyAny>> {
    let Ok(array) = result.cast::<PyUntypedArray>() else {
        return Ok(result);
    };
    let shape = array.shape();
    let mut axes = Axes {
        dims: dims.map(<[Dim]>::to_vec),
        halo: vec![(0, 0); shape.len()],
        explicit_origin: None,
        aligned_index: vec![0; shape.len()],
        layout: Layout::c(shape.len()),
    };
    let mut origin = vec![0; shape.len()];
    let mut alignment = 1;
    for (number, operand) in storages.iter().enumerate() {
        let Some(foreign) = &operand.array else {
            continue;
        };
        let places = places(py, foreign, dims, shape.len())?;
        for (axis, &place) in places.iter().enumerate() {
            let (lower, upper) = foreign.axes.halo[axis];
            let halo = &mut axes.halo[place];
            *halo = (halo.0.max(lower), halo.1.max(upper));
            axes.aligned_index[place] =
                axes.aligned_index[place].max(foreign.axes.aligned_index[axis]);
            origin[place] = origin[place].max(foreign.axes.origin()[axis]);
        }
        alignment = least_common_multiple(alignment, foreign.alignment);
        if number == 0 {
            axes.layout = layout_like(foreign, &places, shape.len());
        }
    }
    for (axis, &size) in shape.iter().enumerate() {
        let (lower, upper) = axes.halo[axis];
        axes.halo[axis] = (lower.min(size), upper.min(size - lower.min(size)));
        axes.aligned_index[axis] = axes.aligned_index[axis].min(size);
        origin[axis] = origin[axis].min(size);
    }
    if axes
        .halo
        .iter()
        .zip(&origin)
        .any(|(&(lower, _), &origin)| lower != origin)
    {
        axes.explicit_origin = Some(origin);
    }
    let spec = Spec {
        shape: shape.to_vec(),
        itemsize: array.dtype().itemsize(),
        layout: axes.layout.clone(),
        alignment,
        aligned_index: axes.aligned_index.clone(),
    };
    let source = memory::view_of(array)?;
    let (view, keeper) = if alignment == 1 && source.layout() == spec.layout {
        (source, Some(result.clone().unbind()))
    } else {
        let view = memory::allocate(py, &spec, false)?;
        memory::assign(&source, &array.dtype(), &view, &array.dtype())?;
        (view, None)
    };
    let storage = Storage {
        view,
        dtype: array.dtype().unbind(),
        axes,
        alignment,
        writeable: true,
        keeper,
    };
    Ok(storage.into_object(py)?.into_any())
}

/// For each axis of an operand, which axis of the result it is.
fn places(
    py: Python<'_>,
    foreign: &Foreign<'_>,
    dims: Option<&[Dim]>,
    ndim: usize,
) -> PyResult<Vec<usize>> {
    let own = foreign.view.ndim();
    Ok(match (dims, foreign.labels(py)?) {
        (Some(dims), Some(labels)) => labels
            .iter()
            .filter_map(|label| dims.iter().position(|dim| dim == label))
            .collect(),
        _ => (ndim.saturating_sub(own)..ndim).collect(),
    })
}

/// The layout of an operand, the axes it lacks being outermost.
fn layout_like(foreign: &Foreign<'_>, places: &[usize], ndim: usize) -> Layout {
    let mut order: Vec<usize> = (0..ndim).filter(|axis| !places.contains(axis)).collect();
    order.extend(
        foreign
            .axes
            .layout
            .order()
            .into_iter()
            .filter_map(|axis| places.get(axis)),
    );
    Layout::from_order(&order).unwrap_or_else(|_| Layout::c(ndim))
}

fn least_common_multiple(first: usize, second: usize) -> usize {
    let (mut a, mut b) = (first, second);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    first / a * second
}

fn reduce<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let function: String = ufunc.getattr("__name__")?.extract()?;
    let Some(inputs) = operands(inputs.iter())? else {
        return Ok(None);
    };
    let Some(Operand {
        array: Some(source),
        ..
    }) = inputs.first()
    else {
        return Ok(None);
    };
    let ndim = source.view.ndim();
    let dims = source.labels(py)?;
    let gone = reduced_axes(keywords, dims, ndim)?;
    let keepdims = keywords
        .get_item("keepdims")?
        .map_or(Ok(false), |keep| keep.is_truthy())?;
    let kept = dims.map(|dims| {
        let stays = |axis: &usize| keepdims || !gone.contains(axis);
        (0..ndim)
            .filter(stays)
            .map(|axis| dims[axis])
            .collect::<Vec<_>>()
    });
    if let Some(condition) = keywords.get_item("where")? {
        let Some(condition) = Operand::of(condition)? else {
            return Ok(None);
        };
        keywords.set_item("where", condition.matched(py, &function, dims)?)?;
    }
    let mut target = None;
    if let Some(out) = keywords.get_item("out")? {
        let object = out
            .cast::<PyTuple>()
            .map_or(Ok(out.clone()), |out| out.get_item(0))?;
        if object.is_none() {
            keywords.del_item("out")?;
        } else {
            let Some(operand) = Operand::of(object.clone())? else {
                return Ok(None);
            };
            keywords.set_item("out", (operand.matched(py, &function, kept.as_deref())?,))?;
            target = Some(object);
        }
    }
    let array = inputs[0].matched(py, &function, dims)?;
    let result = ufunc.getattr("reduce")?.call((array,), Some(keywords))?;
    if target.is_some() {
        return Ok(target);
    }
    let Ok(array) = result.cast::<PyUntypedArray>() else {
        return Ok(Some(result));
    };
    reduced(py, array, source, &gone, keepdims).map(|storage| Some(storage.into_any()))
}

/// The axes along which to reduce; replaces labels by numbers in the keywords.
fn reduced_axes(
    keywords: &Bound<'_, PyDict>,
    dims: Option<&[Dim]>,
    ndim: usize,
) -> PyResult<Vec<usize>> {
    let py = keywords.py();
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
                py,
                "DimensionsError",
                format!("axis: the storage has no axis '{label}'; its labels are {own}"),
            )
        })
    };
    let given: Option<Vec<isize>> = match keywords.get_item("axis")? {
        None => Some(vec![0]),
        Some(axis) if axis.is_none() => None,
        Some(axis) if axis.is_instance_of::<PyTuple>() => Some(
            axis.try_iter()?
                .map(|entry| number(&entry?))
                .collect::<PyResult<_>>()?,
        ),
        Some(axis) => Some(vec![number(&axis)?]),
    };
    let Some(given) = given else {
        return Ok((0..ndim).collect());
    };
    keywords.set_item("axis", PyTuple::new(py, &given)?)?;
    // An axis that is not there is NumPy's error to raise.
    Ok(given
        .into_iter()
        .filter_map(|axis| usize::try_from(if axis < 0 { axis + ndim as isize } else { axis }).ok())
        .collect())
}

fn reduced<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyUntypedArray>,
    source: &Foreign<'py>,
    gone: &[usize],
    keepdims: bool,
) -> PyResult<Bound<'py, CpuStorage>> {
    let mut axes = source.axes.clone();
    for axis in (0..source.view.ndim())
        .rev()
        .filter(|axis| gone.contains(axis))
    {
        if keepdims {
            axes.halo[axis] = (0, 0);
            axes.aligned_index[axis] = 0;
            if let Some(origin) = &mut axes.explicit_origin {
                origin[axis] = 0;
            }
        } else {
            axes.drop_axis(axis);
        }
    }
    let spec = Spec {
        shape: array.shape().to_vec(),
        itemsize: array.dtype().itemsize(),
        layout: axes.layout.clone(),
        alignment: source.alignment,
        aligned_index: axes.aligned_index.clone(),
    };
    let view = memory::allocate(py, &spec, false)?;
    memory::assign(
        &memory::view_of(array)?,
        &array.dtype(),
        &view,
        &array.dtype(),
    )?;
    let alignment = source.alignment;
    Storage {
        view,
        dtype: array.dtype().unbind(),
        axes,
        alignment,
        writeable: true,
        keeper: None,
    }
    .into_object(py)
}

/// Gives storages the operators that NumPy has for whoever has universal functions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let mixin = py
        .import("numpy.lib.mixins")?
        .getattr("NDArrayOperatorsMixin")?;
    let storage = py.get_type::<Storage>();
    for name in mixin.getattr("__dict__")?.try_iter()? {
        let name = name?;
        let operator = mixin.getattr(name.cast::<PyString>()?)?;
        if operator.is_callable() && operator.hasattr("__qualname__")? {
            storage.setattr(name.cast::<PyString>()?, operator)?;
        }
    }
    Ok(())
}
