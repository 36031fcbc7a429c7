"""Vertical loops over arrays whose levels follow each other in memory touch the levels they name and no others."""

import numpy as np
import pytest

from fieldstone import gtscript, storage
from fieldstone.gtscript import BACKWARD, FORWARD, Field, computation, interval


def inner_levels(inp: Field[float], out: Field[float]):
    with computation(FORWARD), interval(1, -1):
        out = out[0, 0, -1] + out[0, 0, 1] * inp[0, 1, 0] + inp[-2, 0, 0]


def reversed_sum(inp: Field[float], out: Field[float]):
    with computation(BACKWARD):
        with interval(-1, None):
            out = inp
        with interval(0, -1):
            out = inp + out[0, 0, 1]


def levels_ahead(inp: Field[float], below: Field[float], out: Field[float]):
    with computation(BACKWARD):
        with interval(-1, None):
            below = inp
            out = inp + below[0, 0, -1]
        with interval(0, -1):
            below = inp
            out = inp


@pytest.mark.parametrize("columns", [1, 7, 70])
@pytest.mark.parametrize("levels", [3, 5, 41])
def test_inner_levels(backend, columns, levels):
    rng = np.random.default_rng(1)
    inp, out = rng.random((columns + 3, 6, levels)), rng.random((columns + 3, 6, levels))
    expected = out.copy()
    for k in range(1, levels - 1):
        east = inp[0:columns, 1:5, k]
        expected[2:-1, 1:5, k] = expected[2:-1, 1:5, k - 1] + expected[2:-1, 1:5, k + 1] * inp[2:-1, 2:6, k] + east
    gtscript.stencil(backend, inner_levels)(inp, out, origin=(2, 1, 0), domain=(columns, 4, levels))
    np.testing.assert_array_equal(out, expected)


def test_results_are_transposed_back_inside_the_domain_only(backend):
    inp, out = np.ones((9, 8, 7)), np.full((9, 8, 7), -1.0)
    gtscript.stencil(backend, reversed_sum)(inp, out, origin=(2, 3, 1), domain=(5, 4, 5))
    inside = out[2:7, 3:7, 1:6]
    np.testing.assert_array_equal(inside, np.broadcast_to([5.0, 4, 3, 2, 1], inside.shape))
    inside[...] = -1
    assert (out == -1).all()


def test_levels_that_are_read_before_they_are_written_have_their_old_values(backend):
    inp, below = np.random.default_rng(2).random((2, 9, 8, 7))
    out, expected = np.zeros_like(inp), inp.copy()
    expected[:, :, -1] += below[:, :, -2]
    gtscript.stencil(backend, levels_ahead)(inp, below, out)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(below, inp)


def there_and_back(rate: Field["T"], level: Field["T"], flux: Field["T"]):
    with computation(FORWARD):
        with interval(0, 1):
            carried = rate + rate[0, 0, 1]
            flux = carried
        with interval(1, -1):
            carried = carried[0, 0, -1] - rate[1, 0, 0] * rate[0, 0, 1]
            flux = carried + level[0, 0, 1]
        with interval(-1, None):
            carried = carried[0, 0, -1] - rate
            flux = carried
    with computation(BACKWARD):
        with interval(-1, None):
            level = level + carried
        with interval(0, -1):
            level = carried - level[0, 0, 1] * rate[0, 1, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@pytest.mark.parametrize("columns", [15, 16, 17, 41])
@pytest.mark.parametrize("levels", [15, 16, 17, 31, 32, 33, 40])
def test_groups_of_levels_and_what_is_left_of_them(backend, dtype, columns, levels):
    rng = np.random.default_rng(3)
    rate, level, flux = rng.random((3, 4, columns + 1, levels)).astype(dtype)
    rate -= dtype(0.5)
    here, east, north = rate[:-1, :-1], rate[1:, :-1], rate[:-1, 1:]
    down, up = flux.copy(), level.copy()
    carried = np.empty_like(here)
    carried[..., 0] = here[..., 0] + here[..., 1]
    for k in range(1, levels - 1):
        carried[..., k] = carried[..., k - 1] - east[..., k] * here[..., k + 1]
    carried[..., -1] = carried[..., -2] - here[..., -1]
    down[:-1, :-1] = carried
    down[:-1, :-1, 1:-1] += level[:-1, :-1, 2:]
    inside = up[:-1, :-1]
    inside[..., -1] += carried[..., -1]
    for k in reversed(range(levels - 1)):
        inside[..., k] = carried[..., k] - inside[..., k + 1] * north[..., k]
    solve = gtscript.stencil(backend, there_and_back, dtypes={"T": dtype})
    solve(rate, level, flux, origin=(0, 0, 0), domain=(3, columns, levels))
    np.testing.assert_array_equal(flux, down)
    np.testing.assert_array_equal(level, up)


def two_sums(wind: Field["T"], other: Field["T"], weight: Field["T"], kept: Field["T"], *, rate: "T"):
    with computation(FORWARD):
        with interval(0, 1):
            carried = rate * other + weight + kept - 0.5 * (wind[1, 0, 1] + wind[0, 0, 1])
        with interval(1, -1):
            below = wind[1, 0, 0] + wind
            above = wind[1, 0, 1] + wind[0, 0, 1]
            carried = rate * other + weight + kept - 0.25 * below * carried[0, 0, -1] - above
        with interval(-1, None):
            if weight > 0.5:
                carried = rate * other + weight + kept - (wind[1, 1, 0] + wind[0, 1, 0])
            else:
                carried = rate * other + weight + kept
    with computation(BACKWARD):
        with interval(-1, None):
            kept = carried
        with interval(0, -1):
            kept = carried - kept[0, 0, 1] * other


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@pytest.mark.parametrize("columns", [3, 16, 41])
@pytest.mark.parametrize("levels", [3, 8, 17, 36, 70])
def test_sums_that_are_added_along_the_columns(backend, dtype, columns, levels):
    rng = np.random.default_rng(4)
    wind, other, weight, kept = rng.random((4, 4, columns + 1, levels)).astype(dtype)
    rate, half, quarter = dtype(0.3), dtype(0.5), dtype(0.25)
    domain = np.s_[:-1, :-1]
    known = (rate * other + weight + kept)[domain]
    sums = (wind[1:] + wind[:-1])[:, :-1]
    carried = np.empty_like(known)
    carried[..., 0] = known[..., 0] - half * sums[..., 1]
    for k in range(1, levels - 1):
        carried[..., k] = known[..., k] - quarter * sums[..., k] * carried[..., k - 1] - sums[..., k + 1]
    north = (wind[1:, 1:] + wind[:-1, 1:])[..., -1]
    carried[..., -1] = np.where(weight[domain][..., -1] > half, known[..., -1] - north, known[..., -1])
    expected = kept.copy()
    inside = expected[domain]
    inside[..., -1] = carried[..., -1]
    for k in reversed(range(levels - 1)):
        inside[..., k] = carried[..., k] - inside[..., k + 1] * other[domain][..., k]
    solve = gtscript.stencil(backend, two_sums, dtypes={"T": dtype})
    solve(wind, other, weight, kept, rate=rate, origin=(0, 0, 0), domain=(3, columns, levels))
    np.testing.assert_array_equal(kept, expected)


def sums_before_and_after(a: Field["T"], b: Field["T"], out: Field["T"]):
    with computation(FORWARD):
        with interval(0, 1):
            out = a + b
        with interval(1, None):
            out = out[0, 0, -1] + (a + b)
            a = a + b
    with computation(BACKWARD):
        with interval(-1, None):
            out = out + (a + b)
        with interval(0, -1):
            out = out[0, 0, 1] + out + (a + b)


@pytest.mark.parametrize("levels", [3, 8, 29])
def test_sums_of_what_sweeps_change(backend, levels):
    a, b, out = np.random.default_rng(5).integers(0, 99, (3, 3, 19, levels)).astype(float)
    down = np.cumsum(a + b, axis=2)
    changed = a + b
    changed[..., 0] = a[..., 0]
    up = np.cumsum((down + changed + b)[..., ::-1], axis=2)[..., ::-1]
    gtscript.stencil(backend, sums_before_and_after, dtypes={"T": float})(a, b, out)
    np.testing.assert_array_equal(a, changed)
    np.testing.assert_array_equal(out, up)


def differences(a: Field["real"], b: Field["real"], c: Field["real"], total: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            c = c + a
        with interval(1, None):
            c = c + a - a[0, 0, -1]
    with computation(BACKWARD):
        with interval(1, None):
            total = b - b[0, 0, -1]
        with interval(0, 1):
            total = b


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [5, 33, 64])
@pytest.mark.parametrize("levels", [2, 8, 17, 23, 71])
def test_sweeps_that_need_few_levels_at_a_time(backend, levels, columns, dtype):
    rng = np.random.default_rng(3)
    a, b, c, total = rng.integers(0, 1000, (4, 3, columns, levels)).astype(dtype)
    expected = c + np.diff(a, axis=2, prepend=0), np.diff(b, axis=2, prepend=0)
    gtscript.stencil(backend, differences, dtypes={"real": dtype})(a, b, c, total)
    np.testing.assert_array_equal(c, expected[0])
    np.testing.assert_array_equal(total, expected[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("levels", [5, 16, 41])
@pytest.mark.parametrize("first", [0, 1])
def test_results_that_go_past_the_caches(first, levels, dtype):
    rng = np.random.default_rng(3)
    domain, origin = (4, 37, levels), (2, 1, first)
    shape = tuple(points + 3 for points in domain)
    # The columns of the domain begin at cache lines, or one level behind.
    inp, out = (storage.zeros(shape, dtype, defaults="cpu_kfirst", aligned_index=(2, 1, 0)) for _ in range(2))
    inp[...] = rng.random(shape).astype(dtype)
    expected = np.zeros(shape, dtype)
    inside = tuple(slice(begin, begin + points) for begin, points in zip(origin, domain, strict=True))
    expected[inside] = np.cumsum(np.asarray(inp)[inside][..., ::-1], axis=2, dtype=dtype)[..., ::-1]
    stencil = gtscript.stencil("cpu_kfirst", reversed_sum, dtypes={float: dtype}, schedule={"stores": "streamed"})
    stencil(inp, out, origin=origin, domain=domain)
    np.testing.assert_array_equal(np.asarray(out), expected)


def divided_upwards(a: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            out = a
        with interval(1, None):
            out = a / (1 + out[0, 0, -1]) + a[0, 0, -1] / (2 + a)


def divided_downwards(a: Field["real"], out: Field["real"]):
    with computation(BACKWARD):
        with interval(-1, None):
            out = a
        with interval(0, -1):
            out = a / (1 + out[0, 0, 1]) + 1 / (2 + a)


def divided_in_parts(a: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 3):
            out = 1 / (1 + a)
        with interval(3, 4):
            out = out[0, 0, -1] + a
        with interval(4, None):
            out = a / (1 + out[0, 0, -1]) + 1 / (2 + a)


@pytest.mark.parametrize("definition", [divided_upwards, divided_downwards, divided_in_parts])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [7, 32, 104])
@pytest.mark.parametrize("levels", [5, 24, 43])
def test_levels_that_are_transposed_while_others_are_computed(backend, definition, levels, columns, dtype):
    a = np.random.default_rng(5).random((3, columns, levels)).astype(dtype)
    out, expected = np.zeros_like(a), np.zeros_like(a)
    gtscript.stencil("debug", definition, dtypes={"real": dtype})(a, expected)
    gtscript.stencil(backend, definition, dtypes={"real": dtype})(a, out)
    np.testing.assert_array_equal(out, expected)
