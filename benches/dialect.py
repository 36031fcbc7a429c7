"""The words of gtscript: fieldstone's, or GT4Py's in an interpreter that has no fieldstone.

The benchmark stencils are written in what both understand, so that each package compiles the same text.
"""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("fieldstone") is not None:
    from fieldstone import gtscript
    from fieldstone.gtscript import IJ, Field, I, J, K
else:
    from gt4py.cartesian import gtscript
    from gt4py.cartesian.gtscript import IJ, Field, I, J, K

__all__ = ["IJ", "Field", "I", "J", "K", "gtscript"]
