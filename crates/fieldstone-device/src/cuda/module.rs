//! Code for a GPU: assembled, loaded, launched, and repeated as a graph.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Context;
use super::driver::{
    CAPTURE_OF_THREAD, Driver, Failure, Handle, INPUT_PTX, function_attribute, jit_option,
};
use super::queue;
use crate::kernel::{Graph, Launch, Module, Node, Resources, Symbol};
use crate::{DeviceError, DeviceId, Stream};

/// Bytes of what the driver's compiler may say.
const LOG: usize = 1 << 14;

/// The options with which the driver compiles: where to write what it has to say of errors.
struct Options {
    names: [c_uint; 2],
    values: [*mut c_void; 2],
    log: Vec<u8>,
}

impl Options {
    fn new() -> Self {
        let mut log = vec![0; LOG];
        Self {
            names: [
                jit_option::ERROR_LOG_BUFFER,
                jit_option::ERROR_LOG_BUFFER_BYTES,
            ],
            // A number is passed as if it were an address.
            values: [
                log.as_mut_ptr().cast(),
                ptr::without_provenance_mut(LOG - 1),
            ],
            log,
        }
    }

    fn count(&self) -> c_uint {
        self.names.len() as c_uint
    }

    /// What the driver wrote.
    fn said(&self) -> String {
        let end = self.log.iter().position(|&byte| byte == 0);
        let text = &self.log[..end.unwrap_or(LOG)];
        String::from_utf8_lossy(text).trim().to_owned()
    }
}

/// The error of code that the driver refuses.
fn refused(context: &Context, label: &str, failure: Failure, log: String) -> DeviceError {
    DeviceError::Code {
        label: label.to_owned(),
        device: context.id(),
        error: Box::new(context.error(failure)),
        log,
    }
}

/// Machine code of PTX.
pub(super) fn assemble(context: &Context, label: &str, ptx: &str) -> Result<Vec<u8>, DeviceError> {
    let text = image(context, label, ptx.as_bytes())?;
    let mut options = Options::new();
    let linked = context.tried_inside(|driver| {
        let mut state = Handle::NULL;
        let (names, values) = (options.names.as_mut_ptr(), options.values.as_mut_ptr());
        // SAFETY: the driver keeps the addresses of options until the state is destroyed, below, and writes one handle.
        unsafe { driver.link_create(options.count(), names, values, &raw mut state)? };
        let linked = link(driver, state, &text);
        // SAFETY: the state is ours, and was copied from.
        unsafe { driver.link_destroy(state)? };
        linked
    })?;
    linked.map_err(|failure| refused(context, label, failure, options.said()))
}

fn link(driver: &Driver, state: Handle, text: &CString) -> Result<Vec<u8>, Failure> {
    let bytes = text.as_bytes_with_nul();
    let (mut code, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the text is as long as it says and is only read; the driver writes an address and a size, of memory that is there
    // until the state is destroyed.
    unsafe {
        driver.link_add(
            state,
            INPUT_PTX,
            bytes.as_ptr().cast_mut().cast(),
            bytes.len(),
            c"fieldstone".as_ptr(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
        )?;
        driver.link_complete(state, &raw mut code, &raw mut size)?;
        Ok(std::slice::from_raw_parts(code.cast::<u8>(), size).to_vec())
    }
}

/// Code as the driver reads it, which finds its end by a zero where it is a text.
fn image(context: &Context, label: &str, code: &[u8]) -> Result<CString, DeviceError> {
    CString::new(code).map_err(|_| DeviceError::NotCode {
        label: label.to_owned(),
        device: context.id(),
        reason: "the text has a zero byte in it".to_owned(),
    })
}

/// What files of machine code begin with.
const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];

/// Loads PTX or machine code.
pub(super) fn load(
    context: &Arc<Context>,
    label: &str,
    code: &[u8],
    symbols: &[Symbol<'_>],
) -> Result<Box<dyn Module>, DeviceError> {
    let text;
    let start: *const c_void = match code.starts_with(&ELF) {
        true => code.as_ptr().cast(),
        false => {
            text = image(context, label, code)?;
            text.as_ptr().cast()
        }
    };
    let mut options = Options::new();
    let mut handle = Handle::NULL;
    let (names, values) = (options.names.as_mut_ptr(), options.values.as_mut_ptr());
    // SAFETY: the code ends where it says, or with a zero; the driver writes one handle and no more of a log than there is room.
    let load = |driver: &Driver| unsafe {
        driver.module_load(&raw mut handle, start, options.count(), names, values)
    };
    context
        .tried_inside(load)?
        .map_err(|failure| refused(context, label, failure, options.said()))?;
    // From here on it is unloaded if something fails.
    let mut module = CudaModule {
        context: Arc::clone(context),
        handle,
        label: label.to_owned(),
        kernels: Vec::with_capacity(symbols.len()),
    };
    for symbol in symbols {
        let kernel = module.find(symbol)?;
        module.kernels.push(kernel);
    }
    Ok(Box::new(module))
}

#[derive(Debug)]
struct CudaModule {
    context: Arc<Context>,
    handle: Handle,
    label: String,
    kernels: Vec<Kernel>,
}

#[derive(Debug)]
struct Kernel {
    function: Handle,
    name: String,
    /// The name and what it is of, for errors of work that was not waited for.
    told: Arc<str>,
}

impl CudaModule {
    fn find(&self, symbol: &Symbol<'_>) -> Result<Kernel, DeviceError> {
        let not = |reason: String| DeviceError::NotCode {
            label: self.label.clone(),
            device: self.context.id(),
            reason,
        };
        let name = CString::new(symbol.name)
            .map_err(|_| not(format!("{:?} is no name of a kernel", symbol.name)))?;
        let mut function = Handle::NULL;
        // SAFETY: the name ends with zero; the driver writes one handle.
        let find = |driver: &Driver| unsafe {
            driver.module_function(&raw mut function, self.handle, name.as_ptr())
        };
        if let Err(failure) = self.context.tried_inside(find)? {
            return Err(not(format!(
                "it has no kernel '{}' ({failure})",
                symbol.name
            )));
        }
        if symbol.shared_bytes > 0 {
            let bytes = c_int::try_from(symbol.shared_bytes).unwrap_or(c_int::MAX);
            let which = function_attribute::MAX_DYNAMIC_SHARED_BYTES;
            // SAFETY: the function is one of a module that is loaded.
            let allow =
                |driver: &Driver| unsafe { driver.set_function_attribute(function, which, bytes) };
            self.context.tried_inside(allow)?.map_err(|failure| {
                not(format!(
                    "kernel '{}' cannot have {bytes} bytes of shared memory ({failure})",
                    symbol.name
                ))
            })?;
        }
        Ok(Kernel {
            function,
            name: symbol.name.to_owned(),
            told: format!("'{}' of {}", symbol.name, self.label).into(),
        })
    }

    /// Puts a kernel into a stream, in this device's context.
    ///
    /// # Safety
    /// As [`Module::launch`].
    unsafe fn put(
        &self,
        driver: &Driver,
        launch: &Launch<'_>,
        stream: Handle,
    ) -> Result<(), Failure> {
        let ([x, y, z], [along_x, along_y, along_z]) = (launch.grid, launch.block);
        let mut parameters = [launch.words.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: the driver copies the words, as many as the kernel's one parameter has.
        unsafe {
            driver.launch_kernel(
                self.kernels[launch.kernel].function,
                x,
                y,
                z,
                along_x,
                along_y,
                along_z,
                launch.shared_bytes,
                stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
    }

    fn error(&self, kernel: usize, failure: Failure) -> DeviceError {
        DeviceError::Kernel {
            kernel: self.kernels[kernel].name.clone(),
            label: self.label.clone(),
            error: Box::new(self.context.error(failure)),
        }
    }
}

impl Module for CudaModule {
    fn device(&self) -> DeviceId {
        self.context.id()
    }

    fn resources(&self, kernel: usize) -> Result<Option<Resources>, DeviceError> {
        let function = self.kernels[kernel].function;
        self.context.inside(|driver| {
            let ask = |which| {
                let mut value = 0;
                // SAFETY: the driver writes one number.
                unsafe { driver.function_attribute(&raw mut value, which, function)? };
                Ok(value.unsigned_abs())
            };
            Ok(Some(Resources {
                registers: ask(function_attribute::REGISTERS)?,
                local_bytes: ask(function_attribute::LOCAL_BYTES)?,
                shared_bytes: ask(function_attribute::SHARED_BYTES)?,
                max_threads: ask(function_attribute::MAX_THREADS)?,
            }))
        })
    }

    unsafe fn launch(&self, launch: &Launch<'_>, stream: Stream) -> Result<(), DeviceError> {
        if launch.blocks() == 0 {
            return Ok(());
        }
        self.context.launched(&self.kernels[launch.kernel].told);
        // SAFETY: as the caller says.
        let put = |driver: &Driver| unsafe { self.put(driver, launch, super::handle(stream)) };
        self.context
            .tried_inside(put)?
            .map_err(|failure| self.error(launch.kernel, failure))
    }
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        // Fails in a fork and after the driver has shut down, when the module is gone already.
        let _ = self.context.inside(|driver| {
            // Kernels that are not done must not lose their code.
            // SAFETY: a context is current, and the module is ours.
            unsafe {
                driver.context_synchronize()?;
                driver.module_unload(self.handle)
            }
        });
    }
}

/// Records launches in a stream of its own, and makes a graph of them.
///
/// # Safety
/// As [`Accelerator::graph`](crate::Accelerator::graph).
pub(super) unsafe fn graph(
    context: &Arc<Context>,
    nodes: &[Node<'_>],
) -> Result<Box<dyn Graph>, DeviceError> {
    let queue = queue::stream(context, 0)?;
    let stream = queue.stream();
    // SAFETY: the stream is ours and nothing is in it.
    context.inside(|driver| unsafe {
        driver.begin_capture(super::handle(stream), CAPTURE_OF_THREAD)
    })?;
    let put = nodes.iter().try_for_each(|node| match node {
        // SAFETY: as the caller says.
        Node::Launch(module, launch) => unsafe { module.launch(launch, stream) },
        Node::Clear(_, 0) => Ok(()),
        // SAFETY: as the caller says.
        Node::Clear(target, bytes) => context.inside(|driver| unsafe {
            driver.memset(super::address(*target), 0, *bytes, super::handle(stream))
        }),
    });
    let mut graph = Handle::NULL;
    // SAFETY: the capture was begun above; the driver writes one handle.
    let ended = context
        .inside(|driver| unsafe { driver.end_capture(super::handle(stream), &raw mut graph) });
    put?;
    ended?;
    let mut executable = Handle::NULL;
    let made = context.inside(|driver| {
        // SAFETY: the graph is ours; what is made of it does not need it.
        unsafe {
            let made = driver.graph_instantiate(&raw mut executable, graph, 0);
            driver.graph_destroy(graph)?;
            made
        }
    });
    made?;
    Ok(Box::new(CudaGraph {
        context: Arc::clone(context),
        executable,
        one_at_a_time: Mutex::default(),
    }))
}

#[derive(Debug)]
struct CudaGraph {
    context: Arc<Context>,
    executable: Handle,
    /// The driver does not let several threads launch one graph at once.
    one_at_a_time: Mutex<()>,
}

impl Graph for CudaGraph {
    unsafe fn launch(&self, stream: Stream) -> Result<(), DeviceError> {
        let _alone = self
            .one_at_a_time
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the graph is ours, and the number is that of a stream, as its type says.
        self.context
            .inside(|driver| unsafe { driver.graph_launch(self.executable, super::handle(stream)) })
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        // As for a module.
        // SAFETY: the graph is ours.
        let _ = self
            .context
            .inside(|driver| unsafe { driver.graph_destroy_executable(self.executable) });
    }
}
