"""Columns whose levels follow each other in memory hardly ever fill their last cache line, and often not the first."""

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import PARALLEL, Field, computation, interval
from tests.backends.columns import LINE, UNTOUCHED, both, doubled

PLANE = (5, 6)


def between(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(2, -1):
        out = inp[0, 0, 1] * 2 + inp[0, 0, -1]


def ends_apart(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL):
        with interval(0, 2):
            out = inp
        with interval(2, -1):
            out = inp * 3 + inp[0, 0, -1]
        with interval(-1, None):
            out = inp[0, 0, -1]


def updated_at_the_top(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(-3, None):
        out = out + inp


def columns(levels, dtype, begin, fill=None):
    """Columns whole lines apart that begin `begin` elements behind the begin of a line, and all they lie in."""
    lanes = LINE // np.dtype(dtype).itemsize
    length = -(-(begin + levels) // lanes) * lanes
    shape = (PLANE[0] + 2, PLANE[1] + 4, length)
    block = np.zeros(int(np.prod(shape)) + lanes, dtype)
    first = -block.ctypes.data % LINE // block.itemsize
    everything = block[first : first + int(np.prod(shape))].reshape(shape)
    everything[...] = UNTOUCHED if fill is None else fill.integers(0, 5, shape)
    return everything[:, :, begin : begin + levels], everything


@pytest.mark.parametrize("definition", [doubled, between, ends_apart, updated_at_the_top, both])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.int16])
@pytest.mark.parametrize("stores", ["streamed", "cached"])
@pytest.mark.parametrize("fetch", [0, 4])
def test_only_their_own_levels_are_stored(definition, dtype, stores, fetch):
    schedule = {"stores": stores, "fetch": fetch}
    stencil = gtscript.stencil("cpu_kfirst", definition, dtypes={"real": dtype}, schedule=schedule)
    oracle = gtscript.stencil("debug", definition, dtypes={"real": dtype})
    random = np.random.default_rng(3)
    names = [name for name in ("inp", "out", "other") if name in stencil.field_info]
    for levels in (4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 33, 60):
        for begins in ((0, 0, 0), (3, 3, 3), (1, 0, 2), (0, 5, 5)):
            sources = [random if name == "inp" else None for name in names]
            made = [columns(levels, dtype, *one) for one in zip(begins, sources, strict=False)]
            expected = {name: one.copy() for name, (one, _) in zip(names, made, strict=True)}
            where = {"origin": (1, 2, 0), "domain": (*PLANE, levels)}
            stencil(*[one for one, _ in made], **where)
            oracle(*expected.values(), **where)
            for name, (one, everything) in zip(names, made, strict=True):
                np.testing.assert_array_equal(one, expected[name], err_msg=f"{name}, {levels} levels from {begins}")
                if name != "inp":
                    one[...] = UNTOUCHED
                    assert (everything == UNTOUCHED).all(), f"{name}, {levels} levels from {begins}"
