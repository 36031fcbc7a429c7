"""Stencils whose operations, bytes and loops one can count by hand."""

from __future__ import annotations

import numpy as np

from fieldstone import gtscript
from fieldstone.gtscript import (
    BACKWARD,
    FORWARD,
    IJ,
    PARALLEL,
    Field,
    I,
    J,
    K,
    computation,
    horizontal,
    interval,
    region,
)


def lap7(inp: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(1, -1):
        out = inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0] + inp[0, 0, 1] + inp[0, 0, -1] - 6.0 * inp


@gtscript.function
def laplacian(f):
    return f[1, 0, 0] + f[-1, 0, 0] + f[0, 1, 0] + f[0, -1, 0] - 4.0 * f


def hdiff(phi: Field[float], coefficient: Field[float], phi_new: Field[float]):
    with computation(PARALLEL), interval(...):
        lap = laplacian(phi)
        flux_i = lap[1, 0, 0] - lap
        flux_i = 0.0 if flux_i * (phi[1, 0, 0] - phi) > 0.0 else flux_i
        flux_j = lap[0, 1, 0] - lap
        flux_j = 0.0 if flux_j * (phi[0, 1, 0] - phi) > 0.0 else flux_j
        phi_new = phi - coefficient * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])


def vadv(lower: Field[float], diagonal: Field[float], upper: Field[float], rhs: Field[float], x: Field[float]):
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


def cut(a: Field[float], b: Field[float], c: Field[float]):
    with computation(PARALLEL), interval(...):
        t = a * 2.0
        b = t[1, 0, 0]
    with computation(FORWARD), interval(1, None):
        c = b + t[0, 0, -1] + c[0, 0, -1]


def by_level(a: Field[float], b: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            t = a
            b = t[1, 0, 0]
        with interval(1, None):
            t = a * 2.0
            b = t[1, 0, 0] + b[0, 0, -1]


def lower_axes(a: Field[float], surface: Field[IJ, float], profile: Field[K, float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a * profile + surface


def mixed(a: Field[np.float32], out: Field[float], *, scale: float = 1.0):
    with computation(PARALLEL), interval(...):
        out = exp(a) + a**3 / (2.0 * scale)


def masked(a: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        if a < 0.0:  # noqa: SIM108
            out = -a
        else:
            out = sqrt(a)


def with_externals(a: Field[float], out: Field[float]):
    from __externals__ import ALPHA

    with computation(PARALLEL), interval(...):
        out = ALPHA * a


def one_element(a: Field[float], out: Field[(float, (3,))], total: Field[float], *, which: int):
    with computation(PARALLEL), interval(...):
        out[0, 0, 0][which] = a
        total = out[0, 0, 0][0] + out[0, 0, 0][1] + out[0, 0, 0][2]


def vectors(
    wind: Field[(float, (3,))], turn: Field[IJ, (float, (3, 3))], out: Field[(float, (3,))], speed: Field[float]
):
    with computation(PARALLEL), interval(...):
        turned = turn @ wind
        speed = sqrt(turned @ turned)
        unit = turned / speed
    with computation(PARALLEL), interval(...):
        out = unit[1, 0, 0] - unit


def edges(a: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        out = a
        with horizontal(region[I[0], :], region[:, J[-1]]):
            out = 2.0 * a[0, 1, 0]


def many_temporaries(inp: Field[float], out: Field[float]):
    with computation(FORWARD), interval(...):
        a = inp + 1.0
        b = inp * a
        c = inp - b
        d = inp * c
        e = inp + d
        f = inp * e
        g = inp - f
        h = inp * g
        i = inp + h
        j = inp * i
    with computation(BACKWARD), interval(...):
        out = a + b + c + d + e + f + g + h + i + j
