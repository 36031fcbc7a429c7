//! What one sees of a buffer.

use crate::layout::is_permutation;
use crate::overlap::{self, Extent};
use crate::{Buffer, Layout, PerAxis, StorageError};
use std::ops::Range;
use std::sync::Arc;

/// Elements in memory: an address, and for each axis a size and a stride in bytes, which may be negative or zero.
///
/// A view only describes memory; slicing, transposing and broadcasting it touch none. A view with an owner keeps its memory alive.
#[derive(Debug)]
pub struct View {
    pointer: *mut u8,
    shape: PerAxis<usize>,
    strides: PerAxis<isize>,
    itemsize: usize,
    /// See [`View::padding`].
    padding: usize,
    owner: Option<Arc<Buffer>>,
}

impl Clone for View {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            pointer: self.pointer,
            shape: PerAxis::from_slice(&self.shape),
            strides: PerAxis::from_slice(&self.strides),
            itemsize: self.itemsize,
            padding: self.padding,
            owner: self.owner.clone(),
        }
    }
}

// SAFETY: a view is an address and numbers; who reads or writes through it, in unsafe code, orders the accesses.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// Describes memory.
    ///
    /// # Errors
    /// If `shape` and `strides` differ in length, `itemsize` is zero, or the elements do not fit into the address space.
    ///
    /// # Safety
    /// Every element must be memory that can be read, and written if the view is ever a target, for as long as this view or
    /// one made from it is used; with an `owner`, its memory must be that.
    pub unsafe fn new(
        pointer: *mut u8,
        shape: impl Into<PerAxis<usize>>,
        strides: impl Into<PerAxis<isize>>,
        itemsize: usize,
        owner: Option<Arc<Buffer>>,
    ) -> Result<Self, StorageError> {
        let (shape, strides) = (shape.into(), strides.into());
        if shape.len() != strides.len() {
            return Err(StorageError::Rank {
                shape: shape.len(),
                strides: strides.len(),
            });
        }
        if itemsize == 0 {
            return Err(StorageError::Itemsize);
        }
        let view = Self {
            pointer,
            shape,
            strides,
            itemsize,
            padding: 0,
            owner,
        };
        match view.checked_bounds() {
            Some(_) => Ok(view),
            None => Err(StorageError::TooLarge {
                shape: view.shape.into_vec(),
                itemsize,
            }),
        }
    }

    /// The same where so many bytes behind each line along the axis with unit stride are allocated and no element's.
    pub(crate) fn with_padding(self, padding: usize) -> Self {
        Self { padding, ..self }
    }

    /// The same geometry elsewhere, in memory that `owner` keeps alive; to be accessed as the memory there may be. Nothing is known
    /// of what lies between the lines there.
    pub fn at_address(&self, pointer: *mut u8, owner: Option<Arc<Buffer>>) -> Self {
        Self {
            pointer,
            owner,
            padding: 0,
            ..self.clone()
        }
    }

    /// Address of the element with all indices zero.
    #[inline]
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Size of each axis.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes from one index to the next, for each axis.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Bytes of an element.
    #[inline]
    pub fn itemsize(&self) -> usize {
        self.itemsize
    }

    /// Bytes behind each line along the axis whose stride is the size of an element that are memory and belong to nobody: whoever
    /// may write the last element of a line may write them, too. It is 0 where the lines of a view end before those that were
    /// allocated, and of memory that was not allocated here.
    #[inline]
    pub fn padding(&self) -> usize {
        self.padding
    }

    /// Whether lines lie along an axis, behind which there is padding.
    fn has_padding_along(&self, axis: usize) -> bool {
        self.padding > 0 && usize::try_from(self.strides[axis]) == Ok(self.itemsize)
    }

    /// The buffer this is a view of, if it keeps one alive.
    #[inline]
    pub fn owner(&self) -> Option<&Arc<Buffer>> {
        self.owner.as_ref()
    }

    /// The number of axes.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        // In this order, because the other sizes of an empty view may overflow.
        if self.is_empty() {
            0
        } else {
            self.shape.iter().product()
        }
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The order of the axes in memory.
    pub fn layout(&self) -> Layout {
        Layout::from_strides(&self.shape, &self.strides).unwrap_or_else(|_| Layout::c(self.ndim()))
    }

    /// Addresses from the lowest byte of an element to behind the highest; an empty range without elements.
    pub fn bounds(&self) -> Range<usize> {
        self.checked_bounds().unwrap_or(0..0)
    }

    fn checked_bounds(&self) -> Option<Range<usize>> {
        let start = self.pointer.addr();
        if self.is_empty() {
            return Some(start..start);
        }
        let (mut low, mut high) = (start, start.checked_add(self.itemsize)?);
        let mut elements = 1usize;
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            elements = elements.checked_mul(size)?;
            let reach = stride.unsigned_abs().checked_mul(size - 1)?;
            if stride < 0 {
                low = low.checked_sub(reach)?;
            } else {
                high = high.checked_add(reach)?;
            }
        }
        // Nothing in memory is larger, and differences of addresses must be numbers with a sign.
        isize::try_from(high - low).ok().map(|_| low..high)
    }

    /// Whether this and `other` have a byte in common; interleaved views have not.
    ///
    /// Also true in the rare case that it is too hard to tell.
    pub fn overlaps(&self, other: &View) -> bool {
        let (a, b) = (self.bounds(), other.bounds());
        a.start < b.end && b.start < a.end && overlap::overlap(&self.extent(), &other.extent())
    }

    /// Whether two elements of this view have a byte in common, as in a broadcast one.
    ///
    /// Also true for windows whose strides are so irregular that it is hard to tell.
    pub fn shares_elements(&self) -> bool {
        !self.is_nested() && overlap::overlaps_itself(&self.extent())
    }

    /// Whether each axis steps over all that those with smaller strides reach, as in views of arrays; their elements are apart.
    fn is_nested(&self) -> bool {
        let axes = self.shape.iter().zip(&self.strides);
        let mut axes: PerAxis<(usize, usize)> = axes
            .filter(|&(&size, _)| size > 1)
            .map(|(&size, &stride)| (stride.unsigned_abs(), size))
            .collect();
        axes.sort_unstable();
        let mut reach = self.itemsize;
        axes.iter().all(|&(stride, size)| {
            let apart = stride >= reach;
            reach = reach.saturating_add(stride.saturating_mul(size - 1));
            apart
        })
    }

    fn extent(&self) -> Extent<'_> {
        Extent {
            start: self.pointer.addr(),
            shape: &self.shape,
            strides: &self.strides,
            itemsize: self.itemsize,
        }
    }

    /// Elements `start, start + step, …`, `length` of them, of one axis. `step` may be negative.
    ///
    /// # Errors
    /// If there is no such axis, or one of the elements is not on it.
    pub fn slice(
        &self,
        axis: usize,
        start: usize,
        step: isize,
        length: usize,
    ) -> Result<View, StorageError> {
        let size = self.size(axis)?;
        let inside = match length.checked_sub(1) {
            None => start <= size,
            Some(steps) => {
                let last = isize::try_from(steps)
                    .ok()
                    .and_then(|steps| steps.checked_mul(step))
                    .and_then(|way| start.checked_add_signed(way));
                start < size && last.is_some_and(|last| last < size)
            }
        };
        if !inside {
            return Err(StorageError::Slice {
                axis,
                start,
                step,
                length,
                size,
            });
        }
        let mut view = self.clone();
        if self.has_padding_along(axis) && !ends_lines(start, step, length, size) {
            view.padding = 0;
        }
        view.shape[axis] = length;
        if length > 0 {
            view.pointer = self.at(axis, start);
        }
        if length > 1 {
            view.strides[axis] *= step;
        }
        Ok(view)
    }

    /// Some of the elements, in any order: the first lies `offset` bytes from that of the whole. What lies behind them is taken for
    /// no padding.
    ///
    /// # Safety
    /// Shape and strides have the same length, and each element that they describe is one of this view.
    #[inline]
    pub unsafe fn part(
        &self,
        offset: isize,
        shape: PerAxis<usize>,
        strides: PerAxis<isize>,
    ) -> Self {
        Self {
            pointer: self.pointer.wrapping_offset(offset),
            shape,
            strides,
            itemsize: self.itemsize,
            padding: 0,
            owner: self.owner.clone(),
        }
    }

    /// As [`View::part`], of which each axis of this view that it has is told with the points that it takes: `start`, `step`,
    /// `length`.
    ///
    /// # Safety
    /// As [`View::part`].
    #[inline]
    pub unsafe fn part_of_axes(
        &self,
        offset: isize,
        shape: PerAxis<usize>,
        strides: PerAxis<isize>,
        taken: impl IntoIterator<Item = (usize, usize, isize, usize)>,
    ) -> Self {
        let ends = |(axis, start, step, length)| {
            self.has_padding_along(axis) && ends_lines(start, step, length, self.shape[axis])
        };
        let padding = match self.padding > 0 && taken.into_iter().any(ends) {
            true => self.padding,
            false => 0,
        };
        // SAFETY: as the caller says.
        let part = unsafe { self.part(offset, shape, strides) };
        part.with_padding(padding)
    }

    /// The elements at `index` of one axis, which is gone from the result.
    ///
    /// # Errors
    /// If there is no such axis or index.
    pub fn drop_axis(&self, axis: usize, index: usize) -> Result<View, StorageError> {
        let size = self.size(axis)?;
        if index >= size {
            return Err(StorageError::Index { index, axis, size });
        }
        let mut view = self.clone();
        if self.has_padding_along(axis) {
            view.padding = 0;
        }
        view.pointer = self.at(axis, index);
        view.shape.remove(axis);
        view.strides.remove(axis);
        Ok(view)
    }

    /// A new axis of size 1 before `axis`.
    ///
    /// # Errors
    /// If `axis` is larger than the number of axes.
    pub fn insert_axis(&self, axis: usize) -> Result<View, StorageError> {
        let ndim = self.ndim();
        if axis > ndim {
            return Err(StorageError::Axis { axis, ndim });
        }
        let mut view = self.clone();
        view.shape.insert(axis, 1);
        view.strides.insert(axis, 0);
        Ok(view)
    }

    /// The same elements with axis `axes[n]` of this view as axis `n`.
    ///
    /// # Errors
    /// If `axes` does not name each axis once.
    pub fn transpose(&self, axes: &[usize]) -> Result<View, StorageError> {
        if axes.len() != self.ndim() || !is_permutation(axes) {
            return Err(StorageError::Axes {
                axes: axes.to_vec(),
                ndim: self.ndim(),
            });
        }
        let mut view = self.clone();
        view.shape = axes.iter().map(|&axis| self.shape[axis]).collect();
        view.strides = axes.iter().map(|&axis| self.strides[axis]).collect();
        Ok(view)
    }

    /// The elements repeated to fill `shape`, as NumPy does: axes are matched from the last, those of size 1 repeat.
    ///
    /// # Errors
    /// If the shapes do not match.
    pub fn broadcast(&self, shape: &[usize]) -> Result<View, StorageError> {
        let refuse = || StorageError::Broadcast {
            from: self.shape.to_vec(),
            to: shape.to_vec(),
        };
        let missing = shape.len().checked_sub(self.ndim()).ok_or_else(refuse)?;
        let mut strides = PerAxis::from_elem(0, missing);
        for ((&from, &to), &stride) in self.shape.iter().zip(&shape[missing..]).zip(&self.strides) {
            match from {
                _ if from == to => strides.push(stride),
                1 => strides.push(0),
                _ => return Err(refuse()),
            }
        }
        let view = Self {
            shape: shape.into(),
            strides,
            ..self.clone()
        };
        view.checked_bounds().ok_or_else(refuse)?;
        Ok(view)
    }

    fn size(&self, axis: usize) -> Result<usize, StorageError> {
        self.shape.get(axis).copied().ok_or(StorageError::Axis {
            axis,
            ndim: self.ndim(),
        })
    }

    /// The address at an index of one axis that has been checked.
    fn at(&self, axis: usize, index: usize) -> *mut u8 {
        if self.is_empty() {
            return self.pointer;
        }
        let offset = self.strides[axis].wrapping_mul(index as isize);
        self.pointer.wrapping_offset(offset)
    }
}

/// Whether points of a line follow each other up to its end.
fn ends_lines(start: usize, step: isize, length: usize, size: usize) -> bool {
    length > 0 && start + length == size && (step == 1 || length == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Allocation, Spec};

    fn view(shape: &[usize]) -> View {
        Allocation::zeroed(&Spec::packed(shape.to_vec(), 4))
            .unwrap()
            .1
    }

    fn described(view: &View, base: &View) -> (isize, Vec<usize>, Vec<isize>) {
        let offset = view.pointer().addr() as isize - base.pointer().addr() as isize;
        (offset, view.shape().to_vec(), view.strides().to_vec())
    }

    #[test]
    fn slices_and_permutations() {
        let base = view(&[4, 5, 6]);
        let made = [
            (
                base.slice(1, 1, 2, 2),
                (24, vec![4, 2, 6], vec![120, 48, 4]),
            ),
            (
                base.slice(2, 5, -1, 6),
                (20, vec![4, 5, 6], vec![120, 24, -4]),
            ),
            (
                base.slice(2, 5, -2, 3),
                (20, vec![4, 5, 3], vec![120, 24, -8]),
            ),
            (base.slice(0, 4, 1, 0), (0, vec![0, 5, 6], vec![120, 24, 4])),
            (
                base.slice(0, 3, 99, 1),
                (360, vec![1, 5, 6], vec![120, 24, 4]),
            ),
            (base.drop_axis(1, 4), (96, vec![4, 6], vec![120, 4])),
            (
                base.insert_axis(3),
                (0, vec![4, 5, 6, 1], vec![120, 24, 4, 0]),
            ),
            (
                base.transpose(&[2, 0, 1]),
                (0, vec![6, 4, 5], vec![4, 120, 24]),
            ),
            (
                base.broadcast(&[3, 4, 5, 6]),
                (0, vec![3, 4, 5, 6], vec![0, 120, 24, 4]),
            ),
        ];
        for (made, expected) in made {
            assert_eq!(described(&made.unwrap(), &base), expected);
        }
        let one = view(&[1, 3]);
        assert_eq!(one.broadcast(&[2, 3]).unwrap().strides(), [0, 4]);
    }

    #[test]
    fn padding_is_known_where_lines_end_as_they_were_allocated() {
        let spec = Spec {
            alignment: 64,
            ..Spec::packed(vec![4, 5, 6], 8)
        };
        let base = Allocation::zeroed(&spec).unwrap().1;
        assert_eq!(base.padding(), 16);
        let padding = |view: Result<View, StorageError>| view.unwrap().padding();
        assert_eq!(padding(base.slice(0, 3, -1, 4)), 16);
        assert_eq!(padding(base.slice(1, 1, 2, 2)), 16);
        assert_eq!(padding(base.slice(2, 2, 1, 4)), 16);
        assert_eq!(padding(base.slice(2, 5, 7, 1)), 16);
        assert_eq!(padding(base.slice(2, 0, 1, 5)), 0);
        assert_eq!(padding(base.slice(2, 5, -1, 6)), 0);
        assert_eq!(padding(base.slice(2, 1, 2, 3)), 0);
        assert_eq!(padding(base.slice(2, 6, 1, 0)), 0);
        assert_eq!(padding(base.drop_axis(0, 1)), 16);
        assert_eq!(padding(base.drop_axis(2, 5)), 0);
        assert_eq!(padding(base.transpose(&[2, 0, 1])), 16);
        assert_eq!(padding(base.insert_axis(0)), 16);
        assert_eq!(base.at_address(base.pointer(), None).padding(), 0);
        let turned = base.transpose(&[2, 0, 1]).unwrap();
        assert_eq!(padding(turned.slice(0, 0, 1, 5)), 0);
        assert_eq!(padding(turned.slice(2, 0, 1, 4)), 16);
        assert_eq!(view(&[4, 5, 6]).padding(), 0);
    }

    #[test]
    fn what_leaves_the_view_is_an_error() {
        let base = view(&[4, 5]);
        let errors = [
            (base.slice(2, 0, 1, 1), "axis is 2, but the view has 2 axes"),
            (
                base.slice(0, 2, 1, 3),
                "a slice of 3 elements from 2 with step 1 leaves axis 0 with size 4",
            ),
            (
                base.slice(0, 2, -1, 4),
                "a slice of 4 elements from 2 with step -1 leaves axis 0 with size 4",
            ),
            (
                base.slice(0, 2, isize::MIN, 9),
                "a slice of 9 elements from 2 with step -9223372036854775808 leaves axis 0 with size 4",
            ),
            (
                base.drop_axis(1, 5),
                "index 5 is out of bounds for axis 1 with size 5",
            ),
            (base.insert_axis(3), "axis is 3, but the view has 2 axes"),
            (
                base.transpose(&[0, 0]),
                "axes is [0, 0], but it must name each axis from 0 to ndim - 1 once, here [0, 1]",
            ),
            (
                base.broadcast(&[5]),
                "a view of shape [4, 5] cannot be broadcast to shape [5]",
            ),
            (
                base.broadcast(&[4, 6]),
                "a view of shape [4, 5] cannot be broadcast to shape [4, 6]",
            ),
        ];
        for (result, message) in errors {
            assert_eq!(result.unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn bounds_cover_all_elements() {
        let base = view(&[4, 5]);
        let start = base.pointer().addr();
        assert_eq!(base.bounds(), start..start + 80);
        let back = base.slice(0, 3, -1, 4).unwrap().slice(1, 4, -2, 3).unwrap();
        assert_eq!(back.bounds(), start..start + 80);
        assert!(view(&[3, 0]).bounds().is_empty());
    }

    #[test]
    fn halves_and_interleaved_views_do_not_overlap() {
        let base = view(&[4, 6]);
        let part = |start, step, length| base.slice(1, start, step, length).unwrap();
        assert!(!part(0, 1, 3).overlaps(&part(3, 1, 3)));
        assert!(!part(0, 2, 3).overlaps(&part(5, -2, 3)));
        assert!(part(0, 1, 4).overlaps(&part(3, 1, 3)));
        assert!(base.overlaps(&base));
        assert!(!base.overlaps(&view(&[4, 6])));
        assert!(base.broadcast(&[2, 4, 6]).unwrap().shares_elements());
    }
}
