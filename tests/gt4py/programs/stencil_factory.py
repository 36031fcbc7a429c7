"""A model whose components ask a factory for stencils by name: types and functions are chosen when it is set up.

Stencils are compiled on their first use; the type of all fields has a name, `dtype`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.lazy_stencil import LazyStencil
from gt4py.cartesian.stencil_object import StencilObject
from gt4py.storage import empty, from_array, zeros


@dataclass
class Options:
    """What all stencils are compiled with."""

    backend: str
    dtypes: dict[str, type] = field(default_factory=lambda: {"dtype": np.float64})
    externals: dict[str, Any] = field(default_factory=dict)
    rebuild: bool = False


DEFINITIONS: dict[str, Callable[..., None]] = {}
FUNCTIONS: dict[str, Any] = {}


def definition(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def add(function: Callable[..., None]) -> Callable[..., None]:
        DEFINITIONS[name] = function
        return function

    return add


def subroutine(name: str) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        FUNCTIONS[name] = gtscript.function(function)
        return function

    return add


class Factory:
    """Compiles stencils by name."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def compile(self, name: str) -> StencilObject:
        return gtscript.stencil(
            backend=self.options.backend,
            definition=DEFINITIONS[name],
            name=name,
            dtypes=self.options.dtypes,
            externals={**FUNCTIONS, **self.options.externals},
            rebuild=self.options.rebuild,
        )

    def compile_later(self, definition: Callable[..., None], **externals: Any) -> LazyStencil:
        lazy = gtscript.lazy_stencil(
            backend=self.options.backend, definition=definition, externals=externals, check_syntax=True
        )
        assert lazy.backend.name == self.options.backend
        return lazy


@subroutine("third_order_upwind")
def third_order_upwind(u, phi):
    fourth = u[0, 0, 0] / 12.0 * (7.0 * (phi[-1, 0, 0] + phi[0, 0, 0]) - (phi[-2, 0, 0] + phi[1, 0, 0]))
    damping = (
        (u[0, 0, 0] if u[0, 0, 0] > 0.0 else -u[0, 0, 0])
        / 12.0
        * (3.0 * (phi[0, 0, 0] - phi[-1, 0, 0]) - (phi[1, 0, 0] - phi[-2, 0, 0]))
    )
    return fourth - damping


@subroutine("saturation_pressure")
def saturation_pressure(t):
    e = 610.78 * exp(17.27 * (t - 273.16) / (t - 35.86))
    return e


@definition("advect")
def advect(
    in_phi: gtscript.Field["dtype"],
    in_u: gtscript.Field["dtype"],
    out_phi: gtscript.Field["dtype"],
    *,
    dt: "dtype",
    dx: "dtype",
) -> None:
    from __externals__ import third_order_upwind

    with computation(PARALLEL), interval(...):
        flux = third_order_upwind(in_u, in_phi)
        out_phi = in_phi[0, 0, 0] - dt / dx * (flux[1, 0, 0] - flux[0, 0, 0])


@definition("condense")
def condense(
    t: gtscript.Field["dtype"],
    p: gtscript.Field["dtype"],
    qv: gtscript.Field["dtype"],
    qc: gtscript.Field["dtype"],
    *,
    rate: "dtype",
) -> None:
    from __externals__ import latent_heat_by_cp, saturation_pressure, with_evaporation

    with computation(PARALLEL), interval(...):
        es = saturation_pressure(t)
        qs = 0.622 * es / (p - 0.378 * es)
        excess = (qv - qs) * rate
        if __INLINED(with_evaporation):
            change = excess if excess > -qc else -qc
        else:
            change = excess if excess > 0.0 else 0.0
        qv = qv - change
        qc = qc + change
        t = t + latent_heat_by_cp * change


@definition("sediment")
def sediment(rho: gtscript.Field["dtype"], qr: gtscript.Field["dtype"], out: gtscript.Field["dtype"]) -> None:
    with computation(FORWARD):
        with interval(0, 1):
            speed = 36.34 * (rho * qr) ** 0.1364
            out = qr
            above = rho * qr * speed
        with interval(1, None):
            speed = 36.34 * (rho * qr) ** 0.1364
            above = rho * qr * speed
            out = qr + 1e-3 * (above[0, 0, -1] - above) / rho


def clip(phi: gtscript.Field[np.float64], *, smallest: np.float64) -> None:
    from __externals__ import strict

    with computation(PARALLEL), interval(...):
        if __INLINED(strict):
            phi = max(phi, smallest)
        elif phi < -smallest:
            phi = smallest


def run(backend: str) -> dict[str, np.ndarray]:
    results: dict[str, np.ndarray] = {}
    for dtype in (np.float64, np.float32):
        for evaporation in (True, False):
            options = Options(
                backend=backend,
                dtypes={"dtype": dtype},
                externals={"with_evaporation": evaporation, "latent_heat_by_cp": 2.5e6 / 1004.0},
            )
            factory = Factory(options)
            random = np.random.default_rng(8)
            shape = (11, 7, 6)

            def make(low: float, high: float) -> np.ndarray:
                values = random.uniform(low, high, shape)  # noqa: B023
                return from_array(values, dtype=dtype, backend=backend, aligned_index=(2, 0, 0))  # noqa: B023

            t, p, u = make(275.0, 300.0), make(8.0e4, 1.0e5), make(-10.0, 10.0)
            qv, qc, rho = make(0.0, 0.02), make(0.0, 1e-3), make(0.8, 1.2)
            out = zeros(shape, dtype, backend=backend, aligned_index=(2, 0, 0))
            rain = empty(shape, dtype, backend=backend, aligned_index=(2, 0, 0))
            rain[...] = 0.0
            advection, condensation, sedimentation = map(factory.compile, ("advect", "condense", "sediment"))
            info: dict[str, Any] = {}
            advection(
                in_phi=qv,
                in_u=u,
                out_phi=out,
                dt=dtype(0.1),
                dx=dtype(5.0),
                origin=(2, 0, 0),
                domain=(7, 7, 6),
                exec_info=info,
            )
            condensation(t=t, p=p, qv=qv, qc=qc, rate=dtype(0.5), origin=(0, 0, 0), domain=shape, validate_args=True)
            sedimentation(rho, qc, rain, origin=(0, 0, 0), domain=shape)
            assert set(condensation.field_info) == {"t", "p", "qv", "qc"}
            for name, array in {"out": out, "t": t, "qv": qv, "qc": qc, "rain": rain}.items():
                results[f"{name}_{np.dtype(dtype).name}_{int(evaporation)}"] = np.array(array)
    factory = Factory(Options(backend))
    phi = from_array(np.random.default_rng(10).uniform(-1.0, 1.0, (5, 4, 3)), backend=backend)
    for strict in (False, True):
        factory.compile_later(clip, strict=strict)(phi, smallest=np.float64(0.1))
        results[f"phi_{strict}"] = np.array(phi)
    return results
