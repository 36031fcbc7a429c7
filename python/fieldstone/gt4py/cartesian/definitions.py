"""``gt4py.cartesian.definitions``: what a stencil says of itself, and the base classes of errors."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from typing import Any

from fieldstone.errors import GTScriptError as GTError
from fieldstone.errors import GTSemanticError, GTSpecificationError, GTSyntaxError
from fieldstone.gtscript.stencil_object import AccessKind, DomainInfo, FieldInfo, ParameterInfo

from .gtc.definitions import Boundary, CartesianSpace

__all__ = [
    "LITERAL_FLOAT_PRECISION",
    "LITERAL_INT_PRECISION",
    "AccessKind",
    "Boundary",
    "BuildOptions",
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


@dataclass
class BuildOptions:
    """What a stencil was made with."""

    name: str
    module: str
    format_source: bool = True
    backend_opts: dict[str, Any] = field(default_factory=dict)
    build_info: dict[str, Any] | None = None
    rebuild: bool = False
    raise_if_not_cached: bool = False
    cache_settings: dict[str, Any] = field(default_factory=dict)
    literal_int_precision: int = LITERAL_INT_PRECISION
    literal_float_precision: int = LITERAL_FLOAT_PRECISION

    @property
    def qualified_name(self) -> str:
        """Name with the module before it."""
        return f"{self.module}.{self.name}"

    def as_dict(self) -> dict[str, Any]:
        """Give all options by name."""
        return dict(vars(self))
