//! A call of a function of NumPy, with storages among its arguments.

use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::table::position_of_out;
use crate::array;
use crate::storage::Storage;

/// A function and its arguments.
pub struct Call<'py> {
    pub function: Bound<'py, PyAny>,
    pub positional: Vec<Bound<'py, PyAny>>,
    pub keywords: Bound<'py, PyDict>,
}

impl<'py> Call<'py> {
    pub fn new(
        function: Bound<'py, PyAny>,
        positional: &Bound<'py, PyTuple>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Self> {
        Ok(Self {
            function,
            positional: positional.iter().collect(),
            keywords: keywords.copy()?,
        })
    }

    pub fn py(&self) -> Python<'py> {
        self.function.py()
    }

    /// The name of the function, for messages.
    pub fn name(&self) -> PyResult<String> {
        self.function
            .getattr(intern!(self.py(), "__name__"))?
            .extract()
    }

    /// The argument of this position or name.
    pub fn argument(&self, position: usize, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.positional.get(position) {
            Some(argument) => Ok(Some(argument.clone())),
            None => self.keywords.get_item(name),
        }
    }

    /// Puts another argument in the place of one.
    pub fn replace(
        &mut self,
        position: usize,
        name: &str,
        argument: Bound<'py, PyAny>,
    ) -> PyResult<()> {
        match self.positional.get_mut(position) {
            Some(place) => *place = argument,
            None => self.keywords.set_item(name, argument)?,
        }
        Ok(())
    }

    /// The first argument, if it is a storage.
    pub fn source(&self) -> Option<&Bound<'py, Storage>> {
        self.positional
            .first()
            .and_then(|argument| argument.cast::<Storage>().ok())
    }

    /// The object to write the result to, if one was given.
    pub fn out(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let given = match self.keywords.get_item(intern!(self.py(), "out"))? {
            Some(out) => Some(out),
            // Most calls have fewer arguments than any function has before its output.
            None if self.positional.len() < 3 => None,
            None => position_of_out(&self.function)?
                .and_then(|position| self.positional.get(position).cloned()),
        };
        Ok(given.filter(|out| !out.is_none()))
    }

    /// Calls the function with arrays in the place of storages.
    pub fn run(&self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py();
        let positional = self
            .positional
            .iter()
            .map(with_arrays)
            .collect::<PyResult<Vec<_>>>()?;
        let keywords = PyDict::new(py);
        for (name, argument) in &self.keywords {
            keywords.set_item(name, with_arrays(&argument)?)?;
        }
        self.function
            .call(PyTuple::new(py, positional)?, Some(&keywords))
    }

    /// Calls the function with arrays that have the shape and type of the storages, but no values.
    pub fn facts(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.py();
        let stand_ins = self.positional.iter().map(|argument| {
            let Ok(storage) = argument.cast::<Storage>() else {
                return Ok(argument.clone());
            };
            let storage = storage.borrow();
            let numpy = array::numpy(py)?;
            let element = numpy
                .getattr(intern!(py, "empty"))?
                .call1((PyTuple::empty(py), storage.dtype()))?;
            numpy
                .getattr(intern!(py, "broadcast_to"))?
                .call1((element, PyTuple::new(py, storage.view.shape())?))
        });
        let stand_ins = PyTuple::new(py, stand_ins.collect::<PyResult<Vec<_>>>()?)?;
        self.function
            .call(stand_ins, Some(&self.keywords))
            .map(Some)
    }
}

/// An argument with arrays in the place of storages, also within lists and tuples.
fn with_arrays<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = argument.py();
    if let Ok(storage) = argument.cast::<Storage>() {
        return Storage::current_values(storage);
    }
    if argument.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(argument.clone());
    }
    if let Ok(list) = argument.cast_exact::<PyList>() {
        let entries = list.iter().map(|entry| with_arrays(&entry));
        return Ok(PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    if let Ok(tuple) = argument.cast_exact::<PyTuple>() {
        let entries = tuple.iter().map(|entry| with_arrays(&entry));
        return Ok(PyTuple::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    Ok(argument.clone())
}
