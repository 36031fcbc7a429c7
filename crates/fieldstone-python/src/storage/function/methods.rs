//! The methods of NumPy's arrays that are functions of NumPy too, and those that read a storage as a whole.

use fieldstone_storage::{Access, Layout};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::apply;
use super::call::Call;
use super::result::view_or_copy;
use crate::array;
use crate::errors::raise;
use crate::storage::Storage;
use crate::storage::foreign::Foreign;
use crate::storage::library::{Chosen, Computed};
use crate::storage::ufunc::operand::Operand;

/// Calls `numpy.<name>` with the storage as its first argument.
fn call<'py>(
    storage: &Bound<'py, Storage>,
    name: &str,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = storage.py();
    let mut positional = vec![storage.clone().into_any()];
    positional.extend(arguments.iter());
    apply(Call {
        function: array::numpy(py)?.getattr(name)?,
        positional,
        keywords: keywords.map_or_else(|| Ok(PyDict::new(py)), |keywords| keywords.copy())?,
    })
}

/// The elements where they are computed with, and where that is.
pub fn current<'py>(
    storage: &Bound<'py, Storage>,
    function: &str,
) -> PyResult<(Bound<'py, PyAny>, Chosen)> {
    let operand = Operand::of_storage(storage.clone());
    let chosen = Chosen::among(storage.py(), function, &[&operand], &[])?;
    let placed = storage.borrow().view.clone();
    let array = chosen.library.storage(storage, &placed, Access::Read)?;
    Ok((array, chosen))
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])+ $name:ident)+) => {
        #[pymethods]
        impl Storage {
            $(
                $(#[doc = $doc])+
                #[pyo3(signature = (*arguments, **keywords))]
                fn $name<'py>(
                    slf: &Bound<'py, Self>,
                    arguments: &Bound<'py, PyTuple>,
                    keywords: Option<&Bound<'py, PyDict>>,
                ) -> PyResult<Bound<'py, PyAny>> {
                    call(slf, stringify!($name), arguments, keywords)
                }
            )+
        }
    };
}

functions! {
    /// The sum of the elements along axes, as `numpy.sum`.
    sum
    /// The product of the elements along axes, as `numpy.prod`.
    prod
    /// The mean of the elements along axes, as `numpy.mean`.
    mean
    /// The standard deviation along axes, as `numpy.std`.
    std
    /// The variance along axes, as `numpy.var`.
    var
    /// The smallest element along axes, as `numpy.min`.
    min
    /// The largest element along axes, as `numpy.max`.
    max
    /// Whether any element along axes is true, as `numpy.any`.
    any
    /// Whether all elements along axes are true, as `numpy.all`.
    all
    /// The index of the smallest element, as `numpy.argmin`.
    argmin
    /// The index of the largest element, as `numpy.argmax`.
    argmax
    /// The indices that would sort the elements along an axis, as `numpy.argsort`.
    argsort
    /// Sums up to each element along an axis, as `numpy.cumsum`.
    cumsum
    /// Products up to each element along an axis, as `numpy.cumprod`.
    cumprod
    /// The elements within bounds, as `numpy.clip`.
    clip
    /// The elements rounded to decimals, as `numpy.round`.
    round
    /// The elements repeated, as `numpy.repeat`.
    repeat
    /// Points taken along an axis, as `numpy.take`.
    take
    /// The storage without axes of one point, as `numpy.squeeze`.
    squeeze
    /// The storage with two axes exchanged, as `numpy.swapaxes`.
    swapaxes
    /// The elements as one axis, as `numpy.ravel`.
    ravel
    /// The elements on a diagonal, as `numpy.diagonal`.
    diagonal
    /// The sum on a diagonal, as `numpy.trace`.
    trace
    /// The product with another array, as `numpy.dot`.
    dot
    /// The indices of elements that are not zero, as `numpy.nonzero`.
    nonzero
    /// Where values would have to be inserted, as `numpy.searchsorted`.
    searchsorted
}

#[pymethods]
impl Storage {
    /// A copy with elements of another type; the storage itself if nothing is to be done and ``copy=False``.
    #[pyo3(signature = (dtype, order="K", casting="unsafe", subok=true, copy=true))]
    fn astype<'py>(
        slf: &Bound<'py, Self>,
        dtype: &Bound<'py, PyAny>,
        order: &str,
        casting: &str,
        subok: bool,
        copy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = subok;
        let py = slf.py();
        let wanted = PyArrayDescr::new(py, dtype)?;
        let keeps_order = matches!(order, "K" | "A" | "k" | "a");
        if !copy && keeps_order && wanted.is_equiv_to(slf.borrow().dtype.bind(py)) {
            return Ok(slf.clone().into_any());
        }
        let (array, chosen) = current(slf, "astype")?;
        let name = intern!(py, "astype");
        let result = array.call_method1(name, (wanted, order, casting, true, true))?;
        let Some(computed) = Computed::of(&result)? else {
            return Ok(result);
        };
        let source = Foreign::of_storage(slf);
        let mut axes = source.axes.clone();
        let ndim = computed.ndim();
        match order {
            "C" | "c" => axes.layout = Layout::c(ndim),
            "F" | "f" => axes.layout = Layout::f(ndim),
            _ => {}
        }
        let resolved = chosen.resolved(&computed, axes, source.alignment);
        chosen.library.result(&computed, resolved)
    }

    /// The elements in another shape; a view where there can be one, as `numpy.reshape`.
    #[pyo3(signature = (*shape, **keywords))]
    fn reshape<'py>(
        slf: &Bound<'py, Self>,
        shape: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = intern!(slf.py(), "reshape");
        view_or_copy(slf, &|array| array.call_method(name, shape, keywords))
    }

    /// The same memory with elements of another type, as `numpy.ndarray.view`.
    #[pyo3(name = "view", signature = (*arguments, **keywords))]
    fn view_as<'py>(
        slf: &Bound<'py, Self>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = intern!(slf.py(), "view");
        view_or_copy(slf, &|array| array.call_method(name, arguments, keywords))
    }

    /// A copy of the elements as one axis.
    #[pyo3(signature = (order="C"))]
    fn flatten<'py>(slf: &Bound<'py, Self>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        let name = intern!(slf.py(), "flatten");
        view_or_copy(slf, &|array| array.call_method1(name, (order,)))
    }

    /// The only element, or the one at an index, as a number of Python.
    #[pyo3(signature = (*index))]
    fn item<'py>(
        slf: &Bound<'py, Self>,
        index: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = intern!(slf.py(), "item");
        if index.len() > 1 && index.len() == slf.borrow().view.ndim() {
            // Of a storage on a device, one element is moved and not all.
            return slf.get_item(index)?.call_method0(name);
        }
        Storage::current_values(slf)?.call_method1(name, index)
    }

    /// The elements as nested lists of Python's numbers.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Storage::current_values(slf)?.call_method0(intern!(slf.py(), "tolist"))
    }

    /// The bytes of the elements, in C order unless another is given.
    #[pyo3(signature = (order="C"))]
    fn tobytes<'py>(slf: &Bound<'py, Self>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        Storage::current_values(slf)?.call_method1(intern!(slf.py(), "tobytes"), (order,))
    }

    /// Sets every element.
    fn fill(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.set_item(slf.py().Ellipsis(), value)
    }

    /// Sorts the elements along an axis, in place.
    #[pyo3(signature = (axis=-1, kind=None))]
    fn sort(slf: &Bound<'_, Self>, axis: isize, kind: Option<&str>) -> PyResult<()> {
        if !slf.borrow().writeable() {
            let message =
                "the storage wraps read-only memory; numpy.sort(storage) makes a sorted copy";
            return Err(raise(slf.py(), "ReadOnlyError", message));
        }
        let py = slf.py();
        let operand = Operand::of_storage(slf.clone());
        let chosen = Chosen::among(py, "sort", &[&operand], &[])?;
        let placed = slf.borrow().view.clone();
        let array = chosen.library.storage(slf, &placed, Access::ReadWrite)?;
        let sorted = array.call_method1(intern!(py, "sort"), (axis, kind));
        slf.borrow().settled(py, chosen.library.side(), sorted)?;
        Ok(())
    }

    /// The complex conjugate of the elements.
    fn conj<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        array::numpy(slf.py())?.call_method1(intern!(slf.py(), "conjugate"), (slf,))
    }

    /// The complex conjugate of the elements.
    fn conjugate<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::conj(slf)
    }

    /// The real part of the elements, without a copy.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let name = intern!(slf.py(), "real");
        view_or_copy(slf, &|array| array.getattr(name))
    }

    /// The imaginary part of the elements; without a copy if they are complex.
    #[getter]
    fn imag<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let name = intern!(slf.py(), "imag");
        view_or_copy(slf, &|array| array.getattr(name))
    }

    /// What NumPy says of the memory: contiguity, alignment, whether it may be written to.
    #[getter]
    fn flags<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Storage::geometry(slf)?
            .0
            .getattr(intern!(slf.py(), "flags"))
    }
}
