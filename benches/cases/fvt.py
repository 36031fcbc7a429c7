"""Finite-volume transport with monotonic PPM reconstruction, of Lin and Rood: a chain of many stages.

A tracer is first carried along one axis, the result along the other, and the other way round; the fluxes of both ways
are averaged. Each of the four sweeps reconstructs the tracer by parabolas whose sides are limited.
"""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field, gtscript
from benches.loops import domain, inlined, prange
from benches.windows import placed, window


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


@inlined
def _slopes(slope, before, here, after):
    """Write the limited slopes of a row."""
    quarter = here.dtype.type(0.25)
    for i in range(len(slope)):
        mean = quarter * (after[i] - before[i])
        above = max(max(before[i], here[i]), after[i]) - here[i]
        below = here[i] - min(min(before[i], here[i]), after[i])
        size = min(min(abs(mean), above), below)
        slope[i] = size if mean > 0 else -size


@inlined
def _sides(side, before, here, slope_before, slope):
    """Write the values between two rows."""
    half, third = here.dtype.type(0.5), here.dtype.type(1 / 3)
    for i in range(len(side)):
        side[i] = half * (before[i] + here[i]) + (slope_before[i] - slope[i]) * third


@inlined
def _upwind(carried, before, here, c, slope_before, slope, side_before, side, side_after):
    """Write what is carried from one row to the next."""
    one = here.dtype.type(1)
    for i in range(len(carried)):
        if c[i] > 0:
            middle, steep, left, right, size = before[i], slope_before[i], side_before[i], side[i], c[i]
        else:
            middle, steep, left, right, size = here[i], slope[i], side[i], side_after[i], -c[i]
        most = abs(steep) + abs(steep)
        left, right = min(most, abs(left - middle)), min(most, abs(right - middle))
        left = -left if steep > 0 else left
        right = right if steep > 0 else -right
        near = right if c[i] > 0 else left
        carried[i] = middle + (one - size) * (near - size * (left + right))


@inlined
def _carried_i(q, c):
    """Return what is carried through the sides along the last axis, three points inside both ends."""
    nj, ni = q.shape
    slope, side = np.empty((nj, ni - 2), q.dtype), np.empty((nj, ni - 3), q.dtype)
    carried = np.empty((nj, ni - 5), q.dtype)
    for j in range(nj):
        a, s, e = q[j], slope[j], side[j]
        _slopes(s, a[:-2], a[1:-1], a[2:])
        _sides(e, a[1:-2], a[2:-1], s[:-1], s[1:])
        _upwind(carried[j], a[2:-3], a[3:-2], c[j], s[1:-2], s[2:-1], e[:-2], e[1:-1], e[2:])
    return carried


@inlined
def _carried_j(q, c):
    """Return the same along the first axis."""
    nj, ni = q.shape
    slope, side = np.empty((nj - 2, ni), q.dtype), np.empty((nj - 3, ni), q.dtype)
    carried = np.empty((nj - 5, ni), q.dtype)
    for j in range(nj - 2):
        _slopes(slope[j], q[j], q[j + 1], q[j + 2])
    for j in range(nj - 3):
        _sides(side[j], q[j + 1], q[j + 2], slope[j], slope[j + 1])
    for j in range(nj - 5):
        _upwind(carried[j], q[j + 2], q[j + 3], c[j], slope[j + 1], slope[j + 2], side[j], side[j + 1], side[j + 2])
    return carried


def with_numba(q, ci, cj, q_new):
    nk, nj, ni = domain(q)
    one, half = q.dtype.type(1), q.dtype.type(0.5)
    for k in prange(nk):
        ci_here, cj_here = ci[k, :, 3 : ni + 4], cj[k, 3 : nj + 4, :]
        inner_i, inner_j = _carried_i(q[k], ci_here), _carried_j(q[k], cj_here)
        q_i, q_j = np.empty((nj + 6, ni), q.dtype), np.empty((nj, ni + 6), q.dtype)
        for j in range(nj + 6):
            to, here, c, f = q_i[j], q[k, j, 3:-3], ci_here[j], inner_i[j]
            for i in range(ni):
                to[i] = (here[i] + c[i] * f[i] - c[i + 1] * f[i + 1]) / (one + c[i] - c[i + 1])
        for j in range(nj):
            to, here, c, cn, f, fn = q_j[j], q[k, j + 3], cj_here[j], cj_here[j + 1], inner_j[j], inner_j[j + 1]
            for i in range(ni + 6):
                to[i] = (here[i] + c[i] * f[i] - cn[i] * fn[i]) / (one + c[i] - cn[i])
        outer_i, outer_j = _carried_i(q_j, ci_here[3:-3]), _carried_j(q_i, cj_here[:, 3:-3])
        for j in range(nj):
            to, here = q_new[k, j + 3, 3:-3], q[k, j + 3, 3:-3]
            cw, ow, iw = ci_here[j + 3], outer_i[j], inner_i[j + 3]
            cs, os, js = cj_here[j, 3:-3], outer_j[j], inner_j[j, 3:-3]
            cn, on, jn = cj_here[j + 1, 3:-3], outer_j[j + 1], inner_j[j + 1, 3:-3]
            for i in range(ni):
                along_i = cw[i] * (ow[i] + iw[i]) - cw[i + 1] * (ow[i + 1] + iw[i + 1])
                along_j = cs[i] * (os[i] + js[i]) - cn[i] * (on[i] + jn[i])
                to[i] = here[i] + half * (along_i + along_j)


def with_jax(xp, q, ci, cj, q_new):
    return (placed(q_new, transported(xp, q, ci, cj)),)


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
    numba=with_numba,
    jax=with_jax,
    traffic=4,
    halo=3,
    tunings={"rows": (32, 64, 1024), "buffered": (0, 1), "stream": (0, 1)},
)
