"""What a stencil says of the cache of compiled code: ``rebuild``, ``raise_if_not_cached``, ``cache_settings``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentTypeError, ArgumentValueError

SETTINGS = ("root_path", "dir_name")


def cache_options(rebuild: Any, raise_if_not_cached: Any, cache_settings: Any) -> dict[str, Any]:
    """Check the three keywords, and return them as options of a stencil.

    Parameters
    ----------
    rebuild : bool
        Whether to compile whatever the cache has.
    raise_if_not_cached : bool
        Whether code that the cache does not have is an error.
    cache_settings : mapping or None
        ``"root_path"`` and ``"dir_name"``: the directory of the cache is the one in the other.

    Returns
    -------
    dict
        Those that were given.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        One of them is something else.
    """
    options: dict[str, Any] = {"rebuild": rebuild}
    for name, value in (("rebuild", rebuild), ("raise_if_not_cached", raise_if_not_cached)):
        if not isinstance(value, bool):
            raise ArgumentTypeError(f"{name} is True or False, not {value!r}")
    if rebuild and raise_if_not_cached:
        raise ArgumentValueError("rebuild=True compiles and raise_if_not_cached=True forbids it; give one of them")
    if raise_if_not_cached:
        options["raise_if_not_cached"] = True
    if cache_settings:
        options["cache_settings"] = _settings(cache_settings)
    return options


def _settings(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"cache_settings is a mapping, as in {{'root_path': '/scratch'}}, not {given!r}")
    settings = {}
    for name, value in given.items():
        if name not in SETTINGS:
            raise ArgumentValueError(f"cache_settings has {name!r}, expected {' or '.join(map(repr, SETTINGS))}")
        if value is None:
            continue
        try:
            settings[name] = os.fsdecode(value)
        except TypeError:
            raise ArgumentTypeError(f"cache_settings: {name} is a path, not {value!r}") from None
    return settings
