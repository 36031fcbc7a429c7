//! From a description to memory.

use crate::{Dim, Layout, PerAxis, Preset, StorageError, View, fill};
use fieldstone_device::{Apart, Contents, Device, DeviceError, DeviceId, HostMemory, Memory, Pool};
use std::sync::Arc;

/// What to allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Size of each axis.
    pub shape: PerAxis<usize>,
    /// Bytes of one element.
    pub itemsize: usize,
    /// Order of the axes in memory.
    pub layout: Layout,
    /// The address of the aligned index is a multiple of this many bytes, in every line along the axis with the smallest
    /// stride of those with more than one point. Any positive number; elements also lie at multiples of their own size, so that the
    /// least common multiple of both counts. Lines are padded where it asks for that; with 1 there is no padding.
    /// Where there is, lines are also kept from lying multiples of 2048 bytes apart, and planes of them multiples of 512.
    pub alignment: usize,
    /// The index that is aligned, one entry for each axis.
    pub aligned_index: PerAxis<usize>,
}

impl Spec {
    /// A C-ordered block without padding or alignment beyond the elements' own.
    pub fn packed(shape: impl Into<PerAxis<usize>>, itemsize: usize) -> Self {
        let shape = shape.into();
        let ndim = shape.len();
        Self {
            shape,
            itemsize,
            layout: Layout::c(ndim),
            alignment: 1,
            aligned_index: PerAxis::from_elem(0, ndim),
        }
    }

    /// What a preset has for a field whose axes mean `dims`; its first element is the aligned one.
    ///
    /// # Errors
    /// If a dim is there twice, or the shape has not one size for each.
    pub fn of_preset(
        preset: &Preset,
        dims: &[Dim],
        shape: impl Into<PerAxis<usize>>,
        itemsize: usize,
    ) -> Result<Self, StorageError> {
        let shape = shape.into();
        let spec = Self {
            itemsize,
            layout: preset.layout(dims)?,
            alignment: preset.alignment,
            aligned_index: PerAxis::from_elem(0, shape.len()),
            shape,
        };
        spec.check()?;
        Ok(spec)
    }

    /// The strides in bytes, with padding.
    ///
    /// # Errors
    /// If an entry is invalid or the whole is too large to be addressed.
    pub fn strides(&self) -> Result<PerAxis<isize>, StorageError> {
        Ok(self.plan()?.strides)
    }

    fn plan(&self) -> Result<Plan, StorageError> {
        self.check()?;
        let too_large = || StorageError::TooLarge {
            shape: self.shape.to_vec(),
            itemsize: self.itemsize,
        };
        let alignment = least_common_multiple(self.alignment, self.itemsize)
            .filter(|&alignment| alignment <= MOST_ALIGNMENT)
            .ok_or(StorageError::Alignment {
                alignment: self.alignment,
            })?;
        let padded = self.alignment > 1 && alignment > self.itemsize;
        let alignment = if self.alignment == 1 { 1 } else { alignment };
        let mut strides = PerAxis::from_elem(0, self.shape.len());
        let (mut bytes, mut padding) = (self.itemsize, 0);
        let behind_lines = self.line() + 1;
        for (place, &axis) in self.layout.order().iter().rev().enumerate() {
            let line = bytes;
            if place == behind_lines && padded {
                bytes = bytes
                    .checked_next_multiple_of(alignment)
                    .ok_or_else(too_large)?;
            }
            let alias = match place {
                place if place == behind_lines => ALIAS_OF_LINES,
                _ => ALIAS_OF_PLANES,
            };
            if place >= behind_lines && padded && alignment < alias && bytes.is_multiple_of(alias) {
                bytes = bytes.checked_add(alignment).ok_or_else(too_large)?;
            }
            if place == 1 && behind_lines == 1 {
                padding = bytes - line;
            }
            strides[axis] = isize::try_from(bytes).map_err(|_| too_large())?;
            // An empty axis must not make the strides of the others zero.
            bytes = bytes
                .checked_mul(self.shape[axis].max(1))
                .ok_or_else(too_large)?;
        }
        isize::try_from(bytes).map_err(|_| too_large())?;
        let empty = self.shape.contains(&0);
        Ok(Plan {
            strides,
            bytes: if empty { 0 } else { bytes },
            padding: if empty { 0 } else { padding },
            alignment,
        })
    }

    /// The place of the axis that lines run along, counted from the smallest stride: lines of one element each would be mostly padding.
    fn line(&self) -> usize {
        let order = self.layout.order();
        let mut from_smallest = order.iter().rev();
        from_smallest
            .position(|&axis| self.shape[axis] != 1)
            .unwrap_or(0)
    }

    fn check(&self) -> Result<(), StorageError> {
        if self.itemsize == 0 {
            return Err(StorageError::Itemsize);
        }
        if self.alignment == 0 {
            return Err(StorageError::Alignment { alignment: 0 });
        }
        if self.layout.ndim() != self.shape.len() {
            return Err(StorageError::Layout {
                layout: self.layout.ranks().to_vec(),
                ndim: self.shape.len(),
            });
        }
        let inside = self.aligned_index.len() == self.shape.len()
            && self
                .aligned_index
                .iter()
                .zip(&self.shape)
                .all(|(index, size)| index <= size);
        if !inside {
            return Err(StorageError::AlignedIndex {
                index: self.aligned_index.to_vec(),
                shape: self.shape.to_vec(),
            });
        }
        Ok(())
    }
}

/// Alignments beyond this only waste memory: it is the size of the largest pages.
const MOST_ALIGNMENT: usize = 1 << 30;

/// Lines a multiple of this apart compete for the same places in a first-level cache. Where there may be padding, a little
/// avoids that: columns are then walked, and layouts changed, up to twice as fast.
const ALIAS_OF_LINES: usize = 2048;

/// The same for planes of lines. Columns of eight cache lines follow each other without a gap, though the same line of each is then
/// in an eighth of a cache's places; those of neighbouring planes, which stencils read together, are in another eighth.
const ALIAS_OF_PLANES: usize = 512;

/// Fields begin on a cache line even if they need not.
const LEAST_ALIGNMENT: usize = 64;

struct Plan {
    strides: PerAxis<isize>,
    bytes: usize,
    /// Bytes behind each line along the axis with the smallest stride that no element has; they are part of `bytes` behind the last one, too.
    padding: usize,
    alignment: usize,
}

impl Plan {
    fn apart(&self, layout: &Layout) -> Apart {
        let order = layout.order();
        let stride = |from_smallest: usize| {
            let axis = order.iter().rev().nth(from_smallest);
            axis.map_or(0, |&axis| self.strides[axis].unsigned_abs())
        };
        Apart {
            rows: stride(1),
            planes: stride(2),
        }
    }
}

/// Sets what lies behind the lines of a block that nobody else knows to zero. A vector that ends behind a line computes with what
/// memory had there before, and where that is taken for a denormal number, some processors take a hundred cycles for it.
fn clear_padding(spec: &Spec, view: &View) -> Result<(), StorageError> {
    let Some(&line) = spec.layout.order().last() else {
        return Ok(());
    };
    if view.padding() == 0 {
        return Ok(());
    }
    let mut shape = spec.shape.clone();
    let behind = shape[line] * spec.itemsize;
    shape[line] = view.padding() / spec.itemsize;
    let strides = PerAxis::from_slice(view.strides());
    let pointer = view.pointer().wrapping_add(behind);
    // SAFETY: the padding of all lines is part of the block, to which only the caller has access so far.
    unsafe {
        let padding = View::new(pointer, shape, strides, spec.itemsize, None)?;
        fill(&padding, &vec![0; spec.itemsize], Pool::global().threads())
    }
}

fn least_common_multiple(a: usize, b: usize) -> Option<usize> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

/// Memory that views share. It is freed when the last of them is gone.
#[derive(Debug)]
pub struct Buffer {
    block: Block,
}

/// Where the memory of a buffer is.
#[derive(Debug)]
enum Block {
    Host(HostMemory),
    Other(Box<dyn Memory>),
}

impl Block {
    fn memory(&self) -> &dyn Memory {
        match self {
            Self::Host(memory) => memory,
            Self::Other(memory) => &**memory,
        }
    }
}

impl Buffer {
    /// A buffer over memory of any device or owner.
    pub fn new(memory: Box<dyn Memory>) -> Self {
        Self {
            block: Block::Other(memory),
        }
    }

    /// Address of the first byte, padding included.
    pub fn pointer(&self) -> *mut u8 {
        self.block.memory().pointer()
    }

    /// Length in bytes, padding included.
    pub fn bytes(&self) -> usize {
        self.block.memory().bytes()
    }

    /// The device that it was allocated by.
    pub fn device(&self) -> DeviceId {
        self.block.memory().device()
    }
}

/// Makes memory from a [`Spec`].
#[derive(Debug)]
pub struct Allocation;

impl Allocation {
    /// Allocates on the host without initialising.
    ///
    /// # Errors
    /// If the spec is invalid or there is not enough memory.
    #[expect(
        clippy::new_ret_no_self,
        reason = "an allocation is an act; what it makes is a buffer"
    )]
    pub fn new(spec: &Spec) -> Result<(Arc<Buffer>, View), StorageError> {
        Self::on_host(spec, Contents::Uninitialised)
    }

    /// Allocates zeros on the host; large ones cost nothing until they are touched.
    ///
    /// # Errors
    /// If the spec is invalid or there is not enough memory.
    pub fn zeroed(spec: &Spec) -> Result<(Arc<Buffer>, View), StorageError> {
        Self::on_host(spec, Contents::Zeroed)
    }

    fn on_host(spec: &Spec, contents: Contents) -> Result<(Arc<Buffer>, View), StorageError> {
        let (buffer, view) = Self::within(spec, |plan, bytes, alignment| {
            HostMemory::of_rows(bytes, alignment, contents, plan.apart(&spec.layout))
                .map(Block::Host)
        })?;
        if let Block::Host(memory) = &buffer.block
            && memory.may_be_used()
        {
            clear_padding(spec, &view)?;
        }
        Ok((buffer, view))
    }

    /// Allocates on any device.
    ///
    /// # Errors
    /// If the spec is invalid or there is not enough memory.
    pub fn on(
        device: &dyn Device,
        spec: &Spec,
        contents: Contents,
    ) -> Result<(Arc<Buffer>, View), StorageError> {
        Self::by(spec, |bytes, alignment| {
            device.allocate(bytes, alignment, contents)
        })
    }

    /// Allocates with whatever makes a block of so many bytes, aligned to a power of two.
    ///
    /// # Errors
    /// If the spec is invalid or there is not enough memory.
    pub fn by(
        spec: &Spec,
        allocate: impl FnOnce(usize, usize) -> Result<Box<dyn Memory>, DeviceError>,
    ) -> Result<(Arc<Buffer>, View), StorageError> {
        Self::within(spec, |_, bytes, alignment| {
            allocate(bytes, alignment).map(Block::Other)
        })
    }

    fn within(
        spec: &Spec,
        allocate: impl FnOnce(&Plan, usize, usize) -> Result<Block, DeviceError>,
    ) -> Result<(Arc<Buffer>, View), StorageError> {
        let plan = spec.plan()?;
        // The block begins at a power of two; what the alignment has beyond that is made up by starting later in it.
        let block_alignment = (1 << plan.alignment.trailing_zeros()).max(LEAST_ALIGNMENT);
        let too_large = || StorageError::TooLarge {
            shape: spec.shape.to_vec(),
            itemsize: spec.itemsize,
        };
        let room = if plan.bytes == 0 {
            0
        } else {
            plan.alignment - 1
        };
        let bytes = plan.bytes.checked_add(room).ok_or_else(too_large)?;
        let block = allocate(&plan, bytes, block_alignment)?;
        let start = if plan.bytes == 0 {
            0
        } else {
            let index = spec.aligned_index.iter().zip(&plan.strides);
            let offset = index.fold(
                block.memory().pointer().addr(),
                |address, (&index, &stride)| {
                    address.wrapping_add(index.wrapping_mul(stride.unsigned_abs()))
                },
            );
            offset.next_multiple_of(plan.alignment) - offset
        };
        let buffer = Arc::new(Buffer { block });
        let pointer = buffer.pointer().wrapping_add(start);
        // SAFETY: `start` is less than the room added to what the strides reach, all within the buffer that the view owns.
        let view = unsafe {
            View::new(
                pointer,
                spec.shape.clone(),
                plan.strides,
                spec.itemsize,
                Some(Arc::clone(&buffer)),
            )?
        };
        Ok((buffer, view.with_padding(plan.padding)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strides_have_padding_where_alignment_asks_for_it() {
        for (shape, itemsize, ranks, alignment, strides) in [
            (vec![4, 5, 6], 8, vec![0, 1, 2], 1, vec![240, 48, 8]),
            (vec![4, 5, 6], 8, vec![0, 1, 2], 8, vec![240, 48, 8]),
            (vec![4, 5, 6], 8, vec![0, 1, 2], 64, vec![320, 64, 8]),
            (vec![4, 5, 6], 8, vec![2, 1, 0], 64, vec![8, 64, 320]),
            (vec![4, 5, 6], 4, vec![1, 2, 0], 32, vec![32, 4, 128]),
            (vec![4, 5, 6], 8, vec![0, 1, 2], 12, vec![240, 48, 8]),
            (vec![4, 5, 7], 8, vec![0, 1, 2], 12, vec![360, 72, 8]),
            (vec![9], 8, vec![0], 64, vec![8]),
            (
                vec![2, 3, 256],
                8,
                vec![0, 1, 2],
                64,
                vec![3 * 2112, 2112, 8],
            ),
            (vec![2, 3, 60], 8, vec![0, 1, 2], 64, vec![1600, 512, 8]),
            (vec![2, 3, 64], 8, vec![0, 1, 2], 64, vec![1600, 512, 8]),
            (vec![2, 8, 60], 4, vec![0, 1, 2], 64, vec![2112, 256, 4]),
            (vec![2, 3, 60], 4, vec![0, 1, 2], 64, vec![768, 256, 4]),
            (vec![2, 4, 60], 4, vec![0, 1, 2], 64, vec![1088, 256, 4]),
            (vec![2, 32, 8], 8, vec![0, 1, 2], 64, vec![2112, 64, 8]),
            (vec![2, 3, 256], 8, vec![0, 1, 2], 8, vec![6144, 2048, 8]),
            (vec![3, 1], 8, vec![0, 1], 64, vec![8, 8]),
            (vec![4, 5, 1], 8, vec![0, 1, 2], 64, vec![64, 8, 8]),
            (vec![4, 1, 5], 8, vec![0, 1, 2], 64, vec![64, 64, 8]),
            (vec![4, 1, 1], 8, vec![0, 1, 2], 64, vec![8, 8, 8]),
            (vec![1, 1], 8, vec![0, 1], 64, vec![64, 8]),
            (vec![2, 256, 1], 8, vec![0, 1, 2], 64, vec![2112, 8, 8]),
            (
                vec![2, 3, 64, 1],
                8,
                vec![0, 1, 2, 3],
                64,
                vec![1600, 512, 8, 8],
            ),
            (vec![3, 0, 2], 8, vec![0, 1, 2], 1, vec![16, 16, 8]),
            (vec![], 8, vec![], 64, vec![]),
        ] {
            let spec = Spec {
                aligned_index: PerAxis::from_elem(0, shape.len()),
                shape: shape.into(),
                itemsize,
                layout: Layout::new(ranks).unwrap(),
                alignment,
            };
            assert_eq!(spec.strides().unwrap().to_vec(), strides, "{spec:?}");
        }
    }

    #[test]
    fn nothing_that_memory_had_before_is_behind_lines() {
        for planes in [40, 400] {
            let spec = Spec {
                alignment: 64,
                ..Spec::packed(vec![planes, 50, 45], 8)
            };
            for _ in 0..3 {
                let (buffer, view) = Allocation::new(&spec).unwrap();
                for plane in 0..planes {
                    for line in 0..50 {
                        let offset = plane * view.strides()[0] as usize;
                        let offset = offset + line * view.strides()[1] as usize + 45 * 8;
                        // SAFETY: the padding is within the buffer, to which nobody else has access.
                        let padding = unsafe {
                            std::slice::from_raw_parts(view.pointer().add(offset), view.padding())
                        };
                        assert_eq!(padding, [0; 24], "{plane} {line}");
                    }
                }
                // SAFETY: as above.
                unsafe { buffer.pointer().write_bytes(1, buffer.bytes()) };
            }
        }
    }

    #[test]
    fn bad_specs_are_errors() {
        let good = Spec::packed(vec![2, 3], 8);
        let message = |change: fn(&mut Spec)| {
            let mut spec = good.clone();
            change(&mut spec);
            Allocation::new(&spec).unwrap_err().to_string()
        };
        for (change, expected) in [
            (
                (|s| s.itemsize = 0) as fn(&mut Spec),
                "itemsize is 0, but an element must have at least one byte",
            ),
            (
                |s| s.alignment = 0,
                "alignment_size is 0, but it must be a positive number of bytes that is not absurdly large",
            ),
            (
                |s| s.alignment = 1 << 40,
                "alignment_size is 1099511627776, but it must be a positive number of bytes that is not absurdly large",
            ),
            (
                |s| s.layout = Layout::c(3),
                "layout is [0, 1, 2], but it must be a permutation of 0 to ndim - 1, here of [0, 1]",
            ),
            (
                |s| s.aligned_index = vec![0, 4].into(),
                "aligned_index is [0, 4], but it must have one index for each axis of shape [2, 3], within it",
            ),
            (
                |s| s.aligned_index = vec![0].into(),
                "aligned_index is [0], but it must have one index for each axis of shape [2, 3], within it",
            ),
            (
                |s| s.shape = vec![1 << 40, 1 << 40].into(),
                "shape is [1099511627776, 1099511627776] with elements of 8 bytes, which is more than can be addressed",
            ),
        ] {
            assert_eq!(message(change), expected);
        }
        assert!(
            message(|s| s.shape = vec![1 << 29, 1 << 29].into())
                .starts_with("cannot allocate 2305843009213693952 bytes")
        );
    }

    fn specs() -> impl Strategy<Value = Spec> {
        (0usize..5).prop_flat_map(|ndim| {
            (
                prop::collection::vec(0usize..7, ndim),
                prop::sample::select(vec![1usize, 2, 3, 4, 8, 16, 24]),
                Just((0..ndim).collect::<Vec<_>>()).prop_shuffle(),
                prop::sample::select(vec![1usize, 2, 3, 8, 12, 32, 64, 100, 128, 4096]),
                prop::collection::vec(any::<prop::sample::Index>(), ndim),
            )
                .prop_map(|(shape, itemsize, ranks, alignment, index)| Spec {
                    aligned_index: shape
                        .iter()
                        .zip(index)
                        .map(|(&n, i)| i.index(n + 1))
                        .collect(),
                    shape: shape.into(),
                    itemsize,
                    layout: Layout::new(ranks).unwrap(),
                    alignment,
                })
        })
    }

    proptest! {
        #[test]
        fn the_aligned_index_is_aligned_in_every_line(spec in specs()) {
            let (buffer, view) = Allocation::zeroed(&spec).unwrap();
            let bounds = view.bounds();
            let start = buffer.pointer().addr();
            prop_assert!(bounds.is_empty() || (start <= bounds.start && bounds.end <= start + buffer.bytes()));
            prop_assert!(!view.shares_elements());
            if view.is_empty() {
                return Ok(());
            }
            let unit = spec.layout.unit_axis();
            prop_assert!(bounds.end + view.padding() <= start + buffer.bytes());
            prop_assert!(view.padding().is_multiple_of(spec.itemsize));
            if let (Some(unit), 1..) = (unit, view.padding()) {
                let mut shape = spec.shape.clone();
                shape[unit] += view.padding() / spec.itemsize;
                // SAFETY: nobody looks at the elements.
                let wider = unsafe { View::new(view.pointer(), shape, view.strides(), spec.itemsize, None) };
                prop_assert!(!wider.unwrap().shares_elements());
            }
            let order = spec.layout.order();
            let along = &order[order.len().saturating_sub(1 + spec.line())..];
            let mut lines = vec![view.pointer().addr()];
            for axis in 0..spec.shape.len() {
                let stride = view.strides()[axis].unsigned_abs();
                lines = if along.contains(&axis) {
                    prop_assert_eq!(stride, spec.itemsize);
                    lines.iter().map(|line| line + spec.aligned_index[axis] * stride).collect()
                } else {
                    lines.iter().flat_map(|line| (0..spec.shape[axis]).map(move |i| line + i * stride)).collect()
                };
            }
            for line in lines {
                prop_assert_eq!(line % spec.alignment, 0);
            }
        }
    }
}
