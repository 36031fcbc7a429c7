//! The elements of a storage's memory: allocated, filled, copied and read.

use fieldstone_codegen::native::note_move;
use fieldstone_device::Pool;
use fieldstone_storage::{Allocation, Spec, StorageError, View};
use numpy::npyffi::PY_ARRAY_API;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyString};
use smallvec::SmallVec;

use super::parameters::shown;
use crate::array::{array_of, exception, numpy, view_of};
use crate::errors::raise;

/// Whether the strides fall in the order of `layout`; axes of one point have no stride to speak of.
pub fn follows(view: &View, layout: &[usize]) -> bool {
    let mut axes: Vec<usize> = (0..layout.len()).collect();
    axes.sort_by_key(|&axis| layout[axis]);
    axes.retain(|&axis| view.shape()[axis] > 1);
    view.shape().contains(&0)
        || axes.windows(2).all(|pair| {
            view.strides()[pair[0]].unsigned_abs() >= view.strides()[pair[1]].unsigned_abs()
        })
}

/// Whether the address of `index` is a multiple of `alignment`.
pub fn is_aligned(view: &View, index: &[usize], alignment: usize) -> bool {
    let offset: isize = index
        .iter()
        .zip(view.strides())
        .map(|(&index, &stride)| index as isize * stride)
        .sum();
    view.shape().contains(&0)
        || view
            .pointer()
            .addr()
            .wrapping_add_signed(offset)
            .is_multiple_of(alignment)
}

/// The element at an address, as a NumPy scalar.
///
/// # Safety
///
/// There is an element of this type at `pointer`.
pub unsafe fn scalar_at<'py>(
    pointer: *mut u8,
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = dtype.py();
    // SAFETY: NumPy copies the element.
    unsafe {
        let scalar = PY_ARRAY_API.PyArray_Scalar(
            py,
            pointer.cast(),
            dtype.as_dtype_ptr(),
            std::ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, scalar)
    }
}

/// The integer a value is (Python's or NumPy's), `None` if it is none.
pub fn index<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    // SAFETY: a call of the C API with a live object.
    unsafe {
        if ffi::PyIndex_Check(value.as_ptr()) == 0 {
            return Ok(None);
        }
        match Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(value.as_ptr())) {
            Ok(number) => Ok(Some(number)),
            // Arrays of several elements have the method but are no integers.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// New memory.
pub fn allocate(py: Python<'_>, spec: &Spec, zeroed: bool) -> PyResult<View> {
    let elements = spec
        .shape
        .iter()
        .fold(spec.itemsize, |bytes, &size| bytes.saturating_mul(size));
    let make = || {
        if zeroed {
            Allocation::zeroed(spec)
        } else {
            Allocation::new(spec)
        }
    };
    let allocation = if elements <= SMALL {
        make()
    } else {
        py.detach(make)
    };
    allocation
        .map(|(_, view)| view)
        .map_err(|error| exception(py, &error))
}

/// Bytes up to which giving other Python threads their turn would cost more than the work itself.
const SMALL: usize = 16 * 1024;

/// Sets every element of a view that may be written to.
pub fn fill(py: Python<'_>, view: &View, element: &[u8]) -> PyResult<()> {
    // SAFETY: a storage's view describes memory that the caller's storage keeps alive.
    moved(py, (None, view), |threads| unsafe {
        fieldstone_storage::fill(view, element, threads)
    })
}

/// Sets the elements of `destination` to those of `source`, which has the same shape and does not overlap it.
pub fn assign<'py>(
    source: &View,
    source_dtype: &Bound<'py, PyArrayDescr>,
    destination: &View,
    destination_dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<()> {
    let py = source_dtype.py();
    if source_dtype.is_equiv_to(destination_dtype) {
        return copy(py, source, destination);
    }
    // NumPy converts; its arrays do not outlive this function.
    let none = || py.None().into_bound(py);
    let source = array_of(source, source_dtype, false, none())?;
    let destination = array_of(destination, destination_dtype, true, none())?;
    let keywords = PyDict::new(py);
    keywords.set_item("casting", "unsafe")?;
    numpy(py)?
        .getattr("copyto")?
        .call((destination, source), Some(&keywords))?;
    Ok(())
}

/// The elements in host memory of another type.
pub fn converted<'py>(
    py: Python<'py>,
    source: &View,
    source_dtype: &Bound<'py, PyArrayDescr>,
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<View> {
    let mut spec = Spec::packed(source.shape().to_vec(), dtype.itemsize());
    spec.layout = source.layout();
    let new = allocate(py, &spec, false)?;
    assign(source, source_dtype, &new, dtype)?;
    Ok(new)
}

/// One element in memory of its own.
pub fn copy_of_element(py: Python<'_>, element: &[u8]) -> PyResult<View> {
    let view = allocate(py, &Spec::packed(Vec::new(), element.len()), false)?;
    fill(py, &view, element)?;
    Ok(view)
}

fn copy(py: Python<'_>, source: &View, destination: &View) -> PyResult<()> {
    // SAFETY: the callers keep the memory of both views alive, and make sure that they do not overlap.
    moved(py, (Some(source), destination), |threads| unsafe {
        fieldstone_storage::copy(source, destination, threads)
    })
}

/// Does `work` that writes to a view, from another one if there is one, and lets other Python threads run meanwhile if it takes
/// long.
fn moved(
    py: Python<'_>,
    (source, view): (Option<&View>, &View),
    work: impl FnOnce(usize) -> Result<(), StorageError> + Send,
) -> PyResult<()> {
    let bytes = view.len().saturating_mul(view.itemsize());
    let result = if bytes <= SMALL {
        work(1)
    } else {
        let threads = Pool::global().threads();
        py.detach(|| {
            let sides: SmallVec<[_; 2]> =
                source.into_iter().chain([view]).map(View::bounds).collect();
            let moved = bytes.saturating_mul(sides.len());
            note_move(&sides, moved, threads);
            work(threads)
        })
    };
    result.map_err(|error| exception(py, &error))
}

/// The bytes of one element.
pub type Bytes = SmallVec<[u8; 16]>;

/// The bytes of a Python number as an element of `dtype`, where that is exact.
fn plain_element(value: &Bound<'_, PyAny>, dtype: &Bound<'_, PyArrayDescr>) -> Option<Bytes> {
    if let Ok(value) = value.cast_exact::<PyFloat>() {
        return match (dtype.kind(), dtype.itemsize()) {
            (b'f', 8) => Some(value.value().to_ne_bytes()[..].into()),
            (b'f', 4) if f64::from(value.value() as f32) == value.value() => {
                Some((value.value() as f32).to_ne_bytes()[..].into())
            }
            _ => None,
        };
    }
    let value: i64 = value.cast_exact::<PyInt>().ok()?.extract().ok()?;
    if value == 0 {
        return Some(Bytes::from_elem(0, dtype.itemsize()));
    }
    match (dtype.kind(), dtype.itemsize()) {
        (b'f', 4) if value.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS => {
            Some((value as f32).to_ne_bytes()[..].into())
        }
        (b'i', 8) => Some(value.to_ne_bytes()[..].into()),
        (b'i', 4) => Some(i32::try_from(value).ok()?.to_ne_bytes()[..].into()),
        (b'f', 8) if value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => {
            Some((value as f64).to_ne_bytes()[..].into())
        }
        _ => None,
    }
}

/// The bytes of `value` as an element of `dtype`.
pub fn element_of(
    value: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyArrayDescr>,
    name: &str,
) -> PyResult<Bytes> {
    let py = value.py();
    let wrong = |reason: &str| {
        let message = format!(
            "{name}: expected a number of type {dtype}, got {}{reason}",
            shown(value)
        );
        raise(py, "ArgumentValueError", message)
    };
    if let Some(element) = plain_element(value, dtype) {
        return Ok(element);
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(wrong(""));
    }
    let array = numpy(py)?
        .getattr("array")?
        .call1((value, dtype))
        .map_err(|error| wrong(&format!(": {}", error.value(py))))?
        .cast_into::<PyUntypedArray>()?;
    if array.ndim() != 0 {
        return Err(wrong(", which has several elements"));
    }
    // SAFETY: an array without axes holds one element.
    Ok(unsafe { std::slice::from_raw_parts(view_of(&array)?.pointer(), dtype.itemsize()) }.into())
}

/// New host memory of the geometry of a view.
pub fn like(py: Python<'_>, view: &View) -> PyResult<View> {
    let bounds = view.bounds();
    let block = allocate(py, &Spec::packed(Vec::from([bounds.len()]), 1), false)?;
    let lead = view.pointer().addr() - bounds.start;
    Ok(view.at_address(block.pointer().wrapping_add(lead), block.owner().cloned()))
}
