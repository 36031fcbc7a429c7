//! The table of the driver's functions beside the bindings that the crate `cudarc` generates from the driver's header.

use std::ffi::c_int;

use cudarc::driver::sys;

use super::driver::{
    self, Handle, Memcpy2D, Side, attribute, function_attribute, jit_option, pointer_attribute,
};

/// How the parameters of a function are passed.
pub(super) type Passed = Vec<How>;

/// How a value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// A number of that many bytes.
    Number(usize),
    /// An address of something of that many bytes; of a handle's there are none that anybody knows.
    Address(usize),
}

pub(super) trait Pass {
    const PASSED: How;
}

macro_rules! numbers {
    ($($type:ty),*) => { $(impl Pass for $type { const PASSED: How = How::Number(size_of::<Self>()); })* };
}

numbers!(
    u8,
    i32,
    u32,
    u64,
    usize,
    sys::CUdevice_attribute,
    sys::CUpointer_attribute,
    sys::CUfunction_attribute,
    sys::CUjitInputType,
    sys::CUstreamCaptureMode,
    sys::CUresult
);

impl<T> Pass for *mut T {
    const PASSED: How = How::Address(size_of::<T>());
}

impl<T> Pass for *const T {
    const PASSED: How = How::Address(size_of::<T>());
}

impl Pass for Handle {
    const PASSED: How = How::Address(0);
}

pub(super) trait Signature {
    fn passed(&self) -> Passed;
}

macro_rules! functions_of {
    ($($parameter:ident)*) => {
        impl<$($parameter: Pass),*> Signature for unsafe fn($($parameter),*) -> sys::CUresult {
            fn passed(&self) -> Passed {
                Vec::from([$($parameter::PASSED),*])
            }
        }
    };
}

functions_of!();
functions_of!(A);
functions_of!(A B);
functions_of!(A B C);
functions_of!(A B C D);
functions_of!(A B C D E);
functions_of!(A B C D E F);
functions_of!(A B C D E F G H);
functions_of!(A B C D E F G H I J K);

#[test]
fn the_functions_are_declared_as_in_the_header_of_the_driver() {
    let signatures = driver::signatures();
    assert!(signatures.len() > 45);
    for (name, ours, theirs) in signatures {
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn the_numbers_are_those_of_the_header_of_the_driver() {
    use sys::CUdevice_attribute_enum as device;
    use sys::CUfunction_attribute_enum as function;
    use sys::CUjit_option_enum as option;
    use sys::CUpointer_attribute_enum as pointer;
    let numbers: [(c_int, c_int); 36] = [
        (
            attribute::MULTIPROCESSOR_COUNT,
            device::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as c_int,
        ),
        (
            attribute::UNIFIED_ADDRESSING,
            device::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING as c_int,
        ),
        (
            attribute::COMPUTE_CAPABILITY_MAJOR,
            device::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as c_int,
        ),
        (
            attribute::COMPUTE_CAPABILITY_MINOR,
            device::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as c_int,
        ),
        (
            attribute::MANAGED_MEMORY,
            device::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY as c_int,
        ),
        (
            attribute::CONCURRENT_MANAGED_ACCESS,
            device::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS as c_int,
        ),
        (
            pointer_attribute::MEMORY_TYPE,
            pointer::CU_POINTER_ATTRIBUTE_MEMORY_TYPE as c_int,
        ),
        (
            pointer_attribute::IS_MANAGED,
            pointer::CU_POINTER_ATTRIBUTE_IS_MANAGED as c_int,
        ),
        (
            pointer_attribute::DEVICE_ORDINAL,
            pointer::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL as c_int,
        ),
        (
            driver::MEMORY_OF_DEVICE as c_int,
            sys::CUmemorytype_enum::CU_MEMORYTYPE_DEVICE as c_int,
        ),
        (
            attribute::MAX_PITCH,
            device::CU_DEVICE_ATTRIBUTE_MAX_PITCH as c_int,
        ),
        (
            driver::MEMORY_OF_HOST as c_int,
            sys::CUmemorytype_enum::CU_MEMORYTYPE_HOST as c_int,
        ),
        (
            driver::PORTABLE as c_int,
            sys::CU_MEMHOSTALLOC_PORTABLE as c_int,
        ),
        (
            driver::GLOBAL as c_int,
            sys::CUmemAttach_flags_enum::CU_MEM_ATTACH_GLOBAL as c_int,
        ),
        (
            driver::OUT_OF_MEMORY,
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as c_int,
        ),
        (
            driver::NO_DEVICE_FOUND,
            sys::CUresult::CUDA_ERROR_NO_DEVICE as c_int,
        ),
        (
            driver::NOT_READY,
            sys::CUresult::CUDA_ERROR_NOT_READY as c_int,
        ),
        (
            attribute::WARP_SIZE,
            device::CU_DEVICE_ATTRIBUTE_WARP_SIZE as c_int,
        ),
        (
            attribute::MAX_THREADS_PER_BLOCK,
            device::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK as c_int,
        ),
        (
            attribute::MAX_THREADS_PER_MULTIPROCESSOR,
            device::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR as c_int,
        ),
        (
            attribute::SHARED_PER_BLOCK,
            device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK as c_int,
        ),
        (
            attribute::SHARED_PER_BLOCK_OPTIN,
            device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as c_int,
        ),
        (
            attribute::SHARED_PER_MULTIPROCESSOR,
            device::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR as c_int,
        ),
        (
            attribute::REGISTERS_PER_MULTIPROCESSOR,
            device::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR as c_int,
        ),
        (
            attribute::BLOCKS_PER_MULTIPROCESSOR,
            device::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR as c_int,
        ),
        (
            attribute::SHARED_RESERVED_PER_BLOCK,
            device::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK as c_int,
        ),
        (
            function_attribute::MAX_THREADS,
            function::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK as c_int,
        ),
        (
            function_attribute::SHARED_BYTES,
            function::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as c_int,
        ),
        (
            function_attribute::LOCAL_BYTES,
            function::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES as c_int,
        ),
        (
            function_attribute::REGISTERS,
            function::CU_FUNC_ATTRIBUTE_NUM_REGS as c_int,
        ),
        (
            function_attribute::MAX_DYNAMIC_SHARED_BYTES,
            function::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_int,
        ),
        (
            jit_option::ERROR_LOG_BUFFER as c_int,
            option::CU_JIT_ERROR_LOG_BUFFER as c_int,
        ),
        (
            jit_option::ERROR_LOG_BUFFER_BYTES as c_int,
            option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_int,
        ),
        (
            driver::NON_BLOCKING as c_int,
            sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as c_int,
        ),
        (
            driver::INPUT_PTX as c_int,
            sys::CUjitInputType_enum::CU_JIT_INPUT_PTX as c_int,
        ),
        (
            driver::CAPTURE_OF_THREAD as c_int,
            sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as c_int,
        ),
    ];
    for (place, (ours, theirs)) in numbers.into_iter().enumerate() {
        assert_eq!(ours, theirs, "number {place}");
    }
}

#[test]
fn a_copy_of_rows_lies_in_memory_as_in_the_header_of_the_driver() {
    let source = Side::of_host(std::ptr::without_provenance_mut(1), 2);
    let ours = Memcpy2D {
        source,
        target: Side::of_device(3, 4),
        width: 5,
        height: 6,
    };
    assert_eq!(size_of::<Memcpy2D>(), size_of::<sys::CUDA_MEMCPY2D>());
    // SAFETY: both are as long, and the enum in it has a value that is one of its own.
    let theirs: sys::CUDA_MEMCPY2D = unsafe { std::mem::transmute(ours) };
    assert_eq!(
        theirs.srcMemoryType,
        sys::CUmemorytype_enum::CU_MEMORYTYPE_HOST
    );
    assert_eq!(
        theirs.dstMemoryType,
        sys::CUmemorytype_enum::CU_MEMORYTYPE_DEVICE
    );
    assert_eq!((theirs.srcHost.addr(), theirs.srcPitch), (1, 2));
    assert_eq!((theirs.dstDevice, theirs.dstPitch), (3, 4));
    assert_eq!((theirs.WidthInBytes, theirs.Height), (5, 6));
    let rest = [
        theirs.srcXInBytes,
        theirs.srcY,
        theirs.dstXInBytes,
        theirs.dstY,
    ];
    assert_eq!(rest, [0; 4]);
    assert!(theirs.srcArray.is_null() && theirs.dstArray.is_null() && theirs.dstHost.is_null());
}
