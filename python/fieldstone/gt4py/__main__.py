"""``python -m fieldstone.gt4py PROGRAM ARGS…``: run a program that imports GT4Py on fieldstone."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from fieldstone.gt4py import install

USAGE = """\
usage: python -m fieldstone.gt4py PROGRAM [ARGUMENT ...]
       python -m fieldstone.gt4py -m MODULE [ARGUMENT ...]

Runs a Python program whose `import gt4py` finds fieldstone."""
WRONG_USE = 2


def main(arguments: list[str]) -> int:
    """Run a program.

    Parameters
    ----------
    arguments : list of str
        The program, or ``-m`` and a module, and what it is given.

    Returns
    -------
    int
        0, or 2 for wrong use; whatever the program exits with, it exits with by itself.
    """
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    module = arguments[:1] == ["-m"]
    rest = arguments[1:] if module else arguments
    if not rest or (rest[0].startswith("-") and not module):
        print(USAGE, file=sys.stderr)
        return WRONG_USE
    program = rest[0]
    if not module and not Path(program).exists():
        print(f"python -m fieldstone.gt4py: there is no file {program!r}", file=sys.stderr)
        return WRONG_USE
    install()
    sys.argv = rest
    if module:
        sys.path.insert(0, "")
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program).resolve().parent)
        runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
