//! Events of a simulated device.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::work::Task;
use super::{Shared, State};
use crate::accelerator::Event;
use crate::{DeviceError, DeviceId, Stream};

/// When the work of a device came to a place.
#[derive(Debug, Default)]
pub(super) struct Mark(Mutex<Option<Instant>>);

impl Mark {
    pub(super) fn reach(&self) {
        *self.time() = Some(Instant::now());
    }

    fn time(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event of a simulated device.
#[derive(Debug)]
pub(super) struct SimulatedEvent {
    shared: Arc<Shared>,
    /// The task that recorded it last, and when that was done.
    recorded: Mutex<Option<(u64, Arc<Mark>)>>,
}

impl SimulatedEvent {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            recorded: Mutex::default(),
        }
    }

    fn recorded(&self) -> Option<(u64, Arc<Mark>)> {
        self.recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn pending(&self, state: &State) -> Option<u64> {
        let (number, _) = self.recorded()?;
        state.work.is_pending(number).then_some(number)
    }

    fn time(&self, which: &'static str) -> Result<Instant, DeviceError> {
        let event = |reason| DeviceError::Event { which, reason };
        let (_, mark) = self.recorded().ok_or(event("was never recorded"))?;
        let time = *mark.time();
        time.ok_or(event("is not done yet"))
    }
}

impl Event for SimulatedEvent {
    fn device(&self) -> DeviceId {
        self.shared.id()
    }

    fn record(&self, stream: Stream) -> Result<(), DeviceError> {
        let mark = Arc::<Mark>::default();
        let mut state = self.shared.state();
        let task = Task::Record(Arc::clone(&mark));
        let number = self.shared.submit(&mut state, stream, task)?;
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some((number, mark));
        Ok(())
    }

    fn is_done(&self) -> Result<bool, DeviceError> {
        let mut state = self.shared.state();
        let pending = self.pending(&state);
        if let Some(number) = pending {
            // Whoever asks again and again is to have an end.
            state.work.run_task(number);
        }
        Ok(pending.is_none())
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        let mut state = self.shared.state();
        if let Some(number) = self.pending(&state) {
            state.work.run_task(number);
        }
        state.work.report()
    }

    fn hold(&self, stream: Stream) -> Result<(), DeviceError> {
        let Some((number, _)) = self.recorded() else {
            return Ok(());
        };
        let mut state = self.shared.state();
        self.shared.submit(&mut state, stream, Task::Wait(number))?;
        Ok(())
    }

    fn milliseconds_since(&self, earlier: &dyn Event) -> Result<f64, DeviceError> {
        let any: &dyn Any = earlier;
        let same = any
            .downcast_ref::<Self>()
            .filter(|other| Arc::ptr_eq(&other.shared, &self.shared));
        let Some(earlier) = same else {
            let (which, reason) = ("the earlier", "is of another device");
            return Err(DeviceError::Event { which, reason });
        };
        let (from, to) = (earlier.time("the earlier")?, self.time("the later")?);
        let span = |from, to: Instant| to.duration_since(from).as_secs_f64() * 1e3;
        Ok(if to >= from {
            span(from, to)
        } else {
            -span(to, from)
        })
    }
}
