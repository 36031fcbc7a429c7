//! The option `schedule` of a stencil: what somebody chose about how it runs.

use fieldstone_codegen::choices::{ChoiceError, Choices};
use fieldstone_stencil::suggest::closest;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyMapping, PyString};

use crate::errors::raise;

/// Word for choices that are to be measured.
const TUNED: &str = "tuned";

/// The choices of `schedule=`, and whether the others are to be measured: a mapping such as `{"tile": {"J": 32}, "stores": "cached"}`, or
/// the words that `explain` has for them, `"tile.J=32 stores=cached"`, with or without `"tuned"`. `known` is what the backend has.
pub fn choices(
    py: Python<'_>,
    options: Option<&Bound<'_, PyDict>>,
    known: &[&'static str],
) -> PyResult<(Choices, bool)> {
    let refuse = |error| refuse(py, &error, known);
    let given = options.map_or(Ok(None), |options| options.get_item("schedule"))?;
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok((Choices::default(), false));
    };
    if let Ok(words) = given.cast::<PyString>() {
        let words = words.to_string();
        let (tuned, others): (Vec<&str>, Vec<&str>) =
            words.split_whitespace().partition(|word| *word == TUNED);
        let choices = Choices::parse(&others.join(" ")).map_err(refuse)?;
        return Ok((choices, !tuned.is_empty()));
    }
    let (mut choices, mut tuned) = (Choices::default(), false);
    let Ok(given) = given.cast::<PyMapping>() else {
        let message = format!(
            "schedule is {}, expected a mapping such as {{'tile': {{'J': 32}}, 'stores': 'cached'}}, or words such as \
             'tile.J=32 stores=cached'",
            given.repr()?
        );
        return Err(raise(py, "ArgumentTypeError", message));
    };
    each(given, "", &mut |name, value| {
        match (name, value) {
            (TUNED, "True" | "False") => tuned = value == "True",
            _ => choices.set(name, value).map_err(refuse)?,
        }
        Ok(())
    })?;
    Ok((choices, tuned))
}

/// Calls `take` with every value of a mapping, those of mappings within with both names.
fn each(
    mapping: &Bound<'_, PyMapping>,
    within: &str,
    take: &mut dyn FnMut(&str, &str) -> PyResult<()>,
) -> PyResult<()> {
    for item in mapping.items()?.iter() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = format!("{within}{name}");
        match value.cast::<PyMapping>() {
            Ok(inner) if within.is_empty() => each(inner, &format!("{name}."), take)?,
            _ if value.is_none() => {}
            // In Python, True is also the integer 1.
            _ if value.is_instance_of::<PyBool>() => take(&name, &value.repr()?.to_string())?,
            _ => take(&name, &value.str()?.to_string())?,
        }
    }
    Ok(())
}

fn refuse(py: Python<'_>, error: &ChoiceError, known: &[&'static str]) -> PyErr {
    let hint = match error {
        ChoiceError::Name(name) if name == TUNED => {
            let message = "schedule: 'tuned' has no value but True or False, as in {'tuned': True}, and is a word by itself, as in \
                           'tuned tile.J=32'";
            return raise(py, "ArgumentValueError", message.to_owned());
        }
        ChoiceError::Name(name) => {
            let known = [known, &[TUNED]].concat();
            let close = closest(name, known.iter().copied());
            let close = close.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"));
            format!("{close}; what can be chosen: {}", known.join(", "))
        }
        ChoiceError::Value { .. } => String::new(),
    };
    raise(py, "ArgumentValueError", format!("schedule: {error}{hint}"))
}
