"""The smallest and the largest value of a storage's compute domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fieldstone import _core
from fieldstone._core import Storage
from fieldstone.errors import DeviceError


def extremes(storage: Storage) -> str:
    """Tell the range of the values, NaN aside; of complex ones, that of their absolute values."""
    domain = storage.domain_view
    if domain.size == 0:
        return "of no points"
    try:
        values = _core.values_fetched(domain)
    except DeviceError as error:
        return f"unknown: {error}"
    if values.dtype.kind == "c":
        return f"of |values| {_extremes(np.absolute(values))}"
    return _extremes(values)


def _extremes(values: npt.NDArray[Any]) -> str:
    low, high = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    if values.dtype.kind != "f":
        return f"{low} to {high}"
    if np.isnan(low):
        return "NaN"
    # The smallest of all values is NaN if any of them is.
    also = ", and NaN" if np.isnan(np.minimum.reduce(values, axis=None)) else ""
    return f"{low:.6g} to {high:.6g}{also}"
