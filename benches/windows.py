"""Parts of arrays indexed [k, j, i], for schemes on whole arrays."""

from __future__ import annotations

from typing import Any

from benches.case import HALO


def window(array: Any, i: int = 0, j: int = 0, *, wide: int = 0, high: int = 0) -> Any:
    """Return the domain shifted by so many points along I and J, with more points on both sides of I and of J.

    The last two axes of the array are J and I, with the halo around the domain; what it has before them stays.
    """
    south, west = HALO + j - high, HALO + i - wide
    north, east = array.shape[-2] - HALO + j + high, array.shape[-1] - HALO + i + wide
    return array[..., south:north, west:east]


def placed(array: Any, values: Any) -> Any:
    """Return one of JAX's arrays with other values at the points of the domain."""
    return array.at[..., HALO:-HALO, HALO:-HALO].set(values)
