//! Streams in which memory is moved while kernels run in others, and fences by which these wait for each other where they have to.

use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::accelerator::{Event, Queue};
use crate::{DeviceError, Stream};

/// So many events are kept for fences to come.
const SPARE: usize = 64;

/// Makes an event that does not remember its time.
type MakeEvent = Box<dyn Fn() -> Result<Box<dyn Event>, DeviceError> + Send + Sync>;

/// The streams of a device in which memory is moved, one for each direction. Neither waits for the default stream, nor that for them.
pub struct Copies {
    up: Box<dyn Queue>,
    down: Box<dyn Queue>,
    make: MakeEvent,
    spare: Mutex<Vec<Box<dyn Event>>>,
}

impl Copies {
    /// The stream of copies from the host.
    pub fn up(&self) -> Stream {
        self.up.stream()
    }

    /// The stream of copies to the host.
    pub fn down(&self) -> Stream {
        self.down.stream()
    }

    /// The place where a stream is now.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn fence(self: &Arc<Self>, stream: Stream) -> Result<Fence, DeviceError> {
        let spare = self.events().pop();
        let event = spare.map_or_else(&self.make, Ok)?;
        event.record(stream)?;
        Ok(Fence {
            event: Some(event),
            stream,
            home: Arc::clone(self),
        })
    }

    fn events(&self) -> MutexGuard<'_, Vec<Box<dyn Event>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Debug for Copies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let streams = [&self.up, &self.down];
        formatter.debug_tuple("Copies").field(&streams).finish()
    }
}

/// A place in the work of a stream, for which others wait.
pub struct Fence {
    /// None when it goes.
    event: Option<Box<dyn Event>>,
    stream: Stream,
    home: Arc<Copies>,
}

impl Fence {
    /// The stream it is in.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    fn event(&self) -> &dyn Event {
        match &self.event {
            Some(event) => event.as_ref(),
            None => unreachable!("a fence has its event until it goes"),
        }
    }

    /// Lets what is put into a stream from now on wait for all before this place.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn hold(&self, stream: Stream) -> Result<(), DeviceError> {
        self.event().hold(stream)
    }

    /// Whether all before this place is done.
    ///
    /// # Errors
    /// If the driver reports an error, of that work perhaps.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        self.event().is_done()
    }

    /// Waits until all before this place is done.
    ///
    /// # Errors
    /// As [`Self::is_done`].
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.event().synchronize()
    }
}

impl Debug for Fence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Fence").field(&self.stream).finish()
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // Whoever waits for the place goes on to do so, whatever the event is recorded for next.
        if let Some(event) = self.event.take() {
            let mut spare = self.home.events();
            if spare.len() < SPARE {
                spare.push(event);
            }
        }
    }
}

/// The streams of a device as long as somebody needs them.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<Weak<Copies>>);

impl Shared {
    /// Those that there are, or new ones.
    pub(crate) fn get(
        &self,
        apart: impl Fn() -> Result<Box<dyn Queue>, DeviceError>,
        make: impl Fn() -> Result<Box<dyn Event>, DeviceError> + Send + Sync + 'static,
    ) -> Result<Arc<Copies>, DeviceError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copies) = known.upgrade() {
            return Ok(copies);
        }
        let copies = Arc::new(Copies {
            up: apart()?,
            down: apart()?,
            make: Box::new(make),
            spare: Mutex::default(),
        });
        *known = Arc::downgrade(&copies);
        Ok(copies)
    }
}
