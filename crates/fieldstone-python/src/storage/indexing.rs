//! `storage[key]` and `storage[key] = value`.
//!
//! Basic keys (integers, slices, `...`, and `None`, after which no axis has a label) make views; any other key is NumPy's
//! advanced indexing (`advanced`), which reads a copy as an array.

use std::ops::Range;

use fieldstone_storage::{Dim, PerAxis, View};
use numpy::{PyArrayDescrMethods, PyUntypedArray};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PyMemoryView, PySlice, PyTuple};

use super::axes::{self, Axes, Points, Taken};
use super::foreign::Foreign;
use super::place::Place;
use super::resolve::{Location, Resolved};
use super::{Storage, assign, memory};
use crate::array;
use crate::errors::raise;

/// One entry of a basic key.
enum Entry<'py> {
    Index(isize),
    Slice(Bound<'py, PySlice>),
    Ellipsis,
    NewAxis,
}

#[pymethods]
impl Storage {
    fn __len__(&self) -> PyResult<usize> {
        self.view
            .shape()
            .first()
            .copied()
            .ok_or_else(|| PyTypeError::new_err("len() of a storage without axes"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let len = slf
            .borrow()
            .__len__()
            .map_err(|_| PyTypeError::new_err("iteration over a storage without axes"))?;
        let builtins = py.import("builtins")?;
        let indices = builtins.getattr("range")?.call1((len,))?;
        builtins
            .getattr("map")?
            .call1((slf.getattr("__getitem__")?, indices))
    }

    /// The parts along the first axis, from the last to the first.
    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let len = slf
            .borrow()
            .__len__()
            .map_err(|_| PyTypeError::new_err("iteration over a storage without axes"))?;
        let builtins = py.import("builtins")?;
        let indices = builtins.getattr("range")?.call1((len,))?;
        let backwards = builtins.getattr("reversed")?.call1((indices,))?;
        builtins
            .getattr("map")?
            .call1((slf.getattr("__getitem__")?, backwards))
    }

    fn __delitem__(&self, py: Python<'_>, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        let message = "del: elements of a storage cannot be deleted; numpy.delete(storage, indices, axis) makes one \
                       without them";
        Err(raise(py, "ArgumentValueError", message.to_owned()))
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let Some(entries) = basic(key)? else {
            return Self::gather(slf, key);
        };
        let this = slf.borrow();
        if let Some(element) = this.element(&entries)? {
            return this.scalar(py, element);
        }
        let (view, axes) = this.select(&entries)?;
        Ok(this.with_view(py, view, axes).into_object(py)?.into_any())
    }

    fn __setitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        let this = slf.borrow();
        if !this.writeable {
            let message =
                "the storage wraps read-only memory; copy it with storage.copy() to write to it";
            return Err(raise(py, "ReadOnlyError", message));
        }
        let Some(entries) = basic(key)? else {
            return Self::scatter(slf, key, value);
        };
        if is_scalar(value)?
            && let Some(element) = this.element(&entries)?
        {
            let bytes = memory::element_of(value, this.dtype.bind(py), "value")?;
            if let Place::Host = this.place {
                // SAFETY: the address of an element of this many bytes, in memory that the storage keeps alive.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), element, bytes.len()) };
                return Ok(());
            }
            let one = this.one(element)?;
            return assign::fill(py, &this.elements(py).part(&one), &bytes);
        }
        let (view, axes) = this.select(&entries)?;
        this.store(py, &view, &axes, value)
    }
}

/// The entries of a basic key; `None` if the key is an advanced one.
fn basic<'py>(key: &Bound<'py, PyAny>) -> PyResult<Option<PerAxis<Entry<'py>>>> {
    match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|entry| basic_entry(&entry)).collect(),
        Err(_) => Ok(basic_entry(key)?.map(|entry| std::iter::once(entry).collect())),
    }
}

fn basic_entry<'py>(entry: &Bound<'py, PyAny>) -> PyResult<Option<Entry<'py>>> {
    if let Ok(slice) = entry.cast::<PySlice>() {
        return Ok(Some(Entry::Slice(slice.clone())));
    }
    if entry.is_none() {
        return Ok(Some(Entry::NewAxis));
    }
    if entry.is_instance_of::<PyEllipsis>() {
        return Ok(Some(Entry::Ellipsis));
    }
    // As in NumPy, True and False select like masks.
    if entry.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    match memory::index(entry)? {
        Some(index) => {
            let wide = |_| PyIndexError::new_err(format!("index {index} is out of bounds"));
            Ok(Some(Entry::Index(index.extract().map_err(wide)?)))
        }
        None => Ok(None),
    }
}

impl Storage {
    /// The view of the one element at an address.
    fn one(&self, element: *mut u8) -> PyResult<View> {
        let owner = self.view.owner().cloned();
        // SAFETY: an element of this storage.
        unsafe { View::new(element, Vec::new(), Vec::new(), self.view.itemsize(), owner) }
            .map_err(|error| PyIndexError::new_err(error.to_string()))
    }

    /// The element at an address, as a NumPy scalar.
    fn scalar<'py>(&self, py: Python<'py>, element: *mut u8) -> PyResult<Bound<'py, PyAny>> {
        let dtype = self.dtype.bind(py);
        if let Place::Host = self.place {
            // SAFETY: the address of an element of memory that the storage keeps alive.
            return unsafe { memory::scalar_at(element, dtype) };
        }
        let one = self.one(element)?;
        let here = self.elements(py).part(&one).on_host(py)?;
        // SAFETY: as above, or a copy that lives until the end of this function.
        unsafe { memory::scalar_at(here.pointer(), dtype) }
    }

    /// The address of the one element that a key of integers selects.
    fn element(&self, entries: &[Entry<'_>]) -> PyResult<Option<*mut u8>> {
        if entries.len() != self.view.ndim() {
            return Ok(None);
        }
        let mut offset = 0;
        for (axis, entry) in entries.iter().enumerate() {
            let Entry::Index(index) = entry else {
                return Ok(None);
            };
            offset +=
                within(*index, self.view.shape()[axis], axis)? as isize * self.view.strides()[axis];
        }
        Ok(Some(self.view.pointer().wrapping_offset(offset)))
    }

    /// The part of the storage that a basic key selects.
    fn select(&self, entries: &[Entry<'_>]) -> PyResult<(View, Axes)> {
        let ndim = self.view.shape().len();
        let taken = entries
            .iter()
            .filter(|entry| matches!(entry, Entry::Index(_) | Entry::Slice(_)))
            .count();
        if taken > ndim {
            return Err(PyIndexError::new_err(format!(
                "too many indices: the storage has {ndim} axes, but {taken} were indexed"
            )));
        }
        if entries
            .iter()
            .filter(|entry| matches!(entry, Entry::Ellipsis))
            .count()
            > 1
        {
            return Err(PyIndexError::new_err(
                "an index can only have one ellipsis ('...')",
            ));
        }
        let shape = self.view.shape();
        let mut parts: PerAxis<Taken> = PerAxis::new();
        let mut offset = 0;
        let mut axis = 0;
        let whole = |axes: Range<usize>| axes.map(|axis| Some((axis, Points::all(shape[axis]))));
        for entry in entries {
            match entry {
                Entry::Ellipsis => {
                    parts.extend(whole(axis..axis + ndim - taken));
                    axis += ndim - taken;
                }
                Entry::Index(index) => {
                    let index = within(*index, shape[axis], axis)?;
                    offset += index as isize * self.view.strides()[axis];
                    axis += 1;
                }
                Entry::Slice(slice) => {
                    let size = shape[axis];
                    let indices = slice.indices(size as isize)?;
                    let len = indices.slicelength;
                    let start = if len == 0 { 0 } else { indices.start as usize };
                    offset += start as isize * self.view.strides()[axis];
                    parts.push(Some((
                        axis,
                        Points {
                            size,
                            start,
                            step: indices.step,
                            len,
                        },
                    )));
                    axis += 1;
                }
                Entry::NewAxis => parts.push(None),
            }
        }
        parts.extend(whole(axis..ndim));
        Ok((self.part(&parts, offset), self.axes.select(&parts)))
    }

    /// The view of the points `parts` of each axis, `offset` bytes from the first element of the whole.
    pub(super) fn part(&self, parts: &[Taken], offset: isize) -> View {
        let shape: PerAxis<usize> = parts
            .iter()
            .map(|part| part.map_or(1, |(_, points)| points.len))
            .collect();
        let stride = |(axis, points): (usize, Points)| {
            let stride = self.view.strides()[axis];
            // One point has no next; a step too far for memory would overflow.
            if points.len > 1 {
                stride * points.step
            } else {
                stride
            }
        };
        let strides: PerAxis<isize> = parts.iter().map(|part| part.map_or(0, stride)).collect();
        let offset = if shape.contains(&0) { 0 } else { offset };
        let taken = parts.iter().flatten();
        let taken = taken.map(|(axis, points)| (*axis, points.start, points.step, points.len));
        // SAFETY: every element is one of the whole's, since the points are on its axes.
        unsafe { self.view.part_of_axes(offset, shape, strides, taken) }
    }

    /// Writes `value` to a part of this storage.
    fn store(
        &self,
        py: Python<'_>,
        target: &View,
        axes: &Axes,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let dtype = self.dtype.bind(py);
        let elements = self.elements(py);
        let target_elements = elements.part(target);
        if is_scalar(value)? {
            let element = memory::element_of(value, dtype, "value")?;
            return assign::fill(py, &target_elements, &element);
        }
        let source = Foreign::value(value, &self.place, axes.dims.is_some())?;
        let repeated = |view: &View| match (&axes.dims, source.labels(py)?) {
            (Some(own), Some(other)) => broadcast_dims(py, view, other, target.shape(), own),
            _ => broadcast(py, view, target.shape()),
        };
        let view = repeated(&source.view)?;
        let from = source.elements();
        if !view.overlaps(target) {
            return assign::assign(py, &from.part(&view), &target_elements);
        }
        let same = view.pointer() == target.pointer() && view.strides() == target.strides();
        if same && source.dtype.is_equiv_to(dtype) {
            return Ok(());
        }
        let copy = Resolved {
            shape: source.view.shape().into(),
            dtype: source.dtype.clone(),
            axes: Axes {
                layout: source.view.layout(),
                ..source.axes.clone()
            },
            alignment: 1,
            location: Location::of(&source.place),
        };
        let copy = copy.holding(py, &from)?;
        assign::assign(
            py,
            &copy.elements(py).part(&repeated(&copy.view)?),
            &target_elements,
        )
    }
}

/// Numbers of Python and NumPy, which need no array of their own.
pub fn is_scalar(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        return Ok(true);
    }
    // NumPy counts memoryviews among the scalars.
    if value.is_instance_of::<Storage>()
        || value.is_instance_of::<PyUntypedArray>()
        || value.is_instance_of::<PyMemoryView>()
    {
        return Ok(false);
    }
    array::numpy(value.py())?
        .getattr("isscalar")?
        .call1((value,))?
        .is_truthy()
}

fn within(index: isize, size: usize, axis: usize) -> PyResult<usize> {
    let wrapped = if index < 0 {
        index + size as isize
    } else {
        index
    };
    if wrapped < 0 || wrapped >= size as isize {
        return Err(PyIndexError::new_err(format!(
            "index {index} is out of bounds for axis {axis} with size {size}"
        )));
    }
    Ok(wrapped as usize)
}

/// Repeats a view along the labels it lacks, and along axes of one point.
fn broadcast_dims(
    py: Python<'_>,
    source: &View,
    dims: &[Dim],
    shape: &[usize],
    target: &[Dim],
) -> PyResult<View> {
    if let Some(extra) = dims.iter().find(|dim| !target.contains(dim)) {
        let message = format!(
            "value: it has an axis '{extra}', which the storage written to does not have; their axes are {} and {}",
            axes::show(dims),
            axes::show(target)
        );
        return Err(raise(py, "DimensionsError", message));
    }
    let mut order = Vec::with_capacity(dims.len());
    for (dim, &size) in target.iter().zip(shape) {
        let Some(axis) = dims.iter().position(|other| other == dim) else {
            continue;
        };
        if source.shape()[axis] != size && source.shape()[axis] != 1 {
            let message = format!(
                "value: it has {} points along {dim}, the storage written to {size}",
                source.shape()[axis]
            );
            return Err(raise(py, "ShapeError", message));
        }
        order.push(axis);
    }
    let spread = || {
        let mut view = source.transpose(&order)?;
        for (axis, dim) in target.iter().enumerate() {
            if !dims.contains(dim) {
                view = view.insert_axis(axis)?;
            }
        }
        view.broadcast(shape)
    };
    spread().map_err(|error| array::exception(py, &error))
}

/// Repeats a view as NumPy does: axes are matched from the last.
fn broadcast(py: Python<'_>, source: &View, shape: &[usize]) -> PyResult<View> {
    let matched = || {
        let mut view = source.clone();
        // As in NumPy, leading axes of one point that the target lacks are no obstacle.
        while view.ndim() > shape.len() && view.shape()[0] == 1 {
            view = view.drop_axis(0, 0)?;
        }
        view.broadcast(shape)
    };
    matched().map_err(|_| {
        let message = format!(
            "value: its shape {} cannot be broadcast to {}",
            axes::numbers(source.shape()),
            axes::numbers(shape)
        );
        raise(py, "ShapeError", message)
    })
}
