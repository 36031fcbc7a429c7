"""Burgers' equations in two dimensions: advection of fifth order, diffusion of fourth order, three stages a step.

The exact solution gives what is outside of the domain, and shows how good the numbers are.
"""

from __future__ import annotations

import numpy as np
from gt4py import storage
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval

HALO = 3
POINTS = 21
VISCOSITY = 0.1


@gtscript.function
def absolute(phi):
    return phi * (phi[0, 0, 0] > 0.0) - phi * (phi[0, 0, 0] < 0.0)


@gtscript.function
def advection_x(dx, u, absolute_u, phi):
    centred = (45.0 * (phi[1, 0, 0] - phi[-1, 0, 0]) - 9.0 * (phi[2, 0, 0] - phi[-2, 0, 0])) + (
        phi[3, 0, 0] - phi[-3, 0, 0]
    )
    damped = (
        (phi[3, 0, 0] + phi[-3, 0, 0])
        - 6.0 * (phi[2, 0, 0] + phi[-2, 0, 0])
        + 15.0 * (phi[1, 0, 0] + phi[-1, 0, 0])
        - 20.0 * phi[0, 0, 0]
    )
    return u[0, 0, 0] / (60.0 * dx) * centred - absolute_u[0, 0, 0] / (60.0 * dx) * damped


@gtscript.function
def advection_y(dy, v, absolute_v, phi):
    centred = (45.0 * (phi[0, 1, 0] - phi[0, -1, 0]) - 9.0 * (phi[0, 2, 0] - phi[0, -2, 0])) + (
        phi[0, 3, 0] - phi[0, -3, 0]
    )
    damped = (
        (phi[0, 3, 0] + phi[0, -3, 0])
        - 6.0 * (phi[0, 2, 0] + phi[0, -2, 0])
        + 15.0 * (phi[0, 1, 0] + phi[0, -1, 0])
        - 20.0 * phi[0, 0, 0]
    )
    return v[0, 0, 0] / (60.0 * dy) * centred - absolute_v[0, 0, 0] / (60.0 * dy) * damped


@gtscript.function
def diffusion(dx, dy, phi):
    along = (16.0 * (phi[1, 0, 0] + phi[-1, 0, 0]) - (phi[2, 0, 0] + phi[-2, 0, 0]) - 30.0 * phi[0, 0, 0]) / (
        12.0 * dx**2
    )
    across = (16.0 * (phi[0, 1, 0] + phi[0, -1, 0]) - (phi[0, 2, 0] + phi[0, -2, 0]) - 30.0 * phi[0, 0, 0]) / (
        12.0 * dy**2
    )
    return along + across


def stage(
    in_u_now: Field["dtype"],
    in_v_now: Field["dtype"],
    in_u_tmp: Field["dtype"],
    in_v_tmp: Field["dtype"],
    out_u: Field["dtype"],
    out_v: Field["dtype"],
    *,
    dt: float,
    dx: float,
    dy: float,
    mu: float,
):
    with computation(PARALLEL), interval(...):
        speed_u = absolute(in_u_tmp)
        speed_v = absolute(in_v_tmp)
        adv_u = advection_x(dx=dx, u=in_u_tmp, absolute_u=speed_u, phi=in_u_tmp)
        adv_u = adv_u + advection_y(dy=dy, v=in_v_tmp, absolute_v=speed_v, phi=in_u_tmp)
        adv_v = advection_x(dx=dx, u=in_u_tmp, absolute_u=speed_u, phi=in_v_tmp)
        adv_v = adv_v + advection_y(dy=dy, v=in_v_tmp, absolute_v=speed_v, phi=in_v_tmp)
        out_u = in_u_now[0, 0, 0] + dt * (-adv_u + mu * diffusion(dx, dy, in_u_tmp))
        out_v = in_v_now[0, 0, 0] + dt * (-adv_v + mu * diffusion(dx, dy, in_v_tmp))


def exact(time: float) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.linspace(0.0, 1.0, POINTS), np.linspace(0.0, 1.0, POINTS), indexing="ij")
    decay = np.exp(-5.0 * np.pi**2 * VISCOSITY * time)
    bottom = 2.0 + decay * np.sin(2.0 * np.pi * x) * np.sin(np.pi * y)
    u = -4.0 * VISCOSITY * np.pi * decay * np.cos(2.0 * np.pi * x) * np.sin(np.pi * y) / bottom
    v = -2.0 * VISCOSITY * np.pi * decay * np.sin(2.0 * np.pi * x) * np.cos(np.pi * y) / bottom
    return u[:, :, np.newaxis], v[:, :, np.newaxis]


def enforce_boundary(field: np.ndarray, solution: np.ndarray) -> None:
    inside = (slice(HALO, -HALO), slice(HALO, -HALO))
    kept = np.array(field[inside])
    field[...] = solution
    field[inside] = kept


def run(backend: str) -> dict[str, np.ndarray]:
    stencil = gtscript.stencil(backend=backend, definition=stage, dtypes={"dtype": np.float64})
    spacing = 1.0 / (POINTS - 1)
    dt = 0.2 * spacing**2 / VISCOSITY
    make = {"backend": backend, "aligned_index": (HALO, HALO, 0)}
    u_now, v_now = (storage.from_array(field, **make) for field in exact(0.0))
    u_new, v_new = (storage.from_array(field, **make) for field in exact(0.0))
    time = 0.0
    for _ in range(6):
        for fraction in (1.0 / 3.0, 0.5, 1.0):
            u_tmp, v_tmp = u_new.copy(), v_new.copy()
            stencil(
                in_u_now=u_now,
                in_v_now=v_now,
                in_u_tmp=u_tmp,
                in_v_tmp=v_tmp,
                out_u=u_new,
                out_v=v_new,
                dt=fraction * dt,
                dx=spacing,
                dy=spacing,
                mu=VISCOSITY,
                origin=(HALO, HALO, 0),
                domain=(POINTS - 2 * HALO, POINTS - 2 * HALO, 1),
            )
            for field, solution in zip((u_new, v_new), exact(time + fraction * dt), strict=True):
                enforce_boundary(field, solution)
        time += dt
        u_now, v_now = u_new.copy(), v_new.copy()
    error = abs(np.asarray(u_now) - exact(time)[0]).max()
    assert error < 1e-3, error
    return {"u": np.asarray(u_now), "v": np.asarray(v_now)}
