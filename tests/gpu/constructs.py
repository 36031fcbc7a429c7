"""Stencils that have every construct of the language between them."""

from __future__ import annotations

import numpy as np

from fieldstone.gtscript import (
    BACKWARD,
    FORWARD,
    IJ,
    PARALLEL,
    Field,
    GlobalTable,
    I,
    J,
    K,
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cbrt,
    ceil,
    computation,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    float32,
    float64,
    floor,
    gamma,
    horizontal,
    int32,
    int64,
    interval,
    isfinite,
    isinf,
    isnan,
    log,
    log10,
    max,
    min,
    mod,
    pow,
    region,
    round,
    round_away_from_zero,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)

REALS = (np.float64, np.float32)


def every_function(a: Field["real"], b: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = sin(a) + cos(a) + tan(a) + asin(a) + acos(a) + atan(a)
        out += sinh(a) + cosh(a) + tanh(a) + asinh(a) + acosh(a) + atanh(a)
        out += sqrt(a) + exp(a) + log(a) + log10(a) + gamma(a) + cbrt(a) + erf(a) + erfc(a)
        out += floor(a) + ceil(a) + trunc(a) + round(a) + round_away_from_zero(a) + abs(a)
        out += min(a, b, 1.0) + max(a, b, 2.0) + mod(a, b) + pow(a, b) + a % b + a // b + a**3 + a**b
        if isnan(a) or isinf(b) or not isfinite(out):
            out = 0.0


def integers(a: Field[np.int32], b: Field[np.int64], c: Field[np.uint8], out: Field[np.int64], flag: Field[bool]):
    with computation(PARALLEL), interval(...):
        out = int64(a // 3) + b % 7 + b**b + (b << 2) - (b >> 1) + int64(c * c) + int64(a**a)
        out = (out & b) | (out ^ ~b)
        flag = out > b and flag
        out = min(out, b) if flag else int64(float32(b) / float32(a)) + int64(float64(int32(b)))


def half_storage(a: Field[np.float16], out: Field[np.float32]):
    with computation(PARALLEL), interval(...):
        out = float32(a) * 2.0


def stages(a: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        one = a[1, 0, 0] + a[-1, 0, 0] - 2.0 * a
        two = one[0, 1, 0] + one[0, -1, 0] - 2.0 * one
        out = two[1, 1, 0] - two[-1, -1, 0]


def regions(a: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        edge = a
        with horizontal(region[I[0], :], region[:, J[-1]]):
            edge = a[1, 0, 0] * 2.0
        out = edge[1, 0, 0] + edge[0, -1, 0]
        with horizontal(region[I[0] : I[0] + 2, J[0]]):
            out = 0.0


def columns(a: Field["real"], surface: Field[IJ, "real"], weight: Field[K, "real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            total = surface * weight
            out = total
        with interval(1, None):
            total = total[0, 0, -1] + a * weight
            out = total / (out[0, 0, -1] + 1.0)
    with computation(BACKWARD):
        with interval(-1, None):
            surface = out
        with interval(0, -1):
            out = out - total * out[0, 0, 1]


def coupled_columns(a: Field["real"], out: Field["real"]):
    with computation(FORWARD):
        with interval(0, 1):
            here = a
            out = here[1, 0, 0]
        with interval(1, None):
            here = a * 2.0
            out = here[1, 0, 0] + out[0, 0, -1]


def computed_levels(a: Field["real"], level: Field[IJ, np.int32], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = a[0, 0, level] + a.at(K=level) + float64(K)


def loops(a: Field["real"], out: Field["real"], most: np.int32):
    with computation(PARALLEL), interval(...):
        out = a
        steps = 0
        while out > 1.0 and steps < most:
            out = out * 0.5
            steps += 1


def run_time_levels(a: Field["real"], out: Field["real"], first: np.int32):
    with computation(PARALLEL):
        with interval(0, first):
            out = a
        with interval(first, None):
            out = -a


def data_dimensions(a: Field[("real", (3,))], table: GlobalTable["real", (4,)], index: Field[int], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = a[0, 0, 0][0] + a[1, 0, 0][1] + a[0, 0, 0][index] * table.A[2]


CONSTRUCTS = {
    definition.__name__: definition
    for definition in (
        every_function,
        stages,
        regions,
        columns,
        coupled_columns,
        computed_levels,
        loops,
        run_time_levels,
        data_dimensions,
    )
}
TYPED = {definition.__name__: definition for definition in (integers, half_storage)}
