"""``gt4py.cartesian.stencil_object``: stencils, as GT4Py shows them."""

from __future__ import annotations

from fieldstone._core import FrozenStencil
from fieldstone.gtscript import stencil_object

from .definitions import AccessKind, DomainInfo, FieldInfo, ParameterInfo

__all__ = ["AccessKind", "DomainInfo", "FieldInfo", "FrozenStencil", "ParameterInfo", "StencilObject"]


class StencilObject(stencil_object.StencilObject):
    """A compiled stencil; called as in GT4Py, with fieldstone's checks."""

    @property
    def backend(self) -> str:
        """GT4Py's name of the backend."""
        recipe = self.recipe
        return recipe.backend if recipe is not None else super().backend

    def __deepcopy__(self, _memo: object) -> StencilObject:
        return self
