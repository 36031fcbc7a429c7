//! Streams and events of the CUDA driver.

use std::any::Any;
use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::context::Context;
use super::driver::{Driver, Handle};
use crate::accelerator::{Event, Queue};
use crate::{DeviceError, DeviceId, Stream};

/// A new stream of a device. Without flags, the default stream waits for it, and it for the default stream.
pub(super) fn stream(context: &Arc<Context>, flags: c_uint) -> Result<Box<dyn Queue>, DeviceError> {
    let mut handle = Handle::NULL;
    // SAFETY: the driver writes one handle.
    context.inside(|driver| unsafe { driver.stream_create(&raw mut handle, flags) })?;
    let context = Arc::clone(context);
    Ok(Box::new(CudaQueue { context, handle }))
}

/// A new event of a device. Without flags, it remembers its time.
pub(super) fn event(context: &Arc<Context>, flags: c_uint) -> Result<Box<dyn Event>, DeviceError> {
    let mut handle = Handle::NULL;
    // SAFETY: the driver writes one handle.
    context.inside(|driver| unsafe { driver.event_create(&raw mut handle, flags) })?;
    Ok(Box::new(CudaEvent {
        context: Arc::clone(context),
        handle,
        is_recorded: AtomicBool::new(false),
    }))
}

#[derive(Debug)]
struct CudaQueue {
    context: Arc<Context>,
    handle: Handle,
}

impl Queue for CudaQueue {
    fn stream(&self) -> Stream {
        Stream(self.handle.number())
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // Fails in a fork and after the driver has shut down, when the stream is gone already.
        // SAFETY: the stream is ours; the driver lets its work be done first.
        let _ = self
            .context
            .inside(|driver| unsafe { driver.stream_destroy(self.handle) });
    }
}

#[derive(Debug)]
struct CudaEvent {
    context: Arc<Context>,
    handle: Handle,
    is_recorded: AtomicBool,
}

impl CudaEvent {
    /// That the event says when something was.
    fn has_time(&self, which: &'static str) -> Result<(), DeviceError> {
        let event = |reason| Err(DeviceError::Event { which, reason });
        if !self.is_recorded.load(Ordering::Acquire) {
            return event("was never recorded");
        }
        match self.is_done()? {
            true => Ok(()),
            false => event("is not done yet"),
        }
    }
}

impl Event for CudaEvent {
    fn device(&self) -> DeviceId {
        self.context.id()
    }

    fn record(&self, stream: Stream) -> Result<(), DeviceError> {
        let stream = super::handle(stream);
        // SAFETY: the event is ours, and the number is that of a stream, as its type says.
        let put = |driver: &Driver| unsafe { driver.event_record(self.handle, stream) };
        self.context.inside(put)?;
        self.is_recorded.store(true, Ordering::Release);
        Ok(())
    }

    fn is_done(&self) -> Result<bool, DeviceError> {
        // SAFETY: the event is ours.
        let ask = |driver: &Driver| unsafe { driver.event_query(self.handle) };
        match self.context.tried_inside(ask)? {
            Ok(()) => Ok(true),
            Err(failure) if failure.is_not_ready() => Ok(false),
            Err(failure) => Err(self.context.error(failure)),
        }
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        // SAFETY: the event is ours.
        self.context
            .inside(|driver| unsafe { driver.event_synchronize(self.handle) })
    }

    fn hold(&self, stream: Stream) -> Result<(), DeviceError> {
        // SAFETY: the event is ours, and the number is that of a stream, as its type says.
        self.context.inside(|driver| unsafe {
            driver.stream_wait_event(super::handle(stream), self.handle, 0)
        })
    }

    fn milliseconds_since(&self, earlier: &dyn Event) -> Result<f64, DeviceError> {
        let any: &dyn Any = earlier;
        let same = any
            .downcast_ref::<Self>()
            .filter(|other| other.context.id() == self.context.id());
        let Some(earlier) = same else {
            let (which, reason) = ("the earlier", "is of another device");
            return Err(DeviceError::Event { which, reason });
        };
        earlier.has_time("the earlier")?;
        self.has_time("the later")?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are ours; the driver writes one number.
        self.context.inside(|driver| unsafe {
            driver.event_elapsed_time(&raw mut milliseconds, earlier.handle, self.handle)
        })?;
        Ok(f64::from(milliseconds))
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // Fails in a fork and after the driver has shut down, when the event is gone already.
        // SAFETY: the event is ours; the driver keeps it for who waits for it.
        let _ = self
            .context
            .inside(|driver| unsafe { driver.event_destroy(self.handle) });
    }
}
