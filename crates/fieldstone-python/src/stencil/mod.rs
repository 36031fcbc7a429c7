//! `_core.Stencil`: a program and a backend as a callable.
//!
//! A call (`call`) goes through these steps, and nothing is written before the last check has passed:
//!
//! 1. arguments are given to parameters ([`crate::arguments`]),
//! 2. each array is described ([`crate::interface`]), checked against its parameter, and permuted to I, J, K
//!    (`operand`); memory that cannot be accessed is refused (`layout`),
//! 3. origins and domain are found and checked ([`fieldstone_codegen::domain`]), then overlaps
//!    ([`fieldstone_codegen::alias`]),
//! 4. every argument is acquired, the backend runs, written arguments are touched, every argument is released
//!    (`hooks`).
//!
//! A stencil for a device finds out which one, and copies arrays of the host there and back (`on_device`).
//!
//! Of calls that have passed, `remembered` keeps what the checks looked at: those that follow with arrays of the same shapes and
//! strides differ in addresses only, and are compared instead of checked (`wrapped`: so are xarray's objects).
//!
//! `frozen` fixes origin and domain of all calls, `ahead` compiles before the first, `inspection` is what can be asked of a
//! stencil, `explanation` what it does and what that costs.
mod ahead;
mod call;
mod explanation;
mod failure;
mod frozen;
mod graph;
mod hooks;
mod inspection;
mod layout;
mod on_device;
mod operand;
mod remembered;
mod wrapped;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fieldstone_codegen::alias::InPlace;
use fieldstone_codegen::domain::Requirement;
use fieldstone_codegen::uses::Uses;
use fieldstone_stencil::Program;
use fieldstone_stencil::ir::Param;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;

use self::frozen::FrozenStencil;
use self::graph::Graph;
use self::remembered::Remembered;
use crate::arguments::Signature;
use crate::backend::{Backend, Executor, check_backend};
use crate::cache::CacheOptions;
use crate::choices::choices;
use crate::definition::{Declared, Definition};
use crate::ending::entered;
use crate::errors::raise;
use crate::fast_math::fast_math;

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
    /// Where the parameters are used.
    uses: Uses,
    /// Per field what its annotation says of memory.
    declared: Vec<Option<Declared>>,
    /// Per field whether its layout has been warned of.
    warned: Vec<AtomicBool>,
    /// What the dims of xarray objects mean in calls of this stencil.
    dims: Option<Py<PyAny>>,
    threads: Option<usize>,
    /// Calls whose checks need not be done again.
    remembered: Remembered,
    /// To be filled with the times of compilation.
    build_info: Option<Py<PyDict>>,
}

#[pymethods]
impl Stencil {
    #[new]
    #[pyo3(signature = (definition, backend, options = None, build_info = None))]
    fn new(
        py: Python<'_>,
        definition: &Definition,
        backend: &str,
        options: Option<&Bound<'_, PyDict>>,
        build_info: Option<Py<PyDict>>,
    ) -> PyResult<Stencil> {
        let _inside = entered(py);
        let backend = Backend::find(py, backend)?;
        let mut program = definition.program.clone();
        let fast_math = fast_math(py, options)?;
        if !fast_math.is_strict() {
            Arc::make_mut(&mut program).stencil.fast_math = fast_math;
        }
        let option = |name: &str| options.map_or(Ok(None), |options| options.get_item(name));
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
            executor: Executor::new(
                py,
                backend,
                &program,
                CacheOptions::of(py, options)?,
                choices(py, options, backend.choices())?,
                check_nan(py, backend, option("check_nan")?)?,
            )?,
            backend,
            signature: Signature::new(
                py,
                &stencil.name,
                &names,
                &definition.defaults,
                &definition.keyword_only,
            ),
            field_positions: field_ids
                .clone()
                .filter_map(|id| position(Param::Field(id)))
                .collect(),
            scalar_positions: scalar_ids
                .filter_map(|id| position(Param::Scalar(id)))
                .collect(),
            fields: Requirement::of(&program),
            in_place: InPlace::of(&program),
            uses: Uses::of(&program),
            declared: field_ids
                .filter_map(|id| position(Param::Field(id)))
                .map(|position| definition.declared.get(position).cloned().flatten())
                .collect(),
            warned: stencil
                .fields
                .iter()
                .map(|_| AtomicBool::new(false))
                .collect(),
            dims: option("dims")?
                .filter(|dims| !dims.is_none())
                .map(|dims| copied(&dims).unbind()),
            threads: threads(py, option("threads")?)?,
            remembered: Remembered::default(),
            build_info,
            program,
        })
    }
}

/// A mapping as it is now; anything else as it is, which is refused later.
fn copied<'py>(mapping: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    let copy = PyDict::new(mapping.py());
    match copy.call_method1("update", (mapping,)) {
        Ok(_) => copy.into_any(),
        Err(_) => mapping.clone(),
    }
}

fn check_nan(py: Python<'_>, backend: Backend, given: Option<Bound<'_, PyAny>>) -> PyResult<bool> {
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(false);
    };
    let message = match given.extract::<bool>() {
        Ok(true) if backend != Backend::Debug => format!(
            "check_nan=True is an option of the backend 'debug', which checks every value; this stencil is for '{}'",
            backend.name()
        ),
        Ok(check) => return Ok(check),
        Err(_) => format!("check_nan is {given}, expected True or False"),
    };
    Err(raise(py, "ArgumentValueError", message))
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
            format!("threads is {}, expected a positive integer", given.repr()?),
        )),
    }
}

/// Adds what this folder binds.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_backend, module)?)?;
    module.add_class::<Stencil>()?;
    module.add_class::<FrozenStencil>()?;
    module.add_class::<Graph>()
}
