"""``python -m fieldstone.gt4py PROGRAM ARGS…``: run a program that imports GT4Py on fieldstone."""

from __future__ import annotations

import linecache
import runpy
import sys
from pathlib import Path
from types import ModuleType, TracebackType

from fieldstone.gt4py import install

USAGE = """\
usage: python -m fieldstone.gt4py PROGRAM [ARGUMENT ...]
       python -m fieldstone.gt4py -m MODULE [ARGUMENT ...]
       python -m fieldstone.gt4py -c CODE [ARGUMENT ...]

Runs a Python program whose `import gt4py` finds fieldstone."""
WRONG_USE = 2


def main(arguments: list[str]) -> int:
    """Run a program.

    Parameters
    ----------
    arguments : list of str
        The program, or ``-m`` and a module, or ``-c`` and code, and what it is given.

    Returns
    -------
    int
        0, or 2 for wrong use; whatever the program exits with, it exits with by itself.
    """
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    form = arguments[0] if arguments[:1] in (["-m"], ["-c"]) else ""
    rest = arguments[1:] if form else arguments
    if not rest or (rest[0].startswith("-") and not form):
        print(USAGE, file=sys.stderr)
        return WRONG_USE
    program = rest[0]
    if not form and not Path(program).exists():
        return _refuse(f"there is no file {program!r}")
    sys.excepthook = print_uncaught
    install()
    sys.argv = ["-c", *rest[1:]] if form == "-c" else rest
    if form == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    elif form == "-c":
        # Stencils read their own text.
        linecache.cache["<string>"] = (len(program), None, program.splitlines(keepends=True), "<string>")
        sys.modules["__main__"] = module = ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), vars(module))
    else:
        if not sys.flags.safe_path:
            sys.path[0] = str(Path(program).resolve().parent)
        runpy.run_path(program, run_name="__main__")
    return 0


def _refuse(message: str) -> int:
    print(f"python -m fieldstone.gt4py: {message}", file=sys.stderr)
    return WRONG_USE


def print_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception of the program, as Python does: without what runs the program.

    Parameters
    ----------
    kind, error, trace
        As for ``sys.excepthook``.
    """
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, RUNPY):
        trace = trace.tb_next
    if trace is None and isinstance(error, ImportError):
        _refuse(str(error))
        return
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


RUNPY = runpy.run_path.__code__.co_filename

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
