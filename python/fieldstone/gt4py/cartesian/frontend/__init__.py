"""``gt4py.cartesian.frontend``: where the errors of a definition come from."""

from . import exceptions, gtscript_frontend
from .base import REGISTRY, Frontend, from_name

__all__ = ["REGISTRY", "Frontend", "exceptions", "from_name", "gtscript_frontend"]
