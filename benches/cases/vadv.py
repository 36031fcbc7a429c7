"""Implicit vertical advection of a component of the wind: a tridiagonal system in each column, by Thomas' algorithm."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field
from benches.loops import domain, prange, row
from benches.windows import placed, window


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


def with_numba(u_stage, u, w, u_now, tendency, rate_):
    nk, nj, ni = domain(u)
    rate, eighth, one = u.dtype.type(rate_), u.dtype.type(0.125), u.dtype.type(1)
    for j in prange(nj):
        c, d, x = np.empty((nk, ni), u.dtype), np.empty((nk, ni), u.dtype), np.empty(ni, u.dtype)
        v, above = row(u, 0, j, 0), row(u, 1, j, 0)
        w_above, w_east = row(w, 1, j, 0), row(w, 1, j, 1)
        now, rates, stage, cs, ds = row(u_now, 0, j, 0), row(tendency, 0, j, 0), row(u_stage, 0, j, 0), c[0], d[0]
        for i in range(ni):
            upper = eighth * (w_east[i] + w_above[i])
            inverse = one / (rate - upper)
            cs[i] = upper * inverse
            ds[i] = (rate * now[i] + rates[i] + stage[i] - upper * (above[i] - v[i])) * inverse
        for k in range(1, nk - 1):
            v, below, above = row(u, k, j, 0), row(u, k - 1, j, 0), row(u, k + 1, j, 0)
            wh, wh_east, w_above, w_east = row(w, k, j, 0), row(w, k, j, 1), row(w, k + 1, j, 0), row(w, k + 1, j, 1)
            now, rates, stage = row(u_now, k, j, 0), row(tendency, k, j, 0), row(u_stage, k, j, 0)
            cs, ds, cb, db = c[k], d[k], c[k - 1], d[k - 1]
            for i in range(ni):
                lower, upper = -eighth * (wh_east[i] + wh[i]), eighth * (w_east[i] + w_above[i])
                explicit = -lower * (below[i] - v[i]) - upper * (above[i] - v[i])
                inverse = one / (rate - lower - upper - cb[i] * lower)
                cs[i] = upper * inverse
                ds[i] = (rate * now[i] + rates[i] + stage[i] + explicit - db[i] * lower) * inverse
        k = nk - 1
        v, below, wh, wh_east = row(u, k, j, 0), row(u, k - 1, j, 0), row(w, k, j, 0), row(w, k, j, 1)
        now, rates, stage, cb, db = (
            row(u_now, k, j, 0),
            row(tendency, k, j, 0),
            row(u_stage, k, j, 0),
            c[k - 1],
            d[k - 1],
        )
        for i in range(ni):
            lower = -eighth * (wh_east[i] + wh[i])
            known = rate * now[i] + rates[i] + stage[i] - lower * (below[i] - v[i])
            x[i] = (known - db[i] * lower) / (rate - lower - cb[i] * lower)
            stage[i] = rate * (x[i] - now[i])
        for k in range(nk - 2, -1, -1):
            now, stage, cs, ds = row(u_now, k, j, 0), row(u_stage, k, j, 0), c[k], d[k]
            for i in range(ni):
                x[i] = ds[i] - cs[i] * x[i]
                stage[i] = rate * (x[i] - now[i])


def with_jax(xp, u_stage, u, w, u_now, tendency, rate):
    from jax import lax

    stage, u, u_now, tendency = map(window, (u_stage, u, u_now, tendency))
    mean = 0.25 * (window(w, 1) + window(w))
    lower = xp.concatenate([xp.zeros_like(mean[:1]), -0.5 * mean[1:]])
    upper = xp.concatenate([0.5 * mean[1:], xp.zeros_like(mean[:1])])
    below, above = xp.concatenate([u[:1], u[:-1]]), xp.concatenate([u[1:], u[-1:]])
    known = rate * u_now + tendency + stage - lower * (below - u) - upper * (above - u)

    def eliminate(before, level):
        (c, d), (low, up, right) = before, level
        inverse = 1 / (rate - low - up - c * low)
        found = (up * inverse, (right - d * low) * inverse)
        return found, found

    def substitute(above, level):
        c, d = level
        x = d - c * above
        return x, x

    nothing = xp.zeros_like(u[0])
    _, (c, d) = lax.scan(eliminate, (nothing, nothing), (lower, upper, known))
    _, x = lax.scan(substitute, nothing, (c, d), reverse=True)
    return (placed(u_stage, rate * (x - u_now)),)


NAMES = ("u_stage", "u", "w", "u_now", "tendency")

CASE = Case(
    name="vadv",
    title="implicit vertical advection",
    arguments=(
        Argument("u_stage", "inout", uniform(-0.01, 0.01)),
        Argument("u", "in", uniform(-10, 10)),
        Argument("w", "in", uniform(-0.01, 0.01)),
        Argument("u_now", "in", uniform(-10, 10)),
        Argument("tendency", "in", uniform(-0.01, 0.01)),
    ),
    steps=((vadv, NAMES),),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    scalars={"rate": 0.15},
    traffic=6,
    halo=1,
    tunings={"columns": (32, 64, 128, 256)},
    tolerance={"float64": 1e-12, "float32": 1e-4},
)
