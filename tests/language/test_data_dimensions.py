"""Fields with several elements at each point, read and written one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import FORWARD, IJ, PARALLEL, Field, GlobalTable, K, computation, interval

from .conftest import BACKENDS, Way

SIZE = 3


def elements(v: Field[("real", (SIZE,))], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][0] + v[1, 0, 0][2] - v[0, -1, 0][1]


def test_elements_are_read_at_offsets(way: Way) -> None:
    v, out = way.array(data=(3,)), way.array()
    way.run(elements, v, out)
    way.close(way.inner(out), way.inner(v)[..., 0] + way.inner(v, i=1)[..., 2] - way.inner(v, j=-1)[..., 1])


def two_forms(m: Field[("real", (2, 3))], out: Field["real"], other: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = m[0, 0, 0][1, 2] - m[0, 0, 0][0, 0]
        other = m[0, 0, 0][1][2] - m.A[0, 0]


def test_a_matrix_has_two_indices(way: Way) -> None:
    m, out, other = way.array(data=(2, 3)), way.array(), way.array()
    way.run(two_forms, m, out, other)
    way.close(way.inner(out), way.inner(m)[..., 1, 2] - way.inner(m)[..., 0, 0])
    way.close(way.inner(out), way.inner(other))


def written(inp: Field["real"], out: Field[("real", (3,))]):
    with computation(PARALLEL), interval(...):
        out[0, 0, 0][0] = inp
        if inp > 0.0:
            out[0, 0, 0][2] = inp[1, 0, 0]
        out[0, 0, 0][0] += 1.0


def test_elements_are_written(way: Way) -> None:
    inp, out = way.array(), way.array(data=(3,))
    before = out.copy()
    way.run(written, inp, out)
    expected = way.inner(before).copy()
    expected[..., 0] = way.inner(inp) + way.real(1.0)
    expected[..., 2] = np.where(way.inner(inp) > 0, way.inner(inp, i=1), expected[..., 2])
    way.close(way.inner(out), expected)
    way.inner(out)[...] = way.inner(before)
    assert (out == before).all()  # nothing was written outside of the domain


def computed(v: Field[("real", (3,))], n: Field[np.int32], m: int, out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][n] * v[1, 0, 0][m] + v[0, 0, 0][(n + m) % 3]


@pytest.mark.parametrize("m", [0, 2])
def test_an_index_is_computed(way: Way, m: int) -> None:
    v, n, out = way.array(data=(3,)), way.array(integers=3).astype(np.int32), way.array()
    way.run(computed, v, n, m, out)
    pick = lambda index: np.take_along_axis(way.inner(v), index[..., None], -1)[..., 0]  # noqa: E731
    n = way.inner(n)
    way.close(way.inner(out), pick(n) * way.inner(v, i=1)[..., m] + pick((n + m) % 3))


def scattered(inp: Field["real"], n: Field[IJ, np.int64], out: Field[("real", (2, 2))]):
    with computation(PARALLEL), interval(...):
        out = 0.0
        out[0, 0, 0][n, 1] = inp
        if inp > 0.0:
            out[0, 0, 0][1 - n, n] = 2.0 * out[0, 0, 0][n, 1]


def test_the_index_that_is_written_is_computed(way: Way) -> None:
    inp, n, out = way.array(), way.array("IJ", integers=2), way.array(data=(2, 2))
    way.run(scattered, inp, n, out)
    inp, n = way.inner(inp), way.inner(n)
    expected = np.zeros((*inp.shape, 2, 2), way.real)
    for point in np.ndindex(inp.shape):
        at = n[point[:2]]
        expected[(*point, at, 1)] = inp[point]
        if inp[point] > 0:
            expected[(*point, 1 - at, at)] = 2 * expected[(*point, at, 1)]
    way.close(way.inner(out), expected)


def lower(
    p: Field[IJ, ("real", (2,))], q: Field[K, ("real", (2,))], out: Field["real"], top: Field[IJ, ("real", (2,))]
):
    with computation(FORWARD), interval(...):
        out = p[0, 0][0] * q[0][1] + p[1, 0][1]
        top[0, 0][1] = q[0][0]


def test_fields_along_some_axes_have_data_dimensions(way: Way) -> None:
    p, q, out, top = way.array("IJ", (2,)), way.array("K", (2,)), way.array(), way.array("IJ", (2,))
    way.run(lower, p, q, out, top)
    expected = way.inner(p)[:, :, None, 0] * q[:, 1] + way.inner(p, i=1)[:, :, None, 1]
    way.close(way.inner(out), expected)
    way.close(way.inner(top)[..., 1], np.full(way.domain[:2], q[-1, 0]))


def carried(inp: Field["real"], out: Field[("real", (2,))]):
    with computation(FORWARD):
        with interval(0, 1):
            out[0, 0, 0][0] = inp
            out[0, 0, 0][1] = 0.0
        with interval(1, None):
            out[0, 0, 0][0] = 0.5 * out[0, 0, -1][1] + inp
            out[0, 0, 0][1] = out[0, 0, -1][0]


def test_elements_are_carried_from_level_to_level(way: Way) -> None:
    inp, out = way.array(), way.array(data=(2,))
    way.run(carried, inp, out)
    inp, expected = way.inner(inp), np.zeros((*way.domain, 2), way.real)
    expected[:, :, 0, 0] = inp[:, :, 0]
    for k in range(1, way.domain[2]):
        expected[:, :, k, 0] = way.real(0.5) * expected[:, :, k - 1, 1] + inp[:, :, k]
        expected[:, :, k, 1] = expected[:, :, k - 1, 0]
    way.close(way.inner(out), expected)


def shifted(v: Field[("real", (2,))]):
    with computation(PARALLEL), interval(...):
        v[0, 0, 0][0] = v[1, 0, 0][1]


def test_elements_are_different_values(way: Way) -> None:
    v = way.array(data=(2,))
    expected = way.inner(v, i=1)[..., 1].copy()
    way.run(shifted, v)
    way.close(way.inner(v)[..., 0], expected)


def external(v: Field[(float, (4,))], out: Field[float]):
    from __externals__ import last

    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][last]


def test_an_index_is_an_external() -> None:
    v, out = np.arange(4.0) * np.ones((2, 2, 2, 1)), np.zeros((2, 2, 2))
    gtscript.stencil("numpy", external, externals={"last": 3})(v, out)
    assert (out == 3.0).all()
    with pytest.raises(errors.GTScriptSyntaxError, match=r"the index 4 is outside of a data dimension of 4 elements"):
        gtscript.stencil("numpy", external, externals={"last": 4})


def sized(v: Field[("real", (COUNT,))], t: GlobalTable["real", (COUNT - 1, SIZE)], out: Field["real"]):
    from __externals__ import COUNT

    with computation(PARALLEL), interval(...):
        w: Field[("real", (COUNT + SIZE))] = 0.0
        w[0, 0, 0][COUNT] = v[0, 0, 0][COUNT - 1]
        out = w[0, 0, 0][COUNT] + t.A[COUNT - 2, SIZE - 1] + w[0, 0, 0][COUNT + SIZE - 1]


@pytest.mark.parametrize("count", [2, 5])
def test_sizes_are_externals_and_names_from_outside(way: Way, count: int) -> None:
    v, t, out = way.array(data=(count,)), way.array("", (count - 1, 3)), way.array()
    way.run(sized, v, t, out, externals={"COUNT": count})
    way.close(way.inner(out), way.inner(v)[..., -1] + t[-1, -1])
    with pytest.raises(errors.ShapeError, match=r"expected \[7\] as the stencil declares them"):
        way.run(sized, v, t, out, externals={"COUNT": 7})
    with pytest.raises(errors.GTScriptError, match="name `COUNT` is not defined"):
        way.stencil(sized)


def at(v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][n]


def at_two(v: Field[(float, (2, 4))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][n, 1] + v[0, 0, 0][1, n]


def of_many(v: Field[(float, (300,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][150 * n]


def of_table(table: GlobalTable[float, (3,)], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = table.A[n]


def of_number(v: Field[(float, (3,))], m: int, out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][m]


def at_a_level(v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v.at(K=0, ddim=[n])


def of_a_temporary(v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        w = 2.0 * v
        out = w[0, 0, 0][n]


def of_a_condition(v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if v[0, 0, 0][n] > 0.0:
            out = 1.0


def to_one(v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        v[0, 0, 0][n] = out


def to_one_of_a_temporary(v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        w = v
        w[0, 0, 0][n] = out
        out = w[0, 0, 0][0]


OUTSIDE: dict[Callable[..., Any], tuple[tuple[int, ...], str]] = {
    at: ((4, 3, 2, 3), "v"),
    at_two: ((4, 3, 2, 2, 4), "v"),
    of_many: ((4, 3, 2, 300), "v"),
    of_table: ((3,), "table"),
    of_number: ((4, 3, 2, 3), "v"),
    at_a_level: ((4, 3, 2, 3), "v"),
    of_a_temporary: ((4, 3, 2, 3), "w"),
    of_a_condition: ((4, 3, 2, 3), "v"),
    to_one: ((4, 3, 2, 3), "v"),
    to_one_of_a_temporary: ((4, 3, 2, 3), "w"),
}
"""Stencils whose computed index may be 1 and not 4, the shape of the first argument, and what is indexed."""


@pytest.mark.parametrize("wrong", [-1, 4, 2**40, -(2**40)])
@pytest.mark.parametrize("definition", OUTSIDE, ids=lambda definition: definition.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_outside_is_reported(backend: str, definition: Callable[..., Any], wrong: int) -> None:
    shape, name = OUTSIDE[definition]
    stencil = gtscript.stencil(backend, definition)
    v, n, out = np.ones(shape), np.ones((4, 3, 2), int), np.zeros((4, 3, 2))
    index: Any = 1 if definition is of_number else n
    stencil(v, index, out)
    n[2, 1, 1] = wrong
    index = wrong if definition is of_number else n
    with pytest.raises(errors.OutOfBoundsError, match=rf"`{name}` is accessed at .*index"):
        stencil(v, index, out)


def test_debug_says_which_index_was_outside() -> None:
    v, n, out = np.ones((4, 3, 2, 3)), np.zeros((4, 3, 2), int), np.zeros((4, 3, 2))
    n[2, 1, 0] = 3
    with pytest.raises(errors.OutOfBoundsError, match=r"`v` is accessed at \(2, 1, 0\) with the index 3") as caught:
        gtscript.stencil("debug", at)(v, n, out)
    assert caught.value.index == (2, 1, 0)


def excluded(v: Field[("real", (3,))], many: Field[("real", (300,))], n: Field[int], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        small = v
        out = v[0, 0, 0][n] if n >= 0 and n < 3 else 0.0
        if 0 <= n < 300 and many[0, 0, 0][n] > 0.0:
            out = many[0, 0, 0][n]
        if n < 0 or n >= 3 or v[0, 0, 0][n] > 0.5:
            out = -1.0
        elif n == 1:
            out += small[0, 0, 0][n]
            small[0, 0, 0][n] = 4.0
            many[0, 0, 0][298 + n] = 5.0
            out += small[0, 0, 0][1]


def test_an_index_that_a_condition_excludes_does_not_count(way: Way) -> None:
    v, many, n, out = way.array(data=(3,)), way.array(data=(300,)), way.array(integers=400), way.array()
    n -= 50
    n[::2] %= 5
    given = many.copy()
    way.run(excluded, v, many, n, out)
    expected, written = np.zeros(way.domain, way.real), way.inner(given)
    v, n = way.inner(v), way.inner(n)
    for point in np.ndindex(way.domain):
        at = n[point]
        expected[point] = v[point][at] if 0 <= at < 3 else 0
        if 0 <= at < 300 and written[point][at] > 0:
            expected[point] = written[point][at]
        if not 0 <= at < 3 or v[point][at] > 0.5:
            expected[point] = -1
        elif at == 1:
            expected[point] = expected[point] + v[point][1] + way.real(4)
            written[point][299] = 5
    way.close(way.inner(out), expected)
    np.testing.assert_array_equal(many, given)


def many(
    v: Field[("real", (300,))], m: GlobalTable["real", (30, 20)], n: Field[np.int32], one: int, out: Field["real"]
):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][n] * v[1, 0, 0][one] - v[0, -1, 0][299 - n] + m.A[n % 30, one % 20] + v[0, 0, 0][7]


def test_elements_of_many_are_read_at_computed_indices(way: Way) -> None:
    v, m, out = way.array(data=(300,)), way.array("", (30, 20)), way.array()
    n = way.array(integers=300).astype(np.int32)
    way.run(many, v, m, n, 123, out)
    n = way.inner(n)

    def pick(of: np.ndarray, index: np.ndarray) -> np.ndarray:
        return np.take_along_axis(of, index[..., None], -1)[..., 0]

    expected = pick(way.inner(v), n) * way.inner(v, i=1)[..., 123] - pick(way.inner(v, j=-1), 299 - n)
    way.close(way.inner(out), expected + m[n % 30, 3] + way.inner(v)[..., 7])


def counted(kinds: Field[IJ, int], inp: Field["real"], histogram: Field[IJ, ("real", (400,))], out: Field["real"]):
    with computation(FORWARD), interval(...):
        histogram[0, 0][kinds] += inp
        out = histogram[0, 0][kinds] + histogram[0, 0][399 - kinds]
        kinds = (kinds + 100) % 400


def test_elements_of_many_are_written_at_computed_indices(way: Way) -> None:
    kinds, inp = way.array("IJ", integers=400), way.array()
    histogram, out = way.array("IJ", (400,)), way.array()
    expected, at = way.inner(histogram).copy(), way.inner(kinds).copy()
    way.run(counted, kinds, inp, histogram, out)
    picked = np.zeros(way.domain, way.real)
    i, j = np.indices(way.domain[:2])
    for k in range(way.domain[2]):
        expected[i, j, at] += way.inner(inp)[:, :, k]
        picked[:, :, k] = expected[i, j, at] + expected[i, j, 399 - at]
        at = (at + 100) % 400
    way.close(way.inner(out), picked)
    way.close(way.inner(histogram), expected)


def kept(inp: Field["real"], n: Field[int], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        total: Field[("real", (17, 17))] = 1.0
        if n < 17:
            total[0, 0, 0][n, 16 - n] = inp
        total[0, 0, 0][0, 0] = 2.0 * inp
    with computation(FORWARD), interval(1, None):
        out = total[0, 0, -1][n % 17, 16 - n % 17] + total[1, 0, 0][0, 0] + total[0, -1, -1][16 - n % 17, n % 17]


def test_temporaries_have_many_elements(way: Way) -> None:
    inp, n, out = way.array(), way.array(integers=20), way.array()
    way.run(kept, inp, n, out)
    total = np.ones((*inp.shape, 17, 17), way.real)
    for point in np.ndindex(inp.shape):
        if n[point] < 17:
            total[point][n[point], 16 - n[point]] = inp[point]
        total[point][0, 0] = 2 * inp[point]
    expected = np.zeros(way.domain, way.real)
    for point in np.ndindex(way.domain):
        if point[2] > 0:
            i, j, k = (index + halo for index, halo in zip(point, way.halo, strict=True))
            m = n[i, j, k] % 17
            expected[point] = (
                total[i, j, k - 1][m, 16 - m] + total[i + 1, j, k][0, 0] + total[i, j - 1, k - 1][16 - m, m]
            )
    way.close(way.inner(out)[:, :, 1:], expected[:, :, 1:])


def rounds(v: Field[("real", (300,))], start: Field[int], found: Field[int]):
    with computation(PARALLEL), interval(...):
        found = start
        while found < 299 and v[0, 0, 0][found] < 0.9:
            v[0, 0, 0][found] = 0.0
            found += 1


def test_a_loop_goes_through_the_elements(way: Way) -> None:
    v, start, found = way.array(data=(300,)), way.array(integers=299), way.array(integers=1)
    given = way.inner(v).copy()
    way.run(rounds, v, start, found)
    for point in np.ndindex(way.domain):
        at = way.inner(start)[point]
        while at < 299 and given[point][at] < way.real(0.9):
            given[point][at] = 0
            at += 1
        assert way.inner(found)[point] == at
    np.testing.assert_array_equal(way.inner(v), given)


def test_what_a_stencil_knows_of_its_fields() -> None:
    info = gtscript.stencil("numpy", two_forms, dtypes={"real": float}).field_info
    assert info["m"].data_dims == (2, 3)
    assert info["m"].mask == (True, True, True, True, True)
    assert info["m"].ndim == 5
    assert info["out"].data_dims == ()


@pytest.mark.parametrize(
    ("v", "words"),
    [
        (np.zeros((4, 3, 2, 2)), r"'v' has data dimensions of the sizes \[2\], expected \[3\]"),
        (
            np.zeros((4, 3, 2)),
            r"'v' has 3 dimension\(s\) \(shape \(4, 3, 2\)\), expected 3 along IJK and 1 data dimension",
        ),
    ],
)
def test_arrays_have_the_declared_data_dimensions(v: Any, words: str) -> None:
    with pytest.raises(errors.ShapeError, match=words):
        gtscript.stencil("numpy", at)(v, np.zeros((4, 3, 2), int), np.zeros((4, 3, 2)))


def doubled_at(v: Field[("real", (3,))], m: Field[IJ, ("real", (2, 3))], n: Field[int], out: Field[("real", (3,))]):
    with computation(PARALLEL), interval(...):
        out = 2.0 * v
        out[0, 0, 0][n] = m[0, 0][1, n]


NAMED: list[tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = [
    ({}, ("I", "J", "K", "0"), ("I", "J", "0", "1")),
    ({}, ("0", "K", "I", "J"), ("1", "J", "0", "I")),
    ({"species": "0", "row": "0", "column": "1"}, ("species", "I", "J", "K"), ("column", "row", "I", "J")),
    (
        {"lon": "I", "lat": "J", "lev": "K", "species": "0", "row": "0", "column": "1"},
        ("lev", "lat", "lon", "species"),
        ("lat", "row", "lon", "column"),
    ),
]
"""What names of dims mean, the dims of two data arrays, and those of their domain."""


@pytest.mark.parametrize(("meaning", "of_vector", "of_matrix"), NAMED)
def test_data_arrays_have_data_dimensions(
    way: Way, meaning: dict[str, str], of_vector: tuple[str, ...], of_matrix: tuple[str, ...]
) -> None:
    xarray = pytest.importorskip("xarray")
    v, m, n, out = way.array(data=(3,)), way.array("IJ", (2, 3)), way.array(integers=3), way.array(data=(3,))
    expected = 2 * way.inner(v)
    picked = np.take_along_axis(way.inner(m)[:, :, None, 1, :], way.inner(n)[..., None], -1)
    np.put_along_axis(expected, way.inner(n)[..., None], picked, -1)

    def named(array: np.ndarray, labels: str, dims: tuple[str, ...]) -> Any:
        order = [labels.index(meaning.get(dim, dim)) for dim in dims]
        return xarray.DataArray(array.transpose(order), dims=dims)

    stencil = way.stencil(doubled_at, dims=meaning)
    fields = named(v, "IJK0", of_vector), named(m, "IJ01", of_matrix), n, named(out, "IJK0", of_vector)
    stencil(*fields, origin=way.halo, domain=way.domain)
    way.close(way.inner(out), expected)


@pytest.mark.parametrize(
    ("dims", "words"),
    [
        (("I", "J", "K", "species"), "a data dimension: its number.*species: unknown"),
        (("I", "J", "K", "1"), r"has the dims \(I, J, K, 1\), expected \(I, J, K, 0\) in any order"),
        (("I", "J", "0", "1"), r"has the dims \(I, J, 0, 1\), expected \(I, J, K, 0\) in any order"),
    ],
)
def test_dims_that_are_no_data_dimension_of_the_parameter(dims: tuple[str, ...], words: str) -> None:
    xarray = pytest.importorskip("xarray")
    stencil = gtscript.stencil("numpy", at)
    with pytest.raises(errors.DimensionsError, match=re.compile(words, re.DOTALL)):
        stencil(xarray.DataArray(np.zeros((4, 3, 2, 3)), dims=dims), np.zeros((4, 3, 2), int), np.zeros((4, 3, 2)))


def swapped(a: Field[(float, (2,))], b: Field[(float, (2,))]):
    with computation(PARALLEL), interval(...):
        b[0, 0, 0][0] = a[0, 0, 0][0]
        b[0, 0, 0][1] = a[0, 0, 0][0]


def test_one_array_for_two_parameters_is_told_apart_by_elements() -> None:
    doubled = gtscript.stencil("numpy", in_place)
    v = np.ones((3, 3, 3, 2))
    doubled(v, v)
    assert (v == 2.0).all()
    with pytest.raises(errors.AliasError):
        gtscript.stencil("numpy", swapped)(v, v)


def in_place(a: Field[(float, (2,))], b: Field[(float, (2,))]):
    with computation(PARALLEL), interval(...):
        b = 2.0 * a


def left_out(t: Field[(float, (2, 3))], v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][n]


@pytest.mark.filterwarnings("ignore:FS0420")
@pytest.mark.parametrize("backend", ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"])
def test_a_field_that_is_not_used_changes_nothing(backend: str) -> None:
    stencil = gtscript.stencil(backend, left_out)
    v, n = np.random.default_rng(4).random((4, 3, 2, 3)), np.arange(24).reshape(4, 3, 2) % 3
    out = np.zeros((4, 3, 2))
    stencil(np.zeros((4, 3, 2, 2, 3)), v, n, out)
    np.testing.assert_array_equal(out, np.take_along_axis(v, n[..., None], -1)[..., 0])


def around(v: Field[(float, (2,))], n: int, out: Field[float]):
    with computation(PARALLEL), interval(...):
        if out > 0.5:
            v = out
        out = 2.0 * out
        total = v[0, 0, 0][1] + v[0, 0, 0][0]
        out = total[1, 0, 0] + v[0, 0, 0][n]


def test_what_is_written_around_the_domain_is_the_same_everywhere() -> None:
    results = []
    for backend in ["debug", "numpy", "cpu_kfirst", "cpu_ifirst"]:
        chance = np.random.default_rng(6)
        v, out = chance.random((7, 4, 3, 2)), chance.random((7, 4, 3))
        gtscript.stencil(backend, around)(v, 1, out, origin=(1, 0, 0), domain=(4, 4, 3))
        results.append((v, out))
    for v, out in results[1:]:
        np.testing.assert_array_equal(v, results[0][0])
        np.testing.assert_array_equal(out, results[0][1])
