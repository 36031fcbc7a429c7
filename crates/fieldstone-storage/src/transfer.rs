//! Elements between host memory and a device's, whatever their strides.
//!
//! Elements that fill the memory from the first to the last are one transfer. Others are rows of bytes at regular distances,
//! as many as one transfer can take; where even so there would be many transfers of little, everything from the first element
//! to the last comes to the host, is changed there and goes back.

use fieldstone_device::{Accelerator, Pool, Rows, Stream};

use crate::loops::{Loop, Nest, turns};
use crate::{Allocation, Layout, PerAxis, Spec, StorageError, View, copy};

/// The device, and the stream of it by which bytes go.
pub(crate) type Place<'a> = (&'a dyn Accelerator, Stream);

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host to the device.
    Up,
    /// From the device to the host.
    Down,
}

/// Copies bytes; they may still be under way when this returns.
///
/// # Safety
/// Both must be memory of this length, on the host and on the device, that nobody else accesses until the stream is synchronised.
pub(crate) unsafe fn bytes(
    (accelerator, stream): Place<'_>,
    way: Way,
    host: *mut u8,
    device: *mut u8,
    bytes: usize,
) -> Result<(), StorageError> {
    // SAFETY: as the caller says.
    unsafe {
        match way {
            Way::Up => accelerator.upload(host, device, bytes, stream)?,
            Way::Down => accelerator.download(device, host, bytes, stream)?,
        }
    }
    Ok(())
}

/// A copy in host memory of the elements of a view of device memory, in the same order.
///
/// # Errors
/// If there is not enough memory, or the device reports an error.
///
/// # Safety
/// The view must be memory of the device that nobody writes to meanwhile.
pub unsafe fn fetched(accelerator: &dyn Accelerator, device: &View) -> Result<View, StorageError> {
    // SAFETY: as the caller says.
    unsafe { fetched_by((accelerator, Stream::DEFAULT), device) }
}

/// As [`fetched`], by another stream.
///
/// # Safety
/// As [`fetched`].
unsafe fn fetched_by(place: Place<'_>, device: &View) -> Result<View, StorageError> {
    let between = packed(device)?;
    if device.is_empty() {
        return Ok(between);
    }
    let plan = Plan::new(&between, device);
    if plan.is_scattered(device) {
        // SAFETY: as the caller says; nobody else knows the block.
        unsafe {
            let block = block(place, device)?;
            copy(&block, &between, threads())?;
        }
        return Ok(between);
    }
    // SAFETY: as above.
    unsafe { plan.run(place, Way::Down, &between, device)? };
    Ok(between)
}

/// Copies all elements of `device` to `host`, which has the same shape, and nothing in between.
///
/// # Errors
/// If shapes or element sizes differ, there is not enough memory, or the device reports an error.
///
/// # Safety
/// Both must be memory of the device and of the host, and nobody else may access them meanwhile.
pub unsafe fn download(
    accelerator: &dyn Accelerator,
    device: &View,
    host: &View,
) -> Result<(), StorageError> {
    // SAFETY: as the caller says.
    unsafe { download_by((accelerator, Stream::DEFAULT), device, host) }
}

/// As [`download`], by another stream.
///
/// # Safety
/// As [`download`].
pub(crate) unsafe fn download_by(
    place: Place<'_>,
    device: &View,
    host: &View,
) -> Result<(), StorageError> {
    check(device, host)?;
    if host.is_empty() {
        return Ok(());
    }
    let plan = Plan::new(host, device);
    // SAFETY: as the caller says.
    unsafe {
        if plan.is_direct(device) {
            return plan.run(place, Way::Down, host, device);
        }
        copy(&fetched_by(place, device)?, host, threads())
    }
}

/// Copies all elements of `host` to `device`, which has the same shape, and nothing in between.
///
/// # Errors
/// As [`download`].
///
/// # Safety
/// As [`download`].
pub unsafe fn upload(
    accelerator: &dyn Accelerator,
    host: &View,
    device: &View,
) -> Result<(), StorageError> {
    // SAFETY: as the caller says.
    unsafe { upload_by((accelerator, Stream::DEFAULT), host, device) }
}

/// As [`upload`], by another stream.
///
/// # Safety
/// As [`upload`].
pub(crate) unsafe fn upload_by(
    place: Place<'_>,
    host: &View,
    device: &View,
) -> Result<(), StorageError> {
    check(host, device)?;
    if device.is_empty() {
        return Ok(());
    }
    let plan = Plan::new(host, device);
    // SAFETY: as the caller says; nobody else knows what lies between.
    unsafe {
        if plan.is_direct(device) {
            return plan.run(place, Way::Up, host, device);
        }
        let between = packed(device)?;
        let plan = Plan::new(&between, device);
        if !plan.is_scattered(device) {
            copy(host, &between, threads())?;
            return plan.run(place, Way::Up, &between, device);
        }
        let block = block(place, device)?;
        copy(host, &block, threads())?;
        let (first, bounds) = (lowest(device), device.bounds());
        bytes(place, Way::Up, lowest(&block), first, bounds.len())?;
    }
    wait(place)
}

/// Copies all elements of `source` to `target`, which has the same shape, within a device; `false` if that would take too
/// many copies, and nothing was done.
///
/// # Errors
/// If shapes or element sizes differ, or the device reports an error.
///
/// # Safety
/// Both must be memory of the device, and not overlap; nobody else may access them meanwhile.
pub unsafe fn copy_there(
    accelerator: &dyn Accelerator,
    source: &View,
    target: &View,
) -> Result<bool, StorageError> {
    check(source, target)?;
    if target.is_empty() {
        return Ok(true);
    }
    let plan = Plan::new(source, target);
    let copies = turns(&plan.outer).saturating_mul(plan.row.size);
    if copies > MOST_TRANSFERS {
        return Ok(false);
    }
    for turn in 0..copies {
        let (mut rest, mut from, mut to) = (turn, plan.host, plan.device);
        for axis in std::iter::once(&plan.row).chain(plan.outer.iter().rev()) {
            let index = (rest % axis.size) as isize;
            rest /= axis.size;
            from += index * axis.source;
            to += index * axis.target;
        }
        let from = source.pointer().wrapping_offset(from);
        let to = target.pointer().wrapping_offset(to);
        // SAFETY: as the caller says; these are elements of the views.
        unsafe { accelerator.copy(from, to, plan.bytes, Stream::DEFAULT)? };
    }
    Ok(true)
}

fn check(from: &View, to: &View) -> Result<(), StorageError> {
    if from.shape() != to.shape() {
        return Err(StorageError::Shapes {
            from: from.shape().to_vec(),
            to: to.shape().to_vec(),
        });
    }
    if from.itemsize() != to.itemsize() {
        return Err(StorageError::Itemsizes {
            from: from.itemsize(),
            to: to.itemsize(),
        });
    }
    Ok(())
}

/// More transfers than this take longer than moving what lies between the elements as well.
const MOST_TRANSFERS: usize = 512;

/// Rows of so many bytes are as good as longer ones.
const LONG_ROW: usize = 512;

/// How elements are moved: transfers of rows, one for each turn of the outer loops.
struct Plan {
    outer: PerAxis<Loop>,
    /// Source is the host, target the device.
    row: Loop,
    bytes: usize,
    host: isize,
    device: isize,
}

impl Plan {
    fn new(host: &View, device: &View) -> Self {
        let mut nest = Nest::new(
            host.shape(),
            host.strides(),
            device.strides(),
            device.itemsize(),
        );
        let unit = nest.itemsize as isize;
        let mut bytes = nest.itemsize;
        if let Some(inner) = nest.loops.last()
            && (inner.source, inner.target) == (unit, unit)
        {
            bytes *= inner.size;
            nest.loops.pop();
        }
        let row = nest.loops.pop().unwrap_or(Loop {
            size: 1,
            source: bytes as isize,
            target: bytes as isize,
        });
        Self {
            outer: nest.loops,
            row,
            bytes,
            host: nest.source,
            device: nest.target,
        }
    }

    /// Whether rows follow each other upwards on both sides and do not overlap.
    fn is_regular(&self) -> bool {
        let bytes = self.bytes as isize;
        self.row.source >= bytes && self.row.target >= bytes
    }

    /// Whether the host's elements lie so that nothing is gained by bringing them into the device's order first.
    fn is_direct(&self, device: &View) -> bool {
        let best = Self::new(device, device);
        !self.is_scattered(device)
            && turns(&self.outer) <= turns(&best.outer)
            && self.bytes >= best.bytes.min(LONG_ROW)
    }

    /// Whether it is better to move what lies between the elements as well.
    fn is_scattered(&self, device: &View) -> bool {
        !self.is_regular()
            || turns(&self.outer) > MOST_TRANSFERS
                && device.bounds().len() < 8 * device.len() * device.itemsize()
    }

    /// # Safety
    /// As for [`download`] and [`upload`], of the views that this was made of.
    unsafe fn run(
        &self,
        place: Place<'_>,
        way: Way,
        host: &View,
        device: &View,
    ) -> Result<(), StorageError> {
        let (accelerator, stream) = place;
        let (source_pitch, target_pitch) = match way {
            Way::Up => (self.row.source, self.row.target),
            Way::Down => (self.row.target, self.row.source),
        };
        let rows = Rows {
            bytes: self.bytes,
            count: self.row.size,
            source_pitch: source_pitch.unsigned_abs(),
            target_pitch: target_pitch.unsigned_abs(),
        };
        for turn in 0..turns(&self.outer) {
            let (mut rest, mut on_host, mut on_device) = (turn, self.host, self.device);
            for axis in self.outer.iter().rev() {
                let index = (rest % axis.size) as isize;
                rest /= axis.size;
                on_host += index * axis.source;
                on_device += index * axis.target;
            }
            let here = host.pointer().wrapping_offset(on_host);
            let there = device.pointer().wrapping_offset(on_device);
            // SAFETY: as the caller says; the rows are elements of the views.
            unsafe {
                match way {
                    _ if rows.count == 1 => bytes(place, way, here, there, rows.bytes)?,
                    Way::Up => accelerator.upload_rows(here, there, rows, stream)?,
                    Way::Down => accelerator.download_rows(there, here, rows, stream)?,
                }
            }
        }
        wait(place)
    }
}

/// Waits until all work of the stream is done.
fn wait((accelerator, stream): Place<'_>) -> Result<(), StorageError> {
    Ok(accelerator.synchronize(stream)?)
}

/// New host memory for the elements of a view, without gaps and in the same order.
fn packed(view: &View) -> Result<View, StorageError> {
    let mut spec = Spec::packed(view.shape().to_vec(), view.itemsize());
    spec.layout = Layout::from_strides(view.shape(), view.strides())?;
    let mut packed = Allocation::new(&spec)?.1;
    for (axis, (&size, &stride)) in view.shape().iter().zip(view.strides()).enumerate() {
        if stride < 0 && size > 0 {
            packed = packed.slice(axis, size - 1, -1, size)?;
        }
    }
    Ok(packed)
}

/// A copy in host memory of everything from the first to the last element of a view of device memory, with its strides.
///
/// # Safety
/// As for [`fetched`].
unsafe fn block(place: Place<'_>, device: &View) -> Result<View, StorageError> {
    let bounds = device.bounds();
    let (_, block) = Allocation::new(&Spec::packed(Vec::from([bounds.len()]), 1))?;
    // SAFETY: the block is as long as what the view reaches, and nobody else knows it.
    unsafe {
        bytes(
            place,
            Way::Down,
            block.pointer(),
            lowest(device),
            bounds.len(),
        )?;
    }
    wait(place)?;
    let lead = device.pointer().addr() - bounds.start;
    Ok(device.at_address(block.pointer().wrapping_add(lead), block.owner().cloned()))
}

/// The lowest address of an element.
pub(crate) fn lowest(view: &View) -> *mut u8 {
    view.pointer().with_addr(view.bounds().start)
}

fn threads() -> usize {
    Pool::global().threads()
}
