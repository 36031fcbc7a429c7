"""One array to another: what the machine can do."""

from __future__ import annotations

from benches.case import Argument, Case, uniform
from benches.dialect import Field
from benches.loops import domain, prange, row
from benches.windows import placed, window


def copy(q: Field["real"], q_new: Field["real"]):
    with computation(PARALLEL), interval(...):
        q_new = q


def with_numpy(q, q_new):
    window(q_new)[...] = window(q)


def with_numba(q, q_new):
    nk, nj, ni = domain(q)
    for k in prange(nk):
        for j in range(nj):
            to, here = row(q_new, k, j, 0), row(q, k, j, 0)
            for i in range(ni):
                to[i] = here[i]


def with_jax(_, q, q_new):
    return (placed(q_new, window(q)),)


CASE = Case(
    name="copy",
    title="copy",
    arguments=(Argument("q", "in", uniform(-1, 1)), Argument("q_new", "out")),
    steps=((copy, ("q", "q_new")),),
    numpy=with_numpy,
    numba=with_numba,
    jax=with_jax,
    traffic=2,
    halo=0,
    tunings={"stream": (0, 1)},
)
