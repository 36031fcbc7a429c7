"""How many floating-point operations the machine does in a second, when nothing else limits it."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from benches.contenders import c

STEPS, VECTORS, OPERATIONS = 200_000, 16, 2


def operations(dtype: str, threads: int) -> float | None:
    """Return operations per second of multiplications with additions; None where there is no C compiler."""
    library = c.library()
    if library is None:
        return None
    kernel = library[f"peak_{dtype}"]
    kernel.restype = ctypes.c_double if dtype == "float64" else ctypes.c_float
    kernel.argtypes = [ctypes.c_long]
    lanes = ctypes.c_int.in_dll(library, "vector_bytes").value // np.dtype(dtype).itemsize
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        kernel(STEPS)
        times.append(time.perf_counter() - begin)
    return STEPS * VECTORS * OPERATIONS * lanes * threads / min(times)
