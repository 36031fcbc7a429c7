//! A stencil's definition: Python objects in, compiled program or exception out.
//!
//! The front end asks which free names a text has; [`lookup`] finds their objects in the scopes that Python captured, and makes
//! plain values of them. So nothing behind this file sees a Python object.

mod lookup;

use std::collections::HashMap;
use std::sync::Arc;

use fieldstone_codegen::stack::deep;
use fieldstone_script::{Parameter, ParameterKind, compile_with_warnings, mention, names, silence};
use fieldstone_stencil::diagnostic::Diagnostic;
use fieldstone_stencil::ir::Param;
use fieldstone_stencil::types::Precision;
use fieldstone_stencil::{Axes, Axis, DType, Program, Source, Span};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyTuple};

use self::lookup::Lookup;
use crate::diagnostics::{describe, exception};
use crate::ending::entered;

/// A compiled definition: what every backend runs.
#[pyclass(frozen, module = "fieldstone._core")]
pub struct Definition {
    /// The program.
    pub program: Arc<Program>,
    /// What is probably not meant, without what comments silence.
    warnings: Vec<Diagnostic>,
    /// Default values, per parameter of the program.
    pub defaults: Vec<Option<Py<PyAny>>>,
    /// Whether a parameter can be given by name only, per parameter of the program.
    pub keyword_only: Vec<bool>,
    /// What is said of an array's memory, per parameter of the program.
    pub declared: Vec<Option<Declared>>,
}

#[pymethods]
impl Definition {
    /// Name of the stencil.
    #[getter]
    fn name(&self) -> &str {
        &self.program.stencil.name
    }

    /// Names of the parameters, in order.
    #[getter]
    fn parameters(&self) -> Vec<&str> {
        let stencil = &self.program.stencil;
        (stencil.params.iter())
            .map(|param| match param {
                Param::Field(id) => stencil.field(*id).name.as_str(),
                Param::Scalar(id) => stencil.scalar(*id).name.as_str(),
            })
            .collect()
    }

    /// What it means, with every type and extent, as text.
    #[getter]
    fn ir(&self) -> String {
        fieldstone_stencil::text::print_program(&self.program)
    }

    /// What is probably not meant, one dictionary for each.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let stencil = &self.program.stencil;
        // That a parameter is not used says nothing where it may be left out for that.
        let optional: Vec<Span> = (stencil.params.iter().zip(&self.defaults))
            .filter(|(_, default)| default.as_ref().is_some_and(|value| value.is_none(py)))
            .map(|(param, _)| match param {
                Param::Field(id) => stencil.field(*id).span,
                Param::Scalar(id) => stencil.scalar(*id).span,
            })
            .collect();
        let warnings: Vec<Diagnostic> = (self.warnings.iter())
            .filter(|warning| !optional.contains(&warning.primary.span))
            .cloned()
            .collect();
        describe(py, &warnings, &stencil.sources)
    }
}

/// What an annotation says of an array's memory.
#[derive(Clone, Debug, FromPyObject)]
pub struct Declared {
    /// Layout of the axes in the order of the annotation.
    #[pyo3(item(0))]
    pub layout: Option<Vec<usize>>,
    /// Bytes to which the index that is aligned is aligned.
    #[pyo3(item(1))]
    pub alignment: usize,
    /// The parts of the annotation that say it.
    #[pyo3(item(2))]
    pub text: String,
}

/// Name, kind, default value in a tuple, whether it can be given by name only, and what is said of its memory.
type PyParameter<'py> = (
    String,
    Bound<'py, PyTuple>,
    Option<(Py<PyAny>,)>,
    bool,
    Option<Declared>,
);

/// Compiles a definition.
///
/// `source` is the text with its file, first line and indentation; `parameters` the signature with evaluated annotations;
/// `scopes` the mappings in which free names are looked up, in turn.
#[pyfunction]
#[pyo3(signature = (name, source, parameters, scopes, externals, dtypes, literal_int_precision=None, literal_float_precision=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "the facts of a definition, given by keyword"
)]
fn define<'py>(
    py: Python<'py>,
    name: String,
    source: (String, String, u32, u32),
    parameters: Vec<PyParameter<'py>>,
    scopes: Vec<Bound<'py, PyMapping>>,
    externals: Bound<'py, PyMapping>,
    dtypes: HashMap<String, String>,
    literal_int_precision: Option<u32>,
    literal_float_precision: Option<u32>,
) -> PyResult<Definition> {
    let _inside = entered(py);
    let external_names = externals.keys()?.extract()?;
    let source = to_source(source);
    let mut lookup = Lookup::new(externals);
    let environment = lookup.environment(&deep(|| names::scan(&source.text)), &scopes)?;
    let functions = lookup.reachable_functions()?;
    let kinds = (parameters.iter())
        .map(|(name, kind, ..)| {
            Ok(Parameter {
                name: name.clone(),
                kind: parameter_kind(kind)?,
            })
        })
        .collect::<PyResult<Vec<_>>>()?;
    let definition = fieldstone_script::Definition {
        name,
        source,
        parameters: kinds,
        environment,
        functions,
        externals: external_names,
        dtypes: dtypes
            .into_iter()
            .filter_map(|(name, dtype)| Some((name, DType::from_name(&dtype)?)))
            .collect(),
    };
    let precision = Precision {
        int: literal_int_precision,
        float: literal_float_precision,
    };
    let (program, warnings) = py
        .detach(|| {
            deep(|| {
                let (stencil, mut warnings) = compile_with_warnings(&definition)?;
                let program = Program::new(stencil, precision)?;
                warnings.extend(program.analysis.warnings.iter().cloned());
                mention::keep_unmentioned(&mut warnings, &program.stencil.sources);
                silence::silence(&mut warnings, &program.stencil.sources);
                Ok((program, warnings))
            })
        })
        .map_err(|diagnostics| exception(py, &diagnostics))?;
    Ok(Definition {
        program: Arc::new(program),
        warnings,
        defaults: parameters
            .iter()
            .map(|(_, _, default, ..)| default.as_ref().map(|(value,)| value.clone_ref(py)))
            .collect(),
        keyword_only: parameters.iter().map(|parameter| parameter.3).collect(),
        declared: (parameters.into_iter())
            .map(|parameter| parameter.4)
            .collect(),
    })
}

fn to_source((text, file, first_line, indent): (String, String, u32, u32)) -> Source {
    Source {
        file,
        first_line,
        indent,
        text,
    }
}

/// `("field", dtype, axes, data dimensions)`, `("scalar", dtype)`, `("missing",)`, `("wrong default", reason)` or
/// `("invalid", reason, the word that is not known, words that are, what to write)`.
fn parameter_kind(kind: &Bound<'_, PyTuple>) -> PyResult<ParameterKind> {
    let text = |n: usize| kind.get_item(n)?.extract::<String>();
    let dtype = |name: String| match DType::from_name(&name) {
        Some(dtype) => Ok(dtype),
        None => Err(ParameterKind::Invalid {
            reason: format!("`{name}` is no type of a field"),
            unknown: None,
            known: Vec::new(),
            help: None,
        }),
    };
    Ok(match text(0)?.as_str() {
        "field" => {
            let axes = text(2)?;
            let axes = Axes(Axis::ALL.map(|axis| axes.contains(&axis.to_string())));
            let data_dims = kind.get_item(3)?.extract()?;
            dtype(text(1)?).map_or_else(
                |kind| kind,
                |dtype| ParameterKind::Field {
                    dtype,
                    axes,
                    data_dims,
                },
            )
        }
        "scalar" => {
            dtype(text(1)?).map_or_else(|kind| kind, |dtype| ParameterKind::Scalar { dtype })
        }
        "missing" => ParameterKind::Missing,
        "wrong default" => ParameterKind::WrongDefault(text(1)?),
        _ => ParameterKind::Invalid {
            reason: text(1)?,
            unknown: kind.get_item(2)?.extract()?,
            known: kind.get_item(3)?.extract()?,
            help: kind.get_item(4)?.extract()?,
        },
    })
}

/// What is wrong with a word that should be the code of a warning, and what to write instead.
#[pyfunction]
fn no_warning(word: &str) -> Option<(String, String)> {
    let wrong = silence::code(word).err()?;
    Some((wrong.message, wrong.help))
}

/// Adds what this file binds to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(no_warning, module)?)?;
    module.add_class::<Definition>()?;
    module.add_function(wrap_pyfunction!(define, module)?)
}
