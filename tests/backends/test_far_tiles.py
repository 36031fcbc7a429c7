"""Tiles of vectors of levels that come from memory and go there: the same bits, and nothing beside them is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import gtscript, storage
from fieldstone.gtscript import IJ, PARALLEL, Field, I, J, K, computation, horizontal, interval, region
from tests.backends.columns import LINE, UNTOUCHED

HALO = 3
PLANE = (11, 14)


@gtscript.function
def turned(x, y):
    return (x - y) * 3 - (y + 5) * 4 + x * y - (x + 3) * (y - 1) - (x + y) * (x - y) + x * 7 - y * 5


@gtscript.function
def busy(x):
    """Take as long as nests do for which it matters what is asked for each row."""
    y = turned(x, x * 3 - (x - 2) * 5)
    z = turned(y - x, x + 1) - y * x
    return z - turned(x - 4, x * 2)


def diffusion(inp: Field["real"], factor: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        lap = busy(inp) * 4 - (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0])
        along_i = lap[1, 0, 0] - lap
        along_j = lap[0, 1, 0] - lap
        along_j = along_j if along_j * (inp[0, 1, 0] - inp) > 0 else along_i
        out = inp - factor * (along_i - along_i[-1, 0, 0] + along_j - along_j[0, -1, 0])


def apart(inp: Field["real"], factor: Field["real"], out: Field["real"], other: Field["real"]):
    with computation(PARALLEL), interval(...):
        mean = busy(inp[0, -2, 0]) + inp[0, 2, 0] + inp[-2, 0, 0]
        other = mean[0, 1, 0] - factor
        twice = busy(mean[1, 0, 0]) * 2
        out = twice[0, -1, 0] + factor[0, 1, 0]


def some_levels(inp: Field["real"], factor: Field["real"], out: Field["real"], other: Field["real"]):
    with computation(PARALLEL), interval(0, 8):
        mean = busy(inp[0, -1, 0]) + inp[0, 1, 0]
        out = mean[1, 0, 0] - mean[-1, 0, 0]
    with computation(PARALLEL), interval(8, None):
        more = busy(inp[1, 1, 0]) * factor - inp[0, 0, -1]
        out = more[0, -1, 0] + more[0, 1, 0]
    with computation(PARALLEL), interval(1, -1):
        less = busy(inp[1, 1, 0]) * factor
        other = less[0, -1, 0] + less[1, 0, 0]


def at_edges(inp: Field["real"], factor: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        side = busy(inp[1, 0, 0]) - inp[-1, 0, 0]
        with horizontal(region[I[0], :], region[:, J[-1]]):
            side = factor
        with horizontal(region[I[-1] - 1 :, J[0] : J[0] + 2]):
            side = inp[0, 1, 0] * 2
        out = side[0, 1, 0] + side[0, -1, 0] - side[-1, 0, 0]
        with horizontal(region[I[0], J[0]]):
            out = inp


def planes(inp: Field["real"], ground: Field[IJ, "real"], height: Field[K, "real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        side = busy(inp[0, 1, 0]) * ground - inp[1, 0, 0]
        out = side[0, 1, 0] - side[-1, 0, 0] * height + ground[1, 0]


def masked(inp: Field["real"], factor: Field["real"], out: Field["real"], other: Field["real"]):
    with computation(PARALLEL), interval(...):
        side = busy(inp[1, 0, 0]) + inp[0, 1, 0]
        out = side[1, 0, 0] - side[0, -1, 0]
        if side > factor:
            other = busy(side[0, -1, 0])


DEFINITIONS = [diffusion, apart, some_levels, at_edges, planes, masked]
SCHEDULES = [
    {},
    {"tile.J": 4},
    {"tile.I": 3, "tile.J": 5},
    {"tile.K": 16, "tile.J": 6},
]


def columns(array: Any) -> np.ndarray:
    """Return the columns of a storage up to where the next ones begin."""
    plain = np.asarray(array)
    shape = (*plain.shape[:2], plain.strides[1] // plain.itemsize)
    return np.lib.stride_tricks.as_strided(plain, shape, plain.strides)


def field(axes: str, levels: int, dtype: type, values: Any) -> Any:
    sizes = {"I": PLANE[0] + 2 * HALO, "J": PLANE[1] + 2 * HALO, "K": levels}
    shape = tuple(sizes[axis] for axis in axes)
    one = storage.empty(shape, dtype, dims=axes, layout=tuple(range(len(axes))), alignment_size=LINE)
    if axes == "IJK":
        columns(one)[...] = UNTOUCHED
    one[...] = values(shape)
    return one


def arguments(definition: Callable[..., Any], levels: int, dtype: type) -> dict[str, Any]:
    rng = np.random.default_rng(levels)
    axes = {"ground": "IJ", "height": "K"}
    made = {}
    for name in (name for name in definition.__annotations__ if name != "return"):
        is_result = name in ("out", "other")
        values = (lambda shape: UNTOUCHED) if is_result else (lambda shape: rng.integers(0, 9, shape))
        made[name] = field(axes.get(name, "IJK"), levels, dtype, values)
    return made


def run(backend: str, definition: Callable[..., Any], fields: dict[str, Any], levels: int, **options: Any) -> None:
    dtype = np.asarray(fields["inp"]).dtype
    stencil = gtscript.stencil(backend, definition=definition, dtypes={"real": dtype}, **options)
    stencil(**fields, origin=(HALO, HALO, 0), domain=(*PLANE, levels))


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("levels", [8, 21, 64])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_same_bits(definition: Callable[..., Any], dtype: type, levels: int, schedule: dict[str, int]) -> None:
    fields = arguments(definition, levels, dtype)
    expected = {name: np.array(one) for name, one in fields.items()}
    run("debug", definition, expected, levels)
    run("cpu_kfirst", definition, fields, levels, schedule={"fetch": 1, "stores": "streamed", **schedule})
    for name, one in fields.items():
        np.testing.assert_array_equal(np.asarray(one), expected[name], err_msg=name)
        if name in ("out", "other"):
            around = np.pad(np.zeros(PLANE, bool), HALO, constant_values=True)
            assert (columns(one)[around] == UNTOUCHED).all(), "columns around the domain"


def test_such_tiles_have_a_function_that_asks_nothing() -> None:
    options = {"dtypes": {"real": np.dtype(np.float64)}}
    function = "@fieldstone_kernel_0_far("
    text = gtscript.stencil("cpu_kfirst", diffusion, **options).inspect("llvm")
    if "nontemporal" not in text:
        pytest.skip("this processor has no stores past the caches")
    assert function in text
    assert function not in gtscript.stencil("cpu_ifirst", diffusion, **options).inspect("llvm")
