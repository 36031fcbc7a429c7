//! Arguments and temporaries, with checked access.

use std::ops::Range;

use fieldstone_device::DeviceError;
use fieldstone_stencil::{Axes, Axis, Extent};

use super::access::Access;
use super::element::Element as Value;
use super::memory::zeros;
use super::region::Region;
use crate::call::FieldArgument;
use crate::error::RunError;

/// Memory of a field or temporary, addressed by grid index.
///
/// Every address inside of `start..end` is valid for reads, and for writes if the stencil writes the field; addresses need
/// no alignment.
pub(super) struct Array {
    /// Address of index `(0, 0, 0)`, which need not be inside of the array.
    origin: *mut u8,
    /// Bytes; 0 along axes the array does not have.
    strides: [isize; 3],
    start: [i64; 3],
    end: [i64; 3],
    axes: Axes,
    /// Sizes of the data dimensions, each with the bytes from one element to the next.
    data: Vec<(u32, isize)>,
    /// Of a temporary: its memory, and which points were written.
    own: Option<Own>,
}

struct Own {
    _memory: Vec<u8>,
    written: Vec<bool>,
}

/// Where an element lies from the first one of the same point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Element {
    /// Bytes.
    pub(super) bytes: isize,
    /// Elements of a temporary.
    pub(super) number: usize,
}

impl Array {
    /// # Safety
    ///
    /// The argument's pointer must be valid over all the points it says it covers, as long as the array lives.
    pub(super) unsafe fn argument(
        argument: &FieldArgument,
        axes: Axes,
        data: impl Iterator<Item = (u32, isize)>,
    ) -> Array {
        Array {
            origin: argument.pointer,
            strides: argument.strides,
            start: argument.lower.map(|points| -(points as i64)),
            end: argument.upper.map(|points| points as i64),
            axes,
            data: data.collect(),
            own: None,
        }
    }

    /// Zeros on the domain and `extent` around it, none of them written; an error where there is no memory for that.
    pub(super) fn temporary(
        itemsize: usize,
        domain: [usize; 3],
        extent: Extent,
        axes: Axes,
        data_dims: &[u32],
    ) -> Result<Array, DeviceError> {
        let mut region = Region::new([0; 3], domain).extended(extent);
        let mut points = itemsize as isize;
        let mut strides = [0; 3];
        for axis in Axis::ALL {
            let n = axis.index();
            if axes.contains(axis) {
                strides[n] = points;
                points *= region.shape[n] as isize;
            } else {
                (region.start[n], region.shape[n]) = (0, 1);
            }
        }
        let mut elements = region.len();
        let mut data = Vec::with_capacity(data_dims.len());
        for size in data_dims {
            data.push((*size, elements.saturating_mul(itemsize) as isize));
            elements = elements.saturating_mul(*size as usize);
        }
        let mut memory = zeros::<u8>(elements.saturating_mul(itemsize))?;
        let origin: isize = (0..3).map(|n| -region.start[n] as isize * strides[n]).sum();
        Ok(Array {
            origin: memory.as_mut_ptr().wrapping_offset(origin),
            strides,
            start: region.start,
            end: region.end(),
            axes,
            data,
            own: Some(Own {
                _memory: memory,
                written: zeros(elements)?,
            }),
        })
    }

    /// An error where `region` leaves the array along an axis it has.
    pub(super) fn check(&self, region: &Region, access: &Access) -> Result<(), RunError> {
        if region.len() == 0 {
            return Ok(());
        }
        for axis in self.axes.iter() {
            let n = axis.index();
            if region.start[n] < self.start[n] || region.end()[n] > self.end[n] {
                let mut index = region.start;
                if region.start[n] >= self.start[n] {
                    index[n] = index[n].max(self.end[n]);
                }
                return Err(access.out_of_bounds(index, self.covered()));
            }
        }
        Ok(())
    }

    /// Reads a region, after checking that it lies inside and, where `active`, was written.
    pub(super) fn gather<T: Value>(
        &self,
        region: &Region,
        access: &Access,
        active: Option<&[bool]>,
        elements: Option<&[Element]>,
        values: &mut [T],
    ) -> Result<(), RunError> {
        self.check(region, access)?;
        if let Some(elements) = elements {
            return self.gather_elements(region, access, active, elements, values);
        }
        let points = region.shape[0];
        for (row, first) in region.rows().enumerate() {
            let row = row * points..(row + 1) * points;
            if let Some(own) = &self.own {
                let begin = self.position(first, Element::default());
                let written = &own.written[begin..begin + points];
                let active = active.map(|active| &active[row.clone()]);
                if let Some(point) = first_unwritten(written, active) {
                    let [i, j, k] = first;
                    return Err(access.unwritten([i + point as i64, j, k]));
                }
            }
            let address = self.address(first);
            for (point, value) in values[row].iter_mut().enumerate() {
                let address = address.wrapping_offset(point as isize * self.strides[0]);
                // SAFETY: the region was checked to lie inside of the array.
                *value = unsafe { T::read(address) };
            }
        }
        Ok(())
    }

    /// Reads one element of the data dimensions at each point of a region that lies inside.
    fn gather_elements<T: Value>(
        &self,
        region: &Region,
        access: &Access,
        active: Option<&[bool]>,
        elements: &[Element],
        values: &mut [T],
    ) -> Result<(), RunError> {
        let both = elements.iter().zip(values);
        for (point, (index, (element, value))) in region.points().zip(both).enumerate() {
            if active.is_some_and(|active| !active[point]) {
                continue;
            }
            if let Some(own) = &self.own
                && !own.written[self.position(index, *element)]
            {
                return Err(access.unwritten(index));
            }
            let address = self.address(index).wrapping_offset(element.bytes);
            // SAFETY: the region and the element were checked to lie inside of the array.
            *value = unsafe { T::read(address) };
        }
        Ok(())
    }

    /// Reads each point of a region at a level of its own, after checking that it lies inside and was written.
    pub(super) fn gather_levels<T: Value>(
        &self,
        region: &Region,
        levels: &[i64],
        elements: Option<&[Element]>,
        access: &Access,
        active: Option<&[bool]>,
        values: &mut [T],
    ) -> Result<(), RunError> {
        for (point, index) in self.at_levels(region, levels, active).enumerate() {
            let Some(index) = index else { continue };
            if !self.contains(index) {
                return Err(access.out_of_bounds(index, self.covered()));
            }
            let element = elements.map_or(Element::default(), |elements| elements[point]);
            if let Some(own) = &self.own
                && !own.written[self.position(index, element)]
            {
                return Err(access.unwritten(index));
            }
            // SAFETY: the point and the element were checked to lie inside of the array.
            values[point] = unsafe { T::read(self.address(index).wrapping_offset(element.bytes)) };
        }
        Ok(())
    }

    /// Writes each point of a region at a level of its own, after checking that it lies inside.
    pub(super) fn scatter_levels<T: Value>(
        &mut self,
        region: &Region,
        levels: &[i64],
        elements: Option<&[Element]>,
        access: &Access,
        active: Option<&[bool]>,
        values: &[T],
    ) -> Result<(), RunError> {
        let points: Vec<_> = self.at_levels(region, levels, active).collect();
        for (point, (index, value)) in points.into_iter().zip(values).enumerate() {
            let Some(index) = index else { continue };
            if !self.contains(index) {
                return Err(access.outside(index, self.covered()));
            }
            let element = elements.map_or(Element::default(), |elements| elements[point]);
            // SAFETY: the point and the element were checked to lie inside of the array.
            unsafe { T::write(self.address(index).wrapping_offset(element.bytes), *value) };
            let position = self.position(index, element);
            if let Some(own) = &mut self.own {
                own.written[position] = true;
            }
        }
        Ok(())
    }

    fn contains(&self, index: [i64; 3]) -> bool {
        (self.axes.iter())
            .map(|axis| axis.index())
            .all(|n| (self.start[n]..self.end[n]).contains(&index[n]))
    }

    /// The points of a region at levels of their own, `None` where they are not active.
    fn at_levels(
        &self,
        region: &Region,
        levels: &[i64],
        active: Option<&[bool]>,
    ) -> impl Iterator<Item = Option<[i64; 3]>> {
        let points = region.points().zip(levels).enumerate();
        points.map(move |(point, ([i, j, _], level))| {
            let is_active = active.is_none_or(|active| active[point]);
            is_active.then_some([i, j, *level])
        })
    }

    /// Writes a region that was checked to lie inside, where `active`.
    pub(super) fn scatter<T: Value>(
        &mut self,
        region: &Region,
        active: Option<&[bool]>,
        elements: Option<&[Element]>,
        values: &[T],
    ) {
        for (point, (index, value)) in region.points().zip(values).enumerate() {
            if active.is_none_or(|active| active[point]) {
                let element = elements.map_or(Element::default(), |elements| elements[point]);
                let address = self.address(index).wrapping_offset(element.bytes);
                // SAFETY: the caller checked that the region and the elements lie inside of the array.
                unsafe { T::write(address, *value) };
                let position = self.position(index, element);
                if let Some(own) = &mut self.own {
                    own.written[position] = true;
                }
            }
        }
    }

    fn address(&self, index: [i64; 3]) -> *mut u8 {
        let bytes: isize = (0..3).map(|n| index[n] as isize * self.strides[n]).sum();
        self.origin.wrapping_offset(bytes)
    }

    /// Sizes of the data dimensions, each with the bytes from one element to the next.
    pub(super) fn data(&self) -> &[(u32, isize)] {
        &self.data
    }

    /// Number of an element of a point, I fastest.
    fn position(&self, index: [i64; 3], element: Element) -> usize {
        let along = |n: usize| match self.axes.0[n] {
            true => (index[n] - self.start[n]) as usize,
            false => 0,
        };
        let points = |n: usize| (self.end[n] - self.start[n]) as usize;
        let points_before = points(2) * element.number + along(2);
        along(0) + points(0) * (along(1) + points(1) * points_before)
    }

    fn covered(&self) -> [Range<i64>; 3] {
        std::array::from_fn(|n| self.start[n]..self.end[n])
    }
}

/// The first active point that was not written.
fn first_unwritten(written: &[bool], active: Option<&[bool]>) -> Option<usize> {
    let is_active = |point: usize| active.is_none_or(|active| active[point]);
    (0..written.len()).find(|&point| !written[point] && is_active(point))
}
