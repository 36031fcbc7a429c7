//! Devices: what there is, what their memory holds, what was moved; and the values of `device=`.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fieldstone_device::{
    self as device, Accelerator, Capacity, DeviceError, Host, Kind, Simulated, SimulatedOptions,
    Simulation, Transfers as Moved,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

use crate::errors::raise;
use crate::stream::PyStream;

/// How to go on where there is no GPU.
const INSTEAD: &str = "to run without one, on a simulated device in host memory, set the environment variable \
                       FIELDSTONE_DEVICE=sim or use `with fieldstone.simulated_device():`";

/// A remedy for an accelerator that is not there; none where there are others, whose numbers the error says.
fn instead() -> String {
    match device::accelerators() {
        Ok(others) if !others.is_empty() => String::new(),
        _ => format!("; {INSTEAD}"),
    }
}

/// The exception for an error of a device.
pub fn exception(py: Python<'_>, error: &DeviceError) -> PyErr {
    let message = error.to_string();
    match error {
        DeviceError::OutOfMemory { .. } => PyMemoryError::new_err(message),
        DeviceError::NoDevice { .. } => raise(py, "DeviceError", format!("{message}{}", instead())),
        DeviceError::Alignment { .. } | DeviceError::Threads { .. } => {
            raise(py, "ArgumentValueError", message)
        }
        _ => raise(py, "DeviceError", message),
    }
}

/// Reads the value of an argument that says where: `None` or `"cpu"` is the host, `"gpu"`, `"gpu:N"` and `("gpu", N)` are
/// the number of an accelerator, of which there may be none.
pub fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if value.is_none() {
        return Ok(None);
    }
    let found = match value.cast::<PyTuple>() {
        Ok(pair) => pair
            .extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()
            .ok()
            .and_then(|(kind, number)| {
                let is_gpu = kind.extract::<&str>().is_ok_and(|kind| kind == "gpu");
                let number = (!number.is_instance_of::<PyBool>())
                    .then(|| number.extract().ok())
                    .flatten();
                number.filter(|_| is_gpu).map(Some)
            }),
        Err(_) => match value.extract::<&str>() {
            Ok("cpu") => Some(None),
            Ok("gpu") => Some(Some(0)),
            Ok(text) => text
                .strip_prefix("gpu:")
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|digits| digits.parse().ok())
                .map(Some),
            Err(_) => value
                .cast::<PyDevice>()
                .ok()
                .map(|device| device.get().number()),
        },
    };
    found.ok_or_else(|| unknown(name, value))
}

/// Reads the value of an argument that says where, and finds the accelerator; `None` is the host.
pub fn accelerator(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Arc<dyn Accelerator>>> {
    // A device that was found before may be none of those there are now.
    if let Ok(device) = value.cast::<PyDevice>() {
        return Ok(device.get().accelerator.clone());
    }
    match number(name, value)? {
        Some(number) => device::accelerator(number)
            .map(Some)
            .map_err(|error| named(value.py(), name, &error)),
        None => Ok(None),
    }
}

/// The first accelerator, which `name` needs.
pub fn first(py: Python<'_>, name: &str) -> PyResult<Arc<dyn Accelerator>> {
    device::accelerator(0).map_err(|error| named(py, name, &error))
}

fn named(py: Python<'_>, name: &str, error: &DeviceError) -> PyErr {
    match error {
        DeviceError::NoDevice { .. } => {
            raise(py, "DeviceError", format!("{name}: {error}{}", instead()))
        }
        other => exception(py, other),
    }
}

fn unknown(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let shown = value
        .repr()
        .map_or_else(|_| "an object".to_owned(), |text| text.to_string());
    let text = value.extract::<&str>().is_ok() || value.is_instance_of::<PyTuple>();
    let class = if text {
        "ArgumentValueError"
    } else {
        "ArgumentTypeError"
    };
    let message =
        format!("{name}: expected None, 'cpu', 'gpu', 'gpu:N' or ('gpu', N), got {shown}");
    raise(value.py(), class, message)
}

/// A place that holds data: the host's memory, or an accelerator's.
#[pyclass(name = "Device", module = "fieldstone", frozen)]
struct PyDevice {
    /// None for the host.
    accelerator: Option<Arc<dyn Accelerator>>,
}

impl PyDevice {
    fn of(accelerator: Arc<dyn Accelerator>) -> Self {
        Self {
            accelerator: Some(accelerator),
        }
    }

    fn id(&self) -> device::DeviceId {
        self.accelerator
            .as_ref()
            .map_or(device::DeviceId::HOST, |device| device.id())
    }

    fn number(&self) -> Option<usize> {
        self.accelerator.as_ref().map(|device| device.id().index)
    }

    fn capacity(&self, py: Python<'_>) -> PyResult<Capacity> {
        match &self.accelerator {
            Some(device) => py
                .detach(|| device.capacity())
                .map_err(|error| exception(py, &error)),
            None => Ok(Capacity {
                total: device::physical_memory(),
                free: device::available_memory(),
            }),
        }
    }

    /// The accelerator's address, or null.
    fn identity(&self) -> *const u8 {
        self.accelerator
            .as_ref()
            .map_or(std::ptr::null(), |device| Arc::as_ptr(device).cast())
    }
}

#[pymethods]
impl PyDevice {
    #[getter(id)]
    fn name_of_id(&self) -> String {
        self.number()
            .map_or_else(|| "cpu".to_owned(), |number| format!("gpu:{number}"))
    }

    #[getter]
    fn name(&self) -> String {
        let device: &dyn device::Device = match &self.accelerator {
            Some(device) => device.as_ref(),
            None => &Host,
        };
        device.name().to_owned()
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.id().kind {
            Kind::Host => "host",
            Kind::Cuda => "cuda",
            Kind::Simulated => "simulated",
        }
    }

    #[getter]
    fn total_memory(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.capacity(py)?.total)
    }

    #[getter]
    fn free_memory(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.capacity(py)?.free)
    }

    #[getter]
    fn compute_capability(&self) -> Option<(u32, u32)> {
        self.accelerator.as_ref()?.properties().compute_capability
    }

    #[getter]
    fn multiprocessors(&self) -> Option<u32> {
        self.accelerator.as_ref()?.properties().multiprocessors
    }

    #[getter]
    fn managed_memory(&self) -> bool {
        self.accelerator
            .as_ref()
            .is_some_and(|device| device.properties().managed_memory)
    }

    #[getter]
    fn transfers(&self) -> Transfers {
        Transfers {
            accelerator: self.accelerator.clone(),
        }
    }

    #[getter]
    fn undone(&self) -> Vec<String> {
        let Some(device) = &self.accelerator else {
            return Vec::new();
        };
        let any: &dyn Any = device.as_ref();
        any.downcast_ref::<Simulated>()
            .map_or_else(Vec::new, Simulated::undone)
    }

    /// A new stream.
    fn create_stream(&self, py: Python<'_>) -> PyResult<PyStream> {
        match &self.accelerator {
            Some(device) => PyStream::new(py, device),
            None => Err(raise(
                py,
                "DeviceError",
                "the host has no streams; those are of accelerators",
            )),
        }
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let Some(device) = &self.accelerator else {
            return Ok(());
        };
        py.detach(|| device.synchronize_all())
            .map_err(|error| exception(py, &error))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.get().identity() == self.identity())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.identity().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let (id, kind) = (self.name_of_id(), self.kind());
        match self.compute_capability() {
            Some((major, minor)) => {
                format!(
                    "<Device {id}: {}, {kind}, compute capability {major}.{minor}>",
                    self.name()
                )
            }
            None if kind == "host" => format!("<Device {id}: {kind}>"),
            None => format!("<Device {id}: {kind}, no GPU>"),
        }
    }
}

/// How much was moved between the host and a device; each look counts anew.
#[pyclass(module = "fieldstone", frozen)]
struct Transfers {
    accelerator: Option<Arc<dyn Accelerator>>,
}

impl Transfers {
    fn moved(&self) -> Moved {
        self.accelerator
            .as_ref()
            .map_or_else(Moved::default, |device| device.transfers())
    }
}

#[pymethods]
impl Transfers {
    #[getter]
    fn uploads(&self) -> usize {
        self.moved().uploads
    }

    #[getter]
    fn uploaded_bytes(&self) -> usize {
        self.moved().uploaded_bytes
    }

    #[getter]
    fn downloads(&self) -> usize {
        self.moved().downloads
    }

    #[getter]
    fn downloaded_bytes(&self) -> usize {
        self.moved().downloaded_bytes
    }

    fn reset(&self) {
        if let Some(device) = &self.accelerator {
            device.reset_transfers();
        }
    }

    fn __repr__(&self) -> String {
        let moved = self.moved();
        format!(
            "Transfers(uploads={}, uploaded_bytes={}, downloads={}, downloaded_bytes={})",
            moved.uploads, moved.uploaded_bytes, moved.downloads, moved.downloaded_bytes
        )
    }
}

fn integer(
    name: &str,
    value: &Bound<'_, PyAny>,
    range: RangeInclusive<usize>,
    expected: &str,
) -> PyResult<usize> {
    let number = value.extract().ok().filter(|number| range.contains(number));
    number
        .filter(|_| !value.is_instance_of::<PyBool>())
        .ok_or_else(|| {
            let shown = value
                .repr()
                .map_or_else(|_| "an object".to_owned(), |text| text.to_string());
            let class = match value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
                true => "ArgumentValueError",
                false => "ArgumentTypeError",
            };
            raise(
                value.py(),
                class,
                format!("{name}: expected {expected}, got {shown}"),
            )
        })
}

/// Simulated devices in place of the machine's, from start to stop.
#[pyclass(name = "Simulation", module = "fieldstone._core", frozen)]
struct PySimulation {
    count: usize,
    options: SimulatedOptions,
    running: Mutex<Option<Simulation>>,
}

#[pymethods]
impl PySimulation {
    #[new]
    fn new(
        count: &Bound<'_, PyAny>,
        asynchronous: bool,
        memory: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let count = integer("count", count, 1..=64, "an integer from 1 to 64")?;
        let memory = memory
            .map(|memory| integer("memory", memory, 0..=usize::MAX, "a number of bytes"))
            .transpose()?;
        let options = SimulatedOptions {
            asynchronous,
            memory,
        };
        Ok(Self {
            count,
            options,
            running: Mutex::new(None),
        })
    }

    fn start(&self) -> Vec<PyDevice> {
        let simulation = Simulation::start_with(self.count, self.options);
        let devices = simulation.devices();
        self.running().replace(simulation);
        devices.into_iter().map(PyDevice::of).collect()
    }

    fn stop(&self) {
        self.running().take();
    }
}

impl PySimulation {
    fn running(&self) -> MutexGuard<'_, Option<Simulation>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pyfunction]
fn devices(py: Python<'_>) -> PyResult<Vec<PyDevice>> {
    let found = py
        .detach(device::accelerators)
        .map_err(|error| exception(py, &error))?;
    let host = PyDevice { accelerator: None };
    Ok(std::iter::once(host)
        .chain(found.into_iter().map(PyDevice::of))
        .collect())
}

/// Adds this file's classes and functions to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDevice>()?;
    module.add_class::<Transfers>()?;
    module.add_class::<PySimulation>()?;
    module.add_function(wrap_pyfunction!(devices, module)?)
}
