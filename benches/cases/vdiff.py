"""Implicit vertical diffusion over terrain, as in the demo: fields with all axes, without I and J, and without K."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, by_level, uniform
from benches.dialect import IJ, Field, K
from benches.windows import window


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
    scalars={"dt": 30.0, "diffusivity": 5.0},
    traffic=2,
    halo=0,
    tunings={"columns": (64, 128, 256, 512), "stream": (0, 1)},
)
