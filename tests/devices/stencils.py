"""Stencils on a device whose results are known beforehand."""

from __future__ import annotations

import numpy as np

from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval


@gtscript.stencil(backend="gpu")
def scale(inp: Field[np.float64], out: Field[np.float64], factor: float):
    with computation(PARALLEL), interval(...):
        out = factor * inp


@gtscript.stencil(backend="gpu")
def accumulate(total: Field[np.float64], more: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        total = total + more
