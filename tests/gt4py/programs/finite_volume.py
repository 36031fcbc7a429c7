"""Transport on a tile with edges, in the style of finite-volume dynamical cores.

Stencils are frozen on a domain and bounded by externals: `I` and `J` indices of the tile's edges that lie on this
rank. Stencils are classes' members, fields have types with names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gt4py.storage as gt_storage
import numpy as np
from gt4py.cartesian import backend as gt_backend
from gt4py.cartesian import config as gt_config
from gt4py.cartesian import definitions as gt_definitions
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import (
    __INLINED,
    BACKWARD,
    FORWARD,
    PARALLEL,
    computation,
    horizontal,
    interval,
    region,
)
from gt4py.cartesian.stencil_object import FrozenStencil, StencilObject

Float = np.float64
FloatField = gtscript.Field[gtscript.IJK, Float]
FloatFieldIJ = gtscript.Field[gtscript.IJ, Float]
FloatFieldK = gtscript.Field[gtscript.K, Float]
IntFieldIJ = gtscript.Field[gtscript.IJ, np.int64]

N_HALO = 3
N = 12
NK = 6

P1, P2 = 7.0 / 12.0, -1.0 / 12.0


class CompiledStencil:
    """A stencil that is compiled for one domain, and called with arrays only."""

    def __init__(
        self,
        func: Callable[..., None],
        origin: Sequence[int],
        domain: Sequence[int],
        backend: str,
        externals: Mapping[str, Any] | None = None,
    ) -> None:
        build_info: dict[str, Any] = {}
        self.stencil_object: StencilObject = gtscript.stencil(
            definition=func,
            backend=backend,
            externals=dict(externals or {}),
            name=f"{func.__module__}.{func.__name__}",
            rebuild=False,
            build_info=build_info,
        )
        self.origin = {
            name: tuple(origin[:2]) * ("I" in info.axes) + tuple(origin[2:]) * ("K" in info.axes)
            for name, info in self.stencil_object.field_info.items()
        }
        self.domain = tuple(domain)
        self.frozen: FrozenStencil = self.stencil_object.freeze(origin=self.origin, domain=self.domain)
        self.written = [
            name
            for name, info in self.stencil_object.field_info.items()
            if info.access & gt_definitions.AccessKind.WRITE
        ]

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if args:
            exec_info: dict[str, Any] = {"__aggregate_data": True}
            self.stencil_object(*args, **kwargs, origin=self.origin, domain=self.domain, exec_info=exec_info)
        else:
            self.stencil_object.run(**kwargs, _domain_=self.domain, _origin_=self.origin, exec_info=None)
            self.frozen(**kwargs)


def axis_offsets(on_edge: bool) -> dict[str, Any]:
    """Where the edges of the tile are, far away if they are on another rank."""
    if on_edge:
        return {
            "i_start": gtscript.I[0],
            "i_end": gtscript.I[-1],
            "j_start": gtscript.J[0],
            "j_end": gtscript.J[-1],
        }
    return {
        "i_start": gtscript.I[0] - 1000,
        "i_end": gtscript.I[-1] + 1000,
        "j_start": gtscript.J[0] - 1000,
        "j_end": gtscript.J[-1] + 1000,
    }


@gtscript.function
def interface_value(q):
    return P1 * (q[-1, 0, 0] + q) + P2 * (q[-2, 0, 0] + q[1, 0, 0])


@gtscript.function
def left_and_right(q, al):
    bl = al[0, 0, 0] - q[0, 0, 0]
    br = al[1, 0, 0] - q[0, 0, 0]
    b0 = bl + br
    return bl, br, b0


@gtscript.function
def is_smooth(bl, br):
    from __externals__ import mord

    smooth = True
    if __INLINED(mord == 5):
        smooth = bl * br < 0.0
    else:
        smooth = abs(3.0 * (bl + br)) < abs(bl - br)
    return smooth


@gtscript.function
def upwind_correction(courant, bl, br, b0):
    if courant > 0.0:
        fx1 = (1.0 - courant) * (br[-1, 0, 0] - courant * b0[-1, 0, 0])
    else:
        fx1 = (1.0 + courant) * (bl + courant * b0)
    return fx1


def flux_along_x(q: FloatField, courant: FloatField, dxa: FloatFieldIJ, flux: FloatField):
    """Flux of piecewise parabolas."""
    from __externals__ import i_end, i_start

    with computation(PARALLEL), interval(...):
        al = interface_value(q)
        with horizontal(region[i_start - 1, :], region[i_end, :]):
            al = 0.5 * (((2.0 * dxa + dxa[-1, 0]) * q - dxa * q[-1, 0, 0]) / (dxa + dxa[-1, 0]) + q)
        with horizontal(region[i_start, :], region[i_end + 1, :]):
            al = 0.5 * (q[-1, 0, 0] + q)
        bl, br, b0 = left_and_right(q, al)
        smooth = is_smooth(bl, br)
        fx1 = upwind_correction(courant, bl, br, b0)
        if smooth[-1, 0, 0] or smooth:
            correction = fx1
        else:
            correction = 0.0
        if courant > 0.0:
            flux = q[-1, 0, 0] + correction
        else:
            flux = q + correction


def fill_corners(q: FloatField):
    from __externals__ import i_end, i_start, j_end, j_start

    with computation(PARALLEL), interval(...):
        with horizontal(region[i_start - 1, j_start - 1], region[i_end + 1, j_start - 1]):
            q = 1.0
        with horizontal(region[i_start - 2 : i_start, j_end + 1 :]):
            q = 2.0
        with horizontal(region[i_end + 1 :, j_end + 1]):
            q = 3.0


def update(q: FloatField, flux: FloatField, delp: FloatField, rarea: FloatFieldIJ, ak: FloatFieldK):
    with computation(PARALLEL), interval(...):
        q = (q * delp + ak * (flux - flux[1, 0, 0]) * rarea) / delp


def pressures(delp: FloatField, pe: FloatField, peln: FloatField, ps: FloatFieldIJ, ptop: Float):
    with computation(FORWARD):
        with interval(0, 1):
            pe = ptop
            peln = log(ptop)
        with interval(1, None):
            pe = pe[0, 0, -1] + delp[0, 0, -1]
            peln = log(pe)
    with computation(FORWARD), interval(-1, None):
        ps = pe


def fill_negative(q: FloatField, delp: FloatField, sum0: FloatFieldIJ, zfix: IntFieldIJ):
    """Borrow from the level above where there is less than nothing."""
    with computation(FORWARD), interval(0, 1):
        sum0 = 0.0
        zfix = 0
    with computation(FORWARD):
        with interval(0, 1):
            if q < 0.0:
                q = 0.0
        with interval(1, None):
            lower_fix = 0.0
            if q < 0.0:
                zfix += 1
                if q[0, 0, -1] > 0.0:
                    lower_fix = min(-q * delp, q[0, 0, -1] * delp[0, 0, -1])
                q = q + lower_fix / delp
            sum0 = sum0 + lower_fix


def damp_upwards(w: FloatField, rf: FloatFieldK, ks: int):
    with computation(BACKWARD):
        with interval(-1, None):
            total = w
        with interval(0, -1):
            total = 0.5 * total[0, 0, 1] + w
    with computation(PARALLEL), interval(...):
        if w > 0.0 and ks > 2:
            w = rf * total


def run(backend: str) -> dict[str, np.ndarray]:
    gt_config.cache_settings["dir_name"] = ".gt_cache_finite_volume"
    assert gt_backend.from_name(backend).storage_info["device"] == "cpu"
    random = np.random.default_rng(6)
    full = (N + 2 * N_HALO + 1, N + 2 * N_HALO + 1, NK + 1)

    def field(low: float, high: float, axes: str = "IJK") -> np.ndarray:
        shape = tuple(size for size, axis in zip(full, "IJK", strict=True) if axis in axes)
        return gt_storage.from_array(random.uniform(low, high, shape), Float, backend=backend, dimensions=tuple(axes))

    q, delp, w = field(-0.2, 1.0), field(1.0, 2.0), field(-1.0, 1.0)
    courant, flux = field(-0.5, 0.5), field(0.0, 0.0)
    dxa, rarea = field(0.9, 1.1, "IJ"), field(0.1, 0.2, "IJ")
    ak, rf = field(0.5, 1.0, "K"), field(0.9, 1.0, "K")
    pe, peln, ps, sum0 = field(0.0, 0.0), field(0.0, 0.0), field(0.0, 0.0, "IJ"), field(0.0, 0.0, "IJ")
    zfix = gt_storage.zeros(full[:2], np.int64, backend=backend, dimensions=("I", "J"))
    compute, with_halo = (N_HALO, N_HALO, 0), (0, 0, 0)
    results: dict[str, np.ndarray] = {}
    for on_edge in (True, False):
        for mord in (5, 6):
            externals = {**axis_offsets(on_edge), "mord": mord}
            flux_stencil = CompiledStencil(flux_along_x, compute, (N + 1, N, NK), backend, externals)
            flux_stencil(q, courant, dxa, flux)
            assert flux_stencil.written == ["flux"]
            results[f"flux_{int(on_edge)}_{mord}"] = np.array(flux)
    CompiledStencil(fill_corners, compute, (N, N, NK), backend, axis_offsets(True))(q=q)
    results["corners"] = np.array(q)
    CompiledStencil(update, compute, (N, N, NK), backend)(q, flux, delp, rarea, ak)
    CompiledStencil(pressures, with_halo, (*full[:2], NK + 1), backend)(delp, pe, peln, ps, ptop=Float(3.0))
    CompiledStencil(fill_negative, compute, (N, N, NK), backend)(q=q, delp=delp, sum0=sum0, zfix=zfix)
    CompiledStencil(damp_upwards, compute, (N, N, NK), backend)(w, rf, ks=3)
    final = {"q": q, "pe": pe, "peln": peln, "ps": ps, "sum0": sum0, "zfix": zfix, "w": w}
    return results | {name: np.asarray(array) for name, array in final.items()}
