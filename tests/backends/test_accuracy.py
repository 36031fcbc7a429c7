"""How far the functions of the language are from exact values, which decimal arithmetic of 60 digits computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

from fieldstone import gtscript

DIGITS = 60
EXACT = Callable[[Decimal], Decimal]


def series(x: Decimal, ratio: Callable[[int], Decimal], first: Decimal) -> Decimal:
    """Add terms, each the one before times ``ratio(n)``, until they no longer count."""
    total, term, n = first, first, 0
    while term != 0 and abs(term) > abs(total) * Decimal(10) ** -DIGITS:
        n += 1
        term *= ratio(n)
        total += term
    return total


def sin(x: Decimal) -> Decimal:
    return series(x, lambda n: -x * x / (2 * n * (2 * n + 1)), x)


def cos(x: Decimal) -> Decimal:
    return series(x, lambda n: -x * x / (2 * n * (2 * n - 1)), Decimal(1))


def atan(x: Decimal) -> Decimal:
    halved = x
    for _ in range(4):
        halved = halved / (1 + (1 + halved * halved).sqrt())
    power, total, n = halved, halved, 1
    while abs(power) > abs(total) * Decimal(10) ** -DIGITS:
        power *= -halved * halved
        n += 2
        total += power / n
    return 16 * total


def sinh(x: Decimal) -> Decimal:
    return series(x, lambda n: x * x / (2 * n * (2 * n + 1)), x)


def cosh(x: Decimal) -> Decimal:
    return (x.exp() + (-x).exp()) / 2


def asinh(x: Decimal) -> Decimal:
    return ((x * x + 1).sqrt() + abs(x)).ln().copy_sign(x)


def erf(x: Decimal) -> Decimal:
    root_of_pi = (4 * atan(Decimal(1))).sqrt()
    return 2 / root_of_pi * (-x * x).exp() * series(x, lambda n: 2 * x * x / (2 * n + 1), x)


def cbrt(x: Decimal) -> Decimal:
    return (abs(x).ln() / 3).exp().copy_sign(x)


def gamma_of_half(x: Decimal) -> Decimal:
    """At multiples of one half, where it is a product of them and the square root of pi."""
    value = Decimal(1) if x == int(x) else (4 * atan(Decimal(1))).sqrt()
    at = Decimal(1) if x == int(x) else Decimal("0.5")
    while at < x:
        value *= at
        at += 1
    while at > x:
        at -= 1
        value /= at
    return value


def between(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(3).uniform(low, high, 150)


REALS = np.concatenate([between(-1, 1), between(-6, 6)])
POSITIVE = np.exp(between(-12, 12))
INSIDE = between(-1, 1)
HALVES = np.concatenate([np.arange(1, 341) / 2, -np.arange(1, 30, 2) / 2])

# Name, exact value, where, and the largest distance in units of the last digit.
FUNCTIONS: dict[str, tuple[EXACT, np.ndarray, float]] = {
    "sqrt": (Decimal.sqrt, POSITIVE, 0.5),
    "cbrt": (cbrt, REALS, 1),
    "exp": (Decimal.exp, REALS * 10, 1),
    "log": (Decimal.ln, POSITIVE, 1),
    "log10": (Decimal.log10, POSITIVE, 1),
    "sin": (sin, REALS, 1),
    "cos": (cos, REALS, 1),
    "tan": (lambda x: sin(x) / cos(x), REALS, 1),
    "asin": (lambda x: atan(x / (1 - x * x).sqrt()), INSIDE, 1),
    "acos": (lambda x: 2 * atan(((1 - x) / (1 + x)).sqrt()), INSIDE, 1),
    "atan": (atan, REALS, 1),
    "sinh": (sinh, REALS, 1),
    "cosh": (cosh, REALS, 1),
    "tanh": (lambda x: sinh(x) / cosh(x), REALS, 1),
    "asinh": (asinh, REALS, 1),
    "acosh": (lambda x: ((x * x - 1).sqrt() + x).ln(), 1 + POSITIVE, 1),
    "atanh": (lambda x: ((1 + x) / (1 - x)).ln() / 2, INSIDE, 1),
    "erf": (erf, REALS, 1),
    "erfc": (lambda x: 1 - erf(x), REALS, 1),
    "gamma": (gamma_of_half, HALVES, 1),
}

ONE_FUNCTION = """
def definition(a: Field["T"], out: Field["T"]):
    with computation(PARALLEL), interval(...):
        out = {name}(a)
"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("backend", ["debug", "cpu_ifirst"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_as_accurate_as_is_said(from_text, backend, name, dtype):
    exact, points, most = FUNCTIONS[name]
    a = points.astype(dtype).reshape(-1, 1, 1)
    out = np.zeros_like(a)
    gtscript.stencil(backend, from_text(ONE_FUNCTION.format(name=name)), dtypes={"T": dtype})(a, out)
    worst = 0.0
    with localcontext() as context:
        context.prec = DIGITS + 10
        for x, found in zip(a.ravel().tolist(), out.ravel().tolist(), strict=True):
            value = exact(Decimal(x))
            if abs(value) > Decimal(float(np.finfo(dtype).max)):
                assert math.isinf(found)
                continue
            unit = Decimal(float(np.spacing(dtype(abs(float(value))))))
            worst = max(worst, float(abs(Decimal(found) - value) / unit))
    # Half a unit is exact: the nearest number of the type.
    assert worst <= most + 1e-9
