"""``gt4py.storage.cartesian.interface``: allocate an array as a backend wants it.

What they return is a plain NumPy array, in memory that fieldstone allocates. For a GPU it is a storage of
`fieldstone.storage`, with a copy on the host and one on the device.

The functions can be called in the form they had before GT4Py 1.0 as well, which ``default_origin=`` or a backend as
the first argument tells; they then return a storage that knows its origin, see `older_form`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fieldstone import storage

from .layout_registry import REGISTRY
from .older_form import in_older_form

__all__ = ["empty", "from_array", "full", "ones", "zeros"]

Array: TypeAlias = npt.NDArray[Any] | storage.Storage


@in_older_form(storage.empty, ("backend", "default_origin", "shape", "dtype", "mask"))
def empty(
    shape: Sequence[int],
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Array:
    """Allocate an array of undefined values.

    Parameters
    ----------
    shape : sequence of int
        Number of points along each axis.
    dtype : dtype_like, default float64
        Type of the elements; a pair such as ``(float, (3,))`` adds data dimensions.
    backend : str
        Name of a backend, or of a layout that was registered.
    aligned_index : sequence of int, optional
        Index of the point whose address is aligned; the first point by default.
    dimensions : sequence of str, optional
        Labels of the axes, by default I, J, K, and 0, 1, … for more than three.
    """
    if backend not in REGISTRY:
        raise RuntimeError(f"there is no layout {backend!r} for `backend`; the layouts are: {', '.join(REGISTRY)}")
    info = REGISTRY[backend]
    shape, dtype, data_dims = _with_data_dimensions(tuple(shape), dtype)
    labels = _labels(dimensions, len(shape), data_dims)
    allocated = storage.empty(
        shape,
        dtype,
        layout=info["layout_map"](labels),
        alignment=info["alignment"],
        aligned_index=None if aligned_index is None else (*aligned_index, *(0,) * data_dims),
        device=info["device"],
    )
    return np.asarray(allocated) if info["device"] == "cpu" else allocated


@in_older_form(storage.ones, ("backend", "default_origin", "shape", "dtype", "mask"))
def ones(
    shape: Sequence[int],
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Array:
    """Allocate an array of ones; the parameters are those of `empty`."""
    return full(shape, 1, dtype, backend=backend, aligned_index=aligned_index, dimensions=dimensions)


@in_older_form(storage.full, ("backend", "default_origin", "shape", "fill_value", "dtype", "mask"))
def full(
    shape: Sequence[int],
    fill_value: Any,
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Array:
    """Allocate an array of one value; the other parameters are those of `empty`.

    Parameters
    ----------
    fill_value : number
        What every element is set to.
    """
    array = empty(shape, dtype, backend=backend, aligned_index=aligned_index, dimensions=dimensions)
    array[...] = fill_value
    return array


@in_older_form(storage.zeros, ("backend", "default_origin", "shape", "dtype", "mask"))
def zeros(
    shape: Sequence[int],
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Array:
    """Allocate an array of zeros; the parameters are those of `empty`."""
    return full(shape, 0, dtype, backend=backend, aligned_index=aligned_index, dimensions=dimensions)


@in_older_form(storage.storage, ("data", "backend", "default_origin", "shape", "dtype", "mask"))
def from_array(
    data: npt.ArrayLike,
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[str] | None = None,
) -> Array:
    """Allocate an array with a copy of data; the other parameters are those of `empty`.

    Parameters
    ----------
    data : array_like
        The values; they give the shape.
    dtype : dtype_like, default float64
        Type of the elements; None for that of the data. A pair such as ``(float, (3,))`` says that the last dimensions
        of the data are data dimensions.
    """
    values = np.asarray(data)
    shape = values.shape
    element = np.dtype(values.dtype if dtype is None else dtype)
    if element.ndim:
        if shape[-element.ndim :] != element.shape:
            raise ValueError(
                f"data of shape {shape} does not end with the data dimensions {element.shape} of its dtype"
            )
        shape = shape[: -element.ndim]
    array = empty(shape, element, backend=backend, aligned_index=aligned_index, dimensions=dimensions)
    array[...] = values
    return array


def _with_data_dimensions(shape: tuple[int, ...], dtype: Any) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Append the data dimensions of a dtype to a shape, and tell how many there are."""
    dtype = np.dtype(dtype)
    return (*shape, *dtype.shape), dtype.base, dtype.ndim


def _labels(dimensions: Sequence[str] | None, ndim: int, data_dims: int) -> tuple[str, ...]:
    on_grid = ndim - data_dims
    if dimensions is None:
        given = ("I", "J", "K")[:on_grid] + tuple(str(axis) for axis in range(on_grid - 3))
    else:
        given = tuple(str(getattr(axis, "__gt_axis_name__", axis)) for axis in dimensions)
        wrong = [axis for axis in given if axis not in ("I", "J", "K") and not axis.isdigit()]
        if wrong or len(given) != on_grid:
            raise ValueError(
                f"dimensions are 'I', 'J', 'K' or numbers of data dimensions, {on_grid} for this shape, not {given!r}"
            )
    first = sum(axis.isdigit() for axis in given)
    return (*given, *(str(axis) for axis in range(first, first + data_dims)))
