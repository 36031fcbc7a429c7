"""One array to another: what the machine can do."""

from __future__ import annotations

from benches.case import Argument, Case, uniform
from benches.dialect import Field
from benches.windows import window


def copy(q: Field["real"], q_new: Field["real"]):
    with computation(PARALLEL), interval(...):
        q_new = q


def with_numpy(q, q_new):
    window(q_new)[...] = window(q)


CASE = Case(
    name="copy",
    title="copy",
    arguments=(Argument("q", "in", uniform(-1, 1)), Argument("q_new", "out")),
    steps=((copy, ("q", "q_new")),),
    numpy=with_numpy,
    traffic=2,
    halo=0,
    tunings={"stream": (0, 1)},
)
