"""``fieldstone explain FILE[:STENCIL]``: what a stencil does, how it is computed, and what that costs."""

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

from fieldstone.errors import FieldstoneError

WRONG_USE = 2
FAILED = 1

_EXPLAINED = ("text", "html", "json")
_INSPECTED = ("source", "ir", "schedule", "numpy", "llvm", "asm")


class _WrongUseError(Exception):
    """What the user has to change."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the parser of ``fieldstone``.

    Parameters
    ----------
    commands : subparsers
        Of that parser.
    """
    explain = commands.add_parser(
        "explain",
        help="say what a stencil does, how it is computed, and what that costs",
        description=(
            "Imports a file and explains a stencil of it: fields, loops and what they share, where temporaries "
            "live, bytes and operations per point. Without a name it lists the stencils of the file."
        ),
    )
    explain.add_argument("stencil", metavar="FILE[:STENCIL]", help="a Python file, and a stencil in it")
    explain.add_argument("--backend", metavar="B", help="backend (default: the stencil's, or cpu_ifirst)")
    explain.add_argument("--domain", type=_domain, metavar="I,J,K", help="explain a call on so many points")
    explain.add_argument("--layout", metavar="L", help="preset or axis that arrays are contiguous along")
    explain.add_argument("--threads", type=_positive(int), metavar="T", help="threads to use (default: all cores)")
    explain.add_argument(
        "--bandwidth", type=_positive(float), metavar="GB/S", help="with --domain: the least time, at so many GB/s"
    )
    explain.add_argument(
        "--externals",
        type=_external,
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="value of an external; can be repeated",
    )
    explain.add_argument(
        "--dtypes",
        type=_element_type,
        metavar="NAME=TYPE",
        action="append",
        default=[],
        help="what a name in annotations stands for, such as real=float32; can be repeated",
    )
    explain.add_argument(
        "--form", choices=(*_EXPLAINED, *_INSPECTED), default="text", help="what to show (default: %(default)s)"
    )
    explain.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to this file")
    explain.set_defaults(run=_run, prog=explain.prog)


def _positive(kind: type) -> Any:
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


def _domain(text: str) -> tuple[int, ...]:
    try:
        points = tuple(int(word) for word in text.split(","))
    except ValueError:
        points = ()
    if len(points) != 3 or min(points) < 1:
        raise argparse.ArgumentTypeError(f"expected three numbers of points such as 128,128,80, got {text!r}")
    return points


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


def _run(options: argparse.Namespace) -> int:
    try:
        shown = _shown(options)
        if shown is None:
            return FAILED
        _write(shown, options.output)
    except (_WrongUseError, FieldstoneError) as problem:
        print(f"{options.prog}: {str(problem).rstrip()}", file=sys.stderr)
        return WRONG_USE
    return 0


def _shown(options: argparse.Namespace) -> str | None:
    path, name = _split(options.stencil)
    module = _imported(path)
    if module is None:
        return None
    if name is None:
        return _listed(path, module)
    stencil = _compiled(_found(path, module, name), options)
    if options.form in _INSPECTED:
        if options.layout is not None:
            stencil.compile(layout=options.layout)
        return str(stencil.inspect(options.form))
    explanation = stencil.explain(
        layout=options.layout,
        threads=options.threads,
        bandwidth=options.bandwidth * 1e9 if options.bandwidth is not None else None,
        **({"domain": options.domain} if options.domain is not None else {}),
    )
    if options.form == "html":
        return _page(explanation.name, explanation.to_html())
    return explanation.to_json(indent=2) + "\n" if options.form == "json" else str(explanation)


def _page(name: str, body: str) -> str:
    from html import escape

    style = "html{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:1.5em}"
    head = f'<head><meta charset="utf-8"><title>{escape(name)}</title><style>{style}</style></head>'
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n<body>{body}</body>\n</html>\n'


def _split(given: str) -> tuple[Path, str | None]:
    """Split a file from a name; a file may have a colon in its name."""
    if Path(given).exists():
        return Path(given), None
    file, colon, name = given.rpartition(":")
    if not colon:
        raise _WrongUseError(f"there is no file {given!r}")
    if not Path(file).exists():
        raise _WrongUseError(f"there is no file {file!r}")
    return Path(file), name


def _imported(path: Path) -> ModuleType | None:
    """Import a file as Python would run it; shows the traceback and gives None if that fails."""
    if not path.is_file():
        raise _WrongUseError(f"{str(path)!r} is no file")
    name = path.stem if path.stem.isidentifier() else "fieldstone_explained"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _WrongUseError(f"{str(path)!r} is no Python file: its name does not end in .py")
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
        print(f"fieldstone explain: {str(path)!r} cannot be imported; see above", file=sys.stderr)
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


def _listed(path: Path, module: ModuleType) -> str:
    candidates = _candidates(module)
    if not candidates:
        raise _WrongUseError(f"{str(path)!r} has no stencils")
    width = max(map(len, candidates))
    lines = []
    for name, value in candidates.items():
        what = f"stencil, backend {value.backend}" if not _is_definition(value, module) else "definition"
        lines.append(f"{path}:{name.ljust(width)}  {what}")
    return "\n".join(lines) + "\n"


def _found(path: Path, module: ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = list(_candidates(module))
            close = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            there = f"; its stencils are: {', '.join(known)}" if known else "; it has no stencils"
            raise _WrongUseError(f"{str(path)!r} has no stencil {name!r}{hint}{there}")
        value = getattr(value, part)
    return value


def _compiled(value: Any, options: argparse.Namespace) -> Any:
    """Give a stencil: the object itself, or one made of the same function for what was asked for."""
    from fieldstone import gtscript

    externals, dtypes = dict(options.externals), dict(options.dtypes)
    if isinstance(value, FunctionType):
        return gtscript.stencil(options.backend or "cpu_ifirst", value, externals=externals, dtypes=dtypes)
    if not (_is_stencil(value) or _is_lazy(value)):
        name = options.stencil.rpartition(":")[2]
        raise _WrongUseError(f"{name!r} is no stencil and no function, but of type {type(value).__name__!r}")
    if options.backend is not None or externals or dtypes:
        recipe = value.recipe
        changed = {
            "backend": options.backend or recipe.backend,
            "externals": {**(recipe.externals or {}), **externals},
            "dtypes": {**(recipe.dtypes or {}), **dtypes},
        }
        return dataclasses.replace(recipe, **changed).build()
    return value.implementation if _is_lazy(value) else value


def _write(shown: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
        return
    try:
        output.write_text(shown, encoding="utf-8")
    except OSError as error:
        raise _WrongUseError(f"cannot write to {str(output)!r}: {error.strerror or error}") from None
