//! A stencil whose origins and domain are fixed.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use super::{PerField, Stencil};
use crate::arguments;
use crate::errors::raise;

/// An origin for every field, and a domain: what [`Stencil::freeze`] fixes.
pub struct Place {
    pub origins: Vec<[isize; 3]>,
    pub domain: [usize; 3],
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

#[pymethods]
impl Stencil {
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
