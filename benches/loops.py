"""Numba's parallel loops and rows of arrays for them; plain Python where there is no Numba."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from benches.case import HALO

if importlib.util.find_spec("numba") is not None:
    import numba

    prange: Any = numba.prange
    inlined: Callable[..., Any] = numba.njit(inline="always")
else:
    prange = range

    def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
        """Leave it as it is."""
        return function


@inlined
def row(array, k, j, i):
    """Return the row of the domain's points along I, shifted by so many."""
    return array[k, HALO + j, HALO + i : array.shape[2] - HALO + i]


@inlined
def wide_row(array, k, j, i):
    """Return the row with one more point on both sides, shifted by so many."""
    return array[k, HALO + j, HALO + i - 1 : array.shape[2] - HALO + i + 1]


@inlined
def domain(array):
    """Return the points of the domain along K, J and I."""
    nk, nj, ni = array.shape
    return nk, nj - 2 * HALO, ni - 2 * HALO
