"""``gt4py.cartesian.lazy_stencil``: stencils that are made when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import backend as backends

if TYPE_CHECKING:
    from .stencil_object import StencilObject

__all__ = ["LazyStencil"]


class LazyStencil:
    """A stencil that is made on its first use; what `gtscript.lazy_stencil` returns.

    Parameters
    ----------
    make : callable
        Makes the stencil.
    backend : str
        GT4Py's name of the backend.
    """

    def __init__(self, make: Callable[[], StencilObject], backend: str) -> None:
        self._make = make
        self._backend = backend

    @cached_property
    def implementation(self) -> StencilObject:
        """The stencil."""
        return self._make()

    @property
    def backend(self) -> type[backends.Backend]:
        """The backend, as `backend.from_name` gives it."""
        return backends.from_name(self._backend)

    @property
    def field_info(self) -> dict[str, Any]:
        """What is done with each array parameter."""
        return self.implementation.field_info

    def check_syntax(self) -> None:
        """Find what is wrong with the definition, if it is."""
        _ = self.implementation

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run the stencil."""
        self.implementation(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run the stencil with everything given."""
        self.implementation.run(*args, **kwargs)
