"""What a stencil is made of: by it, the same stencil can be made again, elsewhere or for another backend."""

from __future__ import annotations

import importlib
import inspect
import pickle
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from .. import __version__, _core
from ..errors import ArgumentTypeError
from . import capture

if TYPE_CHECKING:
    from .stencil_object import StencilObject

__all__ = ["BUILD_TIMES", "Recipe", "again"]

BUILD_TIMES = ("parse_time", "module_time", "codegen_time", "build_time", "load_time")
"""What ``build_info`` tells, in seconds."""


@dataclass(frozen=True)
class Recipe:
    """What a stencil is made of.

    Attributes
    ----------
    backend : str
        How it is executed.
    function : function, optional
        Whose text is compiled; None until it is known.
    externals, dtypes, name, literal_int_precision, literal_float_precision, format_source, ignore
        As in :func:`fieldstone.gtscript.stencil`.
    options : mapping
        Options of the backend.
    build_info : dict, optional
        To be filled with times.
    namespace : mapping, optional
        Names of the place where it is defined, which postponed annotations may use.
    """

    backend: str
    function: FunctionType | None = None
    externals: Mapping[str, Any] | None = None
    dtypes: Mapping[Any, Any] | None = None
    name: str | None = None
    literal_int_precision: int | None = None
    literal_float_precision: int | None = None
    format_source: bool = True
    ignore: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    build_info: dict[str, Any] | None = None
    namespace: Mapping[str, Any] | None = field(default=None, repr=False)

    def check(self) -> None:
        """Refuse keywords of the wrong kind."""
        kinds: dict[str, tuple[Any, type, str]] = {
            "build_info": (self.build_info, dict, "a dict to fill"),
            "format_source": (self.format_source, bool, "True or False"),
        }
        for keyword, (value, kind, expected) in kinds.items():
            if not isinstance(value, kind) and not (value is None and kind is dict):
                raise ArgumentTypeError(f"{keyword} is {expected}, not {value!r}")

    def of(self, definition: Any) -> StencilObject:
        """Make the stencil of a function.

        Parameters
        ----------
        definition : function, StencilObject or LazyStencil
            Whose text is compiled; of a stencil, the function it was made of.
        """
        return self.with_definition(definition).build()

    def with_definition(self, definition: Any) -> Recipe:
        """Say which function it is made of."""
        function = capture.plain_function(getattr(definition, "definition_func", definition), "a stencil")
        # Only what annotations name is kept: the place may be a function with large arrays in it.
        postponed = " ".join(text for text in inspect.get_annotations(function).values() if isinstance(text, str))
        earlier = getattr(definition, "recipe", None)
        known = {**(self.namespace or {}), **((earlier.namespace or {}) if earlier is not None else {})}
        named = set(re.findall(r"\w+", postponed)).intersection(known)
        return replace(self, function=function, namespace={name: known[name] for name in named})

    @property
    def title(self) -> str:
        """Name of the stencil, without a module before it."""
        return (self.name or self._function.__name__).rsplit(".", 1)[-1]

    @property
    def module(self) -> str:
        """Name of the module that it counts to."""
        return self.name.rsplit(".", 1)[0] if self.name and "." in self.name else self._function.__module__

    @property
    def _function(self) -> FunctionType:
        function = cast("FunctionType | None", self.function)
        if function is None:
            raise ArgumentTypeError("a stencil is made of a function, and there is none")
        return function

    @property
    def runs_on(self) -> str:
        """Name of the backend that executes it."""
        return self.backend

    @property
    def base(self) -> type[StencilObject]:
        """The class of which its own is a subclass."""
        from .stencil_object import StencilObject

        return StencilObject

    def define(self) -> _core.Definition:
        """Compile the text as far as no backend is needed."""
        from .stencil import define

        return define(
            self._function,
            name=self.name,
            externals=self.externals,
            dtypes=self.dtypes,
            literal_int_precision=self.literal_int_precision,
            literal_float_precision=self.literal_float_precision,
            namespace=self.namespace,
            ignore=self.ignore,
        )

    def build(self) -> StencilObject:
        """Make the stencil."""
        info = self.build_info if self.build_info is not None else {}
        times = dict.fromkeys(BUILD_TIMES, 0.0)
        info.update(times)
        start = time.perf_counter()
        compiled = self.define()
        times["parse_time"] = time.perf_counter() - start
        start = time.perf_counter()
        kind = self._class(self.base, compiled)
        made = kind(compiled, self.runs_on, self.options, constants=self.externals, recipe=self)
        times["module_time"] = time.perf_counter() - start
        info.update(times)
        return made

    def _class(self, base: type[StencilObject], compiled: _core.Definition) -> type[StencilObject]:
        """Make a class for one stencil, named after it and after what it means."""
        facts = (
            __version__,
            self.backend,
            compiled.ir,
            sorted((key, repr(value)) for key, value in self.options.items()),
        )
        digest = _core.fingerprint(repr(facts))[:10]
        backend = re.sub(r"\W", "", self.backend)
        members = {
            "__doc__": self._function.__doc__ or base.__doc__,
            "__module__": self.module,
            "_identity": digest,
        }
        made: type[StencilObject] = type(f"{self.title}____{backend}_{digest}", (base,), members)
        return made

    def reduced(self) -> tuple[Any, ...]:
        """Say how to make the stencil again, for pickle.

        Raises
        ------
        pickle.PicklingError
            If its function is not to be found by the name of its module and its own.
        """
        function = self._function
        place = function.__module__, function.__qualname__
        try:
            found = _find(*place)
        except (ImportError, AttributeError) as error:
            raise pickle.PicklingError(self._lost(str(error))) from error
        if getattr(found, "definition_func", found) is not function:
            raise pickle.PicklingError(self._lost("there is another object of this name"))
        keywords = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.name not in ("function", "build_info", "namespace")
        }
        return again, (*place, keywords, type(self))

    def _lost(self, reason: str) -> str:
        function = self._function
        return (
            f"stencil '{self.title}' cannot be pickled: it is found again by the place of its function, but "
            f"{function.__module__}.{function.__qualname__} is not it ({reason}); define the function at the top of "
            "a module"
        )


def _find(module: str, qualified_name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in qualified_name.split("."):
        found = getattr(found, part)
    return found


def again(module: str, qualified_name: str, keywords: dict[str, Any], kind: type[Recipe] = Recipe) -> Any:
    """Make a stencil again, or find it where it is defined.

    Parameters
    ----------
    module, qualified_name : str
        Where the function is, or the stencil that was made of it.
    keywords : dict
        What else a `Recipe` is.
    kind : type of Recipe
        Whose recipe it is.
    """
    found = _find(module, qualified_name)
    recipe = kind(**keywords).with_definition(found)
    known = getattr(found, "recipe", None)
    same = known is not None and all(
        getattr(known, entry.name) == getattr(recipe, entry.name)
        for entry in fields(recipe)
        if entry.name not in ("build_info", "namespace")
    )
    return getattr(found, "implementation", found) if same else recipe.build()
