//! What is under way with two copies: transfers in streams of their own, and work with the device's copy in others.
//!
//! A transfer waits for the work with this copy and for no other, work for the transfers of its arguments, and the host for the
//! transfer of what it accesses. Of work that others put into streams only one thing is known: the default stream waits for it.

use std::sync::Arc;

use fieldstone_device::{Copies, DeviceError, Fence, Stream};

/// So many pieces of work are remembered before those that are done are looked for.
const MANY: usize = 4;

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Where the last upload ends, which reads the host's copy.
    upload: Option<Fence>,
    /// Whether the default stream has been told to wait for it.
    told: bool,
    /// The last work with the device's copy in each stream since a transfer that waited for it.
    works: Vec<Work>,
    /// Whether there is, or was since the last transfer, work with the device's copy that nobody has told of.
    untold: bool,
}

/// Work with the device's copy.
#[derive(Debug)]
struct Work {
    /// Where it ends.
    fence: Arc<Fence>,
    writes: bool,
}

impl Traffic {
    /// Lets work in a stream, which is put there next, wait for the transfers and the work that it must not meet.
    pub fn hold(&mut self, stream: Stream, writes: bool) -> Result<(), DeviceError> {
        if let Some(upload) = &self.upload
            && !(self.told && stream == Stream::DEFAULT)
        {
            upload.hold(stream)?;
            self.told |= stream == Stream::DEFAULT;
        }
        for work in &self.works {
            let same = work.fence.stream() == stream;
            // The number of a stream that is gone may be that of another one.
            if (work.writes || writes || same) && !(same && stream == Stream::DEFAULT) {
                work.fence.hold(stream)?;
            }
        }
        Ok(())
    }

    /// Notes that such work has been put into the stream of a fence, before it.
    pub fn note(&mut self, fence: &Arc<Fence>, writes: bool) -> Result<(), DeviceError> {
        // It is behind all that it waited for.
        self.works
            .retain(|work| !writes && (work.writes || work.fence.stream() != fence.stream()));
        if self.works.len() >= MANY {
            let works = std::mem::take(&mut self.works);
            for work in works {
                if !work.fence.is_done()? {
                    self.works.push(work);
                }
            }
        }
        self.works.push(Work {
            fence: Arc::clone(fence),
            writes,
        });
        Ok(())
    }

    /// Notes that others work with the device's copy from now on, in streams that the default one waits for.
    pub fn note_others(&mut self) {
        self.untold = true;
    }

    /// Lets an upload, which is begun next, wait for all work with the device's copy; `out` if others may work with it on.
    pub fn hold_upload(&mut self, copies: &Arc<Copies>, out: bool) -> Result<(), DeviceError> {
        for work in &self.works {
            work.fence.hold(copies.up())?;
        }
        self.works.clear();
        self.hold_for_others(copies, copies.up(), out)
    }

    /// Notes that it has been put into its stream; `out` if others work with the device's copy who would not wait for it.
    pub fn note_upload(&mut self, copies: &Arc<Copies>, out: bool) -> Result<(), DeviceError> {
        let fence = copies.fence(copies.up())?;
        if out {
            fence.hold(Stream::DEFAULT)?;
        }
        self.told = out;
        self.upload = Some(fence);
        Ok(())
    }

    /// Lets a download, which is begun next, wait for the work that writes the device's copy.
    pub fn hold_download(&mut self, copies: &Arc<Copies>, out: bool) -> Result<(), DeviceError> {
        if let Some(upload) = &self.upload {
            upload.hold(copies.down())?;
        }
        for work in self.works.iter().filter(|work| work.writes) {
            work.fence.hold(copies.down())?;
        }
        self.hold_for_others(copies, copies.down(), out)
    }

    /// Waits for a download, which has been put into its stream.
    pub fn finish_download(&mut self, copies: &Arc<Copies>) -> Result<(), DeviceError> {
        copies.fence(copies.down())?.synchronize()?;
        // It has waited for them.
        self.works.retain(|work| !work.writes);
        self.upload = None;
        Ok(())
    }

    /// Waits for uploads, which may still read the host's copy.
    pub fn land(&mut self) -> Result<(), DeviceError> {
        self.upload
            .take()
            .map_or(Ok(()), |fence| fence.synchronize())
    }

    fn hold_for_others(
        &mut self,
        copies: &Arc<Copies>,
        stream: Stream,
        out: bool,
    ) -> Result<(), DeviceError> {
        if self.untold || out {
            copies.fence(Stream::DEFAULT)?.hold(stream)?;
        }
        self.untold = out;
        Ok(())
    }
}
