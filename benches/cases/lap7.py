"""The seven-point Laplacian, of all levels that have one above and one below."""

from __future__ import annotations

from benches.case import Argument, Case, uniform
from benches.dialect import Field
from benches.windows import window


def lap7(q: Field["real"], lap: Field["real"]):
    with computation(PARALLEL), interval(1, -1):
        lap = -6.0 * q + ((q[-1, 0, 0] + q[1, 0, 0]) + (q[0, -1, 0] + q[0, 1, 0]) + (q[0, 0, -1] + q[0, 0, 1]))


def with_numpy(q, lap):
    here = q[1:-1]
    window(lap[1:-1])[...] = -6 * window(here) + (
        (window(here, -1) + window(here, 1))
        + (window(here, 0, -1) + window(here, 0, 1))
        + (window(q[:-2]) + window(q[2:]))
    )


CASE = Case(
    name="lap7",
    title="7-point Laplacian",
    arguments=(Argument("q", "in", uniform(-1, 1)), Argument("lap", "out")),
    steps=((lap7, ("q", "lap")),),
    numpy=with_numpy,
    traffic=2,
    halo=1,
    tunings={"rows": (16, 32, 64, 128), "stream": (0, 1)},
)
