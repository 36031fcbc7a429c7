"""The command ``fieldstone``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from fieldstone import __version__, set_num_threads
from fieldstone.commands import bench, cache, explain
from fieldstone.errors import FieldstoneError

WRONG_USE = 2
DISAGREEMENT = 1


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after the command's name; the default is those of the process.

    Returns
    -------
    int
        0 for success, 1 if backends disagree or a file is broken, 2 for wrong use.
    """
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads, such as `head`, has seen enough. What Python flushes when it ends goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="fieldstone", description="Fields for structured-grid models.")
    parser.add_argument("--version", action="version", version=f"fieldstone {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)
    demo = commands.add_parser(
        "demo",
        help="diffuse real atmospheric data on every backend",
        description=(
            "Reads a variable of a CF NetCDF file, runs horizontal and vertical diffusion on it with every backend, "
            "compares and times them, and writes the result and a picture."
        ),
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    demo.add_argument("--input", type=Path, metavar="FILE", help="CF NetCDF file (default: data over real hills)")
    demo.add_argument("--variable", metavar="NAME", help="three-dimensional variable (default: the only one)")
    demo.add_argument(
        "--backend", metavar="B", help="debug, numpy, cpu_kfirst, cpu_ifirst or gpu", default="cpu_ifirst"
    )
    demo.add_argument("--steps", type=_positive, metavar="N", help="number of steps", default=50)
    demo.add_argument("--dtype", choices=["float32", "float64"], help="element type (default: the file's)")
    demo.add_argument("--threads", type=_positive, metavar="T", help="threads to use (default: all cores)")
    demo.add_argument("--output", type=Path, metavar="DIR", help="folder for the results", default="fieldstone-demo")
    demo.set_defaults(run=_demo)
    bench.add(commands)
    cache.add(commands)
    explain.add(commands)
    return parser


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return value


def _demo(arguments: argparse.Namespace) -> int:
    chosen = {name: value for name, value in vars(arguments).items() if name not in ("run", "threads")}
    try:
        from rich.console import Console

        from fieldstone.demo.errors import DemoError
        from fieldstone.demo.main import Options
        from fieldstone.demo.main import main as run_demo
    except ModuleNotFoundError as missing:
        return _fail(f"the package {missing.name!r} is not installed; the demo needs pip install 'fieldstone[demo]'")
    try:
        if "threads" in arguments:
            set_num_threads(arguments.threads)
        agree = run_demo(Options(**chosen), Console())
    except (DemoError, FieldstoneError) as error:
        return _fail(str(error))
    return 0 if agree else DISAGREEMENT


def _fail(message: str) -> int:
    print(f"fieldstone demo: {' '.join(message.split())}", file=sys.stderr)
    return WRONG_USE
