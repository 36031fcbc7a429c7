"""Stencils that are compiled when they are first used."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from .. import _core
from .cache_options import cache_options
from .info import FieldInfo
from .recipe import Recipe
from .stencil import checked_backend
from .stencil_object import StencilObject

if TYPE_CHECKING:
    from .explanation import Explanation

__all__ = ["BackendName", "LazyStencil", "lazy_stencil"]


class BackendName(str):
    """Name of a backend."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name itself."""
        return str(self)


class LazyStencil:
    """A stencil that is compiled when it is first used; made by `lazy_stencil`.

    Parameters
    ----------
    recipe : Recipe
        What it is made of.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._made: StencilObject | None = None
        # Held while it is compiled, so that threads that use it at once compile it once.
        self._lock = threading.Lock()

    @property
    def implementation(self) -> StencilObject:
        """The stencil, compiled by now."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self.recipe.build()
        return self._made

    @property
    def backend(self) -> BackendName:
        """How it is executed; asking compiles nothing."""
        return BackendName(self.recipe.backend)

    @property
    def definition_func(self) -> Callable[..., Any] | None:
        """The function it is made of."""
        return self.recipe.function

    @property
    def field_info(self) -> dict[str, FieldInfo]:
        """What is done with each array parameter; asking compiles it."""
        return self.implementation.field_info

    def check_syntax(self) -> None:
        """Compile the text as far as no backend is needed.

        Raises
        ------
        GTScriptError
            The text is wrong; the message shows where.
        """
        self.recipe.define()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Call the stencil, compiled by now."""
        self.implementation(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run the stencil, compiled by now; see :meth:`StencilObject.run`."""
        self.implementation.run(*args, **kwargs)

    def freeze(self, *, origin: Any, domain: Any) -> _core.FrozenStencil:
        """Fix origin and domain of the stencil, compiled by now."""
        return self.implementation.freeze(origin=origin, domain=domain)

    def compile(self, *args: Any, **kwargs: Any) -> StencilObject:
        """Compile the stencil ahead of its first call; see :meth:`StencilObject.compile`."""
        return self.implementation.compile(*args, **kwargs)

    def inspect(self, form: str) -> str:
        """Show what the stencil becomes; see :meth:`StencilObject.inspect`."""
        return self.implementation.inspect(form)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Explain the stencil; see :meth:`StencilObject.explain`."""
        return self.implementation.explain(*args, **kwargs)

    def __copy__(self) -> Self:
        """Give the stencil itself: it never changes."""
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Give the stencil itself: it never changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to make it again; elsewhere it is compiled at once."""
        return self.recipe.reduced()

    def __repr__(self) -> str:
        state = "compiled" if self._made is not None else "not compiled yet"
        return f"<LazyStencil {self.recipe.title} backend={str(self.backend)!r} {state}>"


def lazy_stencil(
    backend: str | None = None,
    definition: Any = None,
    *,
    build_info: dict[str, Any] | None = None,
    dtypes: Mapping[Any, Any] | None = None,
    externals: Mapping[str, Any] | None = None,
    format_source: bool = True,
    name: str | None = None,
    rebuild: bool = False,
    cache_settings: Mapping[str, Any] | None = None,
    raise_if_not_cached: bool = False,
    literal_int_precision: int | None = None,
    literal_float_precision: int | None = None,
    ignore: Sequence[str] = (),
    eager: bool = False,
    check_syntax: bool = True,
    **options: Any,
) -> Any:
    """Make a stencil of a function that is compiled when it is first used.

    Parameters
    ----------
    backend : str, optional
        How it is executed; ``"numpy"`` by default.
    definition, build_info, dtypes, externals, format_source, name, rebuild, cache_settings, raise_if_not_cached
        As in :func:`fieldstone.gtscript.stencil`.
    literal_int_precision, literal_float_precision, ignore, **options
        As in :func:`fieldstone.gtscript.stencil`.
    eager : bool, optional
        Whether to compile at once and return the stencil itself.
    check_syntax : bool, optional
        Whether to find the errors of the text at once.

    Returns
    -------
    LazyStencil or StencilObject
        What is called with fields and scalars; without `definition`, a decorator.

    Raises
    ------
    GTScriptError
        The text is wrong; the message shows where.
    """
    recipe = Recipe(
        backend=checked_backend(backend, options, default="numpy"),
        externals=dict(externals) if isinstance(externals, Mapping) else externals,
        dtypes=dtypes,
        name=name,
        literal_int_precision=literal_int_precision,
        literal_float_precision=literal_float_precision,
        format_source=format_source,
        ignore=ignore,
        options={**cache_options(rebuild, raise_if_not_cached, cache_settings), **options},
        build_info=build_info,
        namespace=sys._getframe(1).f_locals,
    )
    recipe.check()

    def make(function: Any) -> StencilObject | LazyStencil:
        lazy = LazyStencil(recipe.with_definition(function))
        if eager:
            return lazy.implementation
        if check_syntax:
            lazy.check_syntax()
        return lazy

    return make if definition is None else make(definition)
