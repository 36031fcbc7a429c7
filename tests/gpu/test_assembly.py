"""Stencils become machine code of NVIDIA's GPUs, which computes what their texts say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benches.cases import CASES
from fieldstone import gtscript
from fieldstone.demo import stencils
from tests.gpu.assembler import PROCESSORS, assembled, compiled, loose_arithmetic
from tests.gpu.constructs import CONSTRUCTS, REALS, TYPED

ROOT = Path(__file__).resolve().parents[2]
FIRST, COUNT = map(int, os.environ.get("FIELDSTONE_RANDOM_STENCILS", "0:24").split(":"))

of_the_demo = (stencils.horizontal_diffusion, stencils.vertical_diffusion)
of_benchmarks = [definition for case in CASES.values() for definition, _ in case.steps]
GENERIC = {definition.__name__: definition for definition in (*of_the_demo, *of_benchmarks)} | CONSTRUCTS
CASES_OF_TYPES = [
    *((name, definition, {"real": real}) for name, definition in GENERIC.items() for real in REALS),
    *((name, definition, {}) for name, definition in TYPED.items()),
]


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(
    ("definition", "dtypes"),
    [
        pytest.param(definition, dtypes, id="-".join([name, *(real.__name__ for real in dtypes.values())]))
        for name, definition, dtypes in CASES_OF_TYPES
    ],
)
def test_every_construct(definition: Any, dtypes: dict[str, Any], processor: str, tmp_path: Path) -> None:
    ptx = compiled(gtscript.stencil("cpu_ifirst", definition, dtypes=dtypes), processor)
    assert assembled(ptx, processor, tmp_path)
    assert loose_arithmetic(ptx) == {}


@pytest.fixture(scope="session")
def texts() -> dict[int, str]:
    """Text of the random stencil of each seed."""
    command = ["cargo", "run", "--quiet", "-p", "fieldstone-stencil", "--features", "generate"]
    command += ["--example", "random_stencils", "--", str(FIRST), str(COUNT)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    parts = [part.split("\n", 1) for part in found.split("# seed ")[1:]]
    return {int(seed): both.split("# functions\n")[1].strip() + "\n" for seed, both in parts}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_stencils(
    seed: int, texts: dict[int, str], from_text: Callable[[str, str], Callable[..., Any]], tmp_path: Path
) -> None:
    stencil = gtscript.stencil("cpu_ifirst", from_text(texts[seed], f"random_{seed}"))
    # Each takes one of them: what differs between processors is nothing that stencils differ in.
    processor = PROCESSORS[seed % len(PROCESSORS)]
    ptx = compiled(stencil, processor)
    assert assembled(ptx, processor, tmp_path)
    assert loose_arithmetic(ptx) == {}


def test_a_sum_of_products_is_rounded_twice() -> None:
    def multiply_and_add(a: gtscript.Field[np.float32], b: gtscript.Field[np.float32]):
        with computation(PARALLEL), interval(...):
            b = a * b + a

    ptx = compiled(gtscript.stencil("cpu_ifirst", multiply_and_add), "sm_80")
    assert "mul.rn.f32" in ptx
    assert "add.rn.f32" in ptx
    assert "fma" not in ptx


@pytest.mark.filterwarnings("ignore")
def test_many_arguments(from_text: Callable[[str, str], Callable[..., Any]], tmp_path: Path) -> None:
    names = [f"a{number}" for number in range(100)]
    parameters = ", ".join(f"{name}: Field[float]" for name in [*names, "out"])
    body = f"    with computation(PARALLEL), interval(...):\n        out = {' + '.join(names)}\n"
    text = f"def total({parameters}):\n{body}"
    stencil = gtscript.stencil("cpu_ifirst", from_text(text, "total"))
    assert all(assembled(compiled(stencil, processor), processor, tmp_path) for processor in PROCESSORS)
