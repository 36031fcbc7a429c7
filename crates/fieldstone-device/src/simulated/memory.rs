//! The memory of a simulated device: which blocks are alive, and where.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::{HostMemory, Shared};
use crate::{Contents, DeviceError, DeviceId, Memory};

/// Set in the addresses of simulated devices; no address of a process has it.
const MARK: usize = 1 << 62;

/// What memory holds before it is written: as floats, not a number.
pub const POISON: u8 = 0xff;

/// Who reaches a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// The device only, at marked addresses.
    Device,
    /// The host; transfers of it are not done before somebody waits for them.
    Pinned,
    /// Host and device.
    Managed,
}

/// The blocks that are alive: length by address, without the mark.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    device: BTreeMap<usize, usize>,
    pinned: BTreeMap<usize, usize>,
    managed: BTreeMap<usize, usize>,
    used: usize,
}

impl Blocks {
    fn of(&mut self, space: Space) -> &mut BTreeMap<usize, usize> {
        match space {
            Space::Device => &mut self.device,
            Space::Pinned => &mut self.pinned,
            Space::Managed => &mut self.managed,
        }
    }

    pub(super) fn insert(&mut self, space: Space, address: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.of(space).insert(address, bytes);
        if space != Space::Pinned {
            self.used += bytes;
        }
    }

    fn remove(&mut self, space: Space, address: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.of(space).remove(&address);
        if space != Space::Pinned {
            self.used -= bytes;
        }
    }

    /// Bytes of the device's memory that are in use.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Whether all these bytes lie in one block that the device reaches at this address.
    pub(super) fn holds(&self, address: usize, bytes: usize) -> bool {
        match address & MARK {
            0 => covers(&self.managed, address, bytes),
            _ => covers(&self.device, address & !MARK, bytes),
        }
    }

    /// Whether all these bytes lie in one block of pinned host memory.
    pub(super) fn is_pinned(&self, address: usize, bytes: usize) -> bool {
        covers(&self.pinned, address, bytes)
    }
}

fn covers(blocks: &BTreeMap<usize, usize>, address: usize, bytes: usize) -> bool {
    let mut below = blocks.range((Bound::Unbounded, Bound::Included(address)));
    below.next_back().is_some_and(|(start, length)| {
        address - start <= *length && bytes <= length - (address - start)
    })
}

/// The host's address of device memory.
pub(super) fn unmarked(pointer: *mut u8) -> *mut u8 {
    pointer.map_addr(|address| address & !MARK)
}

/// Host memory that holds zeros or poison.
pub(super) fn poisoned(
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
        unsafe { block.pointer().write_bytes(POISON, bytes) };
    }
    Ok(block)
}

/// A block of a simulated device.
#[derive(Debug)]
pub(super) struct SimulatedMemory {
    pub(super) space: Space,
    pub(super) block: HostMemory,
    pub(super) device: Arc<Shared>,
}

impl Memory for SimulatedMemory {
    fn pointer(&self) -> *mut u8 {
        match self.space {
            Space::Device => self.block.pointer().map_addr(|address| address | MARK),
            Space::Pinned | Space::Managed => self.block.pointer(),
        }
    }

    fn bytes(&self) -> usize {
        self.block.bytes()
    }

    fn device(&self) -> DeviceId {
        match self.space {
            Space::Pinned => DeviceId::HOST,
            Space::Device | Space::Managed => self.device.id(),
        }
    }
}

impl Drop for SimulatedMemory {
    fn drop(&mut self) {
        let (address, bytes) = (self.block.pointer().addr(), self.block.bytes());
        let mut state = self.device.state();
        state.work.finish_kernels(&(address..address + bytes));
        state.blocks.remove(self.space, address, bytes);
        // The memory itself goes when this is over: nobody can reach it any more.
        state
            .work
            .forget(self.device.id(), address..address + bytes);
    }
}
