//! Two copies of the same elements, one in host memory and one in a device's.
//!
//! Both copies have the same geometry, so that a view of one is a view of the other. Who wants to access one says what for,
//! and finds it current; the [`SyncState`] remembers who was written to, and bytes are moved only when they are needed.

use std::ops::Range;
use std::sync::Arc;

use fieldstone_device::{Accelerator, Contents, Copies, DeviceError, Fence, Stream};

use crate::sync::{Access, Ledger, Side, SyncState};
use crate::transfer::{self, Way, lowest};
use crate::{Buffer, StorageError, View};

/// Fewer bytes are not moved apart from those beside them: a transfer takes that long however small it is.
const GRANULE: usize = 256 << 10;

/// The memory of one copy.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first byte.
    start: *mut u8,
    /// The memory, unless it is somebody else's.
    owner: Option<Arc<Buffer>>,
}

// SAFETY: an address and a buffer that may be shared; who accesses the memory orders the accesses.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn of(view: &View) -> Self {
        Self {
            start: lowest(view),
            owner: view.owner().cloned(),
        }
    }
}

/// Two copies of the same elements.
#[derive(Debug)]
pub struct Pair {
    host: Block,
    device: Block,
    bytes: usize,
    /// All elements, in host memory.
    elements: View,
    /// Whether bytes between the elements belong to somebody else, on the host and on the device.
    gaps: [bool; 2],
    /// Whether the memory is somebody else's, who may access it without telling, on the host and on the device.
    foreign: [bool; 2],
    accelerator: Arc<dyn Accelerator>,
    copies: Arc<Copies>,
    sync: Arc<SyncState>,
}

impl Pair {
    /// Two new copies of the geometry of `host`, which is all of a new allocation in host memory, preferably pinned.
    ///
    /// On the device, too, the address of the aligned index is a multiple of `alignment`.
    ///
    /// # Errors
    /// If the device has not enough memory.
    pub fn of_new(
        host: &View,
        accelerator: Arc<dyn Accelerator>,
        contents: Contents,
        alignment: usize,
    ) -> Result<Arc<Self>, StorageError> {
        let device = mirror(host, accelerator.as_ref(), contents, alignment)?;
        Self::bound(host, &device, [false, false], accelerator, Arc::default())
    }

    /// Memory of somebody else on the host, which is ahead of its new copy on the device.
    ///
    /// # Errors
    /// If the device has not enough memory, or `sync` is the state of other memory.
    pub fn of_host(
        host: &View,
        accelerator: Arc<dyn Accelerator>,
        sync: Arc<SyncState>,
    ) -> Result<Arc<Self>, StorageError> {
        let device = mirror(host, accelerator.as_ref(), Contents::Uninitialised, 1)?;
        let pair = Self::bound(host, &device, [true, false], accelerator, sync)?;
        pair.sync.declare(Some(Side::Host));
        Ok(pair)
    }

    /// Memory of somebody else on the device, which is ahead of its new copy on the host of the same shape and strides.
    ///
    /// # Errors
    /// If `sync` is the state of other memory.
    pub fn of_device(
        host: &View,
        device: &View,
        accelerator: Arc<dyn Accelerator>,
        sync: Arc<SyncState>,
    ) -> Result<Arc<Self>, StorageError> {
        let pair = Self::bound(host, device, [false, true], accelerator, sync)?;
        pair.sync.declare(Some(Side::Device));
        Ok(pair)
    }

    /// Memory of somebody else on both sides, of the same shape and strides; `sync` says which is ahead.
    ///
    /// # Errors
    /// If `sync` is the state of other memory.
    pub fn of_both(
        host: &View,
        device: &View,
        accelerator: Arc<dyn Accelerator>,
        sync: Arc<SyncState>,
    ) -> Result<Arc<Self>, StorageError> {
        Self::bound(host, device, [true, true], accelerator, sync)
    }

    /// Ties the state to the memory it is about, once.
    fn bound(
        host: &View,
        device: &View,
        foreign: [bool; 2],
        accelerator: Arc<dyn Accelerator>,
        sync: Arc<SyncState>,
    ) -> Result<Arc<Self>, StorageError> {
        let pair = Self {
            host: Block::of(host),
            device: Block::of(device),
            bytes: host.bounds().len(),
            elements: host.clone(),
            gaps: [
                foreign[0] && !is_dense(host),
                foreign[1] && !is_dense(device),
            ],
            foreign,
            copies: accelerator.copies()?,
            accelerator,
            sync,
        };
        let memory = (pair.host.start.addr(), pair.device.start.addr(), pair.bytes);
        let mut ledger = pair.sync.ledger();
        match ledger.memory {
            Some(other) if other != memory => return Err(StorageError::OtherSyncState),
            _ => ledger.memory = Some(memory),
        }
        drop(ledger);
        Ok(Arc::new(pair))
    }

    /// The state that all views share.
    pub fn sync(&self) -> &Arc<SyncState> {
        &self.sync
    }

    /// The device of the other copy.
    pub fn accelerator(&self) -> &Arc<dyn Accelerator> {
        &self.accelerator
    }

    /// The address on the device of what is at one of the host's.
    pub fn there(&self, host: *mut u8) -> *mut u8 {
        let ahead = host.addr().wrapping_sub(self.host.start.addr());
        self.device.start.wrapping_add(ahead)
    }

    /// The same elements on the device.
    pub fn on_device(&self, view: &View) -> View {
        let offset = self.range(view).start;
        let lead = view.pointer().addr().wrapping_sub(view.bounds().start);
        let start = if view.is_empty() { 0 } else { offset + lead };
        let pointer = self.device.start.wrapping_add(start);
        view.at_address(pointer, self.device.owner.clone())
    }

    /// Makes the elements of a view current on one side, and notes that they are going to be written if they are.
    ///
    /// On the device they are so for work that the default stream waits for, and that waits for it.
    ///
    /// # Errors
    /// If the device reports an error. The state is then as before.
    pub fn access(&self, side: Side, view: &View, access: Access) -> Result<(), StorageError> {
        self.access_in(&mut self.sync.ledger(), side, view, access)
    }

    /// As [`Self::access`] on the device, for work in one stream that is put there next. When it has been, [`Self::note`] is due.
    ///
    /// # Errors
    /// As [`Self::access`].
    pub fn access_by(
        &self,
        stream: Stream,
        view: &View,
        access: Access,
    ) -> Result<(), StorageError> {
        let mut ledger = self.sync.ledger();
        self.make_current(&mut ledger, Side::Device, view, access)?;
        Ok(ledger.traffic.hold(stream, access != Access::Read)?)
    }

    /// The place where a stream is now.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn fence(&self, stream: Stream) -> Result<Arc<Fence>, DeviceError> {
        Ok(Arc::new(self.copies.fence(stream)?))
    }

    /// Notes work with the device's copy, which ends at a fence.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn note(&self, fence: &Arc<Fence>, writes: bool) -> Result<(), DeviceError> {
        self.sync.ledger().traffic.note(fence, writes)
    }

    fn access_in(
        &self,
        ledger: &mut Ledger,
        side: Side,
        view: &View,
        access: Access,
    ) -> Result<(), StorageError> {
        self.make_current(ledger, side, view, access)?;
        if side == Side::Device {
            let traffic = &mut ledger.traffic;
            traffic.hold(Stream::DEFAULT, access != Access::Read)?;
            traffic.note_others();
        }
        Ok(())
    }

    fn make_current(
        &self,
        ledger: &mut Ledger,
        side: Side,
        view: &View,
        access: Access,
    ) -> Result<(), StorageError> {
        if view.is_empty() {
            return Ok(());
        }
        let range = self.range(view);
        self.note_leases(ledger, side.other());
        if access != Access::Read && side == Side::Host {
            ledger.traffic.land()?;
        }
        if ledger
            .ahead
            .as_ref()
            .is_some_and(|(ahead, _)| *ahead != side)
        {
            match access {
                Access::Write if self.is_all(view) => ledger.ahead = None,
                Access::Read => self.fetch(ledger, side, &range)?,
                Access::Write | Access::ReadWrite => {
                    self.fetch(ledger, side, &(0..self.bytes))?;
                }
            }
        }
        if access != Access::Read {
            ledger.write(side, range);
        }
        Ok(())
    }

    /// Whether every byte of every element is one of the view, whose elements may be parts of them.
    fn is_all(&self, view: &View) -> bool {
        let bytes = |view: &View| view.len() * view.itemsize();
        let mut axes = view.shape().iter().zip(view.strides());
        // Repeated elements are fewer than they seem.
        let is_repeated = axes.any(|(&size, &stride)| size > 1 && stride == 0);
        bytes(view) == bytes(&self.elements) && !is_repeated
    }

    /// The side that is ahead in any of the elements of a view.
    pub fn ahead_in(&self, view: &View) -> Option<Side> {
        let ledger = self.sync.ledger();
        let (side, regions) = ledger.ahead.as_ref()?;
        let range = self.range(view);
        let is_ahead = regions
            .within(self.bytes)
            .any(|region| meet(&region, &range));
        is_ahead.then_some(*side)
    }

    /// Whether [`Self::access`] would find the elements of a view current on one side, so that it moves nothing.
    pub fn is_current(&self, side: Side, view: &View) -> bool {
        if self.ahead_in(view) == Some(side.other()) {
            return false;
        }
        let ledger = self.sync.ledger();
        let range = self.range(view);
        let may_be_written = |leased: &Range<usize>| meet(leased, &range);
        matches!(ledger.ahead, Some((ahead, _)) if ahead == side)
            || !ledger.leased(side).is_empty()
            || !ledger.leased(side.other()).iter().any(may_be_written)
    }

    /// What is to be done after a write on one side: arrays that are out on the other are brought up to date.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn settle(&self, side: Side) -> Result<(), StorageError> {
        let mut ledger = self.sync.ledger();
        if !ledger.is_out(side.other())
            || ledger
                .ahead
                .as_ref()
                .is_none_or(|(ahead, _)| *ahead != side)
        {
            return Ok(());
        }
        self.fetch(&mut ledger, side.other(), &(0..self.bytes))
    }

    /// Copies to one side what the other is ahead in, or may have been written to; with `force` everything, whoever is ahead.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn bring_to(&self, side: Side, force: bool) -> Result<(), StorageError> {
        let mut ledger = self.sync.ledger();
        if force {
            ledger.check_writeable(side)?;
            match self.gaps[side as usize] {
                true => self.transfer_elements(&mut ledger, side)?,
                false => self.transfer(&mut ledger, side, &(0..self.bytes))?,
            }
            ledger.ahead = None;
            return Ok(());
        }
        self.note_leases(&mut ledger, side.other());
        match ledger.ahead {
            Some((ahead, _)) if ahead != side => self.fetch(&mut ledger, side, &(0..self.bytes)),
            _ => Ok(()),
        }
    }

    /// Makes both sides equal, whoever is ahead.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn synchronize(&self) -> Result<(), StorageError> {
        match self.sync.ahead() {
            Some(ahead) => self.bring_to(ahead.other(), false),
            // Nobody is, unless an array is out on one side.
            None => {
                self.bring_to(Side::Device, false)?;
                self.bring_to(Side::Host, false)
            }
        }
    }

    /// Notes that an array is out through which a view may be written to on one side at any time.
    ///
    /// # Errors
    /// As [`Self::access`], which it is as well.
    pub fn lease(self: &Arc<Self>, side: Side, view: &View) -> Result<Lease, StorageError> {
        // In one go, so that nobody writes to the other side before it is known that an array is out.
        let mut ledger = self.sync.ledger();
        self.access_in(&mut ledger, side, view, Access::ReadWrite)?;
        let range = self.range(view);
        if !range.is_empty() {
            ledger.leased[side as usize].push(range.clone());
        }
        Ok(Lease {
            pair: Arc::clone(self),
            side,
            range: Some(range),
        })
    }

    /// Notes that an array is out through which a view may be read on one side at any time, but not written to.
    ///
    /// # Errors
    /// As [`Self::access`], which it is as well.
    pub fn show(self: &Arc<Self>, side: Side, view: &View) -> Result<Lease, StorageError> {
        let mut ledger = self.sync.ledger();
        self.access_in(&mut ledger, side, view, Access::Read)?;
        ledger.shown[side as usize] += 1;
        Ok(Lease {
            pair: Arc::clone(self),
            side,
            range: None,
        })
    }

    /// Says that the copy on a side is memory that must not be written to. It stays as it is, also where the other is ahead.
    pub fn protect(&self, side: Side) {
        self.sync.ledger().protected[side as usize] = true;
    }

    /// Whether an array is out on a side.
    pub fn is_out(&self, side: Side) -> bool {
        self.sync.ledger().is_out(side)
    }

    /// Whether only others know which copy is ahead: arrays that may be written to are out on both sides, and nobody has said
    /// which was.
    pub fn is_unknown(&self) -> bool {
        let ledger = self.sync.ledger();
        let is_out = |side| !ledger.leased(side).is_empty();
        ledger.ahead.is_none() && is_out(Side::Host) && is_out(Side::Device)
    }

    /// Whoever holds an array may have written to it. With arrays out on both sides, only their holders can tell.
    fn note_leases(&self, ledger: &mut Ledger, side: Side) {
        let behind = ledger
            .ahead
            .as_ref()
            .is_some_and(|(ahead, _)| *ahead != side);
        if behind || !ledger.leased(side.other()).is_empty() {
            return;
        }
        for range in ledger.leased(side).to_vec() {
            ledger.write(side, range);
        }
    }

    /// Copies to `side` those bytes of `wanted` in which the other is ahead, and what it would not pay to leave behind.
    fn fetch(
        &self,
        ledger: &mut Ledger,
        side: Side,
        wanted: &Range<usize>,
    ) -> Result<(), StorageError> {
        let Some((_, regions)) = &ledger.ahead else {
            return Ok(());
        };
        let ahead: Vec<_> = regions.within(self.bytes).collect();
        if !ahead.iter().any(|range| meet(range, wanted)) && *wanted != (0..self.bytes) {
            return Ok(());
        }
        ledger.check_writeable(side)?;
        if self.gaps[side as usize] {
            self.transfer_elements(ledger, side)?;
            ledger.ahead = None;
            return Ok(());
        }
        let rounded = wanted.start / GRANULE * GRANULE..wanted.end.next_multiple_of(GRANULE);
        let part =
            |range: &Range<usize>| range.start.max(rounded.start)..range.end.min(rounded.end);
        let left: usize = ahead
            .iter()
            .map(|range| range.len() - part(range).len())
            .sum();
        if left < GRANULE {
            for range in &ahead {
                self.transfer(ledger, side, range)?;
            }
            ledger.ahead = None;
            return Ok(());
        }
        for range in ahead.iter().map(part).filter(|range| !range.is_empty()) {
            self.transfer(ledger, side, &range)?;
            ledger.settle(&range);
        }
        Ok(())
    }

    /// Copies all elements to `side`, and nothing in between.
    fn transfer_elements(&self, ledger: &mut Ledger, side: Side) -> Result<(), StorageError> {
        let device = self.on_device(&self.elements);
        self.between(ledger, side, |way, stream| {
            let place = (self.accelerator.as_ref(), stream);
            // SAFETY: both are all elements of the two copies, which this pair's users keep alive.
            unsafe {
                match way {
                    Way::Down => transfer::download_by(place, &device, &self.elements),
                    Way::Up => transfer::upload_by(place, &self.elements, &device),
                }
            }
        })
    }

    /// Copies bytes to `side`.
    fn transfer(
        &self,
        ledger: &mut Ledger,
        side: Side,
        range: &Range<usize>,
    ) -> Result<(), StorageError> {
        if range.is_empty() {
            return Ok(());
        }
        self.between(ledger, side, |way, stream| {
            let (host, device) = (
                self.host.start.wrapping_add(range.start),
                self.device.start.wrapping_add(range.start),
            );
            let place = (self.accelerator.as_ref(), stream);
            // SAFETY: the range lies in both blocks, which the pair's users keep alive.
            unsafe { transfer::bytes(place, way, host, device, range.len()) }
        })
    }

    /// Copies to `side` behind what a copy has to wait for. To the host it is waited for.
    fn between(
        &self,
        ledger: &mut Ledger,
        side: Side,
        copy: impl FnOnce(Way, Stream) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let copies = &self.copies;
        let [of_host, of_device] = self.foreign;
        let is_out = of_device || ledger.is_out(Side::Device);
        let is_written = of_device || !ledger.leased(Side::Device).is_empty();
        match side {
            Side::Host => {
                ledger.traffic.hold_download(copies, is_written)?;
                copy(Way::Down, copies.down())?;
                ledger.traffic.finish_download(copies)?;
            }
            Side::Device => {
                ledger.traffic.hold_upload(copies, is_out)?;
                copy(Way::Up, copies.up())?;
                ledger.traffic.note_upload(copies, is_out)?;
                // Whoever holds an array may write to it any time.
                if of_host || !ledger.leased(Side::Host).is_empty() {
                    ledger.traffic.land()?;
                }
            }
        }
        Ok(())
    }

    /// The bytes from the first of a view's elements to the last, in either block.
    fn range(&self, view: &View) -> Range<usize> {
        let bounds = view.bounds();
        let start = bounds.start.wrapping_sub(self.host.start.addr());
        if bounds.is_empty() {
            return 0..0;
        }
        start..start + bounds.len()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // Memory that an upload reads must not go. If waiting fails, the device is lost, and the upload with it.
        let _ = self.sync.ledger().traffic.land();
    }
}

/// Lines of a device's memory are this long.
const LINE: usize = 256;

/// New memory of the same geometry on a device, with its addresses as far beyond a multiple of `alignment` as the host's.
fn mirror(
    host: &View,
    accelerator: &dyn Accelerator,
    contents: Contents,
    alignment: usize,
) -> Result<View, StorageError> {
    let alignment = if LINE.is_multiple_of(alignment) {
        LINE
    } else {
        alignment
    };
    let bounds = host.bounds();
    let room = if bounds.is_empty() {
        0
    } else {
        bounds.len() + alignment
    };
    let buffer = Arc::new(Buffer::new(accelerator.allocate(room, LINE, contents)?));
    let block = buffer.pointer();
    let skip = (bounds.start % alignment + alignment - block.addr() % alignment) % alignment;
    let lead = host.pointer().addr() - bounds.start;
    Ok(host.at_address(block.wrapping_add(skip + lead), Some(buffer)))
}

/// Whether two ranges have bytes in common.
fn meet(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Whether the elements fill the memory from the first to the last.
fn is_dense(view: &View) -> bool {
    view.bounds().len() == view.len() * view.itemsize()
}

/// An array is out while this lives, through which one side may be read, and written to, at any time.
#[derive(Debug)]
pub struct Lease {
    pair: Arc<Pair>,
    side: Side,
    /// Where the side may be written to; nowhere, if the array is only read.
    range: Option<Range<usize>>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut ledger = self.pair.sync.ledger();
        let Some(written) = self.range.take() else {
            ledger.shown[self.side as usize] -= 1;
            return;
        };
        let leased = &mut ledger.leased[self.side as usize];
        if let Some(place) = leased.iter().position(|range| *range == written) {
            leased.swap_remove(place);
        }
        // What was written through it last is ahead, unless the other side has been written to since.
        if ledger
            .ahead
            .as_ref()
            .is_none_or(|(ahead, _)| *ahead == self.side)
        {
            ledger.write(self.side, written);
        }
        drop(ledger);
        // Arrays that are still out on the other side see it. An error of the device is one of its next access as well.
        let _ = self.pair.settle(self.side);
    }
}
