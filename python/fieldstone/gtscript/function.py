"""Functions that stencils call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

from . import capture

P = ParamSpec("P")
R = TypeVar("R")


class Function(Generic[P, R]):
    """A function that stencils can call; made by `function`.

    Its text is compiled into every stencil that calls it. Called from Python it is the plain function.
    """

    def __init__(self, definition: Callable[P, R]) -> None:
        self._definition = capture.plain_function(definition, "a gtscript function")
        functools.update_wrapper(self, definition)

    @property
    def definition_func(self) -> FunctionType:
        """The plain Python function."""
        return self._definition

    @functools.cached_property
    def _source(self) -> capture.Source:
        return capture.source(self._definition)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the plain Python function."""
        result: R = self._definition(*args, **kwargs)
        return result

    def __reduce__(self) -> str:
        """Say by what name it is found in its module."""
        return self._definition.__qualname__

    def __repr__(self) -> str:
        return f"<gtscript.function {self._definition.__qualname__}>"

    def __gtscript_function__(
        self,
    ) -> tuple[str, tuple[str, str, int, int], list[Mapping[str, Any]], dict[str, Any]]:
        """Tell the compiler name, text, scopes and default values."""
        parameters = inspect.signature(self._definition).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        definition: FunctionType = self._definition
        return definition.__name__, self._source, capture.scopes(definition), defaults


def function(definition: Callable[P, R]) -> Function[P, R]:
    """Make a function that stencils can call.

    Parameters
    ----------
    definition : function
        Its text is compiled into every stencil that calls it. It ends with ``return value`` or ``return a, b``. What
        this has been made of already is returned as it is.

    Returns
    -------
    Function
        What stencils call; from Python, the function itself.
    """
    made = lazy_function(definition)
    made.__gtscript_function__()  # a text that is not to be found is an error here
    return made


def lazy_function(definition: Callable[P, R]) -> Function[P, R]:
    """Make a function that stencils can call, and look for its text when the first one does.

    Parameters
    ----------
    definition : function
        As for `function`.

    Returns
    -------
    Function
        What stencils call; from Python, the function itself.
    """
    return definition if isinstance(definition, Function) else Function(definition)
