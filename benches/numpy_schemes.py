"""The two schemes as one writes them in NumPy, on arrays indexed [k, j, i]."""

from __future__ import annotations

import numpy as np


def horizontal_diffusion(phi: np.ndarray, coefficient: np.ndarray, phi_new: np.ndarray) -> None:
    """Write the points that are two or more points away from the sides."""
    lap = phi[:, 1:-1, 2:] + phi[:, 1:-1, :-2] + phi[:, 2:, 1:-1] + phi[:, :-2, 1:-1] - 4 * phi[:, 1:-1, 1:-1]
    flux_i = np.diff(lap[:, 1:-1, :], axis=2)
    flux_i = np.where(flux_i * np.diff(phi[:, 2:-2, 1:-1], axis=2) > 0, 0, flux_i)
    flux_j = np.diff(lap[:, :, 1:-1], axis=1)
    flux_j = np.where(flux_j * np.diff(phi[:, 1:-1, 2:-2], axis=1) > 0, 0, flux_j)
    inner = np.s_[:, 2:-2, 2:-2]
    phi_new[inner] = phi[inner] - coefficient[inner] * (np.diff(flux_i, axis=2) + np.diff(flux_j, axis=1))


def vertical_diffusion(
    phi: np.ndarray,
    level_height: np.ndarray,
    sigma: np.ndarray,
    surface_altitude: np.ndarray,
    phi_new: np.ndarray,
    dt: float,
    diffusivity: float,
) -> None:
    """Write all points."""
    levels = len(phi)
    gap = np.diff(level_height)[:, None, None] + np.diff(sigma)[:, None, None] * surface_altitude
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
