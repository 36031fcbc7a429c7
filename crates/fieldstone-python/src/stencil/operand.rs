//! An array argument, checked against its parameter and permuted to I, J, K.

use fieldstone_codegen::alias::Footprint;
use fieldstone_codegen::call::FieldArgument;
use fieldstone_codegen::domain::{Array, Requirement};
use fieldstone_stencil::Axis;
use fieldstone_storage::Dim;
use pyo3::prelude::*;

use crate::errors::raise;
use crate::interface::{Description, Hooks};
use crate::storage::Tracked;

/// An array argument, along I, J, K.
pub struct Operand<'py> {
    /// Address of the element at index 0.
    pub pointer: *mut u8,
    /// Bytes from one point to the next.
    pub strides: [isize; 3],
    /// Shape, halo and origin, by which the call is placed and checked.
    pub array: Array,
    /// Whom to tell of the access.
    pub hooks: Option<Box<Hooks<'py>>>,
    /// What is to be made current before the access.
    pub tracked: Option<Box<Tracked>>,
    /// Owner of the memory, if it is not the argument.
    _keep: Option<Bound<'py, PyAny>>,
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
            array: Array::ABSENT,
            hooks: None,
            tracked: None,
            _keep: None,
        }
    }

    /// Stands for an array that the stencil does not access: it may be any, and is told of the call.
    pub fn unused(description: Description<'py>) -> Self {
        Operand {
            hooks: description.hooks,
            _keep: description.keep,
            ..Operand::absent()
        }
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
        let extent = field.extent.0;
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
    let rank = field.axes.len();
    if let Some(dims) = description.dims() {
        let fits = |dim: &Dim| grid_axis(*dim).is_some_and(|axis| field.axes.contains(axis));
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
    operand.array.origin = None;
    let mut own = field.axes.iter();
    let mut axis_of = [Axis::I; 3];
    for (n, axis) in axis_of[..rank].iter_mut().enumerate() {
        *axis = match description.dims.and_then(|dims| grid_axis(dims[n])) {
            Some(axis) => axis,
            // Without dims, axes are in the order of the annotation.
            None => own.next().unwrap_or(*axis),
        };
        operand.array.shape[axis.index()] = description.shape[n];
        operand.strides[axis.index()] = description.strides[n];
    }
    let axis_of = &axis_of[..rank];
    // A halo of no points says nothing of where the domain starts.
    let halo = description
        .halo
        .filter(|halo| halo[..rank].iter().any(|pair| *pair != (0, 0)));
    if let Some(halo) = halo {
        let mut origin = [0; 3];
        for (axis, (lower, upper)) in axis_of.iter().zip(halo) {
            origin[axis.index()] = lower as isize;
            operand.array.halo[axis.index()] = upper;
        }
        operand.array.origin = Some(origin);
    }
    if let Some(given) = &description.origin {
        operand.array.origin = Some(own_origin(py, field, axis_of, given.as_slice())?);
    }
    operand.hooks = description.hooks;
    operand.tracked = description.tracked;
    operand._keep = description.keep;
    Ok(())
}

/// The axis of the grid that a label means, if it is one.
fn grid_axis(dim: Dim) -> Option<Axis> {
    match dim {
        Dim::I => Some(Axis::I),
        Dim::J => Some(Axis::J),
        Dim::K => Some(Axis::K),
        Dim::Data(_) => None,
    }
}

/// The origin that an object gives for its own axes, along I, J, K; one with three entries may be along these already.
fn own_origin(
    py: Python<'_>,
    field: &Requirement,
    axis_of: &[Axis],
    given: &[isize],
) -> PyResult<[isize; 3]> {
    let mut origin = [0; 3];
    if given.len() == axis_of.len() {
        for (axis, value) in axis_of.iter().zip(given) {
            origin[axis.index()] = *value;
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
                axis_of.len()
            ),
        )
    })
}

#[cold]
fn wrong_dims(py: Python<'_>, field: &Requirement, dims: &[Dim]) -> PyErr {
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    let expected: Vec<String> = field.axes.iter().map(|axis| axis.to_string()).collect();
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
fn wrong_rank(py: Python<'_>, field: &Requirement, description: &Description<'_>) -> PyErr {
    raise(
        py,
        "ShapeError",
        format!(
            "argument '{}' has {} dimension(s) (shape {:?}), expected {} along {}",
            field.name,
            description.rank,
            description.shape(),
            field.axes.len(),
            field.axes
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
