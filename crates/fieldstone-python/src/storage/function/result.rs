//! Storages from the arrays that NumPy's functions make.

use fieldstone_storage::{Access, Layout};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::call::Call;
use super::methods::current;
use crate::array;
use crate::storage::axes::Axes;
use crate::storage::foreign::Foreign;
use crate::storage::library::{Chosen, Computed};
use crate::storage::{Place, Storage, memory};

/// What an axis of a result was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An axis whose points are the same; without its halo if their number is not.
    Kept(usize),
    /// An axis whose points are others.
    Changed(usize),
    /// None.
    New,
}

impl Origin {
    /// All axes of an array, as they are.
    pub fn all(ndim: usize) -> Vec<Self> {
        (0..ndim).map(Self::Kept).collect()
    }
}

/// A storage of what was computed, or several; whatever is no array stays what it is.
///
/// An array of as many axes as `origins` has entries has these, of `source`; any other has no labels.
pub fn with_origins<'py>(
    result: Bound<'py, PyAny>,
    source: &Foreign<'py>,
    origins: &[Origin],
    chosen: &Chosen,
) -> PyResult<Bound<'py, PyAny>> {
    let py = result.py();
    let of = |entry| with_origins(entry, source, origins, chosen);
    if let Ok(tuple) = result.cast::<PyTuple>() {
        let entries = tuple.iter().map(of).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyTuple::new(py, entries)?.into_any());
    }
    if let Ok(list) = result.cast::<PyList>() {
        let entries = list.iter().map(of).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, entries)?.into_any());
    }
    let Some(computed) = Computed::of(&result)?.filter(|computed| computed.ndim() > 0) else {
        return chosen.library.number(result);
    };
    let axes = if origins.len() == computed.ndim() {
        following(source, origins, &computed.shape)
    } else {
        let new = vec![Origin::New; computed.ndim()];
        following(source, &new, &computed.shape)
    };
    let resolved = chosen.resolved(&computed, axes, source.alignment);
    chosen.library.result(&computed, resolved)
}

/// The number of axes of a result, of its first array if it has several; `None` if it has none.
pub fn ndim_of_result(result: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let first = match (result.cast::<PyTuple>(), result.cast::<PyList>()) {
        (Ok(several), _) if !several.is_empty() => several.get_item(0)?,
        (_, Ok(several)) if !several.is_empty() => several.get_item(0)?,
        _ => result.clone(),
    };
    Ok(Computed::of(&first)?.map(|computed| computed.ndim()))
}

/// The axes of a result of `shape`.
pub fn following(source: &Foreign<'_>, origins: &[Origin], shape: &[usize]) -> Axes {
    let own = &source.axes;
    let kept = |place: usize| match origins[place] {
        Origin::Kept(axis) if source.view.shape()[axis] == shape[place] => Some(axis),
        _ => None,
    };
    let places = 0..origins.len();
    let label = |origin: &Origin| match origin {
        Origin::Kept(axis) | Origin::Changed(axis) => own.dims.as_ref().map(|dims| dims[*axis]),
        Origin::New => None,
    };
    let mut order: Vec<usize> = places
        .clone()
        .filter(|&place| origins[place] == Origin::New)
        .collect();
    order.extend(own.layout.order().into_iter().filter_map(|axis| {
        origins.iter().position(
            |origin| matches!(origin, Origin::Kept(own) | Origin::Changed(own) if *own == axis),
        )
    }));
    Axes {
        dims: origins.iter().map(label).collect(),
        halo: places
            .clone()
            .map(|place| kept(place).map_or((0, 0), |axis| own.halo[axis]))
            .collect(),
        explicit_origin: own.explicit_origin.as_ref().map(|origin| {
            places
                .clone()
                .map(|place| kept(place).map_or(0, |axis| origin[axis]))
                .collect()
        }),
        aligned_index: places
            .map(|place| kept(place).map_or(0, |axis| own.aligned_index[axis]))
            .collect(),
        layout: Layout::from_order(&order).unwrap_or_else(|_| Layout::c(origins.len())),
    }
}

/// `reshape` and `ravel`: a view where there can be one, else a copy, as in NumPy.
pub fn reshaped<'py>(call: &Call<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(source) = call.source() else {
        return Ok(None);
    };
    let (positional, keywords) = (&call.positional[1..], &call.keywords);
    let reshaped = |array: &Bound<'py, PyAny>| {
        let first = std::iter::once(array.clone());
        let positional = first.chain(positional.iter().cloned());
        let positional = PyTuple::new(call.py(), positional.collect::<Vec<_>>())?;
        call.function.call(positional, Some(keywords))
    };
    view_or_copy(source, &reshaped).map(Some)
}

/// What `function` makes of a storage's array: a view of the storage, if it shares its memory, else a new one.
pub fn view_or_copy<'py>(
    source: &Bound<'py, Storage>,
    function: &dyn Fn(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    let foreign = Foreign::of_storage(source);
    // Whether it shares memory does not depend on which copy is current, so that none is moved to find out.
    let (geometry, address) = Storage::geometry(source)?;
    let result = function(&geometry)?;
    let Some(computed) = Computed::of(&result)? else {
        // No storage can have elements of this type, so that an array is handed out.
        return match foreign.place {
            Place::Host => Ok(result),
            _ => function(&Storage::exported(source)?),
        };
    };
    let origins = if computed.shape[..] == *foreign.view.shape() {
        Origin::all(computed.ndim())
    } else {
        vec![Origin::New; computed.ndim()]
    };
    let mut axes = following(&foreign, &origins, &computed.shape);
    let view = match result.cast::<PyUntypedArray>() {
        Ok(array) => {
            let view = array::view_of(array)?;
            axes.layout = view.layout();
            Some(view).filter(|view| view.overlaps(&foreign.view.at_address(address, None)))
        }
        Err(_) => None,
    };
    let Some(view) = view else {
        let (array, chosen) = current(source, "reshape")?;
        let result = function(&array)?;
        let Some(computed) = Computed::of(&result)? else {
            return Ok(result);
        };
        let resolved = chosen.resolved(&computed, axes, foreign.alignment);
        return chosen.library.result(&computed, resolved);
    };
    let array = result.cast::<PyUntypedArray>()?;
    let offset = view.pointer().addr().wrapping_sub(address.addr());
    let pointer = foreign.view.pointer().wrapping_add(offset);
    let view = view.at_address(pointer, foreign.view.owner().cloned());
    let alignment = match memory::is_aligned(&view, &axes.aligned_index, foreign.alignment) {
        true => foreign.alignment,
        false => 1,
    };
    let storage = Storage {
        alignment,
        view,
        dtype: array.dtype().unbind(),
        axes,
        writeable: array::is_writeable(array),
        keeper: foreign.keeper.map(Bound::unbind),
        place: foreign.place,
    };
    Ok(storage.into_object(py)?.into_any())
}

impl Storage {
    /// An array of the shape and strides of a storage in memory that may be read, but may be out of date; and its address.
    pub(super) fn geometry<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, *mut u8)> {
        let py = slf.py();
        let this = slf.borrow();
        let view = match &this.place {
            Place::Device(accelerator) => {
                let pointer = this.view.pointer();
                let Some(here) = accelerator.reachable(pointer) else {
                    let array = Storage::kernel_array(slf, Access::Read)?;
                    return Ok((array, pointer));
                };
                this.view.at_address(here, None)
            }
            _ => this.view.clone(),
        };
        let keep = slf.clone().into_any();
        let array = array::array_of(&view, this.dtype.bind(py), this.writeable, keep)?;
        Ok((array, view.pointer()))
    }
}
