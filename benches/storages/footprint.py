"""How much memory a small storage takes beside its elements: each kind in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from resource import getpagesize

from benches.table import Table

COUNT = 100_000

# What is made, from what, and the bytes of its elements with their padding.
CASES = [
    ("storage.zeros((4, 4, 4))", "None", 512),
    ("storage.zeros((4, 4, 4), dims='IJK', halo=(1, 1, 0), defaults='cpu_ifirst')", "None", 1024),
    ("s[1:3]", "storage.zeros((4, 4, 4))", 0),
    ("np.zeros((4, 4, 4))", "None", 512),
    ("s[1:3]", "np.zeros((4, 4, 4))", 0),
]


def run() -> Table:
    """Make many objects of each kind and see how the process grows."""
    table = Table(f"Memory of one of {COUNT} small objects", ["", "s", "padded elements / B", "beside them / B"])
    for statement, source, nbytes in CASES:
        command = [sys.executable, "-m", __name__, statement, source]
        growth = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        table.add(f"`{statement}`", f"`{source}`", nbytes, round(float(growth) - nbytes))
    return table


def growth(statement: str, source: str) -> float:
    """Return the resident bytes that each of many objects adds."""
    import numpy as np

    from fieldstone import storage

    names = {"np": np, "storage": storage}
    names["s"] = eval(source, names)
    make = eval(f"lambda: {statement}", names)
    places = [make() for _ in range(100)] + [None] * COUNT
    before = _resident()
    for n in range(COUNT):
        places[100 + n] = make()
    return (_resident() - before) / COUNT


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


if __name__ == "__main__":
    print(growth(*sys.argv[1:]))
