"""The form that the functions of ``gt4py.storage`` had before GT4Py 1.0.

``zeros(backend, default_origin, shape, dtype, mask=None, managed_memory=False)`` makes a storage that remembers where
the compute domain begins, and that a stencil needs no ``origin=`` for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fieldstone.storage import Storage

__all__ = ["in_older_form"]

F = TypeVar("F", bound=Callable[..., Any])


def in_older_form(make: Callable[..., Storage], order: Sequence[str]) -> Callable[[F], F]:
    """Let a function be called in its older form as well.

    Parameters
    ----------
    make : callable
        What makes the storage in that case.
    order : sequence of str
        Names of the parameters in the older form.
    """

    def decorate(newer: F) -> F:
        place = order.index("backend")

        @functools.wraps(newer)
        def either(*args: Any, **kwargs: Any) -> Any:
            if "default_origin" not in kwargs and not (len(args) > place and isinstance(args[place], str)):
                return newer(*args, **kwargs)
            given = dict(zip(order, args, strict=False)) | kwargs
            return _make(make, given)

        return either  # type: ignore[return-value]  # it takes what the function takes, and more

    return decorate


def _make(make: Callable[..., Storage], given: dict[str, Any]) -> Storage:
    mask = given.pop("mask", None)
    managed = given.pop("managed_memory", False)
    backend = given.pop("backend")
    axes = _axes(mask)
    shape = given.pop("shape", None)
    keywords = {name: value for name, value in given.items() if value is not None}
    if axes is not None:
        keywords["axes"] = axes
    if managed:
        keywords["managed"] = "cuda"
    if make.__name__ == "storage":
        return make(keywords.pop("data"), defaults=backend, **keywords)
    return make(shape, defaults=backend, **keywords)


def _axes(mask: Any) -> str | None:
    """Names of the axes that are there, of a mask of booleans or their names."""
    if mask is None:
        return None
    if all(isinstance(there, bool) for there in mask):
        return "".join(axis for axis, there in zip("IJK", mask, strict=False) if there)
    return "".join(str(axis) for axis in mask)
