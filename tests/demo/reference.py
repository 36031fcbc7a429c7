"""The demo's two schemes written by hand in NumPy, from their equations and without fieldstone: the tests' oracle.

Arrays are indexed ``[k, j, i]``.
"""

from __future__ import annotations

import numpy as np


def horizontal_diffusion(phi: np.ndarray, coefficient: np.ndarray, phi_new: np.ndarray) -> None:
    """Write all points of `phi_new` that are two or more points away from the sides."""
    four = phi.dtype.type(4)
    lap = phi[:, 1:-1, 2:] + phi[:, 1:-1, :-2] + phi[:, 2:, 1:-1] + phi[:, :-2, 1:-1] - four * phi[:, 1:-1, 1:-1]

    flux_i = lap[:, 1:-1, 1:] - lap[:, 1:-1, :-1]
    flux_i[flux_i * (phi[:, 2:-2, 2:-1] - phi[:, 2:-2, 1:-2]) > 0] = 0
    flux_j = lap[:, 1:, 1:-1] - lap[:, :-1, 1:-1]
    flux_j[flux_j * (phi[:, 2:-1, 2:-2] - phi[:, 1:-2, 2:-2]) > 0] = 0

    inner = (slice(None), slice(2, -2), slice(2, -2))
    divergence = flux_i[:, :, 1:] - flux_i[:, :, :-1] + flux_j[:, 1:, :] - flux_j[:, :-1, :]
    phi_new[inner] = phi[inner] - coefficient[inner] * divergence


def heights(level_height: np.ndarray, sigma: np.ndarray, surface_altitude: np.ndarray) -> np.ndarray:
    """Return the height of every level over the terrain, indexed ``[k, j, i]``, in double precision."""
    a, b, h = (np.asarray(array, np.float64) for array in (level_height, sigma, surface_altitude))
    return a[:, None, None] + b[:, None, None] * h


def layers(z: np.ndarray) -> np.ndarray:
    """Return the thickness of the layers around levels at the heights `z`."""
    gaps = np.diff(z, axis=0)
    return np.concatenate([gaps[:1], 0.5 * (gaps[1:] + gaps[:-1]), gaps[-1:]])


def vertical_diffusion(phi: np.ndarray, z: np.ndarray, dt: float, diffusivity: float) -> np.ndarray:
    """Solve each column's system as a dense matrix, in double precision."""
    levels = phi.shape[0]
    gaps, thickness = np.diff(z, axis=0), layers(z)
    matrix = np.zeros((*phi.shape[1:], levels, levels))
    for k in range(levels - 1):
        conductance = dt * diffusivity / gaps[k]
        matrix[..., k, k + 1] = -conductance / thickness[k]
        matrix[..., k + 1, k] = -conductance / thickness[k + 1]
    diagonal = np.arange(levels)
    matrix[..., diagonal, diagonal] = 1 - matrix.sum(axis=-1)
    right = np.moveaxis(phi, 0, -1)[..., None].astype(np.float64)
    return np.moveaxis(np.linalg.solve(matrix, right)[..., 0], -1, 0)
