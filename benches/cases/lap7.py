"""The seven-point Laplacian, of all levels that have one above and one below."""

from __future__ import annotations

from benches.case import HALO, Argument, Case, uniform
from benches.dialect import Field
from benches.loops import domain, prange, row
from benches.windows import window


def lap7(q: Field["real"], lap: Field["real"]):
    with computation(PARALLEL), interval(1, -1):
        lap = -6.0 * q + ((q[-1, 0, 0] + q[1, 0, 0]) + (q[0, -1, 0] + q[0, 1, 0]) + (q[0, 0, -1] + q[0, 0, 1]))


def with_numpy(q, lap):
    window(lap[1:-1])[...] = inner(q)


def inner(q):
    """Return the values of all levels that have one above and one below."""
    here = q[1:-1]
    return -6 * window(here) + (
        (window(here, -1) + window(here, 1))
        + (window(here, 0, -1) + window(here, 0, 1))
        + (window(q[:-2]) + window(q[2:]))
    )


def with_numba(q, lap):
    nk, nj, ni = domain(q)
    six = q.dtype.type(6)
    for k in prange(1, nk - 1):
        for j in range(nj):
            here, west, east = row(q, k, j, 0), row(q, k, j, -1), row(q, k, j, 1)
            south, north, down, up = row(q, k, j - 1, 0), row(q, k, j + 1, 0), row(q, k - 1, j, 0), row(q, k + 1, j, 0)
            to = row(lap, k, j, 0)
            for i in range(ni):
                to[i] = -six * here[i] + ((west[i] + east[i]) + (south[i] + north[i]) + (down[i] + up[i]))


def with_jax(_, q, lap):
    return (lap.at[1:-1, HALO:-HALO, HALO:-HALO].set(inner(q)),)


CASE = Case(
    name="lap7",
    title="7-point Laplacian",
    arguments=(Argument("q", "in", uniform(-1, 1)), Argument("lap", "out")),
    steps=((lap7, ("q", "lap")),),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    traffic=2,
    halo=1,
    tunings={"rows": (16, 32, 64, 128), "stream": (0, 1)},
)
