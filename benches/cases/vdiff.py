"""Implicit vertical diffusion over terrain, as in the demo: fields with all axes, without I and J, and without K."""

from __future__ import annotations

import numpy as np

from benches.case import HALO, Argument, Case, by_level, uniform
from benches.dialect import IJ, Field, K
from benches.loops import domain, prange, row
from benches.windows import placed, window


def vdiff(
    phi: Field["real"],
    level_height: Field[K, "real"],
    sigma: Field[K, "real"],
    surface_altitude: Field[IJ, "real"],
    phi_new: Field["real"],
    *,
    dt: "real",
    diffusivity: "real",
):
    with computation(FORWARD):
        with interval(0, 1):
            gap = level_height[1] - level_height + (sigma[1] - sigma) * surface_altitude
            conductance = diffusivity * dt / gap
            layer = gap
            inverse = 1.0 / (layer + conductance)
            ratio = conductance * inverse
            partial = layer * phi * inverse
        with interval(1, -1):
            gap = level_height[1] - level_height + (sigma[1] - sigma) * surface_altitude
            conductance = diffusivity * dt / gap
            layer = 0.5 * (gap + gap[0, 0, -1])
            inverse = 1.0 / (layer + conductance + conductance[0, 0, -1] * (1.0 - ratio[0, 0, -1]))
            ratio = conductance * inverse
            partial = (layer * phi + conductance[0, 0, -1] * partial[0, 0, -1]) * inverse
        with interval(-1, None):
            layer = gap[0, 0, -1]
            inverse = 1.0 / (layer + conductance[0, 0, -1] * (1.0 - ratio[0, 0, -1]))
            partial = (layer * phi + conductance[0, 0, -1] * partial[0, 0, -1]) * inverse
    with computation(BACKWARD):
        with interval(-1, None):
            phi_new = partial
        with interval(0, -1):
            phi_new = partial + ratio * phi_new[0, 0, 1]


def with_numpy(phi, level_height, sigma, surface_altitude, phi_new, dt, diffusivity):
    phi, phi_new, ground = window(phi), window(phi_new), window(surface_altitude)
    levels = len(phi)
    gap = np.diff(level_height)[:, None, None] + np.diff(sigma)[:, None, None] * ground
    conductance = phi.dtype.type(diffusivity * dt) / gap
    ratio, partial = np.empty_like(gap), np.empty_like(phi)
    inverse = 1 / (gap[0] + conductance[0])
    ratio[0] = conductance[0] * inverse
    partial[0] = gap[0] * phi[0] * inverse
    for k in range(1, levels - 1):
        layer = 0.5 * (gap[k] + gap[k - 1])
        inverse = 1 / (layer + conductance[k] + conductance[k - 1] * (1 - ratio[k - 1]))
        ratio[k] = conductance[k] * inverse
        partial[k] = (layer * phi[k] + conductance[k - 1] * partial[k - 1]) * inverse
    inverse = 1 / (gap[-1] + conductance[-1] * (1 - ratio[-1]))
    phi_new[-1] = (gap[-1] * phi[-1] + conductance[-1] * partial[-2]) * inverse
    for k in range(levels - 2, -1, -1):
        phi_new[k] = partial[k] + ratio[k] * phi_new[k + 1]


def with_numba(phi, level_height, sigma, surface_altitude, phi_new, dt, diffusivity):
    nk, nj, ni = domain(phi)
    one, half, strength = phi.dtype.type(1), phi.dtype.type(0.5), phi.dtype.type(dt * diffusivity)
    for j in prange(nj):
        ratio, partial = np.empty((nk, ni), phi.dtype), np.empty((nk, ni), phi.dtype)
        gap, conductance = np.empty(ni, phi.dtype), np.empty(ni, phi.dtype)
        ground = surface_altitude[HALO + j, HALO:-HALO]
        a, r, p = row(phi, 0, j, 0), ratio[0], partial[0]
        da, db = level_height[1] - level_height[0], sigma[1] - sigma[0]
        for i in range(ni):
            gap[i] = da + db * ground[i]
            conductance[i] = strength / gap[i]
            inverse = one / (gap[i] + conductance[i])
            r[i] = conductance[i] * inverse
            p[i] = gap[i] * a[i] * inverse
        for k in range(1, nk - 1):
            a, r, p, r_below, p_below = row(phi, k, j, 0), ratio[k], partial[k], ratio[k - 1], partial[k - 1]
            da, db = level_height[k + 1] - level_height[k], sigma[k + 1] - sigma[k]
            for i in range(ni):
                above, down = da + db * ground[i], conductance[i]
                up = strength / above
                layer = half * (above + gap[i])
                inverse = one / (layer + up + down * (one - r_below[i]))
                r[i] = up * inverse
                p[i] = (layer * a[i] + down * p_below[i]) * inverse
                gap[i] = above
                conductance[i] = up
        a, r_below, p_below, to = row(phi, nk - 1, j, 0), ratio[nk - 2], partial[nk - 2], row(phi_new, nk - 1, j, 0)
        for i in range(ni):
            inverse = one / (gap[i] + conductance[i] * (one - r_below[i]))
            to[i] = (gap[i] * a[i] + conductance[i] * p_below[i]) * inverse
        for k in range(nk - 2, -1, -1):
            r, p, to, above_row = ratio[k], partial[k], row(phi_new, k, j, 0), row(phi_new, k + 1, j, 0)
            for i in range(ni):
                to[i] = p[i] + r[i] * above_row[i]


def with_jax(xp, phi, level_height, sigma, surface_altitude, phi_new, dt, diffusivity):
    from jax import lax

    phi, ground = window(phi), window(surface_altitude)
    gap = xp.diff(level_height)[:, None, None] + xp.diff(sigma)[:, None, None] * ground
    conductance = diffusivity * dt / gap
    nothing = xp.zeros_like(conductance[:1])
    up, down = xp.concatenate([conductance, nothing]), xp.concatenate([nothing, conductance])
    layer = xp.concatenate([gap[:1], 0.5 * (gap[1:] + gap[:-1]), gap[-1:]])

    def eliminate(before, level):
        (ratio, partial), (thick, above, below, value) = before, level
        inverse = 1 / (thick + above + below * (1 - ratio))
        found = (above * inverse, (thick * value + below * partial) * inverse)
        return found, found

    def substitute(above, level):
        ratio, partial = level
        x = partial + ratio * above
        return x, x

    _, coefficients = lax.scan(eliminate, (nothing[0], nothing[0]), (layer, up, down, phi))
    _, x = lax.scan(substitute, nothing[0], coefficients, reverse=True)
    return (placed(phi_new, x),)


NAMES = ("phi", "level_height", "sigma", "surface_altitude", "phi_new")

CASE = Case(
    name="vdiff",
    title="implicit vertical diffusion over terrain: IJK, K and IJ fields",
    arguments=(
        Argument("phi", "in", uniform(288, 289)),
        Argument("level_height", "in", by_level(lambda s: 2e4 * s * s + 500 * s), "K"),
        Argument("sigma", "in", by_level(lambda s: (1 - s) ** 2), "K"),
        Argument("surface_altitude", "in", uniform(0, 20), "IJ"),
        Argument("phi_new", "out"),
    ),
    steps=((vdiff, NAMES),),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    scalars={"dt": 30.0, "diffusivity": 5.0},
    traffic=2,
    halo=0,
    tunings={"columns": (64, 128, 256, 512), "stream": (0, 1)},
)
