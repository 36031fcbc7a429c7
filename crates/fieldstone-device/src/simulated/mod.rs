//! A device without a GPU: host memory that behaves as that of a device.
//!
//! Its addresses are marked, so that they are no addresses of this process: only the functions of the device reach its
//! memory, and whoever takes one for host memory faults at once. New memory is poisoned, every access is checked against
//! the blocks that are alive, and transfers are counted. It shows what a program moves and where it would read stale data;
//! it says nothing of a GPU's speed.
//!
//! An asynchronous one leaves work undone until somebody waits for it, as a busy GPU does, so that a program which forgets to
//! wait finds old data every time, not once in a while.

mod event;
mod kernel;
mod memory;
mod work;

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::accelerator::{Counters, Event, Queue};
use crate::copies::{self, Copies};
use crate::kernel::{Code, Graph, Module, Node, Symbol};
use crate::{
    Accelerator, Capacity, Contents, Device, DeviceError, DeviceId, HostMemory, Kind, Memory,
    Properties, Rows, Stream, Transfers, host,
};
use event::SimulatedEvent;
use kernel::{LIMITS, SimulatedGraph, SimulatedModule};
use memory::{Blocks, SimulatedMemory, Space, poisoned, unmarked};
use work::{Source, Task, Work};

pub use memory::POISON;

/// How a simulated device behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulatedOptions {
    /// Whether work is left undone until somebody waits for it.
    pub asynchronous: bool,
    /// Bytes of memory it has; otherwise as many as the host.
    pub memory: Option<usize>,
}

/// A device whose memory and kernels are those of the host.
#[derive(Debug)]
pub struct Simulated {
    shared: Arc<Shared>,
    copies: copies::Shared,
}

/// What the device's memory, streams and events share.
#[derive(Debug)]
struct Shared {
    index: usize,
    name: String,
    options: SimulatedOptions,
    state: Mutex<State>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct State {
    blocks: Blocks,
    work: Work,
}

impl Simulated {
    /// The simulated device of this number.
    pub fn new(index: usize) -> Self {
        Self::with(index, SimulatedOptions::default())
    }

    /// The simulated device of this number that behaves so.
    pub fn with(index: usize, options: SimulatedOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                index,
                name: format!("simulated device {index}"),
                options,
                state: Mutex::default(),
                counters: Counters::default(),
            }),
            copies: copies::Shared::default(),
        }
    }

    /// A new block, known to the device.
    fn block(
        &self,
        space: Space,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        let mut state = self.shared.state();
        let used = state.blocks.used();
        let limit = self
            .shared
            .options
            .memory
            .filter(|_| space != Space::Pinned);
        if limit.is_some_and(|limit| bytes > limit.saturating_sub(used)) {
            let device = self.id();
            return Err(DeviceError::OutOfMemory {
                bytes,
                alignment,
                device,
            });
        }
        let block = poisoned(bytes, alignment, contents, self.id())?;
        state.blocks.insert(space, block.pointer().addr(), bytes);
        let device = Arc::clone(&self.shared);
        Ok(Box::new(SimulatedMemory {
            space,
            block,
            device,
        }))
    }
}

impl Simulated {
    /// What an asynchronous device has not done yet, in the order in which it was told to: `copy`, `fill`, and kernels with
    /// whose they are. Waits of streams are left out.
    pub fn undone(&self) -> Vec<String> {
        self.shared.state().work.undone()
    }

    /// A new stream, which the default stream does not wait for, nor it for that, if it is apart.
    fn queue(&self, apart: bool) -> Box<dyn Queue> {
        let stream = self.shared.state().work.create_stream(apart);
        let device = Arc::clone(&self.shared);
        Box::new(SimulatedQueue { stream, device })
    }

    fn takes_functions(&self, label: &str, given: &str) -> DeviceError {
        DeviceError::NotCode {
            label: label.to_owned(),
            device: self.id(),
            reason: format!("a simulated device takes functions of the host, not {given}"),
        }
    }
}

impl Shared {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: Kind::Simulated,
            index: self.index,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a task into a stream, and does it unless the device is asynchronous. Returns its number.
    fn submit(&self, state: &mut State, stream: Stream, task: Task) -> Result<u64, DeviceError> {
        let number = state.work.push(self.id(), stream, task)?;
        if !self.options.asynchronous {
            state.work.run_all();
            state.work.report()?;
        }
        Ok(number)
    }

    /// Does what is in a stream.
    fn drain(&self, state: &mut State, stream: Stream) -> Result<(), DeviceError> {
        state.work.run_stream(self.id(), stream)?;
        state.work.report()
    }
}

impl State {
    /// The host's address of `bytes` bytes of device memory.
    fn translated(
        &self,
        device: DeviceId,
        pointer: *const u8,
        bytes: usize,
    ) -> Result<*mut u8, DeviceError> {
        let address = pointer.addr();
        match bytes == 0 || self.blocks.holds(address, bytes) {
            true => Ok(unmarked(pointer.cast_mut())),
            false => Err(DeviceError::Address {
                address,
                bytes,
                device,
            }),
        }
    }

    /// The host's address of memory that a kernel reaches: the device's, and pinned memory of the host.
    fn reached(
        &self,
        device: DeviceId,
        address: usize,
        bytes: usize,
    ) -> Result<usize, DeviceError> {
        if self.blocks.is_pinned(address, bytes) {
            return Ok(address);
        }
        let pointer = std::ptr::without_provenance(address);
        Ok(self.translated(device, pointer, bytes)?.addr())
    }
}

impl Device for Simulated {
    fn id(&self) -> DeviceId {
        self.shared.id()
    }

    fn name(&self) -> &str {
        &self.shared.name
    }

    fn allocate(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        self.block(Space::Device, bytes, alignment, contents)
    }
}

impl Accelerator for Simulated {
    fn allocate_pinned(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        self.block(Space::Pinned, bytes, alignment, contents)
    }

    fn allocate_managed(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        self.block(Space::Managed, bytes, alignment, contents)
    }

    unsafe fn upload(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        // SAFETY: as the caller says.
        unsafe { self.upload_rows(source, target, Rows::one(bytes), stream) }
    }

    unsafe fn download(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        // SAFETY: as the caller says.
        unsafe { self.download_rows(source, target, Rows::one(bytes), stream) }
    }

    unsafe fn upload_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let mut state = self.shared.state();
        let target = state.translated(self.id(), target, rows.target_reach())?;
        let is_pinned = state.blocks.is_pinned(source.addr(), rows.source_reach());
        let bytes = rows.bytes * rows.count;
        let task = match self.shared.options.asynchronous && !is_pinned {
            // As a driver does it, which reads other memory than pinned before it returns.
            true => {
                let mut staged = vec![0; bytes];
                let dense = Rows {
                    target_pitch: rows.bytes,
                    ..rows
                };
                // SAFETY: the caller vouches for the source, and the target is as long as all rows.
                unsafe { dense.copy(source, staged.as_mut_ptr()) };
                Task::Copy {
                    source: Source::Staged(staged),
                    target,
                    rows: rows.of_dense(),
                }
            }
            false => Task::Copy {
                source: Source::Memory(source),
                target,
                rows,
            },
        };
        self.shared.submit(&mut state, stream, task)?;
        self.shared.counters.upload(bytes);
        Ok(())
    }

    unsafe fn download_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let mut state = self.shared.state();
        let source = state.translated(self.id(), source, rows.source_reach())?;
        let is_pinned = state.blocks.is_pinned(target.addr(), rows.target_reach());
        let task = Task::Copy {
            source: Source::Memory(source),
            target,
            rows,
        };
        self.shared.submit(&mut state, stream, task)?;
        if !is_pinned {
            // As a driver does it, which writes to other memory than pinned before it returns.
            self.shared.drain(&mut state, stream)?;
        }
        self.shared.counters.download(rows.bytes * rows.count);
        Ok(())
    }

    unsafe fn copy(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let mut state = self.shared.state();
        let source = Source::Memory(state.translated(self.id(), source, bytes)?);
        let target = state.translated(self.id(), target, bytes)?;
        let task = Task::Copy {
            source,
            target,
            rows: Rows::one(bytes),
        };
        self.shared.submit(&mut state, stream, task)?;
        Ok(())
    }

    unsafe fn copy_to_peer(
        &self,
        source: *const u8,
        peer: &dyn Accelerator,
        target: *mut u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let any: &dyn Any = peer;
        let Some(peer) = any.downcast_ref::<Self>() else {
            return Err(DeviceError::Peers {
                source_device: self.id(),
                target_device: peer.id(),
            });
        };
        let mut state = self.shared.state();
        let source = state.translated(self.id(), source, bytes)?;
        self.shared.drain(&mut state, stream)?;
        // SAFETY: the source lies in a block that is alive as long as the state is locked.
        let between = unsafe { std::slice::from_raw_parts(source, bytes) }.to_vec();
        drop(state);
        let state = peer.shared.state();
        let target = state.translated(peer.id(), target, bytes)?;
        // SAFETY: the target lies in a block that is alive as long as the state is locked.
        unsafe { target.copy_from_nonoverlapping(between.as_ptr(), bytes) };
        Ok(())
    }

    unsafe fn fill(
        &self,
        target: *mut u8,
        value: u8,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DeviceError> {
        let mut state = self.shared.state();
        let target = state.translated(self.id(), target, bytes)?;
        let task = Task::Fill {
            target,
            value,
            bytes,
        };
        self.shared.submit(&mut state, stream, task)?;
        Ok(())
    }

    fn assemble(&self, label: &str, _ptx: &str) -> Result<Vec<u8>, DeviceError> {
        Err(self.takes_functions(label, "PTX"))
    }

    fn load(
        &self,
        label: &str,
        code: Code<'_>,
        kernels: &[Symbol<'_>],
    ) -> Result<Box<dyn Module>, DeviceError> {
        let kind = code.kind();
        let Code::Functions(functions, keep) = code else {
            return Err(self.takes_functions(label, kind));
        };
        let module = SimulatedModule::new(&self.shared, label, &functions, keep, kernels)?;
        Ok(Box::new(module))
    }

    unsafe fn graph(&self, nodes: &[Node<'_>]) -> Result<Box<dyn Graph>, DeviceError> {
        Ok(Box::new(SimulatedGraph::new(&self.shared, nodes)?))
    }

    fn synchronize(&self, stream: Stream) -> Result<(), DeviceError> {
        self.shared.drain(&mut self.shared.state(), stream)
    }

    fn synchronize_all(&self) -> Result<(), DeviceError> {
        let mut state = self.shared.state();
        state.work.run_all();
        state.work.report()
    }

    fn create_stream(&self) -> Result<Box<dyn Queue>, DeviceError> {
        Ok(self.queue(false))
    }

    fn copies(&self) -> Result<Arc<Copies>, DeviceError> {
        let shared = Arc::clone(&self.shared);
        self.copies.get(
            || Ok(self.queue(true)),
            move || Ok(Box::new(SimulatedEvent::new(&shared))),
        )
    }

    fn waits_for_default(&self, stream: Stream) -> Result<bool, DeviceError> {
        Ok(!self.shared.state().work.is_apart(stream))
    }

    fn create_event(&self) -> Result<Box<dyn Event>, DeviceError> {
        Ok(Box::new(SimulatedEvent::new(&self.shared)))
    }

    fn reachable(&self, pointer: *mut u8) -> Option<*mut u8> {
        let mut state = self.shared.state();
        if !state.blocks.holds(pointer.addr(), 1) {
            return None;
        }
        // A kernel comes after what was put into its stream before it.
        state.work.run_all();
        Some(unmarked(pointer))
    }

    fn owns(&self, pointer: *const u8) -> bool {
        self.shared.state().blocks.holds(pointer.addr(), 1)
    }

    fn transfers(&self) -> Transfers {
        self.shared.counters.read()
    }

    fn reset_transfers(&self) {
        self.shared.counters.reset();
    }

    fn capacity(&self) -> Result<Capacity, DeviceError> {
        let total = self
            .shared
            .options
            .memory
            .unwrap_or_else(host::physical_memory);
        let used = self.shared.state().blocks.used();
        Ok(Capacity {
            total,
            free: total.saturating_sub(used),
        })
    }

    fn properties(&self) -> Properties {
        Properties {
            compute_capability: None,
            multiprocessors: None,
            unified_addressing: true,
            managed_memory: true,
            concurrent_managed_access: true,
            driver: None,
            limits: LIMITS,
        }
    }
}

/// A stream of a simulated device.
#[derive(Debug)]
struct SimulatedQueue {
    stream: Stream,
    device: Arc<Shared>,
}

impl Queue for SimulatedQueue {
    fn stream(&self) -> Stream {
        self.stream
    }
}

impl Drop for SimulatedQueue {
    fn drop(&mut self) {
        self.device.state().work.destroy_stream(self.stream);
    }
}
