//! NumPy's types of elements as those of fields.

use fieldstone_stencil::DType;
use numpy::npyffi::NPY_TYPES;
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;

/// The element type, or its name if fields cannot have it.
pub fn data_type(descr: &Bound<'_, PyArrayDescr>) -> PyResult<Result<DType, String>> {
    Ok(match element(descr.num()) {
        Some(dtype) if descr.is_native_byteorder() != Some(false) => Ok(dtype),
        _ => Err(descr.str()?.to_string()),
    })
}

/// The element type of NumPy's type number. C's `long` and `long long` have numbers of their own.
fn element(number: std::ffi::c_int) -> Option<DType> {
    const fn sized(size: usize, signed: bool) -> DType {
        match (size, signed) {
            (4, true) => DType::Int32,
            (4, false) => DType::UInt32,
            (_, true) => DType::Int64,
            (_, false) => DType::UInt64,
        }
    }
    let long = size_of::<std::ffi::c_long>();
    const TYPES: [NPY_TYPES; 13] = [
        NPY_TYPES::NPY_BOOL,
        NPY_TYPES::NPY_BYTE,
        NPY_TYPES::NPY_UBYTE,
        NPY_TYPES::NPY_SHORT,
        NPY_TYPES::NPY_USHORT,
        NPY_TYPES::NPY_INT,
        NPY_TYPES::NPY_UINT,
        NPY_TYPES::NPY_LONG,
        NPY_TYPES::NPY_ULONG,
        NPY_TYPES::NPY_LONGLONG,
        NPY_TYPES::NPY_ULONGLONG,
        NPY_TYPES::NPY_FLOAT,
        NPY_TYPES::NPY_DOUBLE,
    ];
    let dtypes = [
        DType::Bool,
        DType::Int8,
        DType::UInt8,
        DType::Int16,
        DType::UInt16,
        DType::Int32,
        DType::UInt32,
        sized(long, true),
        sized(long, false),
        DType::Int64,
        DType::UInt64,
        DType::Float32,
        DType::Float64,
    ];
    if number == NPY_TYPES::NPY_HALF as std::ffi::c_int {
        return Some(DType::Float16);
    }
    let index = usize::try_from(number)
        .ok()
        .filter(|index| *index < TYPES.len())?;
    debug_assert_eq!(TYPES[index] as std::ffi::c_int, number);
    Some(dtypes[index])
}
