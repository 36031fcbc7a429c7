"""Fields with several elements at each point, read and written one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import FORWARD, IJ, PARALLEL, Field, K, computation, interval

from .conftest import Way

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


def at(v: Field[(float, (3,))], n: Field[int], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = v[0, 0, 0][n]


@pytest.mark.parametrize("backend", ["numpy", "cpu_kfirst", "cpu_ifirst"])
def test_an_index_outside_counts_as_the_nearest_inside(backend: str) -> None:
    v, out = np.arange(3.0) * np.ones((4, 1, 1, 1)), np.zeros((4, 1, 1))
    gtscript.stencil(backend, at)(v, np.array([-5, 1, 3, 2**40]).reshape(4, 1, 1), out)
    assert out.ravel().tolist() == [0.0, 1.0, 2.0, 2.0]


def test_debug_reports_an_index_outside() -> None:
    v, n, out = np.ones((4, 3, 2, 3)), np.zeros((4, 3, 2), int), np.zeros((4, 3, 2))
    n[2, 1, 0] = 3
    with pytest.raises(errors.OutOfBoundsError, match=r"`v` is accessed at \(2, 1, 0\) with the index 3") as caught:
        gtscript.stencil("debug", at)(v, n, out)
    assert caught.value.index == (2, 1, 0)


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
            r"'v' has 3 dimension\(s\) \(shape \[4, 3, 2\]\), expected 3 along IJK and 1 data dimension",
        ),
    ],
)
def test_arrays_have_the_declared_data_dimensions(v: Any, words: str) -> None:
    with pytest.raises(errors.ShapeError, match=words):
        gtscript.stencil("numpy", at)(v, np.zeros((4, 3, 2), int), np.zeros((4, 3, 2)))


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
