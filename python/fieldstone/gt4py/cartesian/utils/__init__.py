"""``gt4py.cartesian.utils``: small functions that models import."""

from __future__ import annotations

import collections.abc
import hashlib
from typing import Any

__all__ = ["flatten", "is_collection", "listify", "shash", "warn_experimental_feature"]


def shash(*args: Any) -> str:
    """Hash what objects look like.

    Parameters
    ----------
    *args
        Objects whose ``repr`` counts.
    """
    return hashlib.sha256("\0".join(map(repr, args)).encode()).hexdigest()


def is_collection(value: Any) -> bool:
    """Tell whether something is a collection and no string."""
    return isinstance(value, collections.abc.Collection) and not isinstance(value, str | bytes)


def listify(value: Any) -> list[Any]:
    """Make a list of a collection, or of one object."""
    return list(value) if is_collection(value) else [value]


def flatten(nested: Any) -> list[Any]:
    """List what is in nested collections, without the nesting."""
    return [item for part in nested for item in flatten(part)] if is_collection(nested) else [nested]


def warn_experimental_feature(*, feature: str, ADR: str | None = None) -> None:
    """Do nothing: what is experimental in GT4Py need not be so here."""
