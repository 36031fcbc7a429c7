"""Results of sweeps that go past the caches, wherever rows begin: line by line, and nothing beside them is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, Field, computation, interval


def sums(inp: Field["real"], out: Field["real"], other: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            up = inp
            other = inp + 1.0
        with interval(1, None):
            up = inp + up[0, 0, -1]
            other = up - inp
    with computation(BACKWARD):
        with interval(-1, None):
            down = up
            out = down
        with interval(0, -1):
            down = up + down[0, 0, 1]
            out = down


def expected(inp: Any) -> tuple[Any, Any]:
    """Return what the stencil makes of integers."""
    up = np.cumsum(inp, axis=2)
    down = np.cumsum(up[..., ::-1], axis=2)[..., ::-1]
    other = up - inp
    other[..., 0] = inp[..., 0] + 1
    return down, other


def rows(first: int, domain: tuple[int, int, int], length: int, dtype: type) -> tuple[Any, Any]:
    """Return memory and an array of rows along I in it, the first so many elements behind the begin of a line."""
    size = np.dtype(dtype).itemsize
    memory = np.full(length * domain[1] * domain[2] + 256, -1, dtype)
    begin = (-memory.ctypes.data % 64) // size + first
    strides = (size, length * size, length * domain[1] * size)
    return memory, np.lib.stride_tricks.as_strided(memory[begin:], domain, strides)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gap", [0, 1, 6])
@pytest.mark.parametrize("first", [0, 1, 7, 13])
@pytest.mark.parametrize("columns", [1, 7, 16, 61, 127, 300])
def test_rows_that_begin_anywhere(columns: int, first: int, gap: int, dtype: type) -> None:
    domain = (columns, 3, 5)
    memories, arrays = zip(*(rows(first + 3 * n, domain, columns + gap, dtype) for n in range(3)), strict=True)
    inp, out, other = arrays
    inp[...] = np.random.default_rng(3).integers(0, 100, domain)
    untouched = [np.full_like(memory, -1) for memory in memories[1:]]
    for memory, array, wanted, values in zip(memories[1:], arrays[1:], untouched, expected(np.array(inp)), strict=True):
        begin = (array.ctypes.data - memory.ctypes.data) // memory.itemsize
        np.lib.stride_tricks.as_strided(wanted[begin:], domain, array.strides)[...] = values
    stencil = gtscript.stencil("cpu_ifirst", sums, dtypes={"real": dtype}, schedule="stores=streamed")
    stencil(inp, out, other, origin=(0, 0, 0), domain=domain)
    for memory, wanted in zip(memories[1:], untouched, strict=True):
        np.testing.assert_array_equal(memory, wanted)


def other_levels(inp: Field[float], out: Field[float], above: Field[float]):
    with computation(FORWARD), interval(0, -1):
        out = inp * 2.0
        above[0, 0, 1] = inp


def test_rows_of_other_levels_are_stored_as_well() -> None:
    domain = (37, 3, 5)
    inp = np.random.default_rng(5).integers(0, 100, domain).astype(float)
    arrays = [np.asfortranarray(np.full(domain, -1.0)) for _ in range(2)]
    stencil = gtscript.stencil("cpu_ifirst", other_levels, schedule="stores=streamed")
    stencil(np.asfortranarray(inp), *arrays, origin=(0, 0, 0), domain=domain)
    out, above = (np.full(domain, -1.0) for _ in range(2))
    out[..., :-1] = inp[..., :-1] * 2.0
    above[..., 1:] = inp[..., :-1]
    np.testing.assert_array_equal(arrays[0], out)
    np.testing.assert_array_equal(arrays[1], above)
