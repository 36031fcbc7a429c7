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
    with computation(PARALLEL), interval(...):
        out = a / 3.0


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
@pytest.mark.parametrize("definition", [by_scalar, by_square, by_literal])
def test_quotients_are_rounded_as_a_division(definition, backend, dtype):
    stencil = gtscript.stencil(backend, definition=definition, dtypes={"real": dtype})
    values = dividends(dtype)
    a, out = on_a_row(values, backend)
    for divisor in divisors(dtype):
        keywords = {"b": divisor} if definition is not by_literal else {}
        stencil(a, out, **keywords)
        with np.errstate(all="ignore"):
            by = {by_scalar: divisor, by_square: divisor * divisor, by_literal: dtype(3)}[definition]
            expected = values / by
        found = np.asarray(out).ravel()
        same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
        assert same.all(), (divisor, values[~same][:3], found[~same][:3], expected[~same][:3])


def test_random_mantissas_are_rounded_as_a_division():
    random = np.random.default_rng(2)
    stencil = gtscript.stencil("cpu_ifirst", definition=by_scalar, dtypes={"real": np.float64})
    for divisor in random.uniform(1, 2, 200):
        values = random.uniform(1, 2, POINTS)
        a, out = on_a_row(values, "cpu_ifirst")
        stencil(a, out, b=divisor)
        np.testing.assert_array_equal(np.asarray(out).ravel(), values / divisor)
