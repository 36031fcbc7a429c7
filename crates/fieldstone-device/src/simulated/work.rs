//! The work of a simulated device: tasks in streams, done when somebody waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use super::event::Mark;
use super::kernel::Blocks;
use crate::{DeviceError, DeviceId, Rows, Stream};

/// Handles of streams are multiples of this, which no default stream's number is.
const HANDLES: usize = 0x100;

/// What a device is told to do.
#[derive(Debug)]
pub(super) enum Task {
    Copy {
        source: Source,
        target: *mut u8,
        rows: Rows,
    },
    Fill {
        target: *mut u8,
        value: u8,
        bytes: usize,
    },
    /// Blocks of threads of a kernel.
    Launch(Box<Blocks>),
    /// Tells an event that it has come so far.
    Record(Arc<Mark>),
    /// Nothing, but after the task of this number.
    Wait(u64),
    /// Its memory is gone.
    Lost(DeviceError),
}

/// Where a copy reads.
#[derive(Debug)]
pub(super) enum Source {
    Memory(*const u8),
    Staged(Vec<u8>),
}

/// Who has to wait for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Waits for all, and all wait for it.
    Default,
    OfThread(ThreadId),
    Created(usize),
    /// As one that was created, but neither it nor the default one waits for the other.
    Apart(usize),
}

impl Line {
    /// Whether what is later in one line waits for what is earlier in another.
    fn waits_for(self, other: Self) -> bool {
        let is_apart = matches!(self, Self::Apart(_)) || matches!(other, Self::Apart(_));
        self == other || (!is_apart && (self == Self::Default || other == Self::Default))
    }
}

#[derive(Debug)]
struct Item {
    number: u64,
    line: Line,
    task: Task,
}

// SAFETY: the addresses are of blocks that are alive, see `Work::forget`, and every access happens under the device's lock.
unsafe impl Send for Item {}

/// Tasks that are to be done, in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct Work {
    pending: Vec<Item>,
    next: u64,
    /// By handle, and whether it is apart from the default one.
    streams: BTreeMap<usize, bool>,
    created: usize,
    /// The first error that nobody was told yet.
    fault: Option<DeviceError>,
}

impl Work {
    pub(super) fn create_stream(&mut self, apart: bool) -> Stream {
        self.created += 1;
        self.streams.insert(self.created * HANDLES, apart);
        Stream(self.created * HANDLES)
    }

    pub(super) fn destroy_stream(&mut self, stream: Stream) {
        self.streams.remove(&stream.0);
    }

    pub(super) fn is_apart(&self, stream: Stream) -> bool {
        self.streams.get(&stream.0).copied().unwrap_or(false)
    }

    fn line(&self, device: DeviceId, stream: Stream) -> Result<Line, DeviceError> {
        match stream.0 {
            0 | 1 => Ok(Line::Default),
            2 => Ok(Line::OfThread(thread::current().id())),
            handle => match self.streams.get(&handle) {
                Some(false) => Ok(Line::Created(handle)),
                Some(true) => Ok(Line::Apart(handle)),
                None => Err(DeviceError::Stream {
                    stream: handle,
                    device,
                }),
            },
        }
    }

    /// Puts a task at the end of a stream, and returns its number.
    pub(super) fn push(
        &mut self,
        device: DeviceId,
        stream: Stream,
        task: Task,
    ) -> Result<u64, DeviceError> {
        let line = self.line(device, stream)?;
        let number = self.next;
        self.next += 1;
        self.pending.push(Item { number, line, task });
        Ok(number)
    }

    /// Does everything in a stream, and what has to be done before.
    pub(super) fn run_stream(
        &mut self,
        device: DeviceId,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let line = self.line(device, stream)?;
        let mut pending = self.pending.iter().rev();
        let is_in = |item: &&Item| {
            item.line == line || (line == Line::Default && line.waits_for(item.line))
        };
        if let Some(number) = pending.find(is_in).map(|item| item.number) {
            self.run_until(number, line);
        }
        Ok(())
    }

    /// Does one task, and what has to be done before.
    pub(super) fn run_task(&mut self, number: u64) {
        if let Ok(place) = self
            .pending
            .binary_search_by_key(&number, |item| item.number)
        {
            self.run_until(number, self.pending[place].line);
        }
    }

    pub(super) fn run_all(&mut self) {
        for item in std::mem::take(&mut self.pending) {
            self.run(item.task);
        }
    }

    pub(super) fn is_pending(&self, number: u64) -> bool {
        self.pending
            .binary_search_by_key(&number, |item| item.number)
            .is_ok()
    }

    /// Does all tasks of a line up to a number, and those they depend on: the earlier ones of their lines, of the default
    /// line, of all lines if they are in the default line themselves, and those that they wait for.
    fn run_until(&mut self, number: u64, line: Line) {
        let mut lines = Vec::from([line]);
        let mut tasks = BTreeSet::new();
        let mut needed = BTreeSet::new();
        for item in self.pending.iter().rev() {
            let in_line =
                item.number <= number && lines.iter().any(|line| line.waits_for(item.line));
            if !in_line && !tasks.contains(&item.number) {
                continue;
            }
            needed.insert(item.number);
            lines.push(item.line);
            if let Task::Wait(other) = item.task {
                tasks.insert(other);
            }
        }
        let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|item| needed.contains(&item.number));
        self.pending = later;
        for item in now {
            self.run(item.task);
        }
    }

    fn run(&mut self, task: Task) {
        match task {
            Task::Copy {
                source,
                target,
                rows,
            } => {
                let source = match &source {
                    Source::Memory(source) => *source,
                    Source::Staged(staged) => staged.as_ptr(),
                };
                // SAFETY: both are alive, otherwise the task would be lost; that they do not overlap was promised.
                unsafe { rows.copy(source, target) };
            }
            Task::Fill {
                target,
                value,
                bytes,
            } => {
                // SAFETY: the target is alive, otherwise the task would be lost.
                unsafe { target.write_bytes(value, bytes) };
            }
            Task::Launch(blocks) => {
                if let Err(error) = blocks.run() {
                    self.fault.get_or_insert(error);
                }
            }
            Task::Record(mark) => mark.reach(),
            Task::Wait(_) => {}
            Task::Lost(error) => {
                self.fault.get_or_insert(error);
            }
        }
    }

    /// What is to be done, in words.
    pub(super) fn undone(&self) -> Vec<String> {
        let words = |item: &Item| match &item.task {
            Task::Copy { .. } => Some("copy".to_owned()),
            Task::Fill { .. } => Some("fill".to_owned()),
            Task::Launch(blocks) => Some(blocks.in_words()),
            Task::Record(_) | Task::Wait(_) | Task::Lost(_) => None,
        };
        self.pending.iter().filter_map(words).collect()
    }

    /// The first error of what was done since this was last asked.
    pub(super) fn report(&mut self) -> Result<(), DeviceError> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Does what kernels are still to do with memory that is being freed: a driver waits for them.
    pub(super) fn finish_kernels(&mut self, block: &Range<usize>) {
        let reaches =
            |item: &&Item| matches!(&item.task, Task::Launch(blocks) if blocks.reaches(block));
        let numbers: Vec<u64> = self
            .pending
            .iter()
            .filter(reaches)
            .map(|item| item.number)
            .collect();
        for number in numbers {
            self.run_task(number);
        }
    }

    /// Takes memory away from the tasks that were to access it; whoever waits for them is told.
    pub(super) fn forget(&mut self, device: DeviceId, block: Range<usize>) {
        for item in &mut self.pending {
            let lost = match &item.task {
                Task::Copy {
                    source,
                    target,
                    rows,
                } => {
                    let source = match source {
                        Source::Memory(source) => source.addr(),
                        Source::Staged(_) => 0,
                    };
                    let reaches = [
                        (source, rows.source_reach()),
                        (target.addr(), rows.target_reach()),
                    ];
                    reaches
                        .into_iter()
                        .find(|(address, _)| block.contains(address))
                }
                Task::Fill { target, bytes, .. } => block
                    .contains(&target.addr())
                    .then(|| (target.addr(), *bytes)),
                Task::Launch(_) | Task::Record(_) | Task::Wait(_) | Task::Lost(_) => None,
            };
            if let Some((address, bytes)) = lost {
                item.task = Task::Lost(DeviceError::Address {
                    address,
                    bytes,
                    device,
                });
            }
        }
    }
}
