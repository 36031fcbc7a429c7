"""Regions of the plane: each construct, and its meaning in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import FORWARD, PARALLEL, Field, I, J, computation, horizontal, interval, region

BACKENDS = ("debug", "numpy", "cpu_kfirst", "cpu_ifirst")


def part(n, start, end):
    """The slice of a range of points, of `n`: bounds below zero count from the end, `None` is open."""
    begin = 0 if start is None else min(max(start if start >= 0 else n + start, 0), n)
    stop = n if end is None else min(max(end if end > 0 else n + end, begin), n)
    return slice(begin, stop)


def edges(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = inp
        with horizontal(region[I[0], :], region[:, J[-1]]):
            out = 2.0 * out
        with horizontal(region[I[-1], J[0]]):
            out = -inp


def test_points_are_the_first_and_the_last_of_the_domain(check):
    def reference(f):
        f.out[...] = f.inp
        f.out[0] *= 2
        f.out[:, -1] *= 2
        f.out[-1, 0] = -f.inp[-1, 0]

    check(edges, reference)


def ranges(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = 0.0
        with horizontal(region[I[0] + 1 : I[-1], J[0] : J[0] + 3]):
            out = inp
        with horizontal(region[-2:, 4:-1]):
            out = 3.0
        with horizontal(region[2 + I[0], -1]):
            out = 4.0


def test_ranges_end_before_their_second_bound(check):
    def reference(f):
        i, j, _ = f.out.shape
        f.out[...] = 0
        box = part(i, 1, -1), part(j, None, 3)
        f.out[box] = f.inp[box]
        f.out[max(i - 2, 0) :, 4 : max(j - 1, 0)] = 3
        f.out[2:3, -1] = 4

    check(ranges, reference)


def by_externals(inp: Field["real"], out: Field["real"]):
    from __externals__ import first, nowhere, number, wall

    with computation(PARALLEL), interval(...), horizontal(region[first : first + number, :], region[:, wall - 1]):
        out = inp
    with computation(PARALLEL), interval(...), horizontal(region[nowhere, :], region[:, nowhere_j:]):
        out = 100.0


nowhere_j = J[-1] + 2**15


def test_bounds_are_externals_and_names_of_the_module(check):
    def reference(f):
        f.out[1:3] = f.inp[1:3]
        if f.out.shape[1] > 1:
            f.out[:, -2] = f.inp[:, -2]

    externals = {"first": I[0] + 1, "number": np.int64(2), "wall": J[-1], "nowhere": I[0] + np.iinfo(np.int16).min}
    check(by_externals, reference, externals=externals)


def around(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        flux = inp[1, 0, 0] - inp
        with horizontal(region[I[0] - 1, :], region[I[-1], :]):
            flux = 0.0
        with horizontal(region[:, : J[0]]):
            flux = 7.0
        out = flux - flux[-1, 0, 0] + flux[0, -1, 0]


def test_a_temporary_has_regions_as_far_around_the_domain_as_it_is_read(check):
    def reference(f):
        flux = {dj: np.stack([f.at("inp", di + 1, dj, 0) - f.at("inp", di, dj, 0) for di in (-1, 0)]) for dj in (-1, 0)}
        here, before, below = flux[0][1].copy(), flux[0][0].copy(), flux[-1][1].copy()
        here[-1] = before[0] = below[-1] = 0
        below[:, 0] = 7
        f.out[...] = here - before + below

    check(around, reference)


def one_sided(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        with horizontal(region[I[0], :]):
            out = inp[1, 0, 0] - inp
        with horizontal(region[I[0] + 1 : I[-1], :]):
            out = 0.5 * (inp[1, 0, 0] - inp[-1, 0, 0])
        with horizontal(region[I[-1], :]):
            out = inp - inp[-1, 0, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_reads_count_for_the_points_of_the_region(backend):
    stencil = gtscript.stencil(backend, one_sided, dtypes={"real": np.float64})
    assert stencil.field_info["inp"].boundary[0] == (0, 0)
    inp, out = np.random.default_rng(0).random((9, 4, 5)), np.zeros((9, 4, 5))
    stencil(inp, out)
    np.testing.assert_array_equal(out, np.gradient(inp, axis=0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_domain_that_is_too_small_for_its_regions_is_refused(backend):
    stencil = gtscript.stencil(backend, one_sided, dtypes={"real": np.float64})
    with pytest.raises(errors.DomainError, match=r"1 point.* along I, .* needs at least 2"):
        stencil(np.ones((1, 4, 5)), np.ones((1, 4, 5)))


def in_order(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        a = inp
        with horizontal(region[: I[-1], :]):
            a = 2.0 * inp
            b = a[1, 0, 0] + a
            out = b


def test_statements_of_a_region_run_one_after_the_other(check):
    def reference(f):
        right = f.at("inp", 1, 0, 0).copy()
        right[:-2] *= 2
        f.out[:-1] = (right + 2 * f.inp)[:-1]

    check(in_order, reference)


def under_conditions(inp: Field["real"], mask: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = 0.0
        with horizontal(region[:, J[0] : J[0] + 2]):
            if inp > 0.0:
                out = inp
            elif mask > 0.0:
                out = inp[0, -1, 0]
        if mask > 1.0:
            with horizontal(region[I[-1], :], region[I[0], :]):
                out = 1.0
            out = out + 1.0
        else:
            with horizontal(region[I[0], J[0]]):
                out = 5.0


def test_conditions_in_regions_and_regions_in_conditions(check):
    def reference(f):
        f.out[...] = 0
        chosen = np.where(f.inp > 0, f.inp, np.where(f.mask > 0, f.at("inp", 0, -1, 0), 0))
        f.out[:, :2] = chosen[:, :2]
        for i in (-1, 0):
            f.out[i] = np.where(f.mask[i] > 1, 1, f.out[i])
        f.out[...] = np.where(f.mask > 1, f.out + 1, f.out)
        f.out[0, 0] = np.where(f.mask[0, 0] > 1, f.out[0, 0], 5)

    check(under_conditions, reference)


@gtscript.function
def difference(f):
    return f[1, 0, 0] - f


@gtscript.function
def wall(f):
    with horizontal(region[:, J[-1]]):
        f = 0.0
    return f


def with_functions(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = wall(inp * inp)
        with horizontal(region[I[0] + 1, :]):
            out = difference(difference(inp * inp))


def test_functions_in_regions_see_their_neighbours_and_can_have_regions(check):
    def reference(f):
        f.out[...] = f.inp * f.inp
        f.out[:, -1] = 0
        square = [f.at("inp", n, 0, 0) ** 2 for n in range(3)]
        f.out[1:2] = ((square[2] - square[1]) - (square[1] - square[0]))[1:2]

    check(with_functions, reference)


def of_regions(inp: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            total = inp
            with horizontal(region[I[0], :]):
                total = 0.0
            out = total
        with interval(1, None), horizontal(region[:, J[0]], region[I[-1], :]):
            total = total[0, 0, -1] + inp
            out = total


def test_regions_in_vertical_loops(check):
    def reference(f):
        total = np.zeros_like(f.out)
        total[:, :, 0] = f.inp[:, :, 0]
        total[0, :, 0] = 0
        f.out[:, :, 0] = total[:, :, 0]
        for k in range(1, f.out.shape[2]):
            for i, j in ((slice(None), 0), (-1, slice(None))):
                total[i, j, k] = total[i, j, k - 1] + f.inp[i, j, k]
                f.out[i, j, k] = total[i, j, k]

    check(of_regions, reference)


def nested(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...), horizontal(region[I[0] : I[0] + 4, :]):
        out = inp
        if inp > 0.0:
            with horizontal(region[I[0] + 2 :, J[0]]):
                out = 1.0
            with horizontal(region[: I[-1], :]):
                out = out + 1.0


def test_a_region_of_a_region_has_the_points_of_both(check):
    def reference(f):
        f.out[:4] = f.inp[:4]
        f.out[2:4, 0] = np.where(f.inp[2:4, 0] > 0, 1, f.out[2:4, 0])
        last = min(4, f.out.shape[0] - 1)
        f.out[:last] = np.where(f.inp[:last] > 0, f.out[:last] + 1, f.out[:last])

    check(nested, reference)


def cubed_sphere(u: Field["real"], v: Field["real"], out: Field["real"]):
    from __externals__ import i_end, i_start, j_end, j_start

    with computation(PARALLEL), interval(...):
        fx = u[1, 0, 0] + u
        fy = v[0, 1, 0] + v
        with horizontal(region[i_start - 1, :], region[i_end + 1, :]):
            fx = 2.0 * u
        with horizontal(region[:, j_start - 1], region[:, j_end + 1]):
            fy = 2.0 * v
        with horizontal(region[i_start - 1, j_start - 1], region[i_end + 1, j_start - 1]):
            fx = u + v
        with horizontal(region[i_start - 1, j_end + 1], region[i_end + 1, j_end + 1]):
            fy = u - v
        out = fx[-1, -1, 0] + fx[1, 1, 0] + fy[-1, 1, 0] + fy[1, -1, 0]


def corners(here):
    def reference(f):
        i, j, _ = f.out.shape
        at = {(di, dj): (f.at("u", di, dj, 0), f.at("v", di, dj, 0)) for di in range(-1, 3) for dj in range(-1, 3)}

        def flux(di, dj):
            fx, fy = at[di + 1, dj][0] + at[di, dj][0], at[di, dj + 1][1] + at[di, dj][1]
            u, v = at[di, dj]
            rows = (np.arange(i) + di)[:, None, None] * np.ones((1, j, 1), int)
            columns = (np.arange(j) + dj)[None, :, None] * np.ones((i, 1, 1), int)
            west, east = rows == -1, rows == i
            south, north = columns == -1, columns == j
            if here:
                fx = np.where(west | east, 2 * u, fx)
                fy = np.where(south | north, 2 * v, fy)
                fx = np.where((west | east) & south, u + v, fx)
                fy = np.where((west | east) & north, u - v, fy)
            return fx, fy

        f.out[...] = flux(-1, -1)[0] + flux(1, 1)[0] + flux(-1, 1)[1] + flux(1, -1)[1]

    return reference


@pytest.mark.parametrize("here", [True, False])
def test_edges_and_corners_of_a_tile_vanish_where_externals_say_so(check, here):
    far = 0 if here else np.iinfo(np.int16).max
    externals = {"i_start": I[0] - far, "i_end": I[-1] + far, "j_start": J[0] - far, "j_end": J[-1] + far}
    check(cubed_sphere, corners(here), externals=externals)


@pytest.mark.parametrize(
    ("point", "text"), [(I[0], "I[0]"), (J[-1] + 1 - 3, "J[-1] -2"), (2 + I[0] + np.int32(1), "I[0] +3")]
)
def test_points_outside_of_a_stencil_are_objects(point, text):
    assert str(point) == text
    assert point == point + 0


def test_points_count_from_the_first_or_the_last():
    with pytest.raises(errors.DimensionsError, match=r"points along I count from I\[0\], the first"):
        I[1]


def test_regions_without_a_point_are_warned_of():
    def nowhere(inp: Field[float], out: Field[float]):
        with computation(PARALLEL), interval(...):
            out = inp
            with horizontal(region[I[0] - 1, :]):
                out = 0.0

    with pytest.warns(errors.StencilWarning, match="FS0430.*this region has no point"):
        gtscript.stencil("numpy", nowhere)
