//! Device memory for the temporaries and the failures of a run, kept for the next.
//!
//! Work in a stream goes on after a run has returned. Its memory is used again in the same stream, whose order keeps the two runs
//! apart, and in another one when the work is done: streams do not wait for each other because of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use fieldstone_device::{Accelerator, Contents, Event, Memory, Stream};

use crate::array::Array;
use crate::error::RunError;

/// Device memory begins at a multiple of this, as lines of its cache do.
const LINE: usize = 256;

/// Memory of runs that are over for the host.
#[derive(Default)]
pub(super) struct Spares(Mutex<Vec<Spare>>);

/// Memory of a run that is over for the host.
struct Spare {
    accelerator: Arc<dyn Accelerator>,
    stream: StreamOfThread,
    /// Where the run is over for the device.
    done: Option<Box<dyn Event>>,
    memory: RunMemory,
}

/// A stream, and whose it is where each thread has one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct StreamOfThread(Stream, Option<ThreadId>);

impl StreamOfThread {
    fn new(stream: Stream) -> Self {
        let own = stream == Stream::OF_THREAD;
        Self(stream, own.then(|| thread::current().id()))
    }
}

/// Memory that a run has for itself.
#[derive(Default)]
pub(super) struct RunMemory {
    /// A block for each temporary that is an array.
    pub arrays: Vec<Box<dyn Memory>>,
    /// Where kernels write the number of a failure: host memory that the device reaches.
    pub failure: Option<Box<dyn Memory>>,
}

impl RunMemory {
    /// Memory for temporaries alone.
    pub(super) fn new(
        accelerator: &Arc<dyn Accelerator>,
        arrays: &[Array],
    ) -> Result<RunMemory, RunError> {
        let mut memory = RunMemory::default();
        memory.make_room(accelerator, arrays)?;
        Ok(memory)
    }

    /// Has a block for each array that is large enough.
    fn make_room(
        &mut self,
        accelerator: &Arc<dyn Accelerator>,
        arrays: &[Array],
    ) -> Result<(), RunError> {
        for (number, array) in arrays.iter().enumerate() {
            let (blocks, bytes) = (&mut self.arrays, array.bytes());
            if blocks.get(number).is_none_or(|block| block.bytes() < bytes) {
                // What is too small goes first, and those behind it, which most probably are as well.
                blocks.truncate(number);
                blocks.push(accelerator.allocate(bytes, LINE, Contents::Uninitialised)?);
            }
        }
        Ok(())
    }
}

impl Spares {
    /// Memory for a run in a stream: that of a run before, where it is large enough.
    pub(super) fn take(
        &self,
        accelerator: &Arc<dyn Accelerator>,
        stream: Stream,
        arrays: &[Array],
        may_fail: bool,
    ) -> Result<RunMemory, RunError> {
        if arrays.is_empty() && !may_fail {
            return Ok(RunMemory::default());
        }
        let mut memory = self.spare_of(accelerator, stream)?;
        memory.make_room(accelerator, arrays)?;
        if may_fail && memory.failure.is_none() {
            memory.failure = Some(accelerator.allocate_pinned(8, 8, Contents::Zeroed)?);
        }
        Ok(memory)
    }

    /// Takes the memory of a run in the same stream, or of one that is over.
    fn spare_of(
        &self,
        accelerator: &Arc<dyn Accelerator>,
        stream: Stream,
    ) -> Result<RunMemory, RunError> {
        let wanted = StreamOfThread::new(stream);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |spare: &Spare| {
            let done = spare.done.as_ref();
            done.is_some_and(|done| done.is_done().unwrap_or(false))
        };
        let mut place = None;
        for (number, spare) in all.iter().enumerate() {
            if !Arc::ptr_eq(&spare.accelerator, accelerator) {
                continue;
            }
            if spare.stream == wanted {
                place = Some(number);
                break;
            }
            if place.is_none() && is_over(spare) {
                place = Some(number);
            }
        }
        let Some(place) = place else {
            return Ok(RunMemory::default());
        };
        let spare = all.swap_remove(place);
        drop(all);
        // A stream that was destroyed may have left work, and its number to another one.
        if let Some(done) = &spare.done {
            done.hold(stream)?;
        }
        Ok(spare.memory)
    }

    /// Keeps the memory of a run.
    pub(super) fn keep(
        &self,
        accelerator: &Arc<dyn Accelerator>,
        stream: Stream,
        memory: RunMemory,
    ) -> Result<(), RunError> {
        if memory.arrays.is_empty() && memory.failure.is_none() {
            return Ok(());
        }
        let done = match stream {
            Stream::DEFAULT => None,
            _ => {
                let event = accelerator.create_event()?;
                event.record(stream)?;
                Some(event)
            }
        };
        let spare = Spare {
            accelerator: accelerator.clone(),
            stream: StreamOfThread::new(stream),
            done,
            memory,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(spare);
        Ok(())
    }
}
