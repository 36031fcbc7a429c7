//! From the arguments of a Python call to the parameters of a stencil.

use std::fmt;

use fieldstone_codegen::call::ScalarArgument;
use fieldstone_codegen::domain::Requirement;
use fieldstone_stencil::DType;
use fieldstone_stencil::suggest::closest;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

use crate::errors::raise;
use crate::interface::{describe_value, type_name};

/// The arguments of a call, in the order of the parameters.
pub type Arguments<'py> = SmallVec<[Option<Bound<'py, PyAny>>; 12]>;

/// Keywords of a call that are no parameters.
pub struct Keywords<'py> {
    /// `origin=`
    pub origin: Option<Bound<'py, PyAny>>,
    /// `domain=`
    pub domain: Option<Bound<'py, PyAny>>,
    /// `exec_info=`
    pub exec_info: Option<Bound<'py, PyDict>>,
    /// `stream=`
    pub stream: Option<Bound<'py, PyAny>>,
    /// `validate_args=`
    pub validate: bool,
}

const KEYWORDS: [&str; 5] = ["origin", "domain", "exec_info", "validate_args", "stream"];

/// The parameters of a stencil by name.
pub struct Signature {
    stencil: String,
    names: Vec<Py<PyString>>,
    defaults: Vec<Option<Py<PyAny>>>,
    /// How many parameters may be given by position.
    positional: usize,
    keywords: [Py<PyString>; 5],
}

impl Signature {
    /// The signature of a stencil: its parameters, each with its default and whether it is given by name only.
    pub fn new(
        py: Python<'_>,
        stencil: &str,
        names: &[&str],
        defaults: &[Option<Py<PyAny>>],
        keyword_only: &[bool],
    ) -> Signature {
        let intern = |name: &str| PyString::intern(py, name).unbind();
        let default = |n| {
            defaults
                .get(n)
                .and_then(Option::as_ref)
                .map(|value: &Py<PyAny>| value.clone_ref(py))
        };
        Signature {
            stencil: stencil.into(),
            names: names.iter().copied().map(intern).collect(),
            defaults: (0..names.len()).map(default).collect(),
            positional: names.len() - keyword_only.iter().filter(|only| **only).count(),
            keywords: KEYWORDS.map(intern),
        }
    }

    /// Gives each argument of a call to its parameter. Every parameter has one afterwards.
    pub fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Arguments<'py>, Keywords<'py>)> {
        let (mut arguments, keywords) = self.bind_some(args, kwargs)?;
        let py = args.py();
        for (argument, default) in arguments.iter_mut().zip(&self.defaults) {
            if argument.is_none() {
                *argument = default.as_ref().map(|value| value.bind(py).clone());
            }
        }
        if arguments.iter().any(Option::is_none) {
            return Err(self.missing(py, &arguments));
        }
        Ok((arguments, keywords))
    }

    /// Gives each argument to its parameter, where some parameters may have none.
    pub fn bind_some<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Arguments<'py>, Keywords<'py>)> {
        let py = args.py();
        if args.len() > self.positional {
            let by_name = if self.positional < self.names.len() {
                " by position"
            } else {
                ""
            };
            let problem = format!(
                "takes {} argument(s){by_name}, got {}",
                self.positional,
                args.len()
            );
            return Err(self.wrong(py, &problem));
        }
        let mut arguments: Arguments<'py> = args
            .iter_borrowed()
            .map(|value| Some(value.to_owned()))
            .collect();
        arguments.resize(self.names.len(), None);
        let mut keywords = Keywords {
            origin: None,
            domain: None,
            exec_info: None,
            stream: None,
            validate: true,
        };
        for (key, value) in kwargs.into_iter().flat_map(|kwargs| kwargs.iter()) {
            match find(&self.names, &key) {
                Some(n) if arguments[n].is_none() => arguments[n] = Some(value),
                Some(_) => return Err(self.wrong(py, &format!("got several values for '{key}'"))),
                None => self.keyword(&mut keywords, &key, value)?,
            }
        }
        Ok((arguments, keywords))
    }

    fn keyword<'py>(
        &self,
        keywords: &mut Keywords<'py>,
        key: &Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = key.py();
        let found = find(&self.keywords, key);
        if found.is_some() && value.is_none() {
            return Ok(());
        }
        match found.map(|n| KEYWORDS[n]) {
            Some("origin") => keywords.origin = Some(value),
            Some("domain") => keywords.domain = Some(value),
            Some("stream") => keywords.stream = Some(value),
            Some("exec_info") => {
                let dict = value.cast_into::<PyDict>().map_err(|error| {
                    let given = describe_value(&error.into_inner());
                    raise(
                        py,
                        "ArgumentTypeError",
                        format!("exec_info is {given}, expected a dict to fill"),
                    )
                })?;
                keywords.exec_info = Some(dict);
            }
            Some(_) => keywords.validate = value.is_truthy()?,
            None => {
                let key = key.to_string();
                let known = self.names.iter().map(ToString::to_string);
                let known: Vec<String> = known.chain(KEYWORDS.map(String::from)).collect();
                let hint = closest(&key, known.iter().map(String::as_str))
                    .map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"));
                return Err(self.wrong(py, &format!("got an unexpected argument '{key}'{hint}")));
            }
        }
        Ok(())
    }

    #[cold]
    fn missing(&self, py: Python<'_>, arguments: &Arguments<'_>) -> PyErr {
        let names: Vec<String> = self
            .names
            .iter()
            .zip(arguments)
            .filter(|(_, argument)| argument.is_none())
            .map(|(name, _)| format!("'{name}'"))
            .collect();
        self.wrong(py, &format!("got no value for {}", names.join(", ")))
    }

    #[cold]
    fn wrong(&self, py: Python<'_>, problem: &str) -> PyErr {
        let mut names: Vec<String> = self.names.iter().map(ToString::to_string).collect();
        if self.positional < names.len() {
            names.insert(self.positional, "*".into());
        }
        raise(
            py,
            "ArgumentTypeError",
            format!(
                "stencil '{}' {problem}; its parameters are: {}",
                self.stencil,
                names.join(", ")
            ),
        )
    }
}

fn find(names: &[Py<PyString>], key: &Bound<'_, PyAny>) -> Option<usize> {
    // Names in a call are interned, so that identity nearly always decides.
    if let Some(n) = names.iter().position(|name| name.as_ptr() == key.as_ptr()) {
        return Some(n);
    }
    names.iter().position(|name| key.eq(name).unwrap_or(false))
}

/// Converts a number to the type of its parameter.
pub fn scalar(name: &str, dtype: DType, value: &Bound<'_, PyAny>) -> PyResult<ScalarArgument> {
    let bits = match dtype {
        DType::Float64 => real(name, dtype, value)?.to_bits(),
        DType::Float32 => u64::from((real(name, dtype, value)? as f32).to_bits()),
        DType::Bool => u64::from(boolean(name, value)?),
        _ => integer(name, dtype, value)?,
    };
    Ok(ScalarArgument { dtype, bits })
}

fn real(name: &str, dtype: DType, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(number.value());
    }
    if has_axes(value)? {
        return Err(no_number(name, dtype, value));
    }
    value
        .extract::<f64>()
        .map_err(|_| match value.cast::<PyInt>() {
            Ok(_) => out_of_range(value.py(), name, dtype, value),
            Err(_) => no_number(name, dtype, value),
        })
}

fn boolean(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(flag) = value.cast_exact::<PyBool>() {
        return Ok(flag.is_true());
    }
    // This also takes numpy.bool.
    value
        .extract::<bool>()
        .map_err(|_| no_number(name, DType::Bool, value))
}

fn integer(name: &str, dtype: DType, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = value.py();
    if has_axes(value)? {
        return Err(no_number(name, dtype, value));
    }
    let wide: i128 = match value.cast::<PyInt>() {
        Ok(number) => number.extract::<i128>(),
        Err(_) => value
            .call_method0("__index__")
            .map_err(|_| no_number(name, dtype, value))?
            .extract::<i128>(),
    }
    .map_err(|_| out_of_range(py, name, dtype, value))?;
    let bits = 8 * dtype.size() as u32;
    let (least, most) = if dtype.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    if !(least..=most).contains(&wide) {
        return Err(out_of_range(py, name, dtype, value));
    }
    // Zero-extended: only the bytes of the type are kept.
    Ok(wide as u64 & (u64::MAX >> (64 - bits)))
}

fn has_axes(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match value.cast::<PyInt>() {
        Ok(_) => Ok(false),
        Err(_) => Ok(value
            .getattr_opt("ndim")?
            .is_some_and(|rank| rank.extract::<usize>().is_ok_and(|rank| rank > 0))),
    }
}

#[cold]
fn no_number(name: &str, dtype: DType, value: &Bound<'_, PyAny>) -> PyErr {
    let expected = match dtype {
        DType::Float32 | DType::Float64 => "a number",
        DType::Bool => "True or False",
        _ => "an integer",
    };
    raise(
        value.py(),
        "ArgumentTypeError",
        format!(
            "argument '{name}' is {}, expected {expected} for the scalar parameter of type {dtype}",
            describe_value(value)
        ),
    )
}

#[cold]
fn out_of_range(py: Python<'_>, name: &str, dtype: DType, value: &Bound<'_, PyAny>) -> PyErr {
    raise(
        py,
        "ArgumentValueError",
        format!(
            "argument '{name}' is {}, out of the range of {dtype}",
            describe_value(value)
        ),
    )
}

/// Integers of an `origin=` or `domain=`.
pub type Integers = SmallVec<[isize; 4]>;

/// What integers are given for, as messages name it.
#[derive(Clone, Copy)]
enum Given<'a> {
    Domain,
    Origin,
    /// An entry of `origin=`.
    Entry(&'a str),
}

impl fmt::Display for Given<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Domain => write!(out, "domain"),
            Given::Origin => write!(out, "origin"),
            Given::Entry(name) => write!(out, "origin['{name}']"),
        }
    }
}

/// The integers of a sequence.
fn integers(what: Given<'_>, value: &Bound<'_, PyAny>) -> PyResult<Integers> {
    let wrong = |entry: &Bound<'_, PyAny>| {
        let shown = describe_value(value);
        let message = format!("{what} is {shown}, expected integers, one for each axis");
        raise(entry.py(), "ArgumentTypeError", message)
    };
    let integer = |entry: &Bound<'_, PyAny>| {
        let integer = entry.extract::<isize>();
        integer.map_err(
            |error| match error.is_instance_of::<PyOverflowError>(entry.py()) {
                true => too_large(what, value),
                false => wrong(entry),
            },
        )
    };
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        let entries = tuple.iter_borrowed();
        return entries.map(|entry| integer(&entry)).collect();
    }
    if value.is_instance_of::<PyString>() {
        return Err(wrong(value));
    }
    value
        .try_iter()
        .map_err(|_| wrong(value))?
        .map(|entry| integer(&entry?))
        .collect()
}

/// The error of an integer that no array has so many points for.
#[cold]
fn too_large(what: Given<'_>, value: &Bound<'_, PyAny>) -> PyErr {
    let class = match what {
        Given::Domain => "DomainError",
        _ => "OriginError",
    };
    let shown = describe_value(value);
    let message = format!("{what} is {shown}, which is more points than any array has");
    raise(value.py(), class, message)
}

/// The `domain=` of a call.
pub fn domain(value: &Bound<'_, PyAny>) -> PyResult<[usize; 3]> {
    let sizes = integers(Given::Domain, value)?;
    let wrong = |expected: &str| {
        raise(
            value.py(),
            "DomainError",
            format!("domain is {}, expected {expected}", describe_value(value)),
        )
    };
    let sizes: [isize; 3] = sizes[..]
        .try_into()
        .map_err(|_| wrong("three sizes along I, J, K"))?;
    let mut domain = [0; 3];
    for (to, from) in domain.iter_mut().zip(sizes) {
        *to = usize::try_from(from).map_err(|_| wrong("sizes that are not negative"))?;
    }
    Ok(domain)
}

/// The `origin=` of a call: for every field what it says of that field, `None` where it says nothing. One integer is along K,
/// with 0 along I and J.
pub fn origins(
    fields: &[Requirement],
    value: &Bound<'_, PyAny>,
    origins: &mut [Option<[isize; 3]>],
) -> PyResult<()> {
    let Ok(by_name) = value.cast::<PyDict>() else {
        let given = match value.cast::<PyInt>() {
            Ok(level) => {
                let level = level
                    .extract()
                    .map_err(|_| too_large(Given::Origin, value))?;
                SmallVec::from_slice(&[0, 0, level])
            }
            Err(_) => integers(Given::Origin, value)?,
        };
        for (field, origin) in fields.iter().zip(origins) {
            *origin = Some(components(field, Given::Origin, &given, value)?);
        }
        return Ok(());
    };
    let mut all = None;
    let mut own: SmallVec<[_; 8]> = SmallVec::from_elem(None, fields.len());
    for (key, given) in by_name.iter() {
        let key = key.cast::<PyString>().map_err(|_| unknown(fields, &key))?;
        let text = key.to_string_lossy();
        match fields.iter().position(|field| field.name == text) {
            Some(n) => own[n] = Some(given),
            None if text == "_all_" => all = Some(given),
            None => return Err(unknown(fields, key)),
        }
    }
    for ((field, own), origin) in fields.iter().zip(&own).zip(origins) {
        let (name, given) = match (own, &all) {
            (Some(own), _) => (field.name.as_str(), own),
            (None, Some(all)) => ("_all_", all),
            (None, None) => continue,
        };
        let what = Given::Entry(name);
        *origin = Some(components(field, what, &integers(what, given)?, given)?);
    }
    Ok(())
}

fn components(
    field: &Requirement,
    what: Given<'_>,
    given: &[isize],
    value: &Bound<'_, PyAny>,
) -> PyResult<[isize; 3]> {
    field.origin(given).ok_or_else(|| {
        let own = if field.axes.len() == 3 {
            String::new()
        } else {
            format!(" or {} along {}", field.axes.len(), field.axes)
        };
        raise(
            value.py(),
            "OriginError",
            format!(
                "{what} is {}, expected three integers along I, J, K{own} for argument '{}'",
                describe_value(value),
                field.name
            ),
        )
    })
}

#[cold]
fn unknown(fields: &[Requirement], key: &Bound<'_, PyAny>) -> PyErr {
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let given = key.to_string();
    let hint = closest(&given, names.iter().copied().chain(["_all_"]))
        .map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"));
    raise(
        key.py(),
        "OriginError",
        format!(
            "origin has an entry for '{given}' (of type {}){hint}, expected the names of fields or '_all_'; the fields are: {}",
            type_name(key),
            names.join(", ")
        ),
    )
}
