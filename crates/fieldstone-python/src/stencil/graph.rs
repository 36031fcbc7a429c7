//! `_core.Graph`: calls that are recorded once and repeated as one piece of work of a device.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fieldstone_codegen::gpu::{self, Recorded};
use fieldstone_device::Accelerator;
use pyo3::prelude::*;

use super::on_device::OnDevice;
use super::remembered::Copies;
use crate::backend::run_error;
use crate::ending::entered;
use crate::errors::raise;
use crate::stream;

thread_local! {
    /// What the thread is recording.
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// Calls on their way to a graph.
#[derive(Default)]
pub(super) struct Recording {
    calls: Vec<Recorded>,
    copies: Vec<Copies>,
    arguments: Vec<Py<PyAny>>,
    accelerator: Option<Arc<dyn Accelerator>>,
}

/// A call that is recorded.
pub(super) struct Call {
    pub call: Recorded,
    /// Its arguments with a copy on each side.
    pub copies: Vec<Copies>,
    /// What keeps the memory of all arguments.
    pub arguments: Vec<Py<PyAny>>,
}

/// Whether the thread records calls and does not run them.
pub(super) fn is_recording() -> bool {
    RECORDING.with_borrow(Option::is_some)
}

/// Adds a call to what is recorded.
pub(super) fn add(py: Python<'_>, accelerator: &Arc<dyn Accelerator>, call: Call) -> PyResult<()> {
    RECORDING.with_borrow_mut(|recording| {
        let Some(recording) = recording else {
            return Ok(());
        };
        let device = recording
            .accelerator
            .get_or_insert_with(|| Arc::clone(accelerator));
        if !Arc::ptr_eq(device, accelerator) {
            let message = format!(
                "a graph is work of one device: its first call runs on {}, and this one on {}; record one graph for each",
                device.name(),
                accelerator.name()
            );
            return Err(raise(py, "DeviceError", message));
        }
        recording.calls.push(call.call);
        recording.copies.extend(call.copies);
        recording.arguments.extend(call.arguments);
        Ok(())
    })
}

/// Calls as one piece of work.
#[pyclass(frozen, weakref, module = "fieldstone._core")]
pub struct Graph(Mutex<State>);

enum State {
    /// Nothing was recorded yet.
    New,
    Recording,
    Done(Option<Arc<Done>>),
    /// It ended with an exception.
    Failed,
}

/// What was recorded; the graph itself is gone before the arguments.
struct Done {
    graph: gpu::Graph,
    copies: Vec<Copies>,
    _arguments: Vec<Py<PyAny>>,
}

#[pymethods]
impl Graph {
    #[new]
    fn new() -> Self {
        Graph(Mutex::new(State::New))
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let py = slf.py();
        let mut state = slf.get().state();
        if !matches!(*state, State::New) {
            let message = "a graph is recorded once; make another one";
            return Err(raise(py, "ArgumentTypeError", message));
        }
        if is_recording() {
            let message = "another graph is being recorded in this thread; graphs are not nested";
            return Err(raise(py, "ArgumentTypeError", message));
        }
        RECORDING.set(Some(Recording::default()));
        *state = State::Recording;
        drop(state);
        Ok(slf)
    }

    #[pyo3(signature = (kind, _value, _traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let recording = RECORDING.take().unwrap_or_default();
        *self.state() = State::Failed;
        if !kind.is_none() {
            return Ok(());
        }
        let Recording {
            calls,
            copies,
            arguments,
            accelerator,
        } = recording;
        let made = accelerator.map(|accelerator| {
            // SAFETY: the arguments are kept, and were checked when the calls were recorded.
            let graph = py.detach(|| unsafe { gpu::Graph::new(accelerator, calls) });
            graph.map(|graph| {
                Arc::new(Done {
                    graph,
                    copies,
                    _arguments: arguments,
                })
            })
        });
        let made = made.transpose().map_err(|error| run_error(py, &error))?;
        *self.state() = State::Done(made);
        Ok(())
    }

    #[pyo3(signature = (*, stream = None))]
    fn launch(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _inside = entered(py);
        let done = match &*self.state() {
            State::Done(done) => done.clone(),
            state => {
                let message = match state {
                    State::Failed => {
                        "the graph was not recorded to its end: an error ended the block"
                    }
                    _ => "the graph has not been recorded: calls in a block 'with graph:' are",
                };
                return Err(raise(py, "ArgumentTypeError", message));
            }
        };
        let Some(done) = done else {
            return Ok(());
        };
        let stream = stream.map(stream::given).transpose()?;
        let place = OnDevice::in_stream(py, done.graph.accelerator().clone(), stream)?;
        for copies in &done.copies {
            copies.acquire(py, place.stream)?;
        }
        let pairs = done
            .copies
            .iter()
            .map(|copies| (&copies.pair, copies.written));
        // SAFETY: the arguments are kept, and were checked when the calls were recorded.
        let ran = py.detach(|| place.between(pairs, |stream| unsafe { done.graph.launch(stream) }));
        let noted = (done.copies.iter()).try_for_each(|copies| copies.settle(py));
        ran.map_err(|error| run_error(py, &error))?;
        noted
    }

    fn __len__(&self) -> usize {
        match &*self.state() {
            State::Done(Some(done)) => done.graph.calls(),
            _ => 0,
        }
    }

    fn __repr__(&self) -> String {
        match &*self.state() {
            State::New => "<Graph, not recorded>".to_owned(),
            State::Recording => "<Graph, being recorded>".to_owned(),
            State::Failed => "<Graph, not recorded to its end>".to_owned(),
            State::Done(None) => "<Graph of no call>".to_owned(),
            State::Done(Some(done)) => {
                let (calls, device) = (done.graph.calls(), done.graph.accelerator());
                format!("<Graph of {calls} call(s) on {}>", device.name())
            }
        }
    }
}

impl Graph {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
