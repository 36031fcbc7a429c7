"""Functions of the language: the same bits in the interpreter and in machine code, wherever special values lie."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import gtscript

NAMES = [
    *("exp", "log", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma"),
]

ONE_FUNCTION = """
def definition(a: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
        out = {name}(a)
"""

POWER = """
def definition(a: Field["T"], b: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
        out = a ** b
"""

MANY = """
def definition(a: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
        out = 0.0
{statements}
"""


def special(dtype: type) -> np.ndarray:
    """Zeros, limits, their neighbours, where functions have poles or overflow."""
    info = np.finfo(dtype)
    limits = [0, info.smallest_subnormal, info.tiny, info.eps, 0.5, 1, 2, 3, 10, info.max, np.inf]
    limits += [np.pi / 2, np.pi, 27.2, 88.7, 104, 171.6, 177.8, 709.78, 745.1, 1e9, 1e22, 2.0**52, 2.0**53]
    with np.errstate(all="ignore"):
        values = np.array(limits).astype(dtype)
        values = np.concatenate([values, np.nextafter(values, dtype(0)), np.nextafter(values, dtype(np.inf))])
    return np.concatenate([values, -values, [dtype(np.nan)]]).astype(dtype)


def everywhere(dtype: type, count: int) -> np.ndarray:
    """Special values among numbers with any bits, and common numbers."""
    random = np.random.default_rng(11)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    wild = random.integers(0, np.iinfo(bits).max, count, dtype=bits).view(dtype)
    values = np.concatenate([special(dtype), wild, random.normal(0, 5, count).astype(dtype)])
    random.shuffle(values)
    return values


def arranged(values: np.ndarray, axis: int) -> np.ndarray:
    """The numbers as a field of some rows along an axis; no row is a number of whole vectors."""
    shape = [3, 3, 3]
    shape[axis] = len(values) // 9
    ordered = np.moveaxis(np.empty(shape, values.dtype), axis, -1).copy()
    ordered[...] = values[: ordered.size].reshape(ordered.shape)
    return np.moveaxis(ordered, -1, axis)


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    bits = np.uint32 if found.dtype == np.float32 else np.uint64
    same = (found.view(bits) == expected.view(bits)) | (np.isnan(found) & np.isnan(expected))
    assert same.all(), np.argwhere(~same)[:5]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_functions_have_one_result_everywhere(from_text, name, dtype, axis):
    a = arranged(everywhere(dtype, 500), axis)
    results = []
    for backend in ("debug", "cpu_ifirst", "gpu"):
        out = np.empty_like(a)
        gtscript.stencil(backend, from_text(ONE_FUNCTION.format(name=name)), dtypes={"T": dtype})(a, out)
        results.append(out)
    for found in results[1:]:
        assert_same_bits(found, results[0])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_have_one_result_everywhere(from_text, dtype, axis):
    pairs = np.stack(np.meshgrid(special(dtype), special(dtype)), -1).reshape(-1, 2)
    wild = np.stack([everywhere(dtype, 500), everywhere(dtype, 500)[::-1]], -1)
    a, b = (arranged(values, axis) for values in np.concatenate([pairs, wild]).T)
    results = []
    for backend in ("debug", "cpu_ifirst", "gpu"):
        out = np.empty_like(a)
        gtscript.stencil(backend, from_text(POWER), dtypes={"T": dtype})(a, b, out)
        results.append(out)
    for found in results[1:]:
        assert_same_bits(found, results[0])


def test_a_function_has_one_result_however_often_it_is_used(from_text):
    """So often that it is called rather than repeated, and on numbers of which some are at the end of a row."""
    a = np.random.default_rng(5).uniform(0.5, 4, (37, 2, 3))
    lines = [f"        out = out + sin(a * {n}.5) ** 2 * exp(-a) + a ** (a * 0.{n}3)" for n in range(40)]
    text = MANY.format(statements="\n".join(lines))
    results = []
    for backend in ("debug", "cpu_ifirst", "gpu"):
        out = np.empty_like(a)
        gtscript.stencil(backend, from_text(text), dtypes={"T": np.float64})(a, out)
        results.append(out)
    for found in results[1:]:
        assert_same_bits(found, results[0])


# NumPy's names of the functions that it has.
OF_NUMPY = {name: name for name in NAMES if hasattr(np, name)}
OF_NUMPY |= {name: f"arc{name.removeprefix('a')}" for name in NAMES if name.startswith("a")}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OF_NUMPY)
def test_functions_agree_with_numpy_at_special_values(from_text, name, dtype):
    """NaN, infinities, and zeros with their signs are where they are there."""
    a = special(dtype).reshape(-1, 1, 1)
    out = np.empty_like(a)
    gtscript.stencil("cpu_ifirst", from_text(ONE_FUNCTION.format(name=name)), dtypes={"T": dtype})(a, out)
    with np.errstate(all="ignore"):
        expected = getattr(np, OF_NUMPY[name])(a)
    assert np.array_equal(np.isnan(out), np.isnan(expected))
    assert np.array_equal(np.isinf(out), np.isinf(expected))
    tiny = np.finfo(dtype).tiny
    certain = ~np.isnan(out) & ~((np.abs(expected) < tiny) & (expected != 0))
    assert np.array_equal(np.signbit(out)[certain], np.signbit(expected)[certain])
    assert np.allclose(out, expected, rtol=16 * np.finfo(dtype).eps, atol=tiny, equal_nan=True)


BEHIND_A_CONDITION = """
def definition(a: Field["T"], out: Field["T"], twice: Field["T"], level: Field["T"], *, s: "T"):
    with computation(PARALLEL), interval(...):
        out = log(a) if a > 0.0 else a
        twice = 0.0
        level = 0.0
        if a > 0.0:
            twice = a**0.875 + log(a)
            level = a.at(K=int(exp(s)))
"""


@pytest.mark.parametrize("backend", ["cpu_ifirst", "cpu_kfirst"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_behind_a_condition_see_what_they_would_without(from_text, backend, dtype):
    """Also where the first lane, in which an index is found that all share, is one that the condition excludes."""
    a = np.random.default_rng(0).uniform(-1, 1, (37, 4, 9)).astype(dtype)
    a[::3] = 0
    definition = from_text(BEHIND_A_CONDITION)
    results = []
    for name, order in (("debug", "C"), (backend, "C"), (backend, "F")):
        outs = [np.zeros(a.shape, dtype, order=order) for _ in range(3)]
        gtscript.stencil(name, definition, dtypes={"T": dtype})(a.copy(order=order), *outs, s=dtype(1.7))
        results.append(outs)
    for outs in results[1:]:
        for found, expected in zip(outs, results[0], strict=True):
            assert_same_bits(found, expected)
    assert np.array_equal(results[0][2], np.where(a > 0, a[:, :, [5]], 0))
