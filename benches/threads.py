"""One number of threads for all contenders."""

from __future__ import annotations

import os
import sys

import fieldstone
from benches.contenders import c


def available() -> int:
    """Return the number of cores this process may run on."""
    return len(os.sched_getaffinity(0))


def limit(threads: int) -> None:
    """Let fieldstone, OpenMP and Numba use this many threads from now on."""
    fieldstone.set_num_threads(threads)
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(threads)
    library = c.library()
    if library is not None:
        # After Numba, which may start OpenMP's threads and sets their number then.
        library.omp_set_num_threads(threads)
