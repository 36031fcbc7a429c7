"""Long chains of stages over arrays whose levels follow each other in memory compute neighbouring levels at once."""

import llvmlite.binding as llvm
import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import IJ, PARALLEL, Field, I, J, K, computation, horizontal, interval, region
from tests.machine import second_level_cache


@gtscript.function
def smoothed(q):
    along_i = 0.125 * (q[1, 0, 0] - 2.0 * q + q[-1, 0, 0])
    along_j = 0.25 * (q[0, 1, 0] - 2.0 * q + q[0, -1, 0])
    return q + min(along_i, along_j) - max(along_i, 0.0)


def chain(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        once = smoothed(inp)
        twice = smoothed(once)
        thrice = smoothed(twice)
        out = smoothed(thrice)


def flattened(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        once = smoothed(inp)
        out = smoothed(once)


def layered(inp: Field["real"], ground: Field[IJ, "real"], weight: Field[K, "real"], out: Field["real"]):
    with computation(PARALLEL):
        with interval(0, 2):
            once = smoothed(inp) + ground[0, 1]
        with interval(2, None):
            once = smoothed(inp) * weight
    with computation(PARALLEL), interval(...):
        twice = smoothed(once)
        with horizontal(region[I[0], :], region[:, J[-1]]):
            twice = once
        thrice = smoothed(twice) + weight
    with computation(PARALLEL):
        with interval(0, 1):
            out = thrice
        with interval(1, -1):
            out = out + smoothed(thrice) * ground + inp[0, 0, 1]


def smooth(q):
    here = q[1:-1, 1:-1]
    along_i = 0.125 * (q[2:, 1:-1] - 2 * here + q[:-2, 1:-1])
    along_j = 0.25 * (q[1:-1, 2:] - 2 * here + q[1:-1, :-2])
    return here + np.minimum(along_i, along_j) - np.maximum(along_i, 0)


def data(shape, dtype, seed=1):
    return np.random.default_rng(seed).random(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("levels", [1, 3, 8, 17, 60, 528])
@pytest.mark.parametrize("plane", [(1, 1), (5, 37), (40, 3)])
def test_chain(backend, plane, levels, dtype):
    inp, out = data((plane[0] + 8, plane[1] + 8, levels), dtype), np.zeros((*plane, levels), dtype)
    gtscript.stencil(backend, chain, dtypes={"real": dtype})(inp, out, origin={"inp": (4, 4, 0), "out": (0, 0, 0)})
    np.testing.assert_array_equal(out, smooth(smooth(smooth(smooth(inp)))))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("definition", "times"), [(flattened, 2), (chain, 4)])
def test_tiles_have_more_than_caches_hold_of_columns_that_share_lines(definition, times, dtype):
    inp, out = data((78, 44, 301), dtype), np.zeros((78 - 2 * times, 44 - 2 * times, 301), dtype)
    expected = inp
    for _ in range(times):
        expected = smooth(expected)
    stencil = gtscript.stencil("cpu_kfirst", definition, dtypes={"real": dtype})
    stencil(inp, out, origin={"inp": (times, times, 0), "out": (0, 0, 0)})
    np.testing.assert_array_equal(out, expected)


def test_neighbouring_arrays_have_any_layout(backend):
    inp, out = data((20, 30, 13), np.float64), np.zeros((13, 22, 12)).transpose(2, 1, 0)[::-1]
    expected = smooth(smooth(smooth(smooth(inp))))
    for other in (np.asfortranarray(inp), inp.transpose(1, 0, 2).copy().transpose(1, 0, 2), inp):
        out[...] = 0
        gtscript.stencil(backend, chain, dtypes={"real": np.float64})(
            other, out, origin={"inp": (4, 4, 0), "out": (0, 0, 0)}
        )
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("levels", [4, 9, 33, 200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_level_has_its_own_statements(backend, levels, dtype):
    shape = (21, 26, levels)
    arguments = [data(shape, dtype), data(shape[:2], dtype, 2), data(shape[2:], dtype, 3), data(shape, dtype, 4)]
    expected = [argument.copy() for argument in arguments]
    origin = {"inp": (5, 5, 0), "ground": (5, 5), "weight": (0,), "out": (5, 5, 0)}
    where = {"origin": origin, "domain": (11, 16, levels)}
    gtscript.stencil("debug", layered, dtypes={"real": dtype})(*expected, **where)
    gtscript.stencil(backend, layered, dtypes={"real": dtype})(*arguments, **where)
    for one, other in zip(arguments, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("levels", [5, 16, 64, 80, 528])
@pytest.mark.parametrize("first", [(0, 0), (3, 3), (7, 7), (2, 5)])
def test_arrays_begin_anywhere_in_a_cache_line(backend, first, levels, dtype):
    """Vectors of levels are aligned where columns lie whole lines apart, if all arrays begin alike."""
    shape = (20, 30, levels)
    size, lanes = int(np.prod(shape)), 64 // np.dtype(dtype).itemsize
    inp, out = (np.zeros(size + 2 * lanes, dtype) for _ in range(2))
    inp, out = (
        block[-block.ctypes.data % 64 // block.itemsize + begin :][:size].reshape(shape)
        for block, begin in zip((inp, out), first, strict=True)
    )
    inp[...] = data(shape, dtype)
    gtscript.stencil(backend, chain, dtypes={"real": dtype})(inp, out, origin=(4, 4, 0), domain=(12, 22, levels))
    np.testing.assert_array_equal(out[4:-4, 4:-4], smooth(smooth(smooth(smooth(inp)))))
    out[4:-4, 4:-4] = 0
    assert not out.any()


def test_explain_says_so():
    stencil = gtscript.stencil("cpu_kfirst", chain, dtypes={"real": np.float64})
    (nest,) = stencil.explain(domain=(128, 128, 200)).nests
    assert [(loop.axis, loop.role) for loop in nest.loops] == [("I", "slide"), ("J", "row"), ("K", "vector")]
    assert nest.scratch <= second_level_cache() // 2


@pytest.mark.parametrize(
    ("dtype", "levels", "tile"),
    [(np.float64, 128, 8), (np.float64, 300, 32), (np.float32, 300, 16), (np.float32, 520, 64)],
)
def test_tiles_have_more_lines_of_columns_that_fill_pages(dtype, levels, tile):
    stencil = gtscript.stencil("cpu_kfirst", flattened, dtypes={"real": dtype})
    (nest,) = stencil.explain(domain=(128, 128, levels)).nests
    # Tiles are equal parts of whole vectors: of lines, but without AVX.
    part = -(-levels // -(-levels // tile))
    lanes = (64 if llvm.get_host_cpu_features().get("avx", True) else 16) // np.dtype(dtype).itemsize
    assert nest.loops[-1].tile == -(-part // lanes) * lanes
