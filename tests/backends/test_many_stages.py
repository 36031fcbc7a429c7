"""A stencil of so many stages that its code is several functions; each result depends on neighbours of the last one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from fieldstone import gtscript

STAGES = 75


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A definition with a chain of temporaries, each of which reads its predecessor to one side; and one in between."""
    lines = [
        "from fieldstone.gtscript import PARALLEL, Field, computation, interval",
        "",
        "def chain(inp: Field[float], middle: Field[float], out: Field[float], factor: float):",
        "    with computation(PARALLEL), interval(...):",
        "        t0 = inp",
    ]
    for number in range(1, STAGES):
        offset = ("1, 0, 0", "0, 1, 0", "-1, 0, 0", "0, -1, 0")[number % 4]
        lines.append(f"        t{number} = t{number - 1}[{offset}] + factor * t{number - 1} + {number % 7}.0")
        if number == STAGES // 2:
            lines.append(f"        middle = t{number} - inp[0, 0, 0]")
    lines.append(f"        out = t{STAGES - 1}")
    path: Path = tmp_path_factory.mktemp("chain") / "chain.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("chain", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.chain


def by_hand(inp, factor):
    value, shift = inp.copy(), ((-1, 0), (-1, 1), (1, 0), (1, 1))
    for number in range(1, STAGES):
        value = np.roll(value, *shift[number % 4]) + factor * value + number % 7
        if number == STAGES // 2:
            middle = value - inp
    return middle, value


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("backend", ["numpy", "cpu_ifirst"])
def test_each_stage_sees_the_one_before(chain, backend, order):
    rng = np.random.default_rng(0)
    halo = 22
    shape = (2 * halo + 37, 2 * halo + 9, 3)
    inp = np.asarray(rng.random(shape), order=order)
    middle, out = np.zeros_like(inp), np.zeros_like(inp)
    stencil = gtscript.stencil(backend, chain)
    stencil(inp, middle, out, 0.25, origin=(halo, halo, 0), domain=(37, 9, 3))
    inner = (slice(halo, halo + 37), slice(halo, halo + 9))
    for result, expected in zip((middle, out), by_hand(inp, 0.25), strict=True):
        np.testing.assert_array_equal(result[inner], expected[inner])
    if backend != "numpy":
        assert "_part_1" in stencil.inspect("llvm")
