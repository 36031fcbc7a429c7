//! A call of a function of NumPy, with storages among its arguments.

use fieldstone_storage::Access;
use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::table::position_of_out;
use crate::array;
use crate::storage::Storage;
use crate::storage::library::{Chosen, Library};
use crate::storage::place::Place;
use crate::storage::ufunc::operand::Operand;

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

    /// A call of a method of a universal function.
    pub fn of_method(
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        positional: &Bound<'py, PyTuple>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Self> {
        Self::new(ufunc.getattr(method)?, positional, keywords)
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

    /// The object to write the result to, if it was given by name.
    pub fn out_by_name(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let out = self.keywords.get_item(intern!(self.py(), "out"))?;
        let only = match out {
            Some(out) => match out.cast::<PyTuple>() {
                Ok(several) if several.len() == 1 => Some(several.get_item(0)?),
                _ => Some(out),
            },
            None => None,
        };
        Ok(only.filter(|out| !out.is_none()))
    }

    /// Calls the function where the storages are, with arrays in their place.
    pub fn run(&self) -> PyResult<(Bound<'py, PyAny>, Chosen)> {
        let out = match self.out()? {
            None if self.works_in_place()? => self.positional.first().cloned(),
            out => out,
        };
        let chosen = self.chosen(out.as_ref())?;
        let result = self.run_on(&chosen, out.as_ref())?;
        Ok((result, chosen))
    }

    /// Whether the function was allowed to write to its first argument.
    fn works_in_place(&self) -> PyResult<bool> {
        if self.keywords.is_empty() {
            return Ok(false);
        }
        let is = |name: &str, wanted: bool| match self.keywords.get_item(name)? {
            Some(given) => Ok::<_, PyErr>(given.is_truthy()? == wanted),
            None => Ok(false),
        };
        Ok(is("overwrite_input", true)? || is("copy", false)? && self.name()? == "nan_to_num")
    }

    /// Calls the function, which writes to the argument of this position.
    pub fn run_writing(&self, position: usize) -> PyResult<Bound<'py, PyAny>> {
        let written = self.positional.get(position);
        let chosen = self.chosen(written)?;
        self.run_on(&chosen, written)
    }

    /// Where the function is to compute.
    fn chosen(&self, out: Option<&Bound<'py, PyAny>>) -> PyResult<Chosen> {
        let mut found = Vec::new();
        for argument in &self.positional {
            collect(argument, &mut found);
        }
        for (_, argument) in &self.keywords {
            collect(&argument, &mut found);
        }
        let is_out = |storage: &Bound<'py, PyAny>| out.is_some_and(|out| out.is(storage));
        // Nothing to choose, as nearly always.
        let is_host = |storage: &Bound<'py, Storage>| matches!(storage.borrow().place, Place::Host);
        if found.iter().all(is_host) {
            return Ok(Chosen::HOST);
        }
        let (outputs, inputs): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|storage| is_out(storage.as_any()));
        let inputs: Vec<_> = inputs.into_iter().map(Operand::of_storage).collect();
        let outputs: Vec<_> = outputs.into_iter().map(Operand::of_storage).collect();
        Chosen::among(
            self.py(),
            &self.name()?,
            &inputs.iter().collect::<Vec<_>>(),
            &outputs.iter().collect::<Vec<_>>(),
        )
    }

    /// Calls the function, which writes to `out`, if that is a storage.
    pub fn run_on(
        &self,
        chosen: &Chosen,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py();
        let library = &chosen.library;
        // Inputs first: what is written may be read as well.
        let positional = self
            .positional
            .iter()
            .map(|argument| with_arrays(argument, library, out))
            .collect::<PyResult<Vec<_>>>()?;
        let keywords = PyDict::new(py);
        for (name, argument) in &self.keywords {
            keywords.set_item(name, with_arrays(&argument, library, out)?)?;
        }
        let function = library.function(&self.function)?;
        let result = function.call(PyTuple::new(py, positional)?, Some(&keywords));
        match out.map(|out| out.cast::<Storage>()) {
            Some(Ok(out)) => out.borrow().settled(py, library.side(), result),
            _ => result,
        }
    }

    /// Calls the function with arrays of host memory, which may be part of its result.
    pub fn run_on_host(&self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py();
        let positional = self
            .positional
            .iter()
            .map(|argument| replaced(argument, &Storage::exported))
            .collect::<PyResult<Vec<_>>>()?;
        let keywords = PyDict::new(py);
        for (name, argument) in &self.keywords {
            keywords.set_item(name, replaced(&argument, &Storage::exported)?)?;
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

/// The storages of an argument, also within lists and tuples.
fn collect<'py>(argument: &Bound<'py, PyAny>, found: &mut Vec<Bound<'py, Storage>>) {
    if let Ok(storage) = argument.cast::<Storage>() {
        found.push(storage.clone());
    } else if let Ok(list) = argument.cast_exact::<PyList>() {
        list.iter().for_each(|entry| collect(&entry, found));
    } else if let Ok(tuple) = argument.cast_exact::<PyTuple>() {
        tuple.iter().for_each(|entry| collect(&entry, found));
    }
}

/// An argument with arrays in the place of storages.
fn with_arrays<'py>(
    argument: &Bound<'py, PyAny>,
    library: &Library,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    replaced(argument, &|storage| {
        let access = match out.is_some_and(|out| out.is(storage)) {
            true => Access::ReadWrite,
            false => Access::Read,
        };
        let mut operand = Operand::of_storage(storage.clone());
        library.reach(storage.py(), &mut operand)?;
        let placed = match &operand.array {
            Some(array) => array.view.clone(),
            None => return Ok(operand.object),
        };
        library.operand(&operand, &placed, access)
    })
}

/// An argument with something else in the place of storages, also within lists and tuples.
fn replaced<'py>(
    argument: &Bound<'py, PyAny>,
    array: &dyn Fn(&Bound<'py, Storage>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = argument.py();
    if let Ok(storage) = argument.cast::<Storage>() {
        return array(storage);
    }
    if argument.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(argument.clone());
    }
    if let Ok(list) = argument.cast_exact::<PyList>() {
        let entries = list.iter().map(|entry| replaced(&entry, array));
        return Ok(PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    if let Ok(tuple) = argument.cast_exact::<PyTuple>() {
        let entries = tuple.iter().map(|entry| replaced(&entry, array));
        return Ok(PyTuple::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    Ok(argument.clone())
}
