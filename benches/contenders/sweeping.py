"""Arrays that displace what is in the caches."""

from __future__ import annotations

import functools

import numpy as np

# Of each of the two arrays that are moved, so that the last cache of usual machines is swept (bytes).
SWEPT = 64 << 20


@functools.cache
def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays whose copy sweeps the caches."""
    return np.ones(SWEPT // 8), np.zeros(SWEPT // 8)
