"""``gt4py.cartesian.definitions``: what a stencil says of itself, and the base classes of errors."""

from __future__ import annotations

import os
import platform

from fieldstone.errors import GTScriptError as GTError
from fieldstone.errors import GTSemanticError, GTSpecificationError, GTSyntaxError
from fieldstone.gtscript.info import AccessKind, Boundary, DomainInfo, FieldInfo, ParameterInfo

from .gtc.definitions import CartesianSpace

__all__ = [
    "LITERAL_FLOAT_PRECISION",
    "LITERAL_INT_PRECISION",
    "AccessKind",
    "Boundary",
    "CartesianSpace",
    "DomainInfo",
    "FieldInfo",
    "GTError",
    "GTSemanticError",
    "GTSpecificationError",
    "GTSyntaxError",
    "ParameterInfo",
]

_WORD = platform.architecture()[0][:2]

LITERAL_INT_PRECISION = int(os.environ.get("GT4PY_LITERAL_INT_PRECISION", _WORD))
"""Bits of integer literals, of ``int`` in definitions and of ``int(…)``; ``GT4PY_LITERAL_INT_PRECISION`` sets it."""
LITERAL_FLOAT_PRECISION = int(os.environ.get("GT4PY_LITERAL_FLOAT_PRECISION", _WORD))
"""Bits of real literals, of ``float`` in definitions and of ``float(…)``; ``GT4PY_LITERAL_FLOAT_PRECISION`` sets it."""
