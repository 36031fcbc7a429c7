//! A stencil whose origins and domain are fixed.

use fieldstone_codegen::domain;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use super::failure::call_error;
use super::remembered::Remembered;
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
    stencil: Py<Stencil>,
    place: Place,
    /// Calls whose checks need not be done again.
    remembered: Remembered,
}

#[pymethods]
impl FrozenStencil {
    /// The stencil, by the name that GT4Py gives it as well.
    #[getter(stencil_object)]
    fn stencil_object(&self, py: Python<'_>) -> Py<Stencil> {
        self.stencil.clone_ref(py)
    }

    /// The stencil.
    #[getter]
    fn stencil(&self, py: Python<'_>) -> Py<Stencil> {
        self.stencil.clone_ref(py)
    }

    /// The origin of every field, along its own axes.
    #[getter]
    fn origin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.stencil.get().origins_by_name(py, &self.place.origins)
    }

    /// How to make it again, for pickle.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let frozen = py
            .import("fieldstone.gtscript.stencil_object")?
            .getattr("frozen")?;
        let arguments = (self.stencil.clone_ref(py), self.origin(py)?, self.domain());
        Ok((frozen, arguments.into_pyobject(py)?))
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
        self.stencil
            .get()
            .call_frozen(args, kwargs, &self.place, &self.remembered)
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
        let domain = arguments::domain(domain)?;
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
        let origin = |(n, origin): (usize, Option<[isize; 3]>)| match origin {
            None if stencil.fields[n].used() => Err(missing(n)),
            origin => Ok(origin.unwrap_or_default()),
        };
        let origins: Vec<_> = (origins.into_iter().enumerate())
            .map(origin)
            .collect::<PyResult<_>>()?;
        domain::possible(
            &stencil.fields,
            &origins,
            domain,
            stencil.program.analysis.min_domain(),
        )
        .map_err(|error| call_error(slf.py(), &error))?;
        Ok(FrozenStencil {
            place: Place { origins, domain },
            remembered: Remembered::default(),
            stencil: slf.clone().unbind(),
        })
    }
}
