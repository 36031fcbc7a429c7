//! The `numpy` backend: the program as NumPy text, run by Python on views of the arguments.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use fieldstone_codegen::call::Call;
use fieldstone_stencil::{Axes, DType, Program};
use numpy::npyffi::{NPY_ARRAY_WRITEABLE, PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::exceptions::{PyArithmeticError, PyIndexError};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::raise;
use fieldstone_codegen::stack::deep;

/// A program as the text of a Python module, and the function of that module.
pub struct NumpyText {
    program: Arc<Program>,
    function: Py<PyAny>,
    dtypes: Vec<Py<PyArrayDescr>>,
}

impl NumpyText {
    /// Writes the text and loads it.
    pub fn new(py: Python<'_>, program: &Arc<Program>) -> PyResult<NumpyText> {
        let source = deep(|| fieldstone_codegen::numpy::emit(program));
        let name = &program.stencil.name;
        let defect = |error: PyErr| {
            let wrapped = raise(
                py,
                "CompilationError",
                format!("the NumPy text of stencil '{name}' does not load: {error}"),
            );
            wrapped.set_cause(py, Some(error));
            wrapped
        };
        let file = format!("<numpy text of {name}>");
        let function = loaded(py, &source, &file, name).map_err(defect)?;
        let dtypes = program.stencil.fields.iter();
        Ok(NumpyText {
            function,
            dtypes: dtypes
                .map(|field| PyArrayDescr::new(py, field.dtype.name()).map(Bound::unbind))
                .collect::<PyResult<_>>()?,
            program: program.clone(),
        })
    }

    /// Runs the text. `origins` are the indices of the domain's first point in each field.
    ///
    /// # Safety
    ///
    /// Every field of the call must be valid memory over all points it says it covers, and stay alive until this returns.
    pub unsafe fn run(
        &self,
        py: Python<'_>,
        call: &Call<'_>,
        origins: &[[isize; 3]],
    ) -> PyResult<()> {
        let stencil = &self.program.stencil;
        let mut arguments = Vec::with_capacity(call.fields.len() + call.scalars.len());
        let by_name = PyDict::new(py);
        let mut data_strides = call.data_strides.iter();
        for (n, (argument, origin)) in call.fields.iter().zip(origins).enumerate() {
            let (field, info) = (&stencil.fields[n], &self.program.analysis.fields[n]);
            let axes: Vec<usize> = field.axes.iter().map(|axis| axis.index()).collect();
            let offset: isize = axes.iter().map(|n| origin[*n] * argument.strides[*n]).sum();
            let shape = axes
                .iter()
                .map(|n| origin[*n] + argument.upper[*n] as isize);
            let mut view = View {
                data: argument.pointer.wrapping_offset(-offset).cast(),
                shape: shape.collect(),
                strides: axes.iter().map(|n| argument.strides[*n]).collect(),
            };
            for (size, stride) in field.data_dims.iter().zip(data_strides.by_ref()) {
                view.shape.push(*size as npy_intp);
                view.strides.push(*stride);
            }
            // SAFETY: promised by the caller.
            let array = unsafe { view.array(py, self.dtypes[n].bind(py), info.access.writes())? };
            by_name.set_item(&field.name, within(py, field.axes, origin)?)?;
            arguments.push(array.into_any());
        }
        for scalar in call.scalars {
            arguments.push(number(py, scalar.dtype, scalar.bits)?);
        }
        let keywords = PyDict::new(py);
        keywords.set_item("domain", call.domain)?;
        keywords.set_item("origins", by_name)?;
        self.function
            .bind(py)
            .call(PyTuple::new(py, arguments)?, Some(&keywords))
            .map_err(|error| {
                let message = || error.value(py).to_string();
                match () {
                    // The text raises it for levels and indices that an array does not have.
                    () if error.is_instance_of::<PyIndexError>(py) => {
                        raise(py, "OutOfBoundsError", message())
                    }
                    // And this for bounds of intervals.
                    () if error.is_instance_of::<PyArithmeticError>(py) => {
                        raise(py, "IntervalError", message())
                    }
                    () => error,
                }
            })?;
        Ok(())
    }
}

/// The function that a text defines. It is in no module, so that its names are there until the interpreter ends.
fn loaded(py: Python<'_>, source: &str, file: &str, name: &str) -> PyResult<Py<PyAny>> {
    let builtins = py.import("builtins")?;
    let code = builtins.call_method1("compile", (source, file, "exec"))?;
    let names = PyDict::new(py);
    names.set_item("__name__", "fieldstone_numpy_text")?;
    builtins.call_method1("exec", (code, &names))?;
    Ok(names.as_any().get_item(name)?.unbind())
}

/// The components of an origin along a field's own axes.
pub fn within<'py>(
    py: Python<'py>,
    axes: Axes,
    origin: &[isize; 3],
) -> PyResult<Bound<'py, PyTuple>> {
    let own: Vec<isize> = axes.iter().map(|axis| origin[axis.index()]).collect();
    PyTuple::new(py, own)
}

/// The Python number of a scalar's bits; the text itself gives it its type.
fn number<'py>(py: Python<'py>, dtype: DType, bits: u64) -> PyResult<Bound<'py, PyAny>> {
    let shift = 64 - 8 * dtype.size() as u32;
    Ok(match dtype {
        DType::Bool => (bits != 0).into_pyobject(py)?.to_owned().into_any(),
        DType::Float32 => f32::from_bits(bits as u32).into_pyobject(py)?.into_any(),
        DType::Float64 => f64::from_bits(bits).into_pyobject(py)?.into_any(),
        _ if dtype.is_signed() => (((bits << shift) as i64) >> shift)
            .into_pyobject(py)?
            .into_any(),
        _ => bits.into_pyobject(py)?.into_any(),
    })
}

struct View {
    data: *mut c_void,
    shape: Vec<npy_intp>,
    strides: Vec<npy_intp>,
}

impl View {
    /// A NumPy array over the memory, which it does not keep alive.
    ///
    /// # Safety
    ///
    /// The memory must be valid for as long as the array lives.
    unsafe fn array<'py>(
        &mut self,
        py: Python<'py>,
        dtype: &Bound<'py, PyArrayDescr>,
        writable: bool,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        // SAFETY: shape and strides have one entry for each axis, the call takes over one reference to the dtype, and the
        // result is a new reference or null with an exception set.
        let array = unsafe {
            let array = PY_ARRAY_API.PyArray_NewFromDescr(
                py,
                PyUntypedArray::type_object_raw(py),
                dtype.clone().into_dtype_ptr(),
                self.shape.len() as c_int,
                self.shape.as_mut_ptr(),
                self.strides.as_mut_ptr(),
                self.data,
                if writable { NPY_ARRAY_WRITEABLE } else { 0 },
                std::ptr::null_mut(),
            );
            Bound::from_owned_ptr_or_err(py, array)?
        };
        Ok(array.cast_into::<PyUntypedArray>()?)
    }
}
