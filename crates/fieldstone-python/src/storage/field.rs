//! Storages, and whatever else can be one, as fields of a stencil call.

use fieldstone_storage::{Dim, Side};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{Place, Storage, Tracked};
use crate::interface::{self, Description, Known, Numbers, Purpose, Request};

/// Describes the memory of an argument called `name`, without a copy, for a stencil that runs on a side; where it has memory on the
/// other one only, that.
///
/// `mapping` says what an xarray object's dims mean, before its metadata is asked.
#[inline]
pub fn describe<'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    mapping: Option<&Bound<'py, PyAny>>,
    side: Side,
) -> PyResult<Description<'py>> {
    if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
        return Description::of_array(name, array, Known::default());
    }
    if let Ok(storage) = object.cast::<Storage>() {
        return storage.borrow().described(object.py(), name, side);
    }
    let request = Request {
        name,
        purpose: Purpose::Call,
        mapping,
        prefer: side,
    };
    if let Some((data, dims)) = interface::wrapped(&request, object)? {
        let mut description = describe(name, &data, None, side)?;
        description.label(&dims);
        description.keep = Some(data);
        return Ok(description);
    }
    Description::of_found(name, interface::read(&request, object)?, side)
}

impl Storage {
    #[inline]
    fn described<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        side: Side,
    ) -> PyResult<Description<'py>> {
        let origin = self
            .explicit_origin()
            .map(|origin| Numbers::new(origin.iter().map(|&index| index as isize)));
        let tracked = match self.place() {
            Place::Host => None,
            _ => Tracked::of(self, py, name, side)?.map(Box::new),
        };
        let view = tracked.as_deref().and_then(Tracked::view);
        let pointer = view.unwrap_or(&self.view).pointer();
        let accelerator = match side {
            Side::Host => None,
            Side::Device => self.place().accelerator().cloned(),
        };
        Description::of_memory(
            name,
            pointer,
            self.view.shape(),
            self.view.strides(),
            self.dtype.bind(py),
            self.writeable,
            Known {
                dims: self.dims(),
                halo: Some(self.halo()),
                origin,
                padding: self.host_view().map_or(0, |view| view.padding()),
                tracked,
                accelerator,
            },
        )
    }
}

/// The field that an object is, as a dictionary: ``address, shape, strides, dtype, readonly, dims, halo, origin``.
#[pyfunction]
#[pyo3(signature = (object, mapping = None, name = "object"))]
fn describe_field<'py>(
    object: &Bound<'py, PyAny>,
    mapping: Option<&Bound<'py, PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let py = object.py();
    let field = describe(name, object, mapping, Side::Host)?;
    let dict = PyDict::new(py);
    dict.set_item("address", field.pointer.addr())?;
    dict.set_item("shape", PyTuple::new(py, field.shape())?)?;
    dict.set_item("strides", PyTuple::new(py, field.strides())?)?;
    dict.set_item(
        "dtype",
        field
            .dtype
            .as_ref()
            .map_or_else(String::clone, |dtype| dtype.to_string()),
    )?;
    dict.set_item("readonly", field.readonly)?;
    let dims = field
        .dims()
        .map(|dims| PyTuple::new(py, dims.iter().map(Dim::to_string)));
    dict.set_item("dims", dims.transpose()?)?;
    let halo = field.halo.map(|halo| PyTuple::new(py, &halo[..field.rank]));
    dict.set_item("halo", halo.transpose()?)?;
    let origin = field
        .origin
        .map(|origin| PyTuple::new(py, origin.as_slice()));
    dict.set_item("origin", origin.transpose()?)?;
    Ok(dict)
}

/// Adds what this file binds.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(describe_field, module)?)
}
