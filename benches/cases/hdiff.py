"""Fourth-order horizontal diffusion with limited fluxes: three stages that each read neighbours of the one before."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field, gtscript
from benches.loops import domain, prange, row, wide_row
from benches.windows import placed, window


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


def with_numba(q, coefficient, q_new):
    nk, nj, ni = domain(q)
    zero, four = q.dtype.type(0), q.dtype.type(4)
    for k in prange(nk):
        lap = np.empty((nj + 2, ni + 2), q.dtype)
        for j in range(-1, nj + 1):
            here, west, east = wide_row(q, k, j, 0), wide_row(q, k, j, -1), wide_row(q, k, j, 1)
            south, north, to = wide_row(q, k, j - 1, 0), wide_row(q, k, j + 1, 0), lap[j + 1]
            for i in range(ni + 2):
                to[i] = four * here[i] - (east[i] + west[i] + north[i] + south[i])
        for j in range(nj):
            here, west, east = row(q, k, j, 0), row(q, k, j, -1), row(q, k, j, 1)
            south, north = row(q, k, j - 1, 0), row(q, k, j + 1, 0)
            lap_here, lap_west, lap_east = lap[j + 1, 1:-1], lap[j + 1, :-2], lap[j + 1, 2:]
            lap_south, lap_north = lap[j, 1:-1], lap[j + 2, 1:-1]
            alpha, to = row(coefficient, k, j, 0), row(q_new, k, j, 0)
            for i in range(ni):
                e = lap_east[i] - lap_here[i]
                e = zero if e * (east[i] - here[i]) > zero else e
                w = lap_here[i] - lap_west[i]
                w = zero if w * (here[i] - west[i]) > zero else w
                n = lap_north[i] - lap_here[i]
                n = zero if n * (north[i] - here[i]) > zero else n
                s = lap_here[i] - lap_south[i]
                s = zero if s * (here[i] - south[i]) > zero else s
                to[i] = here[i] - alpha[i] * (e - w + n - s)


def with_jax(xp, q, coefficient, q_new):
    return (placed(q_new, diffused(xp, q, coefficient)),)


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
    numba=with_numba,
    jax=with_jax,
    traffic=3,
    halo=2,
    tunings={"rows": (32, 64, 128, 1024), "kept": (0, 1), "stream": (0, 1)},
)
