"""Plain arrays with the layout and alignment that a backend is fastest with.

For those who want no storages: the functions have the names of NumPy's and return `numpy.ndarray`, for a device CuPy's
array (for a simulated one a `~fieldstone.storage.SimulatedArray`). Either `backend` says where and how to allocate, or
`alignment_size`, `device` and `layout` do; giving both is an error.

Examples
--------
>>> from fieldstone import arrays
>>> field = arrays.zeros((64, 64, 40), backend="cpu_ifirst")
>>> field.strides
(8, 512, 32768)
>>> arrays.empty((64, 64, 40), (float, (3,)), dims="IJK").shape
(64, 64, 40, 3)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypedDict, Unpack

from fieldstone import _core
from fieldstone.storage import Dims, Place, Shape

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "Parameters",
    "empty",
    "empty_like",
    "from_array",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


class Parameters(TypedDict, total=False):
    """Keyword arguments of every function that makes an array; ``None`` is the same as leaving one out.

    Attributes
    ----------
    aligned_index : sequence of int
        Index of the point whose address is aligned, best the origin of the compute domain. Fallback: all 0.
    alignment_size : int
        The address of that point is a multiple of this many bytes. Fallback: 1, no alignment.
    backend : str
        Name of a preset for `alignment_size`, `device` and `layout`, which must not be given beside it.
    device : {"cpu", "gpu"}
        Where to allocate. Also ``"gpu:N"``, ``("gpu", N)``, or a `Device`.
    dims : str or sequence of str
        Labels of the axes, from which the best layout is found: ``"I"``, ``"J"``, ``"K"``, and ``"0"``, ``"1"``, ...
        for data dimensions. Fallback: I, J, K, 0, 1, ...
    layout : sequence of int or callable
        The order of the strides: the axis with entry 0 has the largest one. A callable is called with the labels and
        returns the layout. Fallback: that of the data, else C order.
    """

    aligned_index: Sequence[SupportsIndex] | None
    alignment_size: SupportsIndex | None
    backend: str | None
    device: Place | None
    dims: Dims | None
    layout: Sequence[SupportsIndex] | Callable[[tuple[str, ...]], Sequence[int]] | None


def empty(shape: Shape, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array with undefined values.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_array("empty", shape, None, dtype, None, parameters)


def zeros(shape: Shape, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array filled with 0.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_array("zeros", shape, None, dtype, 0, parameters)


def ones(shape: Shape, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array filled with 1.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_array("ones", shape, None, dtype, 1, parameters)


def full(shape: Shape, fill_value: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array filled with one value.

    Parameters
    ----------
    shape : int or sequence of int
        Number of points along each axis.
    fill_value : number
        What every element is set to.
    dtype : dtype_like, default float64
        Type of the elements. A pair such as ``(float, (3,))`` adds data dimensions to the shape.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_array("full", shape, None, dtype, _core.one_value("full", fill_value, None), parameters)


def empty_like(data: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array like another, with undefined values.

    Parameters
    ----------
    data : array_like
        What the shape, and every parameter not given, are taken from.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_array("empty_like", None, data, dtype, None, parameters)


def zeros_like(data: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array like another, filled with 0.

    Parameters
    ----------
    data : array_like
        What the shape, and every parameter not given, are taken from.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_array("zeros_like", None, data, dtype, 0, parameters)


def ones_like(data: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array like another, filled with 1.

    Parameters
    ----------
    data : array_like
        What the shape, and every parameter not given, are taken from.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    return _core.allocate_array("ones_like", None, data, dtype, 1, parameters)


def full_like(data: Any, fill_value: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array like another, filled with one value.

    Parameters
    ----------
    data : array_like
        What the shape, and every parameter not given, are taken from.
    fill_value : number
        What every element is set to.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    value = _core.one_value("full_like", fill_value, None)
    return _core.allocate_array("full_like", None, data, dtype, value, parameters)


def from_array(data: Any, dtype: Any = None, **parameters: Unpack[Parameters]) -> npt.NDArray[Any]:
    """Allocate an array with a copy of the values of another.

    Parameters
    ----------
    data : array_like
        What the values, and every parameter not given, are taken from.
    dtype : dtype_like, optional
        Type of the elements; that of `data` if not given.
    **parameters
        See `Parameters`.
    """
    return _core.copy_to_array("from_array", data, dtype, parameters)
