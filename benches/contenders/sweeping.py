"""Arrays that displace what is in the caches."""

from __future__ import annotations

import functools

import numpy as np

from benches.machine import last_cache

# Of each of the two arrays that are moved, at least (bytes).
LEAST = 64 << 20


@functools.cache
def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays whose copy sweeps the caches, each as large as the last one."""
    count = max(LEAST, last_cache()) // 8
    return np.ones(count), np.zeros(count)
