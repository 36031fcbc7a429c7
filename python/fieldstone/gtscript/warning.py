"""Warnings of stencils: how they are given, and what silences them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

from .. import _core
from ..errors import ArgumentTypeError, StencilWarning

VARIABLE = "FIELDSTONE_IGNORE"

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def report(found: Iterable[Mapping[str, Any]], function: FunctionType, ignore: Sequence[str]) -> None:
    """Give the warnings of a stencil, each at its place in the source.

    Parameters
    ----------
    found : iterable of mapping
        The warnings that no comment silences.
    function : function
        The definition.
    ignore : sequence of str
        Codes that are not wanted, beside those of the environment variable ``FIELDSTONE_IGNORE``.
    """
    silenced = {*_codes(ignore, function), *_of_environment(function)}
    for diagnostic in found:
        code = str(diagnostic["code"])
        if code in silenced:
            continue
        rendered = str(diagnostic["rendered"]).removeprefix(f"warning[{code}]: ")
        warning = StencilWarning(f"{code}: {rendered}")
        warning.diagnostic = dict(diagnostic)
        _warn(warning, function, diagnostic.get("file"), diagnostic.get("line"))


def caller() -> int:
    """Count, for ``stacklevel`` of a warning that who asks gives, the frames up to the line outside of this package."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return level


def _warn(warning: StencilWarning, function: FunctionType, file: Any = None, line: Any = None) -> None:
    """Warn at a place, by default that of the definition."""
    code = function.__code__
    registry = function.__globals__.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        warning,
        StencilWarning,
        str(file or code.co_filename),
        int(line or code.co_firstlineno),
        module=function.__module__,
        registry=registry,
    )


def _codes(ignore: Sequence[str], function: FunctionType) -> list[str]:
    if isinstance(ignore, str) or not isinstance(ignore, Sequence | set | frozenset):
        raise ArgumentTypeError(f"ignore is a list of codes, as in ignore=['FS0421'], not {ignore!r}")
    codes = list(ignore)
    for code in codes:
        if not isinstance(code, str):
            raise ArgumentTypeError(f"ignore is a list of codes, as in ignore=['FS0421'], but has {code!r}")
        _check("ignore", code, function)
    return codes


def _of_environment(function: FunctionType) -> list[str]:
    codes = [code.strip() for code in os.environ.get(VARIABLE, "").split(",") if code.strip()]
    for code in codes:
        _check(f"the environment variable {VARIABLE}", code, function)
    return codes


def _check(where: str, code: str, function: FunctionType) -> None:
    """Warn of a code that no warning has."""
    wrong = _core.no_warning(code)
    if wrong is not None:
        message, help_ = wrong
        _warn(StencilWarning(f"FS0425: {where}: {message}; {help_}"), function)
