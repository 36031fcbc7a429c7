"""What is computed at each point before a vertical sweep, where the levels of a column follow each other in memory."""

import numpy as np
import pytest

from fieldstone import gtscript, storage
from fieldstone.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, interval


def made_and_summed(
    a: Field["T"], b: Field["T"], c: Field["T"], made: Field["T"], kept: Field["T"], both: Field["T"], down: Field["T"],
    *, rate: "T",
):  # fmt: skip
    with computation(PARALLEL), interval(...):
        speed = a - b
        if b > 0.5:
            made = a * b + c
        kept = kept * rate + made
        both = a * c
    with computation(BACKWARD):
        with interval(-1, None):
            down = speed
        with interval(0, -1):
            down = down[0, 0, 1] * c + speed + both


def expected_of(a, b, c, made, kept, rate):
    speed, both = a - b, a * c
    made = np.where(b > a.dtype.type(0.5), a * b + c, made)
    down = speed.copy()
    for k in reversed(range(a.shape[2] - 1)):
        down[..., k] = down[..., k + 1] * c[..., k] + speed[..., k] + both[..., k]
    return made, kept * rate + made, both, down


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@pytest.mark.parametrize("columns", [5, 16, 32, 41])
@pytest.mark.parametrize("levels", [3, 8, 16, 35, 64])
def test_whole_groups_of_levels_and_what_is_left_of_them(backend, dtype, columns, levels):
    rng = np.random.default_rng(6)
    a, b, c, made, kept = rng.random((5, 3, columns, levels)).astype(dtype)
    both, down = np.zeros((2, 3, columns, levels), dtype)
    rate = dtype(0.75)
    expected = expected_of(a, b, c, made, kept, rate)
    stencil = gtscript.stencil(backend, made_and_summed, dtypes={"T": dtype})
    stencil(a, b, c, made, kept, both, down, rate=rate)
    for found, wanted in zip((made, kept, both, down), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("stores", ["cached", "streamed"])
def test_results_inside_of_larger_arrays(first, dtype, stores):
    rng = np.random.default_rng(7)
    domain, origin = (3, 36, 37), (2, 1, first)
    shape = tuple(points + 3 for points in domain)
    # The columns of the domain begin at cache lines, or one level behind.
    arrays = [storage.zeros(shape, dtype, defaults="cpu_kfirst", aligned_index=(2, 1, 0)) for _ in range(7)]
    for array in arrays:
        array[...] = rng.random(shape).astype(dtype)
    expected = [np.asarray(array).copy() for array in arrays]
    inside = tuple(slice(begin, begin + points) for begin, points in zip(origin, domain, strict=True))
    a, b, c, made, kept, both, down = (array[inside] for array in expected)
    rate = np.dtype(dtype).type(0.25)
    values = expected_of(a, b, c, made, kept, rate)
    for array, wanted in zip((made, kept, both, down), values, strict=True):
        array[...] = wanted
    stencil = gtscript.stencil("cpu_kfirst", made_and_summed, dtypes={"T": dtype}, schedule={"stores": stores})
    stencil(*arrays, rate=rate, origin=origin, domain=domain)
    for array, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(array), wanted)


def several_depths(a: Field["T"], b: Field["T"], slow: Field["T"], out: Field["T"]):
    with computation(FORWARD):
        with interval(0, 1):
            slow = a
        with interval(1, None):
            slow = slow[0, 0, -1] + a
    with computation(PARALLEL), interval(...):
        product = a * b + slow
        out = product - b
    with computation(FORWARD):
        with interval(0, 1):
            b = product
        with interval(1, None):
            b = b[0, 0, -1] - product


@pytest.mark.parametrize("levels", [8, 33])
@pytest.mark.parametrize("columns", [8, 19])
def test_points_between_sweeps(backend, columns, levels):
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 9, (2, 2, columns, levels)).astype(float)
    slow, out = np.zeros_like(a), np.zeros_like(a)
    sums = np.cumsum(a, axis=2)
    product = a * b + sums
    difference = product - b
    last = product.copy()
    for k in range(1, levels):
        last[..., k] = last[..., k - 1] - product[..., k]
    gtscript.stencil(backend, several_depths, dtypes={"T": float})(a, b, slow, out)
    np.testing.assert_array_equal(slow, sums)
    np.testing.assert_array_equal(out, difference)
    np.testing.assert_array_equal(b, last)
