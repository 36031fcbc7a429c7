"""A stencil that is named on the command line: ``FILE:STENCIL``, with what its annotations and externals stand for."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import difflib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np


class WrongUseError(Exception):
    """What the user has to change."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that stencils of files are made with.

    Parameters
    ----------
    parser : ArgumentParser
        That of a command.
    """
    parser.add_argument(
        "--externals",
        type=_external,
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="value of an external; can be repeated",
    )
    parser.add_argument(
        "--dtypes",
        type=_element_type,
        metavar="NAME=TYPE",
        action="append",
        default=[],
        help="what a name in annotations stands for, such as real=float32; can be repeated",
    )


def points(text: str) -> tuple[int, ...]:
    """Read numbers of points along the axes, such as ``128x128x80`` or ``128,128,80``."""
    words = text.lower().replace(",", "x").split("x")
    found = tuple(int(word) for word in words if word.isdecimal())
    if len(words) != 3 or len(found) != 3 or min(found) < 1:
        raise argparse.ArgumentTypeError(f"expected three numbers of points such as 128x128x80, got {text!r}")
    return found


def positive(kind: type) -> Any:
    """Make a converter of words to numbers above zero.

    Parameters
    ----------
    kind : type
        ``int`` or ``float``.

    Returns
    -------
    callable
        For ``type`` of an argument.
    """

    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not value > 0:
            what = "a whole number from 1" if kind is int else "a positive number"
            raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}")
        return value

    return convert


def _external(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        raise argparse.ArgumentTypeError(f"{name} is {value!r}, expected a number, True or False") from None


def _element_type(text: str) -> tuple[str, np.dtype[Any]]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"expected NAME=TYPE, got {text!r}")
    try:
        return name, np.dtype(value.strip())
    except TypeError:
        raise argparse.ArgumentTypeError(f"{name} is {value!r}, expected a type such as float32") from None


def split(given: str) -> tuple[Path, str | None]:
    """Split a file from a name; a file may have a colon in its name.

    Parameters
    ----------
    given : str
        ``FILE`` or ``FILE:STENCIL``.

    Returns
    -------
    tuple of Path and str or None
        The file, which exists, and the name.

    Raises
    ------
    WrongUseError
        There is no such file.
    """
    if Path(given).exists():
        return Path(given), None
    file, colon, name = given.rpartition(":")
    if not colon:
        raise WrongUseError(f"there is no file {given!r}")
    if not Path(file).exists():
        raise WrongUseError(f"there is no file {file!r}")
    return Path(file), name


def imported(path: Path, prog: str) -> ModuleType | None:
    """Import a file as Python would run it; shows the traceback if that fails.

    Parameters
    ----------
    path : Path
        The file.
    prog : str
        The command that asks.

    Returns
    -------
    module or None
        None if it raises.

    Raises
    ------
    WrongUseError
        It is no file of Python.
    """
    if not path.is_file():
        raise WrongUseError(f"{str(path)!r} is no file")
    name = path.stem if path.stem.isidentifier() else "fieldstone_stencils"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WrongUseError(f"{str(path)!r} is no Python file: its name does not end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        frames = traceback.TracebackException.from_exception(error)
        own = [frame for frame in frames.stack if "importlib" not in frame.filename and frame.filename != __file__]
        frames.stack = traceback.StackSummary.from_list(own)
        print("".join(frames.format()), end="", file=sys.stderr)
        print(f"{prog}: {str(path)!r} cannot be imported; see above", file=sys.stderr)
        return None
    return module


def _is_stencil(value: Any) -> bool:
    from fieldstone.gtscript.stencil_object import StencilObject

    return isinstance(value, StencilObject)


def _is_lazy(value: Any) -> bool:
    from fieldstone.gtscript.lazy_stencil import LazyStencil

    return isinstance(value, LazyStencil)


def _is_definition(value: Any, module: ModuleType) -> bool:
    """Tell whether a function can be the definition of a stencil: it is the file's own and has a computation in it."""
    if not isinstance(value, FunctionType) or value.__module__ != module.__name__:
        return False
    return "computation" in value.__code__.co_names


def _candidates(module: ModuleType) -> Mapping[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__") and (_is_stencil(value) or _is_lazy(value) or _is_definition(value, module))
    }


def listed(path: Path, module: ModuleType) -> str:
    """List the stencils of a file, a line for each.

    Parameters
    ----------
    path : Path
        The file.
    module : module
        What it has.

    Returns
    -------
    str
        The lines.

    Raises
    ------
    WrongUseError
        It has none.
    """
    candidates = _candidates(module)
    if not candidates:
        raise WrongUseError(f"{str(path)!r} has no stencils")
    width = max(map(len, candidates))
    lines = []
    for name, value in candidates.items():
        what = f"stencil, backend {value.backend}" if not _is_definition(value, module) else "definition"
        lines.append(f"{path}:{name.ljust(width)}  {what}")
    return "\n".join(lines) + "\n"


def found(path: Path, module: ModuleType, name: str) -> Any:
    """Look up what a file has under a name.

    Parameters
    ----------
    path : Path
        The file.
    module : module
        What it has.
    name : str
        With dots for what is inside of something.

    Returns
    -------
    object
        Whatever it is.

    Raises
    ------
    WrongUseError
        It has nothing of that name.
    """
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = list(_candidates(module))
            close = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            there = f"; its stencils are: {', '.join(known)}" if known else "; it has no stencils"
            raise WrongUseError(f"{str(path)!r} has no stencil {name!r}{hint}{there}")
        value = getattr(value, part)
    return value


def compiled(value: Any, name: str, options: argparse.Namespace, backend: str | None) -> Any:
    """Give a stencil: the object itself, or one made of the same function for what was asked for.

    Parameters
    ----------
    value : object
        A stencil or a function.
    name : str
        Of it.
    options : Namespace
        With those of `add_options`.
    backend : str or None
        What to make it with; without one, the stencil's own, or ``"cpu_ifirst"``.

    Returns
    -------
    StencilObject
        The stencil.

    Raises
    ------
    WrongUseError
        It is neither.
    FieldstoneError
        It cannot be made.
    """
    from fieldstone import gtscript

    externals, dtypes = dict(options.externals), dict(options.dtypes)
    if isinstance(value, FunctionType):
        return gtscript.stencil(backend or "cpu_ifirst", value, externals=externals, dtypes=dtypes)
    if not (_is_stencil(value) or _is_lazy(value)):
        raise WrongUseError(f"{name!r} is no stencil and no function, but of type {type(value).__name__!r}")
    if backend is not None or externals or dtypes:
        recipe = value.recipe
        changed = {
            "backend": backend or recipe.backend,
            "externals": {**(recipe.externals or {}), **externals},
            "dtypes": {**(recipe.dtypes or {}), **dtypes},
        }
        return dataclasses.replace(recipe, **changed).build()
    return value.implementation if _is_lazy(value) else value
