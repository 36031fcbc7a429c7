//! The backends of a stencil: their names, and how each runs a call.

use std::collections::HashSet;
use std::sync::Arc;

use fieldstone_codegen::RunError;
use fieldstone_codegen::call::Call;
use fieldstone_codegen::choices::Choices;
use fieldstone_codegen::error::{self, CheckError};
use fieldstone_codegen::gpu::{self, Gpu};
use fieldstone_codegen::interpreter::{INTERRUPTED, Interpreter};
use fieldstone_codegen::layout::Layout;
use fieldstone_codegen::native::Origin;
use fieldstone_codegen::native::{self, Native};
use fieldstone_codegen::outline::Outline;
use fieldstone_codegen::plan::Plan;
use fieldstone_device::{Kind, accelerator};
use fieldstone_stencil::suggest::closest;
use fieldstone_stencil::{Program, SourceId};
use fieldstone_storage::Side;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::cache::CacheOptions;
use crate::device;
use crate::diagnostics::diagnostics_error;
use crate::errors::raise;
use crate::jit::Llvmlite;
use crate::numpy_backend::NumpyText;
use fieldstone_codegen::stack::deep;

/// How a stencil is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The interpreter, with every access checked.
    Debug,
    /// NumPy text.
    Numpy,
    /// Native code; its arrays have K contiguous.
    CpuKFirst,
    /// Native code; its arrays have I contiguous.
    CpuIFirst,
    /// Kernels on a device; its arrays have I contiguous.
    Gpu,
}

const NAMES: [(&str, Backend); 12] = [
    ("debug", Backend::Debug),
    ("numpy", Backend::Numpy),
    ("cpu_kfirst", Backend::CpuKFirst),
    ("gt:cpu_kfirst", Backend::CpuKFirst),
    ("gtx86", Backend::CpuKFirst),
    ("cpu_ifirst", Backend::CpuIFirst),
    ("gt:cpu_ifirst", Backend::CpuIFirst),
    ("gtmc", Backend::CpuIFirst),
    ("gpu", Backend::Gpu),
    ("gt:gpu", Backend::Gpu),
    ("gtcuda", Backend::Gpu),
    ("cuda", Backend::Gpu),
];

impl Backend {
    /// The backend of a name or alias.
    pub fn find(py: Python<'_>, name: &str) -> PyResult<Backend> {
        if let Some((_, backend)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(*backend);
        }
        let known: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
        let hint = closest(name, known.iter().copied())
            .map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"));
        let message = format!(
            "backend '{name}' is not known{hint}; the backends are: {}",
            known.join(", ")
        );
        Err(raise(py, "BackendError", message))
    }

    /// The name, without alias.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Debug => "debug",
            Backend::Numpy => "numpy",
            Backend::CpuKFirst => "cpu_kfirst",
            Backend::CpuIFirst => "cpu_ifirst",
            Backend::Gpu => "gpu",
        }
    }

    /// Names of what the option `schedule` can choose.
    pub fn choices(self) -> &'static [&'static str] {
        match self {
            // They have no schedule, and ignore those of others.
            Backend::Debug | Backend::Numpy => &Choices::NAMES,
            Backend::CpuKFirst | Backend::CpuIFirst => &Choices::OF_PROCESSORS,
            Backend::Gpu => &Choices::OF_DEVICES,
        }
    }

    /// Where its stencils run.
    pub fn side(self) -> Side {
        match self {
            Backend::Gpu => Side::Device,
            _ => Side::Host,
        }
    }
}

/// Refuses what is no name of a backend.
#[pyfunction]
pub fn check_backend(py: Python<'_>, name: &str) -> PyResult<()> {
    Backend::find(py, name).map(drop)
}

/// What runs the calls of one stencil.
pub enum Executor {
    /// Backend `debug`.
    Interpreter(Box<Interpreter>),
    /// Backend `numpy`.
    Numpy(NumpyText),
    /// Backends `cpu_kfirst` and `cpu_ifirst`.
    Native(Box<Native>),
    /// Backend `gpu`.
    Gpu(Box<Gpu>),
}

/// What can be run again for the same arguments at other addresses.
pub enum Prepared {
    /// Machine code.
    Native(native::Prepared),
    /// Kernels.
    Gpu(gpu::Prepared),
}

/// A call whose memory other threads of Python do not touch while it runs, which is what a caller of a stencil promises.
pub struct Detached<'a>(pub &'a Call<'a>);

// SAFETY: the pointers of a call are to memory that its arguments keep alive until the call returns.
unsafe impl Send for Detached<'_> {}

impl Executor {
    /// Prepares a program for a backend. `check_nan` is of the backend `debug`.
    pub fn new(
        py: Python<'_>,
        backend: Backend,
        program: &Arc<Program>,
        cache: CacheOptions,
        (choices, tuned): (Choices, bool),
        check_nan: bool,
    ) -> PyResult<Executor> {
        match backend {
            Backend::Debug => {
                INTERRUPTED.get_or_init(|| interrupted);
                deep(|| Interpreter::new(program.clone()))
                    .map(|interpreter| interpreter.check_nan(check_nan))
                    .map(|interpreter| Executor::Interpreter(Box::new(interpreter)))
                    .map_err(|error| run_error(py, &error))
            }
            Backend::Numpy => NumpyText::new(py, program).map(Executor::Numpy),
            Backend::CpuKFirst | Backend::CpuIFirst => {
                check_choices(py, backend, &choices)?;
                let jit = Llvmlite::shared(py)?;
                let CacheOptions { cache, reuse } = cache;
                let name = backend.name();
                let native = deep(|| Native::new(program, name, jit, cache, reuse, choices, tuned))
                    .map_err(|error| run_error(py, &error))?;
                Ok(Executor::Native(Box::new(native)))
            }
            Backend::Gpu => {
                check_choices(py, backend, &choices)?;
                let jit = Llvmlite::shared(py)?;
                let CacheOptions { cache, reuse } = cache;
                let gpu = deep(|| Gpu::new(program, jit, cache, reuse, choices, tuned));
                // Without a device nothing can be said before the first call.
                if let Ok(accelerator) = accelerator(0) {
                    gpu.check_cached(accelerator.as_ref())
                        .map_err(|error| run_error(py, &error))?;
                }
                Ok(Executor::Gpu(Box::new(gpu)))
            }
        }
    }

    /// Runs a call on the host; the interpreter lock is released where the backend does not need it. Returns what can be run again for the
    /// same arguments at other addresses, if the backend has that.
    ///
    /// # Safety
    ///
    /// As for [`Interpreter::run`]: the call describes memory that is valid for what the program reads and writes.
    pub unsafe fn run(
        &self,
        py: Python<'_>,
        call: &Call<'_>,
        origins: &[[isize; 3]],
    ) -> PyResult<Option<Prepared>> {
        let detached = Detached(call);
        let run = |body: &(dyn Fn(&Call<'_>) -> Result<Option<Prepared>, RunError> + Sync)| {
            py.detach(|| {
                // The whole wrapper moves into the closure, not its field.
                let detached = detached;
                body(detached.0)
            })
            .map_err(|error| run_error(py, &error))
        };
        match self {
            Executor::Interpreter(interpreter) => {
                // SAFETY: promised by the caller, here and below.
                run(&|call| deep(|| unsafe { interpreter.run(call) }).map(|()| None))
            }
            // SAFETY: as above.
            Executor::Native(native) => run(&|call| unsafe {
                let prepared = native.prepare(call)?;
                let pointers = |argument: usize| call.fields[argument].pointer;
                native.run_prepared(&prepared, pointers, call.scalars)?;
                Ok(Some(Prepared::Native(prepared)))
            }),
            Executor::Gpu(_) => unreachable!("a call on a device is not run on the host"),
            // SAFETY: as above.
            Executor::Numpy(text) => unsafe { text.run(py, call, origins) }.map(|()| None),
        }
    }
}

/// Forms of a stencil on its way to the machine, in order; the last four exist for each layout.
const FORMS: [&str; 7] = ["source", "ir", "numpy", "schedule", "llvm", "asm", "ptx"];

impl Executor {
    /// One of the forms a program takes, as text: for the layouts it was compiled for, else for that of the preset.
    pub fn inspect(
        &self,
        py: Python<'_>,
        program: &Program,
        preset: &Layout,
        form: &str,
    ) -> PyResult<String> {
        match form {
            "source" => return Ok(text_of(program)),
            "ir" => return Ok(fieldstone_stencil::text::print_program(program)),
            "numpy" => return Ok(deep(|| fieldstone_codegen::numpy::emit(program))),
            _ => {}
        }
        if !FORMS.contains(&form) {
            let hint = closest(form, FORMS.into_iter())
                .map_or_else(String::new, |form| format!(" (did you mean '{form}'?)"));
            let message = format!(
                "inspect: form '{form}' is not known{hint}; the forms are: {}",
                FORMS.join(", ")
            );
            return Err(raise(py, "ArgumentValueError", message));
        }
        let native = match self {
            Executor::Gpu(gpu) => return self.inspect_gpu(py, gpu, preset, form),
            Executor::Native(native) if form != "ptx" => native,
            _ => {
                let backends = match form {
                    "ptx" => "backend gpu",
                    _ => "backends cpu_kfirst, cpu_ifirst and gpu",
                };
                let message = format!("inspect: form '{form}' exists for the {backends} only");
                return Err(raise(py, "ArgumentValueError", message));
            }
        };
        let plans = py.detach(|| {
            self.layouts(preset)
                .iter()
                .map(|layout| native.plan(layout, None))
                .collect::<Vec<Plan>>()
        });
        let text = |plan: &Plan| {
            let layout = native.in_words(&plan.layout);
            match form {
                "schedule" => Ok(plan.schedule.display(&native.program().stencil).to_string()),
                "llvm" => Ok(format!("; {layout}\n{}", plan.module.text)),
                _ => py
                    .detach(|| native.assembly(&plan.module))
                    .map(|text| format!("# {layout}\n{text}"))
                    .map_err(|error| run_error(py, &error)),
            }
        };
        let texts: Vec<String> = plans.iter().map(text).collect::<PyResult<_>>()?;
        Ok(texts.join("\n"))
    }

    /// Forms of kernels: of what runs on the first device; PTX, where that is no GPU, for the oldest architecture.
    fn inspect_gpu(
        &self,
        py: Python<'_>,
        gpu: &Gpu,
        preset: &Layout,
        form: &str,
    ) -> PyResult<String> {
        let text = |layout: &Layout| {
            let found = accelerator(0).ok();
            let found = found.filter(|found| form != "ptx" || found.id().kind == Kind::Cuda);
            let plan = gpu.plan(layout, None, found.as_ref())?;
            let words = gpu.in_words(layout);
            Ok(match form {
                "schedule" => plan.schedule.display(&gpu.program().stencil).to_string(),
                "llvm" => format!("; {words}\n{}", plan.module.text),
                _ => {
                    let comment = match plan.module.target.is_nvidia() {
                        true => "//",
                        false => "#",
                    };
                    format!("{comment} {words}\n{}", gpu.assembly(&plan)?)
                }
            })
        };
        let texts = py.detach(|| self.layouts(preset).iter().map(text).collect());
        let texts: Result<Vec<String>, RunError> = texts;
        let texts = texts.map_err(|error| run_error(py, &error))?;
        Ok(texts.join("\n"))
    }

    /// The layouts it was compiled for, in the order in which that was; `preset` if there was none yet.
    pub fn layouts(&self, preset: &Layout) -> Vec<Layout> {
        let mut known: Vec<Layout> = match self {
            Executor::Native(native) => {
                let variants = native.variants();
                (variants.iter().map(|variant| variant.plan.layout.clone())).collect()
            }
            Executor::Gpu(gpu) => {
                let variants = gpu.variants();
                (variants.iter().map(|variant| variant.plan.layout.clone())).collect()
            }
            _ => Vec::new(),
        };
        if known.is_empty() {
            known.push(preset.clone());
        }
        // There may be several for one, for domains of other sizes.
        let mut before = HashSet::new();
        known.retain(|layout| before.insert(layout.clone()));
        known
    }

    /// Compiles for a layout and such calls, where that is to be done before a call.
    pub fn compile(&self, py: Python<'_>, layout: &Layout, outline: Outline) -> PyResult<()> {
        let done = match self {
            Executor::Native(native) => py.detach(|| native.variant(layout, outline).map(|_| ())),
            Executor::Gpu(gpu) => {
                let accelerator = device::first(py, "compile")?;
                py.detach(|| gpu.variant(layout, None, &accelerator).map(|_| ()))
            }
            _ => Ok(()),
        };
        done.map_err(|error| run_error(py, &error))
    }

    /// Where the code of each variant so far came from, and how long that took.
    fn origins(&self) -> Vec<Origin> {
        match self {
            Executor::Native(native) => {
                let variants = native.variants();
                variants.iter().map(|variant| variant.origin).collect()
            }
            Executor::Gpu(gpu) => {
                let variants = gpu.variants();
                variants.iter().map(|variant| variant.origin).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Seconds for all layouts so far: to write text for LLVM, to compile it, and to load what the cache has.
    pub fn build_times(&self) -> [f64; 3] {
        let mut times = [0.0; 3];
        for origin in self.origins() {
            times[0] += origin.written.as_secs_f64();
            times[if origin.cached { 2 } else { 1 }] +=
                (origin.duration - origin.written).as_secs_f64();
        }
        times
    }

    /// For each layout called so far whether its code was in the cache, and the seconds it took to get it.
    pub fn compilations(&self) -> Vec<(bool, f64)> {
        let origins = self.origins().into_iter();
        origins
            .map(|origin| (origin.cached, origin.duration.as_secs_f64()))
            .collect()
    }
}

/// Refuses choices that the code of a backend does not have.
fn check_choices(py: Python<'_>, backend: Backend, choices: &Choices) -> PyResult<()> {
    let known = backend.choices();
    let words = choices.beside(known);
    if words.is_empty() {
        return Ok(());
    }
    let message = format!(
        "schedule: '{words}' cannot be chosen for the backend '{}'; what can be chosen there: {}",
        backend.name(),
        known.join(", ")
    );
    Err(raise(py, "ArgumentValueError", message))
}

/// The text of the definition; that of the functions it calls comes after it in the program's sources.
fn text_of(program: &Program) -> String {
    let source = program.stencil.sources.get(SourceId(0));
    source.map_or_else(String::new, |source| source.text.clone())
}

/// Whether the user pressed the keys that interrupt Python; only the main thread is told.
fn interrupted() -> bool {
    // SAFETY: the thread is attached to the interpreter. The function reads a flag and runs no Python code, so it may be
    // called on any stack.
    Python::attach(|_| unsafe { pyo3::ffi::PyOS_InterruptOccurred() != 0 })
}

/// The exception of a run that failed.
pub fn run_error(py: Python<'_>, error: &RunError) -> PyErr {
    if let RunError::Check(check) = error {
        return check_error(py, check);
    }
    let class = match error {
        RunError::Interrupted => return PyKeyboardInterrupt::new_err(()),
        RunError::Memory(error) => return device::exception(py, error),
        RunError::Unsupported { .. } => "GTScriptUnsupportedError",
        RunError::Compilation(_) => "CompilationError",
        RunError::NotCached { .. } => "CacheError",
        RunError::LevelOutside { .. } | RunError::IndexOutside { .. } => "OutOfBoundsError",
        RunError::IntervalOutside { .. } | RunError::IntervalsOverlap { .. } => "IntervalError",
        _ => "ExecutionError",
    };
    raise(py, class, error.to_string())
}

/// The exception of what the interpreter found.
fn check_error(py: Python<'_>, check: &CheckError) -> PyErr {
    let class = match check.code() {
        Some(error::OUT_OF_BOUNDS) => "OutOfBoundsError",
        Some(error::UNINITIALISED) => "UninitialisedError",
        Some(error::NOT_A_NUMBER) => "NaNError",
        Some(error::INTERVALS) => "IntervalError",
        _ => "ExecutionError",
    };
    let exception = diagnostics_error(py, class, &check.report);
    match exception
        .value(py)
        .setattr("index", <(i64, i64, i64)>::from(check.index))
    {
        Ok(()) => exception,
        Err(other) => other,
    }
}
