"""Fills and copies by the C library with all cores (`bandwidth.c`): what the machine can do."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from collections.abc import Callable, Iterator

import numpy as np

from benches import compiled
from benches.contenders import WARM_UP
from benches.turns import PAUSE

# Blocks from this size on may be faster with stores past the caches (bytes).
LARGE = 256 << 10


def let_threads_rest() -> None:
    """Keep idle threads of OpenMP from spinning for long; to be called before anything that uses it is loaded."""
    os.environ.setdefault("GOMP_SPINCOUNT", "100000")


@functools.cache
def library(*sources: str) -> ctypes.CDLL:
    """Return the functions of a source, the first of these; RuntimeError where there is no C compiler."""
    found = compiled.library(*(sources or ("bandwidth.c",)))
    if found is None:
        raise RuntimeError("gcc is needed to measure what the machine can do; install it, or name another one in CC")
    return found


def copies(target: np.ndarray, source: np.ndarray) -> Iterator[tuple[str, Callable[[int], float]]]:
    """Contenders that copy one contiguous array to another."""
    yield from _variants("memcpy", "copy_bytes", target.nbytes, target.ctypes.data, source.ctypes.data)


def fills(target: np.ndarray) -> Iterator[tuple[str, Callable[[int], float]]]:
    """Contenders that fill a contiguous array."""
    yield from _variants("memset", "fill_bytes", target.nbytes, target.ctypes.data)


def new_blocks(function: str, nbytes: int, *arguments: int) -> Iterator[tuple[str, Callable[[int], float]]]:
    """Contenders that allocate, touch and free memory: ``new_block``, ``new_zeros``, ``new_filled``, ``new_copy``."""
    yield from _variants("C", function, nbytes, *arguments)


def _variants(name: str, function: str, nbytes: int, *addresses: int) -> Iterator[tuple[str, Callable[[int], float]]]:
    touches = function not in ("new_block", "new_zeros")
    yield name, _contender(function, False, nbytes, *addresses)
    if touches and nbytes >= LARGE:
        yield f"{name}, past the caches", _contender(function, True, nbytes, *addresses)


def _contender(function: str, stream: bool, nbytes: int, *addresses: int) -> Callable[[int], float]:
    kernel = library()[function]
    kernel.restype = None
    kernel.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t, *[ctypes.c_void_p] * len(addresses)]

    return timed(lambda calls: kernel(calls, stream, nbytes, *addresses))


def timed(kernel: Callable[[int], object]) -> Callable[[int], float]:
    """Return a contender of a function of C that uses OpenMP and is called with how often to do its work."""

    def run(calls: int) -> float:
        awake = time.perf_counter() + WARM_UP
        while time.perf_counter() < awake:
            kernel(1)
        begin = time.perf_counter()
        kernel(calls)
        elapsed = time.perf_counter() - begin
        # Threads of OpenMP go on to spin, on cores that others need.
        time.sleep(PAUSE)
        return elapsed

    return run
