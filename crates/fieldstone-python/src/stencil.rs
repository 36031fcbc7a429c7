//! `_core.Stencil`: a program and a backend as a callable.
//!
//! A call goes through these steps, and nothing is written before the last check has passed:
//!
//! 1. arguments are given to parameters ([`crate::arguments`]),
//! 2. each array is described ([`crate::interface`]), checked against its parameter, and permuted to I, J, K,
//! 3. origins and domain are found and checked ([`fieldstone_codegen::domain`]), then overlaps
//!    ([`fieldstone_codegen::alias`]),
//! 4. every argument is acquired, the backend runs, written arguments are touched, every argument is released.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fieldstone_codegen::alias::{self, Footprint, InPlace};
use fieldstone_codegen::call::{Call, FieldArgument, ScalarArgument};
use fieldstone_codegen::domain::{self, Array, Requirement};
use fieldstone_codegen::error::CallError;
use fieldstone_device::Pool;
use fieldstone_stencil::ir::Param;
use fieldstone_stencil::{Axis, Program};
use fieldstone_storage::Dim;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use crate::arguments::{self, Arguments, Keywords, Signature};
use crate::backend::{Backend, Executor};
use crate::definition::Definition;
use crate::errors::raise;
use crate::interface::{Description, Hooks};
use crate::numpy_backend::within;
use crate::storage::describe;

/// Per field of a call; most stencils have no more fields than this.
type PerField<T> = SmallVec<[T; 8]>;

/// A compiled stencil.
#[pyclass(subclass, frozen, module = "fieldstone._core")]
pub struct Stencil {
    program: Arc<Program>,
    backend: Backend,
    executor: Executor,
    signature: Signature,
    /// For each field and each scalar its position in the signature.
    field_positions: Vec<usize>,
    scalar_positions: Vec<usize>,
    fields: Vec<Requirement>,
    in_place: InPlace,
    /// Per field whether its layout has been warned of.
    warned: Vec<AtomicBool>,
    /// What the dims of xarray objects mean in calls of this stencil.
    dims: Option<Py<PyAny>>,
    threads: Option<usize>,
}

/// An origin for every field, and a domain: what [`Stencil::freeze`] fixes.
struct Place {
    origins: Vec<[isize; 3]>,
    domain: [usize; 3],
}

/// An array argument, along I, J, K.
struct Operand<'py> {
    /// Address of the element at index 0.
    pointer: *mut u8,
    strides: [isize; 3],
    array: Array,
    hooks: Option<Box<Hooks<'py>>>,
    /// Owner of the memory, if it is not the argument.
    _keep: Option<Bound<'py, PyAny>>,
}

impl Operand<'_> {
    /// Stands for `None` where the stencil does not access the field.
    fn absent() -> Self {
        Operand {
            pointer: std::ptr::null_mut(),
            strides: [0; 3],
            array: Array::ABSENT,
            hooks: None,
            _keep: None,
        }
    }

    fn argument(&self, origin: &[isize; 3]) -> FieldArgument {
        let offset: isize = (0..3)
            .map(|n| origin[n].wrapping_mul(self.strides[n]))
            .sum();
        FieldArgument {
            pointer: self.pointer.wrapping_offset(offset),
            strides: self.strides,
            lower: origin.map(|points| points.max(0) as usize),
            upper: std::array::from_fn(|n| {
                (self.array.shape[n] as isize - origin[n]).max(0) as usize
            }),
        }
    }

    fn footprint(&self, field: &Requirement, origin: &[isize; 3], domain: [usize; 3]) -> Footprint {
        let at = |index: [isize; 3]| {
            let offset: isize = (0..3).map(|n| index[n].wrapping_mul(self.strides[n])).sum();
            (self.pointer.addr() as isize).wrapping_add(offset)
        };
        let extent = field.extent.0;
        Footprint {
            origin: at(*origin),
            start: at(std::array::from_fn(|n| origin[n] - extent[n].0 as isize)),
            shape: std::array::from_fn(|n| {
                if field.axes.0[n] {
                    (domain[n] as isize + (extent[n].0 + extent[n].1) as isize).max(0) as usize
                } else {
                    1
                }
            }),
            strides: self.strides,
            itemsize: field.dtype.size(),
        }
    }
}

#[pymethods]
impl Stencil {
    #[new]
    #[pyo3(signature = (definition, backend, options = None))]
    fn new(
        py: Python<'_>,
        definition: &Definition,
        backend: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stencil> {
        let backend = Backend::find(py, backend)?;
        let program = definition.program.clone();
        let option = |name: &str| options.map_or(Ok(None), |options| options.get_item(name));
        let rebuild = option("rebuild")?.map_or(Ok(false), |rebuild| rebuild.is_truthy())?;
        let stencil = &program.stencil;
        let position = |wanted: Param| stencil.params.iter().position(|param| *param == wanted);
        let names: Vec<&str> = stencil
            .params
            .iter()
            .map(|param| match param {
                Param::Field(id) => stencil.field(*id).name.as_str(),
                Param::Scalar(id) => stencil.scalar(*id).name.as_str(),
            })
            .collect();
        let field_ids = (0..stencil.fields.len() as u32).map(fieldstone_stencil::ir::FieldId);
        let scalar_ids = (0..stencil.scalars.len() as u32).map(fieldstone_stencil::ir::ScalarId);
        Ok(Stencil {
            executor: Executor::new(py, backend, &program, rebuild)?,
            backend,
            signature: Signature::new(
                py,
                &stencil.name,
                &names,
                &definition.defaults,
                &definition.keyword_only,
            ),
            field_positions: field_ids
                .filter_map(|id| position(Param::Field(id)))
                .collect(),
            scalar_positions: scalar_ids
                .filter_map(|id| position(Param::Scalar(id)))
                .collect(),
            fields: Requirement::of(&program),
            in_place: InPlace::of(&program),
            warned: stencil
                .fields
                .iter()
                .map(|_| AtomicBool::new(false))
                .collect(),
            dims: option("dims")?
                .filter(|dims| !dims.is_none())
                .map(Bound::unbind),
            threads: threads(py, option("threads")?)?,
            program,
        })
    }

    /// The backend's name, without alias.
    #[getter]
    fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// Name of the definition.
    #[getter]
    fn name(&self) -> &str {
        &self.program.stencil.name
    }

    /// `(name, dtype, axes, reads, writes, extent)` of every field, in the order of the signature.
    fn _fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut order: Vec<usize> = (0..self.fields.len()).collect();
        order.sort_by_key(|n| self.field_positions[*n]);
        let describe = |n: usize| {
            let field = &self.fields[n];
            let axes: Vec<String> = field.axes.iter().map(|axis| axis.to_string()).collect();
            let axes = PyTuple::new(py, axes)?;
            let extent = (field.extent.0[0], field.extent.0[1], field.extent.0[2]);
            (
                &field.name,
                field.dtype.name(),
                axes,
                field.reads,
                field.writes,
                extent,
            )
                .into_pyobject(py)
        };
        order.into_iter().map(describe).collect()
    }

    /// `(name, dtype)` of every scalar parameter.
    fn _scalars(&self) -> Vec<(&str, &'static str)> {
        let scalars = self.program.stencil.scalars.iter();
        scalars
            .map(|scalar| (scalar.name.as_str(), scalar.dtype.name()))
            .collect()
    }

    /// Levels a domain needs.
    #[getter]
    fn _min_levels(&self) -> usize {
        self.program.analysis.min_levels
    }

    /// Whether a computation is FORWARD or BACKWARD.
    #[getter]
    fn _sequential(&self) -> bool {
        let mut computations = self.program.stencil.computations.iter();
        computations.any(|computation| computation.order != fieldstone_stencil::ir::Order::Parallel)
    }

    /// One of the forms that the stencil has on its way to the machine.
    fn _inspect(&self, py: Python<'_>, form: &str) -> PyResult<String> {
        self.executor.inspect(py, &self.program, form)
    }

    /// For each layout called so far whether its code was in the cache, and the seconds it took to get it.
    #[getter]
    fn _compilations(&self) -> Vec<(bool, f64)> {
        self.executor.compilations()
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.call(args, kwargs, None)
    }

    /// Fixes origin and domain.
    #[pyo3(signature = (*, origin, domain))]
    fn freeze(
        slf: &Bound<'_, Self>,
        origin: &Bound<'_, PyAny>,
        domain: &Bound<'_, PyAny>,
    ) -> PyResult<FrozenStencil> {
        let stencil = slf.get();
        let mut origins: PerField<_> = SmallVec::from_elem(None, stencil.fields.len());
        arguments::origins(&stencil.fields, origin, &mut origins)?;
        let missing = |n: usize| {
            raise(
                slf.py(),
                "OriginError",
                format!(
                    "freeze: origin has no entry for argument '{}'; expected one for every field, or for '_all_'",
                    stencil.fields[n].name
                ),
            )
        };
        let origins = origins.into_iter().enumerate();
        Ok(FrozenStencil {
            place: Place {
                origins: origins
                    .map(|(n, origin)| origin.ok_or_else(|| missing(n)))
                    .collect::<PyResult<_>>()?,
                domain: arguments::domain(domain)?,
            },
            stencil: slf.clone().unbind(),
        })
    }
}

fn threads(py: Python<'_>, given: Option<Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(None);
    };
    match given.extract::<usize>() {
        Ok(threads) if threads > 0 => Ok(Some(threads)),
        _ => Err(raise(
            py,
            "ArgumentValueError",
            format!("threads is {given}, expected a positive integer"),
        )),
    }
}

impl Stencil {
    fn call<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        fixed: Option<&Place>,
    ) -> PyResult<()> {
        let py = args.py();
        let (arguments, keywords) = self.signature.bind(args, kwargs)?;
        let Some(times) = &keywords.exec_info else {
            return self.run(py, &arguments, &keywords, fixed);
        };
        stamp(times, "call_start_time")?;
        stamp(times, "call_run_start_time")?;
        self.run(py, &arguments, &keywords, fixed)?;
        stamp(times, "call_run_end_time")?;
        stamp(times, "call_end_time")?;
        let module = py.import(intern!(py, "fieldstone.gtscript.exec_info"))?;
        module.call_method1(intern!(py, "aggregate"), (times, self.name()))?;
        Ok(())
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'py>,
        keywords: &Keywords<'py>,
        fixed: Option<&Place>,
    ) -> PyResult<()> {
        let operands = self.operands(py, arguments, keywords.validate)?;
        let scalars = self.scalars(arguments)?;
        let (origins, domain) = match fixed {
            None => self.place(py, &operands, keywords)?,
            Some(place) if keywords.origin.is_none() && keywords.domain.is_none() => {
                (SmallVec::from_slice(&place.origins), place.domain)
            }
            Some(_) => {
                let message = "origin and domain of a frozen stencil are fixed; call the stencil itself to choose others";
                return Err(raise(py, "ArgumentTypeError", message));
            }
        };
        if keywords.validate {
            self.check(&operands, &origins, domain)
                .map_err(|error| call_error(py, &error))?;
        }
        let fields: PerField<FieldArgument> = operands
            .iter()
            .zip(&origins)
            .map(|(operand, origin)| operand.argument(origin))
            .collect();
        let call = Call {
            fields: &fields,
            scalars: &scalars,
            domain,
            threads: self.threads.unwrap_or_else(|| Pool::global().threads()),
        };
        self.protocol(py, &operands, domain, || {
            if let Some(times) = &keywords.exec_info {
                times.set_item("domain", <(usize, usize, usize)>::from(domain))?;
                times.set_item("origin", self.origins_by_name(py, &origins)?)?;
                stamp(times, "run_start_time")?;
            }
            if !domain.contains(&0) {
                // SAFETY: the checks have shown that every access lies in the memory the arguments describe, which live
                // until the call returns; without them that is what the caller has promised.
                unsafe { self.executor.run(py, &call, &origins)? };
            }
            keywords
                .exec_info
                .as_ref()
                .map_or(Ok(()), |times| stamp(times, "run_end_time"))
        })
    }

    /// Acquires every argument, runs, touches the written ones and releases every one that was acquired.
    fn protocol(
        &self,
        py: Python<'_>,
        operands: &[Operand<'_>],
        domain: [usize; 3],
        run: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        if operands.iter().all(|operand| operand.hooks.is_none()) {
            return run();
        }
        let mut first_error = None;
        let mut note = |result: PyResult<()>| {
            if let Err(error) = result {
                match &first_error {
                    None => first_error = Some(error),
                    Some(_) => error.write_unraisable(py, None),
                }
                return false;
            }
            true
        };
        let mut acquired = 0;
        for operand in operands {
            if !note(call_hook(operand, |hooks| &hooks.acquire)) {
                break;
            }
            acquired += 1;
        }
        if acquired == operands.len() && note(run()) && !domain.contains(&0) {
            for (field, operand) in self.fields.iter().zip(operands) {
                if field.writes {
                    note(call_hook(operand, |hooks| &hooks.touch));
                }
            }
        }
        for operand in &operands[..acquired] {
            note(call_hook(operand, |hooks| &hooks.release));
        }
        first_error.map_or(Ok(()), Err)
    }

    fn operands<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'py>,
        validate: bool,
    ) -> PyResult<PerField<Operand<'py>>> {
        let dims = self.dims.as_ref().map(|dims| dims.bind(py));
        let mut operands = PerField::new();
        for (n, (field, position)) in self.fields.iter().zip(&self.field_positions).enumerate() {
            let Some(argument) = &arguments[*position] else {
                continue;
            };
            if argument.is_none() && !field.used() {
                operands.push(Operand::absent());
                continue;
            }
            let description = describe(&field.name, argument, dims)?;
            let operand = permute(py, field, description)?;
            if validate {
                self.check_layout(py, n, &operand)?;
            }
            operands.push(operand);
        }
        Ok(operands)
    }

    fn scalars(&self, arguments: &Arguments<'_>) -> PyResult<PerField<ScalarArgument>> {
        let scalars = self
            .program
            .stencil
            .scalars
            .iter()
            .zip(&self.scalar_positions);
        scalars
            .filter_map(|(scalar, position)| {
                arguments[*position].as_ref().map(|value| (scalar, value))
            })
            .map(|(scalar, value)| arguments::scalar(&scalar.name, scalar.dtype, value))
            .collect()
    }

    /// The origin of every field, and the domain.
    fn place(
        &self,
        py: Python<'_>,
        operands: &[Operand<'_>],
        keywords: &Keywords<'_>,
    ) -> PyResult<(PerField<[isize; 3]>, [usize; 3])> {
        let mut arrays: PerField<Array> = operands.iter().map(|operand| operand.array).collect();
        if let Some(origin) = &keywords.origin {
            let mut given: PerField<_> = SmallVec::from_elem(None, self.fields.len());
            arguments::origins(&self.fields, origin, &mut given)?;
            for (array, origin) in arrays.iter_mut().zip(given) {
                array.origin = origin.or(array.origin);
            }
        }
        let mut origins: PerField<_> = SmallVec::from_elem([0; 3], self.fields.len());
        domain::place(&self.fields, &arrays, &mut origins);
        let domain = match &keywords.domain {
            Some(domain) => arguments::domain(domain)?,
            None => domain::largest(&self.fields, &arrays, &origins)
                .map_err(|error| call_error(py, &error))?,
        };
        Ok((origins, domain))
    }

    fn check(
        &self,
        operands: &[Operand<'_>],
        origins: &[[isize; 3]],
        domain: [usize; 3],
    ) -> Result<(), CallError> {
        let arrays: PerField<Array> = operands.iter().map(|operand| operand.array).collect();
        domain::fits(
            &self.fields,
            &arrays,
            origins,
            domain,
            self.program.analysis.min_levels,
        )?;
        if domain.contains(&0) {
            return Ok(());
        }
        let footprints: PerField<Option<Footprint>> = (self.fields.iter())
            .zip(operands.iter().zip(origins))
            .map(|(field, (operand, origin))| {
                field
                    .used()
                    .then(|| operand.footprint(field, origin, domain))
            })
            .collect();
        alias::check(&self.fields, &footprints, &self.in_place)
    }

    /// Refuses memory that cannot be accessed, and warns once of memory on which every backend is slow.
    fn check_layout(&self, py: Python<'_>, n: usize, operand: &Operand<'_>) -> PyResult<()> {
        let field = &self.fields[n];
        let size = field.dtype.size();
        let long = |n: &usize| operand.array.shape[*n] > 1;
        let bits = (0..3).filter(long).fold(operand.pointer.addr(), |bits, n| {
            bits | operand.strides[n] as usize
        });
        if bits & (size - 1) != 0 && field.used() {
            let message = format!(
                "argument '{}': its elements are not aligned to their size of {size} bytes (perhaps a field of a packed \
                 record); pass a copy",
                field.name
            );
            return Err(raise(py, "ArgumentValueError", message));
        }
        let Some(stride) = (0..3)
            .filter(long)
            .map(|n| operand.strides[n].unsigned_abs())
            .min()
        else {
            return Ok(());
        };
        let factor = stride.min(CACHE_LINE) / size;
        if factor > 1
            && operand.array.shape.iter().product::<usize>() * size > SMALL
            && !self.warned[n].swap(true, Ordering::Relaxed)
        {
            let message = format!(
                "argument '{}' of stencil '{}' has no axis along which its elements are adjacent in memory: an access moves \
                 {factor} times the bytes it needs; a contiguous array runs faster",
                field.name,
                self.name()
            );
            let warning = py.import("fieldstone.errors")?.getattr("LayoutWarning")?;
            py.import("warnings")?
                .call_method1("warn", (message, warning, 1))?;
        }
        Ok(())
    }

    fn origins_by_name<'py>(
        &self,
        py: Python<'py>,
        origins: &[[isize; 3]],
    ) -> PyResult<Bound<'py, PyDict>> {
        let by_name = PyDict::new(py);
        for (field, origin) in self.fields.iter().zip(origins) {
            by_name.set_item(&field.name, within(py, field.axes, origin)?)?;
        }
        Ok(by_name)
    }
}

/// Bytes that memory moves at once, on every machine of today that this runs on.
const CACHE_LINE: usize = 64;

/// Bytes of an array whose layout makes no difference, as it stays in the nearest cache.
const SMALL: usize = 32 * 1024;

fn call_hook<'a, 'py>(
    operand: &'a Operand<'py>,
    hook: impl FnOnce(&'a Hooks<'py>) -> &'a Option<Bound<'py, PyAny>>,
) -> PyResult<()> {
    match operand
        .hooks
        .as_deref()
        .and_then(|hooks| hook(hooks).as_ref())
    {
        Some(hook) => hook.call0().map(|_| ()),
        None => Ok(()),
    }
}

fn stamp(times: &Bound<'_, PyDict>, key: &str) -> PyResult<()> {
    let py = times.py();
    times.set_item(
        key,
        py.import(intern!(py, "time"))?
            .call_method0(intern!(py, "perf_counter"))?,
    )
}

/// Checks an array against its parameter and permutes it to I, J, K.
fn permute<'py>(
    py: Python<'py>,
    field: &Requirement,
    description: Description<'py>,
) -> PyResult<Operand<'py>> {
    let rank = field.axes.len();
    if let Some(dims) = description.dims() {
        let fits = |dim: &Dim| grid_axis(*dim).is_some_and(|axis| field.axes.contains(axis));
        if dims.len() != rank || !dims.iter().all(fits) {
            return Err(wrong_dims(py, field, dims));
        }
    } else if description.rank != rank {
        return Err(wrong_rank(py, field, &description));
    }
    match &description.dtype {
        Ok(dtype) if *dtype == field.dtype => {}
        other => {
            let given = other
                .as_ref()
                .map_or_else(String::clone, ToString::to_string);
            return Err(wrong_dtype(py, field, &given));
        }
    }
    if field.writes && description.readonly {
        let message = format!(
            "argument '{}' is a read-only array, but the stencil writes it; pass a copy",
            field.name
        );
        return Err(raise(py, "ReadOnlyError", message));
    }
    let mut operand = Operand {
        pointer: description.pointer,
        ..Operand::absent()
    };
    operand.array.origin = None;
    let mut own = field.axes.iter();
    let mut axis_of = [Axis::I; 3];
    for (n, axis) in axis_of[..rank].iter_mut().enumerate() {
        *axis = match description.dims.and_then(|dims| grid_axis(dims[n])) {
            Some(axis) => axis,
            // Without dims, axes are in the order of the annotation.
            None => own.next().unwrap_or(*axis),
        };
        operand.array.shape[axis.index()] = description.shape[n];
        operand.strides[axis.index()] = description.strides[n];
    }
    let axis_of = &axis_of[..rank];
    // A halo of no points says nothing of where the domain starts.
    let halo = description
        .halo
        .filter(|halo| halo[..rank].iter().any(|pair| *pair != (0, 0)));
    if let Some(halo) = halo {
        let mut origin = [0; 3];
        for (axis, (lower, upper)) in axis_of.iter().zip(halo) {
            origin[axis.index()] = lower as isize;
            operand.array.halo[axis.index()] = upper;
        }
        operand.array.origin = Some(origin);
    }
    if let Some(given) = &description.origin {
        operand.array.origin = Some(own_origin(py, field, axis_of, given.as_slice())?);
    }
    operand.hooks = description.hooks;
    operand._keep = description.keep;
    Ok(operand)
}

/// The axis of the grid that a label means, if it is one.
fn grid_axis(dim: Dim) -> Option<Axis> {
    match dim {
        Dim::I => Some(Axis::I),
        Dim::J => Some(Axis::J),
        Dim::K => Some(Axis::K),
        Dim::Data(_) => None,
    }
}

/// The origin that an object gives for its own axes, along I, J, K; one with three entries may be along these already.
fn own_origin(
    py: Python<'_>,
    field: &Requirement,
    axis_of: &[Axis],
    given: &[isize],
) -> PyResult<[isize; 3]> {
    let mut origin = [0; 3];
    if given.len() == axis_of.len() {
        for (axis, value) in axis_of.iter().zip(given) {
            origin[axis.index()] = *value;
        }
        return Ok(origin);
    }
    field.origin(given).ok_or_else(|| {
        raise(
            py,
            "OriginError",
            format!(
                "argument '{}': its default origin {given:?} has {} entries for {} axes",
                field.name,
                given.len(),
                axis_of.len()
            ),
        )
    })
}

#[cold]
fn wrong_dims(py: Python<'_>, field: &Requirement, dims: &[Dim]) -> PyErr {
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    let expected: Vec<String> = field.axes.iter().map(|axis| axis.to_string()).collect();
    raise(
        py,
        "DimensionsError",
        format!(
            "argument '{}' has the dims ({}), expected ({}) in any order",
            field.name,
            dims.join(", "),
            expected.join(", ")
        ),
    )
}

#[cold]
fn wrong_rank(py: Python<'_>, field: &Requirement, description: &Description<'_>) -> PyErr {
    raise(
        py,
        "ShapeError",
        format!(
            "argument '{}' has {} dimension(s) (shape {:?}), expected {} along {}",
            field.name,
            description.rank,
            description.shape(),
            field.axes.len(),
            field.axes
        ),
    )
}

#[cold]
fn wrong_dtype(py: Python<'_>, field: &Requirement, given: &str) -> PyErr {
    raise(
        py,
        "DTypeError",
        format!(
            "argument '{}' has elements of type {given}, expected {} as the stencil declares it; convert the array, or declare \
             the parameter otherwise",
            field.name, field.dtype
        ),
    )
}

fn call_error(py: Python<'_>, error: &CallError) -> PyErr {
    let class = match error {
        CallError::OriginInsideExtent { .. } | CallError::OriginOutside { .. } => "OriginError",
        CallError::ShapeTooSmall { .. } => "ShapeError",
        CallError::DomainTooLarge { .. } | CallError::TooFewLevels { .. } => "DomainError",
        CallError::Overlap { .. } | CallError::SharedPoints { .. } => "AliasError",
    };
    raise(py, class, error.to_string())
}

/// A stencil with fixed origins and a fixed domain.
#[pyclass(frozen, module = "fieldstone._core")]
pub struct FrozenStencil {
    #[pyo3(get)]
    stencil: Py<Stencil>,
    place: Place,
}

#[pymethods]
impl FrozenStencil {
    /// The origin of every field, along its own axes.
    #[getter]
    fn origin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.stencil.get().origins_by_name(py, &self.place.origins)
    }

    /// The compute domain.
    #[getter]
    fn domain(&self) -> (usize, usize, usize) {
        self.place.domain.into()
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.stencil.get().call(args, kwargs, Some(&self.place))
    }
}

/// Adds what this file binds.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stencil>()?;
    module.add_class::<FrozenStencil>()
}
