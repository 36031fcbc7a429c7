//! Pickle: the memory as it is, padding included, where that can be had without a copy, else the values in its order.
//!
//! What is needed to lay the values out again comes with them, so that another version, or a machine where other alignment is
//! good, can read them.

use fieldstone_storage::{Access, Side, Spec, View};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyMemoryView, PyString, PyTuple};

use super::{Place, Storage, memory, parameters};
use crate::array::{self, array_of, exception};
use crate::errors::raise;

/// The first protocol whose buffers may travel beside the pickle.
const WITH_BUFFERS: i32 = 5;

#[pymethods]
impl Storage {
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let keywords = slf.borrow().keywords(py)?;
        let core = py.import(intern!(py, "fieldstone._core"))?;
        if protocol >= WITH_BUFFERS && slf.borrow().is_block() {
            let this = slf.borrow();
            let arguments = (
                block(slf)?,
                this.dtype.bind(py).getattr(intern!(py, "str"))?,
                PyTuple::new(py, this.view.shape())?,
                PyTuple::new(py, this.view.strides())?,
                keywords,
            );
            let restore = core.getattr(intern!(py, "restore_block"))?;
            return Ok((restore, arguments).into_pyobject(py)?.into_any());
        }
        let order = slf.borrow().layout().order().to_vec();
        let restore = core.getattr(intern!(py, "restore"))?;
        let arguments = (values_in_order(slf, &order)?, order, keywords);
        Ok((restore, arguments).into_pyobject(py)?.into_any())
    }
}

impl Storage {
    /// What the storage is to be made with again.
    fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let keywords = PyDict::new(py);
        if let Some(dims) = self.dims() {
            keywords.set_item(intern!(py, "dims"), parameters::dims_tuple(py, dims)?)?;
        }
        keywords.set_item(intern!(py, "halo"), PyTuple::new(py, self.halo())?)?;
        if let Some(origin) = self.explicit_origin() {
            keywords.set_item(intern!(py, "default_origin"), PyTuple::new(py, origin)?)?;
        }
        let layout = PyTuple::new(py, self.layout().ranks())?;
        keywords.set_item(intern!(py, "layout"), layout)?;
        keywords.set_item(intern!(py, "alignment_size"), self.alignment)?;
        let aligned_index = PyTuple::new(py, &self.axes.aligned_index)?;
        keywords.set_item(intern!(py, "aligned_index"), aligned_index)?;
        let managed = match self.place() {
            Place::Host => return Ok(keywords),
            Place::Device(_) => PyBool::new(py, false).to_owned().into_any(),
            Place::Pair { .. } => PyString::new(py, "gt4py").into_any(),
            Place::Managed(_) => PyString::new(py, "cuda").into_any(),
        };
        // Any device will do: another machine may have others.
        keywords.set_item(intern!(py, "device"), "gpu")?;
        keywords.set_item(intern!(py, "managed"), managed)?;
        Ok(keywords)
    }

    /// Whether the memory holds this storage and nothing else but padding, as if it had been allocated so.
    fn is_block(&self) -> bool {
        let spec = Spec {
            shape: self.view.shape().into(),
            itemsize: self.view.itemsize(),
            layout: self.layout().clone(),
            alignment: self.alignment,
            aligned_index: self.axes.aligned_index.clone(),
        };
        self.place().has(Side::Host)
            && !self.view.is_empty()
            && spec
                .strides()
                .is_ok_and(|strides| strides[..] == *self.view.strides())
    }
}

/// The bytes from the first to the last element, for pickle to write or to hand over as they are.
fn block<'py>(slf: &Bound<'py, Storage>) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let this = slf.borrow();
    let keeper = match Storage::leased(slf, Side::Host)? {
        Some(handed) => handed.into_any(),
        None => slf.clone().into_any(),
    };
    let view = this.host(py, Access::Read)?;
    let bytes = view.bounds();
    // SAFETY: all this is within the memory of the storage, which the array keeps alive.
    let bytes = unsafe { View::new(view.pointer(), &[bytes.len()][..], &[1][..], 1, None) }
        .map_err(|error| exception(py, &error))?;
    let bytes = array_of(&bytes, &numpy::dtype::<u8>(py), this.writeable, keeper)?;
    py.import(intern!(py, "pickle"))?
        .call_method1(intern!(py, "PickleBuffer"), (bytes,))
}

/// The values without gaps, the axis with the largest stride first.
fn values_in_order<'py>(slf: &Bound<'py, Storage>, order: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let transposed =
        Storage::current_values(slf)?.call_method1(intern!(py, "transpose"), (order,))?;
    let shape = transposed.getattr(intern!(py, "shape"))?;
    // NumPy makes an array without axes one of one.
    array::numpy(py)?
        .call_method1(intern!(py, "ascontiguousarray"), (transposed,))?
        .call_method1(intern!(py, "reshape"), (shape,))
}

/// The storage whose values were pickled.
#[pyfunction]
fn restore<'py>(
    values: &Bound<'py, PyAny>,
    order: Vec<usize>,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    let position = |axis| order.iter().position(|&other| other == axis);
    let Some(inverse) = (0..order.len())
        .map(position)
        .collect::<Option<Vec<usize>>>()
    else {
        let message = format!("the pickle of a storage has {order:?} for the order of its axes");
        return Err(raise(values.py(), "ArgumentValueError", message));
    };
    made_of(&values.call_method1("transpose", (inverse,))?, parameters)
}

/// The storage whose memory was pickled: around the bytes if these can be written and lie where they should, else a copy.
#[pyfunction]
fn restore_block<'py>(
    bytes: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    let py = bytes.py();
    let dtype = PyArrayDescr::new(py, dtype)?;
    let held = PyMemoryView::from(bytes)?;
    let buffer = PyUntypedBuffer::get(&held)?;
    // SAFETY: nothing is accessed before the bytes are known to be enough.
    let view = unsafe {
        View::new(
            buffer.buf_ptr().cast(),
            shape,
            strides,
            dtype.itemsize(),
            None,
        )
    }
    .map_err(|error| exception(py, &error))?;
    let start = buffer.buf_ptr().addr();
    if !buffer.is_c_contiguous() || view.bounds() != (start..start + buffer.len_bytes()) {
        let message = format!(
            "the pickle of a storage needs a buffer of {} bytes, got one of {}; give the buffers in the order in which they \
             were handed out",
            view.bounds().len(),
            buffer.len_bytes()
        );
        return Err(raise(py, "ArgumentValueError", message));
    }
    let array = array_of(&view, &dtype, !buffer.readonly(), held.into_any())?;
    let on_device = parameters.contains(intern!(py, "device"))?;
    if on_device || buffer.readonly() || !lies_well(&view, &dtype, parameters)? {
        return made_of(&array, parameters);
    }
    let around = parameters.copy()?;
    around.set_item(intern!(py, "copy"), false)?;
    made_of(&array, &around)
}

/// Whether memory is aligned as these parameters of a storage ask for, and its elements as they must be.
fn lies_well(
    view: &View,
    dtype: &Bound<'_, PyArrayDescr>,
    parameters: &Bound<'_, PyDict>,
) -> PyResult<bool> {
    let alignment = parameters.as_any().get_item("alignment_size")?.extract()?;
    let index: Vec<usize> = parameters.as_any().get_item("aligned_index")?.extract()?;
    Ok(view.pointer().addr().is_multiple_of(dtype.alignment())
        && memory::is_aligned(view, &index, alignment))
}

fn made_of<'py>(
    values: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    values
        .py()
        .get_type::<Storage>()
        .call((values,), Some(parameters))?
        .cast_into()
        .map_err(PyErr::from)
}

/// Adds the functions of this file to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(restore, module)?)?;
    module.add_function(wrap_pyfunction!(restore_block, module)?)
}
