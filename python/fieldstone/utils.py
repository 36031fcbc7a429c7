"""What an array is to a stencil: its memory, its dims and its origin.

These look at any object the way a stencil call does, and are for code that deals with arrays it did not make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from fieldstone import _core
from fieldstone.errors import ArgumentTypeError, GTNoSuchBufferError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["as_cupy", "as_numpy", "get_dims", "get_origin"]


def as_numpy(data: Any) -> npt.NDArray[Any]:
    """Return the memory of an array as a NumPy array, without a copy.

    Parameters
    ----------
    data : array, storage, or object of the data interface
        Whatever a stencil takes as a field.

    Raises
    ------
    fieldstone.errors.ArgumentTypeError
        If `data` has no memory of its own, such as a list.
    """
    return data if type(data) is np.ndarray else _core.storage("as_numpy", data, None, None, False, None, {}).to_numpy()


def as_cupy(data: Any) -> NoReturn:
    """Return the device memory of an array as a CuPy array.

    Raises
    ------
    fieldstone.errors.GTNoSuchBufferError
        Always: this version knows host memory only.
    """
    raise GTNoSuchBufferError(
        f"data: this version of fieldstone supports no device, so a {type(data).__name__} has no buffer there; "
        "as_numpy(data) gives its host memory"
    )


def get_dims(data: Any, annotation: Any = None) -> tuple[str, ...] | None:
    """Return the labels of the axes of an array, in index order.

    Parameters
    ----------
    data : array, storage, or object of the data interface
        Looked up first: the ``dims`` of its data interface, its ``__gt_dims__``, its ``dims``.
    annotation : optional
        Looked up second: the labels of a field annotation, or an object that has them as ``dims`` or ``axes``.

    Returns
    -------
    tuple of str or None
        ``None`` if neither says.
    """
    dims: tuple[str, ...] | None = _core.describe_field(data, None, "data")["dims"]
    if dims is not None or annotation is None:
        return dims
    labels = getattr(annotation, "dims", None) or getattr(annotation, "axes", None) or annotation
    if not isinstance(labels, Sequence):
        raise ArgumentTypeError(
            f"annotation: expected labels such as ('I', 'J', 'K') or an annotation that has them, got {annotation!r}"
        )
    return tuple(str(label) for label in labels)


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
