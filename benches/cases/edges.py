"""From the middles of cells to their corners, with other formulas along the sides of the domain and at its corners."""

from __future__ import annotations

import numpy as np

from benches.case import Argument, Case, uniform
from benches.dialect import Field, I, J
from benches.loops import domain, inlined, prange
from benches.windows import placed, window


def edges(q: Field["real"], corner: Field["real"]):
    with computation(PARALLEL), interval(...):
        west = 7.0 / 12.0 * (q[-1, 0, 0] + q) - 1.0 / 12.0 * (q[-2, 0, 0] + q[1, 0, 0])
        with horizontal(region[I[0], :]):
            west = 0.5 * (q[-1, 0, 0] + q)
        with horizontal(region[I[0] + 1, :]):
            west = 1.0 / 3.0 * q[-1, 0, 0] + 5.0 / 6.0 * q - 1.0 / 6.0 * q[1, 0, 0]
        with horizontal(region[I[-1], :]):
            west = 1.0 / 3.0 * q + 5.0 / 6.0 * q[-1, 0, 0] - 1.0 / 6.0 * q[-2, 0, 0]
        south = 7.0 / 12.0 * (q[0, -1, 0] + q) - 1.0 / 12.0 * (q[0, -2, 0] + q[0, 1, 0])
        with horizontal(region[:, J[0]]):
            south = 0.5 * (q[0, -1, 0] + q)
        with horizontal(region[:, J[0] + 1]):
            south = 1.0 / 3.0 * q[0, -1, 0] + 5.0 / 6.0 * q - 1.0 / 6.0 * q[0, 1, 0]
        with horizontal(region[:, J[-1]]):
            south = 1.0 / 3.0 * q + 5.0 / 6.0 * q[0, -1, 0] - 1.0 / 6.0 * q[0, -2, 0]
        along_j = 9.0 / 16.0 * (west[0, -1, 0] + west) - 1.0 / 16.0 * (west[0, -2, 0] + west[0, 1, 0])
        with horizontal(region[:, J[0]], region[:, J[-1]]):
            along_j = 0.5 * (west[0, -1, 0] + west)
        along_i = 9.0 / 16.0 * (south[-1, 0, 0] + south) - 1.0 / 16.0 * (south[-2, 0, 0] + south[1, 0, 0])
        with horizontal(region[I[0], :], region[I[-1], :]):
            along_i = 0.5 * (south[-1, 0, 0] + south)
        corner = 0.5 * (along_i + along_j)
        with horizontal(region[I[0], J[0]]):
            corner = (q + q[-1, 0, 0] + q[0, -1, 0]) / 3.0
        with horizontal(region[I[-1], J[0]]):
            corner = (q + q[-1, 0, 0] + q[-1, -1, 0]) / 3.0
        with horizontal(region[I[0], J[-1]]):
            corner = (q + q[0, -1, 0] + q[-1, -1, 0]) / 3.0
        with horizontal(region[I[-1], J[-1]]):
            corner = (q[-1, 0, 0] + q[0, -1, 0] + q[-1, -1, 0]) / 3.0


def with_numpy(q, corner):
    out = window(corner)
    out[...] = inside(np, q)
    for (j, i), values in outermost(q):
        out[:, j, i] = values


def inside(xp, q):
    """Return the values of all corners, of which the outermost four are to be replaced."""
    along_j = _corners(xp, _sides(xp, q[:, 1:-2, :]).swapaxes(1, 2)).swapaxes(1, 2)
    along_i = _corners(xp, _sides(xp, q[:, :, 1:-2].swapaxes(1, 2)).swapaxes(1, 2))
    return 0.5 * (along_i + along_j)


def outermost(q):
    """Return index and values of the corners of the domain."""
    here, west, south, across = window(q), window(q, -1), window(q, 0, -1), window(q, -1, -1)
    for at, three in {
        (0, 0): (here, west, south),
        (0, -1): (here, west, across),
        (-1, 0): (here, south, across),
        (-1, -1): (west, south, across),
    }.items():
        a, b, c = (field[:, at[0], at[1]] for field in three)
        yield at, (a + b + c) / 3


def _sides(xp, q):
    """Return the values between the points of the domain along the last axis and those before them."""
    inner = 7 / 12 * (q[..., 4:-5] + q[..., 5:-4]) - 1 / 12 * (q[..., 3:-6] + q[..., 6:-3])
    first, last = 0.5 * (q[..., 2:3] + q[..., 3:4]), q[..., -4:-3] / 3 + 5 / 6 * q[..., -5:-4] - q[..., -6:-5] / 6
    second = q[..., 3:4] / 3 + 5 / 6 * q[..., 4:5] - q[..., 5:6] / 6
    return xp.concatenate([first, second, inner, last], -1)


def _corners(xp, side):
    """Return the values at the points of the domain along the last axis, of sides from two before to one behind."""
    inner = 9 / 16 * (side[..., 2:-3] + side[..., 3:-2]) - 1 / 16 * (side[..., 1:-4] + side[..., 4:-1])
    first, last = 0.5 * (side[..., 1:2] + side[..., 2:3]), 0.5 * (side[..., -3:-2] + side[..., -2:-1])
    return xp.concatenate([first, inner, last], -1)


@inlined
def _weights(n, count, real):
    """Return those of the four points around the side before point n."""
    if n == count - 1:
        return real(-1 / 6), real(5 / 6), real(1 / 3), real(0)
    if n == 0:
        return real(0), real(1 / 2), real(1 / 2), real(0)
    if n == 1:
        return real(0), real(1 / 3), real(5 / 6), real(-1 / 6)
    return real(-1 / 12), real(7 / 12), real(7 / 12), real(-1 / 12)


def with_numba(q, corner):
    nk, nj, ni = domain(q)
    real = q.dtype.type
    near, far, twelfth, half, third = real(9 / 16), real(1 / 16), real(1 / 12), real(1 / 2), real(1 / 3)
    for k in prange(nk):
        west, south = np.empty((nj + 3, ni), q.dtype), np.empty((nj, ni + 3), q.dtype)
        for j in range(nj + 3):
            a, to = q[k, j + 1], west[j]
            a0, a1, a2, a3 = a[1 : ni + 1], a[2 : ni + 2], a[3 : ni + 3], a[4 : ni + 4]
            for i in range(ni):
                to[i] = real(7) * twelfth * (a1[i] + a2[i]) - twelfth * (a0[i] + a3[i])
            for i in (0, 1, ni - 1):
                w0, w1, w2, w3 = _weights(i, ni, real)
                to[i] = w0 * a0[i] + w1 * a1[i] + w2 * a2[i] + w3 * a3[i]
        for j in range(nj):
            w0, w1, w2, w3 = _weights(j, nj, real)
            a0, a1, a2, a3 = q[k, j + 1, 1:-2], q[k, j + 2, 1:-2], q[k, j + 3, 1:-2], q[k, j + 4, 1:-2]
            to = south[j]
            for i in range(ni + 3):
                to[i] = w0 * a0[i] + w1 * a1[i] + w2 * a2[i] + w3 * a3[i]
        for j in range(nj):
            to, side = corner[k, j + 3, 3:-3], j == 0 or j == nj - 1
            w0, w1, w2, w3 = west[j], west[j + 1], west[j + 2], west[j + 3]
            s0, s1, s2, s3 = south[j, :-3], south[j, 1:-2], south[j, 2:-1], south[j, 3:]
            m, n = (half, real(0)) if side else (near, far)
            for i in range(ni):
                along_j = m * (w1[i] + w2[i]) - n * (w0[i] + w3[i])
                to[i] = half * (along_j + near * (s1[i] + s2[i]) - far * (s0[i] + s3[i]))
            for i in (0, ni - 1):
                to[i] = half * (m * (w1[i] + w2[i]) - n * (w0[i] + w3[i]) + half * (s1[i] + s2[i]))
        b, a, to = q[k, 2], q[k, 3], corner[k, 3]
        to[3] = (a[3] + a[2] + b[3]) * third
        to[ni + 2] = (a[ni + 2] + a[ni + 1] + b[ni + 1]) * third
        b, a, to = q[k, nj + 1], q[k, nj + 2], corner[k, nj + 2]
        to[3] = (a[3] + b[3] + b[2]) * third
        to[ni + 2] = (a[ni + 1] + b[ni + 2] + b[ni + 1]) * third


def with_jax(xp, q, corner):
    values = inside(xp, q)
    for (j, i), outer in outermost(q):
        values = values.at[:, j, i].set(outer)
    return (placed(corner, values),)


CASE = Case(
    name="edges",
    title="cells to corners, with formulas of their own along all sides",
    arguments=(Argument("q", "in", uniform(0, 1)), Argument("corner", "out")),
    steps=((edges, ("q", "corner")),),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    traffic=2,
    halo=2,
    tunings={"rows": (32, 64, 1024), "stream": (0, 1)},
)
