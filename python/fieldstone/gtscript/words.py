"""The words of gtscript that are no Python of their own.

Importing them is a courtesy to editors and linters: inside of a stencil they mean the same without an import.
``abs``, ``min``, ``max``, ``round``, ``pow``, ``int``, ``float`` and ``bool`` are Python's.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..errors import GTScriptDefinitionError


class Word:
    """A word that means something inside of a stencil only.

    Parameters
    ----------
    name : str
        The word.
    """

    __slots__ = ("__gtscript_name__",)

    def __init__(self, name: str) -> None:
        self.__gtscript_name__ = name

    def __repr__(self) -> str:
        return self.__gtscript_name__

    def __reduce__(self) -> str:
        return self.__gtscript_name__

    def _outside(self) -> NoReturn:
        message = f"`{self.__gtscript_name__}` means something inside of a stencil or a gtscript.function only"
        raise GTScriptDefinitionError(message)

    def __call__(self, *_arguments: Any, **_keywords: Any) -> Any:
        """Raise, because outside of a stencil the word means nothing."""
        self._outside()

    def __getitem__(self, index: Any) -> Any:
        """Raise, because outside of a stencil the word means nothing."""
        self._outside()


PARALLEL: Any = Word("PARALLEL")
"""Vertical order: all levels at once."""
FORWARD: Any = Word("FORWARD")
"""Vertical order: from the first level to the last."""
BACKWARD: Any = Word("BACKWARD")
"""Vertical order: from the last level to the first."""

computation: Any = Word("computation")
"""``with computation(order)``: statements with one vertical order."""
interval: Any = Word("interval")
"""``with interval(start, end)``: levels from ``start`` to before ``end``; ``interval(...)`` for all."""
horizontal: Any = Word("horizontal")
"""``with horizontal(region[i, j], …)``: statements that run in parts of the plane, one after the other."""
region: Any = Word("region")
"""``region[I[0], :]``: a part of the plane, as a point or a range along I and along J."""
compile_assert: Any = Word("compile_assert")
"""``compile_assert(condition)``: an error at compile time where the condition does not hold."""
__INLINED: Any = Word("__INLINED")
"""``__INLINED(condition)``: a condition that must be known at compile time."""
__externals__: Any = Word("__externals__")
"""``from __externals__ import name`` inside of a stencil binds what ``externals=`` gives."""

float32 = np.float32
float64 = np.float64
int32 = np.int32
int64 = np.int64

acos: Any = Word("acos")
acosh: Any = Word("acosh")
asin: Any = Word("asin")
asinh: Any = Word("asinh")
atan: Any = Word("atan")
atanh: Any = Word("atanh")
cbrt: Any = Word("cbrt")
ceil: Any = Word("ceil")
cos: Any = Word("cos")
cosh: Any = Word("cosh")
erf: Any = Word("erf")
erfc: Any = Word("erfc")
exp: Any = Word("exp")
floor: Any = Word("floor")
gamma: Any = Word("gamma")
isfinite: Any = Word("isfinite")
isinf: Any = Word("isinf")
isnan: Any = Word("isnan")
log: Any = Word("log")
log10: Any = Word("log10")
mod: Any = Word("mod")
round_away_from_zero: Any = Word("round_away_from_zero")
sin: Any = Word("sin")
sinh: Any = Word("sinh")
sqrt: Any = Word("sqrt")
tan: Any = Word("tan")
tanh: Any = Word("tanh")
trunc: Any = Word("trunc")
