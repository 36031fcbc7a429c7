"""The two schemes as one writes them for Numba, on arrays indexed [k, j, i]; rows are slices, and loops vectorise."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(parallel=True, error_model="numpy")
def horizontal_diffusion(phi: np.ndarray, coefficient: np.ndarray, phi_new: np.ndarray) -> None:
    """Write the points that are two or more points away from the sides."""
    nk, nj, ni = phi.shape
    zero = phi.dtype.type(0)
    four = phi.dtype.type(4)
    for k in numba.prange(nk):
        lap = np.empty((nj, ni - 2), phi.dtype)
        for j in range(1, nj - 1):
            here, west, east = phi[k, j, 1:-1], phi[k, j, :-2], phi[k, j, 2:]
            south, north, to = phi[k, j - 1, 1:-1], phi[k, j + 1, 1:-1], lap[j]
            for i in range(ni - 2):
                to[i] = east[i] + west[i] + north[i] + south[i] - four * here[i]
        for j in range(2, nj - 2):
            here, west, east = phi[k, j, 2:-2], phi[k, j, 1:-3], phi[k, j, 3:-1]
            south, north = phi[k, j - 1, 2:-2], phi[k, j + 1, 2:-2]
            lap_here, lap_west, lap_east = lap[j, 1:-1], lap[j, :-2], lap[j, 2:]
            lap_south, lap_north = lap[j - 1, 1:-1], lap[j + 1, 1:-1]
            alpha, to = coefficient[k, j, 2:-2], phi_new[k, j, 2:-2]
            for i in range(ni - 4):
                e = lap_east[i] - lap_here[i]
                e = zero if e * (east[i] - here[i]) > zero else e
                w = lap_here[i] - lap_west[i]
                w = zero if w * (here[i] - west[i]) > zero else w
                n = lap_north[i] - lap_here[i]
                n = zero if n * (north[i] - here[i]) > zero else n
                s = lap_here[i] - lap_south[i]
                s = zero if s * (here[i] - south[i]) > zero else s
                to[i] = here[i] - alpha[i] * (e - w + n - s)


@numba.njit(parallel=True, error_model="numpy")
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
    nk, nj, ni = phi.shape
    one, half, strength = phi.dtype.type(1), phi.dtype.type(0.5), phi.dtype.type(dt * diffusivity)
    for j in numba.prange(nj):
        ratio, partial = np.empty((nk, ni), phi.dtype), np.empty((nk, ni), phi.dtype)
        gap, conductance = np.empty(ni, phi.dtype), np.empty(ni, phi.dtype)
        ground = surface_altitude[j]
        a, r, p = phi[0, j], ratio[0], partial[0]
        da, db = level_height[1] - level_height[0], sigma[1] - sigma[0]
        for i in range(ni):
            gap[i] = da + db * ground[i]
            conductance[i] = strength / gap[i]
            inverse = one / (gap[i] + conductance[i])
            r[i] = conductance[i] * inverse
            p[i] = gap[i] * a[i] * inverse
        for k in range(1, nk - 1):
            a, r, p, r_below, p_below = phi[k, j], ratio[k], partial[k], ratio[k - 1], partial[k - 1]
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
        a, r_below, p_below, to = phi[nk - 1, j], ratio[nk - 2], partial[nk - 2], phi_new[nk - 1, j]
        for i in range(ni):
            inverse = one / (gap[i] + conductance[i] * (one - r_below[i]))
            to[i] = (gap[i] * a[i] + conductance[i] * p_below[i]) * inverse
        for k in range(nk - 2, -1, -1):
            r, p, to, above_row = ratio[k], partial[k], phi_new[k, j], phi_new[k + 1, j]
            for i in range(ni):
                to[i] = p[i] + r[i] * above_row[i]
