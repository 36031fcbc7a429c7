"""Fourth-order horizontal diffusion with limited fluxes: three stages that each read neighbours of the one before."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field, gtscript
from benches.windows import window


@gtscript.function
def laplacian(q):
    return 4.0 * q - (q[1, 0, 0] + q[-1, 0, 0] + q[0, 1, 0] + q[0, -1, 0])


@gtscript.function
def limited(flux, gradient):
    return 0.0 if flux * gradient > 0.0 else flux


def hdiff(q: Field["real"], coefficient: Field["real"], q_new: Field["real"]):
    with computation(PARALLEL), interval(...):
        lap = laplacian(q)
        flux_i = limited(lap[1, 0, 0] - lap, q[1, 0, 0] - q)
        flux_j = limited(lap[0, 1, 0] - lap, q[0, 1, 0] - q)
        q_new = q - coefficient * (flux_i - flux_i[-1, 0, 0] + flux_j - flux_j[0, -1, 0])


def with_numpy(q, coefficient, q_new):
    window(q_new)[...] = diffused(np, q, coefficient)


def diffused(xp, q, coefficient):
    """Return the domain's new values."""
    lap = 4 * window(q, wide=1, high=1) - (
        window(q, 1, wide=1, high=1)
        + window(q, -1, wide=1, high=1)
        + window(q, 0, 1, wide=1, high=1)
        + window(q, 0, -1, wide=1, high=1)
    )
    flux_i = xp.diff(lap[:, 1:-1, :], axis=2)
    flux_i = xp.where(flux_i * xp.diff(window(q, wide=1), axis=2) > 0, 0, flux_i)
    flux_j = xp.diff(lap[:, :, 1:-1], axis=1)
    flux_j = xp.where(flux_j * xp.diff(window(q, high=1), axis=1) > 0, 0, flux_j)
    return window(q) - window(coefficient) * (xp.diff(flux_i, axis=2) + xp.diff(flux_j, axis=1))


CASE = Case(
    name="hdiff",
    title="limited fourth-order horizontal diffusion",
    arguments=(
        Argument("q", "in", uniform(0, 1)),
        Argument("coefficient", "in", uniform(0.01, 0.03)),
        Argument("q_new", "out"),
    ),
    steps=((hdiff, ("q", "coefficient", "q_new")),),
    numpy=with_numpy,
    traffic=3,
    halo=2,
    tunings={"rows": (32, 64, 128, 1024), "kept": (0, 1), "stream": (0, 1)},
)
