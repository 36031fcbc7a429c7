"""Flow over a hill in isentropic coordinates: prognostic density and momenta, a column integral for the pressure.

Levels are numbered from the top. The Montgomery potential follows from the pressure by a sweep from the ground up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gt4py import storage
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import BACKWARD, FORWARD, IJ, PARALLEL, Field, computation, interval

HALO = 3
NX, NY, NZ = 14, 12, 8
P_REF, CP, RD, GRAVITY = 1.0e5, 1004.0, 287.0, 9.81


@gtscript.function
def upwind_flux_x(u, phi):
    flux = u[0, 0, 0] * (phi[-1, 0, 0] if u[0, 0, 0] > 0.0 else phi[0, 0, 0])
    return flux


@gtscript.function
def upwind_flux_y(v, phi):
    flux = v[0, 0, 0] * (phi[0, -1, 0] if v[0, 0, 0] > 0.0 else phi[0, 0, 0])
    return flux


@gtscript.function
def divergence(dt, dx, dy, fx, fy):
    return dt * ((fx[1, 0, 0] - fx[0, 0, 0]) / dx + (fy[0, 1, 0] - fy[0, 0, 0]) / dy)


def advance(
    s: Field[float],
    su: Field[float],
    sv: Field[float],
    u: Field[float],
    v: Field[float],
    mtg: Field[float],
    s_new: Field[float],
    su_new: Field[float],
    sv_new: Field[float],
    *,
    dt: float,
    dx: float,
    dy: float,
):
    from __externals__ import flux_x, flux_y

    with computation(PARALLEL), interval(...):
        fx_s = flux_x(u, s)
        fy_s = flux_y(v, s)
        s_new = s - divergence(dt, dx, dy, fx_s, fy_s)
        fx_su = flux_x(u, su)
        fy_su = flux_y(v, su)
        su_new = su - divergence(dt, dx, dy, fx_su, fy_su) - dt * s * (mtg[1, 0, 0] - mtg[-1, 0, 0]) / (2.0 * dx)
        fx_sv = flux_x(u, sv)
        fy_sv = flux_y(v, sv)
        sv_new = sv - divergence(dt, dx, dy, fx_sv, fy_sv) - dt * s * (mtg[0, 1, 0] - mtg[0, -1, 0]) / (2.0 * dy)


def diagnose(
    s: Field[float],
    topography: Field[IJ, float],
    p: Field[float],
    exn: Field[float],
    mtg: Field[float],
    height: Field[float],
    *,
    dtheta: float,
    theta_s: float,
    p_top: float,
):
    from __externals__ import cp, g, p_ref, rd

    with computation(FORWARD):
        with interval(0, 1):
            p = p_top
        with interval(1, None):
            p = p[0, 0, -1] + g * dtheta * s[0, 0, -1]
    with computation(PARALLEL), interval(...):
        exn = cp * (p / p_ref) ** (rd / cp)
    with computation(BACKWARD):
        with interval(-1, None):
            mtg = theta_s * exn + g * topography + 0.5 * dtheta * exn
            height = topography
        with interval(0, -1):
            mtg = mtg[0, 0, 1] + dtheta * exn[0, 0, 1]
            height = (
                height[0, 0, 1] - rd / (cp * g) * (theta_s * exn + theta_s * exn[0, 0, 1]) * 0.5 * (p - p[0, 0, 1]) / p
            )


def velocities(s: Field[float], su: Field[float], sv: Field[float], u: Field[float], v: Field[float]):
    with computation(PARALLEL), interval(...):
        u = (su[-1, 0, 0] + su[0, 0, 0]) / (s[-1, 0, 0] + s[0, 0, 0])
        v = (sv[0, -1, 0] + sv[0, 0, 0]) / (s[0, -1, 0] + s[0, 0, 0])


@dataclass
class Stencils:
    """The compiled stencils."""

    backend: str

    def __post_init__(self) -> None:
        physics = {"cp": CP, "g": GRAVITY, "p_ref": P_REF, "rd": RD}
        numerics = {"flux_x": upwind_flux_x, "flux_y": upwind_flux_y}
        self.advance = gtscript.stencil(definition=advance, backend=self.backend, externals=numerics)
        self.diagnose = gtscript.stencil(definition=diagnose, backend=self.backend, externals=physics)
        self.velocities = gtscript.stencil(definition=velocities, backend=self.backend, rebuild=False)


def make_periodic(field: np.ndarray) -> None:
    for axis, points in ((0, NX), (1, NY)):
        turned = np.moveaxis(field, axis, 0)
        turned[:HALO] = turned[points : points + HALO]
        turned[HALO + points :] = turned[HALO : HALO + len(turned) - HALO - points]


def run(backend: str) -> dict[str, np.ndarray]:
    stencils = Stencils(backend)
    shape = (NX + 2 * HALO, NY + 2 * HALO, NZ)
    make = {"backend": backend, "aligned_index": (HALO, HALO, 0)}
    names = ("s", "su", "sv", "u", "v", "mtg", "p", "exn", "height", "s_new", "su_new", "sv_new")
    f = {name: storage.zeros(shape, **make) for name in names}
    f["s"][...] = 100.0 + np.linspace(0.0, 10.0, NZ)
    f["su"][...] = 10.0 * f["s"]
    x = np.linspace(-3.0, 3.0, shape[0])[:, np.newaxis]
    y = np.linspace(-3.0, 3.0, shape[1])[np.newaxis, :]
    hill = storage.from_array(500.0 * np.exp(-(x**2) - y**2), backend=backend, aligned_index=(HALO, HALO))
    domain = (NX, NY, NZ)
    origin = (HALO, HALO, 0)
    for _ in range(5):
        stencils.diagnose(
            **{name: f[name] for name in ("s", "p", "exn", "mtg", "height")},
            topography=hill,
            dtheta=5.0,
            theta_s=280.0,
            p_top=2.0e4,
            origin={"_all_": (0, 0, 0)},
            domain=shape,
        )
        stencils.velocities(
            f["s"], f["su"], f["sv"], f["u"], f["v"], origin=(1, 1, 0), domain=(shape[0] - 1, shape[1] - 1, NZ)
        )
        prognostic = {name: f[name] for name in names if name not in ("p", "exn", "height")}
        stencils.advance(**prognostic, dt=20.0, dx=5.0e4, dy=5.0e4, origin=origin, domain=domain)
        for name in ("s", "su", "sv"):
            f[name], f[name + "_new"] = f[name + "_new"], f[name]
            make_periodic(f[name])
    return {name: np.asarray(f[name]) for name in ("s", "su", "sv", "p", "mtg", "height")}
