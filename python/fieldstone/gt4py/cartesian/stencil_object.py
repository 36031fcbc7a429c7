"""``gt4py.cartesian.stencil_object``: stencils, as GT4Py shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from fieldstone.gtscript import stencil_object

from .definitions import AccessKind, BuildOptions, DomainInfo, FieldInfo, ParameterInfo
from .gtc.definitions import Boundary
from .utils import shash

__all__ = ["AccessKind", "DomainInfo", "FieldInfo", "FrozenStencil", "ParameterInfo", "StencilObject"]


class StencilObject(stencil_object.StencilObject):
    """A compiled stencil; called as in GT4Py, with fieldstone's checks.

    Attributes
    ----------
    definition_func : function
        What it was made of.
    """

    definition_func: Callable[..., Any]
    _build: BuildOptions
    _gt4py_backend: str

    @property
    def backend(self) -> str:
        """GT4Py's name of the backend."""
        return self._gt4py_backend

    @property
    def options(self) -> dict[str, Any]:
        """What it was made with."""
        return {name: value for name, value in self._build.as_dict().items() if name != "build_info"}

    @cached_property
    def field_info(self) -> dict[str, FieldInfo]:
        """What is done with each array parameter."""
        return {
            name: replace(info, boundary=cast("Any", Boundary(info.boundary)))
            for name, info in super().field_info.items()
        }

    @property
    def _gt_id_(self) -> str:
        """A hash of what it means."""
        return shash(self.inspect("ir"), self._gt4py_backend)

    def freeze(  # type: ignore[override]  # GT4Py's object has attributes that fieldstone's has not
        self, *, origin: Mapping[str, Sequence[int]], domain: Sequence[int]
    ) -> FrozenStencil:
        """Fix origin and domain.

        Parameters
        ----------
        origin : mapping
            The origin in each field.
        domain : sequence of int
            Points along I, J, K.
        """
        return FrozenStencil(self, dict(origin), tuple(domain))

    def __deepcopy__(self, _memo: dict[int, Any]) -> StencilObject:
        return self


@dataclass(frozen=True)
class FrozenStencil:
    """A stencil with fixed origin and domain, called with its arguments by name.

    Attributes
    ----------
    stencil_object : StencilObject
        The stencil.
    origin : dict
        The origin in each field.
    domain : tuple of int
        Points along I, J, K.
    """

    stencil_object: StencilObject
    origin: dict[str, Sequence[int]]
    domain: Sequence[int]

    def __post_init__(self) -> None:
        for name, info in self.stencil_object.field_info.items():
            origin = self.origin.get(name)
            if origin is None or len(origin) != info.ndim:
                raise ValueError(
                    f"origin of {name!r} is a tuple of {info.ndim} integers in a frozen stencil, not {origin!r}"
                )
        frozen = stencil_object.StencilObject.freeze(self.stencil_object, origin=self.origin, domain=self.domain)
        object.__setattr__(self, "_frozen", frozen)

    def __call__(self, **kwargs: Any) -> None:
        """Run the stencil."""
        self._frozen(**kwargs)  # type: ignore[attr-defined]  # set after the dataclass' own
