"""Registers and memory of each thread of the benchmark stencils, which decide how many threads a processor has at once.

``FIELDSTONE_UPDATE_SNAPSHOTS=1`` writes down what is found.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benches.cases import CASES
from fieldstone import gtscript
from tests.gpu.assembler import PROCESSORS, assembled, compiled

SNAPSHOT = Path(__file__).parent / "registers.txt"
HEAD = "stencil              type     processor  registers  shared  stack  spilled (bytes)"


def lines(folder: Path) -> list[str]:
    found = []
    for case in CASES.values():
        for definition, _ in case.steps:
            for real in (np.float64, np.float32):
                stencil = gtscript.stencil("cpu_ifirst", definition, dtypes={"real": real})
                for processor in PROCESSORS:
                    for kernel in assembled(compiled(stencil, processor), processor, folder).values():
                        name = f"{definition.__name__:20} {real.__name__:8} {processor:9}"
                        memory = f"{kernel.shared:7} {kernel.stack:6} {kernel.stores + kernel.loads:8}"
                        found.append(f"{name} {kernel.registers:10} {memory}")
    return found


def test_benchmarks_need_no_more_than_before(tmp_path: Path) -> None:
    found = "\n".join([HEAD, *lines(tmp_path), ""])
    if os.environ.get("FIELDSTONE_UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(found)
    assert found == SNAPSHOT.read_text()
    spilled = [line for line in found.splitlines()[1:] if line.split()[-2:] != ["0", "0"]]
    assert spilled == []
