//! From the Python objects that free names stand for to plain [`Value`]s.

use std::collections::{BTreeMap, HashMap};

use fieldstone_codegen::stack::deep;
use fieldstone_script::names::{self, Names};
use fieldstone_script::{Environment, Function, FunctionId, Keyword, PYTHON_FUNCTION, Value};
use fieldstone_stencil::ir::Literal;
use fieldstone_stencil::{Axis, DType, Level};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyModule, PyType};

use super::to_source;

/// Looks up names and keeps the functions that were found.
pub struct Lookup<'py> {
    externals: Bound<'py, PyMapping>,
    /// Objects with `__gtscript_function__`, in the order in which they were found.
    functions: Vec<Bound<'py, PyAny>>,
    /// By address; the objects are kept alive in `functions`.
    known: HashMap<usize, FunctionId>,
}

impl<'py> Lookup<'py> {
    /// A lookup that has found nothing yet.
    pub fn new(externals: Bound<'py, PyMapping>) -> Self {
        Self {
            externals,
            functions: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The functions found so far and all that these call in turn.
    pub fn reachable_functions(&mut self) -> PyResult<Vec<Function>> {
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

    /// What the names of a text stand for.
    pub fn environment(
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
