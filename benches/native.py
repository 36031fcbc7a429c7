"""Calls the compiled `kernels.c` on NumPy arrays indexed [k, j, i]."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from benches import compiled

# Block sizes and ways to store that the fastest is chosen from, for each grid.
ROWS = (32, 128)
COLUMNS = (64, 128, 256, 512)
STORES = {"": 0, ", past the cache": 1}


def build() -> ctypes.CDLL | None:
    """Return the compiled kernels, or None where there is no C compiler."""
    return compiled.library("kernels.c", "kernels.h")


def horizontal_diffusion(
    library: ctypes.CDLL, phi: np.ndarray, coefficient: np.ndarray, phi_new: np.ndarray
) -> dict[str, Callable[[], None]]:
    """Return calls that write the points two or more points away from the sides, one per variant."""
    kernel = library[f"horizontal_diffusion_{phi.dtype}"]
    arrays = [_inner(array) for array in (phi, coefficient, phi_new)]
    shape = _shape(phi, 2)
    return {
        f"{rows} rows{name}": _call(kernel, *arrays, *shape, *_strides(phi), rows, stream)
        for rows in ROWS
        for name, stream in STORES.items()
    }


def vertical_diffusion(
    library: ctypes.CDLL,
    phi: np.ndarray,
    level_height: np.ndarray,
    sigma: np.ndarray,
    surface_altitude: np.ndarray,
    phi_new: np.ndarray,
    dt: float,
    diffusivity: float,
) -> dict[str, Callable[[], None]]:
    """Return calls that write the points two or more points away from the sides, one per variant."""
    kernel = library[f"vertical_diffusion_{phi.dtype}"]
    real = ctypes.c_double if phi.dtype == np.float64 else ctypes.c_float
    surface = surface_altitude[2:, 2:]
    arrays = [_inner(phi), _pointer(level_height), _pointer(sigma), _pointer(surface), _inner(phi_new)]
    row = ctypes.c_ssize_t(surface_altitude.strides[0] // phi.itemsize)
    tail = [*_shape(phi, 2), *_strides(phi), row]
    return {
        f"{columns} columns{name}": _call(kernel, *arrays, real(dt), real(diffusivity), *tail, columns, stream)
        for columns in COLUMNS
        for name, stream in STORES.items()
    }


def copy(library: ctypes.CDLL, phi: np.ndarray, phi_new: np.ndarray) -> dict[str, Callable[[], None]]:
    """Return calls that copy the points two or more points away from the sides, one per variant."""
    kernel = library[f"copy_{phi.dtype}"]
    return {
        f"copy{name}": _call(kernel, _inner(phi), _inner(phi_new), *_shape(phi, 2), *_strides(phi), stream)
        for name, stream in STORES.items()
    }


def _call(kernel: Callable[..., object], *arguments: object) -> Callable[[], None]:
    def run() -> None:
        kernel(*arguments)

    return run


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _inner(array: np.ndarray) -> ctypes.c_void_p:
    return _pointer(array[:, 2:, 2:])


def _shape(array: np.ndarray, halo: int) -> tuple[int, int, int]:
    nk, nj, ni = array.shape
    return ni - 2 * halo, nj - 2 * halo, nk


def _strides(array: np.ndarray) -> tuple[ctypes.c_ssize_t, ctypes.c_ssize_t]:
    if array.strides[2] != array.itemsize:
        raise ValueError("the C kernels need arrays that are contiguous along I")
    return ctypes.c_ssize_t(array.strides[1] // array.itemsize), ctypes.c_ssize_t(array.strides[0] // array.itemsize)
