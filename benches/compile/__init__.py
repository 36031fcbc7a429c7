"""From a definition to its first result: ``make bench ARGS=compile``.

Each time is that of an interpreter of its own (`first_result`), with an empty cache and with one that has the code;
medians of all rounds, in which contenders take turns. `programs` has the stencils.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches.compile import programs
from benches.compile.at_once import STATEMENTS
from benches.paired import Spread
from benches.table import Table, duration

SCRIPT = Path(__file__).with_name("first_result.py")

# A compilation that takes longer is given up (s).
PATIENCE = 900

STENCILS = {
    "horizontal diffusion": programs.HORIZONTAL_DIFFUSION,
    "vertical advection": programs.VERTICAL_ADVECTION,
}
REAL_SIZE = 2000
SIZES = (250, 500, 1000, 2000, 4000)


class Contender:
    """A package that compiles stencils, in some interpreter, with one of its backends."""

    def __init__(self, package: str, backend: str, python: str = sys.executable) -> None:
        self.package, self.backend, self.python = package, backend, python
        self.name = f"{package.partition('.')[0]} {backend}"

    def times(self, text: str, folder: Path, *, watch: bool = False) -> dict[str, float] | None:
        """Return the times of one process, None if it fails."""
        program = folder / "program.py"
        program.write_text(programs.HEAD.format(package=self.package) + text)
        command = [self.python, str(SCRIPT), str(program), self.backend, str(folder / "cache")]
        try:
            done = subprocess.run(
                [*command, *(["llvm"] if watch else [])],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                cwd=folder,
                env={key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
            )
            times: dict[str, float] = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, json.JSONDecodeError):
            return None
        return times


def tables(rounds: int, gt4py_python: str | None, *, quick: bool) -> Iterator[Table]:
    """Measure one table after the other; ``quick`` leaves out what takes long."""
    yield _imports(rounds)
    yield _first_results(rounds, gt4py_python, quick=quick)
    yield _at_once(rounds)
    yield _sizes(max(1, rounds // 2), SIZES[:-1] if quick else SIZES)


def _imports(rounds: int) -> Table:
    """Time imports, each on top of the one before."""
    modules = ("numpy", "fieldstone", "fieldstone.gtscript", "llvmlite.binding")
    script = (
        "import time\nfor name in " + repr(modules) + ":\n"
        "    begin = time.perf_counter()\n    __import__(name)\n    print(time.perf_counter() - begin)\n"
    )
    columns: list[list[float]] = [[] for _ in modules]
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for column, line in zip(columns, done.stdout.split(), strict=True):
            column.append(float(line))
    table = Table("Imports, each on top of those above", ["", "time"])
    for module, column in zip(modules, columns, strict=True):
        table.add(f"`{module}`", duration(statistics.median(column)))
    return table


def _first_results(rounds: int, gt4py_python: str | None, *, quick: bool) -> Table:
    """Time the first result of a process, with nothing in the cache and with the code in it."""
    contenders = [Contender("fieldstone", "cpu_ifirst"), *_gt4py(gt4py_python)]
    table = Table(
        "From a definition to its first result in a new process",
        ["", "", "nothing in the cache", "x fieldstone", "code in the cache", "x fieldstone"],
    )
    stencils = dict(STENCILS)
    stencils[f"{REAL_SIZE} statements"] = programs.column_physics(REAL_SIZE)
    for title, text in stencils.items():
        once = title not in STENCILS
        found = _in_turns(contenders, text, 1 if once else rounds)
        ours = found[contenders[0].name]
        for contender in contenders:
            cells = []
            for own, reference in zip(found[contender.name], ours, strict=True):
                cells += ["fails", ""] if own is None else [duration(own), _ratio(own, reference)]
            table.add(title if contender is contenders[0] else "", contender.name, *cells)
        if quick and once:
            table.note = f"{title}: one process each"
    return table


# Stencils that are compiled at the same time.
AT_ONCE = 8


def _at_once(rounds: int) -> Table:
    """Time several stencils that threads compile at the same time, by one thread and by as many as there are cores."""
    cores = len(os.sched_getaffinity(0))
    times: dict[int, list[float]] = {threads: [] for threads in sorted({1, 2, cores})}
    for _ in range(rounds):
        for threads, found in times.items():
            command = [sys.executable, "-m", "benches.compile.at_once", str(threads), str(AT_ONCE)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=SCRIPT.parents[2])
            found.append(json.loads(done.stdout))
    table = Table(
        f"{AT_ONCE} stencils of {STATEMENTS} statements and more, compiled by threads", ["threads", "time", "faster by"]
    )
    for threads, found in times.items():
        ratios = [alone / own for alone, own in zip(times[1], found, strict=True)]
        table.add(threads, duration(statistics.median(found)), Spread.of(ratios))
    return table


def _ratio(time: float, reference: float | None) -> str:
    return "" if reference is None else f"{time / reference:.3g}"


def _in_turns(contenders: list[Contender], text: str, rounds: int) -> dict[str, list[float | None]]:
    """Return for each contender the median time with an empty cache, and with the code in it."""
    times: dict[str, list[list[float]]] = {contender.name: [[], []] for contender in contenders}
    for _ in range(rounds):
        for contender in contenders:
            with tempfile.TemporaryDirectory() as folder:
                for column in times[contender.name]:
                    result = contender.times(text, Path(folder))
                    if result is not None:
                        column.append(result["total"])
    return {
        name: [statistics.median(column) if column else None for column in columns] for name, columns in times.items()
    }


def _gt4py(python: str | None) -> list[Contender]:
    """Return GT4Py's backends, if an interpreter has GT4Py; those that compile C++ fail where there is no compiler."""
    if python is None:
        if importlib.util.find_spec("gt4py") is None:
            return []
        python = sys.executable
    return [Contender("gt4py.cartesian", backend, python) for backend in ("numpy", "gt:cpu_kfirst")]


def _sizes(rounds: int, sizes: tuple[int, ...]) -> Table:
    """Time generated stencils of growing size, part by part."""
    contender = Contender("fieldstone", "cpu_ifirst")
    table = Table(
        "Column physics of so many statements, compiled with llvmlite imported",
        ["statements", "front end", "schedule and IR text", "LLVM", "all", "per statement"],
    )
    for size in sizes:
        text = programs.column_physics(size)
        found: list[dict[str, Any]] = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                times = contender.times(text, Path(folder), watch=True)
            if times is None:
                raise RuntimeError(f"the stencil of {size} statements does not compile")
            found.append(times)
        parts = {name: statistics.median(times[name] for times in found) for name in found[0]}
        table.add(
            size,
            duration(parts["define"]),
            duration(parts["call"] - parts["llvm"]),
            duration(parts["llvm"]),
            duration(parts["total"]),
            duration(parts["total"] / size),
        )
    return table
