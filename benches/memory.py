"""Memory beside that of fields: ``ARGS=memory``.

What importing and compiling leave in a process, what temporaries take while a stencil runs, and what calls allocate
after the first. How much a storage takes is in `benches.storages.footprint`.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator

from benches.arguments import Arguments
from benches.cases import CASES
from benches.contenders import fieldstone
from benches.table import Table, amount

SIZE = (128, 128, 60)
CALLS = 200

# Each runs on top of those before, in a process of its own.
STAGES = {
    "`import numpy`": "import numpy",
    "`import fieldstone`": "import fieldstone",
    "`from fieldstone import gtscript`": "from fieldstone import gtscript",
    "horizontal diffusion compiled": "from benches import memory; memory.compile('hdiff')",
    "all benchmark stencils compiled": "memory.compile(*memory.CASES)",
}

RESIDENT = "print(int(open('/proc/self/statm').read().split()[1]) * __import__('resource').getpagesize())"


def compile(*names: str) -> None:
    """Compile cases anew."""
    for name in names:
        for stencil in fieldstone.stencils(CASES[name], "float64", "cpu_ifirst", rebuild=True):
            stencil.compile()


def run(rounds: int) -> Iterator[Table]:
    """Measure one table after the other."""
    yield _resident(min(rounds, 3))
    yield _temporaries()
    yield _allocated()


def _resident(rounds: int) -> Table:
    script = "\n".join(f"{statement}\n{RESIDENT}" for statement in STAGES.values())
    columns: list[list[int]] = [[] for _ in STAGES]
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for column, line in zip(columns, done.stdout.split(), strict=True):
            column.append(int(line))
    table = Table("Resident memory of a process, each stage on top of those above", ["", "in all", "more"])
    before = 0.0
    for stage, column in zip(STAGES, columns, strict=True):
        now = statistics.median(column)
        table.add(stage, _megabytes(now), _megabytes(now - before) if before else "")
        before = now
    return table


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:.1f} MB"


def _temporaries() -> Table:
    """Say where the temporaries of each case live, and how much they take."""
    size = " x ".join(map(str, SIZE))
    table = Table(
        f"Temporaries of the benchmark stencils, {size}, float64",
        ["", "layout", "in registers", "in scratch", "scratch per thread", "in arrays", "arrays", "a field has"],
    )
    field = amount(round(8 * SIZE[0] * SIZE[1] * SIZE[2] / 1024) * 1024)
    for name, case in CASES.items():
        for layout in ("I", "K"):
            explained = [
                stencil.explain(domain=SIZE, layout=layout)
                for stencil in fieldstone.stencils(case, "float64", "cpu_ifirst")
            ]
            temporaries = [one for each in explained for one in each.temporaries]
            places = [one.lives_in for one in temporaries]
            arrays = sum(one.bytes or 0 for one in temporaries)
            scratch = max((nest.scratch or 0 for each in explained for nest in each.nests), default=0)
            kept = sum(place in ("ring", "column", "window") for place in places)
            in_arrays = places.count("array")
            table.add(
                name, layout, places.count("register"), kept, _kibibytes(scratch), in_arrays, _kibibytes(arrays), field
            )
    return table


def _kibibytes(nbytes: int) -> str:
    return f"{nbytes / 1024:.1f} KiB" if nbytes else "0"


def _allocated() -> Table:
    """Count pages that calls touch for the first time, and what Python allocates, after calls that are not counted."""
    table = Table(
        f"What {CALLS} calls allocate after the first ten",
        ["", "new pages", "Python's memory kept", "most at a time"],
    )
    for name, case in CASES.items():
        call = fieldstone.contender(Arguments(case, (64, 64, 40), "float64", "I")).call
        for _ in range(10):
            call()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(CALLS):
            call()
        pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        tracemalloc.start()
        call()
        tracemalloc.reset_peak()
        start, _ = tracemalloc.get_traced_memory()
        for _ in range(CALLS):
            call()
        end, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        table.add(name, pages, f"{end - start} B", f"{peak - start} B")
    return table
