"""Whole vectors and matrices in expressions, temporaries and functions."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import errors, gtscript
from fieldstone.gtscript import FORWARD, PARALLEL, Field, computation, interval

from .conftest import Way

V = Field[("real", (3,))]
M = Field[("real", (2, 3))]
W = Field[("real", (2,))]


def sums(v: Field[("real", (3,))], w: Field[("real", (3,))], s: Field["real"], out: Field[("real", (3,))]):
    with computation(PARALLEL), interval(...):
        out = 2 * v + w[1, 0, 0] * s - (-v) / 4.0
        out += w if s > 0.0 else v


def test_operations_are_element_by_element(way: Way) -> None:
    v, w, s, out = way.array(data=(3,)), way.array(data=(3,)), way.array(), way.array(data=(3,))
    way.run(sums, v, w, s, out)
    v, west, w, s = way.inner(v), way.inner(w, i=1), way.inner(w), way.inner(s)[..., None]
    expected = 2 * v + west * s + v / 4
    way.close(way.inner(out), expected + np.where(s > 0, w, v))


def many(v: Field[("real", (97,))], w: Field[("real", (97,))], out: Field[("real", (97,))]):
    with computation(PARALLEL), interval(...):
        t = v * 2.0 + w
        out = t * v - t[1, 0, 0]
    with computation(FORWARD), interval(1, None):
        out += 0.5 * out[0, 0, -1]


def test_elements_that_are_many(way: Way) -> None:
    v, w, out = (way.array(data=(97,)) for _ in range(3))
    way.run(many, v, w, out)
    t, beside = way.inner(v) * 2 + way.inner(w), way.inner(v, i=1) * 2 + way.inner(w, i=1)
    expected = t * way.inner(v) - beside
    for k in range(1, way.domain[2]):
        expected[:, :, k] += expected[:, :, k - 1] / 2
    way.close(way.inner(out), expected)


def in_place(m: Field[("real", (8, 8))], v: Field[("real", (8,))], out: Field[("real", (8,))]):
    with computation(PARALLEL), interval(...):
        t = m @ v
        out = t


def test_a_result_that_takes_the_place_of_many_elements(way: Way) -> None:
    m, v = way.array(data=(8, 8)), way.array(data=(8,))
    expected = np.einsum("...rn,...n", way.inner(m), way.inner(v))
    way.run(in_place, m, v, v)
    np.testing.assert_allclose(way.inner(v), expected, rtol=1e-3, atol=1e-4)


def many_in_place(m: Field[("real", (12, 12))], v: Field[("real", (12,))], out: Field[("real", (12,))]):
    with computation(PARALLEL), interval(...):
        out = m @ v


def many_beside(m: Field[("real", (12, 12))], v: Field[("real", (12,))], out: Field[("real", (12,))]):
    with computation(PARALLEL), interval(...):
        t = m @ v
        out = t[1, 0, 0] - t


def test_products_of_many_elements(way: Way) -> None:
    m, v, out = way.array(data=(12, 12)), way.array(data=(12,)), way.array(data=(12,))

    def product(i: int = 0) -> np.ndarray:
        return np.einsum("...rn,...n", way.inner(m, i=i), way.inner(v, i=i))

    way.run(many_beside, m, v, out)
    np.testing.assert_allclose(way.inner(out), product(1) - product(), rtol=1e-3, atol=1e-3)
    expected = product()
    way.run(many_in_place, m, v, v)
    np.testing.assert_allclose(way.inner(v), expected, rtol=1e-3, atol=1e-4)


def a_long_product(m: Field[("real", (2, 37))], v: Field[("real", (37,))], out: Field["real"], mv: W):
    with computation(PARALLEL), interval(...):
        mv = m @ (v + 1.0)
        norm = mv @ mv
        out = norm


def test_products_of_many_terms(way: Way) -> None:
    m, v, out, mv = (way.array(data=shape) for shape in [(2, 37), (37,), (), (2,)])
    way.run(a_long_product, m, v, out, mv)
    expected = np.einsum("...rn,...n", way.inner(m), way.inner(v) + 1)
    np.testing.assert_allclose(way.inner(mv), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(way.inner(out), np.sum(expected**2, -1), rtol=1e-3, atol=1e-3)


def functions(v: Field[("real", (3,))], out: Field[("real", (3,))]):
    with computation(PARALLEL), interval(...):
        limited = max(v, -0.5)
        out = sqrt(abs(limited)) * float32(1.0)
        big = v > 0.25
        if big[0, 0, 0][1]:
            out = 1.0


def test_functions_and_comparisons_are_element_by_element(way: Way) -> None:
    v, out = way.array(data=(3,)), way.array(data=(3,))
    way.run(functions, v, out)
    v = way.inner(v)
    expected = np.sqrt(np.abs(np.maximum(v, way.real(-0.5))))
    way.close(way.inner(out), np.where(v[..., 1:2] > 0.25, way.real(1.0), expected))


def products(m: M, v: V, w: W, mv: W, mw: V, vv: Field["real"], mm: Field[("real", (2, 2))]):
    with computation(PARALLEL), interval(...):
        mv = m @ v
        mw = m.T @ (w + mv)
        vv = v @ v
        mm = m @ m.T


def test_products_of_matrices_and_vectors(way: Way) -> None:
    shapes = [(2, 3), (3,), (2,), (2,), (3,), (), (2, 2)]
    arrays = [way.array(data=shape) for shape in shapes]
    way.run(products, *arrays)
    m, v, w, mv, mw, vv, mm = (way.inner(array) for array in arrays)
    expected = np.einsum("...ij,...j->...i", m, v)
    way.close(mv, expected)
    way.close(mw, np.einsum("...ij,...i->...j", m, w + expected))
    way.close(vv, np.einsum("...i,...i", v, v))
    way.close(mm, np.einsum("...ij,...kj->...ik", m, m))


def temporaries(v: V, n: Field[int], out: V):
    with computation(PARALLEL), interval(...):
        difference = v[1, 0, 0] - v
        out = difference[-1, 0, 0] + difference[0, 1, 0]
        kept: Field[("real", (3,))] = 0.0
        kept[0, 0, 0][n] = 1.0
        out = out * kept + kept[0, 0, 0][0]


def test_temporaries_have_data_dimensions(way: Way) -> None:
    v, n, out = way.array(data=(3,)), way.array(integers=3), way.array(data=(3,))
    way.run(temporaries, v, n, out)
    west, here = way.inner(v, i=-1), way.inner(v)
    expected = (here - west) + (way.inner(v, i=1, j=1) - way.inner(v, j=1))
    kept = np.eye(3, dtype=way.real)[way.inner(n)]
    way.close(way.inner(out), expected * kept + kept[..., :1])


def swapped(a: V, b: V):
    with computation(PARALLEL), interval(...):
        a, b = b, 2.0 * a
        a = a[0, 0, 0][1] * b + a


def test_a_vector_is_taken_before_it_is_written(way: Way) -> None:
    a, b = way.array(data=(3,)), way.array(data=(3,))
    first, second = way.inner(a).copy(), way.inner(b).copy()
    way.run(swapped, a, b)
    first, second = second, 2 * first
    way.close(way.inner(b), second)
    way.close(way.inner(a), first[..., 1:2] * second + first)


@gtscript.function
def rotated(v, angle):
    turned = v * cos(angle)
    return turned, v[1, 0, 0] - v


@gtscript.function
def second(v):
    return v[0, 0, 0][1]


@gtscript.function
def chosen(v, w, s):
    if s > 0.0:
        return v
    else:
        return w + v


def called(v: V, s: Field["real"], out: V, other: V, one: Field["real"]):
    with computation(PARALLEL), interval(...):
        out, other = rotated(v + 1.0, s)
        one = second(out * 2.0) + second(v)
        other += chosen(v, out, s)


def test_vectors_are_arguments_and_results(way: Way) -> None:
    v, s, out, other, one = way.array(data=(3,)), way.array(), way.array(data=(3,)), way.array(data=(3,)), way.array()
    way.run(called, v, s, out, other, one)
    ahead, v, s = way.inner(v, i=1), way.inner(v), way.inner(s)[..., None]
    turned = (v + way.real(1)) * np.cos(s)
    way.close(way.inner(out), turned)
    way.close(way.inner(one), 2 * turned[..., 1] + v[..., 1])
    difference = (ahead + way.real(1)) - (v + way.real(1))
    way.close(way.inner(other), difference + np.where(s > 0, v, turned + v))


def sweep(v: V, m: Field[("real", (3, 3))], out: V):
    with computation(FORWARD):
        with interval(0, 1):
            out = v
        with interval(1, None):
            out = 0.25 * (m @ out[0, 0, -1]) + v


def test_a_vector_is_carried_from_level_to_level(way: Way) -> None:
    v, m, out = way.array(data=(3,)), way.array(data=(3, 3)), way.array(data=(3,))
    way.run(sweep, v, m, out)
    v, m = way.inner(v), way.inner(m)
    expected = v.copy()
    for k in range(1, way.domain[2]):
        expected[:, :, k] += way.real(0.25) * np.einsum("...ij,...j->...i", m[:, :, k], expected[:, :, k - 1])
    way.close(way.inner(out), expected)


def mismatched(v: Field[(float, (3,))], w: Field[(float, (2,))], out: Field[(float, (3,))]):
    with computation(PARALLEL), interval(...):
        out = v + w


def too_long(v: Field[(float, (3,))], out: Field[(float, (2,))]):
    with computation(PARALLEL), interval(...):
        out = v


def in_condition(v: Field[(float, (3,))], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if v > 0.0:
            out = 1.0


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (mismatched, r"FS0240.*sizes \(3\) and \(2\) do not fit together"),
        (too_long, r"FS0240.*`out` has data dimension \(2\), but what is assigned has data dimension \(3\)"),
        (in_condition, r"FS0241.*a number is expected here, but this has data dimension \(3\)"),
    ],
)
def test_sizes_have_to_fit(definition: object, words: str) -> None:
    with pytest.raises(errors.GTScriptDefinitionError, match=words):
        gtscript.stencil("numpy", definition)
