//! What a storage looks like to people: one line of facts, then some of the values.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Storage;
use crate::array;

/// Values beyond which only those at the edges are shown.
const SHOWN: usize = 64;

#[pymethods]
impl Storage {
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{}>\n{}", Self::facts(slf)?, Self::values(slf)?))
    }

    fn __str__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Self::values(slf)
    }

    fn __format__(slf: &Bound<'_, Self>, specification: &str) -> PyResult<String> {
        if slf.borrow().view.shape().is_empty() {
            let scalar = Self::current_values(slf)?.call_method0("item")?;
            return scalar
                .call_method1("__format__", (specification,))?
                .extract();
        }
        if specification.is_empty() {
            return Self::values(slf);
        }
        let message = "unsupported format string passed to a storage of several elements";
        Err(pyo3::exceptions::PyTypeError::new_err(message))
    }
}

impl Storage {
    /// Class, axes, type, halo and place in memory.
    fn facts(slf: &Bound<'_, Self>) -> PyResult<String> {
        let py = slf.py();
        let this = slf.borrow();
        let sizes: Vec<String> = match this.dims() {
            Some(dims) => dims
                .iter()
                .zip(this.view.shape())
                .map(|(dim, size)| format!("{dim}: {size}"))
                .collect(),
            None => this.view.shape().iter().map(usize::to_string).collect(),
        };
        let mut facts = vec![format!(
            "{} ({}) {}",
            slf.get_type().name()?,
            sizes.join(", "),
            this.dtype.bind(py).str()?.to_string_lossy()
        )];
        if this.halo().iter().any(|&points| points != (0, 0)) {
            let halo: Vec<String> = this
                .halo()
                .iter()
                .map(|(lower, upper)| format!("{lower}+{upper}"))
                .collect();
            facts.push(format!("halo {}", halo.join(", ")));
        }
        if this.view.ndim() > 1 {
            let layout = this.layout();
            let layout: Vec<String> = layout.ranks().iter().map(usize::to_string).collect();
            facts.push(format!("layout {}", layout.join(" ")));
        }
        if this.alignment > 1 {
            facts.push(format!("aligned to {} bytes", this.alignment));
        }
        facts.push("host".to_owned());
        if this.keeper.is_some() {
            facts.push("wrapped".to_owned());
        }
        if !this.writeable {
            facts.push("read-only".to_owned());
        }
        Ok(facts.join("; "))
    }

    fn values(slf: &Bound<'_, Self>) -> PyResult<String> {
        let py = slf.py();
        let keywords = PyDict::new(py);
        keywords.set_item("threshold", SHOWN)?;
        // A block of them in each direction: with many axes they are many.
        keywords.set_item(
            "edgeitems",
            if slf.borrow().view.ndim() > 2 { 1 } else { 2 },
        )?;
        array::numpy(py)?
            .getattr("array2string")?
            .call((Self::current_values(slf)?,), Some(&keywords))?
            .extract()
    }
}
