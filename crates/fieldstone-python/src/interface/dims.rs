//! Labels of axes as Python gives them.

use fieldstone_storage::Dim;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Why an object is no sequence of labels.
pub enum BadLabels {
    /// It cannot be iterated, or not in an order.
    NoSequence,
    /// A label that is none of I, J, K and the numbers of data dimensions.
    Unknown(String),
    /// A label that occurs twice.
    Repeated(Dim),
    /// An exception of the object's own.
    Raised(PyErr),
}

impl From<PyErr> for BadLabels {
    fn from(error: PyErr) -> Self {
        BadLabels::Raised(error)
    }
}

/// Labels of axes: a sequence of them, or a string of labels of one character.
///
/// What names an axis may be an object whose text is its label, such as the axes of gtscript.
pub fn labels(value: &Bound<'_, PyAny>) -> Result<Vec<Dim>, BadLabels> {
    let mut dims = Vec::new();
    let mut add = |label: &str| {
        let dim: Dim = label
            .parse()
            .map_err(|_| BadLabels::Unknown(label.to_owned()))?;
        if dims.contains(&dim) {
            return Err(BadLabels::Repeated(dim));
        }
        dims.push(dim);
        Ok(())
    };
    if let Ok(text) = value.cast::<PyString>() {
        text.to_str()?
            .chars()
            .try_for_each(|label| add(label.encode_utf8(&mut [0; 4])))?;
        return Ok(dims);
    }
    if value.is_instance_of::<PyDict>() {
        return Err(BadLabels::NoSequence);
    }
    for label in value.try_iter().map_err(|_| BadLabels::NoSequence)? {
        add(&label?.str()?.to_string_lossy())?;
    }
    Ok(dims)
}

/// Labels as Python writes a tuple of them.
pub fn show(dims: &[Dim]) -> String {
    let labels: Vec<String> = dims.iter().map(|dim| format!("'{dim}'")).collect();
    match labels.as_slice() {
        [only] => format!("({only},)"),
        labels => format!("({})", labels.join(", ")),
    }
}
