"""``fieldstone explain FILE[:STENCIL]``: what a stencil does, how it is computed, and what that costs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from fieldstone.commands import stencil_file
from fieldstone.errors import FieldstoneError

WRONG_USE = 2
FAILED = 1

_EXPLAINED = ("text", "html", "json")
_INSPECTED = ("source", "ir", "schedule", "numpy", "llvm", "asm")


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
    explain.add_argument(
        "--domain", type=stencil_file.points, metavar="NIxNJxNK", help="explain a call on so many points"
    )
    explain.add_argument("--layout", metavar="L", help="preset or axis that arrays are contiguous along")
    explain.add_argument(
        "--threads", type=stencil_file.positive(int), metavar="T", help="threads to use (default: all cores)"
    )
    explain.add_argument(
        "--bandwidth",
        type=stencil_file.positive(float),
        metavar="GB/S",
        help="with --domain: the least time, at so many GB/s",
    )
    stencil_file.add_options(explain)
    explain.add_argument(
        "--form", choices=(*_EXPLAINED, *_INSPECTED), default="text", help="what to show (default: %(default)s)"
    )
    explain.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to this file")
    explain.set_defaults(run=_run, prog=explain.prog)


def _run(options: argparse.Namespace) -> int:
    try:
        shown = _shown(options)
        if shown is None:
            return FAILED
        _write(shown, options.output)
    except (stencil_file.WrongUseError, FieldstoneError) as problem:
        print(f"{options.prog}: {str(problem).rstrip()}", file=sys.stderr)
        return WRONG_USE
    return 0


def _shown(options: argparse.Namespace) -> str | None:
    path, name = stencil_file.split(options.stencil)
    module = stencil_file.imported(path, options.prog)
    if module is None:
        return None
    if name is None:
        return stencil_file.listed(path, module)
    value = stencil_file.found(path, module, name)
    stencil = stencil_file.compiled(value, name, options, options.backend)
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


def _write(shown: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
        return
    try:
        output.write_text(shown, encoding="utf-8")
    except OSError as error:
        raise stencil_file.WrongUseError(f"cannot write to {str(output)!r}: {error.strerror or error}") from None
