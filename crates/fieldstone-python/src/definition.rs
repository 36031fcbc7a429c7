//! A stencil's definition: Python objects in, compiled program or exception out.
//!
//! The front end asks which free names a text has; their objects are looked up here, in the scopes that Python captured, and
//! become plain [`Value`]s. So nothing behind this file sees a Python object.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fieldstone_script::names::{self, Names};
use fieldstone_script::{
    Environment, Function, FunctionId, Keyword, PYTHON_FUNCTION, Parameter, ParameterKind, Value,
    compile_with_warnings, mention, silence,
};
use fieldstone_stencil::diagnostic::{Category, Diagnostic, Diagnostics, Style};
use fieldstone_stencil::ir::{Literal, Param};
use fieldstone_stencil::types::Precision;
use fieldstone_stencil::{Axes, Axis, DType, Level, Program, Severity, Source, SourceMap, Span};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyModule, PyTuple, PyType};

use crate::ending::entered;
use crate::errors::raise;
use fieldstone_codegen::stack::deep;

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
    let mut lookup = Lookup {
        externals,
        functions: Vec::new(),
        known: HashMap::new(),
    };
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

/// Looks up names and keeps the functions that were found.
struct Lookup<'py> {
    externals: Bound<'py, PyMapping>,
    /// Objects with `__gtscript_function__`, in the order in which they were found.
    functions: Vec<Bound<'py, PyAny>>,
    /// By address; the objects are kept alive in `functions`.
    known: HashMap<usize, FunctionId>,
}

impl<'py> Lookup<'py> {
    /// The functions found so far and all that these call in turn.
    fn reachable_functions(&mut self) -> PyResult<Vec<Function>> {
        let mut functions = Vec::new();
        while let Some(object) = self.functions.get(functions.len()).cloned() {
            let py = object.py();
            type Facts<'py> = (
                String,
                (String, String, u32, u32),
                Vec<Bound<'py, PyMapping>>,
                Bound<'py, PyDict>,
            );
            let (name, source, scopes, defaults): Facts<'py> = object
                .call_method0(intern!(py, "__gtscript_function__"))?
                .extract()?;
            let source = to_source(source);
            let environment = self.environment(&deep(|| names::scan(&source.text)), &scopes)?;
            let defaults = (defaults.iter())
                .map(|(name, value)| Ok((name.extract()?, self.value(&value)?)))
                .collect::<PyResult<_>>()?;
            functions.push(Function {
                name,
                source,
                environment,
                defaults,
            });
        }
        Ok(functions)
    }

    fn environment(
        &mut self,
        names: &Names,
        scopes: &[Bound<'py, PyMapping>],
    ) -> PyResult<Environment> {
        let imported: HashMap<&str, &str> = names
            .externals
            .iter()
            .map(|(local, name)| (local.as_str(), name.as_str()))
            .collect();
        let mut environment = Environment::default();
        let mut missing = false;
        for path in &names.paths {
            let mut parts = path.split('.');
            let Some(root) = parts.next() else { continue };
            let object = match imported.get(root) {
                Some(name) => item(&self.externals, name)?,
                None => self.free(root, scopes)?,
            };
            let Some(object) = object else {
                missing = true;
                continue;
            };
            self.follow(path, root, object, parts, &mut environment.values)?;
        }
        if missing {
            for scope in scopes {
                let keys: Vec<String> = scope
                    .keys()?
                    .iter()
                    .filter_map(|key| key.extract().ok())
                    .collect();
                environment
                    .visible
                    .extend(keys.into_iter().filter(|key| !key.starts_with('_')));
            }
        }
        Ok(environment)
    }

    /// The object of a name that the text does not define: the innermost scope wins, externals come last.
    fn free(
        &self,
        name: &str,
        scopes: &[Bound<'py, PyMapping>],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        for scope in scopes {
            if let Some(object) = item(scope, name)? {
                return Ok(Some(object));
            }
        }
        item(&self.externals, name)
    }

    /// Follows a dotted path from its root and notes what is there, or the last object on the way.
    fn follow<'a>(
        &mut self,
        path: &str,
        root: &str,
        mut object: Bound<'py, PyAny>,
        attributes: impl Iterator<Item = &'a str>,
        values: &mut BTreeMap<String, Value>,
    ) -> PyResult<()> {
        let mut so_far = root.to_string();
        for attribute in attributes {
            let next = match object.cast::<PyDict>() {
                Ok(dict) => dict.get_item(attribute)?,
                Err(_) => object.getattr(attribute).ok(),
            };
            let Some(next) = next else {
                values.insert(so_far, self.value(&object)?);
                return Ok(());
            };
            so_far.push('.');
            so_far.push_str(attribute);
            object = next;
        }
        values.insert(path.to_string(), self.value(&object)?);
        Ok(())
    }

    /// What an object means in a stencil.
    fn value(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        let py = object.py();
        if let Ok(word) = object.getattr(intern!(py, "__gtscript_name__"))
            && let Ok(word) = word.extract::<String>()
            && let Some(keyword) = Keyword::from_name(&word)
        {
            return Ok(Value::Keyword(keyword));
        }
        if object.hasattr(intern!(py, "__gtscript_function__"))?
            && !object.is_instance_of::<PyType>()
        {
            return Ok(Value::Function(self.function(object)));
        }
        if let Some(value) = point(object)? {
            return Ok(value);
        }
        if let Some(value) = number(object)? {
            return Ok(value);
        }
        if let Some(keyword) = library_word(object) {
            return Ok(Value::Keyword(keyword));
        }
        namespace(object)
    }

    fn function(&mut self, object: &Bound<'py, PyAny>) -> FunctionId {
        *self
            .known
            .entry(object.as_ptr() as usize)
            .or_insert_with(|| {
                self.functions.push(object.clone());
                FunctionId(self.functions.len() - 1)
            })
    }
}

fn item<'py>(mapping: &Bound<'py, PyMapping>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(dict) = mapping.cast::<PyDict>() {
        return dict.get_item(name);
    }
    if mapping.contains(name)? {
        mapping.get_item(name).map(Some)
    } else {
        Ok(None)
    }
}

/// A point along an axis, `gtscript.I[0] + 2`.
fn point(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let Ok(parts) = object.getattr(intern!(object.py(), "__gtscript_point__")) else {
        return Ok(None);
    };
    let (axis, index, offset): (String, i64, i64) = parts.extract()?;
    let axis = Axis::ALL
        .into_iter()
        .find(|known| known.to_string() == axis);
    let level = match index {
        ..0 => Level::End,
        _ => Level::Start,
    };
    // Bounds that far away are refused where they are used.
    let far = 1 << 24;
    let offset = index.saturating_add(offset).clamp(-far, far) as i32;
    Ok(axis.map(|axis| Value::Point(axis, fieldstone_stencil::Bound { level, offset })))
}

/// A number: Python's are literals, NumPy's have a type; members of enumerations are their values.
fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let py = object.py();
    if object.is_instance(&py.import("enum")?.getattr("Enum")?)? {
        let value = object.getattr(intern!(py, "value"))?;
        return Ok(Some(match number(&value)? {
            Some(number) => number,
            None => Value::Unsupported {
                description: format!(
                    "a member of `{}` whose value is no number",
                    object.get_type().name()?
                ),
            },
        }));
    }
    if crate::array::is_scalar(object)? {
        let name: String = object
            .getattr(intern!(py, "dtype"))?
            .getattr(intern!(py, "name"))?
            .extract()?;
        let item = object.call_method0(intern!(py, "item"))?;
        return Ok(match (DType::from_name(&name), literal(&item)) {
            (Some(dtype), Some(literal)) => Some(Value::Typed(literal, dtype)),
            _ => Some(Value::Unsupported {
                description: format!("a NumPy scalar of type {name}"),
            }),
        });
    }
    if object.is_instance_of::<PyInt>() && literal(object).is_none() {
        return Ok(Some(Value::Unsupported {
            description: "an integer that does not fit into 64 bits".into(),
        }));
    }
    Ok(literal(object).map(Value::Literal))
}

fn literal(object: &Bound<'_, PyAny>) -> Option<Literal> {
    if let Ok(value) = object.cast::<PyBool>() {
        Some(Literal::Bool(value.is_true()))
    } else if object.is_instance_of::<PyInt>() {
        object.extract().ok().map(Literal::Int)
    } else if let Ok(value) = object.cast::<PyFloat>() {
        Some(Literal::Float(value.value()))
    } else {
        None
    }
}

/// Types and functions of Python, `math` and NumPy that gtscript has as well.
fn library_word(object: &Bound<'_, PyAny>) -> Option<Keyword> {
    let py = object.py();
    let name: String = object
        .getattr(intern!(py, "__name__"))
        .ok()?
        .extract()
        .ok()?;
    if object.is_instance_of::<PyType>() {
        let is_number = ["float", "int", "bool"].contains(&name.as_str());
        let module: String = object
            .getattr(intern!(py, "__module__"))
            .ok()?
            .extract()
            .ok()?;
        let known = module == "numpy" || module == "builtins" && is_number;
        return Keyword::from_name(&name)
            .filter(|keyword| known && matches!(keyword, Keyword::Type(_)));
    }
    let kind: String = object.get_type().name().ok()?.extract().ok()?;
    let module: Option<String> = object
        .getattr(intern!(py, "__module__"))
        .and_then(|module| module.extract())
        .ok();
    let from_library = kind == "ufunc"
        || kind == "builtin_function_or_method"
            && matches!(module.as_deref(), Some("math" | "builtins"));
    Keyword::from_library(&name).filter(|_| from_library)
}

fn namespace(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = object.py();
    let kind: String = object.get_type().name()?.extract()?;
    let named = |what: &str| -> PyResult<String> {
        let name: String = object.getattr(intern!(py, "__name__"))?.extract()?;
        Ok(format!("{what} `{name}`"))
    };
    let description = if object.is_instance_of::<PyModule>() {
        named("module")?
    } else if object.is_instance_of::<PyType>() {
        named("class")?
    } else if kind == "function" {
        return Ok(Value::Unsupported {
            description: PYTHON_FUNCTION.into(),
        });
    } else if matches!(
        kind.as_str(),
        "builtin_function_or_method" | "ufunc" | "_ArrayFunctionDispatcher"
    ) {
        let module: Option<String> = object
            .getattr(intern!(py, "__module__"))
            .ok()
            .and_then(|module| module.extract().ok());
        let module = module
            .as_deref()
            .and_then(|module| module.split('.').next());
        let description = match module {
            Some("builtins") => "a function of Python".to_string(),
            Some(module) => format!("a function of `{module}`"),
            None if kind == "ufunc" => "a function of `numpy`".to_string(),
            None => "a function".to_string(),
        };
        return Ok(Value::Unsupported { description });
    } else if kind == "SimpleNamespace"
        || object.is_instance_of::<PyDict>()
        || object.hasattr("__dataclass_fields__")?
    {
        format!("a {kind}")
    } else if kind == "ndarray" {
        return Ok(Value::Unsupported {
            description: "a NumPy array".into(),
        });
    } else if object.is_none() {
        return Ok(Value::Unsupported {
            description: "`None`".into(),
        });
    } else {
        let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) {
            "an"
        } else {
            "a"
        };
        return Ok(Value::Unsupported {
            description: format!("{article} `{kind}`"),
        });
    };
    let members = match object.cast::<PyDict>() {
        Ok(dict) => dict
            .keys()
            .iter()
            .filter_map(|key| key.extract().ok())
            .collect(),
        Err(_) => object.dir()?.extract::<Vec<String>>()?,
    };
    let members = members
        .into_iter()
        .filter(|member: &String| !member.starts_with('_'))
        .collect();
    Ok(Value::Namespace {
        description,
        members,
    })
}

/// The exception of a family of errors.
fn exception(py: Python<'_>, diagnostics: &Diagnostics) -> PyErr {
    let category = diagnostics
        .diagnostics
        .first()
        .map(|diagnostic| diagnostic.category);
    let class = match category {
        Some(Category::Syntax) => "GTScriptSyntaxError",
        Some(Category::Symbol) => "GTScriptSymbolError",
        Some(Category::DataType) => "GTScriptDataTypeError",
        Some(Category::Value) => "GTScriptValueError",
        Some(Category::Assertion) => "GTScriptAssertionError",
        Some(Category::Unsupported) => "GTScriptUnsupportedError",
        Some(Category::Definition | Category::Run) | None => "GTScriptDefinitionError",
    };
    diagnostics_error(py, class, diagnostics)
}

/// An exception of a class of `fieldstone.errors`, with the rendered text as its message and the facts in `.diagnostics`.
pub fn diagnostics_error(py: Python<'_>, class: &str, diagnostics: &Diagnostics) -> PyErr {
    let error = raise(py, class, diagnostics.to_string());
    let told = describe(py, &diagnostics.diagnostics, &diagnostics.sources)
        .and_then(|list| error.value(py).setattr("diagnostics", list))
        .and_then(|()| {
            let style = Style {
                color: true,
                width: terminal_width(py),
            };
            error
                .value(py)
                .setattr("_colored", diagnostics.render_in(style))
        });
    match told {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Columns of the terminal, as far as one is known.
fn terminal_width(py: Python<'_>) -> usize {
    py.import("shutil")
        .and_then(|module| {
            module.call_method1("get_terminal_size", ((Style::default().width, 24),))
        })
        .and_then(|size| size.getattr("columns")?.extract())
        .unwrap_or(Style::default().width)
        .clamp(60, 200)
}

/// Diagnostics as dictionaries.
fn describe<'py>(
    py: Python<'py>,
    diagnostics: &[Diagnostic],
    sources: &SourceMap,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for diagnostic in diagnostics {
        let dict = place(py, diagnostic.primary.span, sources)?;
        dict.set_item("code", diagnostic.code.to_string())?;
        dict.set_item(
            "severity",
            match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
        )?;
        dict.set_item("message", &diagnostic.message)?;
        dict.set_item("label", &diagnostic.primary.text)?;
        dict.set_item("help", &diagnostic.help)?;
        let related = PyList::empty(py);
        let labels = diagnostic
            .secondary
            .iter()
            .map(|label| (label.span, label.text.clone()));
        let calls = sources.calls(diagnostic.primary.span);
        let calls = calls.map(|call| (call.span, format!("in this call of `{}`", call.function)));
        for (span, text) in labels.chain(calls) {
            let dict = place(py, span, sources)?;
            dict.set_item("message", text)?;
            related.append(dict)?;
        }
        dict.set_item("related", related)?;
        dict.set_item("rendered", diagnostic.render(sources))?;
        list.append(dict)?;
    }
    Ok(list)
}

fn place<'py>(py: Python<'py>, span: Span, sources: &SourceMap) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let (Some(source), Some((file, start))) = (sources.get(span.source), sources.locate(span)) {
        let end = source.location(span.end);
        dict.set_item("file", file)?;
        dict.set_item("line", start.line)?;
        dict.set_item("column", start.column)?;
        dict.set_item("end_line", end.line)?;
        dict.set_item("end_column", end.column)?;
    }
    Ok(dict)
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
