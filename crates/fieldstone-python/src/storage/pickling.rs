//! Pickle: the values in the order they lie in memory, and what is needed to lay them out again.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Storage, parameters};
use crate::array;

#[pymethods]
impl Storage {
    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, _protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.borrow();
        let layout = this.layout();
        let order = layout.order().into_vec();
        // Without the padding, and so that one buffer holds it all.
        let array = array::numpy(py)?
            .getattr("ascontiguousarray")?
            .call1((Storage::current_values(slf)?.call_method1("transpose", (&order,))?,))?
            .call_method1(
                "reshape",
                (order
                    .iter()
                    .map(|&axis| this.view.shape()[axis])
                    .collect::<Vec<_>>(),),
            )?;
        let keywords = PyDict::new(py);
        if let Some(dims) = this.dims() {
            keywords.set_item("dims", parameters::dims_tuple(py, dims)?)?;
        }
        keywords.set_item("halo", PyTuple::new(py, this.halo())?)?;
        if let Some(origin) = &this.axes.explicit_origin {
            keywords.set_item("default_origin", PyTuple::new(py, origin)?)?;
        }
        keywords.set_item("layout", PyTuple::new(py, layout.ranks())?)?;
        keywords.set_item("alignment_size", this.alignment)?;
        keywords.set_item("aligned_index", PyTuple::new(py, &this.axes.aligned_index)?)?;
        let restore = py.import("fieldstone._core")?.getattr("restore")?;
        Ok((restore, (array, order, keywords))
            .into_pyobject(py)?
            .into_any())
    }
}

/// The storage that was pickled.
#[pyfunction]
fn restore<'py>(
    values: &Bound<'py, PyAny>,
    order: Vec<usize>,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Storage>> {
    let py = values.py();
    let mut inverse = vec![0; order.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(position, &axis)| inverse[axis] = position);
    let values = values.call_method1("transpose", (inverse,))?;
    py.get_type::<Storage>()
        .call((values,), Some(parameters))?
        .cast_into()
        .map_err(PyErr::from)
}

/// Adds the functions of this file to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(restore, module)?)
}
