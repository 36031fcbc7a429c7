"""``gt4py.cartesian``: stencils on structured grids."""

from . import (
    backend,
    config,
    definitions,
    frontend,
    gt_cache_manager,
    gtscript,
    gtscript_imports,
    lazy_stencil,
    stencil_object,
    type_hints,
)
from .stencil_object import StencilObject

__all__ = [
    "StencilObject",
    "backend",
    "config",
    "definitions",
    "frontend",
    "gt_cache_manager",
    "gtscript",
    "gtscript_imports",
    "lazy_stencil",
    "stencil_object",
    "type_hints",
]


def __getattr__(name: str) -> object:
    from fieldstone.gt4py import _names

    raise AttributeError(_names.missing_attribute(__name__, name))
