"""Implicit vertical advection of a component of the wind: a tridiagonal system in each column, by Thomas' algorithm."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field
from benches.windows import window


def vadv(
    u_stage: Field["real"],
    u: Field["real"],
    w: Field["real"],
    u_now: Field["real"],
    tendency: Field["real"],
    *,
    rate: "real",
):
    with computation(FORWARD):
        with interval(0, 1):
            up = 0.25 * (w[1, 0, 1] + w[0, 0, 1])
            upper = 0.5 * up
            diagonal = rate - upper
            explicit = -upper * (u[0, 0, 1] - u)
            known = rate * u_now + tendency + u_stage + explicit
            inverse = 1.0 / diagonal
            c = upper * inverse
            d = known * inverse
        with interval(1, -1):
            down = -0.25 * (w[1, 0, 0] + w)
            up = 0.25 * (w[1, 0, 1] + w[0, 0, 1])
            lower = 0.5 * down
            upper = 0.5 * up
            diagonal = rate - lower - upper
            explicit = -lower * (u[0, 0, -1] - u) - upper * (u[0, 0, 1] - u)
            known = rate * u_now + tendency + u_stage + explicit
            inverse = 1.0 / (diagonal - c[0, 0, -1] * lower)
            c = upper * inverse
            d = (known - d[0, 0, -1] * lower) * inverse
        with interval(-1, None):
            down = -0.25 * (w[1, 0, 0] + w)
            lower = 0.5 * down
            diagonal = rate - lower
            explicit = -lower * (u[0, 0, -1] - u)
            known = rate * u_now + tendency + u_stage + explicit
            inverse = 1.0 / (diagonal - c[0, 0, -1] * lower)
            d = (known - d[0, 0, -1] * lower) * inverse
    with computation(BACKWARD):
        with interval(-1, None):
            x = d
            u_stage = rate * (x - u_now)
        with interval(0, -1):
            x = d - c * x[0, 0, 1]
            u_stage = rate * (x - u_now)


def with_numpy(u_stage, u, w, u_now, tendency, rate):
    stage, u, u_now, tendency = map(window, (u_stage, u, u_now, tendency))
    levels = len(u)
    rate = u.dtype.type(rate)
    mean = 0.25 * (window(w, 1) + window(w))
    c, d = np.empty_like(u), np.empty_like(u)
    upper = 0.5 * mean[1]
    inverse = 1 / (rate - upper)
    c[0] = upper * inverse
    d[0] = (rate * u_now[0] + tendency[0] + stage[0] - upper * (u[1] - u[0])) * inverse
    for k in range(1, levels - 1):
        lower, upper = -0.5 * mean[k], 0.5 * mean[k + 1]
        explicit = -lower * (u[k - 1] - u[k]) - upper * (u[k + 1] - u[k])
        inverse = 1 / (rate - lower - upper - c[k - 1] * lower)
        c[k] = upper * inverse
        d[k] = (rate * u_now[k] + tendency[k] + stage[k] + explicit - d[k - 1] * lower) * inverse
    k = levels - 1
    lower = -0.5 * mean[k]
    known = rate * u_now[k] + tendency[k] + stage[k] - lower * (u[k - 1] - u[k])
    x = (known - d[k - 1] * lower) / (rate - lower - c[k - 1] * lower)
    stage[k] = rate * (x - u_now[k])
    for k in range(levels - 2, -1, -1):
        x = d[k] - c[k] * x
        stage[k] = rate * (x - u_now[k])


NAMES = ("u_stage", "u", "w", "u_now", "tendency")

CASE = Case(
    name="vadv",
    title="implicit vertical advection",
    arguments=(
        Argument("u_stage", "inout", uniform(-0.01, 0.01)),
        Argument("u", "in", uniform(-10, 10)),
        Argument("w", "in", uniform(-0.1, 0.1)),
        Argument("u_now", "in", uniform(-10, 10)),
        Argument("tendency", "in", uniform(-0.01, 0.01)),
    ),
    steps=((vadv, NAMES),),
    numpy=with_numpy,
    scalars={"rate": 0.15},
    traffic=6,
    halo=1,
    tunings={"columns": (32, 64, 128, 256)},
    tolerance={"float64": 1e-12, "float32": 1e-4},
)
