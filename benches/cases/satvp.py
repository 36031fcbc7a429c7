"""Saturation and virtual temperature: pointwise, all of its time goes into exp, pow and log."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field
from benches.loops import domain, prange, row
from benches.windows import placed, window


def satvp(t: Field["real"], p: Field["real"], q: Field["real"], entropy: Field["real"]):
    with computation(PARALLEL), interval(...):
        vapour = 611.21 * exp(17.502 * (t - 273.16) / (t - 32.19))
        saturated = 0.622 * vapour / (p - 0.378 * vapour)
        theta = t * (100000.0 / p) ** 0.2857
        entropy = theta * log(1.0 + q / saturated)


def with_numpy(t, p, q, entropy):
    window(entropy)[...] = saturation(np, *map(window, (t, p, q)))


def saturation(xp, t, p, q):
    """Return the values at all points of the given arrays."""
    vapour = 611.21 * xp.exp(17.502 * (t - 273.16) / (t - 32.19))
    saturated = 0.622 * vapour / (p - 0.378 * vapour)
    theta = t * (100000.0 / p) ** 0.2857
    return theta * xp.log(1.0 + q / saturated)


def with_numba(t, p, q, entropy):
    nk, nj, ni = domain(t)
    real = t.dtype.type
    a, b, c, d = real(611.21), real(17.502), real(273.16), real(32.19)
    e, f, surface, kappa, one = real(0.622), real(0.378), real(100000), real(0.2857), real(1)
    for k in prange(nk):
        for j in range(nj):
            ts, ps, qs, to = row(t, k, j, 0), row(p, k, j, 0), row(q, k, j, 0), row(entropy, k, j, 0)
            for i in range(ni):
                vapour = a * np.exp(b * (ts[i] - c) / (ts[i] - d))
                saturated = e * vapour / (ps[i] - f * vapour)
                to[i] = ts[i] * (surface / ps[i]) ** kappa * np.log(one + qs[i] / saturated)


def with_jax(xp, t, p, q, entropy):
    return (placed(entropy, saturation(xp, *map(window, (t, p, q)))),)


CASE = Case(
    name="satvp",
    title="saturation: exp, pow, log",
    arguments=(
        Argument("t", "in", uniform(220, 310)),
        Argument("p", "in", uniform(2e4, 1e5)),
        Argument("q", "in", uniform(1e-5, 0.02)),
        Argument("entropy", "out"),
    ),
    steps=((satvp, ("t", "p", "q", "entropy")),),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    traffic=4,
    halo=0,
    tunings={"stream": (0, 1)},
)
