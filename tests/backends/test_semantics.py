"""What statements mean, on every backend, against NumPy written by hand."""

import numpy as np
import pytest

from fieldstone import gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, IJ, PARALLEL, Field, K, computation, interval


@pytest.fixture
def random():
    return np.random.default_rng(20)


def axes_order(array, order):
    """The same numbers, with the axes in another order in memory: the last of `order` is contiguous."""
    copied = np.ascontiguousarray(array.transpose(order))
    return copied.transpose(np.argsort(order))


ORDERS = [(0, 1, 2), (2, 1, 0), (1, 2, 0)]


def limited_diffusion(phi: Field["T"], alpha: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
        lap = phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0] - 4.0 * phi
        flux_i = lap[1, 0, 0] - lap
        flux_i = 0.0 if flux_i * (phi[1, 0, 0] - phi) > 0.0 else flux_i
        flux_j = lap[0, 1, 0] - lap
        flux_j = 0.0 if flux_j * (phi[0, 1, 0] - phi) > 0.0 else flux_j
        out = phi - alpha * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ORDERS)
def test_temporaries_are_computed_as_far_as_they_are_read(backend, random, dtype, order):
    stencil = gtscript.stencil(backend, limited_diffusion, dtypes={"T": np.dtype(dtype)})
    phi = axes_order(random.random((17, 13, 6)).astype(dtype), order)
    alpha = axes_order(random.random((13, 9, 6)).astype(dtype), order)
    out = axes_order(np.zeros((13, 9, 6), dtype), order)
    stencil(phi, alpha, out, origin={"phi": (2, 2, 0), "alpha": (0, 0, 0), "out": (0, 0, 0)}, domain=(13, 9, 6))

    lap = phi[2:, 1:-1] + phi[:-2, 1:-1] + phi[1:-1, 2:] + phi[1:-1, :-2] - 4 * phi[1:-1, 1:-1]
    flux_i, flux_j = np.diff(lap[:, 1:-1], axis=0), np.diff(lap[1:-1], axis=1)
    zero = np.zeros((), dtype)
    flux_i = np.where(flux_i * np.diff(phi[1:-1, 2:-2], axis=0) > 0, zero, flux_i)
    flux_j = np.where(flux_j * np.diff(phi[2:-2, 1:-1], axis=1) > 0, zero, flux_j)
    expected = phi[2:-2, 2:-2] - alpha * (flux_i[1:] - flux_i[:-1] + flux_j[:, 1:] - flux_j[:, :-1])
    np.testing.assert_array_equal(out, expected)


def thomas(lower: Field[float], diagonal: Field[float], upper: Field[float], rhs: Field[float], x: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            ratio = upper / diagonal
            partial = rhs / diagonal
        with interval(1, None):
            pivot = diagonal - lower * ratio[0, 0, -1]
            ratio = upper / pivot
            partial = (rhs - lower * partial[0, 0, -1]) / pivot
    with computation(BACKWARD):
        with interval(-1, None):
            x = partial
        with interval(0, -1):
            x = partial - ratio * x[0, 0, 1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("levels", [2, 3, 40])
def test_vertical_loops_solve_tridiagonal_systems(backend, random, order, levels):
    shape = (9, 5, levels)
    lower, diagonal, upper, rhs = (axes_order(random.random(shape), order) for _ in range(4))
    diagonal += 3.0
    x = axes_order(np.full(shape, np.nan), order)
    gtscript.stencil(backend, thomas)(lower, diagonal, upper, rhs, x)
    matrix = np.zeros((9, 5, levels, levels))
    k = np.arange(levels)
    matrix[..., k, k] = diagonal
    matrix[..., k[1:], k[:-1]] = lower[..., 1:]
    matrix[..., k[:-1], k[1:]] = upper[..., :-1]
    np.testing.assert_allclose(x, np.linalg.solve(matrix, rhs[..., None])[..., 0], rtol=1e-13, atol=1e-15)


def branches(a: Field[float], b: Field[float], limit: float, rising: np.bool_):
    with computation(PARALLEL), interval(...):
        if rising:  # noqa: SIM108 - both forms are tested
            b = b + 1.0
        else:
            b = b - 1.0
        if a > limit:
            b = limit
            if a > 2.0 * limit:
                b = -limit
            else:
                a = 0.0
        elif a < 0.0:
            b = 2.0 * b


@pytest.mark.parametrize("rising", [True, False])
def test_branches(backend, random, rising):
    a, b = random.normal(size=(8, 7, 5)), random.normal(size=(8, 7, 5))
    b[0, 0, 0] = np.nan  # stays as it is, where nothing is written
    before = a.copy()
    expected = b + 1.0 if rising else b - 1.0
    expected = np.where(a < 0.0, 2.0 * expected, expected)
    expected = np.where(a > 0.5, np.where(a > 1.0, -0.5, 0.5), expected)
    gtscript.stencil(backend, branches)(a, b, 0.5, rising)
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(a, np.where((before > 0.5) & (before <= 1.0), 0.0, before))


def heights(a: Field[K, float], b: Field[K, float], surface: Field[IJ, float], z: Field[float]):
    with computation(PARALLEL):
        with interval(0, 1):
            z = surface
        with interval(1, None):
            z = z[0, 0, 0] * 0.0 + a + b * surface + (a[-1] - a)


def test_lower_dimensional_fields(backend, random):
    a, b, surface = random.random(6), random.random(6), random.random((5, 4))
    z = np.zeros((5, 4, 6))
    gtscript.stencil(backend, heights)(a, b, surface, z)
    expected = 0.0 + a + b * surface[..., None]
    expected[..., 1:] += a[:-1] - a[1:]
    expected[..., 0] = surface
    np.testing.assert_array_equal(z, expected)


def running_sum(a: Field[np.int32], up: Field[np.int32], down: Field[np.int32]):
    with computation(FORWARD):
        with interval(0, 2):
            up = a
        with interval(2, None):
            up = up[0, 0, -1] + a
    with computation(BACKWARD):
        with interval(-1, None):
            down = a
        with interval(0, -1):
            down = down[0, 0, 1] + a


def test_values_are_carried_from_level_to_level(backend):
    a = np.broadcast_to(1 << np.arange(6, dtype=np.int32), (3, 2, 6)).copy()
    up, down = np.zeros_like(a), np.zeros_like(a)
    gtscript.stencil(backend, running_sum)(a, up, down)
    np.testing.assert_array_equal(up[1, 1], [1, 2, 6, 14, 30, 62])
    np.testing.assert_array_equal(down[1, 1], [63, 62, 60, 56, 48, 32])


def shifted_square(a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        t = a * a
        b = t[1, 0, 0] + t[0, -1, 0]
        a = b


def test_fields_may_be_written_in_place(backend, random):
    a = random.random((70, 60, 3))
    b, square = np.zeros_like(a), a * a
    gtscript.stencil(backend, shifted_square)(a, b, origin=(0, 1, 0), domain=(69, 59, 3))
    expected = square[1:, 1:] + square[:-1, :-1]
    np.testing.assert_array_equal(b[:-1, 1:], expected)
    np.testing.assert_array_equal(a[:-1, 1:], expected)
    assert not b[-1].any()
    assert not b[:, 0].any()


def sometimes_written(a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        if a > 0.0:
            t = a
        b = t  # fieldstone: ignore[FS0423]


def test_what_was_not_written_is_zero_or_an_error(backend, random):
    a = random.normal(size=(4, 4, 4))
    b = np.ones_like(a)
    stencil = gtscript.stencil(backend, sometimes_written)
    if backend != "debug":
        stencil(a, b)
        np.testing.assert_array_equal(b, np.where(a > 0, a, 0.0))
        return
    with pytest.raises(Exception, match=r"`t` is read at \(\d, \d, \d\)\n *--> .*test_semantics.py:\d+"):
        stencil(a, b)
