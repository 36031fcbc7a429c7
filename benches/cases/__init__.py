"""The benchmark stencils: a module for each, with its C beside it.

A module has the scheme in gtscript and for NumPy, Numba and JAX, and its `CASE`, which says what the arguments are. The
C is in the header of the same name, which `benches/kernels.c` includes once for each element type.
"""

from __future__ import annotations

from benches.case import Case
from benches.cases import acoustic, cloud, copy, edges, fvt, hdiff, lap7, satvp, vadv, vdiff

CASES: dict[str, Case] = {
    module.CASE.name: module.CASE for module in (copy, lap7, hdiff, vadv, satvp, fvt, cloud, acoustic, vdiff, edges)
}
