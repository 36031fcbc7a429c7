"""``gt4py.cartesian.gtscript``: the words of gtscript, and the decorators.

The language is that of `fieldstone.gtscript`. Literals have GT4Py's precision: 64 bits, unless an environment variable
or a parameter says 32, whatever they are combined with.
"""

from __future__ import annotations

import sys
import warnings
from builtins import abs, bool, int, max, min, round  # noqa: UP029 - names of gtscript as well
from collections.abc import Mapping
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from fieldstone import gtscript as _gtscript
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
    Field,
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
from fieldstone.gtscript.stencil import define

from . import backend as backends
from . import definitions
from .definitions import BuildOptions
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
    "Field",
    "I",
    "J",
    "K",
    "__externals__",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "compile_assert",
    "computation",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "float32",
    "float64",
    "floor",
    "function",
    "gamma",
    "horizontal",
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
_TIMES = ("parse_time", "module_time", "codegen_time", "build_time", "load_time")


def stencil(
    backend: str,
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
    backend : str
        GT4Py's name of a backend, or fieldstone's.
    definition : function or StencilObject, optional
        Whose text is compiled. Without it, a decorator is returned.
    build_info : dict, optional
        Filled with times.
    dtypes : mapping, optional
        Types by the name, or by the type, that annotations use for them.
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

    Returns
    -------
    StencilObject
        What is called with fields and scalars.
    """
    _check_kinds(build_info, dtypes, externals, cache_settings, name)
    caller = sys._getframe(1)
    options = BuildOptions(
        name=name.rpartition(".")[2] if name else "",
        module=(name.rpartition(".")[0] if name else "") or str(caller.f_globals.get("__name__", "")),
        format_source=format_source,
        backend_opts={key: value for key, value in kwargs.items() if not key.startswith("_")},
        build_info=build_info,
        rebuild=rebuild,
        raise_if_not_cached=raise_if_not_cached,
        cache_settings=cache_settings or {},
        literal_int_precision=literal_int_precision,
        literal_float_precision=literal_float_precision,
    )
    make = partial(
        _make, backend=backend, options=options, dtypes=dtypes, externals=externals, namespace=caller.f_locals
    )
    return make if definition is None else make(definition)


def lazy_stencil(
    backend: str | None = None,
    definition: Any = None,
    *,
    eager: bool = False,
    check_syntax: bool = True,
    **parameters: Any,
) -> Any:
    """Make a stencil that is compiled on its first use.

    Parameters
    ----------
    backend, definition, **parameters
        As for `stencil`.
    eager : bool, optional
        Whether to return the stencil itself.
    check_syntax : bool, optional
        Whether to find what is wrong with the definition at once.
    """
    caller = sys._getframe(1)
    parameters.setdefault("name", None)
    chosen = backend if backend is not None else "numpy"

    def decorate(function: Any) -> Any:
        module = str(caller.f_globals.get("__name__", ""))
        name = parameters["name"] or f"{module}.{_plain(function).__name__}"
        lazy = LazyStencil(partial(stencil, chosen, function, **(parameters | {"name": name})), chosen)
        if eager:
            return lazy.implementation
        if check_syntax:
            lazy.check_syntax()
        return lazy

    return decorate if definition is None else decorate(definition)


def _make(
    definition: Any,
    *,
    backend: str,
    options: BuildOptions,
    dtypes: Mapping[Any, Any] | None,
    externals: Mapping[str, Any] | None,
    namespace: Mapping[str, Any],
) -> StencilObject:
    chosen = backends.from_name(backend)
    function = _plain(definition)
    options.name = options.name or function.__name__
    unknown = [name for name in options.backend_opts if name not in chosen.options and name not in _OWN_OPTIONS]
    if unknown:
        warnings.warn(
            f"backend {backend!r} of stencil {options.name!r} has no option(s) {', '.join(unknown)}",
            RuntimeWarning,
            stacklevel=3,
        )
    by_type = {key: value for key, value in (dtypes or {}).items() if isinstance(key, type)}
    compiled = define(
        function,
        name=options.name,
        externals=externals,
        dtypes={key: value for key, value in (dtypes or {}).items() if key not in by_type},
        literal_int_precision=_precision(by_type.get(int), options.literal_int_precision),
        literal_float_precision=_precision(by_type.get(float), options.literal_float_precision),
        namespace=namespace,
    )
    own = {name: value for name, value in options.backend_opts.items() if name in _OWN_OPTIONS}
    made = StencilObject(compiled, chosen.fieldstone_name, {"rebuild": options.rebuild, **own}, constants=externals)
    made.definition_func = function
    made._build = options
    made._gt4py_backend = backend
    if options.build_info is not None:
        options.build_info.update(dict.fromkeys(_TIMES, 0.0))
    return made


_OWN_OPTIONS = ("threads", "dims")


def _precision(replacement: Any, otherwise: int) -> int:
    """Bits of literals; where ``dtypes`` replaces ``float`` or ``int``, GT4Py means literals and temporaries only."""
    return otherwise if replacement is None else 8 * np.dtype(replacement).itemsize


def _plain(definition: Any) -> FunctionType | Any:
    """Give the function of what can stand for one: a stencil, or an object that is called."""
    if isinstance(definition, FunctionType):
        return definition
    if hasattr(definition, "definition_func"):
        return definition.definition_func
    if callable(definition):
        return definition.__call__
    return definition


def _check_kinds(build_info: Any, dtypes: Any, externals: Any, cache_settings: Any, name: Any) -> None:
    mappings = {"build_info": build_info, "dtypes": dtypes, "externals": externals, "cache_settings": cache_settings}
    for argument, value in mappings.items():
        if value is not None and not isinstance(value, Mapping):
            raise ValueError(f"{argument} is a dictionary, not {value!r}")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"name is a string, not {name!r}")


def __getattr__(name: str) -> Any:
    # Words that have come to the language since.
    if not name.startswith("_") and hasattr(_gtscript, name):
        return getattr(_gtscript, name)
    from fieldstone.gt4py import _names

    raise AttributeError(_names.missing_attribute(__name__, name))
