//! What is known of a universal function, looked up once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyTuple};

use super::operand::Operand;
use crate::array;

/// A universal function.
pub struct Ufunc {
    pub object: Py<PyAny>,
    pub name: String,
    pub outputs: usize,
    /// Whether it works element by element, and has no axes of its own as `matmul` has.
    pub is_elementwise: bool,
    /// The types of the outputs, by those of the inputs.
    types: Mutex<Vec<Known>>,
}

/// How an operand enters promotion, and its type if it has elements.
type Promoted<'a, 'py> = (Kind, Option<&'a Bound<'py, PyArrayDescr>>);

/// The type of the output for those of two inputs; `None` if there is none.
type Known = ([Kind; 2], Option<Py<PyArrayDescr>>);

/// The type of an operand as NumPy's promotion sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An element of an array, by NumPy's number of its type.
    Element(i32),
    /// Python's integer, which gives way.
    Int,
    /// Python's floating-point number, which gives way.
    Float,
    /// Python's complex number, which gives way.
    Complex,
    /// There is no such operand.
    None,
}

/// How many functions are remembered. There are about a hundred, but anybody can make more.
const MOST: usize = 1024;

impl Ufunc {
    /// What is known of a function.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        static KNOWN: Mutex<Option<HashMap<usize, Arc<Ufunc>>>> = Mutex::new(None);
        let py = object.py();
        let address = object.as_ptr().addr();
        if let Some(ufunc) = locked(&KNOWN)
            .as_ref()
            .and_then(|known| known.get(&address))
        {
            return Ok(Arc::clone(ufunc));
        }
        let ufunc = Arc::new(Self {
            object: object.clone().unbind(),
            name: object.getattr(intern!(py, "__name__"))?.extract()?,
            outputs: object.getattr(intern!(py, "nout"))?.extract()?,
            is_elementwise: object.getattr(intern!(py, "signature"))?.is_none(),
            types: Mutex::default(),
        });
        let mut known = locked(&KNOWN);
        let known = known.get_or_insert_default();
        // Each keeps its function alive, so that no other can be at its address.
        if known.len() < MOST {
            known.insert(address, Arc::clone(&ufunc));
        }
        Ok(ufunc)
    }

    /// The type of the only output for inputs of these types; `None` if the function has no such output.
    pub fn type_of_result<'py>(
        &self,
        py: Python<'py>,
        inputs: [Promoted<'_, 'py>; 2],
    ) -> PyResult<Option<Bound<'py, PyArrayDescr>>> {
        let key = inputs.map(|(kind, _)| kind);
        // A program uses few combinations, so that a list is searched faster than a table.
        if let Some((_, known)) = locked(&self.types).iter().find(|(known, _)| *known == key) {
            return Ok(known.as_ref().map(|dtype| dtype.bind(py).clone()));
        }
        let mut types: Vec<Bound<'py, PyAny>> = Vec::with_capacity(3);
        for (kind, dtype) in inputs {
            types.push(match (kind, dtype) {
                (Kind::None, _) => continue,
                (Kind::Int, _) => py.get_type::<PyInt>().into_any(),
                (Kind::Float, _) => py.get_type::<PyFloat>().into_any(),
                (Kind::Complex, _) => py.get_type::<PyComplex>().into_any(),
                (Kind::Element(_), Some(dtype)) => dtype.clone().into_any(),
                (Kind::Element(_), None) => return Ok(None),
            });
        }
        let resolved = self.resolved(py, types, None)?;
        let dtype = resolved.and_then(|mut outputs| outputs.pop());
        locked(&self.types).push((key, dtype.clone().map(Bound::unbind)));
        Ok(dtype)
    }

    /// The types of the outputs for these operands; `None` if NumPy refuses them, or only it knows.
    pub fn types_of_results<'py>(
        &self,
        py: Python<'py>,
        inputs: &[Operand<'py>],
        outputs: Option<&[Option<Operand<'py>>]>,
        casting: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Vec<Bound<'py, PyArrayDescr>>>> {
        if outputs.is_none()
            && casting.is_none()
            && self.outputs == 1
            && let Some(kinds) = kinds_of(inputs)
        {
            let dtype = self.type_of_result(py, kinds)?;
            return Ok(dtype.map(|dtype| vec![dtype]));
        }
        let mut types = inputs.iter().map(type_of).collect::<PyResult<Vec<_>>>()?;
        match outputs {
            Some(outputs) => {
                for output in outputs {
                    types.push(match output {
                        Some(output) => type_of(output)?,
                        None => py.None().into_bound(py),
                    });
                }
                self.checked(py, types, casting)
            }
            None => self.resolved(py, types, casting),
        }
    }

    fn resolved<'py>(
        &self,
        py: Python<'py>,
        mut types: Vec<Bound<'py, PyAny>>,
        casting: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Vec<Bound<'py, PyArrayDescr>>>> {
        types.extend((0..self.outputs).map(|_| py.None().into_bound(py)));
        self.checked(py, types, casting)
    }

    fn checked<'py>(
        &self,
        py: Python<'py>,
        types: Vec<Bound<'py, PyAny>>,
        casting: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Vec<Bound<'py, PyArrayDescr>>>> {
        let keywords = pyo3::types::PyDict::new(py);
        if let Some(casting) = casting {
            keywords.set_item(intern!(py, "casting"), casting)?;
        }
        let resolved = self.object.bind(py).call_method(
            intern!(py, "resolve_dtypes"),
            (PyTuple::new(py, types)?,),
            Some(&keywords),
        );
        // NumPy says why when it is called.
        let Ok(resolved) = resolved else {
            return Ok(None);
        };
        let resolved: Vec<Bound<'py, PyAny>> = resolved.extract()?;
        let first = resolved.len() - self.outputs;
        let mut outputs = Vec::with_capacity(self.outputs);
        for dtype in &resolved[first..] {
            let dtype = dtype.cast::<PyArrayDescr>()?;
            if dtype.has_object() {
                return Ok(None);
            }
            outputs.push(dtype.clone());
        }
        Ok(Some(outputs))
    }
}

/// How Python's own numbers enter promotion; `None` for other objects.
pub fn weak_kind(object: &Bound<'_, PyAny>) -> Option<Kind> {
    if object.is_exact_instance_of::<PyFloat>() {
        Some(Kind::Float)
    } else if object.is_exact_instance_of::<PyInt>() {
        Some(Kind::Int)
    } else if object.is_exact_instance_of::<PyComplex>() {
        Some(Kind::Complex)
    } else {
        None
    }
}

/// How one or two operands enter promotion; `None` if there are more, or others than arrays and Python's numbers.
fn kinds_of<'a, 'py>(inputs: &'a [Operand<'py>]) -> Option<[Promoted<'a, 'py>; 2]> {
    let kind = |operand: &'a Operand<'py>| match &operand.array {
        Some(array) => (array.dtype.is_native_byteorder() != Some(false))
            .then(|| (Kind::Element(array.dtype.num()), Some(&array.dtype))),
        None => weak_kind(&operand.object).map(|kind| (kind, None)),
    };
    match inputs {
        [only] => Some([kind(only)?, (Kind::None, None)]),
        [first, second] => Some([kind(first)?, kind(second)?]),
        _ => None,
    }
}

/// How the type of an operand enters promotion.
fn type_of<'py>(operand: &Operand<'py>) -> PyResult<Bound<'py, PyAny>> {
    let object = &operand.object;
    if let Some(array) = &operand.array {
        return Ok(array.dtype.clone().into_any());
    }
    if weak_kind(object).is_some() && !object.is_instance_of::<PyBool>() {
        return Ok(object.get_type().into_any());
    }
    array::numpy(object.py())?
        .getattr(intern!(object.py(), "asarray"))?
        .call1((object,))?
        .getattr(intern!(object.py(), "dtype"))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
