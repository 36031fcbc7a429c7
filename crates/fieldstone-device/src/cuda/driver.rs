//! The functions of the CUDA driver, found in its library at run time.
//!
//! Numbers the driver returns are numbers here, no enums: one of a newer driver has values that nobody knows yet.

use std::ffi::{CStr, OsStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::fmt::{self, Display};
use std::process;
use std::sync::LazyLock;
use std::{env, ptr};

use libloading::Library;

use crate::{DeviceError, DeviceId};

/// Names of the library. The first is that of the driver; the second, of a toolkit's, is there on some systems only.
const LIBRARIES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Why there are no devices if the driver counts none.
pub(super) const NO_DEVICE: &str = "the CUDA driver reports no device";

/// What a function of the driver returns.
type Code = c_int;

const SUCCESS: Code = 0;
pub(super) const OUT_OF_MEMORY: Code = 2;
pub(super) const NO_DEVICE_FOUND: Code = 100;
pub(super) const NOT_READY: Code = 600;

/// Numbers of device attributes.
pub(super) mod attribute {
    use std::ffi::c_int;

    pub(in super::super) const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub(in super::super) const SHARED_PER_BLOCK: c_int = 8;
    pub(in super::super) const WARP_SIZE: c_int = 10;
    pub(in super::super) const MAX_PITCH: c_int = 11;
    pub(in super::super) const MULTIPROCESSOR_COUNT: c_int = 16;
    pub(in super::super) const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
    pub(in super::super) const UNIFIED_ADDRESSING: c_int = 41;
    pub(in super::super) const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub(in super::super) const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub(in super::super) const SHARED_PER_MULTIPROCESSOR: c_int = 81;
    pub(in super::super) const REGISTERS_PER_MULTIPROCESSOR: c_int = 82;
    pub(in super::super) const MANAGED_MEMORY: c_int = 83;
    pub(in super::super) const CONCURRENT_MANAGED_ACCESS: c_int = 89;
    pub(in super::super) const SHARED_PER_BLOCK_OPTIN: c_int = 97;
    pub(in super::super) const BLOCKS_PER_MULTIPROCESSOR: c_int = 106;
    pub(in super::super) const SHARED_RESERVED_PER_BLOCK: c_int = 111;
}

/// Numbers of what the driver knows of a kernel.
pub(super) mod function_attribute {
    use std::ffi::c_int;

    pub(in super::super) const MAX_THREADS: c_int = 0;
    pub(in super::super) const SHARED_BYTES: c_int = 1;
    pub(in super::super) const LOCAL_BYTES: c_int = 3;
    pub(in super::super) const REGISTERS: c_int = 4;
    pub(in super::super) const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
}

/// Numbers of options of the driver's compiler.
pub(super) mod jit_option {
    use std::ffi::c_uint;

    pub(in super::super) const ERROR_LOG_BUFFER: c_uint = 5;
    pub(in super::super) const ERROR_LOG_BUFFER_BYTES: c_uint = 6;
}

/// Flag of a stream that does not wait for the default stream.
pub(super) const NON_BLOCKING: c_uint = 1;

/// Flag of an event that does not remember its time.
pub(super) const WITHOUT_TIME: c_uint = 2;

/// The kind of what is linked.
pub(super) const INPUT_PTX: c_uint = 1;

/// While a thread records a graph, other threads may do what they like.
pub(super) const CAPTURE_OF_THREAD: c_uint = 1;

/// Numbers of what the driver knows of an address.
pub(super) mod pointer_attribute {
    use std::ffi::c_int;

    pub(in super::super) const MEMORY_TYPE: c_int = 2;
    pub(in super::super) const IS_MANAGED: c_int = 8;
    pub(in super::super) const DEVICE_ORDINAL: c_int = 9;
}

/// Memory type of an address of the host.
pub(super) const MEMORY_OF_HOST: c_uint = 1;

/// Memory type of an address on a device.
pub(super) const MEMORY_OF_DEVICE: c_uint = 2;

/// Flag of host memory that is pinned for all contexts.
pub(super) const PORTABLE: c_uint = 1;

/// Flag of managed memory that every stream may access.
pub(super) const GLOBAL: c_uint = 1;

/// A context, stream or event of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Handle(*mut c_void);

// SAFETY: the driver's handles are not bound to a thread.
unsafe impl Send for Handle {}
// SAFETY: as above; the driver's functions may be called from several threads at a time.
unsafe impl Sync for Handle {}

impl Handle {
    /// None.
    pub(super) const NULL: Self = Self(ptr::null_mut());

    /// The handle of this number.
    pub(super) fn of(number: usize) -> Self {
        Self(ptr::with_exposed_provenance_mut(number))
    }

    /// Its number.
    pub(super) fn number(self) -> usize {
        self.0.expose_provenance()
    }
}

/// A copy of rows, as the driver takes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Memcpy2D {
    pub(super) source: Side,
    pub(super) target: Side,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// One side of a copy of rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Side {
    x: usize,
    y: usize,
    memory_type: c_uint,
    host: *mut c_void,
    device: u64,
    array: Handle,
    pitch: usize,
}

impl Side {
    pub(super) fn of_host(pointer: *mut c_void, pitch: usize) -> Self {
        Self {
            x: 0,
            y: 0,
            memory_type: MEMORY_OF_HOST,
            host: pointer,
            device: 0,
            array: Handle::NULL,
            pitch,
        }
    }

    pub(super) fn of_device(address: u64, pitch: usize) -> Self {
        Self {
            memory_type: MEMORY_OF_DEVICE,
            device: address,
            ..Self::of_host(ptr::null_mut(), pitch)
        }
    }
}

/// What the driver refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    call: &'static str,
    code: Code,
    name: String,
    message: String,
}

impl Failure {
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.code == OUT_OF_MEMORY
    }

    /// The answer to the question whether something is done is: not yet.
    pub(super) fn is_not_ready(&self) -> bool {
        self.code == NOT_READY
    }

    pub(super) fn on(self, device: DeviceId) -> DeviceError {
        DeviceError::Driver {
            call: self.call,
            device,
            code: self.code,
            name: self.name,
            message: self.message,
            kernels: Vec::new(),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            call,
            code,
            name,
            message,
        } = self;
        write!(formatter, "{call}: {name} ({code}), {message}")
    }
}

/// Declares the functions: the method by which each is called here, its name in the library, its parameters.
macro_rules! functions {
    (@any $type:ty) => { _ };
    ($($method:ident = $symbol:ident ($($parameter:ident: $type:ty),*);)*) => {
        #[derive(Debug)]
        struct Functions {
            $($method: unsafe extern "C" fn($($type),*) -> Code,)*
        }

        impl Functions {
            /// Finds all of them, or tells which one is missing.
            fn find(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    // SAFETY: the types are those that the driver documents.
                    $($method: *unsafe { library.get(stringify!($symbol)) }.map_err(|_| stringify!($symbol))?,)*
                })
            }
        }

        impl Driver {
            $(
                /// # Safety
                /// As the driver documents it.
                #[allow(clippy::too_many_arguments, reason = "as many as the driver's function has")]
                pub(super) unsafe fn $method(&self, $($parameter: $type),*) -> Result<(), Failure> {
                    // SAFETY: as the caller says.
                    let code = unsafe { (self.functions.$method)($($parameter),*) };
                    self.checked(stringify!($symbol), code)
                }
            )*
        }

        /// How each function is declared here, and in bindings made from the driver's own header.
        #[cfg(test)]
        pub(super) fn signatures() -> Vec<(&'static str, super::signatures::Passed, super::signatures::Passed)> {
            use super::signatures::{Pass, Signature};
            Vec::from([$({
                let theirs: unsafe fn($(functions!(@any $type)),*) -> _ = cudarc::driver::sys::$symbol;
                (stringify!($symbol), Vec::from([$(<$type>::PASSED),*]), theirs.passed())
            },)*])
        }
    };
}

functions! {
    init = cuInit(flags: c_uint);
    device_get_count = cuDeviceGetCount(count: *mut c_int);
    device_get = cuDeviceGet(device: *mut c_int, ordinal: c_int);
    device_get_name = cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
    device_get_attribute = cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    primary_context_retain = cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int);
    primary_context_state = cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int);
    context_push = cuCtxPushCurrent_v2(context: Handle);
    context_pop = cuCtxPopCurrent_v2(context: *mut Handle);
    context_synchronize = cuCtxSynchronize();
    memory_info = cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    allocate = cuMemAlloc_v2(address: *mut u64, bytes: usize);
    free = cuMemFree_v2(address: u64);
    allocate_host = cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    free_host = cuMemFreeHost(pointer: *mut c_void);
    allocate_managed = cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint);
    pointer_attribute = cuPointerGetAttribute(data: *mut c_void, attribute: c_int, address: u64);
    memcpy_to_device = cuMemcpyHtoDAsync_v2(target: u64, source: *const c_void, bytes: usize, stream: Handle);
    memcpy_to_host = cuMemcpyDtoHAsync_v2(target: *mut c_void, source: u64, bytes: usize, stream: Handle);
    memcpy_2d = cuMemcpy2DAsync_v2(copy: *const Memcpy2D, stream: Handle);
    memcpy_on_device = cuMemcpyDtoDAsync_v2(target: u64, source: u64, bytes: usize, stream: Handle);
    memcpy_to_peer = cuMemcpyPeerAsync(
        target: u64, target_context: Handle, source: u64, source_context: Handle, bytes: usize, stream: Handle
    );
    memset = cuMemsetD8Async(target: u64, value: c_uchar, count: usize, stream: Handle);
    stream_create = cuStreamCreate(stream: *mut Handle, flags: c_uint);
    stream_destroy = cuStreamDestroy_v2(stream: Handle);
    stream_flags = cuStreamGetFlags(stream: Handle, flags: *mut c_uint);
    stream_synchronize = cuStreamSynchronize(stream: Handle);
    stream_wait_event = cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
    event_create = cuEventCreate(event: *mut Handle, flags: c_uint);
    event_destroy = cuEventDestroy_v2(event: Handle);
    event_record = cuEventRecord(event: Handle, stream: Handle);
    event_query = cuEventQuery(event: Handle);
    event_synchronize = cuEventSynchronize(event: Handle);
    event_elapsed_time = cuEventElapsedTime(milliseconds: *mut f32, from: Handle, to: Handle);
    driver_version = cuDriverGetVersion(version: *mut c_int);
    link_create = cuLinkCreate_v2(count: c_uint, options: *mut c_uint, values: *mut *mut c_void, state: *mut Handle);
    link_add = cuLinkAddData_v2(
        state: Handle, kind: c_uint, data: *mut c_void, bytes: usize, name: *const c_char, count: c_uint,
        options: *mut c_uint, values: *mut *mut c_void
    );
    link_complete = cuLinkComplete(state: Handle, code: *mut *mut c_void, bytes: *mut usize);
    link_destroy = cuLinkDestroy(state: Handle);
    module_load = cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void
    );
    module_unload = cuModuleUnload(module: Handle);
    module_function = cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    function_attribute = cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle);
    set_function_attribute = cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    launch_kernel = cuLaunchKernel(
        function: Handle, blocks_x: c_uint, blocks_y: c_uint, blocks_z: c_uint, threads_x: c_uint, threads_y: c_uint,
        threads_z: c_uint, shared: c_uint, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void
    );
    begin_capture = cuStreamBeginCapture_v2(stream: Handle, mode: c_uint);
    end_capture = cuStreamEndCapture(stream: Handle, graph: *mut Handle);
    graph_instantiate = cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64);
    graph_launch = cuGraphLaunch(executable: Handle, stream: Handle);
    graph_destroy = cuGraphDestroy(graph: Handle);
    graph_destroy_executable = cuGraphExecDestroy(executable: Handle);
}

/// A function that gives a text to an error number.
type Text = unsafe extern "C" fn(Code, *mut *const c_char) -> Code;

/// The driver, loaded and initialised.
#[derive(Debug)]
pub(super) struct Driver {
    functions: Functions,
    texts: Texts,
    /// The process that initialised it; no other one can use it.
    process: u32,
}

/// What the errors are called.
#[derive(Clone, Copy, Debug)]
struct Texts {
    name: Text,
    message: Text,
}

impl Driver {
    /// The driver, or why there is none.
    pub(super) fn get() -> Result<&'static Self, String> {
        static DRIVER: LazyLock<Result<Driver, String>> = LazyLock::new(Driver::load);
        DRIVER.as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, String> {
        let library = open()?;
        let missing = |symbol: &str| {
            format!(
                "the CUDA driver{} has no function {symbol}, it is too old; install a newer one",
                version(&library)
            )
        };
        // SAFETY: the types are those that the driver documents.
        let texts = unsafe {
            Texts {
                name: *library
                    .get("cuGetErrorName")
                    .map_err(|_| missing("cuGetErrorName"))?,
                message: *library
                    .get("cuGetErrorString")
                    .map_err(|_| missing("cuGetErrorString"))?,
            }
        };
        let driver = Self {
            functions: Functions::find(&library).map_err(missing)?,
            texts,
            process: process::id(),
        };
        // Never unloaded: it has threads of its own, and memory may be given back to it when the process ends.
        std::mem::forget(library);
        // SAFETY: the only flags that are defined are none.
        unsafe { driver.init(0) }.map_err(|failure| reason(&failure))?;
        Ok(driver)
    }

    /// Whether this process is the one that initialised the driver, and not a fork of it.
    pub(super) fn is_usable(&self) -> bool {
        self.process == process::id()
    }

    fn checked(&self, call: &'static str, code: Code) -> Result<(), Failure> {
        match code {
            SUCCESS => Ok(()),
            _ => Err(Failure {
                call,
                code,
                name: text(self.texts.name, code)
                    .unwrap_or_else(|| "an error without a name".to_owned()),
                message: text(self.texts.message, code)
                    .unwrap_or_else(|| "of which the driver says nothing more".to_owned()),
            }),
        }
    }
}

fn text(of: Text, code: Code) -> Option<String> {
    let mut text = ptr::null();
    // SAFETY: the driver writes the address of a text of its own, or null.
    let told = unsafe { of(code, &raw mut text) };
    if told != SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: as above; the text stays.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

fn open() -> Result<Library, String> {
    let mut reasons = Vec::new();
    for name in LIBRARIES {
        // SAFETY: what the driver's library does when it is loaded is what every user of a GPU lets it do.
        match unsafe { Library::new(OsStr::new(name)) } {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(said(&error)),
        }
    }
    Err(format!(
        "the CUDA driver's library {} cannot be loaded ({})",
        LIBRARIES[0], reasons[0]
    ))
}

/// What the loader says.
fn said(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// The driver's version as part of a sentence, if it tells.
fn version(library: &Library) -> String {
    type Ask = unsafe extern "C" fn(*mut c_int) -> Code;
    let mut version = 0;
    // SAFETY: the type is the one that the driver documents, which writes one number.
    let told = unsafe {
        library
            .get::<Ask>("cuDriverGetVersion")
            .map(|ask| ask(&raw mut version))
    };
    match told {
        Ok(SUCCESS) => format!(", for CUDA {}.{},", version / 1000, version % 1000 / 10),
        _ => String::new(),
    }
}

/// Why a driver that does not start has no devices.
fn reason(failure: &Failure) -> String {
    let visible = env::var("CUDA_VISIBLE_DEVICES");
    match (failure.code, visible) {
        (NO_DEVICE_FOUND, Ok(visible)) => {
            format!("{NO_DEVICE}, where CUDA_VISIBLE_DEVICES is '{visible}' ({failure})")
        }
        (NO_DEVICE_FOUND, Err(_)) => format!("{NO_DEVICE} ({failure})"),
        _ => format!("the CUDA driver does not start ({failure})"),
    }
}
