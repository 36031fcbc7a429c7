//! Memory that another library lends.

use std::ffi::{CStr, c_void};

use fieldstone_storage::View;
use numpy::PyArrayDescr;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::{DataType, Device, IS_COPIED, Legacy, Managed, READ_ONLY, VERSION, Versioned, release};

/// Memory of another library's capsule, described but not yet taken.
pub struct Borrowed<'py> {
    /// The memory.
    pub view: View,
    /// Type of the elements.
    pub dtype: Bound<'py, PyArrayDescr>,
    /// Where the memory is.
    pub device: Device,
    /// Whether it must not be written.
    pub readonly: bool,
    /// Whether it is a copy made for us.
    pub copied: bool,
    capsule: Bound<'py, PyAny>,
    versioned: bool,
}

/// Why a capsule cannot be used.
pub enum Fault {
    /// Python failed.
    Raised(PyErr),
    /// The capsule is not what it should be: it ...
    Wrong(String),
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Fault::Raised(error)
    }
}

fn wrong<T>(problem: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Wrong(problem.into()))
}

/// More axes than any array has.
const MOST_AXES: i32 = 64;

impl<'py> Borrowed<'py> {
    /// Reads what a `__dlpack__` method returned. If that is refused, the capsule stays as it is and frees itself.
    pub fn read(capsule: Bound<'py, PyAny>) -> Result<Self, Fault> {
        if !capsule.is_instance_of::<PyCapsule>() {
            let kind = capsule.get_type().qualname()?;
            return wrong(format!("is an object of type {kind}, expected a capsule"));
        }
        if let Some(managed) = pointer::<Versioned>(&capsule) {
            // SAFETY: a capsule of this name holds such a structure; of other versions only the version may be read.
            let version = unsafe { (*managed).version };
            if version.major != VERSION.major {
                return wrong(format!(
                    "is of version {}.{}, expected {}.x",
                    version.major, version.minor, VERSION.major
                ));
            }
            return Self::described(capsule, managed, true);
        }
        if let Some(managed) = pointer::<Legacy>(&capsule) {
            return Self::described(capsule, managed, false);
        }
        let name = name_of(&capsule);
        if [Versioned::USED, Legacy::USED]
            .iter()
            .any(|used| used.to_string_lossy() == name)
        {
            return wrong("was used already, a capsule gives its memory once");
        }
        wrong(format!(
            "is called '{name}', expected 'dltensor_versioned' or 'dltensor'"
        ))
    }

    fn described<M: Managed>(
        capsule: Bound<'py, PyAny>,
        managed: *mut M,
        versioned: bool,
    ) -> Result<Self, Fault> {
        let py = capsule.py();
        // SAFETY: the capsule holds such a structure, and nobody else uses it while the interpreter is attached here.
        let managed = unsafe { &mut *managed };
        let flags = managed.flags();
        let tensor = managed.tensor();
        let Some(name) = tensor.dtype.name() else {
            let DataType { code, bits, lanes } = tensor.dtype;
            return wrong(format!(
                "has elements of code {code} with {bits} bits and {lanes} lanes, expected a type that NumPy has, such as code 2 \
                 with 64 bits and 1 lane"
            ));
        };
        let dtype = PyArrayDescr::new(py, &name)?;
        let itemsize = usize::from(tensor.dtype.bits) / 8;
        if !(0..=MOST_AXES).contains(&tensor.ndim) {
            return wrong(format!(
                "has {} axes, expected at most {MOST_AXES}",
                tensor.ndim
            ));
        }
        let ndim = tensor.ndim as usize;
        if ndim > 0 && tensor.shape.is_null() {
            return wrong(format!("has {ndim} axes but no shape"));
        }
        // SAFETY: the producer vouches for the lists, which have an entry for each axis.
        let (sizes, strides) = unsafe { (list(tensor.shape, ndim), list(tensor.strides, ndim)) };
        let Ok(shape) = sizes
            .iter()
            .map(|&size| usize::try_from(size))
            .collect::<Result<Vec<_>, _>>()
        else {
            return wrong(format!(
                "has the shape {sizes:?}, expected sizes that are not negative"
            ));
        };
        let strides = if tensor.strides.is_null() {
            contiguous(&shape, itemsize)
        } else {
            in_bytes(strides, &shape, itemsize)
        };
        let Some(strides) = strides else {
            return wrong("has strides that reach further than memory does");
        };
        let address = usize::try_from(tensor.byte_offset)
            .ok()
            .and_then(|offset| tensor.data.addr().checked_add(offset));
        let Some(address) = address else {
            return wrong("has an offset that reaches further than memory does");
        };
        if tensor.data.is_null() && !shape.contains(&0) {
            return wrong(format!("has {shape:?} elements at the address 0"));
        }
        let pointer = tensor.data.cast::<u8>().with_addr(address);
        let device = tensor.device;
        // SAFETY: the producer vouches for the elements, and who takes the memory keeps it alive.
        let view = unsafe { View::new(pointer, shape, strides, itemsize, None) };
        Ok(Self {
            view: view.or_else(|error| wrong(format!("describes no memory: {error}")))?,
            dtype,
            device,
            readonly: flags & READ_ONLY != 0,
            copied: flags & IS_COPIED != 0,
            capsule,
            versioned,
        })
    }

    /// Takes the memory out of the capsule. It lives as long as the object that is returned.
    pub fn take(self) -> PyResult<Bound<'py, PyAny>> {
        if self.versioned {
            taken::<Versioned>(&self.capsule)
        } else {
            taken::<Legacy>(&self.capsule)
        }
    }
}

/// The structure in a capsule, if it holds one of this kind.
fn pointer<M: Managed>(capsule: &Bound<'_, PyAny>) -> Option<*mut M> {
    // SAFETY: the capsule is alive; its pointer is only asked for when it has this name.
    unsafe {
        (ffi::PyCapsule_IsValid(capsule.as_ptr(), M::NAME.as_ptr()) != 0)
            .then(|| ffi::PyCapsule_GetPointer(capsule.as_ptr(), M::NAME.as_ptr()).cast())
    }
}

fn name_of(capsule: &Bound<'_, PyAny>) -> String {
    // SAFETY: the capsule is alive, and names are C strings or null.
    unsafe {
        let name = ffi::PyCapsule_GetName(capsule.as_ptr());
        if name.is_null() {
            return String::new();
        }
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

fn taken<'py, M: Managed>(capsule: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = capsule.py();
    let Some(managed) = pointer::<M>(capsule) else {
        return Err(PyBufferError::new_err(
            "the capsule was used by somebody else meanwhile",
        ));
    };
    // SAFETY: under its new name nobody takes the tensor of the capsule once more, and its destructor leaves it alone.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) } != 0 {
        return Err(PyErr::fetch(py));
    }
    let tensor = Taken {
        managed: managed.cast(),
        release: |managed| {
            // SAFETY: the tensor is returned once, by whoever holds it.
            unsafe { release(managed.cast::<M>()) }
        },
    };
    Ok(Bound::new(py, tensor)?.into_any())
}

/// A tensor that is returned to its producer when the last array of its memory is gone.
#[pyclass(frozen, name = "BorrowedTensor", module = "fieldstone._core")]
struct Taken {
    managed: *mut c_void,
    release: fn(*mut c_void),
}

// SAFETY: the tensor is only touched to return it, which may be done from any thread.
unsafe impl Send for Taken {}
// SAFETY: as above.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        (self.release)(self.managed);
    }
}

/// # Safety
///
/// There are `len` integers at `entries`, unless it is null.
unsafe fn list<'a>(entries: *const i64, len: usize) -> &'a [i64] {
    if entries.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(entries, len) }
}

/// The strides of C's order.
fn contiguous(shape: &[usize], itemsize: usize) -> Option<Vec<isize>> {
    let mut strides = vec![0; shape.len()];
    let mut bytes = isize::try_from(itemsize).ok()?;
    for axis in (0..shape.len()).rev() {
        strides[axis] = bytes;
        bytes = bytes.checked_mul(isize::try_from(shape[axis].max(1)).ok()?)?;
    }
    Some(strides)
}

/// Strides in bytes. Those along an axis of one point mean nothing, and may be any number.
fn in_bytes(strides: &[i64], shape: &[usize], itemsize: usize) -> Option<Vec<isize>> {
    let itemsize = itemsize as i64;
    let bytes = |(&stride, &size): (&i64, &usize)| match stride.checked_mul(itemsize) {
        Some(bytes) => isize::try_from(bytes).ok(),
        None if size <= 1 => Some(0),
        None => None,
    };
    strides.iter().zip(shape).map(bytes).collect()
}
