//! An array argument, checked against its parameter and permuted to I, J, K.

use std::sync::Arc;

use fieldstone_codegen::alias::Footprint;
use fieldstone_codegen::call::FieldArgument;
use fieldstone_codegen::domain::{Array, Requirement};
use fieldstone_device::{Accelerator, Stream};
use fieldstone_stencil::Axis;
use fieldstone_storage::{Dim, Pair};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::errors::raise;
use crate::interface::{Description, Hooks, MAX_RANK};
use crate::storage::{Tracked, axes};

/// An array argument, along I, J, K.
pub struct Operand<'py> {
    /// Address of the element at index 0.
    pub pointer: *mut u8,
    /// Bytes from one point to the next.
    pub strides: [isize; 3],
    /// Sizes of the data dimensions, each with the bytes from one element to the next.
    pub data: SmallVec<[(usize, isize); 2]>,
    /// Bytes behind each line along the contiguous axis that are nobody's.
    pub padding: usize,
    /// Shape, halo and origin, by which the call is placed and checked.
    pub array: Array,
    /// Whom to tell of the access.
    pub hooks: Option<Box<Hooks<'py>>>,
    /// What is to be made current before the access.
    pub tracked: Option<Box<Tracked>>,
    /// The device whose memory it is, for a stencil that runs on one.
    pub accelerator: Option<Arc<dyn Accelerator>>,
    /// The stream of the device in which somebody may be writing to it still.
    pub written_in: Option<Stream>,
    /// Owner of the memory, if it is not the argument.
    keep: Option<Bound<'py, PyAny>>,
}

impl AsRef<Array> for Operand<'_> {
    #[inline]
    fn as_ref(&self) -> &Array {
        &self.array
    }
}

impl<'py> Operand<'py> {
    /// Stands for `None` where the stencil does not access the field.
    pub fn absent() -> Self {
        Operand {
            pointer: std::ptr::null_mut(),
            strides: [0; 3],
            data: SmallVec::new(),
            padding: 0,
            array: Array::ABSENT,
            hooks: None,
            tracked: None,
            accelerator: None,
            written_in: None,
            keep: None,
        }
    }

    /// Stands for an array that the stencil does not access: it may be any, and is told of the call.
    pub fn unused(description: Description<'py>) -> Self {
        Operand {
            hooks: description.hooks,
            keep: description.keep,
            ..Operand::absent()
        }
    }

    /// Owner of the memory, if it is not the argument.
    pub fn keeper(&self) -> Option<&Bound<'py, PyAny>> {
        self.keep.as_ref()
    }

    /// The two copies that it is one of.
    pub fn pair(&self) -> Option<&Arc<Pair>> {
        self.tracked.as_deref()?.pair().map(|(pair, _)| pair)
    }

    /// The memory as the backend takes it.
    #[inline]
    pub fn argument(&self, origin: &[isize; 3]) -> FieldArgument {
        let offset: isize = (0..3)
            .map(|n| origin[n].wrapping_mul(self.strides[n]))
            .sum();
        FieldArgument {
            pointer: self.pointer.wrapping_offset(offset),
            strides: self.strides,
            lower: *origin,
            upper: std::array::from_fn(|n| {
                (self.array.shape[n] as isize - origin[n]).max(0) as usize
            }),
            padding: self.padding,
        }
    }

    /// The memory of the whole array.
    #[inline]
    pub fn whole(&self, field: &Requirement) -> Footprint {
        let start = self.pointer.addr() as isize;
        Footprint {
            origin: start,
            start,
            shape: self.array.shape,
            strides: self.strides,
            data: self.data.to_vec(),
            itemsize: field.dtype.size(),
        }
    }

    /// The memory that a call on this domain may access.
    #[inline]
    pub fn footprint(
        &self,
        field: &Requirement,
        origin: &[isize; 3],
        domain: [usize; 3],
    ) -> Footprint {
        let at = |index: [isize; 3]| {
            let offset: isize = (0..3).map(|n| index[n].wrapping_mul(self.strides[n])).sum();
            (self.pointer.addr() as isize).wrapping_add(offset)
        };
        let mut extent = field.extent.0;
        if field.any_level && field.axes.0[2] {
            let above = self.array.shape[2] as isize - origin[2] - domain[2] as isize;
            extent[2] = (origin[2] as i32, above as i32);
        }
        Footprint {
            origin: at(*origin),
            start: at(std::array::from_fn(|n| origin[n] - extent[n].0 as isize)),
            shape: std::array::from_fn(|n| {
                if field.axes.0[n] {
                    (domain[n] as isize + (extent[n].0 + extent[n].1) as isize).max(0) as usize
                } else {
                    1
                }
            }),
            strides: self.strides,
            data: self.data.to_vec(),
            itemsize: field.dtype.size(),
        }
    }
}

/// Checks an array against its parameter and permutes it to I, J, K.
pub fn permute<'py>(
    py: Python<'py>,
    field: &Requirement,
    description: Description<'py>,
) -> PyResult<Operand<'py>> {
    let mut operand = Operand::absent();
    fill(py, field, description, &mut operand)?;
    Ok(operand)
}

/// As [`permute`], in place of an absent operand.
#[inline]
pub fn fill<'py>(
    py: Python<'py>,
    field: &Requirement,
    description: Description<'py>,
    operand: &mut Operand<'py>,
) -> PyResult<()> {
    let rank = field.axes.len() + field.data_dims.len();
    if let Some(dims) = description.dims() {
        let fits = |dim: &Dim| match Place::of(*dim) {
            Place::Grid(axis) => field.axes.contains(axis),
            Place::Data(n) => n < field.data_dims.len(),
        };
        if dims.len() != rank || !dims.iter().all(fits) {
            return Err(wrong_dims(py, field, dims));
        }
    } else if description.rank != rank {
        return Err(wrong_rank(py, field, &description));
    }
    match &description.dtype {
        Ok(dtype) if *dtype == field.dtype => {}
        other => {
            let given = other
                .as_ref()
                .map_or_else(String::clone, ToString::to_string);
            return Err(wrong_dtype(py, field, &given));
        }
    }
    if field.writes && description.readonly {
        let message = format!(
            "argument '{}' is a read-only array, but the stencil writes it; pass a copy",
            field.name
        );
        return Err(raise(py, "ReadOnlyError", message));
    }
    operand.pointer = description.pointer;
    operand.padding = description.padding;
    operand.array.origin = None;
    let mut own =
        (field.axes.iter().map(Place::Grid)).chain((0..field.data_dims.len()).map(Place::Data));
    operand.data = SmallVec::from_elem((0, 0), field.data_dims.len());
    let mut place_of = [Place::Data(0); MAX_RANK];
    for (n, place) in place_of[..rank].iter_mut().enumerate() {
        *place = match description.dims {
            Some(dims) => Place::of(dims[n]),
            // Without dims, axes are in the order of the annotation.
            None => own.next().unwrap_or(*place),
        };
        let (size, stride) = (description.shape[n], description.strides[n]);
        match *place {
            Place::Grid(axis) => {
                operand.array.shape[axis.index()] = size;
                operand.strides[axis.index()] = stride;
            }
            Place::Data(n) => operand.data[n] = (size, stride),
        }
    }
    let sizes = operand.data.iter().map(|(size, _)| *size);
    if !sizes.eq(field.data_dims.iter().map(|size| *size as usize)) {
        return Err(wrong_data_dims(py, field, &operand.data));
    }
    let place_of = &place_of[..rank];
    // A halo of no points says nothing of where the domain starts.
    let halo = description
        .halo
        .filter(|halo| halo[..rank].iter().any(|pair| *pair != (0, 0)));
    if let Some(halo) = halo {
        let mut origin = [0; 3];
        for (place, (lower, upper)) in place_of.iter().zip(halo) {
            if let Place::Grid(axis) = place {
                origin[axis.index()] = lower as isize;
                operand.array.halo[axis.index()] = upper;
            }
        }
        operand.array.origin = Some(origin);
    }
    if let Some(given) = &description.origin {
        operand.array.origin = Some(own_origin(py, field, place_of, given.as_slice())?);
    }
    operand.hooks = description.hooks;
    operand.tracked = description.tracked;
    operand.accelerator = description.accelerator;
    operand.written_in = description.written_in;
    operand.keep = description.keep;
    Ok(())
}

/// What a dimension of an array is.
#[derive(Clone, Copy)]
enum Place {
    /// An axis of the grid.
    Grid(Axis),
    /// A data dimension, by number.
    Data(usize),
}

impl Place {
    /// What a label means.
    fn of(dim: Dim) -> Place {
        match dim {
            Dim::I => Place::Grid(Axis::I),
            Dim::J => Place::Grid(Axis::J),
            Dim::K => Place::Grid(Axis::K),
            Dim::Data(n) => Place::Data(n as usize),
        }
    }
}

/// The origin that an object gives for its own axes, along I, J, K; one with three entries may be along these already.
fn own_origin(
    py: Python<'_>,
    field: &Requirement,
    place_of: &[Place],
    given: &[isize],
) -> PyResult<[isize; 3]> {
    let mut origin = [0; 3];
    if given.len() == place_of.len() {
        for (place, value) in place_of.iter().zip(given) {
            if let Place::Grid(axis) = place {
                origin[axis.index()] = *value;
            }
        }
        return Ok(origin);
    }
    field.origin(given).ok_or_else(|| {
        raise(
            py,
            "OriginError",
            format!(
                "argument '{}': its default origin {given:?} has {} entries for {} axes",
                field.name,
                given.len(),
                place_of.len()
            ),
        )
    })
}

#[cold]
fn wrong_dims(py: Python<'_>, field: &Requirement, dims: &[Dim]) -> PyErr {
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    let expected = field.axes.iter().map(|axis| axis.to_string());
    let data = (0..field.data_dims.len()).map(|n| n.to_string());
    let expected: Vec<String> = expected.chain(data).collect();
    raise(
        py,
        "DimensionsError",
        format!(
            "argument '{}' has the dims ({}), expected ({}) in any order",
            field.name,
            dims.join(", "),
            expected.join(", ")
        ),
    )
}

#[cold]
fn wrong_data_dims(py: Python<'_>, field: &Requirement, data: &[(usize, isize)]) -> PyErr {
    let given: Vec<usize> = data.iter().map(|(size, _)| *size).collect();
    raise(
        py,
        "ShapeError",
        format!(
            "argument '{}' has data dimensions of the sizes {given:?}, expected {:?} as the stencil declares them",
            field.name, field.data_dims
        ),
    )
}

#[cold]
fn wrong_rank(py: Python<'_>, field: &Requirement, description: &Description<'_>) -> PyErr {
    let mut expected = Vec::new();
    if !field.axes.is_empty() {
        expected.push(format!("{} along {}", field.axes.len(), field.axes));
    }
    if !field.data_dims.is_empty() {
        let count = field.data_dims.len();
        expected.push(format!(
            "{count} data dimension(s) of {:?}",
            field.data_dims
        ));
    }
    raise(
        py,
        "ShapeError",
        format!(
            "argument '{}' has {} dimension(s) (shape {}), expected {}",
            field.name,
            description.rank,
            axes::numbers(description.shape()),
            expected.join(" and ")
        ),
    )
}

#[cold]
fn wrong_dtype(py: Python<'_>, field: &Requirement, given: &str) -> PyErr {
    raise(
        py,
        "DTypeError",
        format!(
            "argument '{}' has elements of type {given}, expected {} as the stencil declares it; convert the array, or declare \
             the parameter otherwise",
            field.name, field.dtype
        ),
    )
}
