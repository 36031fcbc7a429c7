"""``gt4py.cartesian.gtscript``: the words of gtscript, and the decorators.

The language is that of `fieldstone.gtscript`. Literals have GT4Py's precision: 64 bits, unless an environment variable
or a parameter says 32, whatever they are combined with.
"""

from __future__ import annotations

import sys
import types  # noqa: F401 - programs import it from here
import warnings
from builtins import abs, bool, float, int, max, min, round  # noqa: UP029 - names of gtscript as well
from collections.abc import Mapping
from typing import Any

import numpy as np

from fieldstone import gtscript as _gtscript
from fieldstone.errors import ArgumentValueError
from fieldstone.gtscript import (
    __INLINED,
    BACKWARD,
    FORWARD,
    IJ,
    IJK,
    IK,
    JK,
    PARALLEL,
    Axis,
    AxisIndex,
    Field,
    GlobalTable,
    I,
    J,
    K,
    __externals__,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cbrt,
    ceil,
    compile_assert,
    computation,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    float32,
    float64,
    floor,
    function,
    gamma,
    horizontal,
    int32,
    int64,
    interval,
    isfinite,
    isinf,
    isnan,
    log,
    log10,
    mod,
    region,
    round_away_from_zero,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from fieldstone.gtscript.annotations import FieldType
from fieldstone.gtscript.cache_options import cache_options
from fieldstone.gtscript.recipe import Recipe as _Recipe

from . import backend as backends
from . import config, definitions
from .lazy_stencil import LazyStencil
from .stencil_object import StencilObject

__all__ = [
    "BACKWARD",
    "FORWARD",
    "IJ",
    "IJK",
    "IK",
    "JK",
    "PARALLEL",
    "__INLINED",
    "Axis",
    "AxisIndex",
    "Field",
    "GlobalTable",
    "I",
    "J",
    "K",
    "Sequence",
    "__externals__",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bool",
    "cbrt",
    "ceil",
    "compile_assert",
    "computation",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "externals",
    "float",
    "float32",
    "float64",
    "floor",
    "function",
    "gamma",
    "horizontal",
    "int",
    "int32",
    "int64",
    "interval",
    "isfinite",
    "isinf",
    "isnan",
    "lazy_stencil",
    "log",
    "log10",
    "max",
    "min",
    "mod",
    "region",
    "round",
    "round_away_from_zero",
    "sin",
    "sinh",
    "sqrt",
    "stencil",
    "tan",
    "tanh",
    "trunc",
]

__gtscript__ = __externals__
externals = __externals__

# Words that GT4Py had under other names once.
i32, i64, f32, f64 = int32, int64, float32, float64
THIS_K = K
external_assert = compile_assert

_FieldDescriptor = FieldType
"""What ``Field[...]`` is, as programs tell it from other annotations."""


class Sequence:
    """An annotation that GT4Py names and has no use for: ``Sequence[dtype]``."""

    def __class_getitem__(cls, dtype: Any) -> tuple[Any, None]:
        return dtype, None


def mask_from_axes(axes: Any) -> list[bool]:
    """Tell which of I, J, K are among axes, such as ``IJ`` or ``(I, J)``."""
    there = {str(axis) for axis in axes}
    return [axis in there for axis in "IJK"]


def stencil(
    backend: str | None,
    definition: Any = None,
    *,
    build_info: dict[str, Any] | None = None,
    dtypes: Mapping[Any, Any] | None = None,
    externals: Mapping[str, Any] | None = None,
    format_source: bool = True,
    name: str | None = None,
    rebuild: bool = False,
    cache_settings: dict[str, Any] | None = None,
    raise_if_not_cached: bool = False,
    literal_int_precision: int = definitions.LITERAL_INT_PRECISION,
    literal_float_precision: int = definitions.LITERAL_FLOAT_PRECISION,
    **kwargs: Any,
) -> Any:
    """Make a stencil of a function: as a decorator, or with ``definition=``.

    Parameters
    ----------
    backend : str or None
        GT4Py's name of a backend, or fieldstone's; None is ``"numpy"``.
    definition : function or StencilObject, optional
        Whose text is compiled. Without it, a decorator is returned.
    build_info : dict, optional
        Filled with times.
    dtypes : mapping, optional
        Types by the name that annotations use for them. Those by a type, ``float`` or ``int``, are what literals and
        temporaries are of.
    externals : mapping, optional
        Values that the text imports from ``__externals__``.
    format_source : bool, optional
        No effect.
    name : str, optional
        Name of the stencil, with or without a module before it.
    rebuild : bool, optional
        Whether to compile anew what the cache has.
    cache_settings : dict, optional
        ``root_path`` and ``dir_name`` of the cache.
    raise_if_not_cached : bool, optional
        Whether a stencil that is not in the cache is an error.
    literal_int_precision, literal_float_precision : {32, 64}
        Bits of literals.
    **kwargs
        Options of GT4Py's backends, which have no effect. One that GT4Py does not know gets a warning, as there.
        fieldstone's own options, such as ``threads``, have theirs.

    Returns
    -------
    StencilObject
        What is called with fields and scalars.
    """
    recipe = _recipe(
        backend if backend is not None else "numpy",
        build_info=build_info,
        dtypes=dtypes,
        externals=externals,
        format_source=format_source,
        name=name,
        cache=(rebuild, raise_if_not_cached, cache_settings),
        precisions=(literal_int_precision, literal_float_precision),
        options=kwargs,
        namespace=sys._getframe(1).f_locals,
    )
    return recipe.of if definition is None else recipe.of(definition)


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
    cache_settings: dict[str, Any] | None = None,
    raise_if_not_cached: bool = False,
    literal_int_precision: int = definitions.LITERAL_INT_PRECISION,
    literal_float_precision: int = definitions.LITERAL_FLOAT_PRECISION,
    eager: bool = False,
    check_syntax: bool = True,
    **kwargs: Any,
) -> Any:
    """Make a stencil that is compiled on its first use.

    Parameters
    ----------
    backend, definition, build_info, dtypes, externals, format_source, name, rebuild, cache_settings
        As for `stencil`.
    raise_if_not_cached, literal_int_precision, literal_float_precision, **kwargs
        As for `stencil`.
    eager : bool, optional
        Whether to return the stencil itself.
    check_syntax : bool, optional
        Whether to find what is wrong with the definition at once.

    Returns
    -------
    LazyStencil or StencilObject
        What is called with fields and scalars.
    """
    recipe = _recipe(
        backend if backend is not None else "numpy",
        build_info=build_info,
        dtypes=dtypes,
        externals=externals,
        format_source=format_source,
        name=name,
        cache=(rebuild, raise_if_not_cached, cache_settings),
        precisions=(literal_int_precision, literal_float_precision),
        options=kwargs,
        namespace=sys._getframe(1).f_locals,
    )

    def make(function: Any) -> Any:
        lazy = LazyStencil(recipe.with_definition(function))
        if eager:
            return lazy.implementation
        if check_syntax:
            lazy.check_syntax()
        return lazy

    return make if definition is None else make(definition)


class Recipe(_Recipe):
    """What a stencil is made of, with GT4Py's name of the backend."""

    @property
    def runs_on(self) -> str:
        """Name of fieldstone's backend that executes it."""
        return backends.from_name(self.backend).fieldstone_name

    @property
    def base(self) -> type[StencilObject]:
        """The class of which its own is a subclass."""
        return StencilObject


def _recipe(
    backend: str,
    *,
    build_info: dict[str, Any] | None,
    dtypes: Mapping[Any, Any] | None,
    externals: Mapping[str, Any] | None,
    format_source: bool,
    name: str | None,
    cache: tuple[bool, bool, dict[str, Any] | None],
    precisions: tuple[int, int],
    options: Mapping[str, Any],
    namespace: Mapping[str, Any],
) -> Recipe:
    """Check keywords, and say what they mean here."""
    backends.from_name(backend)
    mappings = {"build_info": build_info, "dtypes": dtypes, "externals": externals, "cache_settings": cache[2]}
    for keyword, value in mappings.items():
        if value is not None and not isinstance(value, Mapping):
            raise ArgumentValueError(f"{keyword} is a dictionary, not {value!r}")
    if name is not None and not isinstance(name, str):
        raise ArgumentValueError(f"name is a string, not {name!r}")
    by_type = {key: value for key, value in (dtypes or {}).items() if isinstance(key, type)}
    rebuild, raise_if_not_cached, settings = cache
    return Recipe(
        backend=backend,
        build_info=build_info,
        dtypes={key: value for key, value in (dtypes or {}).items() if key not in by_type},
        externals=dict(externals or {}),
        format_source=format_source,
        name=name or None,
        options={
            **cache_options(rebuild, raise_if_not_cached, config.chosen_cache(settings)),
            **_own_options(backend, options),
        },
        literal_int_precision=_precision(by_type.get(int), precisions[0]),
        literal_float_precision=_precision(by_type.get(float), precisions[1]),
        namespace=namespace,
    )


def _own_options(backend: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options that mean something here, and warn of those that mean nothing in GT4Py either."""
    own = {name: value for name, value in options.items() if name in _OWN_OPTIONS}
    known = {*own, *backends.from_name(backend).options}
    unknown = [name for name in options if name not in known and not name.startswith("_")]
    if unknown:
        warnings.warn(f"backend {backend!r} has no option(s) {', '.join(unknown)}", RuntimeWarning, stacklevel=4)
    return own


_OWN_OPTIONS = ("threads", "dims")


def _precision(replacement: Any, otherwise: int) -> int:
    """Bits of literals; where ``dtypes`` replaces ``float`` or ``int``, GT4Py means literals and temporaries only."""
    return otherwise if replacement is None else 8 * np.dtype(replacement).itemsize


def __getattr__(name: str) -> Any:
    # Words that have come to the language since.
    if not name.startswith("_") and hasattr(_gtscript, name):
        return getattr(_gtscript, name)
    from fieldstone.gt4py import _names

    raise AttributeError(_names.missing_attribute(__name__, name))
