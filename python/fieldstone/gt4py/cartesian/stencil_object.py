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

    def __str__(self) -> str:
        lines = {
            "I/O fields": self.field_info,
            "Parameters": self.parameter_info,
            "Constants": self.constants,
            "Version": self._gt_id_,
            f"Definition ({self.definition_func})": f"\n{self.source}",
        }
        told = "\n".join(f"    - {what}: {value}" for what, value in lines.items())
        place = f"{self.options['module']}.{self.options['name']}"
        return f"\n<StencilObject: {place}> [backend={self.backend!r}]\n{told}\n"

    def __deepcopy__(self, _memo: object) -> StencilObject:
        return self
