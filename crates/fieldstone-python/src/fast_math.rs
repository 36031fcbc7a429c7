//! The option `fast_math` of a stencil: what compiled arithmetic may do to results.

use fieldstone_stencil::fast_math::{FastMath, Liberty};
use fieldstone_stencil::suggest::closest;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::raise;

/// The liberties of `fast_math=`: a name, or several.
pub fn fast_math(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<FastMath> {
    let given = options.map_or(Ok(None), |options| options.get_item("fast_math"))?;
    let mut allowed = FastMath::default();
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(allowed);
    };
    let names = match given.cast::<PyString>() {
        Ok(name) => Ok(vec![name.to_string()]),
        Err(_) => (given.try_iter())
            .and_then(|names| names.map(|name| name?.extract::<String>()).collect()),
    };
    let names: Vec<String> = names.map_err(|_| {
        let given = given.repr().map(|text| text.to_string());
        let given = given.unwrap_or_default();
        let message = format!(
            "fast_math is {given}, expected a name or several: {}",
            known()
        );
        raise(py, "ArgumentTypeError", message)
    })?;
    for name in &names {
        let Some(liberty) = Liberty::from_name(name) else {
            let close = closest(name, Liberty::ALL.into_iter().map(Liberty::name));
            let close = close.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"));
            let message = format!(
                "fast_math: '{name}' is not known{close}; the names are: {}",
                known()
            );
            return Err(raise(py, "ArgumentValueError", message));
        };
        allowed.allow(liberty);
    }
    Ok(allowed)
}

fn known() -> String {
    Liberty::ALL
        .map(|liberty| format!("'{}'", liberty.name()))
        .join(", ")
}
