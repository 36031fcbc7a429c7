"""Quotients by what is the same at all points are rounded as those of a division, however they are computed."""

from __future__ import annotations

import numpy as np
import pytest

from fieldstone import gtscript, storage
from fieldstone.gtscript import PARALLEL, Field, computation, interval

POINTS = 1 << 16

BACKENDS = ["cpu_ifirst", "cpu_kfirst"]


def by_scalar(a: Field["real"], out: Field["real"], *, b: "real"):
    with computation(PARALLEL), interval(...):
        out = a / b


def by_square(a: Field["real"], out: Field["real"], *, b: "real"):
    with computation(PARALLEL), interval(...):
        out = a / (b * b)


def by_literal(a: Field["real"], out: Field["real"]):
    from __externals__ import LITERAL

    with computation(PARALLEL), interval(...):
        out = a / LITERAL


def dividends(dtype):
    """All exponents, most of them in numbers of usual size, and what is not finite."""
    random = np.random.default_rng(0)
    info = np.finfo(dtype)
    usual = random.uniform(-2, 2, POINTS - POINTS // 8) * 2.0 ** random.integers(-30, 30, POINTS - POINTS // 8)
    mantissas = random.uniform(1, 2, POINTS // 8) * random.choice([-1, 1], POINTS // 8)
    # In order: vectors have numbers of about one size.
    every = np.ldexp(mantissas, np.sort(random.integers(info.minexp - info.nmant, info.maxexp, POINTS // 8)))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, info.smallest_subnormal, 1.0, -1.0]
    with np.errstate(over="ignore"):
        values = np.concatenate([usual, every]).astype(dtype)
    values[random.choice(POINTS, len(special), replace=False)] = special
    return values


def divisors(dtype):
    random = np.random.default_rng(1)
    info = np.finfo(dtype)
    one = dtype(1)
    # Reciprocals of numbers just below a power of two are the hardest to round.
    hard = [np.nextafter(dtype(2), one), np.nextafter(one, dtype(0)), np.nextafter(one, dtype(2)), dtype(3), dtype(49)]
    usual = (random.uniform(1, 2, 20) * 2.0 ** random.integers(-20, 20, 20)).astype(dtype)
    extreme = [info.max, info.tiny, info.smallest_subnormal, dtype(2) ** 120, dtype(2) ** -120]
    special = [dtype(value) for value in (0.0, -0.0, np.inf, np.nan, 1.0, -4.0, -0.1)]
    return [*hard, *usual, *extreme, *special]


def on_a_row(values, backend):
    """The values along the first axis of two fields, or the last."""
    shape = (POINTS, 1, 1) if backend == "cpu_ifirst" else (1, 1, POINTS)
    a = storage.storage(values.reshape(shape), defaults=backend)
    return a, storage.zeros(shape, values.dtype, defaults=backend)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("definition", [by_scalar, by_square])
def test_quotients_are_rounded_as_a_division(definition, backend, dtype):
    stencil = gtscript.stencil(backend, definition=definition, dtypes={"real": dtype})
    values = dividends(dtype)
    a, out = on_a_row(values, backend)
    for divisor in divisors(dtype):
        stencil(a, out, b=divisor)
        with np.errstate(all="ignore"):
            by = {by_scalar: divisor, by_square: divisor * divisor}[definition]
        assert_divided(values, by, out)


def assert_divided(values, divisor, out):
    found = np.asarray(out).ravel()
    with np.errstate(all="ignore"):
        expected = values / divisor
    same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
    assert same.all(), (divisor, values[~same][:3], found[~same][:3], expected[~same][:3])


# Numbers whose mantissas are short, up to what counts as that in either type, and others.
SHORT = [3.0, -6.0, 12.0, 0.75, 49.0, 1000.0, 86400.0, 2.0**17 + 1, 3 * 2.0**38, 2.0**46 + 1]
OTHERS = [2.0**50 + 1, 0.1, 4.0, 3e-9, 3e-20]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("literal", [*SHORT, *OTHERS])
def test_quotients_by_literals_are_rounded_as_a_division(literal, backend, dtype):
    stencil = literally(literal, backend, dtype)
    values = dividends(dtype)
    a, out = on_a_row(values, backend)
    stencil(a, out)
    assert_divided(values, dtype(literal), out)


def literally(literal, backend, dtype):
    return gtscript.stencil(backend, definition=by_literal, dtypes={"real": dtype}, externals={"LITERAL": literal})


@pytest.mark.parametrize("literal", [3.0, 7.0, 49.0, 1000.0, 86400.0, 2.0**18 - 1])
def test_all_mantissas_of_single_precision_are_rounded_as_a_division(literal):
    values = np.arange(1 << 23, 1 << 24, dtype=np.float32).reshape(-1, 1, 1)
    a = storage.storage(values, defaults="cpu_ifirst")
    out = storage.zeros(a.shape, np.float32, defaults="cpu_ifirst")
    literally(literal, "cpu_ifirst", np.float32)(a, out)
    assert_divided(values.ravel(), np.float32(literal), out)


@pytest.mark.parametrize("literal", [3, 49, 675, 2**20 + 7, 2**46 + 1, 2**47 - 1])
def test_quotients_nearest_to_the_middle_between_two_numbers_are_rounded_as_a_division(literal):
    # The dividend times a power of two is an odd multiple of half the divisor, but for one.
    random = np.random.default_rng(3)
    values = []
    for doublings in (literal.bit_length(), literal.bit_length() + 1):
        for off in (-1, 1):
            first = off * pow(2, -doublings, literal) % literal
            least = (2**52 - first) // literal + 1
            multiples = random.integers(0, max(1, 2**52 // literal), POINTS // 4).tolist()
            values += [first + (least + multiple) * literal for multiple in multiples]
    values = np.array([value for value in values if value < 2**53][:POINTS], float)
    a = storage.storage(values.reshape(-1, 1, 1), defaults="cpu_ifirst")
    out = storage.zeros(a.shape, float, defaults="cpu_ifirst")
    literally(float(literal), "cpu_ifirst", np.float64)(a, out)
    assert_divided(values, float(literal), out)


def test_random_mantissas_are_rounded_as_a_division():
    random = np.random.default_rng(2)
    stencil = gtscript.stencil("cpu_ifirst", definition=by_scalar, dtypes={"real": np.float64})
    for divisor in random.uniform(1, 2, 200):
        values = random.uniform(1, 2, POINTS)
        a, out = on_a_row(values, "cpu_ifirst")
        stencil(a, out, b=divisor)
        np.testing.assert_array_equal(np.asarray(out).ravel(), values / divisor)
