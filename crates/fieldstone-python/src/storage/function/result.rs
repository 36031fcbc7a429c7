//! Storages from the arrays that NumPy's functions make.

use fieldstone_storage::Layout;
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::call::Call;
use crate::array;
use crate::storage::axes::Axes;
use crate::storage::foreign::Foreign;
use crate::storage::given::follows;
use crate::storage::parameters::check_dtype;
use crate::storage::resolve::{Location, Resolved};
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

/// A storage of what NumPy computed, or several; whatever is no array stays what it is.
///
/// An array of as many axes as `origins` has entries has these, of `source`; any other has no labels.
pub fn storages<'py>(
    result: Bound<'py, PyAny>,
    source: &Foreign<'py>,
    origins: &[Origin],
) -> PyResult<Bound<'py, PyAny>> {
    let py = result.py();
    if let Ok(tuple) = result.cast::<PyTuple>() {
        let entries = tuple.iter().map(|entry| storages(entry, source, origins));
        return Ok(PyTuple::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    if let Ok(list) = result.cast::<PyList>() {
        let entries = list.iter().map(|entry| storages(entry, source, origins));
        return Ok(PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    let Ok(array) = result.cast::<PyUntypedArray>() else {
        return Ok(result);
    };
    if array.ndim() == 0 || !is_supported(&array.dtype()) {
        return Ok(result);
    }
    let axes = if origins.len() == array.ndim() {
        following(source, origins, array.shape())
    } else {
        following(source, &vec![Origin::New; array.ndim()], array.shape())
    };
    fresh(array, beside(array, axes, source.alignment, &source.place))
}

/// A storage of an array that nobody else has.
pub fn fresh<'py>(
    array: &Bound<'py, PyUntypedArray>,
    resolved: Resolved<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let view = array::view_of(array)?;
    let Resolved {
        axes, alignment, ..
    } = &resolved;
    let as_it_is = matches!(resolved.location, Location::Host)
        && follows(&view, axes.layout.ranks())
        && array::is_writeable(array)
        && memory::is_aligned(&view, &axes.aligned_index, *alignment);
    let storage = if as_it_is {
        Storage {
            view,
            dtype: array.dtype().unbind(),
            axes: resolved.axes,
            alignment: resolved.alignment,
            writeable: true,
            keeper: Some(array.clone().into_any().unbind()),
            place: Place::Host,
        }
    } else {
        resolved.holding_array(array)?
    };
    Ok(storage.into_object(py)?.into_any())
}

/// The parameters of a storage that an array becomes beside `place`.
pub fn beside<'py>(
    array: &Bound<'py, PyUntypedArray>,
    axes: Axes,
    alignment: usize,
    place: &Place,
) -> Resolved<'py> {
    Resolved {
        shape: array.shape().into(),
        dtype: array.dtype(),
        axes,
        alignment,
        location: Location::of(place),
    }
}

/// Whether storages may hold elements of this type.
pub fn is_supported(dtype: &Bound<'_, PyArrayDescr>) -> bool {
    check_dtype(dtype, "result").is_ok()
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
    let result = call.run()?;
    let array = result.cast::<PyUntypedArray>()?;
    Ok(Some(view_or_copy(source, array)?))
}

/// A view of a storage, if `array` shares its memory, else a storage of `array`.
pub fn view_or_copy<'py>(
    source: &Bound<'py, Storage>,
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    let foreign = Foreign::of_storage(source);
    let origins = if array.shape() == foreign.view.shape() {
        Origin::all(array.ndim())
    } else {
        vec![Origin::New; array.ndim()]
    };
    let mut axes = following(&foreign, &origins, array.shape());
    let view = array::view_of(array)?;
    axes.layout = view.layout();
    if !view.overlaps(&foreign.view) {
        return fresh(
            array,
            beside(array, axes, foreign.alignment, &foreign.place),
        );
    }
    let storage = Storage {
        alignment: if memory::is_aligned(&view, &axes.aligned_index, foreign.alignment) {
            foreign.alignment
        } else {
            1
        },
        view,
        dtype: array.dtype().unbind(),
        axes,
        writeable: array::is_writeable(array),
        keeper: Some(array.clone().into_any().unbind()),
        place: foreign.place,
    };
    Ok(storage.into_object(py)?.into_any())
}
