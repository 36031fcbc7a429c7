"""Implicit vertical advection: one tridiagonal system for each column, solved by a sweep up and a sweep down."""

from __future__ import annotations

import numpy as np
from gt4py import storage as gt_storage
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, interval

TIME_STEP = 3.0 / 20.0
BET_M = 0.5
BET_P = 0.5


@gtscript.function
def off_centre(wcon, beta):
    return 0.25 * (wcon[1, 0, 0] + wcon[0, 0, 0]) * beta


def advect(
    tendency: Field[float],
    velocity: Field[float],
    wcon: Field[float],
    position: Field[float],
    slow_tendency: Field[float],
    *,
    rate: float,
):
    from __externals__ import bet_m, bet_p

    with computation(FORWARD):
        with interval(0, 1):
            above = off_centre(wcon[0, 0, 1], 1.0)
            sup = above * bet_p
            diag = rate - sup
            correction = -above * bet_m * (velocity[0, 0, 1] - velocity[0, 0, 0])
            rhs = rate * position + tendency + slow_tendency + correction
            sup = sup / diag
            rhs = rhs / diag
        with interval(1, -1):
            below = -off_centre(wcon, 1.0)
            above = off_centre(wcon[0, 0, 1], 1.0)
            inf = below * bet_p
            sup = above * bet_p
            diag = rate - inf - sup
            correction = -below * bet_m * (velocity[0, 0, -1] - velocity) - above * bet_m * (
                velocity[0, 0, 1] - velocity
            )
            rhs = rate * position + tendency + slow_tendency + correction
            factor = 1.0 / (diag - sup[0, 0, -1] * inf)
            sup = sup * factor
            rhs = (rhs - rhs[0, 0, -1] * inf) * factor
        with interval(-1, None):
            below = -off_centre(wcon, 1.0)
            inf = below * bet_p
            diag = rate - inf
            correction = -below * bet_m * (velocity[0, 0, -1] - velocity)
            rhs = rate * position + tendency + slow_tendency + correction
            rhs = (rhs - rhs[0, 0, -1] * inf) / (diag - sup[0, 0, -1] * inf)
    with computation(BACKWARD):
        with interval(-1, None):
            solution = rhs
            tendency = rate * (solution - position)
        with interval(0, -1):
            solution = rhs - sup * solution[0, 0, 1]
            tendency = rate * (solution - position)


@gtscript.stencil(backend="numpy")
def add(a: Field[float], b: Field[float], *, weight: float):
    with computation(PARALLEL), interval(...):
        a = a + weight * b


def run(backend: str) -> dict[str, np.ndarray]:
    stencil = gtscript.stencil(
        backend=backend, definition=advect, externals={"bet_m": BET_M, "bet_p": BET_P}, name="advect_vertically"
    )
    random = np.random.default_rng(3)
    shape = (9, 8, 12)
    fields = {
        name: gt_storage.from_array(random.uniform(0.5, 1.5, shape), backend=backend)
        for name in ("tendency", "velocity", "wcon", "position", "slow_tendency")
    }
    stencil(**fields, rate=1.0 / TIME_STEP, origin=(0, 0, 0), domain=(8, 8, 11))
    add(fields["position"], fields["tendency"], weight=TIME_STEP)
    return {name: np.asarray(fields[name]) for name in ("tendency", "position")}
