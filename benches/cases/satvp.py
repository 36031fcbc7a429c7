"""Saturation and virtual temperature: pointwise, all of its time goes into exp, pow and log."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field
from benches.windows import window


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
    traffic=4,
    halo=0,
    tunings={"stream": (0, 1)},
)
