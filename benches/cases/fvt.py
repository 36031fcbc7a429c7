"""Finite-volume transport with monotonic PPM reconstruction, of Lin and Rood: a chain of many stages.

A tracer is first carried along one axis, the result along the other, and the other way round; the fluxes of both ways
are averaged. Each of the four sweeps reconstructs the tracer by parabolas whose sides are limited.
"""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field, gtscript
from benches.windows import window


@gtscript.function
def slope_i(q):
    mean = 0.25 * (q[1, 0, 0] - q[-1, 0, 0])
    above = max(max(q[-1, 0, 0], q), q[1, 0, 0]) - q
    below = q - min(min(q[-1, 0, 0], q), q[1, 0, 0])
    size = min(min(abs(mean), above), below)
    return size if mean > 0.0 else -size


@gtscript.function
def slope_j(q):
    mean = 0.25 * (q[0, 1, 0] - q[0, -1, 0])
    above = max(max(q[0, -1, 0], q), q[0, 1, 0]) - q
    below = q - min(min(q[0, -1, 0], q), q[0, 1, 0])
    size = min(min(abs(mean), above), below)
    return size if mean > 0.0 else -size


@gtscript.function
def carried_i(q, c):
    slope = slope_i(q)
    side = 0.5 * (q[-1, 0, 0] + q) + (slope[-1, 0, 0] - slope) / 3.0
    most = 2.0 * abs(slope)
    to_west = min(most, abs(side - q))
    to_east = min(most, abs(side[1, 0, 0] - q))
    west = -to_west if slope > 0.0 else to_west
    east = to_east if slope > 0.0 else -to_east
    curve = west + east
    from_west = q[-1, 0, 0] + (1.0 - c) * (east[-1, 0, 0] - c * curve[-1, 0, 0])
    from_east = q + (1.0 + c) * (west + c * curve)
    return from_west if c > 0.0 else from_east


@gtscript.function
def carried_j(q, c):
    slope = slope_j(q)
    side = 0.5 * (q[0, -1, 0] + q) + (slope[0, -1, 0] - slope) / 3.0
    most = 2.0 * abs(slope)
    to_south = min(most, abs(side - q))
    to_north = min(most, abs(side[0, 1, 0] - q))
    south = -to_south if slope > 0.0 else to_south
    north = to_north if slope > 0.0 else -to_north
    curve = south + north
    from_south = q[0, -1, 0] + (1.0 - c) * (north[0, -1, 0] - c * curve[0, -1, 0])
    from_north = q + (1.0 + c) * (south + c * curve)
    return from_south if c > 0.0 else from_north


def fvt(q: Field["real"], ci: Field["real"], cj: Field["real"], q_new: Field["real"]):
    with computation(PARALLEL), interval(...):
        inner_j = carried_j(q, cj)
        q_j = (q + cj * inner_j - cj[0, 1, 0] * inner_j[0, 1, 0]) / (1.0 + cj - cj[0, 1, 0])
        outer_i = carried_i(q_j, ci)
        inner_i = carried_i(q, ci)
        q_i = (q + ci * inner_i - ci[1, 0, 0] * inner_i[1, 0, 0]) / (1.0 + ci - ci[1, 0, 0])
        outer_j = carried_j(q_i, cj)
        flux_i = 0.5 * ci * (outer_i + inner_i)
        flux_j = 0.5 * cj * (outer_j + inner_j)
        q_new = q + (flux_i - flux_i[1, 0, 0]) + (flux_j - flux_j[0, 1, 0])


def with_numpy(q, ci, cj, q_new):
    window(q_new)[...] = transported(np, q, ci, cj)


def transported(xp, q, ci, cj):
    """Return the domain's new values."""
    ci, cj = window(ci, wide=1, high=3)[..., 1:], window(cj, wide=3, high=1)[..., 1:, :]
    rows, columns = window(q, wide=3), window(q, high=3)
    everywhere = window(q, wide=3, high=3)
    inner_j = _carried(xp, everywhere.swapaxes(-1, -2), cj.swapaxes(-1, -2)).swapaxes(-1, -2)
    inner_i = _carried(xp, everywhere, ci)
    q_j = (rows + cj[..., :-1, :] * inner_j[..., :-1, :] - cj[..., 1:, :] * inner_j[..., 1:, :]) / (
        1 + cj[..., :-1, :] - cj[..., 1:, :]
    )
    q_i = (columns + ci[..., :-1] * inner_i[..., :-1] - ci[..., 1:] * inner_i[..., 1:]) / (
        1 + ci[..., :-1] - ci[..., 1:]
    )
    ci, inner_i = ci[..., 3:-3, :], inner_i[..., 3:-3, :]
    cj, inner_j = cj[..., 3:-3], inner_j[..., 3:-3]
    outer_i = _carried(xp, q_j, ci)
    outer_j = _carried(xp, q_i.swapaxes(-1, -2), cj.swapaxes(-1, -2)).swapaxes(-1, -2)
    flux_i, flux_j = 0.5 * ci * (outer_i + inner_i), 0.5 * cj * (outer_j + inner_j)
    return window(q) + (flux_i[..., :-1] - flux_i[..., 1:]) + (flux_j[..., :-1, :] - flux_j[..., 1:, :])


def _carried(xp, q, c):
    """Return what is carried through the sides between points along the last axis, three points inside both ends."""
    west, here, east = q[..., :-2], q[..., 1:-1], q[..., 2:]
    mean = 0.25 * (east - west)
    above = xp.maximum(xp.maximum(west, here), east) - here
    below = here - xp.minimum(xp.minimum(west, here), east)
    slope = xp.copysign(xp.minimum(xp.minimum(abs(mean), above), below), mean)
    side = 0.5 * (here[..., :-1] + here[..., 1:]) + (slope[..., :-1] - slope[..., 1:]) / 3
    here, slope = here[..., 1:-1], slope[..., 1:-1]
    most = 2 * abs(slope)
    west = -xp.copysign(xp.minimum(most, abs(side[..., :-1] - here)), slope)
    east = xp.copysign(xp.minimum(most, abs(side[..., 1:] - here)), slope)
    curve = west + east
    from_west = here[..., :-1] + (1 - c) * (east[..., :-1] - c * curve[..., :-1])
    from_east = here[..., 1:] + (1 + c) * (west[..., 1:] + c * curve[..., 1:])
    return xp.where(c > 0, from_west, from_east)


CASE = Case(
    name="fvt",
    title="finite-volume transport with PPM",
    arguments=(
        Argument("q", "in", uniform(0, 1)),
        Argument("ci", "in", uniform(-0.4, 0.4)),
        Argument("cj", "in", uniform(-0.4, 0.4)),
        Argument("q_new", "out"),
    ),
    steps=((fvt, ("q", "ci", "cj", "q_new")),),
    numpy=with_numpy,
    traffic=4,
    halo=3,
    tunings={"rows": (32, 64, 1024), "buffered": (0, 1), "stream": (0, 1)},
)
