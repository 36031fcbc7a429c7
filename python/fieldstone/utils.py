"""What an array is to a stencil: its memory, its dims and its origin.

These look at any object the way a stencil call does, and are for code that deals with arrays it did not make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldstone import _core
from fieldstone.errors import ArgumentTypeError, DimensionsError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["as_cupy", "as_numpy", "get_dims", "get_origin"]


def as_numpy(data: Any) -> npt.NDArray[Any]:
    """Return the memory of an array as a NumPy array, without a copy.

    Parameters
    ----------
    data : array, storage, or object of the data interface
        Whatever a stencil takes as a field; numbers and sequences of them become new arrays, as in `numpy.asarray`.

    Raises
    ------
    fieldstone.errors.ArgumentTypeError
        If `data` is no array.
    """
    if type(data) is np.ndarray:
        return data
    if isinstance(data, list | tuple | int | float | complex | np.generic):
        return _core.storage("as_numpy", data, None, None, True, None, {}).to_numpy()
    return _core.storage("as_numpy", _known(data), None, None, False, None, {}).to_numpy()


def _known(data: Any) -> Any:
    if data is None:
        raise ArgumentTypeError(
            "data: None is no array; expected an array, a storage, or an object of the data interface"
        )
    return data


def as_cupy(data: Any) -> Any:
    """Return the device memory of an array as a CuPy array, without a copy.

    Parameters
    ----------
    data : array, storage, or object of the data interface
        Whatever has memory on a device. On a simulated device, the array is a `~fieldstone.storage.SimulatedArray`.

    Raises
    ------
    fieldstone.errors.GTNoSuchBufferError
        If `data` has no memory on a device.
    fieldstone.errors.DeviceError
        If the device is a GPU and CuPy is not installed.
    fieldstone.errors.ArgumentTypeError
        If `data` is no array.
    """
    if isinstance(data, _core.SimulatedArray):
        return data
    return _core.wrap_on_device(_known(data)).to_cupy()


def get_dims(storage: Any, annotation: Any = None) -> tuple[str, ...] | None:
    """Return the labels of the axes of an array, in index order.

    Parameters
    ----------
    storage : array, storage, or object of the data interface
        Looked up first: the ``dims`` of its data interface, its ``__gt_dims__``, its ``dims``.
    annotation : optional
        Looked up second: the labels of a field annotation, or an object that has them as ``dims`` or ``axes``.

    Returns
    -------
    tuple of str or None
        ``None`` if neither says.

    Raises
    ------
    fieldstone.errors.DimensionsError
        If the annotation has other labels than a field can have, or not one for each axis.
    """
    field = _core.describe_field(storage, None, "storage")
    dims: tuple[str, ...] | None = field["dims"]
    if dims is not None or annotation is None:
        return dims
    labels = _labels_of(annotation)
    if len(labels) != len(field["shape"]):
        raise DimensionsError(
            f"annotation: {labels} has {len(labels)} labels, but the storage has {len(field['shape'])} axes; "
            "give an annotation with one label per axis, or a storage that says what its axes are"
        )
    return labels


def _labels_of(annotation: Any) -> tuple[str, ...]:
    labels = getattr(annotation, "dims", None) or getattr(annotation, "axes", None) or annotation
    if not isinstance(labels, Sequence) or not all(isinstance(label, str) for label in labels):
        raise ArgumentTypeError(
            f"annotation: expected labels such as ('I', 'J', 'K') or an annotation that has them, got {annotation!r}"
        )
    for label in labels:
        if label not in ("I", "J", "K") and not label.isdecimal():
            raise DimensionsError(
                f"annotation: {label!r} in {annotation!r} is no label of an axis; expected 'I', 'J', 'K', or "
                "'0', '1', ... for data dimensions"
            )
    # The labels of an annotation are strings of a class of their own.
    return (*map(str, labels), *(str(number) for number in range(_data_dimensions(annotation))))


def _data_dimensions(annotation: Any) -> int:
    """Count the data dimensions that the element type of an annotation carries, as ``(float, (3,))`` does."""
    dtype = getattr(annotation, "dtype", None)
    return len(dtype[1]) if isinstance(dtype, tuple) and len(dtype) == 2 else 0


def get_origin(data: Any) -> tuple[int, ...] | None:
    """Return the index at which the compute domain of an array begins.

    Parameters
    ----------
    data : array, storage, or object of the data interface
        Looked up in this order: its ``default_origin``, its ``__gt_origin__``, the lower halo of its data interface.

    Returns
    -------
    tuple of int or None
        ``None`` if it does not say.
    """
    field = _core.describe_field(data, None, "data")
    if field["origin"] is not None:
        return tuple(field["origin"])
    return None if field["halo"] is None else tuple(lower for lower, _ in field["halo"])
