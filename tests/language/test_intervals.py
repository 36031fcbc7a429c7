"""Intervals whose bounds are numbers of the call, fields, or expressions of externals."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import BACKWARD, FORWARD, IJ, PARALLEL, Field, K, computation, interval


def of_externals(inp: Field["real"], out: Field["real"]):
    from __externals__ import bottom, top

    with computation(PARALLEL):
        with interval(0, top + 1):
            out = inp
        with interval(top + 1, -bottom):
            out = 2.0 * inp
        with interval(-bottom, None):
            out = 3.0 * inp


@pytest.mark.parametrize(("top", "bottom"), [(0, 1), (1, 2)])
def test_bounds_are_expressions_of_externals(check, top, bottom):
    def reference(f):
        k = np.arange(f.domain[2])
        factor = np.where(k <= top, 1, np.where(k < f.domain[2] - bottom, 2, 3))
        f.out[...] = factor.astype(f.inp.dtype) * f.inp

    check(of_externals, reference, externals={"top": top, "bottom": bottom})


def of_scalars(inp: Field["real"], out: Field["real"], begin: int, end: np.int32):
    with computation(PARALLEL):
        with interval(0, begin):
            out = 1.0
        with interval(begin, end):
            out = inp[0, 0, -1] + inp[1, 0, 1]
        with interval(end, None):
            out = 3.0


def bounds(rng, domain):
    begin, end = sorted(rng.integers(0, domain[2] + 1, 2))
    return {"begin": int(begin), "end": int(end) - domain[2] if end < domain[2] else int(end)}


def test_bounds_are_numbers_of_the_call_and_negative_ones_count_from_the_end(check):
    def reference(f, begin, end):
        k = np.arange(f.domain[2])
        end = end + f.domain[2] if end < 0 else end
        inner = f.at("inp", 0, 0, -1) + f.at("inp", 1, 0, 1)
        f.out[...] = np.where(k < begin, 1, np.where(k < end, inner, 3))

    check(of_scalars, reference, scalars=bounds)


def sweep(inp: Field["real"], out: Field["real"], begin: int):
    with computation(FORWARD):
        with interval(0, begin):
            out = inp
        with interval(begin, None):
            out = out[0, 0, -1] + inp
    with computation(BACKWARD), interval(begin, -1):
        tmp = inp
        out = out[0, 0, 1] - tmp


def test_vertical_loops_begin_where_the_call_says(check):
    def reference(f, begin):
        nk = f.domain[2]
        for k in range(nk):
            f.out[:, :, k] = f.inp[:, :, k] if k < begin else f.out[:, :, k - 1] + f.inp[:, :, k]
        for k in range(nk - 2, begin - 1, -1):
            f.out[:, :, k] = f.out[:, :, k + 1] - f.inp[:, :, k]

    check(sweep, reference, scalars=lambda rng, domain: {"begin": int(rng.integers(1, domain[2]))})


def of_fields(inp: Field["real"], depth: Field[IJ, "int32"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, depth):
            out = inp
        with interval(depth, None):
            out = out[0, 0, -1] if K > 0 else 0.0


def test_bounds_differ_from_column_to_column(check):
    def reference(f):
        for k in range(f.domain[2]):
            before = f.out[:, :, k - 1] if k else 0
            f.out[:, :, k] = np.where(k < f.depth, f.inp[:, :, k], before)

    check(of_fields, reference)


@gtscript.function
def slope(f):
    return f[1, 0, 0] - f[-1, 0, 0]


def of_functions(inp: Field["real"], depth: Field[IJ, "int32"], out: Field["real"]):
    with computation(PARALLEL), interval(depth, None):
        out = slope(2.0 * inp)


def of_functions_that_read_levels(inp: Field["real"], depth: Field[IJ, "int32"], out: Field["real"]):
    with computation(PARALLEL), interval(depth, None):
        out = slope(inp + inp[0, 0, -1])


@pytest.mark.filterwarnings("ignore:FS0423")  # where no column has the level, the sum is not there
@pytest.mark.parametrize(
    ("definition", "value"),
    [
        (of_functions, lambda f, i: f.out.dtype.type(2) * f.at("inp", i, 0, 0)),
        (of_functions_that_read_levels, lambda f, i: f.at("inp", i, 0, 0) + f.at("inp", i, 0, -1)),
    ],
)
def test_what_functions_read_beside_is_there_whatever_interval_that_column_has(check, definition, value):
    def reference(f):
        k = np.arange(f.domain[2])
        f.out[...] = np.where(k >= f.depth[..., None], value(f, 1) - value(f, -1), f.out)

    check(definition, reference)


BACKENDS = ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"]


def two(out: Field[float], first: int, second: int):
    with computation(PARALLEL):
        with interval(0, first):
            out = 1.0
        with interval(second, None):
            out = 2.0


def beside_known(out: Field[float], first: int, second: int):
    with computation(FORWARD):
        with interval(0, 2):
            out = 1.0
        with interval(first, second):
            out = 2.0
        with interval(-2, None):
            out = 3.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("definition", "first", "second", "expected"),
    [
        (two, 3, 3, [1, 1, 1, 2, 2]),
        (two, 0, 5, [0, 0, 0, 0, 0]),
        (two, 5, 5, [1, 1, 1, 1, 1]),
        (two, 2, -1, [1, 1, 0, 0, 2]),
        (two, -4, 4, [1, 0, 0, 0, 2]),
        (two, 3, 2, "interval(0, first) from level 0 to before 3, interval(second, None) from level 2 to before 5"),
        (two, 5, 0, "interval(0, first) from level 0 to before 5, interval(second, None) from level 0 to before 5"),
        (two, -1, -2, "interval(0, first) from level 0 to before 4, interval(second, None) from level 3 to before 5"),
        (two, 6, 5, "interval(0, first) from level 0 to before 6"),
        (two, 1, -6, "interval(second, None) from level -1 to before 5"),
        (beside_known, 2, 3, [1, 1, 2, 3, 3]),
        (beside_known, 2, 2, [1, 1, 0, 3, 3]),
        (beside_known, 4, 1, [1, 1, 0, 3, 3]),
        (
            beside_known,
            1,
            3,
            "interval(0, 2) from level 0 to before 2, interval(first, second) from level 1 to before 3",
        ),
        (
            beside_known,
            2,
            -1,
            "interval(first, second) from level 2 to before 4, interval(-2, None) from level 3 to before 5",
        ),
        (beside_known, 3, 9, "interval(first, second) from level 3 to before 9"),
    ],
)
def test_intervals_do_not_overlap_and_stay_inside_of_the_domain(backend, definition, first, second, expected):
    stencil = gtscript.stencil(backend, definition)
    out = np.zeros((3, 2, 5))
    if not isinstance(expected, str):
        stencil(out, first, second)
        assert (out == expected).all()
        return
    with pytest.raises(errors.IntervalError) as error:
        stencil(out, first, second)
    for part in expected.split(", interval"):
        interval, levels = part.removeprefix("interval").split(" from ")
        assert f"interval{interval}" in str(error.value)
        if backend in ("debug", "numpy"):
            assert f"from {levels}" in str(error.value)


def of_columns(begin: Field[IJ, int], end: Field[IJ, int], out: Field[float], later: int):
    with computation(FORWARD):
        with interval(0, begin):
            out = 1.0
        with interval(begin, end):
            out = 2.0
            end = later
        with interval(end, None):
            out = 3.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_intervals_of_every_column_are_checked(backend):
    stencil = gtscript.stencil(backend, of_columns)
    begin, end, out = np.full((5, 4), 2), np.full((5, 4), 4), np.zeros((5, 4, 6))
    begin[1, 1] = 0
    stencil(begin, end.copy(), out, 5)
    assert out[0, 0].tolist() == [1, 1, 2, 2, 0, 3]
    assert out[1, 1].tolist() == [2, 2, 2, 2, 0, 3]
    # The bounds of the second interval count as they were, those of the third as the second left them.
    with pytest.raises(errors.IntervalError, match=r"(?s)interval\(end, None\).*interval\(begin, end\)|overlap"):
        stencil(begin, end.copy(), out, 3)
    begin[3, 2] = -7
    with pytest.raises(errors.IntervalError, match=r"interval\(0, begin\)|interval\(begin, end\)") as error:
        stencil(begin, end.copy(), out, 5)
    if backend == "debug":
        assert error.value.index == (3, 2, 0)
        assert "levels outside of the domain in the column (3, 2)" in str(error.value)
        assert "from level 0 to before -1" in str(error.value)


@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"])
def test_levels_that_such_an_interval_does_not_reach_need_not_exist(backend):
    stencil = gtscript.stencil(backend, sweep, dtypes={"real": np.float64})
    inp, out = np.ones((3, 3, 5)), np.zeros((3, 3, 5))
    stencil(inp, out, begin=1)
    with pytest.raises(errors.OutOfBoundsError, match="`out` is accessed at"):
        stencil(inp, out, begin=0)


def real_bound(out: Field[float], top: float):
    with computation(PARALLEL), interval(0, top):
        out = 1.0


def level_bound(out: Field[float], top: Field[int]):
    with computation(PARALLEL), interval(0, top):
        out = 1.0


@pytest.mark.parametrize(
    ("definition", "words"),
    [(real_bound, "it is a real number"), (level_bound, "it differs from level to level")],
)
def test_what_cannot_be_a_bound_is_refused(definition, words):
    with pytest.raises(errors.GTScriptError, match="FS0007") as error:
        gtscript.stencil("numpy", definition)
    assert words in str(error.value)
