"""Numba's kernels for GPUs, as one writes them for each case: a thread for each point, or for each column."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from benches.case import HALO, Case
from benches.contenders.cuda import Kernel

SHAPES = {
    "copy": Kernel((32, 8, 1), 1),
    "lap7": Kernel((32, 8, 1), 1),
    "hdiff": Kernel((32, 8, 1), 1),
    "vadv": Kernel((32, 4, 1), None, scratch=2),
}


def is_present() -> bool:
    """Whether Numba finds a GPU, and what it compiles with."""
    if importlib.util.find_spec("numba") is None:
        return False
    from numba import cuda
    from numba.cuda.cudadrv import nvvm

    return bool(cuda.is_available()) and bool(nvvm.is_available())


def with_numba(case: Case, fields: dict[str, Any], size: tuple[int, int, int], dtype: str) -> Callable[[], None]:
    """Return a call of the kernel of a case on storages of the device."""
    from numba import cuda

    how, real = SHAPES[case.name], np.dtype(dtype).type
    arrays = [cuda.as_cuda_array(fields[argument.name]) for argument in case.arguments]
    scratch = [cuda.device_array(size, dtype, order="F") for _ in range(how.scratch)]
    kernel = kernels(real, cuda)[case.name][how.grid(size), how.block]
    return functools.partial(kernel, *arrays, *scratch, *size, *map(real, case.scalars.values()))


def kernels(real: Any, cuda: Any) -> dict[str, Any]:
    """Return the kernel of each case, on arrays indexed [i, j, k] with their halo.

    Parameters
    ----------
    real : type
        Of the elements; constants are of it, since others would take all arithmetic to ``float64``.
    cuda : module
        ``numba.cuda``.
    """
    zero, one, four, six, eighth = real(0), real(1), real(4), real(6), real(0.125)

    @cuda.jit
    def copy(q: Any, q_new: Any, ni: int, nj: int, nk: int) -> None:
        i, j, k = cuda.grid(3)
        if i < ni and j < nj and k < nk:
            q_new[i + HALO, j + HALO, k] = q[i + HALO, j + HALO, k]

    @cuda.jit
    def lap7(q: Any, lap: Any, ni: int, nj: int, nk: int) -> None:
        i, j, k = cuda.grid(3)
        if i < ni and j < nj and k > 0 and k < nk - 1:
            x, y = i + HALO, j + HALO
            along, across = q[x - 1, y, k] + q[x + 1, y, k], q[x, y - 1, k] + q[x, y + 1, k]
            lap[x, y, k] = -six * q[x, y, k] + ((along + across) + (q[x, y, k - 1] + q[x, y, k + 1]))

    @cuda.jit(device=True)
    def laplacian(q: Any, x: int, y: int, k: int) -> Any:
        return four * q[x, y, k] - (q[x + 1, y, k] + q[x - 1, y, k] + q[x, y + 1, k] + q[x, y - 1, k])

    @cuda.jit(device=True)
    def limited(flux: Any, gradient: Any) -> Any:
        return zero if flux * gradient > zero else flux

    @cuda.jit
    def hdiff(q: Any, coefficient: Any, q_new: Any, ni: int, nj: int, nk: int) -> None:
        i, j, k = cuda.grid(3)
        if i < ni and j < nj and k < nk:
            x, y = i + HALO, j + HALO
            here, lap = q[x, y, k], laplacian(q, x, y, k)
            east = limited(laplacian(q, x + 1, y, k) - lap, q[x + 1, y, k] - here)
            west = limited(lap - laplacian(q, x - 1, y, k), here - q[x - 1, y, k])
            north = limited(laplacian(q, x, y + 1, k) - lap, q[x, y + 1, k] - here)
            south = limited(lap - laplacian(q, x, y - 1, k), here - q[x, y - 1, k])
            q_new[x, y, k] = here - coefficient[x, y, k] * (east - west + north - south)

    @cuda.jit
    def vadv(
        u_stage: Any, u: Any, w: Any, u_now: Any, tendency: Any, c: Any, d: Any, ni: int, nj: int, nk: int, rate: Any
    ) -> None:
        i, j = cuda.grid(2)
        if i >= ni or j >= nj:
            return
        x, y = i + HALO, j + HALO
        up = eighth * (w[x + 1, y, 1] + w[x, y, 1])
        forcing = rate * u_now[x, y, 0] + tendency[x, y, 0] + u_stage[x, y, 0]
        inverse = one / (rate - up)
        c[i, j, 0] = up * inverse
        d[i, j, 0] = (forcing - up * (u[x, y, 1] - u[x, y, 0])) * inverse
        for k in range(1, nk - 1):
            down = -up
            up = eighth * (w[x + 1, y, k + 1] + w[x, y, k + 1])
            given = -down * (u[x, y, k - 1] - u[x, y, k]) - up * (u[x, y, k + 1] - u[x, y, k])
            forcing = rate * u_now[x, y, k] + tendency[x, y, k] + u_stage[x, y, k] + given
            inverse = one / (rate - down - up - c[i, j, k - 1] * down)
            c[i, j, k] = up * inverse
            d[i, j, k] = (forcing - d[i, j, k - 1] * down) * inverse
        k = nk - 1
        forcing = rate * u_now[x, y, k] + tendency[x, y, k] + u_stage[x, y, k] + up * (u[x, y, k - 1] - u[x, y, k])
        solved = (forcing + d[i, j, k - 1] * up) / (rate + up + c[i, j, k - 1] * up)
        u_stage[x, y, k] = rate * (solved - u_now[x, y, k])
        for below in range(1, nk):
            k = nk - 1 - below
            solved = d[i, j, k] - c[i, j, k] * solved
            u_stage[x, y, k] = rate * (solved - u_now[x, y, k])

    return {"copy": copy, "lap7": lap7, "hdiff": hdiff, "vadv": vadv}
