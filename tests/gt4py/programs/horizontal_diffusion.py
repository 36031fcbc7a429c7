"""Diffusion of fourth order with limited fluxes, as a weather model damps its finest scales."""

from __future__ import annotations

import numpy as np
from gt4py import storage
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

HALO = 3
DOMAIN = (12, 10, 5)


@gtscript.function
def second_difference(phi):
    return 4.0 * phi[0, 0, 0] - (phi[1, 0, 0] + phi[-1, 0, 0] + phi[0, 1, 0] + phi[0, -1, 0])


@gtscript.function
def limited(flux, difference):
    from __externals__ import LIMIT

    return flux if (flux * difference) <= LIMIT else 0.0


@gtscript.function
def fluxes(phi):
    lap = second_difference(phi)
    fx = lap[1, 0, 0] - lap[0, 0, 0]
    fy = lap[0, 1, 0] - lap[0, 0, 0]
    fx_limited = limited(fx, phi[1, 0, 0] - phi[0, 0, 0])
    fy_limited = limited(fy, phi[0, 1, 0] - phi[0, 0, 0])
    return fx_limited, fy_limited


def diffuse(phi: Field[float], coefficient: Field[float], out: Field[float]):
    with computation(PARALLEL), interval(...):
        fx, fy = fluxes(phi)
        out = phi - coefficient * (fx[0, 0, 0] - fx[-1, 0, 0] + fy[0, 0, 0] - fy[0, -1, 0])


def run(backend: str) -> dict[str, np.ndarray]:
    stencil = gtscript.stencil(backend, diffuse, externals={"LIMIT": 0.0}, rebuild=False)
    shape = (DOMAIN[0] + 2 * HALO, DOMAIN[1] + 2 * HALO, DOMAIN[2])
    random = np.random.default_rng(2)
    make = {"backend": backend, "aligned_index": (HALO, HALO, 0), "dtype": float}
    phi = storage.from_array(random.random(shape), **make)
    coefficient = storage.full(shape, 0.025, **make)
    out = storage.ones(shape, **make)
    for _ in range(4):
        stencil(phi=phi, coefficient=coefficient, out=out, origin=(HALO, HALO, 0), domain=DOMAIN)
        phi, out = out, phi
    return {"phi": np.asarray(phi)}
