"""``gt4py.storage.cartesian.utils``: what an array says of itself, and copies of it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["asarray", "cpu_copy", "dimensions_to_mask", "get_dims", "get_origin"]


def cpu_copy(array: Any) -> npt.NDArray[Any]:
    """Copy an array, wherever it is, to a NumPy array.

    Parameters
    ----------
    array : array
        Of any kind; one that lives on a GPU only is fetched with its own ``get`` or ``to_numpy``.
    """
    for fetch in ("get", "to_numpy"):
        if hasattr(array, fetch) and not isinstance(array, np.ndarray):
            return np.array(getattr(array, fetch)())
    return np.array(array)


def asarray(array: Any, *, device: Literal["cpu", "gpu"] | None = None) -> Any:
    """Give an array that stencils take.

    Parameters
    ----------
    array : array_like
        Or an object with an attribute ``ndarray``.
    device : {"cpu", "gpu"}, optional
        Where it is to be: a NumPy array for ``"cpu"``; for ``"gpu"`` the object must be on the device already.
    """
    array = getattr(array, "ndarray", array)
    if device not in (None, "cpu", "gpu"):
        raise ValueError(f"device is 'cpu' or 'gpu', not {device!r}")
    if device == "gpu" or (device is None and hasattr(array, "__cuda_array_interface__")):
        return array
    if device is None and not (hasattr(array, "__array_interface__") or hasattr(array, "__array__")):
        raise TypeError(f"{type(array).__name__!r} is no array")
    return np.asarray(array)


def get_dims(obj: Any) -> tuple[str, ...] | None:
    """Give the labels in ``__gt_dims__``, None without."""
    dims = getattr(obj, "__gt_dims__", None)
    return None if dims is None else tuple(str(dim) for dim in dims)


def get_origin(obj: Any) -> tuple[int, ...] | None:
    """Give the index in ``__gt_origin__``, None without."""
    origin = getattr(obj, "__gt_origin__", None)
    return None if origin is None else tuple(int(index) for index in origin)


def dimensions_to_mask(dimensions: tuple[str, ...]) -> tuple[bool, ...]:
    """Tell which of I, J, K are among labels, and append ``True`` for each data dimension."""
    return (*(axis in dimensions for axis in "IJK"), *(True for axis in dimensions if axis.isdigit()))
