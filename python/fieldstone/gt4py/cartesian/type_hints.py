"""``gt4py.cartesian.type_hints``: types of what decorators take."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

__all__ = ["AnnotatedStencilFunc", "AnyStencilFunc", "StencilFunc"]


class StencilFunc(Protocol):
    """A function that a stencil is made of."""

    __name__: str
    __module__: str

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Take fields and numbers."""


AnnotatedStencilFunc: TypeAlias = StencilFunc
AnyStencilFunc: TypeAlias = StencilFunc
