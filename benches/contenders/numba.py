"""Numba: loops over rows on all cores, compiled for the element type."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from benches.arguments import Arguments
from benches.contenders import Contender, sweeping
from benches.loops import prange


def contender(arguments: Arguments) -> Contender:
    """Return the case on contiguous arrays indexed [k, j, i]."""
    arrays, scalars = arguments.kji(), tuple(arguments.case.scalars.values())
    loops = _compiled(arguments.case.numba)
    return Contender("Numba", "Numba", lambda: loops(*arrays, *scalars), _sweep, arguments)


@functools.cache
def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    import numba

    compiled: Callable[..., None] = numba.njit(parallel=True, error_model="numpy")(function)
    return compiled


def _moved(source: Any, target: Any) -> None:
    for n in prange(len(source)):
        target[n] = source[n]


def _sweep() -> None:
    _compiled(_moved)(*sweeping.arrays())
