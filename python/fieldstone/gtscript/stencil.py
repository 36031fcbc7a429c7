"""The decorator that makes a stencil of a function."""

from __future__ import annotations

import inspect
import keyword
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from .. import _core
from ..errors import ArgumentTypeError, ArgumentValueError
from . import capture
from .annotations import WORDS, DTypes, FieldType, Kind, element_type, invalid, kind, present
from .cache_options import cache_options
from .memory import Memory, declared
from .recipe import Recipe
from .warning import report

PRECISIONS = (None, 32, 64)


def define(
    definition: Callable[..., Any],
    *,
    name: str | None = None,
    externals: Mapping[str, Any] | None = None,
    dtypes: Mapping[Any, Any] | None = None,
    literal_int_precision: int | None = None,
    literal_float_precision: int | None = None,
    namespace: Mapping[str, Any] | None = None,
    ignore: Sequence[str] = (),
) -> _core.Definition:
    """Compile a definition as far as no backend is needed: names, types, extents.

    Parameters
    ----------
    definition : function
        Whose text is the stencil.
    name : str, optional
        Name of the stencil; the function's by default.
    externals : mapping, optional
        Values that the text imports from ``__externals__``.
    dtypes : mapping, optional
        Types by the name, or by the type, that annotations use for them.
    literal_int_precision, literal_float_precision : {None, 32, 64}
        Bits of literals; by default they take the type of what they are combined with.
    namespace : mapping, optional
        Names of the place where it is defined, which postponed annotations may use.
    ignore : sequence of str, optional
        Codes of warnings that are not given, such as ``"FS0421"``.

    Returns
    -------
    Definition
        What a backend runs.

    Raises
    ------
    GTScriptError
        The text is wrong; the message shows where.
    """
    function = capture.plain_function(definition, "a stencil")
    for precision_name, precision in (
        ("literal_int_precision", literal_int_precision),
        ("literal_float_precision", literal_float_precision),
    ):
        if precision not in PRECISIONS:
            raise ArgumentValueError(f"{precision_name} is None, 32 or 64, not {precision!r}")
    for argument, mapping in (("externals", externals), ("dtypes", dtypes)):
        if mapping is not None and not isinstance(mapping, Mapping):
            raise ArgumentTypeError(f"{argument} is a mapping from names to values, not {mapping!r}")
    for key in externals or {}:
        if not isinstance(key, str):
            raise ArgumentTypeError(f"externals is a mapping from names to values, but one of its names is {key!r}")
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"name is a string, not {name!r}")
    title = (name or function.__name__).rsplit(".", 1)[-1]
    if not title.isidentifier() or keyword.iskeyword(title):
        raise ArgumentValueError(f"name is {name!r}, expected one that a function can have, as in 'physics.fall_speed'")
    types = dict(dtypes or {})
    names = {key: element_type(value, {}) for key, value in types.items() if isinstance(key, str)}
    compiled = _core.define(
        name=title,
        source=capture.source(function),
        parameters=_parameters(function, namespace or {}, externals or {}, types),
        scopes=capture.scopes(function),
        externals=dict(externals or {}),
        dtypes={key: value for key, value in names.items() if value is not None},
        literal_int_precision=literal_int_precision,
        literal_float_precision=literal_float_precision,
    )
    report(compiled.warnings, function, ignore)
    return compiled


def _parameters(
    function: FunctionType, namespace: Mapping[str, Any], externals: Mapping[str, Any], dtypes: DTypes
) -> list[tuple[str, Kind, tuple[Any] | None, bool, Memory | None]]:
    evaluated = capture.evaluated_annotations(function, namespace, externals, dtypes)
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # the compiler points at it
        said = _kind(evaluated, parameter.name, dtypes)
        default = None
        if parameter.default is not parameter.empty:
            default = (parameter.default,)
            said = _with_default(said, parameter.default)
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        parameters.append((parameter.name, said, default, by_name, _memory(evaluated.get(parameter.name), said)))
    return parameters


def _with_default(said: Kind, default: Any) -> Kind:
    if default is None or said[0] not in ("field", "scalar"):
        return said
    if said[0] == "field":
        return ("wrong default", "the default of a field is `None` or nothing")
    if not isinstance(default, numbers.Real | np.bool_):
        return ("wrong default", "this is no number")
    dtype: np.dtype[Any] = np.dtype(said[1])
    if np.issubdtype(dtype, np.integer):
        if not isinstance(default, numbers.Integral | np.bool_):
            return ("wrong default", f"this is no integer, but the type is {dtype}")
        limits = np.iinfo(dtype)
        if not limits.min <= int(default) <= limits.max:
            return ("wrong default", f"{dtype} holds {limits.min} to {limits.max}")
    return said


def _memory(annotation: Any, said: Kind) -> Memory | None:
    annotation = present(annotation)
    if said[0] != "field" or not isinstance(annotation, FieldType):
        return None
    return declared(annotation, said[1])


def _kind(evaluated: Mapping[str, Any], name: str, dtypes: DTypes) -> Kind:
    if name not in evaluated:
        return ("missing",)
    annotation = evaluated[name]
    if isinstance(annotation, capture.Unknown):
        return invalid(annotation.reason, annotation.word, [*annotation.known, *WORDS])
    return kind(annotation, dtypes)


def stencil(
    backend: str | None = None,
    definition: Any = None,
    *,
    externals: Mapping[str, Any] | None = None,
    dtypes: Mapping[Any, Any] | None = None,
    name: str | None = None,
    rebuild: bool = False,
    build_info: dict[str, Any] | None = None,
    cache_settings: Mapping[str, Any] | None = None,
    raise_if_not_cached: bool = False,
    literal_int_precision: int | None = None,
    literal_float_precision: int | None = None,
    ignore: Sequence[str] = (),
    format_source: bool = True,
    **options: Any,
) -> Any:
    """Make a stencil of a function: as a decorator, or with ``definition=``.

    Parameters
    ----------
    backend : str
        How it is executed: ``"debug"``, ``"numpy"``, ``"cpu_kfirst"``, ``"cpu_ifirst"`` or ``"gpu"``.
    definition : function or StencilObject, optional
        Whose text is compiled; of a stencil, the function it was made of. Without it, a decorator is returned.
    externals : mapping, optional
        Values that the text imports with ``from __externals__ import name``: numbers, functions, namespaces of these.
    dtypes : mapping, optional
        Types by the name, or by the type, that annotations use for them.
    name : str, optional
        Name of the stencil, with or without a module before it; the function's by default.
    rebuild : bool, optional
        Whether to compile anew what the cache has.
    build_info : dict, optional
        Filled with the seconds that the steps took: ``"parse_time"`` from the text to what it means, ``"module_time"``
        from there to an object that can be called; and, once code was made for a call, ``"codegen_time"``,
        ``"build_time"`` and ``"load_time"``.
    cache_settings : mapping, optional
        Where the cache of this stencil is: the directory ``"dir_name"`` in ``"root_path"``.
    raise_if_not_cached : bool, optional
        Whether code that the cache does not have is an error, instead of being compiled. ``debug`` and ``numpy`` have
        nothing to be compiled.
    literal_int_precision, literal_float_precision : {None, 32, 64}
        Bits of literals; by default they take the type of what they are combined with.
    ignore : sequence of str, optional
        Codes of warnings that are not given, such as ``"FS0421"``; docs/diagnostics.md has other ways.
    format_source : bool, optional
        Nothing depends on it: what is generated is always written to be read.
    **options
        Options of the backend.

    Returns
    -------
    StencilObject
        What is called with fields and scalars.

    Raises
    ------
    GTScriptError
        The text is wrong; the message shows where.
    BackendError
        The backend is not known.
    CacheError
        The cache does not have it, with ``raise_if_not_cached``.
    """
    recipe = Recipe(
        backend=checked_backend(backend, options),
        externals=externals,
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
    return recipe.of if definition is None else recipe.of(definition)


def checked_backend(backend: Any, options: Mapping[str, Any], default: str | None = None) -> str:
    """Refuse what is no name of a backend; other options may be a misspelt `backend`."""
    if backend is None:
        import difflib

        if meant := difflib.get_close_matches("backend", options, 1):
            raise ArgumentTypeError(f"a stencil has no keyword argument {meant[0]!r}; did you mean 'backend'?")
        backend = default
    if not isinstance(backend, str):
        raise ArgumentTypeError(f"backend is a string, as in @gtscript.stencil(backend='cpu_ifirst'), not {backend!r}")
    _core.check_backend(backend)
    return backend
