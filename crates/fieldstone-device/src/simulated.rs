//! A device without a GPU: host memory that behaves as that of a device.
//!
//! Its addresses are marked, so that they are no addresses of this process: only the functions of the device reach its
//! memory, and whoever takes one for host memory faults at once. New memory is poisoned, every access is checked against
//! the blocks that are alive, and transfers are counted. It shows what a program moves and where it would read stale data;
//! it says nothing of a GPU's speed.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::accelerator::Counters;
use crate::{
    Accelerator, Capacity, Contents, Device, DeviceError, DeviceId, HostMemory, Kind, Memory,
    Properties, Rows, Stream, Transfers, host,
};

/// Set in the addresses of simulated devices; no address of a process has it.
const MARK: usize = 1 << 62;

/// What memory holds before it is written: as floats, not a number.
pub const POISON: u8 = 0xff;

/// A device whose memory and kernels are those of the host.
#[derive(Debug)]
pub struct Simulated {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    index: usize,
    name: String,
    /// Address of each block that is alive, without the mark, and its length.
    blocks: Mutex<BTreeMap<usize, usize>>,
    counters: Counters,
}

impl Simulated {
    /// The simulated device of this number.
    pub fn new(index: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                index,
                name: format!("simulated device {index}"),
                blocks: Mutex::default(),
                counters: Counters::default(),
            }),
        }
    }

    /// The host's address of `bytes` bytes of device memory.
    fn translated(&self, pointer: *const u8, bytes: usize) -> Result<*mut u8, DeviceError> {
        let address = pointer.addr();
        self.shared
            .holds(address, bytes)
            .then(|| unmarked(pointer.cast_mut()))
            .ok_or(DeviceError::Address {
                address,
                bytes,
                device: self.id(),
            })
    }
}

impl Shared {
    fn blocks(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds(&self, address: usize, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        if address & MARK == 0 {
            return false;
        }
        let address = address & !MARK;
        let blocks = self.blocks();
        let below = blocks.range((Bound::Unbounded, Bound::Included(address)));
        below.last().is_some_and(|(start, length)| {
            address - start <= *length && bytes <= length - (address - start)
        })
    }
}

fn unmarked(pointer: *mut u8) -> *mut u8 {
    pointer.map_addr(|address| address & !MARK)
}

impl Device for Simulated {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: Kind::Simulated,
            index: self.shared.index,
        }
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
        let block = poisoned(bytes, alignment, contents, self.id())?;
        if bytes > 0 {
            self.shared.blocks().insert(block.pointer().addr(), bytes);
        }
        Ok(Box::new(SimulatedMemory {
            block,
            device: Arc::clone(&self.shared),
        }))
    }
}

impl Accelerator for Simulated {
    fn allocate_pinned(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        Ok(Box::new(poisoned(bytes, alignment, contents, self.id())?))
    }

    fn allocate_managed(
        &self,
        bytes: usize,
        alignment: usize,
        contents: Contents,
    ) -> Result<Box<dyn Memory>, DeviceError> {
        self.allocate_pinned(bytes, alignment, contents)
    }

    unsafe fn upload(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        _stream: Stream,
    ) -> Result<(), DeviceError> {
        let target = self.translated(target, bytes)?;
        // SAFETY: the caller vouches for the source, the target lies in a block that is alive.
        unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
        self.shared.counters.upload(bytes);
        Ok(())
    }

    unsafe fn download(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        _stream: Stream,
    ) -> Result<(), DeviceError> {
        let source = self.translated(source, bytes)?;
        // SAFETY: the caller vouches for the target, the source lies in a block that is alive.
        unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
        self.shared.counters.download(bytes);
        Ok(())
    }

    unsafe fn upload_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
        _stream: Stream,
    ) -> Result<(), DeviceError> {
        let target = self.translated(target, rows.target_reach())?;
        // SAFETY: the caller vouches for the source, the target lies in a block that is alive.
        unsafe { rows.copy(source, target) };
        self.shared.counters.upload(rows.bytes * rows.count);
        Ok(())
    }

    unsafe fn download_rows(
        &self,
        source: *const u8,
        target: *mut u8,
        rows: Rows,
        _stream: Stream,
    ) -> Result<(), DeviceError> {
        let source = self.translated(source, rows.source_reach())?;
        // SAFETY: the caller vouches for the target, the source lies in a block that is alive.
        unsafe { rows.copy(source, target) };
        self.shared.counters.download(rows.bytes * rows.count);
        Ok(())
    }

    unsafe fn copy(
        &self,
        source: *const u8,
        target: *mut u8,
        bytes: usize,
        _stream: Stream,
    ) -> Result<(), DeviceError> {
        let (source, target) = (
            self.translated(source, bytes)?,
            self.translated(target, bytes)?,
        );
        // SAFETY: both lie in blocks that are alive, and do not overlap.
        unsafe { ptr::copy_nonoverlapping(source, target, bytes) };
        Ok(())
    }

    unsafe fn fill(
        &self,
        target: *mut u8,
        value: u8,
        bytes: usize,
        _stream: Stream,
    ) -> Result<(), DeviceError> {
        let target = self.translated(target, bytes)?;
        // SAFETY: the target lies in a block that is alive.
        unsafe { ptr::write_bytes(target, value, bytes) };
        Ok(())
    }

    fn synchronize(&self, _stream: Stream) -> Result<(), DeviceError> {
        Ok(())
    }

    fn reachable(&self, pointer: *mut u8) -> Option<*mut u8> {
        self.owns(pointer).then(|| unmarked(pointer))
    }

    fn owns(&self, pointer: *const u8) -> bool {
        self.shared.holds(pointer.addr(), 1)
    }

    fn transfers(&self) -> Transfers {
        self.shared.counters.read()
    }

    fn reset_transfers(&self) {
        self.shared.counters.reset();
    }

    fn capacity(&self) -> Result<Capacity, DeviceError> {
        let total = host::physical_memory();
        let used = self.shared.blocks().values().sum();
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
        }
    }
}

fn poisoned(
    bytes: usize,
    alignment: usize,
    contents: Contents,
    device: DeviceId,
) -> Result<HostMemory, DeviceError> {
    let block = HostMemory::new(bytes, alignment, contents).map_err(|error| match error {
        DeviceError::OutOfMemory {
            bytes, alignment, ..
        } => DeviceError::OutOfMemory {
            bytes,
            alignment,
            device,
        },
        other => other,
    })?;
    if contents == Contents::Uninitialised {
        // SAFETY: the block is this long and nobody else knows it yet.
        unsafe { ptr::write_bytes(block.pointer(), POISON, bytes) };
    }
    Ok(block)
}

/// A block of a simulated device.
#[derive(Debug)]
struct SimulatedMemory {
    block: HostMemory,
    device: Arc<Shared>,
}

impl Memory for SimulatedMemory {
    fn pointer(&self) -> *mut u8 {
        self.block.pointer().map_addr(|address| address | MARK)
    }

    fn bytes(&self) -> usize {
        self.block.bytes()
    }

    fn device(&self) -> DeviceId {
        DeviceId {
            kind: Kind::Simulated,
            index: self.device.index,
        }
    }
}

impl Drop for SimulatedMemory {
    fn drop(&mut self) {
        self.device.blocks().remove(&self.block.pointer().addr());
    }
}
